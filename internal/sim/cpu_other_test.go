//go:build !unix

package sim

import "time"

var started = time.Now()

// cpuTime is the time that has passed, where a program cannot ask for its own.
func cpuTime() time.Duration { return time.Since(started) }
