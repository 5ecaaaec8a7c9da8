package generate

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"whichlink/graphs"
)

// A Plant is the cabling of an RNG fabric: which router's transceiver is plugged into which ShuffleBox, and how the boxes are joined. The
// fabric's links are what one finds by following its fibre pairs.
type Plant struct {
	config RNGConfig
	box    shuffleBox
	rooms  int
	boxes  int // in a room's panel
	kinds  []boxKind
	first  []int // by room: its first router; and one more

	far  []int32 // by c-port: where its trunk ends; itself where it has a ShuffleBack
	used []bool  // by r-port: a router is plugged in; others have a ShuffleBack
	at   []int32 // by r-port: what is plugged in, as router*transceivers+transceiver
	mate []int32 // by fibre pair of an r-port: the one that a lane is linked with; none where nothing arrives

	links  []lanes
	tally  Tally
	fabric *graphs.Fabric

	place               []int32  // by router*transceivers+transceiver: the r-port
	cables              []string // by r-port
	boxNames, roomNames []string
}

// A boxKind tells the boxes for transceivers all of whose lanes are in use from those for the last transceiver of routers whose uplinks do
// not fill it. In the latter, c-ports of unused lanes stay out of the trunks, so that unused lanes meet unused lanes alone.
type boxKind struct {
	width        int // lanes in use of a transceiver
	transceivers int // of a router that are plugged into boxes of this kind
	from, to     int // which boxes of a panel
	// sealed is how many of the last boxes have unused r-ports whose last lane the ShuffleBack leaves alone: where the width is odd.
	// The c-port of that lane gets a ShuffleBack, and r-ports that it joins are left unused together.
	sealed int
}

// layout decides how many boxes of each kind a panel has.
func (p *Plant) layout() error {
	c := &p.config
	p.first = roomsOf(c.Routers, c.Degree, p.rooms)
	most, least := 0, c.Routers
	for room := range p.rooms {
		n := p.first[room+1] - p.first[room]
		most, least = max(most, n), min(least, n)
	}
	for _, k := range []boxKind{{width: c.Breakout, transceivers: c.Degree / c.Breakout}, {width: c.Degree % c.Breakout, transceivers: 1}} {
		if k.width == 0 || k.transceivers == 0 {
			continue
		}
		k.from = p.boxes
		p.boxes += ceil(most*k.transceivers, c.RPorts)
		k.to = p.boxes
		p.kinds = append(p.kinds, k)
	}
	switch spare := c.Boxes - p.boxes; {
	case c.Boxes == 0:
	case spare < 0:
		return fmt.Errorf("%d ShuffleBoxes a room: %d are needed for the transceivers of %d routers", c.Boxes, p.boxes, most)
	default:
		p.kinds[0].to += spare
		for i := range p.kinds[1:] {
			p.kinds[1+i].from += spare
			p.kinds[1+i].to += spare
		}
		p.boxes = c.Boxes
	}
	for i := range p.kinds {
		if k := &p.kinds[i]; k.width%2 == 1 {
			k.sealed = ceil((k.to-k.from)*c.RPorts-least*k.transceivers, c.RPorts)
		}
	}
	return tooMany("r-ports", p.rooms, p.boxes, c.RPorts)
}

// roomsOf spreads routers evenly over rooms. With an odd degree they come in twos, as a room with an odd number of lanes would leave one over.
func roomsOf(routers, degree, rooms int) []int {
	unit := 1
	if degree%2 == 1 && routers >= 2*rooms {
		unit = 2
	}
	first := make([]int, rooms+1)
	units := routers / unit
	for room := range rooms {
		n := units / rooms
		if room < units%rooms {
			n++
		}
		first[room+1] = first[room] + n*unit
	}
	first[rooms] = routers
	return first
}

func (p *Plant) kindOf(box int32) *boxKind {
	for i := range p.kinds {
		if k := &p.kinds[i]; int(box)%p.boxes < k.to {
			return k
		}
	}
	return nil
}

// transceivers returns how many a router has.
func (p *Plant) transceivers() int { return ceil(p.config.Degree, p.config.Breakout) }

// wire lays trunks between random boxes of different rooms. The c-ports of a panel go in equal parts to all rooms, the own one included; what
// would be trunks within a room are ShuffleBacks.
func (p *Plant) wire(rng *rand.Rand) {
	p.far = make([]int32, p.rooms*p.boxes*p.box.cPorts)
	for c := range p.far {
		p.far[c] = int32(c)
	}
	free := make([][]int32, p.rooms)
	for room := range free {
		free[room] = p.cPortsForTrunks(room)
		rng.Shuffle(len(free[room]), func(i, j int) { free[room][i], free[room][j] = free[room][j], free[room][i] })
	}
	joined := map[[2]int32]bool{} // boxes
	for _, rooms := range roomPairs(rng, p.rooms, len(free[0])) {
		a := free[rooms[0]][0]
		free[rooms[0]] = free[rooms[0]][1:]
		others := free[rooms[1]]
		// Two trunks between the same two boxes would make pairs of routers that are linked twice.
		i := max(0, slices.IndexFunc(others, func(b int32) bool { return !joined[[2]int32{p.boxOfCPort(a), p.boxOfCPort(b)}] }))
		b := others[i]
		free[rooms[1]] = slices.Delete(others, i, i+1)
		joined[[2]int32{p.boxOfCPort(a), p.boxOfCPort(b)}] = true
		p.far[a], p.far[b] = b, a
	}
}

// cPortsForTrunks lists the c-ports of a room's panel that may be joined with other rooms.
func (p *Plant) cPortsForTrunks(room int) []int32 {
	var free []int32
	for _, k := range p.kinds {
		for box := k.from; box < k.to; box++ {
			width := k.width
			if box >= k.to-k.sealed {
				width--
			}
			for c := range width {
				free = append(free, int32((room*p.boxes+box)*p.box.cPorts+c))
			}
		}
	}
	return free
}

// roomPairs returns which two rooms each trunk joins, the lower first, for rooms with a number of c-ports each.
func roomPairs(rng *rand.Rand, rooms, cPorts int) [][2]int {
	each := cPorts / rooms
	var pairs [][2]int
	for b := range rooms {
		for a := range b {
			for range each {
				pairs = append(pairs, [2]int{a, b})
			}
		}
	}
	// What is left of (rooms-1)/rooms of the c-ports goes to that many rounds of a tournament between the rooms.
	left := (2*(rooms-1)*cPorts+rooms)/(2*rooms) - (rooms-1)*each
	order := rng.Perm(rooms)
	for round := range left {
		for _, pair := range tournament(rooms, round) {
			a, b := order[pair[0]], order[pair[1]]
			pairs = append(pairs, [2]int{min(a, b), max(a, b)})
		}
	}
	return pairs
}
