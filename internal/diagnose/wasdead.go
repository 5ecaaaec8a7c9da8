package diagnose

import (
	"slices"
	"time"
)

const (
	// leastDead is how many packets on end a flow has lost that was dead: what loses a part of them hardly does that.
	leastDead = 20
	// mostHaunts is on how many ways a flow may be traced for these to tell where it may be when it is not traced.
	mostHaunts = 4
)

// noteDead notes on which ways a flow was traced, if they are several, and of one that was dead for a while in which epochs it stayed where it was.
func (l *flowLog) noteDead() {
	l.haunts, l.stays, l.died = l.haunted(), nil, l.diedSince()
	run := 0
	for i := range l.echoes {
		e := &l.echoes[i]
		if e.lost < e.sent {
			run = 0
		} else if run += e.lost; run >= leastDead {
			l.stays = l.stayed()
			return
		}
	}
}

// diedSince returns when a flow died that lost nothing until then, and everything since; zero where it did not. What it told before says nothing of the time since.
func (l *flowLog) diedSince() (at time.Time) {
	run, n := 0, len(l.echoes)
	for ; n > 0 && l.echoes[n-1].lost == l.echoes[n-1].sent; n-- {
		run += l.echoes[n-1].lost
	}
	if n == 0 || run < leastDead {
		return time.Time{}
	}
	before, at := l.echoes[:n], l.echoes[n].start
	if last := &before[n-1]; last.lost > 0 { // it died meanwhile
		if before, at = before[:n-1], last.start; len(last.lostAt) > 0 {
			at = at.Add(time.Duration(last.lostAt[0]) * time.Millisecond)
		}
	}
	if slices.ContainsFunc(before, func(e echo) bool { return e.lost > 0 }) {
		return time.Time{}
	}
	return at
}

// haunted returns a sighting of each of the ways that a flow was traced on, if they are several and not many. A link that comes and goes takes flows off their ways and gives them back, sooner than they are traced
// anew: some are known by the ways that they took while it was down, and what they lose when it goes down again would be lost there. One that is dead on its own way is traced on no other.
func (l *flowLog) haunted() (haunts []sighting) {
	for i := range l.paths {
		p := &l.paths[i]
		here := func(h sighting) bool { return p.path.equal(h.path) && p.back.equal(h.back) }
		if p.path.known() && p.back.known() && !slices.ContainsFunc(haunts, here) {
			haunts = append(haunts, *p)
		}
	}
	if n := len(haunts); n < 2 || n > mostHaunts {
		return nil
	}
	return haunts
}

// stayed returns by epoch, where a flow lost everything in that and in those before it, the first of these: it is where it was, though paths of others changed. Taken for a flow by itself in each
// epoch, it would tell again and again of all that lies on more of its ways than what is dead on one of them.
func (l *flowLog) stayed() map[string]string {
	alive, stays := map[string]bool{}, map[string]string{}
	for i := range l.echoes {
		if e := &l.echoes[i]; e.lost < e.sent {
			alive[e.epoch] = true
		}
	}
	first := ""
	for i := range l.echoes {
		switch e := &l.echoes[i]; {
		case alive[e.epoch]:
			first = ""
		case first == "":
			first = e.epoch
		case first != e.epoch:
			stays[e.epoch] = first
		}
	}
	return stays
}
