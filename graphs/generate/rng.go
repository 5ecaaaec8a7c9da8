package generate

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"

	"whichlink/graphs"
)

// RNGConfig says how large a fabric of Resilient Network Graphs is, and how it is cabled. Zero means the usual, where one is named.
type RNGConfig struct {
	Routers  int
	Degree   int // fabric uplinks of a router, each a lane of a transceiver
	Breakout int // lanes of a transceiver: fibre pairs of an r-port, and c-ports of a ShuffleBox; usually 4
	RPorts   int // r-ports of a ShuffleBox: fibre pairs of a c-port; usually 32
	Rooms    int // usually one for every 100 routers, 10 at most
	Boxes    int // ShuffleBoxes in a room's panel; usually as many as are needed
	Hosts    int // a router
	Seed     uint64
	IPv6     bool
}

const (
	routersARoom = 100
	usualRooms   = 10
	maxBreakout  = 16
	maxRPorts    = 1 << 10
	// drawnLanes is how many lanes are drawn before a cabling is taken that is not perfect: small ones are drawn more often.
	drawnLanes = 1 << 15
)

// RNG makes a fabric of AWS's Resilient Network Graphs ("RNG: Flat Datacenter Networks at Scale", arXiv:2604.15261): flat, every router
// a ToR, and quasi-random. It makes the cabling first. A transceiver's lanes go by one cable to a random r-port of the ShuffleBoxes in the
// room's panel, which spread them over their c-ports. Trunks join the c-ports of random boxes of different rooms. C-ports and r-ports that are
// not used otherwise get a ShuffleBack, which joins neighbouring fibre pairs. Where the light of a lane then arrives is its link.
//
// A random cabling has links of a router with itself and parallel links, and, where a panel is not full, lanes that ShuffleBacks bounce so
// often that they are disabled for their many connectors. The paper does not say what AWS does about the former. Here, what is plugged into
// r-ports is exchanged within rooms, at random, until such lanes and links are gone or no exchange is found that helps, so that the
// fabric is as close to a regular simple graph as it can be. Links of a router with itself are left out of the fabric, parallel ones stay in.
// [Plant.Tally] counts both.
//
// Every link has as shared-risk groups what its light passes: tor-0117:e3--room03/box044/r17 is a transceiver with its cable and r-port, whose
// lanes are the same; room03/box044 a ShuffleBox; room03/box044/c2--room07/box101/c1 a trunk, or with --back in place of the far end a
// ShuffleBack; room03--room07 all trunks between two rooms; room03 a room's panel.
func RNG(c RNGConfig) (*Plant, error) {
	c = c.usual()
	fail := func(err error) (*Plant, error) {
		return nil, fmt.Errorf("rng with %d routers, degree %d, %d rooms and breakout %d: %w", c.Routers, c.Degree, c.Rooms, c.Breakout, err)
	}
	if err := c.check(); err != nil {
		return fail(err)
	}
	best, err := bestPlant(c)
	if err != nil {
		return fail(err)
	}
	if n := best.tally.parts; n > 1 {
		return fail(fmt.Errorf("the fabric falls apart into %d parts; more uplinks or rooms join more of its ShuffleBoxes", n))
	}
	if err := best.build(); err != nil {
		return fail(err)
	}
	return best, nil
}

// bestPlant draws cablings until one is perfect, or returns the best of some.
func bestPlant(c RNGConfig) (*Plant, error) {
	rng := rand.New(rand.NewPCG(c.Seed, uint64(c.Routers)<<32|uint64(c.Degree)))
	var best *Plant
	for range min(max(drawnLanes/(c.Routers*c.Degree), 2), 16) {
		p := &Plant{config: c, box: newShuffleBox(c.RPorts, c.Breakout), rooms: c.Rooms}
		if err := p.layout(); err != nil {
			return nil, err
		}
		p.wire(rng)
		p.chooseUnused(rng)
		p.land(rng)
		p.join()
		p.settle(rng)
		p.collect()
		if best == nil || p.tally.worse() < best.tally.worse() {
			best = p
		}
		if best.tally.worse() == best.tally.Lanes%2 { // of an odd number of lanes one has no partner
			break
		}
	}
	return best, nil
}

// usual fills in what was not said.
func (c RNGConfig) usual() RNGConfig {
	if c.Breakout == 0 {
		c.Breakout = 4
	}
	if c.RPorts == 0 {
		c.RPorts = 32
	}
	if c.Rooms == 0 {
		c.Rooms = min(ceil(max(c.Routers, 1), routersARoom), usualRooms)
	}
	return c
}

func (c *RNGConfig) check() error {
	switch {
	case c.Routers < 2:
		return errors.New("at least 2 routers are needed")
	case c.Degree < 1 || c.Degree >= c.Routers:
		return fmt.Errorf("the degree must be between 1 and %d, as more lanes than other routers would be parallel links", c.Routers-1)
	case c.Breakout < 1 || c.Breakout > maxBreakout:
		return fmt.Errorf("a transceiver has between 1 and %d lanes", maxBreakout)
	case c.RPorts%2 != 0 || c.RPorts <= c.Breakout || c.RPorts > maxRPorts:
		return fmt.Errorf("ShuffleBoxes with %d r-ports: must be even, at most %d, and more than the %d c-ports, or ShuffleBacks would join r-ports twice",
			c.RPorts, maxRPorts, c.Breakout)
	case c.Rooms < 1 || c.Rooms > c.Routers:
		return fmt.Errorf("there must be between 1 and %d rooms, as every room has a router", c.Routers)
	case c.Boxes < 0 || c.Hosts < 0:
		return errors.New("a count cannot be negative")
	}
	return tooMany("links", c.Routers, max(ceil(c.Degree, 2), c.Hosts))
}

// build makes the fabric of the links that were found.
func (p *Plant) build() error {
	c := &p.config
	a := newAssembly(fmt.Sprintf("rng%dd%d", c.Routers, c.Degree), c.IPv6)
	routers, err := a.tier("tor-", "tor", c.Routers)
	if err != nil {
		return err
	}
	p.name()
	end := func(lane int32) graphs.End {
		return graphs.End{Node: routers[int(lane)/c.Degree], Port: p.portName(int(lane) % c.Degree)}
	}
	for _, l := range p.links {
		way := p.pathFrom(p.fibre(l[0]))
		p.tally.Patterns[way.Pattern]++
		p.tally.Connectors[way.Connectors]++
		if err := a.join(end(l[0]), end(l[1]), way.Groups...); err != nil {
			return err
		}
	}
	for i, r := range routers {
		for h := range c.Hosts {
			host, err := a.add(graphs.Node{Name: "h" + pad(i+1, c.Routers) + "-" + pad(h+1, c.Hosts), Role: graphs.RoleHost, Kind: "linux"})
			if err != nil {
				return err
			}
			to := graphs.End{Node: r, Port: "e" + strconv.Itoa(p.transceivers()+h+1)}
			if err := a.join(a.end(host), to); err != nil {
				return err
			}
		}
	}
	p.fabric, err = a.b.Build()
	return err
}

// Fabric returns the fabric. Its first links are those between routers, in the order of their lanes.
func (p *Plant) Fabric() *graphs.Fabric { return p.fabric }

// A Tally counts what became of the lanes of a plant.
type Tally struct {
	Lanes int // of all routers: two a link
	Links int
	// Patterns counts the links by the pattern of their physical path, Connectors by how many connectors they have.
	Patterns   [3]int
	Connectors [maxConnectors + 1]int
	// Parallel is how many links there are beyond the first between two routers.
	Parallel int
	// Lanes without a link: those that end where no router listens, those with too many connectors, and those whose light comes back to
	// their own router.
	Dark, TooLong, Returning int
	// Bundles is how many pairs of end points somebody has to cable: every router with its panel, and every two rooms that have trunks.
	Bundles int

	parts int
}

// Lost is how many lanes have no link.
func (t *Tally) Lost() int { return t.Dark + t.TooLong + t.Returning }

// worse orders cablings: one that holds together is better than any that does not, then a lost lane is as bad as a parallel link.
func (t *Tally) worse() int { return (t.parts-1)*(t.Lanes+1) + t.Lost() + t.Parallel }

// Tally returns what became of the plant's lanes.
func (p *Plant) Tally() Tally { return p.tally }

// Notes say, one sentence each, what is worth knowing about a plant: what it consists of, what it lost, and whether it is of the size for which
// the paper's model holds.
func (p *Plant) Notes() []string {
	c, t := &p.config, &p.tally
	notes := []string{fmt.Sprintf("rooms %d, ShuffleBoxes %d; links within a room %d, by trunk %d, bounced %d; bundles to cable %d",
		p.rooms, p.rooms*p.boxes, t.Patterns[InRoom], t.Patterns[BetweenRooms], t.Patterns[Bounced], t.Bundles)}
	if t.Lost() > 0 {
		notes = append(notes, fmt.Sprintf("lanes without a link: %d of %d, as %d end at nothing, %d have more than %d connectors, %d come back to their own router",
			t.Lost(), t.Lanes, t.Dark, t.TooLong, maxConnectors, t.Returning))
	}
	if t.Parallel > 0 {
		notes = append(notes, fmt.Sprintf("links that run parallel to another between the same two routers: %d", t.Parallel))
	}
	if low := 2 * (math.Log(float64(c.Routers)) + 5); float64(c.Degree) < low {
		notes = append(notes, fmt.Sprintf("RNG is modelled for degrees of at least 2(ln n + 5), here %.0f", math.Ceil(low)))
	}
	if 4*c.Degree > c.Routers {
		notes = append(notes, "RNG is modelled for degrees that are small against the number of routers")
	}
	return notes
}
