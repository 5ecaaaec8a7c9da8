package plan

import "whichlink/graphs"

// scarce reports whether flows are so few that the most frugal plan would need most of them: then nobody need try another.
func (c *chooser) scarce() bool {
	const most = 2. / 3
	may := most * float64(c.cfg.MaxFlows) * float64(len(c.probes))
	return float64(c.forOwnLinks()) > may || c.forOthers() > may
}

// forOwnLinks returns how many flows it takes at least to cross the hosts' own links: each flow has two ends.
func (c *chooser) forOwnLinks() int {
	takes := map[int]int{} // by how many links a host has
	ends := 0
	for _, h := range c.all {
		links := len(c.ways.gate[h].own)
		if links == 0 {
			continue
		}
		if takes[links] == 0 {
			t := newTally(1, c.cfg.Crossings)
			for ; t.lacking[0] > risk && takes[links] < 2*MaxMaxFlows; takes[links]++ {
				t.add(crossing{0, one / uint32(links)})
			}
		}
		ends += takes[links]
	}
	return ends / 2
}

// forOthers returns how many flows it takes at least to cross all other arcs, if pairs that chance picks are like all.
func (c *chooser) forOthers() float64 {
	const pairs = 64
	own, sum := 0, 0.0
	for _, h := range c.all {
		own += 2 * len(c.ways.gate[h].own)
	}
	pick := func(words ...uint64) graphs.NodeID { return c.all[mix(words...)%uint64(len(c.all))] }
	for i := range uint64(pairs) {
		for _, x := range c.ways.between(pick(c.cfg.Seed, i, 'a'), pick(c.cfg.Seed, i, 'b')).append(nil) {
			sum += float64(x.p) / one
		}
	}
	if sum == 0 {
		return 0
	}
	return float64(c.cfg.Crossings*(c.ways.f.NumArcs()-own)) * pairs / sum
}
