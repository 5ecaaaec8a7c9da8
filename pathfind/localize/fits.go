package localize

import (
	"slices"

	"whichlink/graphs"
)

// Fits reports whether an observation can be one of a fabric: something was sent, no more lost than that, nor less than nothing, and the fabric has the arcs of its ways, and the ends of
// its path set. [Solve] ignores all others.
func (o *Observation) Fits(f *graphs.Fabric) bool {
	strange := func(a graphs.ArcID) bool { return a < 0 || int(a) >= f.NumArcs() }
	for i := range o.Alternatives {
		if slices.ContainsFunc(o.Alternatives[i].Arcs, strange) {
			return false
		}
	}
	node := func(n graphs.NodeID) bool { return n >= 0 && int(n) < f.NumNodes() }
	return o.possible() && !slices.ContainsFunc(o.Path, strange) && (!o.OnSet() || node(o.From) && node(o.To))
}

// OnSet reports whether an observation's packets took one of the paths of Config.Paths.
func (o *Observation) OnSet() bool { return o.From != o.To && len(o.Alternatives) == 0 }
