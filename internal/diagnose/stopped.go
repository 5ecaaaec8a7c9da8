package diagnose

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"whichlink/graphs"
	"whichlink/internal/evidence"
	"whichlink/pathfind/localize"
)

// Evidence comes in runs: some flows lose packets, and others are measured later to tell which of several causes it was. If it has stopped meanwhile these find
// nothing, whatever it was, and what is left is what none of them happened to cross. So it is asked how likely it is that they would have found nothing, had
// it not stopped.

const (
	// stopsBefore is the probability that what lost packets in one run does not in the next.
	stopsBefore = 0.1
	// restsFor is how long nothing must have been lost for a fault to be asked whether it has stopped.
	restsFor = 5 * time.Second
	// leftBehind is the part of what was lost from which on the flows that lost it are not measured any more. Where they still are, how much they lose in the
	// mean tells all of this.
	leftBehind = 0.75
	// leastStopped is the probability of having stopped from which it is told.
	leastStopped = 0.15
)

// A stop is since when nothing was lost to a suspect, how much should have been, how likely that was if it is a fault, and how probable it is then that it
// has stopped.
type stop struct {
	since               time.Time
	expected            float64
	likely, probability float64
}

// tell says so.
func (x *stop) tell(out *Suspect) {
	text := "nothing was lost since %s to what may be it, where %.0f losses were to be expected: it may have stopped"
	if x.probability >= Named {
		text = "nothing was lost since %s to what may be it, where %.0f losses were to be expected: it has probably stopped"
		out.Until = &x.since
	}
	text = fmt.Sprintf(text, clock(x.since), x.expected)
	out.Doubts = append(out.Doubts, Evidence{string(evidence.SourceProbe), text})
	out.Against = text + "; " + out.Against
}

// halt asks of the suspects that are likely whether they have stopped. Those that probably have are told as they were before, for what was measured since
// says nothing of them.
func (s *Store) halt(suspects []localize.Suspect, seen *observer, cfg localize.Config) []localize.Suspect {
	s.stops = map[localize.Cause]stop{}
	pasts := map[time.Time]*past{}
	var was []localize.Suspect // those that have stopped, as they were
	var out []localize.Suspect
	for _, sus := range suspects {
		var then localize.Suspect
		var x stop
		if since, ok := s.rests(&sus, seen); ok && sus.Probability >= Named {
			if pasts[since] == nil {
				pasts[since] = s.until(since, cfg)
			}
			then, x = pasts[since].of(&sus)
		}
		switch {
		case x.probability >= Named:
			if s.stops[then.Cause].probability < x.probability {
				// If it is none, it goes without saying that nothing was lost since.
				then.Probability *= x.likely / (then.Probability*x.likely + 1 - then.Probability)
				was = append(slices.DeleteFunc(was, func(y localize.Suspect) bool { return y.Cause == then.Cause }), then)
				s.stops[then.Cause] = x
			}
			continue
		case x.probability >= leastStopped:
			sus.Probability *= 1 - x.probability
			s.stops[sus.Cause] = x
		}
		out = append(out, sus)
	}
	for _, y := range was {
		out = slices.DeleteFunc(out, func(x localize.Suspect) bool { return meets(x.Class, y.Class) })
	}
	out = append(out, was...)
	slices.SortStableFunc(out, func(a, b localize.Suspect) int { return cmp.Compare(b.Probability, a.Probability) })
	return out
}

// A past is what was suspected at a moment, and what was measured since.
type past struct {
	at       time.Time
	suspects []localize.Suspect
	after    *observer
}

// until looks at the evidence until a moment by itself.
func (s *Store) until(at time.Time, cfg localize.Config) *past {
	before, after := s.observeSplit(at)
	return &past{at, localize.Solve(s.fabric, before.list, cfg).Suspects, after}
}

// of returns what a suspect was taken for then, and how likely it is that that has stopped. Where what is taken for it since is something else, it is the
// likeliest of all that may have stopped.
func (p *past) of(sus *localize.Suspect) (then localize.Suspect, x stop) {
	same := false
	for _, y := range p.suspects {
		is := meets(y.Class, sus.Class)
		if y.Probability < Named || same && !is {
			continue
		}
		if z := p.after.stopped(&y, p.at); z.probability > x.probability || is && !same {
			then, x, same = y, z, is
		}
	}
	return then, x
}

func meets(a, b []localize.Cause) bool {
	return slices.ContainsFunc(a, func(c localize.Cause) bool { return slices.Contains(b, c) })
}

// rests returns when packets were last lost that a suspect may have lost, if that is some time ago and the flows that lost them are not measured any more.
func (s *Store) rests(sus *localize.Suspect, seen *observer) (since time.Time, ok bool) {
	flows := map[*flowLog]bool{}
	for i := range seen.list {
		o := &seen.list[i]
		if o.Lost == 0 || o.Responder != graphs.None {
			continue
		}
		if slices.ContainsFunc(sus.Class, func(c localize.Cause) bool { _, maybe := seen.crossing(o, c); return maybe }) {
			flows[seen.flow(o)] = true
		}
	}
	all, behind := 0, 0
	for l := range flows {
		lost, over := 0, true
		for i := range l.echoes {
			e := &l.echoes[i]
			if lost += e.lost; e.lost > 0 && e.end.After(since) {
				since = e.end
			}
			over = over && s.to.Sub(e.end) >= restsFor
		}
		if all += lost; over {
			behind += lost
		}
	}
	return since, behind > 0 && s.to.Sub(since) >= restsFor && float64(behind) >= leftBehind*float64(all)
}

// observeSplit sums up what was measured before a moment, and what since.
func (s *Store) observeSplit(at time.Time) (before, after *observer) {
	before, after = s.observer(), s.observer()
	before.many, after.many = true, true
	for i, l := range s.order {
		for j := range l.echoes {
			if e := &l.echoes[j]; e.start.Before(at) {
				before.echo(i, l, e, false)
			} else {
				after.echo(i, l, e, false)
			}
		}
		for j := range l.captured {
			if c := &l.captured[j]; c.at.Before(at) {
				before.captured(i, l, c)
			} else {
				after.captured(i, l, c)
			}
		}
	}
	return before, after
}

// stopped returns how likely it is that a suspect has stopped, given what was measured since: it lost nothing to any of its class.
func (o *observer) stopped(sus *localize.Suspect, since time.Time) stop {
	x := stop{since: since}
	weights, unseen := 0.0, 0.0
	for i, c := range sus.Class {
		w := 1.0
		if len(sus.Weights) == len(sus.Class) {
			w = sus.Weights[i]
		}
		lost := 0.0 // that should have been
		for j := range o.list {
			if obs := &o.list[j]; obs.Responder == graphs.None {
				lost += o.share(obs, c) * float64(obs.Sent) * sus.Loss
			}
		}
		weights += w
		unseen += w * math.Exp(-lost)
		x.expected += w * lost
	}
	x.expected /= weights
	x.likely = stopsBefore + (1-stopsBefore)*unseen/weights
	x.probability = stopsBefore / x.likely
	return x
}

// share returns the share of the packets of an observation that cross a cause.
func (o *observer) share(obs *localize.Observation, c localize.Cause) float64 {
	switch surely, maybe := o.crossing(obs, c); {
	case surely:
		return 1
	case !maybe:
		return 0
	}
	share := o.spreadOver(obs, c)
	for i := range obs.Alternatives {
		if a := &obs.Alternatives[i]; o.s.on(a.Arcs, c) {
			share += a.Share
		}
	}
	return min(share, 1)
}
