package probes

import (
	"context"
	"testing"
	"time"

	"whichlink/graphs"
	"whichlink/graphs/generate"
	"whichlink/internal/evidence"
	"whichlink/internal/lab"
	"whichlink/internal/lab/labtest"
)

// A bench is a lab with a reflector on every host but the first, and an engine on the first.
type bench struct {
	t      testing.TB
	lab    *lab.Lab
	fabric *graphs.Fabric
	hosts  []graphs.NodeID
	engine *Engine
}

const benchPort = 862

func newBench(t testing.TB, f *graphs.Fabric, seed uint64, cfg Config, r ReflectorConfig) *bench {
	t.Helper()
	labtest.Need(t)
	l, err := lab.New(context.Background(), lab.Config{Fabric: f, Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	b := &bench{t: t, lab: l, fabric: l.Fabric(), hosts: l.Fabric().Hosts()}
	for _, h := range b.hosts[1:] {
		r := r
		r.Open = func(f func() error) error { return l.Do(h, f) }
		x, err := NewReflector(r)
		if err != nil {
			t.Fatal(err)
		}
		run(t, x)
	}
	cfg.Open = func(f func() error) error { return l.Do(b.hosts[0], f) }
	b.engine, err = NewEngine(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.engine.Close() })
	return b
}

func leafSpine(t testing.TB, leaves, spines int) *graphs.Fabric {
	t.Helper()
	f, err := generate.LeafSpine(generate.LeafSpineConfig{Leaves: leaves, Spines: spines, Hosts: 1, IPv6: true})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// streams adds n flows from the first host to another.
func (b *bench) streams(to graphs.NodeID, n int, ipv6 bool, o Options) []*Stream {
	b.t.Helper()
	var all []*Stream
	for i := range n {
		s, err := b.engine.Add(evidence.Flow{
			Src: b.fabric.Address(b.hosts[0], ipv6), Dst: b.fabric.Address(to, ipv6), Proto: "udp", SrcPort: uint16(50000 + i), DstPort: benchPort,
		}, o)
		if err != nil {
			b.t.Fatal(err)
		}
		all = append(all, s)
	}
	return all
}

// breakIt puts a fault into the lab.
func (b *bench) breakIt(kind, rate string, args ...string) lab.FaultID {
	b.t.Helper()
	f, err := lab.ParseFault(b.fabric, kind, args, lab.FaultOptions{Rate: rate})
	if err != nil {
		b.t.Fatal(err)
	}
	id, err := b.lab.Break(f)
	if err != nil {
		b.t.Fatal(err)
	}
	return id
}

// hit is how many packets a fault hit so far.
func (b *bench) hit(id lab.FaultID) int {
	for _, f := range b.lab.Truth() {
		if f.ID == id {
			return int(f.Hit)
		}
	}
	b.t.Fatalf("no fault %d", id)
	return 0
}

// truth is the nodes of a flow's path, without its ends.
func (b *bench) truth(f evidence.Flow) []string {
	b.t.Helper()
	arcs, err := b.lab.Path(f)
	if err != nil {
		b.t.Fatal(err)
	}
	var nodes []string
	for _, a := range arcs[:len(arcs)-1] {
		nodes = append(nodes, b.fabric.NodeName(b.fabric.Head(a)))
	}
	return nodes
}

// nodes names who answered at hops.
func (b *bench) nodes(hops []Hop) []string {
	var nodes []string
	for i := range hops {
		name := "?"
		if o, ok := b.fabric.Owner(hops[i].Address()); ok {
			name = b.fabric.NodeName(o.Node)
		}
		nodes = append(nodes, name)
	}
	return nodes
}

func reverse(f evidence.Flow) evidence.Flow {
	f.Src, f.Dst, f.SrcPort, f.DstPort = f.Dst, f.Src, f.DstPort, f.SrcPort
	return f
}

// decided takes windows until n echoes are decided, and adds them up.
func decided(t testing.TB, s *Stream, n int, atMost time.Duration) Window {
	t.Helper()
	var sum Window
	for end := time.Now().Add(atMost); ; time.Sleep(2 * time.Millisecond) {
		w := s.Take()
		sum.Sent += w.Sent
		sum.Lost += w.Lost
		sum.LostForward += w.LostForward
		sum.LostBack += w.LostBack
		sum.Late += w.Late
		sum.Unknown += w.Unknown
		sum.Duplicate += w.Duplicate
		sum.CorruptForward += w.CorruptForward
		sum.CorruptBack += w.CorruptBack
		sum.Split = w.Split
		sum.Waiting = w.Waiting
		sum.Method = w.Method
		sum.ForwardLen, sum.BackLen = w.ForwardLen, w.BackLen
		if w.RTT != nil {
			sum.RTT = w.RTT
		}
		if sum.Sent >= n {
			return sum
		}
		if time.Now().After(end) {
			t.Errorf("%d of %d decided: %+v", sum.Sent, n, sum)
			return sum
		}
	}
}
