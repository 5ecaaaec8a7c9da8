package diagnose

import (
	"math"
	"slices"
	"time"

	"whichlink/pathfind/localize"
	"whichlink/pathfind/rhythm"
)

const (
	// onsetBin is the resolution at which it is looked for when losses begin and end, and onsetBins how many bins there are at most.
	onsetBin  = 100 * time.Millisecond
	onsetBins = 10000
	// onsetFlows, onsetLosses and onsetTime are how many flows must lose packets in that time, how many, and for how long, and onsetRise how many times
	// more must be lost than at other times, for what was measured then to be left out.
	onsetFlows, onsetLosses = 8, 50
	onsetTime               = 3 * time.Second
	onsetRise               = 10
	// shortly is how far apart in time flows may begin to lose packets that do so at once: records are of windows of half of that.
	shortly = time.Second
)

// failing looks for a time in which all flows together lose far more than at any other: something has failed, or had. Packets that crossed it at other times
// are no evidence that it is good, and where it is dead there are no others while it is: the way back, which only an answer to a probe takes, is without loss before, and not used at all
// since. It tells how that time lies in all of the evidence.
func (s *Store) failing() (bad stretch, kind rhythm.Kind) {
	counts, bin := s.lostInTime()
	r := rhythm.Find(counts, milliseconds(quiet))
	if r.Kind == rhythm.Steady || r.Kind == rhythm.Flapping {
		return bad, rhythm.Steady
	}
	x := r.Episodes[len(r.Episodes)-1]
	if r.Kind == rhythm.Once && milliseconds(s.flowing.to.Sub(s.flowing.from))-x.To < milliseconds(quiet) {
		r.Kind = rhythm.Since
	}
	if bad = (stretch{s.flowing.from.Add(duration(x.From)), s.flowing.from.Add(duration(x.To))}); r.Kind == rhythm.Since {
		bad.from = bad.from.Add(bin) // a few packets of before would make something that is dead lose not quite all
	} else {
		bad = s.lossesIn(stretch{bad.from.Add(-bin), bad.to.Add(bin)}) // and a few of it beside that time would convict others
	}
	others := 0
	for i := range counts {
		if counts[i].To <= x.From || counts[i].From >= x.To {
			others += counts[i].Sent
		}
	}
	lossy, left := 0, 0
	for _, l := range s.order {
		if slices.ContainsFunc(l.echoes, func(e echo) bool { return e.lost > 0 && e.lostBetween(bad.from, bad.to) }) {
			lossy++
			if l.echoes[len(l.echoes)-1].start.Before(bad.to) {
				left++
			}
		}
	}
	if r.Kind != rhythm.Since && left > lossy/4 { // what is not measured any more may go on
		return bad, rhythm.Steady
	}
	if lossy < onsetFlows || x.Lost < onsetLosses || bad.to.Sub(bad.from) < onsetTime || r.Loss*float64(others) <= onsetRise*r.Stray {
		return bad, rhythm.Steady
	}
	return bad, r.Kind
}

// beganTogether solves anew what was lost since a moment, or where flows died at one, without that many flows may lose packets by themselves: these would not begin at the same moment. It returns
// nil where that many do is likelier all the same. Where something sure was found with them, they count for nothing only if it is as good without them.
func (s *Store) beganTogether(seen *observer, solved *localize.Result, cfg localize.Config) *localize.Result {
	// chance is how much less likely it is that one begins to lose packets just when all others do, in nats.
	const surely, chance = 0.95, 2
	least := solved.Score - 1
	switch {
	case seen.since.IsZero():
		died := s.diedAtOnce()
		if !solved.Own.Known() || died < onsetFlows {
			return nil
		}
		least -= chance * float64(died)
	case len(solved.Suspects) == 0 || solved.Suspects[0].Probability < surely:
		for _, l := range s.order {
			if l.beganAt(seen.since) {
				least -= chance
			}
		}
	}
	cfg.Together = true
	if anew := s.localize(seen, cfg); anew.Score > least {
		return anew
	}
	return nil
}

// solveBegun localizes what was seen, and reports whether that is without that many flows may lose packets by themselves: see beganTogether.
func (s *Store) solveBegun(seen *observer, cfg localize.Config) (solved *localize.Result, together bool) {
	if seen == s.calm.seen && s.calm.solved != nil && len(cfg.Meters) == 0 && len(cfg.Hints) == 0 {
		return s.calm.solved, s.calm.together
	}
	solved = s.localize(seen, cfg)
	if anew := s.beganTogether(seen, solved, cfg); anew != nil {
		return anew, true
	}
	return solved, false
}

// diedAtOnce returns how many of the flows that died did so at the same moment.
func (s *Store) diedAtOnce() (most int) {
	var gone []time.Time
	for _, l := range s.order {
		if !l.gone.IsZero() {
			gone = append(gone, l.gone)
		}
	}
	slices.SortFunc(gone, time.Time.Compare)
	first := 0
	for i := range gone {
		for gone[i].Sub(gone[first]) > shortly {
			first++
		}
		most = max(most, i+1-first)
	}
	return most
}

// beganAt reports whether a flow lost nothing until shortly before a moment, and packets since.
func (l *flowLog) beganAt(at time.Time) bool {
	until, before, since := at.Add(-shortly), 0, 0
	for i := range l.echoes {
		e := &l.echoes[i]
		switch {
		case e.start.After(at):
			since += e.lost
		case e.end.After(until):
		case e.lost > 0:
			return false
		default:
			before += e.sent
		}
	}
	return before > 0 && since > 0
}

// lossesIn returns the time from the first loss in a stretch of time to the last.
func (s *Store) lossesIn(st stretch) stretch {
	var x spell
	for _, l := range s.order {
		for i := range l.echoes {
			e := &l.echoes[i]
			for _, ms := range e.lossTimes() {
				if at := e.start.Add(time.Duration(ms) * time.Millisecond); during([]stretch{st}, at) {
					x.add(at)
				}
			}
		}
	}
	if x.n == 0 {
		return st
	}
	return stretch{x.from, x.to.Add(time.Millisecond)}
}

// lostInTime counts what all flows together sent and lost in bins of time, and in spans of bins where nobody knows when in them.
func (s *Store) lostInTime() (counts []rhythm.Count, bin time.Duration) {
	bin = max(onsetBin, s.flowing.to.Sub(s.flowing.from)/onsetBins)
	counts = make([]rhythm.Count, int(s.flowing.to.Sub(s.flowing.from)/bin)+1)
	for i := range counts {
		counts[i].From, counts[i].To = milliseconds(bin*time.Duration(i)), milliseconds(bin*time.Duration(i+1))
	}
	bins := len(counts)
	at := func(t time.Time) int { return min(max(int(t.Sub(s.flowing.from)/bin), 0), bins-1) }
	spans := map[[2]int]int{} // indexes
	for _, l := range s.order {
		for j := range l.echoes {
			e := &l.echoes[j]
			first, last := at(e.start), at(e.end.Add(-1))
			n := max(1, last-first+1)
			if e.lost > 0 && len(e.lostAt) == 0 {
				span := [2]int{first, first + n - 1}
				k, ok := spans[span]
				if !ok {
					k, spans[span] = len(counts), len(counts)
					counts = append(counts, rhythm.Count{From: counts[span[0]].From, To: counts[span[1]].To})
				}
				counts[k].Sent, counts[k].Lost = counts[k].Sent+e.sent, counts[k].Lost+e.lost
				continue
			}
			for i := range n {
				counts[first+i].Sent += e.sent*(i+1)/n - e.sent*i/n
			}
			for _, ms := range e.lossTimes() {
				counts[at(e.start.Add(time.Duration(ms)*time.Millisecond))].Lost++
			}
		}
	}
	for i := range counts {
		counts[i].Sent = max(counts[i].Sent, counts[i].Lost)
	}
	return counts, bin
}

// after returns the part of an echo that was sent from a moment on at which losses began: where nobody knows when packets were lost, they were after it.
func (e *echo) after(since time.Time) echo {
	switch {
	case !e.start.Before(since):
		return *e
	case !e.end.After(since):
		return echo{}
	}
	share := e.end.Sub(since).Seconds() / e.end.Sub(e.start).Seconds()
	if e.lost > 0 && len(e.lostAt) == 0 {
		part := *e
		part.sent = max(e.lost, int(math.Round(share*float64(e.sent))))
		return part
	}
	part := e.within([]stretch{{since, e.end.Add(1)}}, true)
	part.sent = min(part.sent, part.lost+int(share*float64(e.sent-e.lost))) // where all were lost, none of them was answered
	return part
}
