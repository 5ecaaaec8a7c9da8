package sim

import (
	"whichlink/graphs"
	"whichlink/pathfind"
	"whichlink/pathfind/localize"
)

// mostListed is how many paths a pair may have for its flows to be of use where their path is not known and their paths have to be listed. It is
// as many as the program lists.
const mostListed = 128

// Observations returns what was counted until now, for the solver: of every flow and direction its packets since the path was traced, and
// those of before. Of the latter, the hosts' own links are certain; between them, it is known only which paths there are. Under
// [pathfind.ECMP] that is said by the switches at the ends, and [localize.Config].Paths must know the path sets ([pathfind.EqualCost]).
// Under other models the paths are listed; where they are too many, what is not traced is left out, lost or not.
func (m *Measurement) Observations() []localize.Observation {
	_, sets := m.model.(*pathfind.ECMP)
	obs := make([]localize.Observation, 0, 2*len(m.flows))
	for i := range m.flows {
		fl := &m.flows[i]
		for d := range 2 {
			w := &m.state[i].ways[d]
			arcs := fl.ways[d].arcs
			o := localize.Observation{Src: fl.Src, Dst: fl.Dst, Responder: graphs.None, Flow: i}
			if d == 1 {
				o.Src, o.Dst = fl.Dst, fl.Src
			}
			if w.known.Sent > 0 {
				o.Path = arcs
				obs = append(obs, counted(o, w.known))
			}
			if w.unknown.Sent == 0 {
				continue
			}
			o.Path = []graphs.ArcID{arcs[0], arcs[len(arcs)-1]}
			if sets {
				o.From, o.To = m.f.Head(arcs[0]), m.f.Tail(arcs[len(arcs)-1])
			} else if o.Alternatives = m.between(&fl.ways[d], o.Src, o.Dst); o.Alternatives == nil {
				continue
			}
			obs = append(obs, counted(o, w.unknown))
		}
	}
	return obs
}

func counted(o localize.Observation, c Count) localize.Observation {
	o.Sent, o.Lost, o.Bursts = c.Sent, c.Lost, c.Runs
	return o
}

// between lists the paths of a pair, of those that begin and end with the first and last arc of a way what lies between these.
func (m *Measurement) between(w *way, src, dst graphs.NodeID) []localize.Alternative {
	if w.between != nil || w.paths > mostListed {
		return w.between
	}
	paths, _ := m.model.Ways(src, dst).Paths(mostListed)
	for _, p := range paths {
		if last := len(p.Arcs) - 1; p.Arcs[0] == w.arcs[0] && p.Arcs[last] == w.arcs[len(w.arcs)-1] {
			w.between = append(w.between, localize.Alternative{Arcs: p.Arcs[1:last], Share: p.Share})
		}
	}
	return w.between
}
