package pathfind

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"whichlink/graphs"
)

// spraypointLengths estimates the shares of paths by their length in links between switches (RNG paper, appendix C): the share at index i is of length i.
func spraypointLengths(n, d, p, levels int) []float64 {
	fn, fd, fp := float64(n), float64(d), float64(p)
	shares := make([]float64, levels+5)
	rest := 1.0
	set := func(i int, share float64) {
		shares[i] = min(share, rest)
		rest -= shares[i]
	}
	set(1, 1/fn)
	for i := 2; i <= levels+2; i++ {
		set(i, math.Pow(fp, float64(i-2))*fd/fn)
	}
	set(levels+4, math.Exp(-math.Pow(fp, float64(levels))*fd*fd/fn))
	shares[levels+3] = rest
	return shares
}

func TestFormulas(t *testing.T) {
	for _, c := range []struct {
		what      string
		got, want float64
	}{
		{"2 links, p=2", spraypointLengths(1000, 64, 2, 1)[2], 0.064},
		{"3 links, p=2", spraypointLengths(1000, 64, 2, 1)[3], 0.128},
		{"4 links, p=2", spraypointLengths(1000, 64, 2, 1)[4], 0.807},
		{"5 links, p=2", spraypointLengths(1000, 64, 2, 1)[5], 0.0003},
		{"3 links, p=4", spraypointLengths(1000, 64, 4, 1)[3], 0.256},
		{"4 links, p=4", spraypointLengths(1000, 64, 4, 1)[4], 0.679},
	} {
		if math.Abs(c.got-c.want) > 0.01*max(c.want, 0.1) {
			t.Errorf("%s: %.4f, want %.4f", c.what, c.got, c.want)
		}
	}
	if l := spraypointLevels(1000, 64, 4); l != 1 {
		t.Errorf("%d levels for 1000 switches, want 1", l)
	}
	if l := spraypointLevels(1000000, 64, 4); l != 4 {
		t.Errorf("%d levels for a million switches, want 4", l)
	}
}

// What the paper and its replication say of the fabric of its evaluation: 1000 switches of 64 links.
func TestSpraypointAtSize(t *testing.T) {
	if testing.Short() {
		t.Skip("some seconds")
	}
	f := mustRandom(t, 1000, 64)
	adjacent := func(src, dst graphs.NodeID) bool {
		return slices.ContainsFunc(f.Out(src), func(a graphs.ArcID) bool { return f.Head(a) == dst })
	}
	for _, c := range []struct {
		p        int
		revisits [2]float64 // between neighbours, from and to
	}{{2, [2]float64{0.03, 0.055}}, {4, [2]float64{0.05, 0.08}}} {
		m := newModel(t, f, nil, fmt.Sprintf("spraypoint:p=%d,h=2", c.p))
		chance := rand.New(rand.NewPCG(1, uint64(c.p)))
		lengths := make([]float64, 8)
		var disjoint []int
		var revisits, near [2]float64 // flows, and those that come back
		pairs := 300
		count := func(src, dst graphs.NodeID, w *Ways) {
			r := returning(w)
			revisits[0], revisits[1] = revisits[0]+1, revisits[1]+r
			if adjacent(src, dst) {
				near[0], near[1] = near[0]+1, near[1]+r
			}
		}
		for range pairs {
			src, dst := graphs.NodeID(chance.IntN(1000)), graphs.NodeID(chance.IntN(999))
			if dst >= src {
				dst++
			}
			w := m.Ways(src, dst)
			for _, l := range w.Lengths() {
				lengths[l.Links] += l.Share / float64(pairs)
			}
			disjoint = append(disjoint, w.Disjoint())
			count(src, dst, w)
		}
		overall := revisits[1] / revisits[0]
		for range pairs {
			src := graphs.NodeID(chance.IntN(1000))
			dst := f.Head(f.Out(src)[chance.IntN(64)])
			count(src, dst, m.Ways(src, dst))
		}
		for i, want := range spraypointLengths(1000, 64, c.p, 1) {
			if math.Abs(lengths[i]-want) > 0.04 {
				t.Errorf("p=%d: %.3f of flows have %d links, want %.3f", c.p, lengths[i], i, want)
			}
		}
		slices.Sort(disjoint)
		neighbours := near[1] / near[0]
		t.Logf("p=%d: lengths %.4f, disjoint at least %d, median %d, revisits %.4f, between neighbours %.4f",
			c.p, lengths, disjoint[0], disjoint[pairs/2], overall, neighbours)
		if c.p == 4 && (disjoint[0] < 50 || disjoint[pairs/2] < 58 || disjoint[pairs/2] > 61) {
			t.Errorf("disjoint: at least %d, median %d", disjoint[0], disjoint[pairs/2])
		}
		if overall < 0.01 || overall > 0.02 {
			t.Errorf("p=%d: %.4f of flows come back to their source, want 0.015", c.p, overall)
		}
		if neighbours < c.revisits[0] || neighbours > c.revisits[1] {
			t.Errorf("p=%d: %.4f of flows between neighbours come back, want from %g to %g", c.p, neighbours, c.revisits[0], c.revisits[1])
		}
	}
}

// returning returns the share of a pair's flows that come back to their source.
func returning(w *Ways) float64 {
	src, _ := w.Ends()
	sum := 0.0
	for _, s := range w.Shares() {
		if w.f.Head(s.Arc) == src {
			sum += s.Share
		}
	}
	return sum
}

// One link that fails changes few of the next hops.
func TestPicksStay(t *testing.T) {
	f := mustRandom(t, 200, 20)
	c := SpraypointConfig{}
	before := NewSpraypoint(f, nil, c)
	lost := graphs.LinkID(7)
	after := NewSpraypoint(f, func(l graphs.LinkID) bool { return l == lost }, c)
	changed, all := 0, 0
	for dst := range graphs.NodeID(200) {
		was, is := pointing{before, before.ladderTo(dst), dst}, pointing{after, after.ladderTo(dst), dst}
		for at := range graphs.NodeID(200) {
			all++
			if !slices.Equal(was.next(at, 1, nil), is.next(at, 1, nil)) {
				changed++
			}
		}
	}
	t.Logf("%d of %d next-hop sets changed", changed, all)
	if changed*100 > all {
		t.Errorf("%d of %d next-hop sets changed", changed, all)
	}
}

// What is remembered of next hops is what is found without, for as many destinations as may be remembered and no more, whoever asks.
func TestSigns(t *testing.T) {
	f := mustRandom(t, 60, 8)
	without, with := NewSpraypoint(f, nil, SpraypointConfig{}), NewSpraypoint(f, nil, SpraypointConfig{})
	without.mostSet, with.mostSet = 0, 7
	var wait sync.WaitGroup
	for turn := range 3 {
		wait.Go(func() {
			for i := range 2 * f.NumNodes() {
				dst := graphs.NodeID((i*(turn+1) + turn) % f.NumNodes())
				want, got := pointing{without, without.ladderTo(dst), dst}, pointing{with, with.ladderTo(dst), dst}
				for again := range 2 {
					for at := range graphs.NodeID(f.NumNodes()) {
						if a, b := want.next(at, 1, nil), got.next(at, 1, nil); at != dst && !slices.Equal(a, b) {
							t.Errorf("from %d to %d, asked %d times before: %v, want %v", at, dst, again, b, a)
						}
					}
				}
			}
		})
	}
	wait.Wait()
	held := 0
	for dst := range with.ladders {
		if with.ladders[dst].Load().signs.Load() != nil {
			held++
		}
	}
	if held != 7 || len(with.signed) != 7 || len(without.signed) != 0 {
		t.Errorf("%d destinations remembered, %d listed, want 7; without any %d", held, len(with.signed), len(without.signed))
	}
}

func BenchmarkModels(b *testing.B) {
	f := mustRandom(b, 1000, 64)
	for _, name := range []string{"ecmp", "wcmp", "su:2", "su:3", "ksp:8", "vlb", "spraypoint"} {
		b.Run(name+"/new", func(b *testing.B) {
			for b.Loop() {
				newModel(b, f, nil, name)
			}
		})
		m := newModel(b, f, nil, name)
		n := 0
		b.Run(name+"/pair", func(b *testing.B) {
			for b.Loop() {
				n++
				m.Ways(graphs.NodeID(n%1000), graphs.NodeID((n*7+1)%1000)).Shares()
			}
		})
		if name != "su:3" && name != "ksp:8" {
			b.Run(name+"/all", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					newModel(b, f, nil, name).Loads(Uniform(f))
				}
			})
		}
	}
}
