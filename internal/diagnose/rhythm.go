package diagnose

import (
	"slices"
	"time"

	"whichlink/graphs"
)

// An outage is a short time in which nearly all that crossed a link was lost.
type outage struct {
	from, to time.Time
	lost     int
	flows    map[int]bool // indices into the store's flows
}

// A rhythm is how the losses of a link lie in time.
type rhythm struct {
	outages []outage
	// stray is how many losses lie in no outage.
	stray, lost int
	// span is the time since the first flow was seen on the link.
	span time.Duration
	// recovered tells that most flows of the last outage were answered again after it, on this link or another.
	recovered bool
}

const (
	// outageGap joins losses into one outage: it is longer than the usual time between two probes that cross a link.
	outageGap = 350 * time.Millisecond
	// outageLosses is the least number of losses that make an outage; random loss reaches it only in a burst.
	outageLosses = 3
)

// rhythmOf gathers the losses of all flows that crossed any of some links, and parts them into outages.
func (s *Store) rhythmOf(links []graphs.LinkID) rhythm {
	type loss struct {
		at   time.Time
		flow int
	}
	var losses []loss
	type stretch struct {
		from, to time.Time
		pps      float64
	}
	var sent []stretch
	var r rhythm
	var first time.Time
	for i, l := range s.order {
		for j := range l.echoes {
			e := &l.echoes[j]
			path, back := l.at(e, false)
			if !slices.ContainsFunc(links, func(k graphs.LinkID) bool { return path.crosses(k) || back.crosses(k) }) {
				continue
			}
			if first.IsZero() || e.start.Before(first) {
				first = e.start
			}
			if d := e.end.Sub(e.start).Seconds(); d > 0 {
				sent = append(sent, stretch{e.start, e.end, float64(e.sent) / d})
			}
			r.lost += e.lost
			for _, at := range e.lossTimes() {
				losses = append(losses, loss{e.start.Add(time.Duration(at) * time.Millisecond), i})
			}
		}
	}
	r.span = s.to.Sub(first)
	slices.SortFunc(losses, func(a, b loss) int { return a.at.Compare(b.at) })
	for i := 0; i < len(losses); {
		j := i + 1
		flows := map[int]bool{losses[i].flow: true}
		for j < len(losses) && losses[j].at.Sub(losses[j-1].at) <= outageGap {
			flows[losses[j].flow] = true
			j++
		}
		o := outage{losses[i].at, losses[j-1].at, j - i, flows}
		// In an outage most of what is sent is lost: compare with what crossed the link meanwhile.
		crossed := 0.0
		for _, w := range sent {
			if overlap := earlier(w.to, o.to).Sub(later(w.from, o.from)).Seconds(); overlap > 0 {
				crossed += w.pps * overlap
			}
		}
		if o.lost >= outageLosses && float64(o.lost) >= 0.4*crossed {
			r.outages = append(r.outages, o)
		} else {
			r.stray += o.lost
		}
		i = j
	}
	r.recovered = s.recovered(r.outages)
	return r
}

// recovered reports whether most flows of the last outage were answered after it. A link that is dead for good loses until the
// end of the evidence, and what is lost last is decided last.
func (s *Store) recovered(outages []outage) bool {
	if len(outages) == 0 {
		return false
	}
	last := &outages[len(outages)-1]
	again := 0
	for i := range last.flows {
		if slices.ContainsFunc(s.order[i].echoes, func(e echo) bool { return !e.start.Before(last.to) && e.sent > e.lost }) {
			again++
		}
	}
	return 2*again > len(last.flows)
}

// flapping reports whether the losses came in at least two outages with quiet between them.
func (r *rhythm) flapping() bool {
	return len(r.outages) >= 2 && r.stray*5 <= r.lost && r.quiet()
}

// once reports whether all losses lie in one outage that is over.
func (r *rhythm) once() bool {
	return len(r.outages) == 1 && r.recovered && r.stray*5 <= r.lost && r.quiet()
}

func (r *rhythm) quiet() bool {
	var out time.Duration
	for _, o := range r.outages {
		out += o.to.Sub(o.from)
	}
	return 2*out < r.span
}

// period is the median time from outage to outage.
func (r *rhythm) period() time.Duration {
	var gaps []time.Duration
	for i := 1; i < len(r.outages); i++ {
		gaps = append(gaps, r.outages[i].from.Sub(r.outages[i-1].from))
	}
	if len(gaps) == 0 {
		return 0
	}
	slices.Sort(gaps)
	return gaps[len(gaps)/2]
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
