package plan

import "whichlink/graphs"

// A tally keeps, for every arc, the distribution of the number of crossings as far as it matters: the probability of each count
// below c. Flows choose their paths independently, so adding one is a step of a Poisson binomial distribution.
type tally struct {
	c       int
	exactly []uint32 // c for each arc, parts of one
	lacking []uint32 // their sum: the probability of fewer than c crossings
	sum     []uint64 // expected crossings, parts of one
	missing uint64   // sum of lacking: expected arcs with fewer than c crossings
}

func newTally(arcs, c int) *tally {
	t := &tally{c: c, exactly: make([]uint32, arcs*c), lacking: make([]uint32, arcs), sum: make([]uint64, arcs), missing: uint64(arcs) * one}
	for a := range arcs {
		t.exactly[a*c], t.lacking[a] = one, one
	}
	return t
}

func (t *tally) add(x crossing) {
	exactly := t.exactly[int(x.arc)*t.c:][:t.c]
	p := uint64(x.p)
	var sum, carry uint64
	for i, was := range exactly {
		moved := uint64(was) * p / one
		exactly[i] = uint32(uint64(was) - moved + carry)
		carry = moved
		sum += uint64(exactly[i])
	}
	t.missing = t.missing - uint64(t.lacking[x.arc]) + sum
	t.lacking[x.arc] = uint32(sum)
	t.sum[x.arc] += p
}

// closing is the probability of too few crossings, in parts of one, below which an arc far from both hosts is no longer looked at: in a fabric
// of three tiers a flow may cross thousands of arcs, nearly all of which are crossed more than enough by other flows.
const closing = one >> 20

// addBetween adds what a flow crosses between its gates. Arcs that are closed are counted by [tally.settle].
func (t *tally) addBetween(b between) {
	if b.inner == nil {
		return
	}
	for i, ends := range b.ends {
		for _, x := range ends {
			t.add(crossing{x.of(b.arcs[i]), x.p})
		}
	}
	b.flows++
	for i := 0; i < b.open; {
		x := b.mid[i]
		if t.add(x); t.lacking[x.arc] > closing {
			i++
			continue
		}
		b.open--
		b.mid[i], b.mid[b.open] = b.mid[b.open], x
		b.closed = append(b.closed, b.flows)
	}
}

// settle adds up what was not counted of arcs that are closed, and opens them for another tally.
func (t *tally) settle(w *ways) {
	for _, in := range w.known {
		for i, flows := range in.closed {
			x := in.mid[len(in.mid)-1-i]
			t.sum[x.arc] += uint64(in.flows-flows) * uint64(x.p)
		}
		in.open, in.closed, in.flows = len(in.mid), nil, 0
	}
}

func (t *tally) expected(a graphs.ArcID) float64 { return float64(t.sum[a]) / one }

// gain returns by how much a flow that may cross an arc lessens the expected number of crossings that are missing: the probability of crossing it times the
// probability that a crossing is still missing there.
func (t *tally) gain(x crossing) uint64 { return uint64(x.p) * uint64(t.lacking[x.arc]) >> 20 }

// gainBetween is the gain of all that a flow crosses between its gates.
func (t *tally) gainBetween(b between) uint64 {
	var g uint64
	if b.inner == nil {
		return 0
	}
	for i, ends := range b.ends {
		for _, x := range ends {
			g += t.gain(crossing{x.of(b.arcs[i]), x.p})
		}
	}
	for _, x := range b.mid[:b.open] {
		g += t.gain(x)
	}
	return g
}
