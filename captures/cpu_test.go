//go:build unix

package captures

import (
	"syscall"
	"testing"
	"time"
)

// cpuTime is what this process has used of the processor: on a machine that is shared, the clock on the wall says little.
func cpuTime(t testing.TB) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
