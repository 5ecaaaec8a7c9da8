package lab

import (
	"bytes"
	"context"
	"net/netip"
	"testing"
	"time"

	"whichlink/graphs"
	"whichlink/graphs/generate"
	"whichlink/internal/evidence"
)

func newLeafSpine(t *testing.T, c generate.LeafSpineConfig, cfg Config) *Lab {
	t.Helper()
	needLab(t)
	f, err := generate.LeafSpine(c)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Fabric = f
	l, err := New(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// pair returns a flow between two hosts and its path, which has n arcs.
func pair(t *testing.T, l *Lab, from, to int, n int) (evidence.Flow, []graphs.ArcID) {
	t.Helper()
	hosts := l.Fabric().Hosts()
	flow := evidence.Flow{Src: l.Fabric().Address(hosts[from], false), Dst: l.Fabric().Address(hosts[to], false),
		Proto: "udp", SrcPort: 50001, DstPort: 4000}
	path, err := l.Path(flow)
	if err != nil {
		t.Fatal(err)
	}
	if len(path) != n {
		t.Fatalf("path has %d arcs, want %d", len(path), n)
	}
	return flow, path
}

func mustBreak(t *testing.T, l *Lab, kind string, opts FaultOptions, args ...string) FaultID {
	t.Helper()
	f, err := ParseFault(l.Fabric(), kind, args, opts)
	if err != nil {
		t.Fatal(err)
	}
	id, err := l.Break(f)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func mustHeal(t *testing.T, l *Lab, id FaultID) {
	t.Helper()
	if err := l.Heal(id); err != nil {
		t.Fatal(err)
	}
}

func TestFaultsHitWhatTheySay(t *testing.T) {
	l := newLeafSpine(t, generate.LeafSpineConfig{Leaves: 2, Spines: 2, Hosts: 1}, Config{Seed: 5})
	f := l.Fabric()
	flow, path := pair(t, l, 0, 1, 4)
	reverse := flow
	reverse.Src, reverse.Dst, reverse.SrcPort, reverse.DstPort = flow.Dst, flow.Src, flow.DstPort, flow.SrcPort
	backPath, err := l.Path(reverse)
	if err != nil {
		t.Fatal(err)
	}
	middle, back := path[1], backPath[1]
	const n = 4000
	// What the kernel draws at random has no seed: the bounds are five standard deviations and more away.
	cases := []struct {
		kind     string
		opts     FaultOptions
		args     []string
		size     int
		low, top float64 // of the share lost there
		backLow  float64 // and back
		backTop  float64
	}{
		{"loss", FaultOptions{Rate: "5%"}, []string{f.ArcName(middle)}, 100, .03, .07, 0, 0},
		{"loss", FaultOptions{Rate: "100%"}, []string{f.ArcName(middle)}, 100, 1, 1, 0, 0},
		{"loss", FaultOptions{Rate: "20%"}, []string{f.ArcName(back)}, 100, 0, 0, .16, .24},
		{"loss", FaultOptions{Rate: "20%"}, []string{f.ArcName(middle.Reverse())}, 100, 0, 0, 0, .24},
		{"silent", FaultOptions{}, []string{f.LinkName(middle.Link())}, 100, 1, 1, 0, 1},
		{"node", FaultOptions{Rate: "10%"}, []string{f.NodeName(f.Head(path[0]))}, 100, .07, .13, .07, .13},
		{"node", FaultOptions{Rate: "10%"}, []string{f.NodeName(f.Hosts()[0])}, 100, .07, .13, .07, .13},
		{"mtu", FaultOptions{}, []string{f.LinkName(middle.Link()), "1400"}, 1372, 0, 0, 0, 0},
		{"mtu", FaultOptions{}, []string{f.LinkName(middle.Link()), "1400"}, 1373, 1, 1, 0, 1},
	}
	for _, c := range cases {
		id := mustBreak(t, l, c.kind, c.opts, c.args...)
		name := l.Truth()[0].Text
		lost := n - send(t, l, flow, n, c.size)
		if share := float64(lost) / n; share < c.low || share > c.top {
			t.Errorf("%s: lost %.4f of packets, want %v to %v", name, share, c.low, c.top)
		}
		if hit := l.Truth()[0].Hit; hit != uint64(lost) {
			t.Errorf("%s: the fault counted %d, %d were lost", name, hit, lost)
		}
		lost = n - send(t, l, reverse, n, c.size)
		if share := float64(lost) / n; share < c.backLow || share > c.backTop {
			t.Errorf("%s: lost %.4f of packets on the way back, want %v to %v", name, share, c.backLow, c.backTop)
		}
		mustHeal(t, l, id)
		if got := send(t, l, flow, 500, c.size); got != 500 {
			t.Errorf("%s: healed, yet %d of 500 arrived", name, got)
		}
	}
	// Two at the same port add up.
	mustBreak(t, l, "loss", FaultOptions{Rate: "50%"}, f.ArcName(middle))
	mustBreak(t, l, "loss", FaultOptions{Rate: "50%"}, f.ArcName(middle))
	if share := float64(send(t, l, flow, n, 100)) / n; share < .21 || share > .29 {
		t.Errorf("two faults of 50%% at one port let %.3f pass", share)
	}
	if err := l.HealAll(); err != nil || len(l.Truth()) != 0 {
		t.Errorf("heal all: %v, left %v", err, l.Truth())
	}
}

// TestLossOfFlows: a loss of some flows hits all packets of these and none of others.
func TestLossOfFlows(t *testing.T) {
	l := newLeafSpine(t, generate.LeafSpineConfig{Leaves: 2, Spines: 1, Hosts: 1}, Config{})
	flow, path := pair(t, l, 0, 1, 4)
	mustBreak(t, l, "loss", FaultOptions{Rate: "100%", Of: "30%"}, l.Fabric().ArcName(path[1]))
	const flows, n = 400, 3
	hit := 0
	for range flows {
		flow.SrcPort++
		switch got := send(t, l, flow, n, 100); got {
		case 0:
			hit++
		case n:
		default:
			t.Errorf("port %d: %d of %d arrived", flow.SrcPort, got, n)
		}
	}
	if hit < flows*18/100 || hit > flows*42/100 {
		t.Errorf("%d of %d flows are hit", hit, flows)
	}
}

func TestCorruptChangesPayload(t *testing.T) {
	l := newLeafSpine(t, generate.LeafSpineConfig{Leaves: 2, Spines: 2, Hosts: 1}, Config{})
	flow, path := pair(t, l, 0, 1, 4)
	mustBreak(t, l, "corrupt", FaultOptions{Rate: "10%"}, l.Fabric().ArcName(path[2]))
	hosts := l.Fabric().Hosts()
	sink := listen(t, l, hosts[1], netip.AddrPortFrom(flow.Dst, flow.DstPort))
	defer sink.Close()
	c := listen(t, l, hosts[0], netip.AddrPortFrom(flow.Src, flow.SrcPort))
	defer c.Close()
	sent := bytes.Repeat([]byte{0xa5}, 200)
	got := make([]byte, 500)
	const n = 2000
	changed := 0
	for range n {
		if _, err := c.WriteToUDPAddrPort(sent, netip.AddrPortFrom(flow.Dst, flow.DstPort)); err != nil {
			t.Fatal(err)
		}
		sink.SetReadDeadline(time.Now().Add(time.Second))
		k, err := sink.Read(got)
		if err != nil {
			t.Fatalf("a packet was lost: %v", err)
		}
		if !bytes.Equal(got[:48], sent[:48]) {
			t.Fatal("the header of the test packet was changed")
		}
		if !bytes.Equal(got[:k], sent) {
			changed++
		}
	}
	if changed < n*6/100 || changed > n*14/100 || uint64(changed) != l.Truth()[0].Hit {
		t.Errorf("%d of %d packets came changed, the fault counted %d", changed, n, l.Truth()[0].Hit)
	}
}

func TestDownConverges(t *testing.T) {
	const delay, slack = 200 * time.Millisecond, time.Second // the machine may be busy with other things
	l := newLeafSpine(t, generate.LeafSpineConfig{Leaves: 2, Spines: 2, Hosts: 1}, Config{Convergence: delay})
	flow, path := pair(t, l, 0, 1, 4)
	hosts := l.Fabric().Hosts()
	sink := listen(t, l, hosts[1], netip.AddrPortFrom(flow.Dst, flow.DstPort))
	defer sink.Close()
	c := listen(t, l, hosts[0], netip.AddrPortFrom(flow.Src, flow.SrcPort))
	defer c.Close()
	arrives := func(within time.Duration) bool {
		if _, err := c.WriteToUDPAddrPort(make([]byte, 100), netip.AddrPortFrom(flow.Dst, flow.DstPort)); err != nil {
			t.Fatal(err)
		}
		sink.SetReadDeadline(time.Now().Add(within))
		_, err := sink.Read(make([]byte, 200))
		return err == nil
	}
	start := time.Now()
	id := mustBreak(t, l, "down", FaultOptions{}, l.Fabric().LinkName(path[1].Link()))
	for !arrives(2*time.Millisecond) && time.Since(start) < 5*time.Second {
	}
	if took := time.Since(start); took < delay-20*time.Millisecond || took > delay+slack {
		t.Errorf("packets arrive again %v after the link fell; the routes should change after %v", took, delay)
	} else {
		t.Logf("packets arrive again %v after the link fell", took)
	}
	other, err := l.Path(flow)
	if err != nil || other[1] == path[1] {
		t.Errorf("the path still has the dead link: %v", err)
	}
	start = time.Now()
	mustHeal(t, l, id)
	for time.Since(start) < 5*time.Second {
		if p, err := l.Path(flow); err == nil && p[1] == path[1] {
			break
		}
		if !arrives(time.Second) {
			t.Fatal("a packet was lost while the link came back")
		}
	}
	if took := time.Since(start); took < delay-20*time.Millisecond || took > delay+slack {
		t.Errorf("the path is the old one %v after the link rose", took)
	}
}

func TestReseedMovesFlows(t *testing.T) {
	l := newLeafSpine(t, generate.LeafSpineConfig{Leaves: 2, Spines: 4, Hosts: 1}, Config{Seed: 1})
	flow, _ := pair(t, l, 0, 1, 4)
	paths := func() (spines []graphs.ArcID) {
		for p := range uint16(32) {
			flow.SrcPort = 50000 + p
			path, err := l.Path(flow)
			if err != nil {
				t.Fatal(err)
			}
			spines = append(spines, path[1])
		}
		return spines
	}
	before := paths()
	if err := l.Reseed(2); err != nil {
		t.Fatal(err)
	}
	moved := 0
	for i, a := range paths() {
		if a != before[i] {
			moved++
		}
	}
	if moved < 12 {
		t.Errorf("a new seed moved %d of 32 flows", moved)
	}
	if err := l.Reseed(1); err != nil {
		t.Fatal(err)
	}
	for i, a := range paths() {
		if a != before[i] {
			t.Fatal("the old seed does not bring the old paths back")
		}
	}
}

func TestMiswire(t *testing.T) {
	l := newLeafSpine(t, generate.LeafSpineConfig{Leaves: 4, Spines: 2, Hosts: 1}, Config{})
	f := l.Fabric()
	all := func() {
		t.Helper()
		for i := range f.Hosts() {
			for j := range f.Hosts() {
				if i == j {
					continue
				}
				hosts := f.Hosts()
				flow := evidence.Flow{Src: f.Address(hosts[i], false), Dst: f.Address(hosts[j], false), Proto: "udp", SrcPort: 50001, DstPort: 4000}
				path, err := l.Path(flow)
				if err != nil {
					t.Fatal(err)
				}
				w := l.Wired()
				before := make([]uint64, len(path))
				count := func(a graphs.ArcID) uint64 {
					p, _ := f.PortByName(w.PortName(w.HeadPort(a)))
					c, err := l.Counters(p)
					if err != nil {
						t.Fatal(err)
					}
					return c.InPackets
				}
				for k, a := range path {
					before[k] = count(a)
				}
				if got := send(t, l, flow, 10, 100); got != 10 {
					t.Errorf("%v: %d of 10 packets arrived", flow, got)
				}
				for k, a := range path {
					if got := count(a) - before[k]; got != 10 {
						t.Errorf("%v: %d of 10 packets on %s", flow, got, w.ArcName(a))
					}
				}
			}
		}
	}
	all()
	// leaf1--spine1 and leaf2--spine2 become leaf1--spine2 and leaf2--spine1: leaf1 then has no cable to spine1.
	link := func(leaf, spine string) graphs.LinkID {
		n, _ := f.NodeByName(leaf)
		for _, a := range f.Out(n) {
			if f.NodeName(f.Head(a)) == spine {
				return a.Link()
			}
		}
		t.Fatalf("no link %s to %s", leaf, spine)
		return 0
	}
	one, other := link("leaf1", "spine1"), link("leaf2", "spine2")
	mustBreak(t, l, "node", FaultOptions{Rate: "100%"}, "spine2")
	id := mustBreak(t, l, "miswire", FaultOptions{}, f.LinkName(one), f.LinkName(other))
	if hit := l.Truth()[0]; hit.Kind != NodeLoss {
		t.Fatal(hit)
	}
	// spine2 still drops everything, at its new port too: leaf1 has both its cables there now.
	flow, _ := pair(t, l, 0, 2, 4)
	if got := send(t, l, flow, 10, 100); got != 0 {
		t.Errorf("%d packets of 10 went around a spine to which all cables lead", got)
	}
	mustHeal(t, l, 1)
	all()
	if w := l.Wired(); w.LinkName(one) == f.LinkName(one) {
		t.Errorf("link %s is not swapped", w.LinkName(one))
	}
	if _, err := l.Break(Fault{Kind: Down, Subjects: []string{f.LinkName(one)}}); err == nil {
		t.Error("a fault on a miswired link was taken")
	}
	mustHeal(t, l, id)
	all()
	if l.Wired().LinkName(one) != f.LinkName(one) {
		t.Error("healing did not bring the cables back")
	}
	// Two hosts at each other's ports.
	id = mustBreak(t, l, "miswire", FaultOptions{}, f.LinkName(link("leaf1", "h1-1")), f.LinkName(link("leaf2", "h2-1")))
	all()
	mustHeal(t, l, id)
	all()
}
