#!/bin/sh
# completions.sh DIR writes the completions of the shells that packages bring.
set -eu
mkdir -p "$1"
go run . completion bash > "$1/whichlink.bash"
go run . completion zsh > "$1/_whichlink"
go run . completion fish > "$1/whichlink.fish"
