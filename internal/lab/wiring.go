package lab

import (
	"fmt"

	"whichlink/graphs"
)

// A wiring says which port is really connected to which, where that may differ from the plan. Ports are those of the plan.
type wiring struct {
	plan *graphs.Fabric
	// far is, for each port, the port at the other end of its cable.
	far []graphs.PortID
	// fabric is the plan as it is wired: nodes and links have the ids of the plan, links that were swapped have other ends.
	fabric *graphs.Fabric
	// toPlan translates the ports of fabric; nil where they are those of the plan.
	toPlan []graphs.PortID
}

func asPlanned(f *graphs.Fabric) *wiring {
	w := &wiring{plan: f, far: make([]graphs.PortID, f.NumPorts()), fabric: f}
	for l := range graphs.LinkID(f.NumLinks()) {
		e := f.Link(l).Ends
		w.far[e[0]], w.far[e[1]] = e[1], e[0]
	}
	return w
}

// swap returns the wiring with the far ends of two links, as they are now, exchanged: of a--b and c--d become a--d and c--b,
// where a and c are the first ends of the links in the plan.
func (w *wiring) swap(one, other graphs.LinkID) (*wiring, error) {
	if one == other {
		return nil, fmt.Errorf("a link cannot be swapped with itself")
	}
	a, c := w.plan.Link(one).Ends[0], w.plan.Link(other).Ends[0]
	b, d := w.far[a], w.far[c]
	if w.plan.Port(a).Node == w.plan.Port(d).Node || w.plan.Port(c).Node == w.plan.Port(b).Node {
		return nil, fmt.Errorf("the swap would connect a node to itself")
	}
	n := &wiring{plan: w.plan, far: append([]graphs.PortID(nil), w.far...)}
	n.far[a], n.far[d], n.far[c], n.far[b] = d, a, b, c
	fabric, err := rebuild(w.plan, func(l graphs.LinkID, ends *[2]graphs.End) error {
		far := w.plan.Port(n.far[w.plan.Link(l).Ends[0]])
		ends[1] = graphs.End{Node: far.Node, Port: far.Name, Prefixes: far.Prefixes}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("swap %s and %s: %w", w.plan.LinkName(one), w.plan.LinkName(other), err)
	}
	n.fabric = fabric
	n.toPlan = make([]graphs.PortID, fabric.NumPorts())
	for p := range n.toPlan {
		n.toPlan[p], _ = w.plan.PortByName(fabric.PortName(graphs.PortID(p)))
	}
	return n, nil
}

// planPort translates a port of the fabric as wired into the port of the plan.
func (w *wiring) planPort(p graphs.PortID) graphs.PortID {
	if w.toPlan == nil {
		return p
	}
	return w.toPlan[p]
}

// linkOf returns the link, in the fabric as wired, whose cable is plugged into a port of the plan.
func (w *wiring) linkOf(p graphs.PortID) graphs.LinkID {
	if w.toPlan == nil {
		return w.plan.Port(p).Link
	}
	q, _ := w.fabric.PortByName(w.plan.PortName(p))
	return w.fabric.Port(q).Link
}
