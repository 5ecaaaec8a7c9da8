package probes

import (
	"context"
	"net"
	"testing"

	"github.com/google/go-cmp/cmp"

	"whichlink/internal/evidence"
)

// Destinations without a reflector are traced with SYNs, whether their port is open or not.
func TestTraceSYN(t *testing.T) {
	b := newBench(t, leafSpine(t, 2, 4), 1, Config{}, ReflectorConfig{})
	var open net.Listener
	err := b.lab.Do(b.hosts[1], func() (err error) {
		open, err = net.Listen("tcp", ":7777")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	for _, ipv6 := range []bool{false, true} {
		for _, port := range []uint16{7777, 7778} {
			for i := range 4 {
				f := evidence.Flow{Src: b.fabric.Address(b.hosts[0], ipv6), Dst: b.fabric.Address(b.hosts[1], ipv6), Proto: "tcp", SrcPort: uint16(50000 + i), DstPort: port}
				x, err := b.engine.TraceSYN(context.Background(), f, SYNOptions{})
				if err != nil {
					t.Fatal(err)
				}
				if !x.Complete() || x.ForwardLen != 4 || x.Method != MethodTCPSYN {
					t.Errorf("%v: %+v", f, x)
					continue
				}
				nodes := b.nodes(x.Hops)
				if nodes[0] != "leaf1" || nodes[2] != "leaf2" || nodes[3] != b.fabric.NodeName(b.hosts[1]) {
					t.Errorf("%v: %v", f, nodes)
				}
				if ipv6 {
					continue // the look-up is no truth for IPv6; see TestTraceTruth
				}
				if d := cmp.Diff(b.truth(f), nodes[:3]); d != "" {
					t.Errorf("%v: %s", f, d)
				}
			}
		}
	}
}
