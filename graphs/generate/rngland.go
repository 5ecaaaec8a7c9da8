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
			if end, fate := p.trace(f, nil); fate == arrives {
				p.mate[f] = end
			}
		}
	}
}

func (p *Plant) router(fibre int32) int32 { return p.at[p.rPortOf(fibre)] / int32(p.transceivers()) }

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
			switch _, fate := p.trace(f, nil); fate {
			case returns:
				t.Returning++
			case tooLong:
				t.TooLong++
			default:
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
