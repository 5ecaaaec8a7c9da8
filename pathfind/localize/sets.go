package localize

import (
	"cmp"
	"math"
	"slices"

	"whichlink/graphs"
)

// PathSets says how flows are spread over the equal-cost paths between two nodes. Which way a flow takes from a node on depends on its
// destination alone; all paths of a pair are of the same length, the least there is. It is asked from several goroutines at a time.
type PathSets interface {
	// Hops returns the number of arcs on each path from one node to another, 0 if there is none.
	Hops(from, to graphs.NodeID) int
	// Paths returns the number of paths from one node to another.
	Paths(from, to graphs.NodeID) float64
	// Reach returns the share of the flows on their way from one node to another that pass a third.
	Reach(from, via, to graphs.NodeID) float64
	// Step returns the share of the flows on their way to a node that leave the tail of an arc by it.
	Step(a graphs.ArcID, to graphs.NodeID) float64
}

// Flows of which only the path set is known and that lost nothing say little each, and are many. They are never enumerated by path: only
// where the faults of a hypothesis lie on the paths of a pair matters. Let w be the share of flows of n packets that pass a fault
// unharmed, exp(-n h). Then the share that passes all faults i on the way unharmed is 1 + sum F_i (w_i - 1), where F_i is what arrives at i:
// F_i = P(i) + sum over earlier j of F_j (w_j - 1) P(i after j). Background does not matter to it, since all paths are of the same length.

// mostPaths is how many paths a pair may have for its flows to be of use. Those that lost packets have to be listed path by path; where they cannot
// be, what the others tell would make good arcs of bad ones.
const mostPaths = 1024

// A bunch is flows of one pair with about as many packets each.
type bunch struct {
	size   int32 // index into packets
	copies float32
}

// A pair is two nodes and the flows between them without loss.
type pair struct {
	from, to graphs.NodeID
	sites    []site  // where the components of the loaded hypothesis lie on its paths, in the order of the way
	value    float64 // log-likelihood
}

// A pass is a pair of which a component lies on the paths.
type pass struct {
	pair  int32
	share float32
}

// weighted is flows without loss, of as many packets each, a share of which passes a component.
type weighted struct {
	size   int32
	share  float64
	copies float64
}

// A setTable holds the evidence of flows without loss whose path set is known.
type setTable struct {
	ix      *index
	ps      PathSets
	pairs   []pair
	bunches []bunch     // of all pairs, one after the other: see bunchesOf
	first   []int32     // by pair, the first of its bunches
	packets []float64   // sizes of bunches, ascending
	top     int32       // more than the greatest size that occurs
	ranges  []pairRange // by destination
	// Pairs by sender; nil until asked for.
	fromRanges []pairRange
	bySender   []int32

	lists     [][]pass   // by arc, then by node: its pairs, ascending; nil until asked for
	allListed bool       // none is
	flows     []*passing // by component, likewise
	adding    summing
	list      []pass // scratch
	// By arc, then by node: by size the sum of shares times copies, then by size that of shares squared; nil where nothing passes. And how many pairs of
	// each half pass. And the sums by component, once asked for.
	sums    [][]float64
	count   [2][]int32
	passing int // the sum of count
	looked  int // how many pairs were looked at for passes
	totals  [][]float64
	none    []float64 // zeros

	sum            float64 // log-likelihood under the loaded hypothesis
	busy           []int32 // the pairs that have sites, in any order
	busyAt         []int32 // by pair: its place there, and one; else 0
	version        int     // counts the changes of what is loaded
	ordered        int     // the version for which busy is ascending
	shared         []sharing
	besides        [remembered]besides
	scratch        []site
	arrived, after []float64
	unhurt, goOn   siteMemo             // of the flows of a size, the log of the share that likelihood asks for, and the share that unharmed does
	tables         map[uint64][]float64 // exp(-n h) - 1 by size, for the hazards of the grid
	fixed          [cells][]float64     // likewise, for fixed hazards
	overs          []*[cells]float64    // by component, at fixed hazards; 0 where not known: see over
}

// A pairRange is the pairs of one destination, or of one sender.
type pairRange struct {
	end         graphs.NodeID
	first, last int32
}

// sizeOf returns the bunch that flows of n packets are counted in.
func sizeOf(n int) int32 {
	if n < len(sizes) {
		return sizes[n]
	}
	return int32(min(4*(math.Log2(float64(n))-3)+7.5, 150))
}

var sizes = smallSizes()

func smallSizes() (of [512]int32) {
	for n := range of {
		of[n] = int32(n - 1)
		if n > 8 {
			of[n] = int32(4*(math.Log2(float64(n))-3) + 7.5)
		}
	}
	return of
}

// newSetTable sorts the flows without loss by pair. It needs them in any order.
func newSetTable(ix *index, ps PathSets, loose []looseFlow) *setTable {
	t := &setTable{ix: ix, ps: ps, tables: map[uint64][]float64{}}
	t.lists, t.flows = make([][]pass, int(ix.links)+len(ix.host)), make([]*passing, ix.n)
	t.totals, t.shared = make([][]float64, ix.n), make([]sharing, ix.n)
	t.overs = make([]*[cells]float64, ix.n)
	for s := range int32(152) {
		n := float64(s + 1)
		if s >= 8 {
			n = math.Exp2(float64(s-7)/4 + 3)
		}
		t.packets = append(t.packets, n)
	}
	loose = sortLoose(ix, loose)
	pairs := 0
	for i := range loose {
		if i == 0 || loose[i].key>>8 != loose[i-1].key>>8 {
			pairs++
		}
	}
	t.pairs, t.first = make([]pair, 0, pairs), make([]int32, 0, pairs+1)
	t.bunches = make([]bunch, 0, len(loose))
	for i := 0; i < len(loose); {
		key := loose[i].key >> 8
		p := pair{to: graphs.NodeID(key >> 28), from: graphs.NodeID(key & (1<<28 - 1))}
		t.first = append(t.first, int32(len(t.bunches)))
		for i < len(loose) && loose[i].key>>8 == key {
			size, n := int32(loose[i].key&255), 0
			for same := loose[i].key; i < len(loose) && loose[i].key == same; i++ {
				n += loose[i].sent
			}
			t.top = max(t.top, size+1)
			t.bunches = append(t.bunches, bunch{size, float32(float64(n) / t.packets[size])})
		}
		t.pairs = append(t.pairs, p)
	}
	t.first = append(t.first, int32(len(t.bunches)))
	t.none = make([]float64, 2*t.top)
	t.busyAt = make([]int32, len(t.pairs))
	for cell, h := range fixed {
		t.fixed[cell] = t.lose(h)
	}
	t.walk()
	return t
}

// thin divides packets by the length of the runs that they are lost in.
func (t *setTable) thin(run float64) {
	for i := range t.packets {
		t.packets[i] /= run
	}
	for cell, h := range fixed {
		t.fixed[cell] = t.lose(h)
	}
}

// bunchesOf returns the bunches of a pair.
func (t *setTable) bunchesOf(pair int32) []bunch { return t.bunches[t.first[pair]:t.first[pair+1]] }

// A looseFlow is one flow without loss of which the path set is known. Its key orders flows by pair, destination first, and size.
type looseFlow struct {
	key  uint64
	sent int
}

func newLooseFlow(from, to graphs.NodeID, sent int) looseFlow {
	return looseFlow{uint64(to)<<36 | uint64(from)<<8 | uint64(sizeOf(sent)), sent}
}

// sortLoose sorts flows by key: by sender, then by receiver with that order kept, then the few of a pair by size.
func sortLoose(ix *index, loose []looseFlow) []looseFlow {
	sorted := make([]looseFlow, len(loose))
	for _, shift := range [...]int{8, 36} {
		next := make([]int32, len(ix.host)+1)
		for i := range loose {
			next[loose[i].key>>shift&(1<<28-1)+1]++
		}
		for i := range ix.host {
			next[i+1] += next[i]
		}
		for i := range loose {
			at := &next[loose[i].key>>shift&(1<<28-1)]
			sorted[*at] = loose[i]
			*at++
		}
		loose, sorted = sorted, loose
	}
	for i := 0; i < len(loose); {
		j := i + 1
		for j < len(loose) && loose[j].key>>8 == loose[i].key>>8 {
			j++
		}
		if j-i < 16 {
			for k := i + 1; k < j; k++ { // insertion sort
				x, at := loose[k], k
				for ; at > i && loose[at-1].key > x.key; at-- {
					loose[at] = loose[at-1]
				}
				loose[at] = x
			}
		} else {
			slices.SortFunc(loose[i:j], func(a, b looseFlow) int { return cmp.Compare(a.key, b.key) })
		}
		i = j
	}
	return loose
}

// lose returns exp(-n h) - 1 by size of flows.
func (t *setTable) lose(h float64) []float64 {
	key := math.Float64bits(h)
	if x := t.tables[key]; x != nil {
		return x
	}
	if len(t.tables) > 1<<10 {
		clear(t.tables)
	}
	x := make([]float64, len(t.packets))
	for i, n := range t.packets[:t.top] {
		x[i] = exp(-n*h) - 1
	}
	t.tables[key] = x
	return x
}

// over bounds at from above, roughly, at a hazard some part of the way from a fixed one to the next: log(1+x) is less than x - x^2/2, and the
// log-likelihood of what arrives is convex in a hazard, so that it lies below its chords.
func (t *setTable) over(c int32, cell int, part float64) float64 {
	if t.overs[c] == nil {
		t.overs[c] = new([cells]float64)
	}
	known := t.overs[c]
	for k := cell; k < cell+2; k++ {
		if known[k] == 0 {
			known[k] = t.overAt(c, k)
		}
	}
	return known[cell] + part*(known[cell+1]-known[cell])
}

// overAll adds the bounds at hazards, ascending, to others as far as they matter: where those are above a least. The more hazard the less arrives.
func (t *setTable) overAll(c int32, at []over, least float64, g []float64) {
	last := 0.0
	for i := range at {
		if g[i]+last > least {
			last = t.over(c, at[i].cell, at[i].part)
		}
		g[i] += last
	}
}

func (t *setTable) overAt(c int32, cell int) float64 {
	soft, square := t.sumsOf(c)
	lose, sum := t.fixed[cell], 0.0
	for i, w := range soft {
		if w > 0 {
			sum += lose[i] * (w - 0.5*square[i]*lose[i])
		}
	}
	return 0.9 * sum
}

// fixed are the hazards at which over is reckoned: none, and from 2^-24 on, two to an octave.
var fixed = fixedHazards()

const cells = 2*(24+4) + 2

func fixedHazards() (at [cells]float64) {
	for k := 1; k < cells; k++ {
		at[k] = math.Exp2(float64(k-1)/2 - 24)
	}
	return at
}

// cellOf returns between which fixed hazards one lies, and what part of the way from the first to the next.
func cellOf(h float64) (cell int, part float64) {
	for cell+2 < cells && fixed[cell+1] <= h {
		cell++
	}
	return cell, (h - fixed[cell]) / (fixed[cell+1] - fixed[cell])
}

// crosses reports whether an arc lies on the paths of any pair.
func (t *setTable) crosses(a int32) bool {
	return t.sums[a] != nil
}
