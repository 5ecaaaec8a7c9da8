package localize

// That flows lose packets by themselves means that it does not matter where they go. A component that comes and goes, or fails some flows and not others, makes
// them lose as if they did so by themselves, and loses far too unevenly to explain that by one rate: against habits learnt from its own losses
// it would stand no chance.

// meet reports whether the flows that lose packets by themselves, as a view has it, have a component in common more often than chance has it. The share
// of them is drawn from the same distribution for those across the component and for all others, once for both or for each.
func (s *search) meet(v *view) bool {
	s.loadLikeliest(v.weights, -1)
	flows, all := s.cleanFlows()
	own, allOwn := make([]float64, s.ix.n), 0.0
	for i := range s.ev.flows {
		t := &s.ev.terms[i]
		if t.lost == 0 || t.answers {
			continue
		}
		w := 0.0
		if odds := s.oddsOfOwn(t); odds > negligibleOdds {
			w = t.ownShare(odds)
		}
		all, allOwn = all+1/t.same, allOwn+w
		for b := t.first; b < t.first+t.n; b++ {
			for _, c := range s.ev.comps[s.ev.first[b]:s.ev.first[b+1]] {
				flows[c] += s.weight[b] / t.same
				own[c] += s.weight[b] * w
			}
		}
	}
	anywhere := openMinded.likely(allOwn, all)
	for _, c := range s.candidates {
		if own[c]*all > allOwn*flows[c] && flows[c] < all && s.ix.logPrior(c)+
			openMinded.likely(own[c], flows[c])+openMinded.likely(allOwn-own[c], all-flows[c]) > anywhere {
			return true
		}
	}
	return false
}

// cleanFlows returns how many flows without loss surely cross each component, and how many there are.
func (s *search) cleanFlows() (across []float64, all float64) {
	c := collector{ix: s.ix, oneWay: s.cfg.OneWay, times: make([]float64, s.ix.n)}
	across = make([]float64, s.ix.n)
	for i := range s.ev.all {
		o := &s.ev.all[i]
		if o.Lost > 0 || s.ix.isNode(o.Responder) || !s.ix.known(o) {
			continue
		}
		sure := s.ix.cleaned(o)
		sure.Alternatives = nil
		c.collect(&merged{Observation: sure}, 0)
		for _, x := range c.comps {
			across[x]++
		}
		all++
	}
	return across, all
}

// likely returns the log of how likely it is that so many of all do something, which ones being told.
func (b beta) likely(some, all float64) float64 {
	of := func(own, other float64) float64 { return lgamma(own) + lgamma(other) - lgamma(own+other) }
	return of(b.own+some, b.other+all-some) - of(b.own, b.other)
}
