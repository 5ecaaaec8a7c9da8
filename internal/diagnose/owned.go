package diagnose

import (
	"iter"
	"math"
	"slices"
	"time"

	"whichlink/graphs"
)

// suffered adds what a flow lost in some strains and sent in them, and what it would have lost all the same: the share that it loses at other times. What was lost while a machine
// stood still is left out of all of that.
func suffered(l *flowLog, cuts []*cut, still [][]*cut) {
	sent, beside, in := make([]float64, len(cuts)), make([]float64, len(cuts)), 0
	calm, lost := 0.0, 0
	for e := range l.beside(still) {
		for _, ms := range e.lossTimes() {
			if c := cutAt(cuts, e.start.Add(time.Duration(ms)*time.Millisecond)); c != nil {
				c.lost++
				in++
			}
		}
		calm, lost = calm+float64(e.sent), lost+e.lost
		for j := firstCut(cuts, e.start); j < len(cuts) && cuts[j].from.Before(e.end); j++ {
			n := cutShare(l, e, cuts[j:j+1]) * float64(e.sent)
			sent[j] += n
			calm -= n
			if l.src != cuts[j].node {
				beside[j] += n - n*cuts[j].pausedIn(e)
			}
		}
	}
	usual := min(1, float64(lost-in)/max(calm, 1))
	for j, c := range cuts {
		if len(c.idle) > 0 {
			c.sent, c.usual = c.sent+sent[j]-beside[j], c.usual+usual*beside[j]
			continue
		}
		c.sent += sent[j]
		c.usual += usual * sent[j]
	}
}

// beside iterates over what a flow measured beside some strains, before anything was left out.
func (l *flowLog) beside(cuts [][]*cut) iter.Seq[*echo] {
	return func(yield func(*echo) bool) {
		for i := range l.echoes {
			e := l.echoes[i].measured()
			gone := e.taken(cuts)
			if len(gone) == 0 {
				if !yield(e) {
					return
				}
				continue
			}
			for _, part := range e.beyond(gone) {
				if !yield(&part) {
					return
				}
			}
		}
	}
}

// holds reports whether a strain explains what was lost in it. Where more was than the host says and the flows lose at other times, or less than a machine loses that does not run,
// something else loses, and nothing is left out.
func (x *strained) holds(c *cut) bool {
	if len(c.idle) == 0 {
		return c.lost > 0 && c.beyond() <= strainTold*(c.full*float64(c.overflow)+c.slow*float64(c.overdue)+float64(c.late))+float64(c.others)
	}
	if _, ever := x.ever[c.node]; ever {
		x.ever[c.node] = x.ever[c.node] || c.lost > 0
		return false
	}
	return c.stops || stops(c)
}

// stops reports whether nearly all is lost that is sent in some pauses.
func stops(cuts ...*cut) bool {
	lost, sent := 0.0, 0.0
	for _, c := range cuts {
		lost, sent = lost+float64(c.lost)-c.usual, sent+c.sent
	}
	return lost >= pausedLeast && lost >= pausedLost*sent
}

// pausedIn is in which part of a strain, of what of it fell into an echo, the host stood still: the rest is its margins.
func (c *cut) pausedIn(e *echo) float64 {
	whole := stretch{e.start, e.end}
	during := overlap(whole, []stretch{c.stretch})
	return min(1, overlap(whole, meeting(e, c.idle)).Seconds()/max(1e-9, during.Seconds()))
}

// count is what the host says that it did.
func (c *cut) count() int { return c.overflow + c.overdue + c.late }

// beyond is how many packets were lost in a strain beyond what the same flows lose at other times.
func (c *cut) beyond() float64 { return float64(c.lost) - c.usual - 2*math.Sqrt(c.usual) }

// learn finds what some strains of a host have in common: how many packets it loses for each that it owns up to, by what it did to them, and whether its machine stands still in its
// pauses. What it does not count itself, as what its network card drops, is lost in most of them in the same proportion, while what the network loses falls into one by chance, or into
// all at the rate of other times.
func learn(cuts []*cut) {
	var full, slow []float64
	var pauses []*cut
	for _, c := range cuts {
		beyond := c.beyond() - float64(c.others)
		switch {
		case len(c.idle) > 0:
			pauses = append(pauses, c)
		case c.late > 0 || c.overflow+c.overdue == 0:
		case c.overflow > c.overdue:
			full = append(full, (beyond-float64(c.overdue))/float64(c.overflow))
		default:
			slow = append(slow, (beyond-float64(c.overflow))/float64(c.overdue))
		}
	}
	mostFull, mostSlow, still := silent(full), silent(slow), stops(pauses...)
	for _, c := range cuts {
		c.full, c.slow, c.stops = mostFull, mostSlow, still
	}
}

// silent is how many packets a host loses for each that it owns up to, 1 or more, by that proportion in some strains.
func silent(ratios []float64) float64 {
	if len(ratios) < 2 {
		return 1
	}
	slices.Sort(ratios)
	return min(mostSilent, max(1, ratios[(len(ratios)-1)/2]))
}

// shareOut tells each end of flows what the other says of the same time.
func (x cutLists) shareOut() {
	for scope, cuts := range x {
		own := x[cutScope{scope.by, graphs.None, graphs.None}]
		if scope.by == "" || scope.dst == graphs.None {
			continue
		}
		for _, c := range cuts {
			for i := firstCut(own, c.from); i < len(own) && own[i].from.Before(c.to); i++ {
				own[i].others += min(c.lost, int(strainTold*float64(c.count())))
				c.others += own[i].count()
			}
		}
	}
}
