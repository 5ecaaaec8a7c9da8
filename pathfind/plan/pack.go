package plan

import (
	"cmp"
	"slices"

	"whichlink/graphs"
)

// A certain pair has a single way, and so crosses all its links, there and back, however switches hash.
type certain struct {
	x, y  graphs.NodeID // gates
	links []graphs.LinkID
	gain  int // links that it would cross first
	order uint64
}

// mostCertain bounds the certain pairs of a gate that are kept.
const mostCertain = 256

// pack lets pairs that have a single way cross as many links as they can without crossing any twice; and that as many times over as
// arcs are to be crossed. Flows that leave nothing to chance are the cheapest there are, as long as each crosses several new links:
// on a random graph a sixth of the pairs are such. Those of one link are left to [chooser.mend], which may know better.
func (c *chooser) pack() {
	pairs := c.certainPairs()
	by := make([][]int32, c.ways.f.NumLinks()) // pairs by link
	longest := 0
	for i, p := range pairs {
		longest = max(longest, len(p.links))
		for _, l := range p.links {
			by[l] = append(by[l], int32(i))
		}
	}
	for round := range c.cfg.Crossings {
		// Other rounds cross a link by other pairs, where there are any.
		for i := range pairs {
			p := &pairs[i]
			p.gain, p.order = len(p.links), mix(c.cfg.Seed, uint64(p.x), uint64(p.y), uint64(round), 'c')
		}
		k := packing{pairs: pairs, by: by, done: make([]bool, len(by)), rivals: make([]int32, len(by))}
		for size := longest; size > 1; size-- {
			k.level(size, c.addBetween)
		}
	}
}

// certainPairs finds the pairs of gates that have a single way of two links or more.
func (c *chooser) certainPairs() []certain {
	w := c.ways
	gates := c.gates()
	var pairs []certain
	via := make([]graphs.ArcID, w.f.NumNodes()) // the first arc of the only way to a gate
	several := make([]bool, w.f.NumNodes())     // by gate: nobody has a single way there, nor to gates like it
	for i, dst := range gates {
		if several[w.like[dst]] {
			continue
		}
		var byDistance [][]graphs.NodeID
		for n := range graphs.NodeID(w.f.NumNodes()) {
			via[n] = graphs.None
			d := w.e.Distance(n, dst)
			if d < 1 || w.f.Node(n).IsHost() && w.gate[n].node != n {
				continue
			}
			for len(byDistance) <= d {
				byDistance = append(byDistance, nil)
			}
			byDistance[d] = append(byDistance[d], n)
		}
		for _, level := range byDistance {
			for _, n := range level {
				if next := w.e.NextHops(n, dst); len(next) == 1 && (w.f.Head(next[0]) == dst || via[w.f.Head(next[0])] != graphs.None) {
					via[n] = next[0]
				}
			}
		}
		several[dst] = !slices.ContainsFunc(gates, func(src graphs.NodeID) bool { return via[src] != graphs.None && w.f.Head(via[src]) != dst })
		var found []certain
		for _, src := range gates[:i] {
			if via[src] == graphs.None || w.f.Head(via[src]) == dst {
				continue
			}
			p := certain{x: src, y: dst, order: mix(c.cfg.Seed, uint64(src), uint64(dst), 'c')}
			for n := src; n != dst; n = w.f.Head(via[n]) {
				p.links = append(p.links, via[n].Link())
			}
			found = append(found, p)
		}
		if len(found) > mostCertain {
			slices.SortFunc(found, func(a, b certain) int { return cmp.Compare(a.order, b.order) })
			found = found[:mostCertain]
		}
		pairs = append(pairs, found...)
	}
	return pairs
}

// A packing is one round of choosing certain pairs.
type packing struct {
	pairs  []certain
	by     [][]int32 // pairs by link
	done   []bool    // by link: crossed
	rivals []int32   // by link: pairs of the level that may still be chosen
}

// level chooses pairs that cross exactly so many links which are not crossed yet. It is the rule of Karp and Sipser (FOCS 1981) for
// matchings, which are packings of pairs of two links: first a pair with a link that no other pair can cross, else any.
func (k *packing) level(size int, choose func(x, y graphs.NodeID) bool) {
	var order []int32
	for i, p := range k.pairs {
		if p.gain == size {
			order = append(order, int32(i))
		}
	}
	slices.SortFunc(order, func(a, b int32) int { return cmp.Compare(k.pairs[a].order, k.pairs[b].order) })
	clear(k.rivals)
	for _, i := range order {
		for _, l := range k.pairs[i].links {
			k.rivals[l]++
		}
	}
	var lonely []graphs.LinkID
	drop := func(i int32) {
		for _, l := range k.pairs[i].links {
			if k.rivals[l]--; k.rivals[l] == 1 && !k.done[l] {
				lonely = append(lonely, l)
			}
		}
	}
	take := func(i int32) {
		p := &k.pairs[i]
		drop(i)
		if !choose(p.x, p.y) {
			p.gain = 0
			return
		}
		for _, l := range p.links {
			if k.done[l] {
				continue
			}
			k.done[l] = true
			for _, j := range k.by[l] {
				if k.pairs[j].gain == size && j != i {
					drop(j)
				}
				k.pairs[j].gain--
			}
		}
	}
	for _, i := range order {
		for _, l := range k.pairs[i].links {
			if k.rivals[l] == 1 {
				lonely = append(lonely, l)
			}
		}
	}
	for _, i := range order {
		for len(lonely) > 0 {
			l := lonely[len(lonely)-1]
			lonely = lonely[:len(lonely)-1]
			if k.done[l] {
				continue
			}
			if j := slices.IndexFunc(k.by[l], func(j int32) bool { return k.pairs[j].gain == size }); j >= 0 {
				take(k.by[l][j])
			}
		}
		if k.pairs[i].gain == size {
			take(i)
		}
	}
}
