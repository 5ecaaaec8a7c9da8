package generate

// maxConnectors is how many connectors light may pass on its way from router to router: lanes with more are disabled, as losses add up.
// What counts are the ports of ShuffleBoxes: three where the way stays in a room, four over a trunk between rooms, and seven where it is
// bounced once off an unused r-port of another room.
const maxConnectors = 7

// A fate is what becomes of a lane.
type fate int8

const (
	arrives fate = iota // at a lane of another router
	dark                // ends where no router listens
	tooLong             // has more than maxConnectors connectors
	returns             // comes back to the port from which it left
)

// An r-port is numbered throughout the fabric by its room, box and place in the box; its fibre pairs are numbered along with it, and so are
// the c-ports of all boxes.
func (p *Plant) boxOfRPort(r int32) int32  { return r / int32(p.box.rPorts) }
func (p *Plant) boxOfCPort(c int32) int32  { return c / int32(p.box.cPorts) }
func (p *Plant) rPortOf(fibre int32) int32 { return fibre / int32(p.box.cPorts) }

// cPortOf returns the c-port to which a fibre pair of an r-port leads within its box.
func (p *Plant) cPortOf(fibre int32) int32 {
	c := int32(p.box.cPorts)
	return p.boxOfRPort(fibre/c)*c + fibre%c
}

// across follows a fibre pair from an r-port through its box and what is plugged into the c-port to the r-port beyond: by a trunk into a box
// of another room, or by a ShuffleBack, which joins neighbouring fibre pairs, into its own box.
func (p *Plant) across(fibre int32) (beyond int32, connectors int8) {
	m, k := int32(p.box.rPorts), int32(p.box.cPorts)
	from := p.cPortOf(fibre)
	at := p.box.position[from%k][fibre/k%m]
	to := p.far[from]
	connectors = 2
	if to == from {
		at ^= 1
		connectors = 1
	}
	return (to/k*m+p.box.rPort[to%k][at])*k + to%k, connectors
}

// bridge follows a fibre pair that arrives at an unused r-port through the ShuffleBack there. The last of an odd number has no neighbour.
func (p *Plant) bridge(fibre int32) (int32, bool) {
	k := int32(p.box.cPorts)
	pair := fibre % k
	return fibre - pair + (pair ^ 1), pair^1 < k
}

// lit tells whether a router puts light on a fibre pair, and listens to it.
func (p *Plant) lit(fibre int32) bool {
	r := p.rPortOf(fibre)
	return p.used[r] && int(fibre)%p.box.cPorts < p.kindOf(p.boxOfRPort(r)).width
}

// trace follows a fibre pair from an r-port in use to the one at which it ends, or was given up. Visit, if not nil, sees every r-port's fibre pair
// at which it arrives.
func (p *Plant) trace(fibre int32, visit func(fibre int32)) (end int32, f fate) {
	connectors := int8(1)
	for at := fibre; ; {
		beyond, more := p.across(at)
		connectors += more + 1
		if connectors > maxConnectors {
			return beyond, tooLong
		}
		if visit != nil {
			visit(beyond)
		}
		switch r := p.rPortOf(beyond); {
		case p.used[r] && r == p.rPortOf(fibre):
			return beyond, returns
		case p.used[r] && !p.lit(beyond):
			return beyond, dark
		case p.used[r]:
			return beyond, arrives
		}
		next, ok := p.bridge(beyond)
		if !ok {
			return beyond, dark
		}
		at = next
	}
}

// isLost tells whether a router puts light on a fibre pair that arrives nowhere.
func (p *Plant) isLost(fibre int32) bool {
	if !p.lit(fibre) {
		return false
	}
	_, f := p.trace(fibre, nil)
	return f != arrives
}
