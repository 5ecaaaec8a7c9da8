package generate

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"whichlink/graphs"
)

// A Pattern is how the light of a link gets from room to room.
type Pattern int8

const (
	// InRoom is by the ShuffleBack on a c-port.
	InRoom Pattern = iota
	// BetweenRooms is by a trunk.
	BetweenRooms
	// Bounced is by the ShuffleBack on an unused r-port, mostly of another room.
	Bounced
)

func (p Pattern) String() string { return [...]string{"in room", "between rooms", "bounced"}[p] }

// A Path is what the light of a link passes between two transceivers.
type Path struct {
	// Segments are the things that it passes, in order: the cable of the first router, by the name of its transceiver and r-port, then boxes,
	// each as often as it is passed, trunks and ShuffleBacks, and the other router's cable.
	Segments []string
	// Groups are the link's shared-risk groups, each once: the segments, all trunks between the same two rooms, and the panels.
	Groups     []string
	Connectors int
	Pattern    Pattern
}

// String writes the path from end to end.
func (p Path) String() string {
	return fmt.Sprintf("%s (%s, %d connectors)", strings.Join(p.Segments, " > "), p.Pattern, p.Connectors)
}

// Path returns the physical path of a link between routers. Links to hosts have none.
func (p *Plant) Path(l graphs.LinkID) (Path, bool) {
	if l < 0 || int(l) >= len(p.links) {
		return Path{}, false
	}
	return p.pathFrom(p.fibre(p.links[l][0])), true
}

// pathFrom follows the light of a lane that arrives.
func (p *Plant) pathFrom(at int32) Path {
	w := Path{Connectors: 1}
	pass := func(name string) { w.Segments = append(w.Segments, name) }
	pass(p.cables[p.rPortOf(at)])
	pass(p.boxNames[p.boxOfRPort(p.rPortOf(at))])
	rooms := []string{p.roomNames[p.roomOfFibre(at)]}
	var between []string
	for {
		beyond, more := p.across(at)
		w.Connectors += int(more) + 1
		from, to := p.cPortOf(at), p.cPortOf(beyond)
		if p.far[from] == from {
			pass(p.cPortName(from) + "--back")
		} else {
			if w.Pattern == InRoom {
				w.Pattern = BetweenRooms
			}
			pass(p.cPortName(min(from, to)) + "--" + p.cPortName(max(from, to)))
			a, b := p.roomOfFibre(at), p.roomOfFibre(beyond)
			rooms = append(rooms, p.roomNames[b])
			between = append(between, p.roomNames[min(a, b)]+"--"+p.roomNames[max(a, b)])
		}
		r := p.rPortOf(beyond)
		box := p.boxNames[p.boxOfRPort(r)]
		pass(box)
		if p.used[r] {
			pass(p.cables[r])
			break
		}
		w.Pattern = Bounced
		pass(p.rPortName(r) + "--back")
		pass(box)
		at, _ = p.bridge(beyond)
	}
	for _, g := range slices.Concat(w.Segments, between, rooms) {
		if !slices.Contains(w.Groups, g) {
			w.Groups = append(w.Groups, g)
		}
	}
	return w
}

// fibre returns the fibre pair of a lane, which is given as router*degree+lane.
func (p *Plant) fibre(lane int32) int32 {
	d, k := p.config.Degree, p.box.cPorts
	router, n := int(lane)/d, int(lane)%d
	return p.place[router*p.transceivers()+n/k]*int32(k) + int32(n%k)
}

func (p *Plant) roomOfFibre(fibre int32) int { return int(p.boxOfRPort(p.rPortOf(fibre))) / p.boxes }

// name gives names to what links share.
func (p *Plant) name() {
	for room := range p.rooms {
		p.roomNames = append(p.roomNames, "room"+pad(room+1, p.rooms))
		for box := range p.boxes {
			p.boxNames = append(p.boxNames, p.roomNames[room]+"/box"+pad(box+1, p.boxes))
		}
	}
	p.place = make([]int32, p.config.Routers*p.transceivers())
	p.cables = make([]string, len(p.at))
	for r, t := range p.at {
		if t == none {
			continue
		}
		p.place[t] = int32(r)
		router := "tor-" + pad(int(t)/p.transceivers()+1, p.config.Routers)
		p.cables[r] = router + ":e" + strconv.Itoa(int(t)%p.transceivers()+1) + "--" + p.rPortName(int32(r))
	}
}

func (p *Plant) rPortName(r int32) string {
	return p.boxNames[p.boxOfRPort(r)] + "/r" + pad(int(r)%p.box.rPorts+1, p.box.rPorts)
}

func (p *Plant) cPortName(c int32) string {
	return p.boxNames[p.boxOfCPort(c)] + "/c" + pad(int(c)%p.box.cPorts+1, p.box.cPorts)
}

// portName names a router's port by transceiver and lane.
func (p *Plant) portName(lane int) string {
	name := "e" + strconv.Itoa(lane/p.config.Breakout+1)
	if p.config.Breakout > 1 {
		name += "/" + strconv.Itoa(lane%p.config.Breakout+1)
	}
	return name
}
