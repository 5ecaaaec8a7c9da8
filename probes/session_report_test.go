package probes

import (
	"fmt"
	"net/netip"
	"syscall"
	"testing"
	"time"

	"whichlink/graphs/generate"
	"whichlink/internal/evidence"
)

// TestTellUnsent: who can send nothing says so once; that some probes were refused is an ICMP error, or none of anybody's business.
func TestTellUnsent(t *testing.T) {
	f, err := generate.LeafSpine(generate.LeafSpineConfig{Leaves: 2, Spines: 1, Hosts: 1})
	if err != nil {
		t.Fatal(err)
	}
	host, _ := f.NodeByName("h1-1")
	var told []string
	s := &Session{fabric: f, cfg: SessionConfig{Host: host, Emit: func(r *evidence.Record) { told = append(told, r.By+": "+r.Text) }}}
	fl := &sessionFlow{flow: evidence.Flow{Dst: netip.MustParseAddr("10.32.0.3")}}
	unreachable := fmt.Errorf("send from a to b: %w", syscall.ENETUNREACH)
	s.tellUnsent(fl, &Window{Sent: 9, Unsent: 1, Err: unreachable}, time.Time{})
	if len(told) > 0 {
		t.Fatalf("of one refused it is told %q", told)
	}
	for range 2 {
		s.tellUnsent(fl, &Window{Unsent: 10, Err: unreachable}, time.Time{})
	}
	if len(told) != 1 || told[0] != "h1-1: h1-1 cannot send to 10.32.0.3 (network is unreachable): see its own routes and filters" {
		t.Errorf("told is %q", told)
	}
}
