package plan

import (
	"cmp"
	"slices"

	"whichlink/graphs"
)

// A chooser picks pairs of hosts, one flow after another, those first that help most.
type chooser struct {
	cfg    Config
	ways   *ways
	all    []graphs.NodeID // hosts that may be probed
	probes []graphs.NodeID // hosts that run probes
	runs   []bool          // by node: runs probes

	tally  *tally
	chosen []pair
	from   []int // flows by source
	to     []int // flows by destination
	times  map[[2]graphs.NodeID]int
	near   map[graphs.NodeID]neighbourhood
	seen   []graphs.NodeID                   // by node, one more than the node whose neighbourhood it was last seen in
	behind map[graphs.NodeID][]graphs.NodeID // hosts by gate

	anyPair map[graphs.ArcID]pair // by arc, one that crosses it; nil until asked for
	frugal  bool                  // as few flows as can be
}

type pair struct{ src, dst graphs.NodeID }

func newChooser(w *ways, cfg Config, probes []graphs.NodeID) *chooser {
	f := w.f
	c := &chooser{
		cfg: cfg, ways: w, all: w.connected(f.Hosts()), probes: w.connected(probes), runs: make([]bool, f.NumNodes()),
		tally: newTally(f.NumArcs(), cfg.Crossings), from: make([]int, f.NumNodes()), to: make([]int, f.NumNodes()),
		times: map[[2]graphs.NodeID]int{}, near: map[graphs.NodeID]neighbourhood{}, behind: map[graphs.NodeID][]graphs.NodeID{},
	}
	for _, h := range c.all {
		g := w.gate[h].node
		c.behind[g] = append(c.behind[g], h)
	}
	for _, h := range c.probes {
		c.runs[h] = true
	}
	return c
}

func (c *chooser) add(p pair) {
	c.chosen = append(c.chosen, p)
	c.from[p.src]++
	c.to[p.dst]++
	c.times[unordered(p)]++
	for _, x := range c.ways.appendOwn(nil, p.src, p.dst) {
		c.tally.add(x)
	}
	c.tally.addBetween(c.ways.between(p.src, p.dst))
}

// exhausted reports whether some host has as many flows as it may, and arcs lack crossings that they could have.
func (c *chooser) exhausted() bool {
	return slices.Max(c.from) >= c.cfg.MaxFlows && c.lacks()
}

// lacks reports whether arcs lack crossings that they could have.
func (c *chooser) lacks() bool {
	lacking := len(c.lackingArcs(nil))
	return lacking > 0 && lacking > len(c.unreachable())
}

func unordered(p pair) [2]graphs.NodeID {
	return [2]graphs.NodeID{min(p.src, p.dst), max(p.src, p.dst)}
}

// score says how much a flow of a pair helps. Pairs that have flows already count for less: other pairs tell more arcs apart. A host's only
// link is crossed by all its flows, and soon often enough; of several it takes many flows to cross each.
func (c *chooser) score(p pair) uint64 {
	gain := c.tally.gainBetween(c.ways.between(p.src, p.dst))
	for _, h := range [...]graphs.NodeID{p.src, p.dst} {
		if len(c.ways.gate[h].own) > 1 {
			gain += c.gainOwn(h)
		}
	}
	return (gain + 1) / uint64(1+c.times[unordered(p)])
}

// gainOwn says how much a flow helps the links between a host and its gate.
func (c *chooser) gainOwn(h graphs.NodeID) uint64 {
	var gain uint64
	own := c.ways.gate[h].own
	for _, a := range own {
		p := one / uint32(len(own))
		gain += c.tally.gain(crossing{a, p}) + c.tally.gain(crossing{a.Reverse(), p})
	}
	return gain
}

// leastFlows is how many flows every host gets. Few hosts have few pairs, and must tell arcs apart by many flows of each.
func (c *chooser) leastFlows() int {
	return min(c.cfg.MaxFlows, 8+24/max(1, len(c.probes)))
}

// sample is how many destinations are looked at for each flow; all where they are few.
const sample = 6

// spread gives every host the same number of flows: in each round one, to the destination which, of some that chance proposes, helps most and
// is not probed by many already.
func (c *chooser) spread() {
	least := c.leastFlows()
	for round := range least {
		for i := range c.probes {
			// Who comes first in a round has the best choice; so it is another one each time.
			src := c.probes[(i+int(mix(c.cfg.Seed, uint64(round))%uint64(len(c.probes))))%len(c.probes)]
			if dst, ok := c.destination(src, round); ok {
				c.add(pair{src, dst})
			}
		}
	}
}

func (c *chooser) destination(src graphs.NodeID, round int) (graphs.NodeID, bool) {
	fair := len(c.chosen)/len(c.all) + 1
	best, found := graphs.NodeID(graphs.None), false
	var bestScore uint64
	look := func(dst graphs.NodeID) {
		if dst == src || !c.ways.reaches(src, dst) {
			return
		}
		score := c.score(pair{src, dst})
		if c.to[dst] >= fair {
			score >>= 1 + c.to[dst] - fair
		}
		if !found || score > bestScore {
			best, bestScore, found = dst, score, true
		}
	}
	r := mix(c.cfg.Seed, uint64(src), uint64(round), 'd')
	if len(c.all) <= 2*sample {
		for i := range c.all {
			look(c.all[(i+int(r%uint64(len(c.all))))%len(c.all)])
		}
		return best, found
	}
	for range sample {
		r = mix(r)
		look(c.all[r%uint64(len(c.all))])
	}
	// Chance may propose only hosts that cannot be reached.
	for i := 0; !found && i < len(c.all); i++ {
		look(c.all[i])
	}
	return best, found
}

// risk is Risk in parts of one.
const risk = one / 5000

// mend adds flows for the arcs that are crossed too seldom, those that lack most first, until none is left or nobody may have more flows.
func (c *chooser) mend() {
	hopeless := map[graphs.ArcID]bool{}
	for {
		lacking := c.lackingArcs(hopeless)
		if len(lacking) == 0 {
			return
		}
		added := 0
		for _, a := range lacking {
			if c.tally.lacking[a] <= risk {
				continue // a flow for another arc has helped
			}
			p, ok := c.help(a)
			if !ok {
				hopeless[a] = true
				continue
			}
			c.add(p)
			added++
		}
		if added == 0 {
			return
		}
	}
}

// help finds a pair for an arc that is crossed too seldom. It reports false where no pair can cross the arc and have another flow.
func (c *chooser) help(a graphs.ArcID) (pair, bool) {
	if p, ok := c.pairFor(a); ok {
		return p, true
	}
	p := c.witnessOf(a)
	return p, p != (pair{}) && c.turn(&p)
}

// witnessOf returns a pair that may cross an arc, the zero pair if there is none.
func (c *chooser) witnessOf(a graphs.ArcID) pair {
	if c.anyPair == nil {
		c.anyPair = c.witnesses()
	}
	return c.anyPair[a]
}

func (c *chooser) lackingArcs(hopeless map[graphs.ArcID]bool) []graphs.ArcID {
	var lacking []graphs.ArcID
	for a, p := range c.tally.lacking {
		if p > risk && !hopeless[graphs.ArcID(a)] {
			lacking = append(lacking, graphs.ArcID(a))
		}
	}
	slices.SortStableFunc(lacking, func(a, b graphs.ArcID) int {
		return cmp.Compare(c.tally.lacking[b], c.tally.lacking[a])
	})
	return lacking
}

// pairsLooked bounds how many pairs are compared for an arc; pairsLookedWell, where flows are to be few.
const (
	pairsLooked     = 8
	pairsLookedWell = 32
)

// pairFor finds the pair that helps most of those whose hosts are near to an arc's ends, and cross it.
func (c *chooser) pairFor(a graphs.ArcID) (pair, bool) {
	f := c.ways.f
	var heads, tails []graphs.NodeID
	if h, ok := c.ways.ownLink(a); ok {
		heads, tails = []graphs.NodeID{h}, c.some(a)
	} else {
		heads, tails = c.nearest(f.Tail(a)), c.nearest(f.Head(a))
	}
	enough, score := pairsLooked, c.score
	if c.frugal {
		enough, score = pairsLookedWell, c.worth
	}
	var best pair
	var bestScore uint64
	looked := 0
	for sum := 0; sum < len(heads)+len(tails)-1 && looked < enough; sum++ {
		for i := max(0, sum-len(tails)+1); i <= min(sum, len(heads)-1); i++ {
			p := pair{heads[i], tails[sum-i]}
			if p.src == p.dst || !c.turn(&p) || !c.ways.reaches(p.src, p.dst) {
				continue
			}
			share := uint64(c.ways.share(p, a))
			if share == 0 {
				continue
			}
			looked++
			// What helps other arcs is welcome, but this one is to be done with soon.
			if s := score(p) * (share >> 16); s > bestScore {
				best, bestScore = p, s
			}
		}
	}
	return best, bestScore > 0
}

// some returns a few hosts that chance picks for an arc, of those that run probes.
func (c *chooser) some(a graphs.ArcID) []graphs.NodeID {
	hosts := make([]graphs.NodeID, pairsLooked)
	for i := range hosts {
		hosts[i] = c.probes[mix(c.cfg.Seed, uint64(a), uint64(i), 's')%uint64(len(c.probes))]
	}
	return hosts
}

// turn makes the host with fewer flows the source of a pair, as both cross the same arcs. It reports false where neither may have more.
func (c *chooser) turn(p *pair) bool {
	may := func(h graphs.NodeID) bool { return c.runs[h] && c.from[h] < c.cfg.MaxFlows }
	if may(p.dst) && (!may(p.src) || c.from[p.dst] < c.from[p.src]) {
		p.src, p.dst = p.dst, p.src
	}
	return may(p.src)
}

// A neighbourhood is the hosts nearest to a switch, in the order of their distance.
type neighbourhood struct {
	hosts []graphs.NodeID
	last  int // where those that are farthest begin, in an order that chance gave
}

// nearest returns some of the hosts nearest to a switch. Where flows are to be few, it is not always the same of those farthest away: whoever
// probes for one arc helps others by chance, and those should not be the same ones each time.
func (c *chooser) nearest(n graphs.NodeID) []graphs.NodeID {
	const most = 12
	near, ok := c.near[n]
	if !ok {
		near = c.neighbourhood(n)
		c.near[n] = near
	}
	if !c.frugal || len(near.hosts) <= most {
		return near.hosts[:min(len(near.hosts), most)]
	}
	hosts := slices.Clone(near.hosts[:min(near.last, most)])
	ring := near.hosts[near.last:]
	start := int(mix(c.cfg.Seed, uint64(n), uint64(len(c.chosen)), 'n') % uint64(len(ring)))
	for i := 0; len(hosts) < most; i++ {
		hosts = append(hosts, ring[(start+i)%len(ring)])
	}
	return hosts
}

// mostNear bounds the hosts of one distance that are known as near to a switch.
const mostNear = 256

// shuffled puts hosts in an order that chance gives to a switch. Of very many it keeps some, spread over all.
func (c *chooser) shuffled(hosts []graphs.NodeID, n graphs.NodeID) []graphs.NodeID {
	if len(hosts) > mostNear {
		some := make([]graphs.NodeID, mostNear)
		start := mix(c.cfg.Seed, uint64(n), 'r')
		for i := range some {
			some[i] = hosts[(start+uint64(i*len(hosts)/mostNear))%uint64(len(hosts))]
		}
		hosts = some
	}
	type lot struct {
		host graphs.NodeID
		lot  uint64
	}
	lots := make([]lot, len(hosts))
	for i, h := range hosts {
		lots[i] = lot{h, mix(c.cfg.Seed, uint64(n), uint64(h))}
	}
	slices.SortFunc(lots, func(a, b lot) int { return cmp.Compare(a.lot, b.lot) })
	for i := range lots {
		hosts[i] = lots[i].host
	}
	return hosts
}

func (c *chooser) neighbourhood(n graphs.NodeID) neighbourhood {
	const enough = 6
	f := c.ways.f
	if c.seen == nil {
		c.seen = make([]graphs.NodeID, f.NumNodes())
	}
	c.seen[n] = n + 1
	level := []graphs.NodeID{n}
	var near neighbourhood
	for len(level) > 0 && len(near.hosts) < enough {
		var then, ring []graphs.NodeID
		for _, x := range level {
			if f.Node(x).IsHost() {
				continue
			}
			for _, a := range f.Out(x) {
				m := f.Head(a)
				if c.seen[m] == n+1 {
					continue
				}
				c.seen[m] = n + 1
				then = append(then, m)
				if f.Node(m).IsHost() {
					ring = append(ring, m)
				}
			}
		}
		near.last = len(near.hosts)
		near.hosts = append(near.hosts, c.shuffled(ring, n)...)
		level = then
	}
	return near
}
