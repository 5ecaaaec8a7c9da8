package generate

import (
	"math/rand/v2"
	"slices"
)

const none = -1

// lanes are the two ends of a link, as router*degree+lane, the lower first.
type lanes [2]int32

// land plugs the routers into random r-ports of their room's panel.
func (p *Plant) land(rng *rand.Rand) {
	p.at = make([]int32, len(p.used))
	for r := range p.at {
		p.at[r] = none
	}
	per := p.transceivers()
	for room := range p.rooms {
		before := 0
		for _, k := range p.kinds {
			ports := p.usedIn(room, k)
			rng.Shuffle(len(ports), func(i, j int) { ports[i], ports[j] = ports[j], ports[i] })
			for router := p.first[room]; router < p.first[room+1]; router++ {
				for t := range k.transceivers {
					p.at[ports[0]] = int32(router*per + before + t)
					ports = ports[1:]
				}
			}
			before += k.transceivers
		}
	}
}

// usedIn lists the r-ports in use of a room's boxes of one kind.
func (p *Plant) usedIn(room int, k boxKind) []int32 {
	var ports []int32
	for r := (room*p.boxes + k.from) * p.box.rPorts; r < (room*p.boxes+k.to)*p.box.rPorts; r++ {
		if p.used[r] {
			ports = append(ports, int32(r))
		}
	}
	return ports
}

// join follows all lanes.
func (p *Plant) join() {
	p.mate = make([]int32, len(p.used)*p.box.cPorts)
	for fibre := range p.mate {
		p.mate[fibre] = none
		if f := int32(fibre); p.lit(f) {
			if w := p.trace(f, nil); w.fate == arrives {
				p.mate[f] = w.end
			}
		}
	}
}

func (p *Plant) router(fibre int32) int32 { return p.at[p.rPortOf(fibre)] / int32(p.transceivers()) }

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

func wrongs(key [2]int32, n int32) int {
	if key[0] == key[1] {
		return loopWeight * int(n)
	}
	return max(0, int(n)-1)
}

// settle exchanges the places of transceivers within a room as long as that leaves fewer links of a router with itself and fewer parallel
// ones. Every exchange is between random places, so that the graph stays as random as one without such links can be.
func (p *Plant) settle(rng *rand.Rand) {
	c := &census{links: make(map[[2]int32]int32, len(p.mate)/2)}
	for f, m := range p.mate {
		if int32(f) < m {
			c.add(p.router(int32(f)), p.router(m), 1)
		}
	}
	pools := map[[2]int][]int32{} // by room and first box of the kind: its r-ports in use
	for budget := swapsALane * len(p.mate); c.wrong > 0 && budget > 0; {
		before := c.wrong
		for f, m := range p.mate {
			if m == none {
				continue
			}
			a, b := p.router(int32(f)), p.router(m)
			if a != b && c.links[[2]int32{min(a, b), max(a, b)}] < 2 {
				continue
			}
			r := p.rPortOf(int32(f))
			box := p.boxOfRPort(r)
			room, kind := int(box)/p.boxes, p.kindOf(box)
			key := [2]int{room, kind.from}
			if pools[key] == nil {
				pools[key] = p.usedIn(room, *kind)
			}
			budget -= p.trySwaps(rng, c, r, pools[key])
		}
		if before-c.wrong <= before/50 {
			return
		}
	}
}

// trySwaps exchanges what is plugged into an r-port with another's of a pool if that makes less wrong, and returns how many it tried.
func (p *Plant) trySwaps(rng *rand.Rand, c *census, r int32, pool []int32) int {
	per := int32(p.transceivers())
	for try := range searchTries {
		s := pool[rng.IntN(len(pool))]
		if p.at[r]/per == p.at[s]/per {
			continue
		}
		before := c.wrong
		p.swap(c, r, s)
		if c.wrong < before {
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

// lane returns a fibre pair's lane as router*degree+lane.
func (p *Plant) lane(fibre int32) int32 {
	per, k := p.transceivers(), p.box.cPorts
	at := int(p.at[p.rPortOf(fibre)])
	return int32(at/per*p.config.Degree + at%per*k + int(fibre)%k)
}

// collect lists the links in the order of their lanes and counts what became of the others.
func (p *Plant) collect() {
	t := Tally{Lanes: p.config.Routers * p.config.Degree, Bundles: p.config.Routers}
	joined := map[lanes]bool{}
	for fibre, m := range p.mate {
		f := int32(fibre)
		switch {
		case !p.lit(f):
		case m == none:
			if p.trace(f, nil).fate == returns {
				t.Returning++
			} else if p.trace(f, nil).fate == tooLong {
				t.TooLong++
			} else {
				t.Dark++
			}
		case p.router(f) == p.router(m):
			t.Returning++
		case f < m:
			a, b := p.lane(f), p.lane(m)
			p.links = append(p.links, lanes{min(a, b), max(a, b)})
			ends := lanes{min(p.router(f), p.router(m)), max(p.router(f), p.router(m))}
			if joined[ends] {
				t.Parallel++
			}
			joined[ends] = true
		}
	}
	slices.SortFunc(p.links, func(a, b lanes) int { return int(a[0]) - int(b[0]) })
	t.Links = len(p.links)
	pairs := map[[2]int]bool{}
	for c, far := range p.far {
		if int32(c) < far {
			pairs[[2]int{c / p.box.cPorts / p.boxes, int(far) / p.box.cPorts / p.boxes}] = true
		}
	}
	t.Bundles += len(pairs)
	t.parts = p.parts()
	p.tally = t
}

// parts counts the parts, not connected with each other, into which the routers fall.
func (p *Plant) parts() int {
	up := make([]int32, p.config.Routers)
	for i := range up {
		up[i] = int32(i)
	}
	root := func(x int32) int32 {
		for up[x] != x {
			up[x] = up[up[x]]
			x = up[x]
		}
		return x
	}
	n := len(up)
	for _, l := range p.links {
		a, b := root(l[0]/int32(p.config.Degree)), root(l[1]/int32(p.config.Degree))
		if a != b {
			up[a] = b
			n--
		}
	}
	return n
}
