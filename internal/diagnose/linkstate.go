package diagnose

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"whichlink/graphs"
	"whichlink/internal/evidence"
	"whichlink/pathfind/localize"
)

// What ports say of the state of their links adds up in nats, from the odds of a link that nobody complained of.
const (
	soundLink = -4.5
	// saysDown is what one end that reads down weighs, saysUp one that reads up against it.
	saysDown, saysUp = 8, 3
	// lostNeighbour and noNeighbour: a port hears nobody, and did before or never did.
	lostNeighbour, noNeighbour = 3, 1
	// avoided is the most that it weighs that routing goes around a link.
	avoided = 9
	// saysFlap is what one end weighs that went down and up again once, saysSession one whose session or neighbour did: these may have reasons of
	// their own.
	saysFlap, saysSession = 5.5, 4
	// saysStill is what it weighs against that that the other end says to have been up all the while: mostly both ends of a link see it go down.
	saysStill = 1.5
	// together is how far apart in time what has one cause may be told: agents look every few seconds.
	together = 6 * time.Second
)

// A linkState is what both ends of a link say of it.
type linkState struct {
	link        graphs.LinkID
	nats        float64 // log odds of being down
	down        bool
	disabled    string  // the port that was told to be down
	portOutages         // at the end that tells of more
	flap        float64 // log odds of being sick for that
	says        []string
	against     []string
	crossed     []string  // likewise, by packets that came over it
	still       string    // the end that says to have been up while the other one went down and came up
	fell, since time.Time // of the first and of the newest word of those that say so, as far as nothing else was said between
	downs       []string  // the ports that read down
	back        time.Time // when packets were first seen to cross it again, though no port says that it came up
}

// linkStates reads the ports of every link of which something was said.
func (s *Store) linkStates() []linkState {
	var list []linkState
	for l := range graphs.LinkID(s.fabric.NumLinks()) {
		if s.saidOf(l) {
			list = append(list, s.linkState(l))
		}
	}
	return list
}

// saidOf reports whether something was said of a port of a link.
func (s *Store) saidOf(l graphs.LinkID) bool {
	ends := s.fabric.Link(l).Ends
	return s.ports.logs[ends[0]] != nil || s.ports.logs[ends[1]] != nil
}

func (s *Store) linkState(l graphs.LinkID) linkState {
	x := linkState{link: l, nats: soundLink, flap: soundLink}
	ends := s.fabric.Link(l).Ends
	disabled := append(s.portLog(ends[0]).disabled(), s.portLog(ends[1]).disabled()...)
	for i, p := range ends {
		log, name := s.portLog(p), s.fabric.PortName(p)
		now := log.now()
		if now.admin == evidence.Down {
			x.disabled = name
		}
		if now.oper == evidence.Down {
			x.nats += saysDown
			x.downs = append(x.downs, name)
			x.says = append(x.says, name+" is down")
			x.word(log.downSince(), now.at)
		}
		if alone, before := s.hearsNobody(p); alone {
			x.nats += noNeighbour
			text := name + " hears no neighbour"
			if before != "" {
				x.nats += lostNeighbour - noNeighbour
				text = fmt.Sprintf("%s no longer hears %s", name, graphs.Clean(before))
			}
			x.says = append(x.says, text)
			x.word(log.heardSince(), log.heard[len(log.heard)-1].at)
		}
		if o := log.outages(disabled); o.outages > 0 {
			weight := saysFlap
			if strings.Contains(o.by, "BGP") || strings.Contains(o.by, "LLDP") {
				weight = saysSession
			}
			x.flap += weight + math.Log(float64(o.outages))
			if other := ends[1-i]; s.portLog(other).stillUp(&o) {
				x.flap -= saysStill
				x.still = s.fabric.PortName(other)
			}
			if o.outages > x.outages || o.outages == x.outages && len(o.at) > len(x.at) {
				x.portOutages = o
			}
		}
	}
	for _, p := range ends {
		// What an end said before the other fell is no word against that: an agent that is cut off says nothing new.
		if now := s.portLog(p).now(); now.oper == evidence.Up && (x.fell.IsZero() || x.fell.Sub(now.at) <= together) {
			x.nats -= saysUp
			x.against = append(x.against, s.fabric.PortName(p)+" reads up")
		}
	}
	if len(x.says) > 0 {
		s.cross(&x)
	}
	x.down = len(x.says) > 0 && x.nats > -2
	return x
}

// word notes from when until when an end said that the link is not there.
func (x *linkState) word(from, to time.Time) {
	x.fell = soonest(x.fell, from)
	x.since = later(x.since, to)
}

// cross weighs what packets say of a link that ports say is not there. What they tell of a later time is not of the time that ports told of: then the link came
// back. What they tell of the same time is that one of both is wrong.
func (s *Store) cross(x *linkState) {
	if p := s.passages(x.link, x.fell.Add(clocksApart), x.since); p.flows > 0 {
		x.nats = min(x.nats, toldAtOnce) - p.nats()
		x.crossed = append(x.crossed, p.words("meanwhile", s.dial()))
	}
	if p := s.passages(x.link, x.since.Add(clocksApart), time.Time{}); p.flows > 0 {
		x.nats = min(x.nats, 0) - p.nats()
		x.crossed = append(x.crossed, p.words("later", s.dial()))
		if len(x.downs) > 0 && len(x.crossed) == 1 {
			x.back = p.first
			x.flap += saysSession * float64(len(x.downs))
			x.outages++
			x.at = append(slices.Clone(x.at), x.fell)
		}
	} else if at := s.crossedAfter(x.link, x.since); !at.IsZero() {
		x.nats -= crossedNow
		x.crossed = append(x.crossed, "packets crossed it later, at "+s.dial().clock(at))
	}
}

// hearsNobody reports whether a port was asked for its neighbour and hears none, and whom it heard before. An agent that hears nobody
// at any of its ports has just begun to listen.
func (s *Store) hearsNobody(p graphs.PortID) (alone bool, before string) {
	log := s.portLog(p)
	if len(log.heard) == 0 || log.heard[len(log.heard)-1].named() != "" {
		return false, ""
	}
	for i := len(log.heard) - 1; i >= 0 && before == ""; i-- {
		before = log.heard[i].named()
	}
	for _, q := range s.fabric.Ports(s.fabric.Port(p).Node) {
		if h := s.portLog(q).heard; len(h) > 0 && h[len(h)-1].named() != "" {
			return true, before
		}
	}
	return false, ""
}

func (h heard) named() string { return cmp.Or(h.system, h.chassis) }

func probabilityOf(nats float64) float64 { return min(1/(1+math.Exp(-nats)), surest) }

// hints are the prior odds that ports' words shift for a link: that it is down or went down, or runs slower than it should.
func (s *Store) hints(states []linkState) []localize.Hint {
	var hints []localize.Hint
	for i := range states {
		x := &states[i]
		nats := 0.0
		if x.down && x.disabled == "" {
			nats += max(0, x.nats-soundLink)
		}
		if x.outages > 0 {
			nats += min(6, 2+math.Log(float64(x.outages)))
		}
		if s.slowerThanPlanned(x.link) != "" {
			nats += 3
		}
		if nats > 0 {
			hints = append(hints, localize.Hint{Link: x.link, Nats: nats})
		}
	}
	return hints
}

// slowerThanPlanned says so if a port of a link runs at another speed than the fabric file has it; lanes that fail or a bad cable do that.
func (s *Store) slowerThanPlanned(l graphs.LinkID) string {
	planned := uint64(s.fabric.Link(l).Speed)
	for _, p := range s.fabric.Link(l).Ends {
		log := s.portLog(p)
		if n := len(log.readings); n > 0 {
			if r := &log.readings[n-1]; r.Speed > 0 && planned > 0 && evidence.UpOrDown(r.Oper) != evidence.Down && float64(r.Speed) < 0.7*float64(planned) {
				return fmt.Sprintf("%s runs at %.4g Gbit/s, planned are %.4g", s.fabric.PortName(p), float64(r.Speed)/1e9, float64(planned)/1e9)
			}
		}
	}
	return ""
}

// slowLinks says so, beside that all is well, if links run slower than planned: nothing is lost there yet, but capacity.
func (s *Store) slowLinks() string {
	var list []string
	for l := range graphs.LinkID(s.fabric.NumLinks()) {
		if text := s.slowerThanPlanned(l); text != "" {
			list = append(list, text)
		}
	}
	if list == nil {
		return ""
	}
	return ", but " + firstOf(list, 1)
}
