package diagnose

import (
	"math"
	"slices"
	"time"

	"whichlink/pathfind/localize"
)

// observeStorms sums up what was measured in storms, which are in the order of time, of what may not have crossed some arcs, or links while they were down; with traced, of flows
// of which both ways are known.
func (s *Store) observeStorms(storms []stretch, without deadArcs, known downs, traced bool) *observer {
	o := s.observer()
	o.storms = len(storms)
	for i, l := range s.order {
		var parts []inStorms
		for j := range l.echoes {
			e := &l.echoes[j]
			first, end := e.among(storms)
			if first == end {
				continue
			}
			left := known.leave(storms[first:end], l, e)
			x := inStorms{echo: e.within(left, true)}
			path, back := l.at(&x.echo, true)
			if l.onDead(without, &x.echo, path, back) || traced && !(path.known() && back.known()) {
				continue
			}
			if e.lost == 0 && !e.torn {
				_, x.more = e.sentIn(left)
			}
			parts = append(parts, x)
		}
		o.inStorms(i, l, parts)
	}
	return o
}

// inStorms is the part of an echo that lies in storms, and how many probes more may have been sent in them, to be expected, where all came back.
type inStorms struct {
	echo echo
	more float64
}

// inStorms adds what a flow has in storms. Of what was lost it is known when, of what came back only in which window it was sent: where a flow lost some, the others are taken to be sent outside,
// and where it lost none, as many inside as are to be expected. Of a flow that surely sent nothing in storms it is left open whether it did.
func (o *observer) inStorms(i int, l *flowLog, parts []inStorms) {
	sent, lost, none := 0, 0, 1.0
	var open *echo
	for k := range parts {
		x := &parts[k]
		sent, lost = sent+x.echo.sent, lost+x.echo.lost
		if x.more > 0 {
			open = &x.echo
			none *= 1 - min(1, x.more)
		}
	}
	if sent == 0 {
		if open != nil {
			o.perhaps(i, l, open, 1-none)
		}
		return
	}
	carry := 0.5
	for k := range parts {
		x := &parts[k]
		if lost == 0 {
			whole, left := math.Modf(carry + x.more)
			x.echo.sent, carry = x.echo.sent+int(whole), left
		}
		o.echo(i, l, &x.echo, true)
	}
}

// perhaps adds that a flow lost nothing, where it is only likely that it sent anything.
func (o *observer) perhaps(i int, l *flowLog, e *echo, likely float64) {
	path, back := l.at(e, true)
	ways := o.join(l, path, back)
	if len(ways) == 0 {
		return
	}
	set := make([]localize.Alternative, 0, len(ways)+1)
	for _, w := range ways {
		set = append(set, localize.Alternative{Arcs: w.Arcs, Share: w.Share * likely})
	}
	o.addSet(count{flow: i, epoch: e.epoch, src: l.src, dst: l.dst, sent: 1}, append(set, localize.Alternative{Share: 1 - likely}))
}

// within returns the part of an echo that lies in stretches, which are in the order of time, or with inside false the part that does not.
func (e *echo) within(stretches []stretch, inside bool) echo {
	if e.lost > 0 && len(e.lostAt) == 0 { // nobody knows when: it is taken for calm
		if inside {
			return echo{}
		}
		return *e
	}
	var lostAt []int
	stretches = e.meeting(stretches)
	sent, _ := e.sentIn(stretches)
	in := func(ms int) bool {
		at := e.start.Add(time.Duration(ms) * time.Millisecond)
		return slices.ContainsFunc(stretches, func(st stretch) bool { return !at.Before(st.from) && at.Before(st.to) })
	}
	for _, ms := range e.lossTimes() {
		if in(ms) == inside {
			lostAt = append(lostAt, ms)
		}
	}
	if !inside {
		sent = e.sent - sent
	}
	part := *e
	part.lostAt = lostAt
	part.lost = len(lostAt)
	part.sent = min(max(part.lost, sent), part.lost+e.sent-e.lost) // no more are answered in a part than in all
	if e.split && e.lost > 0 {
		part.lostForward = int(math.Round(float64(part.lost) * float64(e.lostForward) / float64(e.lost)))
		part.lostBack = min(part.lost-part.lostForward, int(math.Round(float64(part.lost)*float64(e.lostBack)/float64(e.lost))))
		// Those of one way may all be in the part, and those of the other outside of it.
		part.split = part.lost == e.lost || e.lostForward == 0 || e.lostBack == 0 || !e.path.certain() || !e.back.certain()
	}
	return part
}

// meeting returns those of stretches, which are in the order of time, that an echo meets, be it in one moment.
func (e *echo) meeting(stretches []stretch) []stretch {
	first := stormAt(stretches, e.start)
	end := first
	for end < len(stretches) && !stretches[end].from.After(e.end) {
		end++
	}
	return stretches[first:end]
}

// sentIn returns how many of an echo's probes were surely sent in stretches, if they were sent evenly, and how many more may have been, to be expected.
func (e *echo) sentIn(stretches []stretch) (surely int, more float64) {
	const rounding = 1e-6
	for _, st := range stretches {
		from, to := e.sentUntil(st.from), e.sentUntil(st.to)
		whole := max(0, int(math.Floor(to+rounding)-math.Ceil(from-rounding)))
		surely, more = surely+whole, more+max(0, to-from-float64(whole))
	}
	return surely, more
}

// sentBefore returns how many of an echo's probes were sent before a moment, if they were sent evenly.
func (e *echo) sentBefore(at time.Time) int { return int(math.Ceil(e.sentUntil(at))) }

// sentUntil is how much of what an echo sent was sent until a moment, in probes, if they were sent evenly.
func (e *echo) sentUntil(at time.Time) float64 {
	share := at.Sub(e.start).Seconds() / max(1e-3, e.end.Sub(e.start).Seconds())
	return min(max(share, 0), 1) * float64(e.sent)
}
