package diagnose

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"whichlink/graphs"
	"whichlink/pathfind/localize"
	"whichlink/pathfind/rhythm"
)

// mostSpells is the share of the time in which losses come at most for the rest of it to be left out.
const mostSpells = 0.8

// retry looks at the time in which losses came alone, where nothing is named that explains them over all of it. A fault that was there for a while, as before it was
// mended, is acquitted by flows that crossed it at other times, when flows take other paths then.
func (s *Store) retry(d *Diagnosis, seen *observer, solved *localize.Result, cfg localize.Config) (*observer, *localize.Result) {
	named := func(r *localize.Result) bool {
		return slices.ContainsFunc(r.Suspects, func(x localize.Suspect) bool { return x.Probability >= Named })
	}
	probes, lost, captured := s.totals()
	if named(solved) || slices.ContainsFunc(d.Suspects, func(x Suspect) bool { return x.Probability >= Named }) || !Unexplained(probes, lost+captured, solved.Background) {
		return seen, solved
	}
	spells := s.spells()
	if spells == nil {
		return seen, solved
	}
	then := s.observeThen(spells, true)
	then.spells = spells
	if again := s.localize(then, cfg); named(again) && then.unanswered() == 0 {
		return then, again
	}
	return seen, solved
}

// observeThen sums up what was measured in some stretches of time, or outside of them.
func (s *Store) observeThen(spells []stretch, inside bool) *observer {
	return s.observeSpells(spells, inside, nil)
}

// observeSpells does so of what did not cross arcs while they are known to have been bad. Where some are bad most of the time and a way of a flow is not known that loses nearly all in that
// time, it is taken to cross one: those that are known to are left out, and the others would speak for what lies beside these.
func (s *Store) observeSpells(spells []stretch, inside bool, known downs) *observer {
	o := s.observer()
	o.many = true
	long := known.mostly(s.flowing)
	for i, l := range s.order {
		dead := l.deadIn(long)
		for j := range l.echoes {
			e := &l.echoes[j]
			if len(known) > 0 {
				if path, back := l.at(e, true); known.on(e, path, back) != nil || dead && !(path.known() && back.known()) {
					continue
				}
			}
			if e.lost == 0 || len(e.lostAt) > 0 {
				part := e.within(spells, inside)
				o.echo(i, l, &part, false)
			} else if within(spells, e.start, e.end) == inside { // nobody knows when in it
				o.echo(i, l, e, false)
			}
		}
		for j := range l.hops {
			if h := &l.hops[j]; within(spells, h.start, h.at) == inside && !o.hopOn(known, l, h) {
				o.hop(i, l, h)
			}
		}
		for j := range l.captured {
			if c := &l.captured[j]; within(spells, c.start, c.at) == inside {
				o.captured(i, l, c)
			}
		}
	}
	return o
}

// hopOn reports whether TTL-limited probes of a flow crossed arcs while they are known to have been bad, or their answers may have.
func (o *observer) hopOn(known downs, l *flowLog, h *hop) bool {
	if len(known) == 0 {
		return false
	}
	path := l.until(h)
	if path == nil {
		return false
	}
	ways := [][]graphs.ArcID{path}
	for _, home := range o.set(l.trip(o.s.fabric.Head(path[len(path)-1]), l.src)) {
		ways = append(ways, home.Arcs)
	}
	return known.onAny(h.start, h.at, ways) != nil
}

// looked is how much time was looked at, where that is not all.
func (o *observer) looked() time.Duration {
	if o.spells == nil && !o.since.IsZero() {
		return o.s.flowing.to.Sub(o.since)
	}
	var sum time.Duration
	for _, x := range o.spells {
		sum += x.to.Sub(x.from)
	}
	return sum
}

// past looks at a time by itself in which something has failed that is over: what was measured at other times acquits it, where flows are traced only then or
// take other paths, and others are convicted for it. It returns what is named then and what was seen of it, and nothing where that is nobody.
func (s *Store) past(bad stretch, ports *portWords) ([]localize.Suspect, *observer) {
	then := s.observeThen([]stretch{bad}, true)
	then.spells = []stretch{bad}
	named := slices.DeleteFunc(s.localize(then, s.solver(ports)).Suspects, func(x localize.Suspect) bool { return x.Probability < Named })
	if len(named) == 0 || then.unanswered() > 0 {
		return nil, nil
	}
	return named, then
}

// spells are the stretches of time in which losses came, as wide as the windows of the records that tell them; nil if they came all the time.
func (s *Store) spells() []stretch {
	counts, _ := s.lostInTime()
	r := rhythm.Find(counts, milliseconds(quiet))
	if r.Kind == rhythm.Steady {
		return nil
	}
	var list []stretch
	for _, x := range r.Episodes {
		from, to := s.flowing.from.Add(duration(x.From)), s.flowing.from.Add(duration(x.To))
		for _, l := range s.order {
			for i := range l.echoes {
				if e := &l.echoes[i]; e.lost > 0 && e.start.Before(to) && !e.end.Before(from) {
					list = append(list, stretch{e.start, e.end})
				}
			}
		}
	}
	whole := unbroken(list)
	var bad time.Duration
	for _, x := range whole {
		bad += x.to.Sub(x.from)
	}
	if bad.Seconds() > mostSpells*s.flowing.to.Sub(s.flowing.from).Seconds() {
		return nil
	}
	return whole
}

// unbroken sorts stretches and makes one of those that overlap or touch.
func unbroken(list []stretch) (whole []stretch) {
	slices.SortFunc(list, func(a, b stretch) int { return a.from.Compare(b.from) })
	for _, x := range list {
		if n := len(whole); n > 0 && !x.from.After(whole[n-1].to) {
			whole[n-1].to = later(whole[n-1].to, x.to)
			continue
		}
		whole = append(whole, x)
	}
	return whole
}

// within reports whether most of a window lies in one of some stretches.
func within(list []stretch, from, to time.Time) bool {
	return during(list, from.Add(to.Sub(from)/2))
}

// during reports whether a moment lies in one of some stretches.
func during(list []stretch, at time.Time) bool {
	return slices.ContainsFunc(list, func(x stretch) bool { return !at.Before(x.from) && !at.After(x.to) })
}

// spellNote says what was left out.
func (o *observer) spellNote() string {
	var when []string
	for _, x := range o.spells[:min(len(o.spells), 4)] {
		when = append(when, o.s.dial().clock(x.from)+" to "+o.s.dial().clock(x.to))
	}
	if n := len(o.spells) - len(when); n > 0 {
		when = append(when, fmt.Sprintf("%d more such times", n))
	}
	return "losses came and went: judged by what was measured then, " + strings.Join(when, ", ")
}
