package diagnose

import (
	"slices"
	"time"

	"whichlink/internal/evidence"
	"whichlink/pathfind/rhythm"
)

// A portOutages is how often a port went down and came up again; at is when, as far as known.
type portOutages struct {
	outages int
	at      []time.Time
	// by is what told, if it was more than events and moments of change; from is since when it counted.
	by   string
	from time.Time
	// blur is the time within which two outages would have shown as one, 0 where each was told for itself.
	blur time.Duration
}

// disabled returns when a port was told to be down, as far as polls tell, and a little before and after: its link goes down and comes up for that.
func (l *portLog) disabled() []stretch {
	var list []stretch
	within := false
	for i := range l.readings {
		r := &l.readings[i]
		was := within
		if within = evidence.UpOrDown(r.Admin) == evidence.Down; !within && !was {
			continue
		}
		if !was {
			from := r.at.Add(-r.interval)
			if i > 0 {
				from = earlier(from, l.readings[i-1].at)
			}
			list = append(list, stretch{from: from.Add(-together)})
		}
		list[len(list)-1].to = r.at.Add(together)
	}
	if within {
		list[len(list)-1].to = time.Unix(1<<40, 0) // and so it stays
	}
	return list
}

// sameMoment is how far apart two collectors may have the moment at which a port came up.
const sameMoment = 250 * time.Millisecond

// outages counts how often a port went down and came up again, and when, by what was told of it: as events, as counts of what went unseen between
// two polls, and as changes of its state between two polls that both read up, or of which the former read down. Of these a poll sees no more than one. All of these may tell of the
// same outages, so the one that tells of the most counts. What a port did while either end of its link was told to be down, it did for that.
func (l *portLog) outages(disabled []stretch) portOutages {
	told := func(at time.Time) bool { return during(disabled, at) }
	var at []time.Time
	up := false // since the last of them
	for i, e := range l.events {
		if evidence.UpOrDown(e.what) == evidence.Up {
			up = true
		}
		if evidence.UpOrDown(e.what) != evidence.Down || told(e.at) {
			continue
		}
		if n := len(at); n > 0 && (e.at.Sub(at[n-1]) < 50*time.Millisecond || !up && e.at.Sub(at[n-1]) < together) {
			continue // told twice
		}
		up = false
		again := slices.ContainsFunc(l.events[i+1:], func(x portEvent) bool { return evidence.UpOrDown(x.what) == evidence.Up })
		again = again || len(l.readings) > 0 && l.readings[len(l.readings)-1].at.After(e.at) && l.now().oper == evidence.Up
		if again {
			at = append(at, e.at)
		}
	}
	var moved []time.Time
	var came time.Time // up, the last time
	var blur time.Duration
	for i := range l.readings {
		r := &l.readings[i]
		if evidence.UpOrDown(r.Oper) != evidence.Up {
			continue
		}
		since := r.at.Add(-r.interval)
		if i > 0 && r.interval == 0 {
			since = l.readings[i-1].at
		}
		t, known := r.change()
		up := t
		if i > 0 && evidence.UpOrDown(l.readings[i-1].Oper) == evidence.Down && !(known && t.After(since)) {
			t, up, known, since = l.readings[i-1].at, r.at, true, l.readings[i-1].at.Add(-time.Nanosecond) // two readings tell
		}
		if known && t.After(since) && r.at.After(since) && !told(t) && up.Sub(came) > sameMoment {
			moved, came = append(moved, t), up
			blur = max(blur, r.at.Sub(since))
		}
	}
	most := portOutages{outages: len(at), at: at}
	if len(moved) > len(at) {
		most = portOutages{outages: len(moved), at: moved, blur: blur}
	}
	for _, o := range l.flapped(told) {
		if o.outages > most.outages || o.outages == most.outages && most.by != "" && o.by < most.by {
			most = o
		}
	}
	return most
}

// stillUp reports whether a port says to have been up from before the first of some outages till well after it.
func (l *portLog) stillUp(o *portOutages) bool {
	if len(o.at) == 0 {
		return false
	}
	before, after := o.at[0].Add(-together), o.at[0].Add(together)
	return slices.ContainsFunc(l.readings, func(r portReading) bool {
		t, known := r.change()
		return known && evidence.UpOrDown(r.Oper) == evidence.Up && t.Before(before) && r.at.After(after)
	})
}

// flapped adds up what each source counted of flaps that no poll saw.
func (l *portLog) flapped(told func(time.Time) bool) []portOutages {
	var list []portOutages
	for _, e := range l.events {
		if e.what != evidence.Flapped || told(e.at) || told(e.at.Add(-e.window)) {
			continue
		}
		i := slices.IndexFunc(list, func(o portOutages) bool { return o.by == e.by })
		if i < 0 && len(list) == mostFlapSources {
			continue
		} else if i < 0 {
			i, list = len(list), append(list, portOutages{by: e.by})
		}
		list[i].outages += e.count
		list[i].at = append(list[i].at, e.at)
		list[i].from = soonest(list[i].from, e.at.Add(-e.window))
		list[i].blur = max(list[i].blur, e.window)
	}
	return list
}

// mostFlapSources bounds the sources that are told apart.
const mostFlapSources = 8

// period is the time from one outage to the next where they come regularly, else 0. Where several were counted together, nobody knows when each was; where several would
// have shown as one, there must be time without any between them: else what comes back is the poll.
func (o *portOutages) period() time.Duration {
	if o.outages > len(o.at) {
		return 0
	}
	starts := make([]float64, len(o.at))
	for i, at := range o.at {
		starts[i] = milliseconds(at.Sub(o.at[0]))
	}
	if period, _ := rhythm.Regular(starts); duration(period) > 2*o.blur {
		return duration(period)
	}
	return 0
}
