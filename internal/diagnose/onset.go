package diagnose

import (
	"slices"
	"time"

	"whichlink/pathfind/rhythm"
)

const (
	// onsetBin is the resolution at which it is looked for when losses begin, and onsetBins how many bins there are at most.
	onsetBin  = 100 * time.Millisecond
	onsetBins = 10000
	// onsetFlows, onsetLosses and onsetTime are how many flows must lose packets since then, how many, and for how long, and onsetRise how many times
	// more must be lost than before, for what was measured before to be left out.
	onsetFlows, onsetLosses = 8, 50
	onsetTime               = 3 * time.Second
	onsetRise               = 10
)

// onset looks for a moment from which on all flows together lose far more than before, to the end of the evidence: something has failed. Packets that crossed
// it before are no evidence that it is good, and where it is dead there are no others: the way back, which only an answer to a probe takes, is without loss
// before, and not used at all since.
func (s *Store) onset() (since time.Time, ok bool) {
	counts, bin := s.lostInTime()
	r := rhythm.Find(counts, milliseconds(quiet))
	if r.Kind != rhythm.Since {
		return time.Time{}, false
	}
	last := r.Episodes[len(r.Episodes)-1]
	since = s.from.Add(duration(last.From) + bin) // a few packets of before would make something that is dead lose not quite all
	before := 0
	for i := range counts {
		if counts[i].To <= last.From {
			before += counts[i].Sent
		}
	}
	lossy := 0
	for _, l := range s.order {
		if slices.ContainsFunc(l.echoes, func(e echo) bool { return e.lost > 0 && e.lostBetween(since, s.to) }) {
			lossy++
		}
	}
	return since, lossy >= onsetFlows && last.Lost >= onsetLosses && s.to.Sub(since) >= onsetTime && r.Loss*float64(before) > onsetRise*r.Stray
}

// lostInTime counts what all flows together sent and lost in bins of time.
func (s *Store) lostInTime() (counts []rhythm.Count, bin time.Duration) {
	bin = max(onsetBin, s.to.Sub(s.from)/onsetBins)
	counts = make([]rhythm.Count, int(s.to.Sub(s.from)/bin)+1)
	for i := range counts {
		counts[i].From, counts[i].To = milliseconds(bin*time.Duration(i)), milliseconds(bin*time.Duration(i+1))
	}
	at := func(t time.Time) int { return min(max(int(t.Sub(s.from)/bin), 0), len(counts)-1) }
	for _, l := range s.order {
		for j := range l.echoes {
			e := &l.echoes[j]
			first, last := at(e.start), at(e.end.Add(-1))
			n := max(1, last-first+1)
			for i := range n {
				counts[first+i].Sent += e.sent*(i+1)/n - e.sent*i/n
			}
			if e.lost > 0 && len(e.lostAt) == 0 {
				counts[last].Lost += e.lost
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

// after returns the part of an echo that was sent from a moment on.
func (e *echo) after(since time.Time) echo {
	switch {
	case !e.start.Before(since) || e.end.After(since) && e.lost > 0 && len(e.lostAt) == 0:
		return *e
	case !e.end.After(since):
		return echo{}
	}
	part := e.within([]stretch{{since, e.end.Add(1)}}, true)
	// Where all were lost, none of them was answered.
	share := e.end.Sub(since).Seconds() / e.end.Sub(e.start).Seconds()
	part.sent = part.lost + int(share*float64(e.sent-e.lost))
	return part
}
