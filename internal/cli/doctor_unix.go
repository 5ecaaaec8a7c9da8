//go:build unix

package cli

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// examineFiles looks at the limit of open files: a prober needs one socket a flow, the drill some for each host.
func examineFiles() check {
	c := check{Name: "open files"}
	const want = 4096
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		c.Why = err.Error()
		return c
	}
	// The Go runtime raises the soft limit to the hard one by itself.
	c.OK = limit.Max >= want
	c.Why = fmt.Sprintf("%d may be open at once", limit.Max)
	if !c.OK {
		c.Fix = fmt.Sprintf("ulimit -n %d, or LimitNOFILE=%d in the systemd unit", want, want)
	}
	return c
}
