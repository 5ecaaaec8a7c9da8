package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// onto makes a descriptor mean what another one does.
func onto(from, to int) error { return unix.Dup3(from, to, 0) }

// shorten makes a pipe as short as one can be.
func shorten(pipe *os.File) { _, _ = unix.FcntlInt(pipe.Fd(), unix.F_SETPIPE_SZ, os.Getpagesize()) }
