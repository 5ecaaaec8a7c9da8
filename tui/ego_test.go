package tui

import (
	"slices"
	"testing"

	"whichlink/graphs"
)

// Each link between switches is in the ring of the hop at which one can first be on it, and in no other.
func TestRings(t *testing.T) {
	f := randomGraph(t).Fabric
	for focus := range graphs.LinkID(f.NumLinks()) {
		if f.IsHostArc(focus.Forward()) {
			continue
		}
		// Far is how many links stand between a switch and the link, by relaxing until nothing changes.
		far := make([]int, f.NumNodes())
		for i := range far {
			far[i] = 1 << 20
		}
		far[f.Tail(focus.Forward())], far[f.Head(focus.Forward())] = 0, 0
		for changed := true; changed; {
			changed = false
			for x := range graphs.ArcID(f.NumArcs()) {
				if !f.IsHostArc(x) && far[f.Tail(x)]+1 < far[f.Head(x)] {
					far[f.Head(x)], changed = far[f.Tail(x)]+1, true
				}
			}
		}
		rings := ringsAround(f, focus)
		for id := range graphs.LinkID(f.NumLinks()) {
			if id == focus || f.IsHostArc(id.Forward()) {
				continue
			}
			hop := min(far[f.Tail(id.Forward())], far[f.Head(id.Forward())])
			for i, ring := range rings {
				if got, want := slices.Contains(ring, id), i == hop; got != want {
					t.Fatalf("around %s, ring %d, %s: %v, want %v", f.LinkName(focus), i+1, f.LinkName(id), got, want)
				}
			}
		}
	}
}

// The shortest ways around a link, counted by walking all of them.
func TestDetours(t *testing.T) {
	f := randomGraph(t).Fabric
	var walk func(at, to graphs.NodeID, without graphs.LinkID, left int) int
	walk = func(at, to graphs.NodeID, without graphs.LinkID, left int) int {
		if left == 0 {
			if at == to {
				return 1
			}
			return 0
		}
		n := 0
		for _, a := range f.Out(at) {
			if a.Link() != without && !f.Node(f.Head(a)).IsHost() {
				n += walk(f.Head(a), to, without, left-1)
			}
		}
		return n
	}
	for id := range graphs.LinkID(20) {
		if f.IsHostArc(id.Forward()) {
			continue
		}
		n, hops := detours(f, id)
		for shorter := 1; shorter < hops; shorter++ {
			if walk(f.Tail(id.Forward()), f.Head(id.Forward()), id, shorter) > 0 {
				t.Errorf("%s: there is a way of %d hops, shorter than %d", f.LinkName(id), shorter, hops)
			}
		}
		if want := walk(f.Tail(id.Forward()), f.Head(id.Forward()), id, hops); n != want || n == 0 {
			t.Errorf("%s: %d ways of %d hops, want %d", f.LinkName(id), n, hops, want)
		}
	}
	pair := leafSpine(t, "pair", 1, 1, 1)
	for id := range graphs.LinkID(pair.NumLinks()) {
		if n, _ := detours(pair, id); n != 0 {
			t.Errorf("%d ways around %s", n, pair.LinkName(id))
		}
	}
}

func TestRadius(t *testing.T) {
	s := newStage(t, randomGraph(t), 120, 40)
	s.press("2")
	for _, c := range []struct{ key, sees string }{
		{"-", "Around the link, 1 hop "}, {"-", "Around the link, 1 hop "}, {"+", "Around the link, 2 hops"}, {"+", "hop 3  "}, {"=", "hop 4  "}, {"+", "Around the link, 4 hops"},
	} {
		s.press(c.key)
		s.sees(t, c.sees)
	}
	s.sees(t, "1 way of 2 hops around it")
}

// What lies around a suspect can be reached at every size, on every kind of fabric, with both ends, and gone from again.
func TestAroundAtEverySize(t *testing.T) {
	for name, snapshot := range map[string]*Snapshot{"leaf and spine": sick(t), "three tiers": fatTree(t), "random": randomGraph(t)} {
		for _, size := range [][2]int{{40, 10}, {60, 15}, {80, 24}, {99, 30}, {100, 30}, {200, 60}} {
			s := newStage(t, snapshot, size[0], size[1])
			s.press("2")
			m := s.tabs[1].(*mapScreen)
			f := snapshot.Fabric
			ends := [2]string{f.NodeName(f.Tail(m.focus.Forward())), f.NodeName(f.Head(m.focus.Forward()))}
			before := bare(s.View().Content)
			s.press("g")
			s.sees(t, "Around the link, 2 hops")
			s.sees(t, ends[0]+" =@= "+ends[1]+"  p 0.9")
			for _, end := range ends {
				s.sees(t, end+"  "+counted(len(m.spokes(mustNode(t, f, end), snapshot, m.focus)), "other link", "other links"))
			}
			s.press("+")
			s.sees(t, "Around the link, 3 hops")
			s.sees(t, "hop 3  ")
			if s.press("-", "g"); bare(s.View().Content) != before {
				t.Errorf("%s at %v: g does not lead back:\n%s", name, size, bare(s.View().Content))
			}
		}
	}
}

func mustNode(t *testing.T, f *graphs.Fabric, name string) graphs.NodeID {
	n, ok := f.NodeByName(name)
	if !ok {
		t.Fatalf("no node %q", name)
	}
	return n
}
