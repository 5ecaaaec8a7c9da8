package plan

import (
	"cmp"
	"maps"
	"math/bits"
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
			if len(c.ways.gate[h].own) > 0 && c.from[h]+c.to[h] <= round {
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
	return c.tally.gainBetween(c.ways.between(p.src, p.dst)) + c.gainOwn(p.src) + c.gainOwn(p.dst)
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

// A queue holds arcs that are crossed too seldom, by how much they lacked when they were looked at last: in a step of it are those whose
// probabilities differ by an eighth at most, and the first come first.
type queue struct {
	steps [32 << 3][]graphs.ArcID
	first [32 << 3]int // by step, the first that is not taken yet
	top   int
}

func stepOf(lacking uint32) int {
	n := bits.Len32(lacking)
	return n<<3 | int(uint64(lacking)<<3>>max(n-1, 0)&7)
}

func (q *queue) push(a graphs.ArcID, lacking uint32) {
	step := stepOf(lacking)
	q.steps[step] = append(q.steps[step], a)
	q.top = max(q.top, step)
}

// pop takes an arc that lacks most, as far as is known.
func (q *queue) pop() (a graphs.ArcID, step int, ok bool) {
	for ; q.top >= 0; q.top-- {
		if i := q.first[q.top]; i < len(q.steps[q.top]) {
			q.first[q.top]++
			return q.steps[q.top][i], q.top, true
		}
		q.steps[q.top], q.first[q.top] = q.steps[q.top][:0], 0
	}
	return 0, 0, false
}

// finish adds flows, each for the arc that lacks most, until as many arcs as asked for are expected to be crossed often enough.
func (c *chooser) finish() {
	var lacking []graphs.ArcID
	for a, p := range c.tally.lacking {
		if p > risk {
			lacking = append(lacking, graphs.ArcID(a))
		}
	}
	slices.SortFunc(lacking, func(a, b graphs.ArcID) int {
		return cmp.Compare(mix(c.cfg.Seed, uint64(a), 'w'), mix(c.cfg.Seed, uint64(b), 'w'))
	})
	var q queue
	for _, a := range lacking {
		q.push(a, c.tally.lacking[a])
	}
	for hopeless := 0; !c.enough(hopeless); {
		a, step, ok := q.pop()
		if !ok {
			return
		}
		now := c.tally.lacking[a]
		if now <= risk {
			continue
		}
		if stepOf(now) < step {
			q.push(a, now) // a flow for another arc has helped
			continue
		}
		p, ok := c.help(a)
		if !ok {
			if c.tally.sum[a] == 0 {
				hopeless++
			}
			continue
		}
		if _, own := c.ways.ownLink(a); !own {
			// Of all hosts behind the same gates, those with the fewest flows.
			if q, ok := c.leastUsed(c.ways.gate[p.src].node, c.ways.gate[p.dst].node); ok {
				p = q
			}
		}
		c.add(p)
		q.push(a, c.tally.lacking[a])
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
