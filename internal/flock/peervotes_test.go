package flock

import (
	"fmt"
	"math"
	"slices"
)

// voting is 007 (Arzani et al., NSDI 2018): each flow that lost packets shares one vote evenly among the components of a kind that it crossed, and whoever has
// most is named, and the flows that it explains leave, until the most is less than a share of all that was cast.
type voting struct {
	*scene
	ballots [][]int32 // by flow that lost packets: the components that it votes for
	voters  [][]int32 // by component
	cast    []float64 // by component
}

// newVoting lets flows vote for arcs, or for switches.
func newVoting(x *scene, devices bool) *voting {
	v := &voting{scene: x, voters: make([][]int32, len(x.crossing)), cast: make([]float64, len(x.crossing))}
	for i := range x.flows {
		if x.flows[i].lost == 0 {
			continue
		}
		ballot := slices.DeleteFunc(slices.Clone(x.flows[i].certain), func(c int32) bool { return int(c) >= x.arcs != devices })
		for _, c := range ballot {
			v.voters[c] = append(v.voters[c], int32(len(v.ballots)))
			v.cast[c] += 1 / float64(len(ballot))
		}
		v.ballots = append(v.ballots, ballot)
	}
	return v
}

// elect returns what is named, in order, and after each the share of all votes that it had.
func (v *voting) elect() (named []int32, shares []float64) {
	cast, gone := slices.Clone(v.cast), make([]bool, len(v.ballots))
	for len(named) < 2*most {
		top := 0
		for c := range cast {
			if cast[c] > cast[top] {
				top = c
			}
		}
		if cast[top] < 0.5 {
			break
		}
		named, shares = append(named, int32(top)), append(shares, cast[top]/float64(len(v.ballots)))
		for _, b := range v.voters[top] {
			if gone[b] {
				continue
			}
			gone[b] = true
			for _, c := range v.ballots[b] {
				cast[c] -= 1 / float64(len(v.ballots[b]))
			}
		}
	}
	return named, shares
}

// above returns those that were named before the first whose share is less.
func above(named []int32, shares []float64, least float64) []int32 {
	for i, share := range shares {
		if share < least {
			return named[:i]
		}
	}
	return named
}

// try007 tries what Flock's repository chose for it, and shares between a thousandth and a half, for arcs alone, for switches alone, and for both.
func try007(x *scene, _ Evidence, each func(setting string, faulty []int32)) {
	arcs, arcShares := newVoting(x, false).elect()
	switches, switchShares := newVoting(x, true).elect()
	both := func(arc, device float64) []int32 {
		return slices.Concat(above(arcs, arcShares, arc), above(switches, switchShares, device))
	}
	each("own", both(.0023, .0145))
	const never = 2
	for i := range 28 {
		share := .001 * math.Pow(500, float64(i)/27)
		each(fmt.Sprintf("arcs %.4f", share), both(share, never))
		each(fmt.Sprintf("switches %.4f", share), both(never, share))
		for j := i; j < 28; j += 3 {
			device := .001 * math.Pow(500, float64(j)/27)
			each(fmt.Sprintf("arcs %.4f, switches %.4f", share, device), both(share, device))
		}
	}
}

// A bouncer is NetBouncer (Tan et al., NSDI 2019) over flows of known paths: each arc passes packets with a chance x, such that the squares of what each flow
// passed less the product of its arcs' chances, and lambda x(1-x) of each arc, which draws chances apart, sum up to the least.
type bouncer struct {
	*scene
	paths  [][]int32 // by flow
	passed []float64 // by flow: the share of its packets that arrived
	shares []float64 // by component: the share of its flows that lost packets
}

func newBouncer(x *scene) *bouncer {
	b := &bouncer{scene: x, shares: make([]float64, len(x.crossing))}
	for i := range x.flows {
		flow := &x.flows[i]
		b.paths = append(b.paths, flow.certain[:slices.IndexFunc(append(slices.Clone(flow.certain), int32(x.arcs)), func(c int32) bool { return int(c) >= x.arcs })])
		b.passed = append(b.passed, float64(flow.arrived)/float64(flow.arrived+flow.lost))
	}
	for c, flows := range x.crossing {
		for _, i := range flows {
			if x.flows[i].lost > 0 {
				b.shares[c] += 1 / float64(len(flows))
			}
		}
	}
	return b
}

// chances returns the chances of the arcs by coordinate descent: a hundred turns, or until nothing changes.
func (b *bouncer) chances(lambda float64) []float64 {
	const least = 1e-4 // products are divided by a chance
	x, product := make([]float64, b.arcs), make([]float64, len(b.paths))
	for i := range x {
		x[i] = 1
	}
	for i := range product {
		product[i] = 1
	}
	for range 100 {
		changed := 0.0
		for a := range x {
			if len(b.crossing[a]) == 0 {
				continue
			}
			s1, s2 := 0.0, 0.0
			for _, i := range b.crossing[a] {
				others := product[i] / x[a]
				s1 += b.passed[i] * others
				s2 += others * others
			}
			next := 1.0
			if s2 > lambda {
				next = min(max((2*s1-lambda)/(2*(s2-lambda)), least), 1)
			} else if s2 > 2*s1 {
				next = least // it is bent the other way, so that an end is the least
			}
			if next == x[a] {
				continue
			}
			changed = max(changed, math.Abs(next-x[a]))
			for _, i := range b.crossing[a] {
				product[i] *= next / x[a]
			}
			x[a] = next
		}
		if changed < 1e-6 {
			break
		}
	}
	return x
}

// faulty returns the switches of whose flows so many lost packets, and the arcs elsewhere that lose more than told.
func (b *bouncer) faulty(chances []float64, loss, share float64) (faulty []int32) {
	ill := func(n int32) bool { return b.shares[int32(b.arcs)+n] >= share }
	for a, x := range chances {
		if tail, head := b.ends(a); 1-x > loss && !ill(tail) && !ill(head) {
			faulty = append(faulty, int32(a))
		}
	}
	for c := b.arcs; c < len(b.shares); c++ {
		if b.suspicious(c) && ill(int32(c-b.arcs)) {
			faulty = append(faulty, int32(c))
		}
	}
	return faulty
}

// tryNetBouncer tries what Flock's repository chose for it, and a grid around that.
func tryNetBouncer(x *scene, seen Evidence, each func(setting string, faulty []int32)) {
	b := newBouncer(x)
	if seen == A1 {
		each("own", b.faulty(b.chances(.001), .007, .125))
	} else {
		each("own", b.faulty(b.chances(.011), .002, .075))
	}
	for _, lambda := range []float64{.001, .011, .05, .2, 1} {
		chances := b.chances(lambda)
		for i := range 24 {
			loss := .0003 * math.Pow(100, float64(i)/23)
			for _, share := range []float64{.02, .035, .05, .075, .1, .125, .175, .25, .4, 2} {
				each(fmt.Sprintf("%g/%.4f/%g", lambda, loss, share), b.faulty(chances, loss, share))
			}
		}
	}
}
