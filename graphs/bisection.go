package graphs

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// A Bisection is a cut of the links between switches that leaves as many host links on one side as on the other, or as many switches
// where there are no hosts, but for less than the difference that moving one switch makes. Switches without hosts stand on
// either side.
type Bisection struct {
	// ByHosts tells whether the halves are halves of the hosts' links, and not of the switches.
	ByHosts bool
	// Sides are how many host links (or switches) each side has.
	Sides [2]int
	// Cut is how many links the best cut found has: that of the bisection has as many at most.
	Cut int
	// Bound is how many links every cut has that is no less even: the spectral bound (Donath and Hoffman 1973).
	Bound float64
}

// Bisection estimates the bisection of the switches: from above by local search, from below by the spectrum. It reports false
// where there is nothing to cut.
func (f *Fabric) Bisection() (Bisection, bool) {
	m := f.mesh()
	weight, byHosts := m.weights()
	bearing, total := 0, 0
	for _, w := range weight {
		total += w
		if w > 0 {
			bearing++
		}
	}
	if bearing < 2 {
		return Bisection{}, false
	}
	b := Bisection{ByHosts: byHosts, Cut: math.MaxInt}
	c := newCutter(m, weight)
	stiffness, order := 0.0, []float64(nil)
	if m.connected() {
		stiffness, order = m.stiffness(weight)
	}
	for _, start := range c.starts(order) {
		c.place(start)
		c.improve()
		if c.cut < b.Cut {
			b.Cut, b.Sides = c.cut, c.sides
		}
	}
	uneven := float64(b.Sides[0] - b.Sides[1])
	b.Bound = stiffness * (float64(total) - uneven*uneven/float64(total)) / 4
	return b, true
}

// stiffness returns the least value that the sum of (x[i]-x[j])² over all links can have, where the weighted mean of x is 0 and that of x²
// times the whole weight is 1; and the x for which it has that value, which is Fiedler's vector where all weights are equal.
func (m *mesh) stiffness(weight []int) (float64, []float64) {
	// Its inverse is the largest eigenvalue of √W L⁺ √W, where L is the Laplacian and W the diagonal matrix of weights.
	n := m.size()
	root := make([]float64, n)
	for i, w := range weight {
		root[i] = math.Sqrt(float64(w))
	}
	trivial := slices.Clone(root)
	normalise(trivial)
	x, right := make([]float64, n), make([]float64, n)
	apply := func(to, y []float64) {
		for i := range right {
			right[i] = root[i] * y[i]
		}
		m.solveLaplacian(x, right)
		for i := range to {
			to[i] = root[i] * x[i]
		}
	}
	e := lanczos(n, trivial, apply)
	apply(make([]float64, n), e.vector)
	if e.largest <= 0 {
		return 0, nil
	}
	return 1 / e.largest, slices.Clone(x)
}

// solveLaplacian finds the x for which the sum of x[i]-x[j] over the links of i is right[i], everywhere; right sums to 0. It is the method of conjugate
// gradients, with the degrees for a preconditioner.
func (m *mesh) solveLaplacian(x, right []float64) {
	n := m.size()
	clear(x)
	residual, scaled, direction, product := slices.Clone(right), make([]float64, n), make([]float64, n), make([]float64, n)
	goal := 1e-12 * math.Sqrt(dot(right, right))
	before := 0.0
	for step := range 4 * n {
		if math.Sqrt(dot(residual, residual)) <= goal {
			return
		}
		for i := range scaled {
			scaled[i] = residual[i] / float64(max(1, m.degree(i)))
		}
		now := dot(residual, scaled)
		for i := range direction {
			if step == 0 {
				direction[i] = scaled[i]
			} else {
				direction[i] = scaled[i] + now/before*direction[i]
			}
		}
		before = now
		for i := range product {
			product[i] = 0
			for _, j := range m.neighbours(i) {
				product[i] += direction[i] - direction[j]
			}
		}
		along := now / dot(direction, product)
		for i := range x {
			x[i] += along * direction[i]
			residual[i] -= along * product[i]
		}
	}
}

// A cutter improves a cut by moving switches one by one, each once in a pass, and keeping the best of what it passes through
// (Fiduccia and Mattheyses, DAC 1982).
type cutter struct {
	m       *mesh
	weight  []int
	largest int // weight
	total   int

	side  []uint8
	sides [2]int // weight
	cut   int

	// The switches that have not been moved in this pass stand in lists by side and by what moving them gains.
	gain       []int32
	spread     int32 // largest gain there can be
	heads      [2][]int32
	before     []int32
	after      []int32
	top        [2]int32
	moved      []bool
	moves      []int32
	randomness *rand.Rand
}

func newCutter(m *mesh, weight []int) *cutter {
	n := m.size()
	c := &cutter{
		m: m, weight: weight, side: make([]uint8, n), gain: make([]int32, n), before: make([]int32, n), after: make([]int32, n), moved: make([]bool, n),
		randomness: rand.New(rand.NewPCG('b', uint64(n))),
	}
	for i := range n {
		c.spread = max(c.spread, int32(m.degree(i)))
		c.largest = max(c.largest, weight[i])
		c.total += weight[i]
	}
	for s := range c.heads {
		c.heads[s] = make([]int32, 2*c.spread+1)
	}
	return c
}

// chances is how many starts of the search chance picks.
const chances = 4

// starts returns orders of the switches, of which the first half makes one side: by Fiedler's vector, by id (for who makes a fabric puts together
// what belongs together), and some by chance.
func (c *cutter) starts(fiedler []float64) [][]int32 {
	byID := make([]int32, c.m.size())
	for i := range byID {
		byID[i] = int32(i)
	}
	starts := [][]int32{byID}
	if fiedler != nil {
		order := slices.Clone(byID)
		slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(fiedler[a], fiedler[b]) })
		starts = append(starts, order)
	}
	for range chances {
		order := slices.Clone(byID)
		c.randomness.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		starts = append(starts, order)
	}
	return starts
}

// place puts switches on one side, in order, until it has half of the weight.
func (c *cutter) place(order []int32) {
	c.sides = [2]int{0, c.total}
	for _, i := range order {
		c.side[i] = 1
		if w := c.weight[i]; 2*(c.sides[0]+w) <= c.total+c.largest && 2*c.sides[0] < c.total {
			c.side[i] = 0
			c.sides[0] += w
			c.sides[1] -= w
		}
	}
	c.cut = 0
	for i := range c.side {
		for _, j := range c.m.neighbours(i) {
			if int(j) > i && c.side[i] != c.side[j] {
				c.cut++
			}
		}
	}
}

func (c *cutter) improve() {
	for c.pass() {
	}
}

// pass moves every switch once at most, then takes back what came after the best cut, and reports whether that is better than before.
func (c *cutter) pass() bool {
	c.list()
	c.moves = c.moves[:0]
	was, best, kept := c.cut, c.cut, 0
	for {
		i := c.choose()
		if i == None {
			break
		}
		c.unlist(i)
		c.moved[i] = true
		c.move(i)
		c.moves = append(c.moves, i)
		if c.cut < best && c.even() {
			best, kept = c.cut, len(c.moves)
		}
	}
	for _, i := range slices.Backward(c.moves[kept:]) {
		c.move(i)
	}
	return best < was
}

// even reports whether the sides differ by less than the difference that moving one switch makes.
func (c *cutter) even() bool { return max(c.sides[0]-c.sides[1], c.sides[1]-c.sides[0]) < 2*c.largest }

// list puts all switches into the lists.
func (c *cutter) list() {
	clear(c.moved)
	for s := range c.heads {
		for i := range c.heads[s] {
			c.heads[s][i] = None
		}
		c.top[s] = 0
	}
	for i := range c.side {
		c.gain[i] = 0
		for _, j := range c.m.neighbours(i) {
			c.gain[i] += c.gains(i, int(j))
		}
		c.enlist(int32(i))
	}
}

// gains returns by how much a link from i to j lessens the cut when i is moved.
func (c *cutter) gains(i, j int) int32 {
	switch {
	case i == j:
		return 0
	case c.side[i] != c.side[j]:
		return 1
	}
	return -1
}

func (c *cutter) enlist(i int32) {
	s, at := c.side[i], c.gain[i]+c.spread
	first := c.heads[s][at]
	c.before[i], c.after[i] = None, first
	if first != None {
		c.before[first] = i
	}
	c.heads[s][at] = i
	c.top[s] = max(c.top[s], at)
}

func (c *cutter) unlist(i int32) {
	b, a := c.before[i], c.after[i]
	if b == None {
		c.heads[c.side[i]][c.gain[i]+c.spread] = a
	} else {
		c.after[b] = a
	}
	if a != None {
		c.before[a] = b
	}
}

// choose returns the switch to be moved next: of those at the tops of the lists whose side can spare them, the one that gains more.
func (c *cutter) choose() int32 {
	best := int32(None)
	for s := range c.heads {
		for c.top[s] > 0 && c.heads[s][c.top[s]] == None {
			c.top[s]--
		}
		i := c.heads[s][c.top[s]]
		if i == None || c.sides[1-s]-c.sides[s]+2*c.weight[i] > 2*c.largest && c.weight[i] > 0 {
			continue
		}
		if best == None || c.gain[i] > c.gain[best] || c.gain[i] == c.gain[best] && c.sides[s] > c.sides[1-s] {
			best = i
		}
	}
	return best
}

// move takes a switch to the other side. The lists follow, but for switches that were moved already.
func (c *cutter) move(i int32) {
	s := c.side[i]
	c.side[i] = 1 - s
	c.sides[s] -= c.weight[i]
	c.sides[1-s] += c.weight[i]
	c.cut -= int(c.gain[i])
	c.gain[i] = -c.gain[i]
	for _, j := range c.m.neighbours(int(i)) {
		if j == i {
			continue
		}
		if !c.moved[j] {
			c.unlist(j)
		}
		c.gain[j] += 2 * c.gains(int(j), int(i))
		if !c.moved[j] {
			c.enlist(j)
		}
	}
}
