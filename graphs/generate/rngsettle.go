package generate

import "math/rand/v2"

// A census counts the links between any two routers, and what is wrong with them: links of a router with itself and parallel ones.
type census struct {
	links map[[2]int32]int32
	wrong int
}

// swapsALane bounds the search for better places: where a graph is so dense that parallel links cannot be avoided, it would not end soon.
const swapsALane = 8

// loopWeight is how many parallel links are as bad as a link of a router with itself, which carries nothing.
const loopWeight = 4

func (c *census) add(a, b, n int32) {
	key := [2]int32{min(a, b), max(a, b)}
	c.wrong -= wrongs(key, c.links[key])
	c.links[key] += n
	c.wrong += wrongs(key, c.links[key])
	if c.links[key] == 0 {
		delete(c.links, key)
	}
}

// isWrong tells whether two routers have a link that they should not have.
func (c *census) isWrong(a, b int32) bool {
	return a == b || c.links[[2]int32{min(a, b), max(a, b)}] > 1
}

func wrongs(key [2]int32, n int32) int {
	if key[0] == key[1] {
		return loopWeight * int(n)
	}
	return max(0, int(n)-1)
}

// settle exchanges the places of transceivers within a room as long as that leaves no more links of a router with itself and no more parallel
// ones. Every exchange is between random places, so that the graph stays as random as one without such links can be.
func (p *Plant) settle(rng *rand.Rand) {
	c := &census{links: make(map[[2]int32]int32, len(p.mate)/2)}
	for f, m := range p.mate {
		if int32(f) < m {
			c.add(p.router(int32(f)), p.router(m), 1)
		}
	}
	pools := map[[2]int][]int32{} // by room and first box of the kind: its r-ports in use
	budget := swapsALane * len(p.mate)
	for idle := 0; c.wrong > 0 && budget > 0 && idle < patience; {
		before := c.wrong
		for fibre, m := range p.mate {
			f := int32(fibre)
			if m == none || !c.isWrong(p.router(f), p.router(m)) {
				continue
			}
			box := p.boxOfRPort(p.rPortOf(f))
			room, kind := int(box)/p.boxes, p.kindOf(box)
			key := [2]int{room, kind.from}
			if pools[key] == nil {
				pools[key] = p.usedIn(room, *kind)
			}
			budget -= p.trySwaps(rng, c, p.rPortOf(f), pools[key])
		}
		idle++
		if before-c.wrong > before/50 {
			idle = 0
		}
	}
}

// trySwaps exchanges what is plugged into an r-port with another's of a pool, where that makes no more wrong, and returns how many it tried.
func (p *Plant) trySwaps(rng *rand.Rand, c *census, r int32, pool []int32) int {
	per := int32(p.transceivers())
	for try := range searchTries {
		s := pool[rng.IntN(len(pool))]
		if p.at[r]/per == p.at[s]/per {
			continue
		}
		before := c.wrong
		p.swap(c, r, s)
		if c.wrong <= before {
			return try + 1
		}
		p.swap(c, r, s)
	}
	return searchTries
}

func (p *Plant) swap(c *census, r, s int32) {
	p.count(c, r, s, -1)
	p.at[r], p.at[s] = p.at[s], p.at[r]
	p.count(c, r, s, 1)
}

// count adds the links of two r-ports to a census, n times.
func (p *Plant) count(c *census, r, s, n int32) {
	k := int32(p.box.cPorts)
	for _, x := range [2]int32{r, s} {
		for f := x * k; f < (x+1)*k; f++ {
			m := p.mate[f]
			if m == none {
				continue
			}
			// A link between the two is met at both of its ends.
			if y := p.rPortOf(m); (y == r || y == s) && m < f {
				continue
			}
			c.add(p.router(f), p.router(m), n)
		}
	}
}
