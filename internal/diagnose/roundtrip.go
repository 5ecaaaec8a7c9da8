package diagnose

import (
	"math"
	"math/rand/v2"

	"whichlink/pathfind/localize"
)

// mute reports whether an echo lost packets and tells of none which way: nothing was answered, or not soon enough.
func (e *echo) mute() bool { return e.lost > 0 && (!e.split || e.lostForward+e.lostBack == 0) }

// untold is what is known of the losses of a flow in an epoch: how many there are of which nobody tells the way, and those of which somebody does, all and next to the others.
type untold struct {
	lost      int
	all, near told
	beside    int     // the last echo that is counted as near
	carry     float64 // what rounding left of losses on the way there
}

// told is losses on the way there and on the way back.
type told struct{ there, home int }

func (x *told) add(e *echo) { x.there, x.home = x.there+e.lostForward, x.home+e.lostBack }

// way is on which way losses are, if they are enough and nearly all on one: fewer may be so by chance where as many are lost both ways.
func (x told) way() direction {
	const enough, nearly = 6, 0.9
	switch n := x.there + x.home; {
	case n < enough || float64(max(x.there, x.home)) < nearly*float64(n):
		return eitherWay
	case x.there > x.home:
		return wayThere
	}
	return wayBack
}

// way is on which way the losses probably were of which that is not told: an outage is of the way on which it begins and ends, and a few are where most others are.
func (x *untold) way() direction {
	w := x.near.way()
	if w == eitherWay && x.few() {
		w = x.all.way()
	}
	return w
}

// few reports whether more losses are told than not.
func (x *untold) few() bool { return x.lost < x.all.there+x.all.home }

// markUnsplit notes what is known of losses of which it is not told which way: by themselves they would be a far greater loss than the flow has, and what is left none. Where most are such,
// what the flow lost none of in the same epoch, and what is told, went the same ways and is counted with them; where more is told, they were lost on either way in the same shares.
func (l *flowLog) markUnsplit() {
	var epochs map[string]*untold // hardly ever any
	for i := range l.echoes {
		e := &l.echoes[i]
		if e.unsplit, e.lostOn = false, eitherWay; e.mute() && epochs[e.epoch] == nil {
			if epochs == nil {
				epochs = map[string]*untold{}
			}
			epochs[e.epoch] = &untold{beside: -1}
		}
	}
	if epochs == nil {
		return
	}
	for i := range l.echoes {
		e := &l.echoes[i]
		x := epochs[e.epoch]
		if x == nil {
			continue
		}
		x.all.add(e)
		if !e.mute() {
			continue
		}
		x.lost += e.lost
		for _, j := range [...]int{i - 1, i + 1} {
			if j > x.beside && j < len(l.echoes) && l.echoes[j].epoch == e.epoch {
				x.near.add(&l.echoes[j])
				x.beside = j
			}
		}
	}
	for i := range l.echoes {
		e := &l.echoes[i]
		x := epochs[e.epoch]
		if x == nil {
			continue
		}
		switch way := x.way(); {
		case way == eitherWay && !x.few():
			e.unsplit = true
		case !e.mute():
		case way == eitherWay:
			e.lostOn = bothWays
			e.lostThere, e.carry = float64(x.all.there)/float64(x.all.there+x.all.home), x.carry
			_, x.carry = math.Modf(x.carry + e.lostThere*float64(e.lost))
		default:
			e.lostOn = way
		}
	}
}

// A direction is which way packets were lost of which that is not told.
type direction int8

const (
	eitherWay direction = iota
	wayThere
	wayBack
	bothWays // some one way and some the other
)

// directions returns how many packets an echo lost on the way there and on the way back, and of how many that is not told; ok is false where nothing is.
func (e *echo) directions() (there, home, untold int, ok bool) {
	switch {
	case e.lostOn == wayThere:
		return e.lost, 0, 0, true
	case e.lostOn == wayBack:
		return 0, e.lost, 0, true
	case e.lostOn == bothWays:
		there = int(e.lostThere*float64(e.lost) + e.carry)
		return there, e.lost - there, 0, true
	case e.unsplit || !e.split:
		return 0, 0, e.lost, false
	}
	untold = e.lost - e.lostForward - e.lostBack
	return e.lostForward, e.lostBack, untold, untold == 0 || untold < e.lost
}

// join makes one way of the way there and the way back, for losses whose direction is not known; nil where one is not known, or too many.
func (o *observer) join(l *flowLog, path, back way) (both []localize.Alternative) {
	there, home := o.waysOf(l, path, back)
	if len(there)*len(home) > maxAlternatives {
		return paired(l, there, home)
	}
	for _, x := range there {
		for _, y := range home {
			both = append(both, roundTrip(x, y, x.Share*y.Share))
		}
	}
	return both
}

// waysOf returns the ways there and back.
func (o *observer) waysOf(l *flowLog, path, back way) (there, home []localize.Alternative) {
	return o.wayOf(l, path, l.there()), o.wayOf(l, back, l.home())
}

// wayOf returns the ways of a trip of a flow: those that are known, or else those that the forwarding model allows.
func (o *observer) wayOf(l *flowLog, known way, t trip) []localize.Alternative {
	if known.known() {
		return o.s.onPlan(l, known.set())
	}
	return o.set(t)
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
