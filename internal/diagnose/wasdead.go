package diagnose

import (
	"slices"
	"time"
)

const (
	// leastDead is how many packets on end a flow has lost that was dead: what loses a part of them hardly does that.
	leastDead = 20
	// goneShare is the share that it loses at least, and awayShare that of one which is taken off its way for moments: of that it loses wholeShare in windows of which nothing arrived, and others do not.
	goneShare, awayShare, wholeShare = 0.9, 0.75, 0.6
	// aliveShare is the share that one lost at the most before.
	aliveShare = 0.2
	// mostHaunts is on how many ways a flow may be traced for these to tell where it may be when it is not traced.
	mostHaunts = 4
	// rerouting is for how long after a storm flows may still be where what went down moved them.
	rerouting = 500 * time.Millisecond
)

// noteDead notes on which ways a flow was traced, if they are several, and of one that was dead for a while in which epochs it stayed where it was.
func (l *flowLog) noteDead() {
	l.haunts, l.stays, l.gone, l.came = l.haunted(), nil, l.goneSince(), l.deadUntil()
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

// goneSince returns since when a flow lost nearly everything, to the last that is known of it; zero where it did not, or did so from the first on. What comes and goes elsewhere may take it off a dead
// way for moments.
func (l *flowLog) goneSince() (at time.Time) {
	var since fate
	whole := 0
	for n := len(l.echoes) - 1; n >= 0; n-- {
		e := &l.echoes[n]
		if since.add(fate{sent: e.sent, lost: e.lost}); e.lost < e.sent {
			continue
		}
		whole += e.lost
		share := float64(since.lost) / float64(max(1, since.sent))
		if since.lost >= leastDead && (share >= goneShare || share >= awayShare && float64(whole) >= wholeShare*float64(since.lost)) {
			if n == 0 {
				return time.Time{}
			}
			at = l.echoes[n-1].deadFrom()
		}
	}
	return at
}

// deadFrom returns from when on an echo lost nearly everything, which is its end where it did not.
func (e *echo) deadFrom() time.Time {
	for i, ms := range e.lostAt {
		at := e.start.Add(time.Duration(ms) * time.Millisecond)
		if float64(e.lost-i) >= goneShare*(float64(e.sent)-e.sentUntil(at)) {
			return at
		}
	}
	return e.end
}

// deadUntil returns until when a flow lost everything from the first on; zero where it did not, or always does.
func (l *flowLog) deadUntil() (at time.Time) {
	run, n := 0, 0
	for ; n < len(l.echoes) && l.echoes[n].lost == l.echoes[n].sent; n++ {
		run += l.echoes[n].lost
	}
	if n == 0 || n == len(l.echoes) || run < leastDead {
		return at
	}
	return l.echoes[n-1].end
}

// longDead reports whether a flow was dead at a moment for long: from the first on, or to the last.
func (l *flowLog) longDead(at time.Time) bool {
	return !l.gone.IsZero() && !at.Before(l.gone) || at.Before(l.came)
}

// wasDead reports whether a flow was dead for long.
func (l *flowLog) wasDead() bool { return !l.gone.IsZero() || !l.came.IsZero() || l.deadAlways() }

// diedSince returns when a flow died that lost little until then but in storms, and everything since; zero where it did not. What it told before says nothing of the time since.
func (l *flowLog) diedSince(storms []stretch) (at time.Time) {
	if l.gone.IsZero() {
		return at
	}
	at = l.gone
	var before fate
	for i := range l.echoes {
		e := &l.echoes[i]
		if !e.start.Before(l.gone) {
			break
		}
		calm := e.within(storms, false)
		if i+1 < len(l.echoes) && l.echoes[i+1].start.Before(l.gone) || calm.lost == 0 {
			before.add(fate{sent: calm.sent, lost: calm.lost})
			continue
		}
		if at = e.start; len(calm.lostAt) > 0 { // it died meanwhile
			at = at.Add(time.Duration(calm.lostAt[0]) * time.Millisecond)
		}
	}
	if float64(before.lost) > aliveShare*float64(before.sent) {
		return time.Time{}
	}
	return at
}

// offItsWay reports whether packets of a flow that is dead were answered about the time of a storm: what went down in that took it elsewhere for a moment, and what it told there says nothing of its way.
func (l *flowLog) offItsWay(e *echo, storms []stretch) bool {
	if e.lost == e.sent || !l.longDead(e.start) {
		return false
	}
	b := stormAt(storms, e.start.Add(-rerouting))
	return b < len(storms) && storms[b].from.Before(e.end)
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
