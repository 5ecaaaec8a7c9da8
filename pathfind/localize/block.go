package localize

import (
	"maps"
	"math"
	"math/bits"
	"slices"
)

// A block is components whose presence depends on each other. It is made of smaller ones, independent of each other but for what was seen of them together: what was not
// seen is as likely as its parts say. Else many hypotheses that were seen with a fault that may lie at many places, and few without, would convict it.
type block struct {
	comps []int32 // ascending
	in    []int32 // those of the mode
	of    []*block
	// one tells that no two of the smaller ones differ from the mode at once.
	one    bool
	weight float64 // of a single component: that it is otherwise than in the mode, beside that it is not
	groups []group
	sum    float64 // of all weights, once known
}

// A group is what was seen of some of the smaller blocks together.
type group struct {
	touched uint64 // which ones
	states  []joint
	by      map[uint64]float64 // beyond, by the key of what differs
}

// A joint is a state of several blocks at once.
type joint struct {
	differs []int32
	beyond  float64 // its weight beyond what the parts say
}

// mostBlocks bounds how many blocks one may be made of.
const mostBlocks = 64

// A builder makes blocks of what was seen.
type builder struct {
	*search
	mode   *hypothesis
	of     map[int32]*block         // the greatest that a component is in
	weight func(key uint64) float64 // of what was seen, beside the mode's
}

// root returns the block that a component is in.
func (b *builder) root(c int32) *block {
	x := b.of[c]
	if x == nil {
		x = &block{comps: []int32{c}}
		if _, in := slices.BinarySearch(b.mode.comps, c); in {
			x.in = x.comps
		}
		b.of[c] = x
	}
	return x
}

// roots returns the blocks that components are in, in the order of these.
func (b *builder) roots(comps []int32) []*block {
	var roots []*block
	for _, c := range comps {
		if x := b.root(c); !slices.Contains(roots, x) {
			roots = append(roots, x)
		}
	}
	return roots
}

// join makes one block of several.
func (b *builder) join(of []*block, one bool) *block {
	x := &block{of: of, one: one}
	for _, y := range of {
		x.comps, x.in = append(x.comps, y.comps...), append(x.in, y.in...)
	}
	slices.Sort(x.comps)
	slices.Sort(x.in)
	for _, c := range x.comps {
		b.of[c] = x
	}
	return x
}

// has reports whether a block has a component.
func (x *block) has(c int32) bool {
	_, ok := slices.BinarySearch(x.comps, c)
	return ok
}

// part returns those of some components that a block has.
func (x *block) part(comps []int32) []int32 {
	var part []int32
	for _, c := range comps {
		if x.has(c) {
			part = append(part, c)
		}
	}
	return part
}

// joinRivals joins single differences which nothing was seen of together, though that would matter if they did not depend on each other: components
// that explain the same losses are faulty in place of each other, and none of them is the likelier for there being many.
func (b *builder) joinRivals(all []neighbour) {
	for i, n := range all {
		if len(n.differs) > 1 {
			break // they are in the order of their numbers
		}
		for _, m := range all[:i] {
			if b.rivals(n, m) {
				if x, y := b.root(m.differs[0]), b.root(n.differs[0]); x != y {
					b.joinOne(x, y)
				}
			}
		}
	}
}

// joinOne makes one block of two that do not both differ from the mode.
func (b *builder) joinOne(x, y *block) {
	var of []*block
	for _, z := range [...]*block{x, y} {
		if z.one {
			of = append(of, z.of...)
		} else {
			of = append(of, z)
		}
	}
	if len(of) > mostBlocks {
		of = []*block{x, y}
	}
	b.join(of, true)
}

// rivals reports whether nothing was seen of two single differences together though they matter, and they are about the same losses.
func (b *builder) rivals(n, m neighbour) bool {
	if n.weight*m.weight < doubtful {
		return false
	}
	if _, ok := b.by[b.mode.keyBut(slices.Concat(n.differs, m.differs))]; ok {
		return false
	}
	c, d := n.differs[0], m.differs[0]
	b.near(c)
	return 2*b.shared[d] > min(b.lossy[c], b.lossy[d])
}

// joinDependent joins what differs from the mode at once and depends on each other: the weight of all is not the product of each one's.
func (b *builder) joinDependent(all []neighbour) {
	for _, n := range all {
		roots := b.roots(n.differs)
		if len(roots) == 1 {
			roots[0].add(b, n.differs, n.weight)
		}
		if len(roots) == 1 || len(roots) > mostBlocks {
			continue
		}
		expected := 1.0
		for _, x := range roots {
			expected *= x.estimate(b, x.part(n.differs))
		}
		if expected == 0 || max(n.weight, expected) >= doubtful && math.Abs(math.Log(n.weight/expected)) > depends {
			b.join(roots, false).add(b, n.differs, n.weight)
		}
	}
}

// touched returns which of the smaller blocks components are in.
func (x *block) touched(comps []int32) (which uint64) {
	for _, c := range comps {
		for i, y := range x.of {
			if y.has(c) {
				which |= 1 << i
				break
			}
		}
	}
	return which
}

// add notes the weight of what differs from the mode.
func (x *block) add(b *builder, differs []int32, weight float64) {
	if len(x.of) == 0 {
		x.weight = weight
		return
	}
	touched := x.touched(differs)
	if bits.OnesCount64(touched) == 1 {
		x.of[bits.TrailingZeros64(touched)].add(b, differs, weight)
		return
	}
	beyond := weight - x.implied(b, differs, touched)
	i := slices.IndexFunc(x.groups, func(g group) bool { return g.touched == touched })
	if i < 0 {
		i = len(x.groups)
		x.groups = append(x.groups, group{touched: touched, by: map[uint64]float64{}})
	}
	g := &x.groups[i]
	g.states = append(g.states, joint{differs, beyond})
	g.by[keyOf(differs)] += beyond
}

// estimate returns the weight of what differs from the mode, as it was seen or as its parts say.
func (x *block) estimate(b *builder, differs []int32) float64 {
	if w := b.weight(b.mode.keyBut(differs)); w > 0 || len(x.of) == 0 {
		return w
	}
	return x.implied(b, differs, x.touched(differs))
}

// implied returns the weight of what differs from the mode as its parts say.
func (x *block) implied(b *builder, differs []int32, touched uint64) float64 {
	sum := 0.0
	if !x.one || bits.OnesCount64(touched) == 1 {
		sum = x.product(b, differs, touched)
	}
	for i := range x.groups {
		g := &x.groups[i]
		if g.touched&^touched != 0 {
			continue
		}
		key := uint64(0)
		for _, c := range differs {
			if x.touched([]int32{c})&g.touched != 0 {
				key += scramble(uint64(c))
			}
		}
		if beyond := g.by[key]; beyond != 0 && !(x.one && g.touched != touched) {
			sum += beyond * x.product(b, differs, touched&^g.touched)
		}
	}
	return max(sum, 0)
}

// product returns what the parts in some blocks come to if they are independent.
func (x *block) product(b *builder, differs []int32, touched uint64) float64 {
	all := 1.0
	for i, y := range x.of {
		if touched>>i&1 == 1 {
			all *= y.estimate(b, y.part(differs))
		}
	}
	return all
}

// A mass is how much weight the states have that hold nothing of what is asked for, and those that hold some of it.
type mass struct{ none, some float64 }

func (m *mass) add(holds bool, weight float64) {
	if holds {
		m.some += weight
	} else {
		m.none += weight
	}
}

// times returns what two that are independent of each other come to.
func (m mass) times(o mass) mass {
	return mass{m.none * o.none, m.some*(o.none+o.some) + m.none*o.some}
}

// known is the mass of what is known.
func known(holds bool) (m mass) {
	m.add(holds, 1)
	return m
}

// A question is what is asked for.
type question map[int32]bool

// holds reports whether some of it is among components.
func (q question) holds(comps []int32) bool {
	return slices.ContainsFunc(comps, func(c int32) bool { return q[c] })
}

// weigh returns the weights of all states of a block.
func (x *block) weigh(q question) mass {
	if x.sum > 0 && !q.holds(x.comps) {
		return mass{none: x.sum}
	}
	if len(x.of) == 0 {
		m, in := known(q.holds(x.in)), len(x.in) > 0
		m.add(!in && q[x.comps[0]], x.weight)
		return m
	}
	parts := make([]mass, len(x.of))
	for i, y := range x.of {
		parts[i] = y.weigh(q)
	}
	var all mass
	if x.one {
		all = x.weighOne(parts, q)
	} else {
		all = known(false)
		for _, p := range parts {
			all = all.times(p)
		}
	}
	for i := range x.groups {
		m := x.weighGroup(&x.groups[i], parts, q)
		all.none, all.some = all.none+m.none, all.some+m.some
	}
	return mass{max(all.none, 0), max(all.some, 0)} // more may have been taken away than there was
}

// weighGroup does so for what was seen of some smaller blocks together, with whatever may be of the others.
func (x *block) weighGroup(g *group, parts []mass, q question) mass {
	var in []int32
	rest := known(false)
	for i, y := range x.of {
		switch {
		case g.touched>>i&1 == 1:
			in = append(in, y.in...)
		case x.one:
			rest = rest.times(known(q.holds(y.in)))
		default:
			rest = rest.times(parts[i])
		}
	}
	slices.Sort(in)
	var seen mass
	for _, s := range g.states {
		seen.add(q.holds(difference(in, s.differs)), s.beyond)
	}
	return seen.times(rest)
}

// weighOne does so for a block of which no two parts differ from the mode at once.
func (x *block) weighOne(parts []mass, q question) mass {
	all := known(q.holds(x.in))
	for i, y := range x.of {
		others := slices.ContainsFunc(x.of, func(z *block) bool { return z != y && q.holds(z.in) })
		m := parts[i]
		m.add(q.holds(y.in), -1) // the mode, which is counted
		all = mass{all.none, all.some + m.some}
		all.add(others, m.none)
	}
	return all
}

// factored returns the blocks, with their sums.
func (b *builder) factored() *factored {
	for _, x := range b.of {
		if x.sum == 0 {
			x.total()
		}
	}
	return &factored{b.mode, b.of}
}

// total sums up the weights of a block, and of those that it is made of.
func (x *block) total() {
	for _, y := range x.of {
		y.total()
	}
	x.sum = 0
	x.sum = x.weigh(nil).none
}

// none returns the probability that nothing is faulty of what is asked for.
func (f *factored) none(q question) float64 {
	p := 1.0
	var done []*block
	for _, c := range slices.Sorted(maps.Keys(q)) {
		x := f.blocks[c]
		if x == nil {
			if _, in := slices.BinarySearch(f.mode.comps, c); in {
				return 0
			}
			continue
		}
		if slices.Contains(done, x) {
			continue
		}
		done = append(done, x)
		m := x.weigh(q)
		p *= m.none / max(m.none+m.some, 1e-300) // which is x.sum, but where more was taken away than there was
	}
	return p
}

// holds returns the probability that a member of a class is faulty.
func (f *factored) holds(class []int32) float64 {
	q := question{}
	for _, c := range class {
		q[c] = true
	}
	return 1 - f.none(q)
}

// healthy returns the probability that nothing is faulty.
func (f *factored) healthy() float64 {
	q := question{}
	for _, c := range f.mode.comps {
		q[c] = true
	}
	for c := range f.blocks {
		q[c] = true
	}
	return f.none(q)
}
