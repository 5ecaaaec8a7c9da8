package diagnose

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"whichlink/graphs"
	"whichlink/graphs/generate"
	"whichlink/pathfind"
)

// drained returns a store over a fat-tree, and the ways of flows that routing leads around some links. One in two hundred is not traced.
func drained(t testing.TB, k, flows int, down []graphs.LinkID) (*Store, []tracedWay) {
	f, err := generate.FatTree(generate.FatTreeConfig{K: k})
	if err != nil {
		t.Fatal(err)
	}
	e := pathfind.NewECMPWithout(f, func(l graphs.LinkID) bool { return slices.Contains(down, l) })
	rng := rand.New(rand.NewPCG(1, uint64(k)))
	hosts := f.Hosts()
	var ways []tracedWay
	for range flows {
		pair := [2]graphs.NodeID{hosts[rng.IntN(len(hosts))], hosts[rng.IntN(len(hosts))]}
		w := tracedWay{pair: pair}
		if rng.IntN(200) > 0 {
			w.arcs, _ = e.Ways(pair[0], pair[1]).Draw(rng.Float64)
		}
		ways = append(ways, w)
	}
	return NewStore(f, Config{}), ways
}

func linksAt(s *Store, node string) (links []graphs.LinkID) {
	n, _ := s.fabric.NodeByName(node)
	for _, a := range s.fabric.Out(n) {
		links = append(links, a.Link())
	}
	return links
}

// TestSurvey: what is expected when links are down, too, is the same whether it is worked out anew or only where it changes, and no more of it remains silent than was
// said surely to.
func TestSurvey(t *testing.T) {
	plain, _ := drained(t, 6, 0, nil)
	for _, down := range [][]graphs.LinkID{linksAt(plain, "core3"), linksAt(plain, "agg2-1"), linksAt(plain, "core5")[2:4], append(linksAt(plain, "core1"), linksAt(plain, "agg4-3")[1])} {
		s, ways := drained(t, 6, 6000, down)
		v := s.survey(ways)
		left := v.unexpected()
		if len(left) < len(down)/2 {
			t.Fatalf("%d of %d links are silent", len(left), len(down))
		}
		for _, c := range v.candidates(left) {
			anew := *s
			anew.ecmp = pathfind.NewECMPWithout(s.fabric, func(l graphs.LinkID) bool { return slices.Contains(c.links, l) })
			got, want := v.without(c.links).unexpected(), anew.survey(ways).unexpected()
			if !slices.Equal(got, want) {
				t.Errorf("without %v: %v, want %v", c.links, got, want)
			}
			if n := v.remain(left, c.links, len(left)); n > len(want) {
				t.Errorf("without %v %d remain, surely %d", c.links, len(want), n)
			}
		}
	}
}

// BenchmarkWithdrawn finds a core switch that was drained.
func BenchmarkWithdrawn(b *testing.B) {
	for _, k := range []int{8, 16} {
		plain, _ := drained(b, k, 0, nil)
		core := fmt.Sprintf("core%02d", 3*k/4)
		s, ways := drained(b, k, 8*k*k*k, linksAt(plain, core))
		b.Run(fmt.Sprintf("k=%d", k), func(b *testing.B) {
			for b.Loop() {
				if found := s.absences(ways); len(found) != 1 || s.fabric.NodeName(found[0].class[0].node) != core {
					b.Fatalf("got %+v", found)
				}
			}
		})
	}
}
