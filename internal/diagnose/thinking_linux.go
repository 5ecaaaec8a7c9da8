package diagnose

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// thinking tells how long a function computes. What other programs on the machine take meanwhile is not its own.
func thinking(f func()) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	start := threadTime()
	f()
	return threadTime() - start
}

// threadTime is how long this thread has computed.
func threadTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		return time.Duration(time.Now().UnixNano())
	}
	return time.Duration(t.Nano())
}
