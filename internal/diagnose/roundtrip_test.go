package diagnose

import (
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"whichlink/graphs"
	"whichlink/graphs/generate"
	"whichlink/internal/evidence"
	"whichlink/pathfind/localize"
)

// TestRoundTrip: where neither the ways of flows nor the direction of their losses are known, an arc, its reverse and those beside them are one class, also where pairs have
// too many ways for all to be listed with all ways back: what is lost on the way back is not blamed on the way there.
func TestRoundTrip(t *testing.T) {
	for _, k := range []int{4, 8} { // 4 and 16 ways between pods
		f, err := generate.FatTree(generate.FatTreeConfig{K: k})
		if err != nil {
			t.Fatal(err)
		}
		p := newPlayOn(f, 4000)
		p.plain, p.unsplit = true, true
		for i := range p.flows {
			p.flows[i].untraced = true
		}
		sick, _ := f.ArcByName("agg2-1:swp2>edge2-2:swp1")
		p.run(8, func(a graphs.ArcID, _ int) float64 { return 0.1 * is(a == sick) })
		d := p.store.Diagnose()
		named := slices.DeleteFunc(d.Suspects, func(x Suspect) bool { return x.Probability < Named })
		if len(named) != 1 || len(named[0].Class) != k || !slices.Contains(named[0].Class, f.ArcName(sick)) || !slices.Contains(named[0].Class, f.ArcName(sick.Reverse())) ||
			math.Abs(*named[0].Loss-0.1) > 0.02 {
			t.Errorf("k=%d: loss %v\n%s", k, *named[0].Loss, d.Text())
		}
	}
}

// TestRoundTripSince: where nobody tells which way a flow lost packets, what it did not lose is weighed with what it lost, also where its way is known. Else what was answered
// before a fault began acquits it, since of many losses of one flow only some count. Half of the flows are told the way of theirs.
func TestRoundTripSince(t *testing.T) {
	p := newPlay(t, 128)
	p.plain = true
	sick, _ := p.f.ArcByName("leaf1:swp2>spine2:swp1")
	always, _ := p.f.ArcByName("leaf3:swp1>spine1:swp3") // so that nothing stands out in time
	for flows := range slices.Chunk(p.flows, len(p.flows)/2) {
		p.flows, p.unsplit = flows, !p.unsplit
		p.run(80, func(a graphs.ArcID, window int) float64 {
			return 0.3*is(a.Link() == sick.Link() && window >= 50) + 0.1*is(a == always)
		})
	}
	d := p.store.Diagnose()
	want := []string{p.f.LinkName(sick.Link()), p.f.ArcName(always)}
	for _, x := range d.Suspects {
		if i := slices.Index(want, x.ID); i >= 0 && x.Probability >= Named {
			want = slices.Delete(want, i, i+1)
		} else if x.Probability >= Named {
			t.Errorf("%s is named", x.ID)
		}
	}
	if len(want) > 0 {
		t.Errorf("%v are not named\n%s", want, d.Text())
	}
}

// TestPaired: each alternative keeps its share, there and back, in however few pairs.
func TestPaired(t *testing.T) {
	var there, home []localize.Alternative
	for i, share := range []float64{0.5, 0.3, 0.2} {
		there = append(there, localize.Alternative{Arcs: []graphs.ArcID{graphs.ArcID(i)}, Share: share})
	}
	for j := range 70 {
		home = append(home, localize.Alternative{Arcs: []graphs.ArcID{graphs.ArcID(100 + j)}, Share: 1. / 70})
	}
	both := paired(&flowLog{}, there, home)
	got := map[graphs.ArcID]float64{}
	for _, x := range both {
		for _, a := range x.Arcs {
			got[a] += x.Share
		}
	}
	for _, x := range slices.Concat(there, home) {
		if a := x.Arcs[0]; math.Abs(got[a]-x.Share) > 1e-6 {
			t.Errorf("%d has %g, expected %g", a, got[a], x.Share)
		}
	}
	if n := len(both); n >= len(there)+len(home) {
		t.Errorf("%d pairs", n)
	}
}

// TestUntoldOutage: of what a flow loses while nothing comes back nobody tells which way. By itself it would be a greater loss than any that the rest of the flow allows, and the arc be cleared
// by that, or another blamed; so it counts with the rest, or as lost on the way on which its outages begin and end, or on either in the shares of what is told.
func TestUntoldOutage(t *testing.T) {
	const there, home, round = "there", "home", "round trip"
	for name, c := range map[string]struct {
		window func(w int) (lost, forward, back int) // of 20
		want   map[string][2]int
	}{
		"nothing is told": {
			func(w int) (int, int, int) { return 20 * int(is(w%10 == 4 || w%10 == 5)), 0, 0 },
			map[string][2]int{round: {800, 160}},
		},
		"edges": {
			func(w int) (int, int, int) {
				n := 7 * int(is(w%10 == 3 || w%10 == 6))
				return n + 20*int(is(w%10 == 4 || w%10 == 5)), 0, n
			},
			map[string][2]int{there: {800, 0}, home: {800, 216}},
		},
		"little is told": { // one way by chance
			func(w int) (int, int, int) {
				n := int(is(w%10 == 3 && w < 30))
				return n + 20*int(is(w%5 == 4 || w%10 == 1)), 0, n
			},
			map[string][2]int{round: {800, 243}},
		},
		"both ways": {
			func(w int) (int, int, int) {
				n := int(is(w%10 != 4))
				return 20 - 15*n, 3 * n, 2 * n
			},
			map[string][2]int{there: {800, 36*3 + 48}, home: {800 - 36*3 - 48, 36*2 + 32}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlay(t, 0)
			src, _ := p.f.NodeByName("h1-1")
			dst, _ := p.f.NodeByName("h2-1")
			path, back := p.walk(src, dst), p.walk(dst, src)
			flow := evidence.Flow{Src: p.f.Address(src, false), Dst: p.f.Address(dst, false), Proto: "udp", SrcPort: 50000, DstPort: 862}
			for w := range 40 {
				lost, lostForward, lostBack := c.window(w)
				p.store.Add(&evidence.Record{V: 1, Time: p.start.Add(time.Duration(w+1) * 500 * time.Millisecond), Source: evidence.SourceProbe, By: "h1-1", Epoch: "0", Kind: evidence.KindEcho,
					Flow: &flow, Path: p.names(path), Back: p.names(back), WindowMS: 500, Sent: evidence.Int(20), Lost: evidence.Int(lost),
					LostForward: evidence.Int(lostForward), LostBack: evidence.Int(lostBack)})
			}
			p.store.arrange()
			got := map[string][2]int{}
			for _, o := range p.store.observe(nil, time.Time{}).list {
				way := there
				if len(o.Path) > len(path) {
					way = round
				} else if o.Src == dst {
					way = home
				}
				got[way] = [2]int{got[way][0] + o.Sent, got[way][1] + o.Lost}
			}
			if !maps.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}
