//go:build unix

package sim

import (
	"syscall"
	"time"
)

// cpuTime is the time that the processors gave to this program, which others on the machine do not lengthen.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
