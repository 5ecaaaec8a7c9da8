package localize

import (
	"cmp"
	"slices"

	"whichlink/graphs"
)

// That flows lose packets by themselves means that it does not matter where they go. A component that comes and goes, or fails some flows and not others, makes
// them lose as if they did so by themselves, and loses far too unevenly to explain that by one rate: against habits learnt from its own losses
// it would stand no chance.

// clearly is how many nats likelier it must be that flows which lose packets by themselves meet at a component, its prior paid: at one of so many they seem to by chance.
const clearly = 2

// others bounds at how many switches it is looked whether those flows that do not end there meet elsewhere.
const others = 4

// meet reports whether the flows that lose packets by themselves, as a view has it, have a component in common more often than chance has it, or a switch at which flows end and another
// component that others cross. The share of them is drawn from the same distribution for those across the component and for all others, once for both or for each.
func (s *search) meet(v *view) bool {
	s.loadLikeliest(v.weights, -1)
	list := s.meetings(graphs.None)
	slices.SortFunc(list, func(a, b meeting) int { return cmp.Or(cmp.Compare(b.gain, a.gain), cmp.Compare(a.comp, b.comp)) })
	if len(list) > 0 && list[0].gain > clearly {
		return true
	}
	ends := slices.DeleteFunc(list, func(x meeting) bool { return s.ix.kindOf(x.comp) != 2 || !s.ends(graphs.NodeID(x.comp-s.ix.nodes)) })
	for _, x := range ends[:min(len(ends), others)] {
		for _, y := range s.meetings(graphs.NodeID(x.comp - s.ix.nodes)) {
			if x.gain+y.gain > clearly {
				return true
			}
		}
	}
	return false
}

// A meeting is a component at which flows that lose packets by themselves meet, and by how many nats it is likelier that they do than that chance has it, its prior paid.
type meeting struct {
	comp int32
	gain float64
}

// ends reports whether flows end at a switch: it has hosts.
func (s *search) ends(n graphs.NodeID) bool {
	return slices.ContainsFunc(s.ix.f.Out(n), s.ix.f.IsHostArc)
}

// meetings returns the meetings of flows that lose packets by themselves, of those that need not pass a switch if one is named.
func (s *search) meetings(but graphs.NodeID) (list []meeting) {
	flows, all := s.cleanFlows(but)
	own, allOwn := [2][]float64{make([]float64, s.ix.n), make([]float64, s.ix.n)}, bySort{}
	for i := range s.ev.flows {
		t := &s.ev.terms[i]
		if t.lost == 0 || t.answers || but != graphs.None && s.mustPass(t, s.ix.node(but)) {
			continue
		}
		w := 0.0
		if odds := s.oddsOfOwn(t); odds > negligibleOdds {
			w = t.ownShare(odds)
		}
		sort := sortOf(t.carried)
		all[sort], allOwn[sort] = all[sort]+1/t.same, allOwn[sort]+w
		for b := t.first; b < t.first+t.n; b++ {
			for _, c := range s.ev.comps[s.ev.first[b]:s.ev.first[b+1]] {
				flows[sort][c] += s.weight[b] / t.same
				own[sort][c] += s.weight[b] * w
			}
		}
	}
	for _, c := range s.candidates {
		x := meeting{c, s.ix.logPrior(c)} // flows of each sort have habits of their own
		for sort, n := range all {
			some, across := own[sort][c], flows[sort][c]
			if some > 0 && sort == 0 && s.ev.sets != nil {
				across += s.ev.sets.flowsOver(c, but)
			}
			if some*n > allOwn[sort]*across && across < n {
				x.gain += anyShare.likely(some, across) + anyShare.likely(allOwn[sort]-some, n-across) - anyShare.likely(allOwn[sort], n)
			}
		}
		list = append(list, x)
	}
	return list
}

// mustPass reports whether all ways of a flow pass a component.
func (s *search) mustPass(t *term, c int32) bool {
	for b := t.first; b < t.first+t.n; b++ {
		if !slices.Contains(s.ev.comps[s.ev.first[b]:s.ev.first[b+1]], c) {
			return false
		}
	}
	return true
}

// cleanFlows returns, by sort, how many flows without loss cross each component, those of several ways by their shares, and how many there are, of those that need not pass
// a switch if one is named. Of those of path sets it counts what is certain only.
func (s *search) cleanFlows(but graphs.NodeID) (across [2][]float64, all bySort) {
	type crossing struct {
		comp  int32
		share float64
	}
	var crossed []crossing
	c := collector{ix: s.ix, oneWay: s.cfg.OneWay, times: make([]float64, s.ix.n)}
	across = [2][]float64{make([]float64, s.ix.n), make([]float64, s.ix.n)}
	for i := range s.ev.all {
		o := &s.ev.all[i]
		if o.Lost > 0 || s.ix.isNode(o.Responder) || !s.ix.known(o) {
			continue
		}
		clean, must := &merged{Observation: s.ix.cleaned(o)}, but != graphs.None
		crossed = crossed[:0]
		for j := range max(1, len(clean.Alternatives)) {
			share := 1.0
			if len(clean.Alternatives) > 0 {
				share = clean.Alternatives[j].Share
			}
			c.collect(clean, j)
			for _, x := range c.comps {
				crossed = append(crossed, crossing{x, share})
			}
			must = must && slices.Contains(c.comps, s.ix.node(but))
		}
		if must {
			continue
		}
		sort := sortOf(o.Carried)
		for _, x := range crossed {
			across[sort][x.comp] += x.share
		}
		all[sort]++
	}
	return across, all
}

// flowsOver returns how many flows a component lies on the paths of, by their shares, but for those that end at a switch if one is named. The switches at the ends of a path set are certain.
func (t *setTable) flowsOver(c int32, but graphs.NodeID) (n float64) {
	t.passes(c, func(pair int32, share float64, _ graphs.ArcID) {
		if p := &t.pairs[pair]; c != t.ix.node(p.from) && c != t.ix.node(p.to) && (but == graphs.None || but != p.from && but != p.to) {
			for _, b := range t.bunchesOf(pair) {
				n += share * float64(b.copies)
			}
		}
	})
	return n
}

// likely returns the log of how likely it is that so many of all do something, which ones being told.
func (b beta) likely(some, all float64) float64 {
	of := func(own, other float64) float64 { return lgamma(own) + lgamma(other) - lgamma(own+other) }
	return of(b.own+some, b.other+all-some) - of(b.own, b.other)
}
