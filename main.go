// Whichlink answers the question of an on-call network engineer: which link is it?
package main

import (
	"context"
	"embed"
	"os"

	"whichlink/internal/cli"
)

// recorded is the drill that is replayed where the system permits no namespaces.
//
//go:embed testdata/drill
var recorded embed.FS

func main() { os.Exit(run()) }

func run() int {
	ctx, stop := cli.UntilTold(context.Background())
	defer stop()
	return cli.Main(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr, recorded)
}
