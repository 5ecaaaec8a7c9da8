package report

import (
	"cmp"
	"fmt"
	"slices"

	"whichlink/graphs"
	"whichlink/internal/diagnose"
)

// A Crossing is the flows that cross a suspect.
type Crossing struct {
	Suspect     string
	Lossy, Many int // how many lose probes, of how many
	Flows       []FlowPath
}

// A FlowPath is one direction of a flow, with the path that it takes.
type FlowPath struct {
	Flow       string
	Sent, Lost int
	Share      string
	Hops       []Hop
}

// A Hop is a node on a path. At is whether the way to it is the suspect's.
type Hop struct {
	Node string
	At   bool
}

// mostLossy and mostClean are how many flows are shown of either kind.
const mostLossy, mostClean = 8, 3

// tellCrossing lists flows that cross a suspect: those that lose most first, then some that lose nothing.
func (c *Collector) tellCrossing(r *Report, x *diagnose.Suspect) {
	arcs := arcsOf(c.fabric, x.ID)
	type direction struct {
		flow, route int32
		home        bool
	}
	at := map[direction]int{}
	var all []FlowPath
	add := func(d direction, sent, lost int32) {
		if d.route < 0 || sent <= 0 || !slices.ContainsFunc(c.routes[d.route], func(a graphs.ArcID) bool { return arcs[a] }) {
			return
		}
		i, ok := at[d]
		if !ok {
			i = len(all)
			at[d] = i
			all = append(all, FlowPath{Flow: c.flowName(d.flow, d.home), Hops: c.hops(c.routes[d.route], arcs)})
		}
		all[i].Sent += int(sent)
		all[i].Lost += int(lost)
	}
	for i := range c.echoes {
		e := &c.echoes[i]
		if e.there < 0 {
			add(direction{e.flow, e.route, false}, e.sent, e.lost)
			continue
		}
		add(direction{e.flow, e.route, false}, e.sent, e.there)
		add(direction{e.flow, e.back, true}, e.sent-e.there, e.home)
	}
	r.Crossing = Crossing{Suspect: x.ID, Many: len(all)}
	for i := range all {
		f := &all[i]
		f.Share = diagnose.Percent(float64(f.Lost) / float64(f.Sent))
		if f.Lost > 0 {
			r.Crossing.Lossy++
		}
	}
	slices.SortStableFunc(all, func(a, b FlowPath) int {
		return cmp.Or(-cmp.Compare(float64(a.Lost)/float64(a.Sent), float64(b.Lost)/float64(b.Sent)), -cmp.Compare(a.Sent, b.Sent), cmp.Compare(a.Flow, b.Flow))
	})
	r.Crossing.Flows = slices.Concat(all[:min(mostLossy, r.Crossing.Lossy)], all[r.Crossing.Lossy:min(len(all), r.Crossing.Lossy+mostClean)])
}

func (c *Collector) flowName(id int32, home bool) string {
	f := c.flows[id].Flow
	if home {
		f.Src, f.Dst, f.SrcPort, f.DstPort = f.Dst, f.Src, f.DstPort, f.SrcPort
	}
	return fmt.Sprintf("%s %s:%d to %s:%d", graphs.Clean(f.Proto), f.Src, f.SrcPort, f.Dst, f.DstPort)
}

func (c *Collector) hops(route []graphs.ArcID, arcs map[graphs.ArcID]bool) []Hop {
	hops := []Hop{{Node: c.fabric.NodeName(c.fabric.Tail(route[0]))}}
	for _, a := range route {
		hops = append(hops, Hop{c.fabric.NodeName(c.fabric.Head(a)), arcs[a]})
	}
	return hops
}
