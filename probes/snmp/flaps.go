package snmp

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"whichlink/internal/evidence"
)

// A FlapSource is what told that a port or a session went down and came up again. Of sources that do not agree the one that counts is believed.
type FlapSource string

// The sources, most telling first. Counters see every flap, a moment of change one in each interval, a status none that is shorter than it.
const (
	ByCarrier    FlapSource = "carrier transitions"
	BySession    FlapSource = "BGP session established anew"
	ByNeighbour  FlapSource = "LLDP neighbour forgotten and heard anew"
	ByLastChange FlapSource = "time of the last change"
)

// A Flap is what two readings of an agent tell of a port or session: that it went down and came up again, at least Outages times, between them.
type Flap struct {
	Index   uint32     // the ifIndex; 0 for a session
	Peer    netip.Addr // of a session
	Outages int
	By      FlapSource
	// At is when it last changed, by the agent's clock where that can be; else when it was read.
	At time.Time
}

// A Turn is a port that was read to be in another state than before.
type Turn struct {
	Index    uint32
	Up       bool
	Disabled bool // it was told to be down
	At       time.Time
}

// mostFlaps is how often a second a carrier can be lost and be there again: whatever counts more counts something else.
const mostFlaps = 100

// Flaps compares two readings of one agent. The rules:
//
//   - An agent that restarted tells nothing of the time before: what it counts and when its ports changed begins anew.
//   - A counter of the carrier counts each change, so that two of them are one outage. Where there is one, ifLastChange is not asked.
//   - ifLastChange that moves ahead while both readings say up is one outage or more. One that is later than now is of a clock that wrapped or
//     of another one: it tells that, and not when. One that went back, or that all ports have in common and that is later than now, tells nothing.
//   - Sessions that most peers lost together were lost by the agent.
//   - A port that is told to be down goes down for that.
//
// The answers are in the order of ports, then of peers.
func Flaps(before, after *States) []Flap {
	if restarted(before, after) {
		return nil
	}
	var flaps []Flap
	wall := after.Time.Sub(before.Time)
	most := int(mostFlaps * (wall.Seconds() + 10)) // agents keep figures for seconds
	foreign := after.foreignClock()
	for index, q := range after.Ports {
		p, ok := before.Ports[index]
		if !ok || p.Admin == evidence.Down || q.Admin == evidence.Down {
			continue
		}
		f := Flap{Index: index, At: after.Time}
		switch {
		case q.Carrier != nil && p.Carrier != nil:
			changes := uint32(*q.Carrier - *p.Carrier)
			if *q.Carrier < *p.Carrier || int64(changes) > 2*int64(most) {
				continue
			}
			f.By, f.Outages = ByCarrier, outagesOf(int(changes), p.Oper)
			if q.Oper != evidence.Up && f.Outages > 0 {
				f.Outages-- // it is not up again: that is no flap yet
			}
		case q.Change != nil && p.Change != nil && !foreign:
			if *q.Change > *p.Change && p.Oper == evidence.Up && q.Oper == evidence.Up {
				f.By, f.Outages = ByLastChange, 1
			}
		}
		if f.Outages == 0 {
			continue
		}
		if at, ok := after.changedAt(&q); ok && at.After(before.Time.Add(-wall)) {
			f.At = at
		}
		flaps = append(flaps, f)
	}
	flaps = append(flaps, sessionFlaps(before, after, most)...)
	slices.SortFunc(flaps, func(a, b Flap) int { return cmp.Or(cmp.Compare(a.Index, b.Index), a.Peer.Compare(b.Peer)) })
	return flaps
}

// outagesOf is how many of a number of changes went down, from a state.
func outagesOf(changes int, from string) int {
	if from == evidence.Up {
		return (changes + 1) / 2
	}
	return changes / 2
}

// sessionFlaps are the sessions that were established anew. If half of them or more were, and more than one, the agent's routing was.
func sessionFlaps(before, after *States, most int) []Flap {
	var flaps []Flap
	sessions := 0
	for peer, q := range after.Sessions {
		p, ok := before.Sessions[peer]
		if !ok || p.Established == nil || q.Established == nil {
			continue
		}
		sessions++
		n := *q.Established - *p.Established
		// One that was not established before was so for the first time.
		if p.Is != nil && !*p.Is && n > 0 {
			n--
		}
		if *q.Established >= *p.Established && n > 0 && int64(n) <= int64(most) {
			flaps = append(flaps, Flap{Peer: peer, Outages: int(n), By: BySession, At: after.Time})
		}
	}
	if len(flaps) > 1 && 2*len(flaps) >= sessions && sessions > 2 {
		return nil
	}
	return flaps
}

// Turns are the ports whose state is not what it was, in order.
func Turns(before, after *States) []Turn {
	var turns []Turn
	for index, q := range after.Ports {
		p, ok := before.Ports[index]
		was, is := evidence.UpOrDown(p.Oper), evidence.UpOrDown(q.Oper)
		if !ok || was == "" || is == "" || was == is {
			continue
		}
		t := Turn{Index: index, Up: is == evidence.Up, Disabled: q.Admin == evidence.Down, At: after.Time}
		if at, ok := after.changedAt(&q); ok && at.After(before.Time) && !restarted(before, after) {
			t.At = at
		}
		turns = append(turns, t)
	}
	slices.SortFunc(turns, func(a, b Turn) int { return cmp.Compare(a.Index, b.Index) })
	return turns
}

// changedAt is when a port entered its state, if the agent's clock can tell.
func (s *States) changedAt(p *PortStates) (time.Time, bool) {
	if p.Change == nil || s.Uptime == nil || *p.Change == 0 || *p.Change > *s.Uptime {
		return time.Time{}, false
	}
	return s.Time.Add(-10 * time.Millisecond * time.Duration(*s.Uptime-*p.Change)), true
}

// foreignClock reports whether ifLastChange of all ports is one and the same moment that has not come yet.
func (s *States) foreignClock() bool {
	var first *uint32
	n := 0
	for _, p := range s.Ports {
		switch {
		case p.Change == nil:
			continue
		case first == nil:
			first = p.Change
		case *first != *p.Change:
			return false
		}
		n++
	}
	return n > 1 && s.Uptime != nil && *first > *s.Uptime
}

// restarted reports whether an agent began anew between two readings.
func restarted(before, after *States) bool {
	now, then := Clock{Uptime: after.Uptime, Boots: after.Boots}, Clock{Uptime: before.Uptime, Boots: before.Boots}
	return now.restarted(&then, after.Time.Sub(before.Time))
}

// clockSlack is by how many hundredths of a second ifLastChange may be ahead of sysUpTime without being of another clock: the one is taken a little later than the other,
// and may be kept by another part of the agent.
const clockSlack = 500

// CannotTell says in words what of flaps between two polls an agent cannot tell, or "". Silence of such an agent is not stability.
func (s *States) CannotTell() string {
	up, carrier, changes, zero, later := 0, 0, 0, 0, 0
	for _, p := range s.Ports {
		if p.Oper != evidence.Up {
			continue
		}
		up++
		if p.Carrier != nil {
			carrier++
		}
		switch {
		case p.Change == nil:
		case *p.Change == 0:
			zero++
		default:
			if s.Uptime != nil && *p.Change > *s.Uptime && *p.Change-*s.Uptime > clockSlack {
				later++
			}
		}
		if p.Change != nil {
			changes++
		}
	}
	anyChange := slices.ContainsFunc(portsOf(s), func(p PortStates) bool { return p.Change != nil && *p.Change != 0 })
	why := ""
	switch {
	case up == 0 || carrier > 0:
		return ""
	case changes == 0:
		why = "it has no ifLastChange"
	case zero == changes && !anyChange:
		return s.sessionsToo("may not tell flaps between two polls: its ifLastChange is 0 at all ports, as where none has changed yet or it is not kept, and it counts no changes of the carrier")
	case s.foreignClock():
		why = "its ifLastChange is of another clock"
	case later > 0:
		return fmt.Sprintf("does not tell when ports changed: ifLastChange of %d of %d is later than now; and it counts no changes of the carrier, so that of "+
			"several flaps between two polls it tells one", later, changes)
	default:
		return ""
	}
	return s.sessionsToo("cannot tell flaps between two polls: " + why + ", and it counts no changes of the carrier")
}

func (s *States) sessionsToo(text string) string {
	if len(s.Sessions) > 0 {
		text += "; only its BGP sessions would tell"
	}
	return text
}

func portsOf(s *States) []PortStates {
	list := make([]PortStates, 0, len(s.Ports))
	for _, p := range s.Ports {
		list = append(list, p)
	}
	return list
}
