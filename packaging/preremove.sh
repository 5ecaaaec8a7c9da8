#!/bin/sh
# Stops and disables what was enabled before its files go, so that nothing is left running or dangling. An upgrade (rpm says 1, dpkg upgrade) stops nothing.
case "${1:-}" in
remove | 0)
	now=
	[ ! -d /run/systemd/system ] || now=--now
	if command -v systemctl >/dev/null; then
		systemctl --quiet disable $now whichlink-agent.service whichlink-check.timer || true
	fi
	;;
esac
exit 0
