package diagnose

import (
	"maps"
	"math"
	"slices"

	"whichlink/graphs"
	"whichlink/pathfind"
)

// A survey is what ways would cross, by ECMP, of the links between switches that none of them does. Others are not looked at: at size there are a thousand
// arcs on the shortest paths of one pair.
type survey struct {
	f      *graphs.Fabric
	ways   []tracedWay
	pairs  [][2]graphs.NodeID        // those of the ways
	pairOf []int32                   // by way, index into pairs
	due    []due                     // by pair
	silent []bool                    // by link
	gone   map[graphs.LinkID]bool    // links that are supposed to be down
	byLink map[graphs.LinkID][]int32 // the ways that might cross a silent link; nil until asked for
}

// A due is what flows of a pair would cross of the silent links, and how many links there are on its shortest paths.
type due struct {
	shares []pathfind.ArcShare
	hops   int
}

// survey looks at ways as they are when nothing is down.
func (s *Store) survey(ways []tracedWay) *survey {
	v := &survey{f: s.fabric, ways: ways, silent: make([]bool, s.fabric.NumLinks()), gone: map[graphs.LinkID]bool{}}
	for l := range graphs.LinkID(len(v.silent)) {
		v.silent[l] = !s.fabric.IsHostArc(l.Forward())
	}
	for i := range ways {
		for _, a := range ways[i].arcs {
			v.silent[a.Link()] = false
		}
	}
	if !slices.Contains(v.silent, true) {
		v.ways = nil
	}
	known := map[[2]graphs.NodeID]int32{}
	var shares []pathfind.ArcShare
	for i := range v.ways {
		pair := v.ways[i].pair
		n, ok := known[pair]
		if !ok {
			n = int32(len(v.pairs))
			known[pair] = n
			v.pairs, v.due = append(v.pairs, pair), append(v.due, v.duesOf(s.ecmp, pair, &shares))
		}
		v.pairOf = append(v.pairOf, n)
	}
	return v
}

// duesOf works out a due. It overwrites shares.
func (v *survey) duesOf(e *pathfind.ECMP, pair [2]graphs.NodeID, shares *[]pathfind.ArcShare) due {
	d := due{hops: e.Distance(pair[0], pair[1])}
	*shares = e.AppendShares((*shares)[:0], pair[0], pair[1])
	for _, x := range *shares {
		if v.silent[x.Arc.Link()] {
			d.shares = append(d.shares, x)
		}
	}
	return d
}

func (d *due) touches(links []graphs.LinkID) bool {
	return slices.ContainsFunc(d.shares, func(x pathfind.ArcShare) bool { return slices.Contains(links, x.Arc.Link()) })
}

// without is the survey as it is when some silent links are down, too. What does not touch them goes on as it does.
func (v *survey) without(links []graphs.LinkID) *survey {
	out := *v
	out.gone, out.due, out.byLink = maps.Clone(v.gone), slices.Clone(v.due), nil
	for _, l := range links {
		out.gone[l] = true
	}
	e := pathfind.NewECMPWithout(v.f, func(l graphs.LinkID) bool { return out.gone[l] })
	var shares []pathfind.ArcShare
	for i, pair := range v.pairs {
		if v.due[i].touches(links) {
			out.due[i] = v.duesOf(e, pair, &shares)
		}
	}
	return &out
}

// A doubt sums up what speaks for a link's silence being no chance.
type doubt struct {
	tried             int     // ways that might have crossed the link
	expected          float64 // of them, by the model
	untraced          int     // of which it is not known whether they do
	logChance, direct float64 // of no way crossing it by chance; direct of those alone that had no other way to go
}

// add takes in a way that might have crossed a link by an arc.
func (d *doubt) add(w *tracedWay, l graphs.LinkID, hops int, share float64) {
	d.tried++
	d.expected += share
	if w.arcs == nil && !w.spares(l) {
		d.untraced++
		return
	}
	// A way that is longer than it need be is telling: something on all the short ones is gone. But a share of one does not make a
	// single way proof enough, for routes may be on the move while it is traced.
	most := 0.9
	if len(w.arcs) > hops {
		most = 0.999
	}
	c := math.Log1p(-min(share, most))
	d.logChance += c
	if share > 0.999 {
		d.direct += c
	}
}

// settled reports whether chance is out of the question. All ways that cross a link may be among those that could not be traced,
// if a switch next to it does not answer; so these must be far fewer than the ways that are expected to cross it.
func (d *doubt) settled() bool {
	limit := math.Log(withdrawnChance)
	return d.direct < limit || d.logChance < limit && float64(d.untraced) < d.expected-4*math.Sqrt(d.expected)
}

// unexpected returns the links that no way crosses, against all expectation.
func (v *survey) unexpected() []silence {
	doubts := make([]doubt, len(v.silent))
	for i := range v.ways {
		d := &v.due[v.pairOf[i]]
		for _, x := range d.shares {
			doubts[x.Arc.Link()].add(&v.ways[i], x.Arc.Link(), d.hops, x.Share)
		}
	}
	var out []silence
	for l := range graphs.LinkID(len(doubts)) {
		if d := &doubts[l]; v.silent[l] && d.settled() {
			out = append(out, silence{l, d.tried - d.untraced, math.Exp(d.logChance)})
		}
	}
	return out
}

// remain counts which of the unexpected links surely are so when others are down, by the ways alone that do not touch these: more can only make
// it more certain, but for those that are not traced. It counts no further than one more than most.
func (v *survey) remain(left []silence, links []graphs.LinkID, most int) int {
	if v.byLink == nil {
		v.index()
	}
	untraced := 0
	for _, l := range links {
		for _, i := range v.byLink[l] {
			if v.ways[i].arcs == nil && !v.ways[i].spares(l) {
				untraced++
			}
		}
	}
	n := 0
	for _, x := range left {
		if n > most {
			break
		}
		if slices.Contains(links, x.link) {
			continue
		}
		d := doubt{untraced: untraced}
		for _, i := range v.byLink[x.link] {
			if over := &v.due[v.pairOf[i]]; !over.touches(links) {
				for _, y := range over.shares {
					if y.Arc.Link() == x.link {
						d.add(&v.ways[i], x.link, over.hops, y.Share)
					}
				}
			}
		}
		if d.settled() {
			n++
		}
	}
	return n
}

// index notes which ways might cross each silent link.
func (v *survey) index() {
	v.byLink = map[graphs.LinkID][]int32{}
	for i := range v.ways {
		for _, x := range v.due[v.pairOf[i]].shares {
			list := v.byLink[x.Arc.Link()]
			if n := len(list); n == 0 || list[n-1] != int32(i) {
				v.byLink[x.Arc.Link()] = append(list, int32(i))
			}
		}
	}
}
