package diagnose

import (
	"slices"
	"time"

	"whichlink/graphs"
	"whichlink/internal/evidence"
	"whichlink/pathfind/localize"
)

// A captured is what a capture tells of one direction of a flow: packets that carry sequence numbers, and how many were lost
// between the source and the point of capture and between that and the destination. With paired it is what two captures tell, the
// second taken at to: packets that the first has, and how many of them were lost between the two. What one of such two tells alone has
// both places, too, and nothing to tell of what lies between.
type captured struct {
	start, at              time.Time // equal where the record tells no window
	place, to              place
	packets                int
	before, after, between int
	paired                 bool
}

// A place is where a capture was taken: nowhere known, a node, or a port.
type place struct {
	node graphs.NodeID
	port graphs.PortID
}

var nowhere = place{node: graphs.None, port: graphs.None}

// placeOf finds a node or port by name. A name that the fabric does not have is nowhere known.
func (s *Store) placeOf(name string) (place, bool) {
	p := nowhere
	var ok bool
	if p.port, ok = s.fabric.PortByName(name); ok {
		return p, true
	}
	p.port = graphs.None
	if p.node, ok = s.fabric.NodeByName(name); ok {
		return p, true
	}
	return nowhere, name == ""
}

// addFlow takes in a capture's record of a flow.
func (s *Store) addFlow(r *evidence.Record) {
	if r.Flow == nil {
		return
	}
	paired := r.LostBetween != nil && r.Packets != nil
	if !paired && (r.LostBefore == nil || r.LostAfter == nil || r.Packets == nil) {
		s.skipped["flows of captures without sequence numbers, whose losses do not show"]++
		return
	}
	_, src := s.fabric.Owner(r.Flow.Src)
	_, dst := s.fabric.Owner(r.Flow.Dst)
	if !src || !dst {
		s.skipped["flows of captures between addresses that the fabric does not have"]++
		return
	}
	c := captured{start: r.Start(), at: r.Time, packets: *r.Packets, to: nowhere, paired: paired}
	if paired {
		c.between = *r.LostBetween
	} else {
		c.before, c.after = *r.LostBefore, *r.LostAfter
	}
	if r.Data != nil && !paired {
		c.packets = *r.Data
	}
	var known, also bool
	c.place, known = s.placeOf(r.At)
	if c.to, also = s.placeOf(r.To); !known || !also {
		s.skipped["flows of captures taken at a place that the fabric does not have"]++
		return
	}
	l := s.log(r)
	l.captured = filed(l.captured, c, compareCaptured, &l.late)
}

// captured adds what a capture counted: each part of the path, before and behind the point of capture, as far as it is known which
// arcs lie in it. Where it is not known both losses are of the whole path.
func (o *observer) captured(i int, l *flowLog, c *captured) {
	if l.leftOut {
		return
	}
	set := o.set(l.there())
	if len(set) == 0 && !o.s.asPlanned(l.there()) {
		o.strays(count{sent: c.packets, lost: c.before + c.after + c.between})
		return
	}
	if c.paired {
		o.addSet(count{flow: i, src: graphs.None, dst: graphs.None, sent: c.packets, lost: c.between}, o.passed(l, c.part(o.s.fabric, l, set)))
		return
	}
	set = o.passed(l, set)
	arrived := count{flow: i, src: l.src, dst: graphs.None, sent: c.packets + c.before, lost: c.before}
	passed := count{flow: i, src: graphs.None, dst: l.dst, sent: max(c.packets, c.after), lost: c.after}
	before, after, known := c.split(o.s.fabric, l, set)
	if !known {
		whole := count{flow: i, src: l.src, dst: l.dst, sent: max(c.packets+c.before, c.before+c.after), lost: c.before + c.after}
		o.addSet(whole, set)
		return
	}
	o.addSet(arrived, before)
	o.addSet(passed, after)
}

// passed returns what the captured packets of a flow tell of, of the ways that they took. The first arc stands for what the host itself does to what it sends, too: where captured packets
// do not suffer from what it says that its own queues or filters drop, that they pass tells nothing of probes.
func (o *observer) passed(l *flowLog, set []localize.Alternative) []localize.Alternative {
	if x := o.s.refused[l.src]; x == nil || !x.spares {
		return set
	}
	var behind []localize.Alternative
	for _, w := range set {
		arcs := w.Arcs
		if len(arcs) > 0 && o.s.fabric.Tail(arcs[0]) == l.src {
			arcs = arcs[1:]
		}
		behind = merge(behind, arcs, w.Share)
	}
	return behind
}

// addSet adds a count over one of several ways. Without any it is left out.
func (o *observer) addSet(c count, set []localize.Alternative) {
	switch {
	case c.sent == 0:
	case len(set) == 0:
		if c.lost > 0 {
			o.dropped += c.sent
		}
	case len(set) == 1:
		o.addCertain(c, set[0].Arcs, nil)
	default:
		o.addCertain(c, nil, set)
	}
}

// split cuts the ways of a flow at the place of capture, and at the other one if there are two, in whatever order they are passed. Ways that do not pass there are left out: the
// captures have the flow. Parts without arcs are left out too. It is not known where to cut if a place is not known or no way passes it.
func (c *captured) split(f *graphs.Fabric, l *flowLog, set []localize.Alternative) (before, after []localize.Alternative, known bool) {
	for _, w := range set {
		first := c.place.cut(f, l, w.Arcs)
		last := first
		if c.to != nowhere {
			last = c.to.cut(f, l, w.Arcs)
		}
		if first > last {
			first, last = last, first
		}
		if first < 0 {
			continue
		}
		before, after, known = merge(before, w.Arcs[:first], w.Share), merge(after, w.Arcs[last:], w.Share), true
	}
	return before, after, known
}

// part cuts out of the ways of a flow what lies between the two places. Ways that do not pass them in their order are left out; if
// none does, or a place is not known, the loss may be anywhere.
func (c *captured) part(f *graphs.Fabric, l *flowLog, set []localize.Alternative) []localize.Alternative {
	var out []localize.Alternative
	passes := false
	for _, w := range set {
		from, to := c.place.cut(f, l, w.Arcs), c.to.cut(f, l, w.Arcs)
		if from < 0 || to < from {
			continue
		}
		passes = true
		out = merge(out, w.Arcs[from:to], w.Share)
	}
	if !passes {
		return set
	}
	return out
}

// Passes reports whether each way of a flow that passes one place passes another after it, and some way does. A way that is not known, as where switches
// route by another model, may lead anywhere.
func (s *Store) Passes(flow *evidence.Flow, at, to string) bool {
	from, known := s.placeOf(at)
	next, also := s.placeOf(to)
	src, of := s.fabric.Owner(flow.Src)
	dst, goes := s.fabric.Owner(flow.Dst)
	if !known || !also || !of || !goes || at == "" || to == "" {
		return false
	}
	l := flowLog{src: src.Node, dst: dst.Node, intoSrc: s.arcTo(flow.Src), intoDst: s.arcTo(flow.Dst)}
	passes := false
	for _, w := range s.observer().set(l.there()) {
		cut := from.cut(s.fabric, &l, w.Arcs)
		if cut < 0 {
			continue
		}
		if next.cut(s.fabric, &l, w.Arcs) < cut {
			return false
		}
		passes = true
	}
	return passes
}

// cut returns how many arcs of a way lie before a place, or -1 if the way does not pass it.
func (p place) cut(f *graphs.Fabric, l *flowLog, arcs []graphs.ArcID) int {
	if p.node != graphs.None && p.node == l.src {
		return 0
	}
	for i, a := range arcs {
		switch {
		case p.port != graphs.None && f.TailPort(a) == p.port:
			return i
		case p.port != graphs.None && f.HeadPort(a) == p.port, p.node != graphs.None && f.Head(a) == p.node:
			return i + 1
		}
	}
	return -1
}

// merge adds a way to others, or its share to the one that is the same.
func merge(set []localize.Alternative, arcs []graphs.ArcID, share float64) []localize.Alternative {
	if len(arcs) == 0 {
		return set
	}
	for i := range set {
		if slices.Equal(set[i].Arcs, arcs) {
			set[i].Share += share
			return set
		}
	}
	return append(set, localize.Alternative{Arcs: arcs, Share: share})
}

// instrument names what most of the evidence comes from.
func (s *Store) instrument() string {
	for _, l := range s.order {
		if len(l.echoes) > 0 {
			return string(evidence.SourceProbe)
		}
	}
	for _, l := range s.order {
		if len(l.captured) > 0 {
			return string(evidence.SourcePcap)
		}
	}
	return string(evidence.SourceProbe)
}
