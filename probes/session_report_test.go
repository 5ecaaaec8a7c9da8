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

// TestLackAgent: a host that only ever said that the port is closed runs no agent; of one that answered before, that stopped.
func TestLackAgent(t *testing.T) {
	f, err := generate.LeafSpine(generate.LeafSpineConfig{Leaves: 2, Spines: 1, Hosts: 1})
	if err != nil {
		t.Fatal(err)
	}
	host, _ := f.NodeByName("h1-1")
	dst, _ := f.NodeByName("h2-1")
	now := time.Now()
	for _, c := range []struct {
		before time.Time // when it answered
		want   string
	}{
		{time.Time{}, "h2-1 runs no agent on UDP port 862: what it does not answer is no loss"},
		{now.Add(-time.Second), "h2-1 ran an agent on UDP port 862, which stopped or restarted: what it did not answer since is no loss"},
	} {
		var told []string
		s := &Session{
			fabric: f, noAgents: map[netip.Addr]time.Time{},
			cfg: SessionConfig{Host: host, Port: DefaultPort, Emit: func(r *evidence.Record) { told = append(told, r.Text) }},
		}
		stream := testStream()
		seq, _ := stream.echoes.send(now.UnixNano())
		packet := make([]byte, 300)
		packet = packet[:(&request{seq: seq, ssid: stream.ssid, size: 200}).put(packet)]
		stream.failed(packet, &meta{origin: originICMP, icmpType: icmp4Unreachable, icmpCode: icmp4PortUnreachable, offender: stream.dst.Addr()}, now.UnixNano()+5000)
		fl := &sessionFlow{dst: dst, flow: evidence.Flow{Dst: stream.dst.Addr()}, stream: stream, lastAnswer: c.before}
		s.flows = []*sessionFlow{fl}
		s.reportFlow(fl, now)
		if len(told) != 1 || told[0] != c.want {
			t.Errorf("told is %q, expected %q", told, c.want)
		}
	}
}
