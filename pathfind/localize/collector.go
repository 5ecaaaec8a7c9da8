package localize

import "whichlink/graphs"

// A collector gathers the components that a path crosses, and how often. It is used again for each path.
type collector struct {
	ix     *index
	oneWay bool // links are no causes
	comps  []int32
	times  []float64 // by component; zero where not in comps
	arcs   float64
	// The components of all branches so far, one branch after the other, and how often the branch crosses each.
	flat      []int32
	flatTimes []float32
}

func (c *collector) add(x int32, times float64) {
	if c.times[x] == 0 {
		c.comps = append(c.comps, x)
	}
	c.times[x] += times
}

func (c *collector) arc(a graphs.ArcID) {
	l := a.Link()
	c.arcs++
	c.add(int32(a), 1)
	if !c.oneWay {
		c.add(c.ix.link(l), 1)
	}
	for _, g := range c.ix.f.Link(l).Groups {
		c.add(c.ix.inGroup(g), 1)
	}
}

// collect gathers what had a part in an observation if its packets took alternative j; of a mirrored one, 1 is the mirror.
func (c *collector) collect(o *merged, j int) {
	for _, x := range c.comps {
		c.times[x] = 0
	}
	c.comps, c.arcs = c.comps[:0], 0
	ix := c.ix
	if o.unsent(j) {
		return
	}
	for i, a := range o.Path {
		c.arc(a)
		if i == 0 {
			continue
		}
		// The switch between two arcs. Where they do not meet, arcs between them are unknown, but both switches were passed.
		h, t := ix.head[o.Path[i-1]], ix.tail[a]
		if !ix.host[h] {
			c.add(ix.node(h), 1)
		}
		if t != h && !ix.host[t] {
			c.add(ix.node(t), 1)
		}
	}
	times := 1.0
	if ix.returns(o.Observation) {
		times = 2 // there and back: both hosts sent and received
	} else if o.Responder != graphs.None && o.Src != graphs.None && ix.access[o.Src] != graphs.None {
		// Whatever way the answer took, it came over the prober's only link.
		times = 2
		a := ix.access[o.Src]
		c.arc(a)
		if n := ix.tail[a]; n != o.Responder && !ix.host[n] {
			c.add(ix.node(n), 1)
		}
	}
	for _, h := range [...]graphs.NodeID{o.Src, o.Dst} {
		if h != graphs.None && h != o.Responder {
			c.add(ix.node(h), times)
		}
	}
	if o.Responder != graphs.None {
		c.once(o.Responder)
	}
	if len(o.Alternatives) == 0 {
		if j == 1 { // mirrored
			for i := len(o.Path) - 1; i > 0; i-- {
				c.arc(o.Path[i].Reverse())
				if n := ix.tail[o.Path[i]]; i > 1 && !ix.host[n] {
					c.add(ix.node(n), 1)
				}
			}
		}
		return
	}
	arcs := o.Alternatives[j].Arcs
	last := len(arcs) - 1
	for i, a := range arcs {
		c.arc(a)
		h, t := ix.head[a], ix.tail[a]
		if i == 0 && !ix.host[t] {
			c.once(t) // it may be the responder, or on the path
		}
		switch {
		case ix.host[h]:
		case i == last:
			c.once(h)
		default:
			c.add(ix.node(h), 1) // once more where it was passed before, as on the way there
		}
		if i > 0 && t != ix.head[arcs[i-1]] && !ix.host[t] {
			c.add(ix.node(t), 1)
		}
	}
}

// unsent reports whether there were no packets at all if alternative j is true.
func (m *merged) unsent(j int) bool {
	return len(m.Path) == 0 && len(m.Alternatives) > 0 && len(m.Alternatives[j].Arcs) == 0
}

// returns reports whether the path of an observation leads back to its source.
func (ix *index) returns(o *Observation) bool {
	back := func(arcs []graphs.ArcID) bool { return len(arcs) > 0 && ix.head[arcs[len(arcs)-1]] == o.Src }
	return back(o.Path) || len(o.Alternatives) > 0 && back(o.Alternatives[0].Arcs)
}

// mirrors reports whether the answers of an observation came back by an unknown way. One of two then is the way there, reversed: that is
// likely enough in a small fabric for losses of answers to look like losses on the way there.
func (ix *index) mirrors(o *merged) bool {
	return o.ttl() && len(o.Alternatives) == 0 && len(o.Path) > 1 && !ix.returns(o.Observation)
}

// once adds a node that is not there yet.
func (c *collector) once(n graphs.NodeID) {
	if x := c.ix.node(n); c.times[x] == 0 {
		c.add(x, 1)
	}
}
