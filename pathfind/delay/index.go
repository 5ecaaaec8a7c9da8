package delay

import (
	"cmp"
	"encoding/binary"
	"hash/fnv"
	"math"
	"slices"
)

// mostShares bounds what all legs hold in memory: some tens of megabytes. In a fabric of 64 ways between two of its 128 leaf switches that is a third of all pairs of these.
const mostShares = 1 << 21

// The sets of observations of which all is certain, and of those that are left out.
const (
	certain = -1
	leftOut = -2
)

// newSets makes the sets of all observations that can be used, which have a length, and returns that of each. Where there are too many some are left out, drawn as by chance but always the same.
func (ev *evidence) newSets(obs []Observation, order []int32, lengths []int, ps PathSets) []int32 {
	x := setIndex{legs: map[string]int{}, sets: map[[2]int]int32{}}
	of := make([]int32, len(obs))
	for _, i := range order {
		if lengths[i] > 0 {
			of[i] = x.of(&obs[i])
		}
	}
	drawn := make([]int32, len(x.pairs))
	for k := range drawn {
		drawn[k] = int32(k)
	}
	slices.SortStableFunc(drawn, func(a, b int32) int { return cmp.Compare(x.hash(a), x.hash(b)) })
	number, size := make([]int32, len(drawn)), 0
	for _, k := range drawn {
		if number[k] = leftOut; size > mostShares {
			continue
		}
		number[k] = int32(len(ev.sets))
		var s set
		for _, n := range x.pairs[k] {
			if n < 0 {
				continue
			}
			l := &x.list[n]
			if l.shares == nil {
				size += l.fill(ev, ps)
			}
			s.legs = append(s.legs, &l.leg)
		}
		ev.sets = append(ev.sets, s)
	}
	for i, k := range of {
		if k >= 0 && lengths[i] > 0 {
			of[i] = number[k]
		}
	}
	return of
}

// A setIndex finds legs by the ways that they are, and sets by their legs.
type setIndex struct {
	key   []byte
	legs  map[string]int
	list  []hashedLeg
	sets  map[[2]int]int32
	pairs [][2]int // of legs, by set; -1 for none
}

type hashedLeg struct {
	leg
	hash uint64
}

// of returns the set of an observation, certain if it has none.
func (x *setIndex) of(o *Observation) int32 {
	there, back := x.leg(&o.There), x.leg(&o.Back)
	pair := [2]int{min(there, back), max(there, back)}
	if pair[1] < 0 {
		return certain
	}
	k, ok := x.sets[pair]
	if !ok {
		k = int32(len(x.pairs))
		x.sets[pair], x.pairs = k, append(x.pairs, pair)
	}
	return k
}

// hash tells sets apart by their legs, whichever comes first.
func (x *setIndex) hash(k int32) (sum uint64) {
	for _, n := range x.pairs[k] {
		if n >= 0 {
			sum += x.list[n].hash
		}
	}
	return sum
}

// leg returns which leg some ways are, -1 if there are none.
func (x *setIndex) leg(w *Ways) int {
	if x.key = legKey(x.key[:0], w); len(x.key) == 0 {
		return -1
	}
	n, ok := x.legs[string(x.key)]
	if !ok {
		n = len(x.list)
		x.legs[string(x.key)] = n
		h := fnv.New64a()
		h.Write(x.key)
		x.list = append(x.list, hashedLeg{leg{ways: w}, h.Sum64()})
	}
	return n
}

// legKey names ways; nothing where there are none.
func legKey(key []byte, w *Ways) []byte {
	if w.spread() {
		key = binary.LittleEndian.AppendUint32(key, uint32(w.From))
		return binary.LittleEndian.AppendUint32(key, uint32(w.To))
	}
	for _, alt := range w.Alternatives {
		key = binary.LittleEndian.AppendUint64(append(key, '|'), math.Float64bits(alt.Share))
		for _, a := range alt.Arcs {
			key = binary.LittleEndian.AppendUint32(key, uint32(a))
		}
	}
	return key
}

// fill works out what crosses the components of a leg, and returns how much that is to keep.
func (l *leg) fill(ev *evidence, ps PathSets) (size int) {
	w, shares := l.ways, tally{of: ev.shares}
	if w.spread() {
		ev.spread(w.From, w.To, ps, &shares)
	} else {
		sum := 0.0
		for _, a := range w.Alternatives {
			sum += a.Share
		}
		l.listed = make([]way, len(w.Alternatives))
		for i, a := range w.Alternatives {
			x := way{a.Share / sum, ev.componentsOf(a.Arcs)}
			l.listed[i], size = x, size+len(x.comps)
			for k, c := range x.comps {
				if k == 0 || c != x.comps[k-1] {
					shares.add(c, x.share)
				}
			}
		}
	}
	l.shares = shares.take()
	return size + len(l.shares)
}
