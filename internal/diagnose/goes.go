package diagnose

import (
	"slices"

	"whichlink/graphs"
	"whichlink/pathfind/localize"
)

// What makes the losses of a flow come and go: so many at least, which vary from window to window by so many times more than those of a steady loss, or lie in runs
// of so many.
const (
	leastOfRuns = 10
	goesSpread  = 4
	goesRun     = 3
)

// So many losses of answers at least, and so many times as many as good links may lose, while no probe was lost, are no chance.
const leastCalm, calmLoses = 3, 3

// comesAndGoes reports whether what a flow loses on its way there it loses in bursts, as over a link that goes up and down.
func (l *flowLog) comesAndGoes() bool {
	sent, lost, timed, runs := 0, 0, 0, 0
	for i := range l.echoes {
		e := l.echoes[i].measured()
		if !e.split {
			return false
		}
		sent, lost = sent+e.sent, lost+e.lostForward
		if len(e.lostAt) > 0 {
			timed, runs = timed+len(e.lostAt), runs+len(e.runs())
		}
	}
	if lost < leastOfRuns || lost == sent {
		return false
	}
	if timed >= leastOfRuns && timed >= goesRun*runs {
		return true
	}
	p := float64(lost) / float64(sent)
	squares, windows := 0.0, 0
	for i := range l.echoes {
		e := l.echoes[i].measured()
		if n := float64(e.sent); n > 0 {
			d := float64(e.lostForward) - n*p
			squares += d * d / (n * p * (1 - p))
			windows++
		}
	}
	return windows > 1 && squares > goesSpread*float64(windows-1)
}

// losesHome reports whether a flow loses answers also while all of its probes arrive: that is not what makes these come and go.
func (l *flowLog) losesHome() bool {
	sent, lost, longest := 0, 0, 0
	for i := range l.echoes {
		e := l.echoes[i].measured()
		if !e.split || e.lostForward > 0 {
			continue
		}
		sent, lost = sent+e.sent, lost+e.lostBack
		for _, arcs := range e.back.alternatives {
			longest = max(longest, len(arcs))
		}
	}
	return lost >= leastCalm && float64(lost) >= calmLoses*localize.NormalLoss*float64(max(longest, 1)*sent)
}

// turnsBack reports whether the answers of a flow whose losses come and go take a link that its probes take, too. These are answers to probes that
// came over it a moment before, when it was up: that they come back tells nothing of the link.
func (o *observer) turnsBack(i int, path, back way) bool {
	switch l := o.s.order[i]; {
	case path.certain() && back.certain():
		shared := slices.ContainsFunc(path.alternatives[0], func(a graphs.ArcID) bool {
			return crosses(back.alternatives[0], a.Link())
		})
		if !shared {
			return false
		}
	case path.known() || back.known() || !o.s.hasOneLink(l.src) && !o.s.hasOneLink(l.dst): // else they share the link of a host
		return false
	}
	goes, known := o.goes[i]
	if !known {
		goes = o.s.order[i].comesAndGoes() && !o.s.order[i].losesHome()
		o.goes[i] = goes
	}
	return goes
}

// addOnward adds answers that came back over links on which their probes had come, see [observer.turnsBack]: they tell of the links alone that lie between switches which the probes did
// not cross, or may not have.
func (o *observer) addOnward(c count, path, back way) {
	way := o.trip(c)
	c.src, c.dst = graphs.None, graphs.None
	met := o.met(way, path)
	onward := func(arcs []graphs.ArcID) []graphs.ArcID {
		return slices.DeleteFunc(slices.Clone(arcs), func(a graphs.ArcID) bool {
			return slices.Contains(met, o.s.fabric.Tail(a)) || slices.Contains(met, o.s.fabric.Head(a))
		})
	}
	if back.certain() {
		if arcs := onward(back.alternatives[0]); len(arcs) > 0 && len(o.s.misplaced) == 0 {
			o.addCertain(c, arcs, nil)
		}
	} else if x, ok := o.spread(way); ok {
		x.ends = nil
		o.addSpread(c, x)
	} else if set := slices.Clone(o.set(way)); set != nil {
		some := false
		for i := range set {
			set[i].Arcs = onward(set[i].Arcs)
			some = some || len(set[i].Arcs) > 0
		}
		if some {
			o.addCertain(c, nil, set)
		}
	} else if !o.s.asPlanned(way) {
		o.strays(c)
	}
}

// met returns the nodes that a flow's probes surely crossed of those that their answers cross on a trip: where their path is not known, hosts of one link, and the switches that these are at.
func (o *observer) met(home trip, path way) (nodes []graphs.NodeID) {
	if path.certain() {
		for _, a := range path.alternatives[0] {
			nodes = append(nodes, o.s.fabric.Tail(a), o.s.fabric.Head(a))
		}
		return nodes
	}
	for _, h := range []graphs.NodeID{home.src, home.dst} {
		if o.s.hasOneLink(h) {
			nodes = append(nodes, h, o.s.fabric.Head(o.s.fabric.Out(h)[0]))
		}
	}
	return nodes
}

// hasOneLink reports whether all that a node sends and gets goes over one link.
func (s *Store) hasOneLink(n graphs.NodeID) bool {
	return n != graphs.None && len(s.fabric.Out(n)) == 1
}
