package diagnose

import (
	"math/rand/v2"
	"slices"

	"whichlink/pathfind/localize"
)

// markUnsplit notes which echoes are of a flow that lost packets of which it is not told which way, in the same epoch. Those that lost none went the same ways, and are
// counted with those that did.
func (l *flowLog) markUnsplit() {
	var lossy []string // epochs, hardly ever any
	for i := range l.echoes {
		if e := &l.echoes[i]; !e.split && e.lost > 0 && !slices.Contains(lossy, e.epoch) {
			lossy = append(lossy, e.epoch)
		}
	}
	for i := range l.echoes {
		e := &l.echoes[i]
		e.unsplit = slices.Contains(lossy, e.epoch)
	}
}

// join makes one way of the way there and the way back, for losses whose direction is not known; nil where one is not known, or too many.
func (o *observer) join(l *flowLog, path, back way) []localize.Alternative {
	there, home := o.waysOf(l, path, back)
	if len(there)*len(home) > maxAlternatives {
		return paired(l, there, home)
	}
	return product(there, home)
}

// waysOf returns the ways there and back: those that are known, or else those that the forwarding model allows.
func (o *observer) waysOf(l *flowLog, path, back way) (there, home []localize.Alternative) {
	if there = path.set(); !path.known() {
		there = o.set(l.there())
	}
	if home = back.set(); !back.known() {
		home = o.set(l.home())
	}
	return there, home
}

// product returns all pairs of ways there and back; nil where they are too many.
func product(there, home []localize.Alternative) (out []localize.Alternative) {
	if len(there)*len(home) > maxAlternatives {
		return nil
	}
	for _, x := range there {
		for _, y := range home {
			out = append(out, roundTrip(x, y, x.Share*y.Share))
		}
	}
	return out
}

// paired is what join makes of two ways that have too many pairs for all to be listed: as many pairs that each alternative has its share among them, there and back. So
// what is faulty one way is weighed as if all were listed. Which go together is drawn for each flow by itself, so that what is faulty both ways is met on both about as
// often as it should be.
func paired(l *flowLog, there, home []localize.Alternative) (out []localize.Alternative) {
	fields := uint64(l.flow.SrcPort)<<32 | uint64(l.flow.DstPort)<<16 | uint64(l.flow.Label)
	order := rand.New(rand.NewPCG(fields, uint64(l.src)<<32|uint64(l.dst))).Perm(len(home))
	const least = 1e-9 // what rounding leaves
	i, j := 0, 0
	x, y := there[0], home[order[0]]
	for {
		share := min(x.Share, y.Share)
		out = append(out, roundTrip(x, y, share))
		if x.Share -= share; x.Share < least {
			if i++; i == len(there) {
				return out
			}
			x = there[i]
		}
		if y.Share -= share; y.Share < least {
			if j++; j == len(home) {
				return out
			}
			y = home[order[j]]
		}
	}
}

// roundTrip is the way there and back by two alternatives, of a share of the flows.
func roundTrip(there, home localize.Alternative, share float64) localize.Alternative {
	return localize.Alternative{Arcs: append(there.Arcs[:len(there.Arcs):len(there.Arcs)], home.Arcs...), Share: share}
}
