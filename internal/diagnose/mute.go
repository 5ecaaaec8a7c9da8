package diagnose

import (
	"whichlink/graphs"
	"whichlink/pathfind/localize"
)

// unanswered reports how many probes were sent, if all of them were lost and none is known to have arrived; else 0.
func (o *observer) unanswered() int {
	sent := 0
	for i := range o.list {
		if x := &o.list[i]; x.Responder == graphs.None {
			if sent += x.Sent; x.Lost < x.Sent {
				return 0
			}
		}
	}
	return sent
}

// mute lowers suspects where nothing at all was answered and none of them by itself explains that: that several parts lose everything at once is not as likely as that
// nothing listens.
func (s *Store) mute(d *Diagnosis, causes map[string]localize.Cause, seen *observer) bool {
	all := seen.unanswered()
	if all == 0 {
		return false
	}
	for i := range d.Suspects {
		if x := &d.Suspects[i]; x.Probability >= Named && causes[x.ID].Kind != "" {
			if w := seen.hear(causes[x.ID]); w.probes.lost+w.unsureProbes.lost == all {
				return false
			}
		}
	}
	for i := range d.Suspects {
		if x := &d.Suspects[i]; causes[x.ID].Kind != "" {
			x.Probability = min(x.Probability, shaded)
			x.Against = "no probe at all was answered, as where no reflector runs; " + x.Against
		}
	}
	return true
}

// sinceWords says since when only is looked at what was measured.
func (o *observer) sinceWords() string {
	if o.since.IsZero() {
		return ""
	}
	return " since " + o.s.dial().clock(o.since)
}
