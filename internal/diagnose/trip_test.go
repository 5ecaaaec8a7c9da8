package diagnose

import (
	"net/netip"
	"slices"
	"testing"

	"whichlink/graphs"
	"whichlink/graphs/generate"
	"whichlink/internal/evidence"
)

// TestRails plays hosts of several network cards, of which no path is known: the address that a packet is sent to tells over which leaf it comes in. Whether hosts send by the card of
// their address or by any, what is named is of that leaf, and the faulty link is among it. Where packets come in over any card, some flows tell that were traced; if none was, what
// was lost tells, though not over which leaf.
func TestRails(t *testing.T) {
	f, err := generate.Rail(generate.RailConfig{GPUs: 32, Rails: 4, Ports: 8})
	if err != nil {
		t.Fatal(err)
	}
	sick, hosts := graphs.ArcID(graphs.None), f.Hosts()
	for a := range graphs.ArcID(f.NumArcs()) {
		if !f.IsHostArc(a) && f.Degree(f.Head(a)) > 0 && slices.ContainsFunc(f.Out(f.Head(a)), f.IsHostArc) {
			sick = a // from a spine to a leaf
			break
		}
	}
	for _, c := range []struct{ strong, own, traced bool }{{true, true, false}, {false, true, false}, {false, false, true}, {false, false, false}} {
		p := newPlayOn(f, 0)
		in := func(a graphs.ArcID) graphs.ArcID { return a.Reverse() }
		way := func(src, dst graphs.ArcID) []graphs.ArcID { // of packets from one card to another, each given by its arc from the host
			from := f.Tail(src)
			if c.strong {
				from = f.Head(src)
			}
			if !c.own {
				return p.walk(from, f.Tail(dst))
			}
			if from == f.Head(dst) {
				return []graphs.ArcID{src, in(dst)}
			}
			arcs := p.walk(from, f.Head(dst))
			if c.strong {
				arcs = append([]graphs.ArcID{src}, arcs...)
			}
			return append(arcs, in(dst))
		}
		for i := range 800 {
			a, b := hosts[i%len(hosts)], hosts[p.rng.IntN(len(hosts))]
			src, dst := f.Out(a)[p.rng.IntN(4)], f.Out(b)[p.rng.IntN(4)]
			if a == b {
				continue
			}
			address := func(out graphs.ArcID) netip.Addr {
				return f.Port(f.TailPort(out)).Prefixes[0].Addr()
			}
			p.flows = append(p.flows, playFlow{
				flow: evidence.Flow{Src: address(src), Dst: address(dst), Proto: "udp", SrcPort: uint16(50000 + i), DstPort: 862},
				by:   f.NodeName(a), path: way(src, dst), back: way(dst, src), untraced: !c.traced || i%4 > 0,
			})
		}
		p.run(24, func(a graphs.ArcID, _ int) float64 { return 0.05 * is(a == sick) })
		d := p.store.Diagnose()
		if len(d.Suspects) == 0 || d.Suspects[0].Probability < Named || !slices.Contains(d.Suspects[0].Class, f.ArcName(sick)) {
			t.Fatalf("%+v: %s", c, d.Text())
		}
		for _, id := range d.Suspects[0].Class {
			if a, ok := f.ArcByName(id); !ok || f.Head(a) != f.Head(sick) && (c.own || c.traced) {
				t.Errorf("%+v: %s may be it, too", c, id)
			}
		}
		if len(d.Suspects) > 1 && d.Suspects[1].Probability >= Named {
			t.Errorf("%+v: %s", c, d.Text())
		}
	}
}

// TestCandidatesInto: where a trace left several ways open, those are none that come in over another link of their host than the one of the address that they are sent to.
func TestCandidatesInto(t *testing.T) {
	one, other := []graphs.ArcID{1, 2, 3}, []graphs.ArcID{1, 4, 5}
	for _, c := range []struct {
		ways [][]graphs.ArcID
		last graphs.ArcID
		want int
	}{
		{[][]graphs.ArcID{one, other}, 5, 1},
		{[][]graphs.ArcID{one, other}, graphs.None, 2},
		{[][]graphs.ArcID{one, other}, 7, 2},
		{[][]graphs.ArcID{one}, 5, 1},
	} {
		if got := (way{c.ways}).into(c.last); len(got.alternatives) != c.want || c.want == 1 && len(c.ways) == 2 && !slices.Equal(got.alternatives[0], other) {
			t.Errorf("%v into %d: %v", c.ways, c.last, got.alternatives)
		}
	}
}
