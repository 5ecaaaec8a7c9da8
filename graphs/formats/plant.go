package formats

import (
	"regexp"
	"strconv"

	"whichlink/graphs"
)

// A plant is cabling as NetBox models it: cables end at ports of many kinds, and a link runs from interface to interface through as many
// cables as patch panels lie between.
type plant struct {
	strands []strand
	// at are the strands that end at a termination, as twice their index plus their side.
	at map[termination][]int
	// rear is where the front port of a panel is said to lead, and front the opposite, empty where several are said to lead to one place.
	rear  map[termination]position
	front map[position]termination
	// numbered finds the port of a panel by its number, for panels whose front and rear ports have different names.
	numbered map[termination][]termination
}

// A termination is where a cable ends: an interface, a front or rear port, or something of another kind, which is no data port.
type termination struct{ device, kind, name string }

// A position is one of the places that a rear port has for front ports, from 1.
type position struct {
	rear   termination
	number int
}

// A strand is a cable, or what a breakout cable has for each of its far ends.
type strand struct {
	ends [2]termination
	// lane counts the strands of a cable that begin at one interface, from 1; 0 where there is one.
	lane  [2]int
	speed graphs.BitsPerSecond
	group string
	at    place
}

const (
	anInterface = "interface"
	aFrontPort  = "frontport"
	aRearPort   = "rearport"
)

func newPlant() *plant {
	return &plant{
		at: map[termination][]int{}, rear: map[termination]position{}, front: map[position]termination{},
		numbered: map[termination][]termination{},
	}
}

var lastNumber = regexp.MustCompile(`[0-9]+$`)

func (p *plant) add(s strand) {
	for side, t := range s.ends {
		if _, known := p.at[t]; !known && t.kind != anInterface {
			number := termination{t.device, t.kind, lastNumber.FindString(t.name)}
			p.numbered[number] = append(p.numbered[number], t)
		}
		p.at[t] = append(p.at[t], 2*len(p.strands)+side)
	}
	p.strands = append(p.strands, s)
}

// leads says that a front port leads to a rear port.
func (p *plant) leads(front termination, to position) {
	p.rear[front] = to
	if was, ok := p.front[to]; ok && was != front {
		front = termination{}
	}
	p.front[to] = front
}

// through finds the other side of a panel's port: where it is said to lead, else the port of the same name, else that of the same number.
// The trail holds the positions of the rear ports that a path has entered, which tell the front port by which it leaves a panel again.
func (p *plant) through(t termination, trail *[]int) termination {
	opposite := aFrontPort
	if t.kind == aFrontPort {
		opposite = aRearPort
		if to, ok := p.rear[t]; ok {
			*trail = append(*trail, to.number)
			return to.rear
		}
	} else if number := len(*trail); number > 0 {
		from := position{t, (*trail)[number-1]}
		*trail = (*trail)[:number-1]
		if front, ok := p.front[from]; ok {
			return front
		}
	} else if front, ok := p.front[position{t, 1}]; ok {
		return front
	}
	other := termination{t.device, opposite, t.name}
	if len(p.at[other]) > 0 {
		return other
	}
	number := lastNumber.FindString(t.name)
	here, there := p.numbered[termination{t.device, t.kind, number}], p.numbered[termination{t.device, opposite, number}]
	if number == "" || len(here) != 1 || len(there) != 1 {
		return other
	}
	return there[0]
}

// Why a cable makes no link.
const (
	notData   = "cables that do not run between interfaces (power, console, circuits)"
	deadEnd   = "interfaces whose cable ends at a patch panel and goes no further"
	manyPaths = "interfaces whose cable leads to a port of a patch panel from which several cables go on"
	toItself  = "links from a device to itself"
)

// trace finds the links and puts them into a sketch.
func (p *plant) trace(s *sketch, left passed) error {
	for i := range p.strands {
		x := &p.strands[i]
		if !x.data(0) || !x.data(1) {
			left.add(notData)
			continue
		}
		for side := range 2 {
			if x.ends[side].kind != anInterface {
				continue
			}
			start := 2*i + side
			c, end, why := p.follow(start)
			if why == "" && end != start {
				if _, back, _ := p.follow(end); back != start {
					why = manyPaths
				}
			}
			if why != "" {
				left.add(why)
			} else if start < end {
				if err := s.add(c); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (s *strand) data(side int) bool {
	k := s.ends[side].kind
	return k == anInterface || k == aFrontPort || k == aRearPort
}

// follow goes from an interface to the one at the other end, or says why there is none.
func (p *plant) follow(start int) (c cable, end int, why string) {
	const mostPanels = 64
	first := &p.strands[start/2]
	c = cable{speed: first.speed, file: first.at.file, line: first.at.line}
	var trail []int
	end = start
	for range mostPanels {
		x := &p.strands[end/2]
		if x.group != "" {
			c.groups = append(c.groups, x.group)
		}
		if x.speed != 0 && (c.speed == 0 || x.speed < c.speed) {
			c.speed = x.speed
		}
		end ^= 1
		far := x.ends[end&1]
		switch {
		case far.kind == anInterface && far.device == first.ends[start&1].device:
			return c, end, toItself
		case far.kind == anInterface:
			c.ends = [2]socket{p.socket(start), p.socket(end)}
			return c, end, ""
		case far.kind != aFrontPort && far.kind != aRearPort:
			return c, end, deadEnd
		}
		switch next := p.at[p.through(far, &trail)]; len(next) {
		case 0:
			return c, end, deadEnd
		case 1:
			end = next[0]
		default:
			return c, end, manyPaths
		}
	}
	return c, end, deadEnd
}

// socket is the port of an interface. The lanes of a breakout are ports of their own.
func (p *plant) socket(end int) socket {
	x := &p.strands[end/2]
	t := x.ends[end&1]
	return socket{t.device, laneName(t.name, x.lane[end&1])}
}

// laneName is the name of one lane of a port: as switches name the ports into which a port is broken out.
func laneName(port string, lane int) string {
	if lane == 0 {
		return port
	}
	return port + "/" + strconv.Itoa(lane)
}
