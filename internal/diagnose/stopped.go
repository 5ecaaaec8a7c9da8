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
	// leastStopped is the probability of having stopped from which it is told that it may have, and surelyStopped that from which it is told to have: who takes a
	// fault that lives for one that is over does not look for it any more.
	leastStopped, surelyStopped = 0.15, 0.95
)

// A stop is since when next to nothing was lost to a suspect, how much was and should have been, how much likelier that is if it is a fault than if it is none, and
// how probable it is then that it has stopped.
type stop struct {
	since               time.Time
	lost                int
	expected            float64
	likely, probability float64
}

// tell says so.
func (x *stop) tell(out *Suspect) {
	lost := "nothing was"
	if x.lost > 0 {
		lost = fmt.Sprintf("no more than %d were", x.lost)
	}
	text := fmt.Sprintf("%s lost since %s to what may be it, where %.0f losses were to be expected: it ", lost, out.dial.clock(x.since), x.expected)
	switch {
	case x.probability >= surelyStopped:
		text += "has probably stopped"
		out.Until = &x.since
	case x.probability >= Named:
		text += "may have stopped, which is not yet told from chance"
		out.perhaps = x.since
	default:
		text += "may have stopped"
	}
	out.Doubts = append(out.Doubts, Evidence{string(evidence.SourceProbe), text})
	out.Against = text + "; " + out.Against
}

// halt asks of the suspects that are likely whether they have stopped. Those that have rather than not are told as they were before, for what was measured since
// says nothing of them if they did.
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
				then = then.Believed(then.Probability * x.likely / (then.Probability*x.likely + (1 - then.Probability)))
				was = append(slices.DeleteFunc(was, func(y localize.Suspect) bool { return y.Cause == then.Cause }), then)
				s.stops[then.Cause] = x
			}
			continue
		case x.probability >= leastStopped:
			sus = sus.Believed(sus.Probability * (1 - x.probability))
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
	return &past{at, s.localize(before, cfg).Suspects, after}
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
			over = over && s.flowing.to.Sub(e.end) >= restsFor
		}
		if all += lost; over {
			behind += lost
		}
	}
	return since, behind > 0 && s.flowing.to.Sub(since) >= restsFor && float64(behind) >= leftBehind*float64(all)
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

// stopped returns how likely it is that a suspect has stopped, given what was measured since. How likely that is if it goes on is told by how much more than if
// nothing but chance loses packets any more.
func (o *observer) stopped(sus *localize.Suspect, since time.Time) stop {
	x := stop{since: since}
	weights, lives := 0.0, 0.0
	lossy := map[int]bool{} // observations since
	for i, c := range sus.Class {
		w := 1.0
		if len(sus.Weights) == len(sus.Class) {
			w = sus.Weights[i]
		}
		var crossed []portion
		for j := range o.list {
			obs := &o.list[j]
			if obs.Responder != graphs.None {
				continue
			}
			if share := o.share(obs, c); share > 0 {
				crossed = append(crossed, portion{share, float64(obs.Sent), float64(obs.Lost)})
				x.expected += w * share * float64(obs.Sent) * sus.Loss
				if obs.Lost > 0 && !lossy[j] {
					lossy[j] = true
					x.lost += obs.Lost
				}
			}
		}
		weights += w
		lives += w * goesOn(sus, crossed)
	}
	x.expected /= weights
	x.likely = stopsBefore + (1-stopsBefore)*lives/weights
	x.probability = stopsBefore / x.likely
	return x
}

// A portion is packets of one flow, all of which cross a cause with a probability, or none.
type portion struct{ share, sent, lost float64 }

// told is the logarithm of how much likelier it is that they fare as they do where the cause loses some share of what crosses it than where it is good.
func (x portion) told(loss float64) float64 {
	nats := convicts(x.sent, x.lost, loss)
	if nats > 0 {
		return nats + math.Log(x.share+(1-x.share)*math.Exp(-nats))
	}
	return math.Log(1 - x.share + x.share*math.Exp(nats))
}

// convicts is the logarithm of how much likelier so many of some packets are lost on a cause that loses a share than on one that is good.
func convicts(sent, lost, loss float64) float64 {
	const normal = localize.NormalLoss
	return lost*math.Log(loss/normal) + (sent-lost)*math.Log((1-loss)/(1-normal))
}

// goesOn returns how much likelier it is that packets which may cross a suspect fare as they do if it goes on than if it is good. Where few losses tell its loss, that
// may be a small part of what it seems, so the mean is over all that it may be: log-normal, as wide as its interval of 90 %.
func goesOn(sus *localize.Suspect, crossed []portion) float64 {
	const wide, most, step = 2 * 1.645, 3, 0.5 // standard deviations
	spread := 1.0
	if s := math.Log(sus.High/sus.Low) / wide; s > 0 && !math.IsInf(s, 1) {
		spread = min(s, 2)
	}
	sum, all := 0.0, 0.0
	for z := -float64(most); z <= most; z += step {
		weight, nats := math.Exp(-z*z/2), 0.0
		for _, x := range crossed {
			nats += x.told(min(sus.Loss*math.Exp(spread*z), 1-localize.NormalLoss))
		}
		sum, all = sum+weight*math.Exp(nats), all+weight
	}
	return sum / all
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
