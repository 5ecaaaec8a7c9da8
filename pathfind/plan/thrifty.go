package plan

import (
	"container/heap"
	"maps"
	"slices"

	"whichlink/graphs"
)

// thrifty chooses as few flows as it can for what the configuration asks: first those that leave nothing to chance, then one for
// every two hosts whose own links are not crossed yet, then what is lacking still.
func (c *chooser) thrifty() {
	c.frugal = true
	c.pack()
	c.greet()
	c.finish()
}

// enough reports whether as large a share of the arcs is expected to be crossed often enough as is asked for, leaving aside those
// that nothing can cross.
func (c *chooser) enough(hopeless int) bool {
	if c.cfg.Coverage == 0 {
		return false
	}
	may := (1 - c.cfg.Coverage) * float64(c.ways.f.NumArcs()-hopeless)
	return c.tally.missing <= uint64(may*one)+uint64(hopeless)*one
}

// greet lets hosts whose own links are crossed too seldom probe each other: a flow is at the link of either.
func (c *chooser) greet() {
	for round := range c.cfg.Crossings {
		var lonely []graphs.NodeID
		for _, h := range c.all {
			if c.ways.gate[h].in != graphs.None && c.from[h]+c.to[h] <= round {
				lonely = append(lonely, h)
			}
		}
		// Hosts of one switch stand together: half a turn away is another switch.
		half := len(lonely) / 2
		for i, h := range lonely[:half] {
			if p := (pair{h, lonely[half+i]}); !c.enough(0) && c.ways.reaches(p.src, p.dst) && c.turn(&p) {
				c.add(p)
			}
		}
	}
}

// gates returns the gates of all hosts that may be probed, ascending.
func (c *chooser) gates() []graphs.NodeID { return slices.Sorted(maps.Keys(c.behind)) }

// worth says how much a flow of a pair helps all arcs that it crosses, those of the hosts' own links too.
func (c *chooser) worth(p pair) uint64 {
	gain := c.tally.gain(c.ways.between(p.src, p.dst))
	for _, h := range [...]graphs.NodeID{p.src, p.dst} {
		if in := c.ways.gate[h].in; in != graphs.None {
			gain += c.tally.gain([]crossing{{in, one}, {in.Reverse(), one}})
		}
	}
	return gain
}

// unreachable returns the arcs that no flow can cross, of hosts that run probes. Every other arc is crossed by a chosen flow already, or by
// some pair that could be.
func (c *chooser) unreachable() []graphs.ArcID {
	var arcs []graphs.ArcID
	for a, sum := range c.tally.sum {
		if sum > 0 {
			continue
		}
		if _, ok := c.pairFor(graphs.ArcID(a)); !ok && c.witnessOf(graphs.ArcID(a)) == (pair{}) {
			arcs = append(arcs, graphs.ArcID(a))
		}
	}
	return arcs
}

// A want is an arc that is crossed too seldom, and how much it lacked when it was looked at last.
type want struct {
	arc     graphs.ArcID
	lacking uint32
	order   uint64
}

// A wanted is a heap of arcs, with the one that lacks most on top.
type wanted []want

func (w wanted) Len() int { return len(w) }
func (w wanted) Less(i, j int) bool {
	return w[i].lacking > w[j].lacking || w[i].lacking == w[j].lacking && w[i].order < w[j].order
}
func (w wanted) Swap(i, j int) { w[i], w[j] = w[j], w[i] }
func (w *wanted) Push(x any)   { *w = append(*w, x.(want)) }
func (w *wanted) Pop() any {
	last := (*w)[len(*w)-1]
	*w = (*w)[:len(*w)-1]
	return last
}

// finish adds flows, each for the arc that lacks most, until as many arcs as asked for are expected to be crossed often enough.
func (c *chooser) finish() {
	var w wanted
	for a, p := range c.tally.lacking {
		if p > risk {
			w = append(w, want{graphs.ArcID(a), p, mix(c.cfg.Seed, uint64(a), 'w')})
		}
	}
	heap.Init(&w)
	hopeless := 0
	for len(w) > 0 && !c.enough(hopeless) {
		top := &w[0]
		if now := c.tally.lacking[top.arc]; now < top.lacking {
			top.lacking = now // a flow for another arc has helped
			if now <= risk {
				heap.Pop(&w)
			} else {
				heap.Fix(&w, 0)
			}
			continue
		}
		p, ok := c.help(top.arc)
		if !ok {
			if c.tally.sum[top.arc] == 0 {
				hopeless++
			}
			heap.Pop(&w)
			continue
		}
		if _, own := c.ways.ownLink(top.arc); !own {
			// Of all hosts behind the same gates, those with the fewest flows.
			if q, ok := c.leastUsed(c.ways.gate[p.src].node, c.ways.gate[p.dst].node); ok {
				p = q
			}
		}
		c.add(p)
	}
}

// addBetween adds a flow between those hosts behind two gates that have the fewest. It reports false where nobody may have more.
func (c *chooser) addBetween(x, y graphs.NodeID) bool {
	if c.enough(0) {
		return false
	}
	p, ok := c.leastUsed(x, y)
	if ok {
		c.add(p)
	}
	return ok
}

// leastUsed picks the hosts behind two gates that have the fewest flows, of which one may have another.
func (c *chooser) leastUsed(x, y graphs.NodeID) (pair, bool) {
	least := func(g graphs.NodeID, mayProbe bool) graphs.NodeID {
		best := graphs.NodeID(graphs.None)
		for _, h := range c.behind[g] {
			if mayProbe && (!c.runs[h] || c.from[h] >= c.cfg.MaxFlows) {
				continue
			}
			if best == graphs.None || c.from[h]+c.to[h] < c.from[best]+c.to[best] {
				best = h
			}
		}
		return best
	}
	src, dst := least(x, true), least(y, false)
	if other := least(y, true); other != graphs.None && (src == graphs.None || c.from[other] < c.from[src]) {
		src, dst = other, least(x, false)
	}
	return pair{src, dst}, src != graphs.None && dst != graphs.None && src != dst
}
