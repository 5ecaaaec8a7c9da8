package diagnose

import (
	"fmt"
	"slices"
	"time"

	"whichlink/graphs"
	"whichlink/internal/evidence"
	"whichlink/pathfind/localize"
)

// earlySuspects are arcs that corrupt packets, though too few for probes to miss any; what counts something else is cleared.
func (s *Store) earlySuspects(d *Diagnosis, solved *localize.Result, seen *observer, ports *portWords) {
	named := map[graphs.LinkID]bool{}
	for i := range solved.Suspects {
		if x := &solved.Suspects[i]; x.Probability >= Named && x.Kind != localize.Host {
			for _, l := range linksOf(s.fabric, x.Cause) {
				named[l] = true
			}
		}
	}
	var alone *localize.Result // by what ports say, when that was asked for
	for i := range solved.Early {
		e := &solved.Early[i]
		link := s.fabric.LinkName(e.Arc.Link())
		on := func(x Suspect) bool { return x.Link == link && (x.Symptom == Loss || x.Symptom == Corruption) }
		at := slices.IndexFunc(d.Suspects, on)
		switch {
		case e.Noise+e.Once+e.Forwarded >= Named && at < 0:
			when := s.errorsOf(e.Arc)
			later := when.during == 0 && when.after > when.before && !named[e.Arc.Link()]
			if later && alone == nil {
				alone = localize.Solve(s.fabric, nil, localize.Config{Meters: ports.meters})
			}
			if later && s.earlyLater(d, e.Arc, alone, seen, ports) {
				continue
			}
			d.Cleared = append(d.Cleared, s.noisy(e, seen, when, ports.counted))
			continue
		case e.Probability < leastListed, named[e.Arc.Link()], at >= 0 && d.Suspects[at].Probability >= e.Probability,
			slices.ContainsFunc(d.Suspects, func(x Suspect) bool { return x.Probability >= Named && x.Link == link }):
			continue
		case at >= 0:
			d.Suspects = slices.Delete(d.Suspects, at, at+1) // the same trouble, told of only a part of it
		}
		d.Suspects = append(d.Suspects, s.earlySuspect(e, seen, ports))
	}
}

// A timing is how many errors the ports of an arc counted while probes crossed it, before the first and after the last; until is when the last were counted.
type timing struct {
	during, before, after uint64
	until                 time.Time
}

// errorsOf tells when the ports of an arc counted errors.
func (s *Store) errorsOf(a graphs.ArcID) timing {
	var from, to time.Time
	for _, l := range s.order {
		for i := range l.echoes {
			e := &l.echoes[i]
			if !slices.ContainsFunc([]way{e.path, e.back}, func(w way) bool { return w.certain() && slices.Contains(w.alternatives[0], a) }) {
				continue
			}
			from, to = soonest(from, e.start), later(to, e.end)
		}
	}
	var t timing
	add := func(r *portReading, c *evidence.Counters) {
		if c == nil || r.Reset {
			return
		}
		n := uint64(max(value(c.Errors), value(c.FCS)))
		switch {
		case n == 0:
			return
		case !from.IsZero() && !r.at.After(from):
			t.before += n
		case !to.IsZero() && !r.at.Add(-r.interval).Before(to):
			t.after += n
		default:
			t.during += n
		}
		t.until = later(t.until, r.at)
	}
	head, tail := s.portLog(s.fabric.HeadPort(a)).readings, s.portLog(s.fabric.TailPort(a)).readings
	for i := range head {
		add(&head[i], head[i].In)
	}
	for i := range tail {
		add(&tail[i], tail[i].Out)
	}
	return t
}

// earlyLater tells of an arc whose ports began to count errors when probes crossed it no more: these speak of another time.
func (s *Store) earlyLater(d *Diagnosis, a graphs.ArcID, alone *localize.Result, seen *observer, ports *portWords) bool {
	i := slices.IndexFunc(alone.Early, func(e localize.Early) bool { return e.Arc == a })
	if i < 0 || alone.Early[i].Probability < leastListed {
		return false
	}
	out := s.earlySuspect(&alone.Early[i], seen, ports)
	out.For += "; counted after the last probe crossed it"
	d.Suspects = append(d.Suspects, out)
	return true
}

// noisy says why errors that are counted are no fault.
func (s *Store) noisy(e *localize.Early, seen *observer, when timing, c *counted) Cleared {
	switch {
	case e.Forwarded > max(e.Noise, e.Once):
		return Cleared{ID: s.fabric.ArcName(e.Arc), Why: s.forwarded(e.Arc, c)}
	case e.Once > e.Noise:
		return Cleared{ID: s.fabric.ArcName(e.Arc), Why: s.disturbance(e.Arc, c)}
	}
	w := seen.hear(localize.Cause{Kind: localize.Arc, ID: int32(e.Arc)})
	port := s.fabric.PortName(s.fabric.HeadPort(e.Arc))
	why := fmt.Sprintf("%s counts errors (%s), as many ports do: they count what is not lost", port, Percent(e.Rate))
	if w.probes.sent > 0 {
		why = fmt.Sprintf("%s counts errors (%s), yet of %s probes across it %d were lost: it counts what is not lost, or only packets larger than probes suffer",
			port, Percent(e.Rate), thousands(w.probes.sent), w.probes.lost)
	}
	if when.during == 0 && when.before > 0 {
		why = fmt.Sprintf("%s counted errors (%s) until %s, and of %s probes across it later %d were lost: it is over, or comes and goes",
			port, Percent(e.Rate), s.dial().clock(when.until), thousands(w.probes.sent), w.probes.lost)
	}
	return Cleared{ID: s.fabric.ArcName(e.Arc), Why: why}
}

// disturbance says what the ports of an arc counted in one interval of several, and since when they count nothing more.
func (s *Store) disturbance(a graphs.ArcID, c *counted) string {
	count, _, _, _ := s.broken(c, a)
	looks := s.looks(c, a)
	port, at := s.fabric.HeadPort(a), c.in[s.fabric.HeadPort(a)]
	if at == nil || at.bad == 0 {
		port, at = s.fabric.TailPort(a), c.out[s.fabric.TailPort(a)]
	}
	text := fmt.Sprintf("%s counted %s errors in one of %d readings, from %s to %s", s.fabric.PortName(port), thousands(int(count)), looks.All, s.dial().clock(at.since), s.dial().clock(at.until))
	if looks.Now {
		return text + ", the newest: a disturbance, unless it goes on"
	}
	return text + ", and none since: a disturbance that is over"
}

// forwarded says that an arc's ports count what came broken to the switch before it.
func (s *Store) forwarded(a graphs.ArcID, c *counted) string {
	count, _, _, _ := s.broken(c, a)
	var most graphs.ArcID = graphs.None
	var came uint64
	for _, b := range s.fabric.Out(s.fabric.Tail(a)) {
		if n, _, _, _ := s.broken(c, b.Reverse()); b != a && n > came {
			most, came = b.Reverse(), n
		}
	}
	port, before := s.fabric.PortName(s.fabric.HeadPort(a)), s.fabric.NodeName(s.fabric.Tail(a))
	if most == graphs.None {
		return fmt.Sprintf("%s counts %s errors, as other ports behind %s do: what comes broken to a switch that cuts through is sent on, and nobody tells what comes to this one", port, thousands(int(count)), before)
	}
	return fmt.Sprintf("%s counts %s errors, which are its part of what comes broken to %s already (%s at %s): a switch that cuts through sends it on", port, thousands(int(count)), before,
		thousands(int(came)), s.fabric.PortName(s.fabric.HeadPort(most)))
}

// earlySuspect puts an arc that corrupts few packets into words.
func (s *Store) earlySuspect(e *localize.Early, seen *observer, ports *portWords) Suspect {
	cause := localize.Cause{Kind: localize.Arc, ID: int32(e.Arc)}
	arc := s.fabric.ArcName(e.Arc)
	out := Suspect{Kind: string(localize.Arc), ID: arc, Link: s.fabric.LinkName(e.Arc.Link()), Symptom: Corruption,
		Probability: min(e.Probability, surest), Class: []string{arc}, Against: "nothing"}
	out.loses(e.Rate, e.Low, e.High)
	s.prove(&out, cause, e.Rate, seen.hear(cause), ports)
	out.Next = []Step{s.opticStep(e.Arc), {Why: "see it before it grows: few packets suffer yet", Do: "watch the errors of " + s.fabric.PortName(s.fabric.HeadPort(e.Arc))}}
	return out
}
