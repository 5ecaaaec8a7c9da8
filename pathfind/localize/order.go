package localize

import (
	"cmp"
	"math"
	"slices"

	"whichlink/graphs"
)

// sort puts observations that are of a flow each into an order of their own, by all but the numbers of their flows: these may follow the order in which somebody
// wrote them down, and a sum is not the same to the last digit in another one.
func (ev *evidence) sort() {
	if !slices.ContainsFunc(ev.obs, func(m merged) bool { return compareEnds(m.Observation, ev.obs[0].Observation) != 0 }) {
		for i := range ev.obs { // what tells most of them apart lies at hand then
			ev.obs[i].begins = beginning(ev.obs[i].Path)
		}
	}
	slices.SortFunc(ev.obs, func(a, b merged) int {
		if a.begins != b.begins {
			return cmp.Compare(a.begins, b.begins)
		}
		if c := compareWay(a.Observation, b.Observation); c != 0 {
			return c
		}
		return compareCounts(a, b)
	})
}

// beginning returns the first two arcs of a path in a form that is in the order of paths.
func beginning(path []graphs.ArcID) (begins int64) {
	for i := range 2 {
		if begins <<= 32; i < len(path) {
			begins += int64(path[i]) + 1
		}
	}
	return begins
}

// merge puts observations into an order of their own and adds up those that differ in counts only.
func (ev *evidence) merge() {
	slices.SortFunc(ev.obs, func(a, b merged) int {
		if c := compare(a.Observation, b.Observation); c != 0 {
			return c
		}
		return compareCounts(a, b)
	})
	out := ev.obs[:0]
	for _, m := range ev.obs {
		if len(out) > 0 && compare(out[len(out)-1].Observation, m.Observation) == 0 {
			last := &out[len(out)-1]
			switch {
			case last.lost > 0 && last.bursts == 0, m.lost > 0 && m.bursts == 0: // nothing is known of some
				last.bursts = 0
			default:
				last.bursts = addSaturating(last.bursts, m.bursts)
			}
			last.untold = last.untold || m.untold
			last.sent = addSaturating(last.sent, m.sent)
			last.lost = addSaturating(last.lost, m.lost)
			continue
		}
		out = append(out, m)
	}
	ev.obs = out
	for i := 1; i < len(out); i++ {
		if out[i-1].Flow == out[i].Flow {
			return
		}
	}
	ev.sort() // as if the flows had been counted in their order
}

// compareCounts orders observations by their counts.
func compareCounts(a, b merged) int {
	return cmp.Or(cmp.Compare(a.sent, b.sent), cmp.Compare(a.lost, b.lost), cmp.Compare(a.bursts, b.bursts))
}

// compare orders observations by everything but their counts.
func compare(a, b *Observation) int {
	if c := cmp.Compare(a.Flow, b.Flow); c != 0 { // as it is mostly
		return c
	}
	return compareWay(a, b)
}

// compareEnds orders observations by where their packets came from and went to, and who answered.
func compareEnds(a, b *Observation) int {
	if a.Responder == b.Responder && a.Src == b.Src && a.Dst == b.Dst && a.From == b.From && a.To == b.To && a.Carried == b.Carried {
		return 0 // as it is mostly
	}
	return cmp.Or(cmp.Compare(a.Responder, b.Responder), cmp.Compare(a.Src, b.Src), cmp.Compare(a.Dst, b.Dst),
		cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To), cmp.Compare(sortOf(a.Carried), sortOf(b.Carried)))
}

// compareWay orders observations by what their packets crossed.
func compareWay(a, b *Observation) int {
	if c := compareEnds(a, b); c != 0 {
		return c
	}
	if c := slices.Compare(a.Path, b.Path); c != 0 {
		return c
	}
	return slices.CompareFunc(a.Alternatives, b.Alternatives, func(x, y Alternative) int {
		return cmp.Or(slices.Compare(x.Arcs, y.Arcs), cmp.Compare(x.Share, y.Share))
	})
}

func addSaturating(a, b int) int {
	if a > math.MaxInt-b {
		return math.MaxInt
	}
	return a + b
}
