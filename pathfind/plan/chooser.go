package plan

import (
	"cmp"
	"slices"

	"whichlink/graphs"
	"whichlink/pathfind"
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
	near   map[graphs.NodeID][]graphs.NodeID
}

type pair struct{ src, dst graphs.NodeID }

func newChooser(e *pathfind.ECMP, cfg Config, probes []graphs.NodeID) *chooser {
	f := e.Fabric()
	w := newWays(e)
	c := &chooser{
		cfg: cfg, ways: w, all: w.connected(f.Hosts()), probes: w.connected(probes), runs: make([]bool, f.NumNodes()),
		tally: newTally(f.NumArcs(), cfg.Crossings), from: make([]int, f.NumNodes()), to: make([]int, f.NumNodes()),
		times: map[[2]graphs.NodeID]int{}, near: map[graphs.NodeID][]graphs.NodeID{},
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
	c.tally.add(c.ways.flow(p.src, p.dst))
}

func unordered(p pair) [2]graphs.NodeID {
	return [2]graphs.NodeID{min(p.src, p.dst), max(p.src, p.dst)}
}

// score says how much a flow of a pair helps. Pairs that have flows already count for less: other pairs tell more arcs apart.
func (c *chooser) score(p pair) uint64 {
	return (c.tally.gain(c.ways.between(p.src, p.dst)) + 1) / uint64(1+c.times[unordered(p)])
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
	if len(c.all) < 2 || len(c.probes) == 0 {
		return
	}
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
	var witness map[graphs.ArcID]pair
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
			p, ok := c.pairFor(a)
			if !ok {
				if witness == nil {
					witness = c.witnesses()
				}
				p, ok = witness[a]
				ok = ok && c.turn(&p)
			}
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

// pairsLooked bounds how many pairs are compared for an arc.
const pairsLooked = 8

// pairFor finds the pair that helps most of those whose hosts are near to an arc's ends, and cross it.
func (c *chooser) pairFor(a graphs.ArcID) (pair, bool) {
	f := c.ways.f
	var heads, tails []graphs.NodeID
	if h, ok := c.ways.ownLink(a); ok {
		heads, tails = []graphs.NodeID{h}, c.some(a)
	} else {
		heads, tails = c.nearest(f.Tail(a)), c.nearest(f.Head(a))
	}
	var best pair
	var bestScore uint64
	looked := 0
	for sum := 0; sum < len(heads)+len(tails)-1 && looked < pairsLooked; sum++ {
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
			if score := c.score(p) * (share >> 16); score > bestScore {
				best, bestScore = p, score
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

// nearest returns some of the hosts nearest to a switch, in the order of their distance, and in one that chance gives at the same distance.
func (c *chooser) nearest(n graphs.NodeID) []graphs.NodeID {
	if hosts, ok := c.near[n]; ok {
		return hosts
	}
	const enough, most = 6, 12
	f := c.ways.f
	seen := map[graphs.NodeID]bool{n: true}
	level := []graphs.NodeID{n}
	var hosts []graphs.NodeID
	for len(level) > 0 && len(hosts) < enough {
		var then, ring []graphs.NodeID
		for _, x := range level {
			if f.Node(x).IsHost() {
				continue
			}
			for _, a := range f.Out(x) {
				m := f.Head(a)
				if seen[m] {
					continue
				}
				seen[m] = true
				then = append(then, m)
				if f.Node(m).IsHost() {
					ring = append(ring, m)
				}
			}
		}
		slices.SortFunc(ring, func(a, b graphs.NodeID) int {
			return cmp.Compare(mix(c.cfg.Seed, uint64(n), uint64(a)), mix(c.cfg.Seed, uint64(n), uint64(b)))
		})
		hosts = append(hosts, ring...)
		level = then
	}
	hosts = hosts[:min(len(hosts), most)]
	c.near[n] = hosts
	return hosts
}
