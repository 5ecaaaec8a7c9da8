//go:build unix

package tui

import (
	"syscall"
	"time"
)

// processTime returns how long this process has computed: other programs on the machine do not count.
func processTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
