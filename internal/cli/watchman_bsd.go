//go:build unix && !linux

package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// onto makes a descriptor mean what another one does.
func onto(from, to int) error { return unix.Dup2(from, to) }

// shorten does nothing: only Linux lets a pipe be made shorter.
func shorten(*os.File) {}
