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
	"whichlink/pathfind/heat"
)

const (
	// wasFull is how full an arc was by every reading of a time in which it was hot, leastHot how long that was at least, and leastOne by a single reading: agents show figures that are
	// seconds old, so that it may be of more time than it says.
	wasFull            = 0.7
	leastHot, leastOne = 20 * time.Second, time.Minute
	// cooled is the part of what it carried then that an arc carries at most now if that is over.
	cooled = 0.6
	// mostHeats is how many times at which arcs were hot are looked into.
	mostHeats = 3
)

// A pastHeat is an arc that was hot, and is no more.
type pastHeat struct {
	hot    heat.Hot
	result *heat.Result
	times  []stretch
	now    float64 // bit/s
}

// A fullness is a time in which an arc was full.
type fullness struct {
	arc graphs.ArcID
	stretch
	load float64
}

// wasHot finds arcs that were hot for a while and are not any more, by what they carry now. The fullest are looked into, with all that was hot at the same time.
func (s *Store) wasHot(now []float64) (past []pastHeat) {
	list := s.wereFull(now)
	slices.SortStableFunc(list, func(a, b fullness) int { return -cmp.Compare(a.load, b.load) })
	var done []stretch
	told := map[graphs.ArcID]bool{}
	for _, x := range list {
		if len(done) == mostHeats {
			break
		}
		if told[x.arc] || slices.ContainsFunc(done, x.overlaps) {
			continue
		}
		done = append(done, x.stretch)
		then := s.heatIn(x.stretch)
		for _, h := range then.Hot {
			times := timesOf(list, h.Arc)
			if len(past) == mostHot || told[h.Arc] || h.Verdict == heat.EverythingHigh || h.Probability < Named || !slices.ContainsFunc(times, x.overlaps) {
				continue
			}
			told[h.Arc] = true
			past = append(past, pastHeat{h, then, times, now[h.Arc]})
		}
	}
	return past
}

// timesOf are the times in which an arc was full, in their order.
func timesOf(list []fullness, a graphs.ArcID) (times []stretch) {
	for _, x := range list {
		if x.arc == a {
			times = append(times, x.stretch)
		}
	}
	slices.SortFunc(times, func(a, b stretch) int { return a.from.Compare(b.from) })
	return times
}

// wereFull finds when arcs from switches were full by what the ports that send over them counted, of those that carry much less now. That has to be so with one reading more on either
// side, too: figures that an agent shows late are too few in one and too many in the next.
func (s *Store) wereFull(now []float64) (list []fullness) {
	for _, p := range s.portsSaid() {
		a, node := s.fabric.ArcFrom(p), s.fabric.Port(p).Node
		if s.fabric.Node(node).IsHost() || math.IsNaN(now[a]) {
			continue
		}
		readings := s.portLog(p).readings
		for from := 0; from < len(readings); from++ {
			to := from
			for to < len(readings) && s.isFull(a, &readings[to]) {
				to++
			}
			if to == from {
				continue
			}
			load, long := meanOut(readings[from:to])
			wide, _ := meanOut(readings[max(0, from-1):min(to+1, len(readings))])
			if (long >= leastOne || long >= leastHot && to-from > 1) && now[a] <= cooled*wide {
				list = append(list, fullness{a, stretch{readings[from].at.Add(-readings[from].interval), readings[to-1].at}, load})
			}
			from = to
		}
	}
	return list
}

// isFull reports whether an arc was full by a reading of the port that sends over it.
func (s *Store) isFull(a graphs.ArcID, r *portReading) bool {
	if r.Reset || r.interval <= 0 {
		return false
	}
	x := pointOf(r)
	use := x.Out.Rate / cmp.Or(x.Speed, float64(s.fabric.Link(a.Link()).Speed))
	return x.Out.Known && use >= wasFull && use <= 1.1
}

// meanOut is what a port sent by some readings, in bit/s, and for how long that was counted.
func meanOut(readings []portReading) (rate float64, long time.Duration) {
	bits := 0.0
	for i := range readings {
		if r := &readings[i]; !r.Reset && r.interval > 0 && r.Out != nil {
			bits += 8 * value(r.Out.Octets)
			long += r.interval
		}
	}
	return bits / long.Seconds(), long
}

// heatIn says which arcs were hot in some time, and why.
func (s *Store) heatIn(when stretch) *heat.Result {
	in := func(r portReading) bool { return during([]stretch{when}, r.at.Add(-r.interval/2)) }
	load, speed, _, _ := s.loadsBy(leastLoad, when.to.Sub(when.from), func(list []portReading) []portReading {
		from := slices.IndexFunc(list, in)
		if from < 0 {
			return nil
		}
		to := from
		for to < len(list) && in(list[to]) {
			to++
		}
		return list[from:to]
	})
	return s.explainHeat(load, speed, func(l graphs.LinkID) bool {
		ends := s.fabric.Link(l).Ends
		return slices.ContainsFunc(ends[:], func(p graphs.PortID) bool {
			return slices.ContainsFunc(s.portLog(p).readings, func(r portReading) bool { return in(r) && evidence.UpOrDown(r.Oper) == evidence.Down })
		})
	})
}

// addPastHeat adds what was hot and is no more, with its times.
func (s *Store) addPastHeat(d *Diagnosis) {
	for i := range s.heated.past {
		x := &s.heated.past[i]
		hot := s.hotSuspect(&x.hot, x.result)
		if i := slices.IndexFunc(d.Suspects, func(y Suspect) bool { return y.ID == hot.ID && y.Symptom == Hot }); i >= 0 {
			if d.Suspects[i].Probability >= Named {
				continue
			}
			d.Suspects = slices.Delete(d.Suspects, i, i+1) // what it is now is the least of it
		}
		s.tellCooled(&hot, x)
		dropped := s.droppedIn(s.fabric.TailPort(x.hot.Arc), x.times)
		if hot.Kind == "arc" {
			s.absorb(d, &hot, dropped)
		}
		hot.doubtPeaks(dropped, s.onTime(x.hot.Arc))
		d.Suspects = append(d.Suspects, hot)
	}
}

// tellCooled says when a suspect was hot that is so no more.
func (s *Store) tellCooled(out *Suspect, x *pastHeat) {
	out.dial = s.dial()
	for _, t := range x.times {
		out.Episodes = append(out.Episodes, Episode{s.from, t.from.Sub(s.from), t.to.Sub(s.from)})
	}
	until := x.times[len(x.times)-1].to.UTC()
	out.Until = &until
	out.when = out.between()
	out.For = strings.NewReplacer("it is ", "it was ", "matrix puts", "matrix put", "fullest arc is", "fullest arc was").Replace(out.For) + "; it was so" + out.when
	out.Evidence[0].Text = out.For
	out.Against = fmt.Sprintf("it is %.0f %% full now; ", 100*x.now/x.hot.Speed) + out.Against
	out.Next = append([]Step{{Why: "it is over: see whether it comes back", Do: "watch the output rate of " + s.fabric.PortName(s.fabric.TailPort(x.hot.Arc))}}, out.Next...)
}

// droppedIn is what a port counted on its way out in some times; nil if nothing.
func (s *Store) droppedIn(p graphs.PortID, times []stretch) *tally {
	to := map[graphs.PortID]*tally{}
	for _, r := range s.portLog(p).readings {
		if !r.Reset && during(times, r.at.Add(-r.interval/2)) {
			add(to, p, r.Out, &r)
		}
	}
	return to[p]
}
