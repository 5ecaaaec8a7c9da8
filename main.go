// Whichlink answers the question of an on-call network engineer: which link is it?
package main

import (
	"context"
	"embed"
	"os"
	"os/signal"
	"syscall"

	"whichlink/internal/cli"
)

// recorded is the drill that is replayed where the system permits no namespaces.
//
//go:embed testdata/drill
var recorded embed.FS

func main() { os.Exit(run()) }

func run() int {
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as under nohup
		ends = append(ends, syscall.SIGHUP) // the terminal went away: nothing may be left behind
	}
	ctx, stop := signal.NotifyContext(context.Background(), ends...)
	defer stop()
	context.AfterFunc(ctx, stop) // the second Ctrl-C ends the program at once
	return cli.Main(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr, recorded)
}
