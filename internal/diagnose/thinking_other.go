//go:build !linux

package diagnose

import "time"

// thinking tells how long a function takes.
func thinking(f func()) time.Duration {
	start := time.Now()
	f()
	return time.Since(start)
}
