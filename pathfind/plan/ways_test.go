package plan

import (
	"testing"

	"whichlink/graphs"
	"whichlink/graphs/generate"
	"whichlink/pathfind"
)

// What is known of gates that are linked alike is what forwarding says of each, with all links and without some.
func TestWaysOfEachPair(t *testing.T) {
	m := must(t)
	for _, f := range []*graphs.Fabric{
		m(generate.LeafSpine(generate.LeafSpineConfig{Leaves: 4, Spines: 3, Hosts: 2})),
		m(generate.FatTree(generate.FatTreeConfig{K: 4})),
		m(generate.ThreeTier(generate.ThreeTierConfig{Zones: 2, Racks: 3, ClusterSwitches: 2, Aggregation: 3, Hosts: 2, NICs: 3})),
		m(generate.RandomRegular(generate.RandomRegularConfig{Switches: 10, Degree: 4, Hosts: 2, Seed: 3})),
	} {
		for every := range 6 {
			e := pathfind.NewECMPWithout(f, func(l graphs.LinkID) bool { return every > 0 && int(l)%(11*every) == 2*every })
			w := newWays(e)
			hosts := f.Hosts()
			for _, a := range hosts {
				for _, b := range hosts {
					if a == b {
						continue
					}
					want := map[graphs.ArcID]float64{}
					for _, s := range append(e.Shares(a, b), e.Shares(b, a)...) {
						want[s.Arc] += s.Share
					}
					if w.reaches(a, b) != (len(want) > 0) && len(e.Live(a)) > 0 && len(e.Live(b)) > 0 {
						t.Fatalf("%s: %s reaches %s: %t", f, f.NodeName(a), f.NodeName(b), w.reaches(a, b))
					}
					if len(want) == 0 {
						continue
					}
					for _, x := range w.flow(a, b) {
						if d := want[x.arc] - float64(x.p)/one; d > 1e-8 || d < -1e-8 {
							t.Fatalf("%s: %s to %s crosses %s with %g, want %g", f, f.NodeName(a), f.NodeName(b), f.ArcName(x.arc), float64(x.p)/one, want[x.arc])
						}
						if share := w.share(pair{a, b}, x.arc); share != x.p {
							t.Fatalf("%s: share %d of %s, want %d", f, share, f.ArcName(x.arc), x.p)
						}
						delete(want, x.arc)
					}
					if len(want) > 0 {
						t.Fatalf("%s: %s to %s crosses %v too", f, f.NodeName(a), f.NodeName(b), want)
					}
				}
			}
		}
	}
}

// Hosts of several links have many flows, by which each link is crossed, and what a plan expects of an arc is what its flows do.
func TestSeveralLinks(t *testing.T) {
	f := must(t)(generate.ThreeTier(generate.ThreeTierConfig{Zones: 2, Racks: 6, ClusterSwitches: 4, Aggregation: 4, Hosts: 2, NICs: 8}))
	e, p := plan(t, f, Config{Seed: 1})
	if missing := float64(f.NumArcs()) - p.Covered(); missing > Risk*float64(f.NumArcs()) {
		t.Errorf("%.2f arcs are crossed too seldom by %d flows", missing, p.NumFlows())
	}
	w := newWays(e)
	sum := make([]uint64, f.NumArcs())
	for _, h := range p.Hosts() {
		for _, fl := range p.Flows(h) {
			for _, x := range w.flow(fl.Src, fl.Dst) {
				sum[x.arc] += uint64(x.p)
			}
		}
	}
	for a := range graphs.ArcID(f.NumArcs()) {
		if sum[a] != p.tally.sum[a] {
			t.Fatalf("%s is expected to be crossed %g times, its flows say %g", f.ArcName(a), p.Expected(a), float64(sum[a])/one)
		}
	}
}
