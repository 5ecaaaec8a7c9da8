package generate

import (
	"math/bits"
	"math/rand/v2"
	"slices"
)

// A wiring says which of n switches are joined: a simple graph as a bit matrix, and the links in the order in which they were laid.
type wiring struct {
	n     int
	words int // of a row
	rows  []uint64
	free  []int // ports that are left, by switch
	links [][2]int
}

func newWiring(n, degree int) *wiring {
	w := &wiring{n: n, words: (n + 63) / 64, free: make([]int, n)}
	w.rows = make([]uint64, n*w.words)
	for i := range w.free {
		w.free[i] = degree
	}
	return w
}

func (w *wiring) joined(x, y int) bool { return w.rows[x*w.words+y/64]>>(y%64)&1 == 1 }

// toggle joins two switches or parts them.
func (w *wiring) toggle(x, y int) {
	w.rows[x*w.words+y/64] ^= 1 << (y % 64)
	w.rows[y*w.words+x/64] ^= 1 << (x % 64)
}

func (w *wiring) join(x, y int) {
	w.toggle(x, y)
	w.free[x]--
	w.free[y]--
	w.links = append(w.links, [2]int{x, y})
}

// fill joins random switches with free ports until none is left. Where it gets stuck, it takes a random link out and puts its ends on
// free ports, as Jellyfish does. It gives up, which is rare, when no link can be taken.
func (w *wiring) fill(rng *rand.Rand) bool {
	open := make([]int, 0, w.n)
	for x, f := range w.free {
		if f > 0 {
			open = append(open, x)
		}
	}
	shut := func(xs ...int) {
		open = slices.DeleteFunc(open, func(x int) bool { return w.free[x] == 0 && slices.Contains(xs, x) })
	}
	for len(open) > 0 {
		x, y, ok := w.pick(rng, open)
		if ok {
			w.join(x, y)
			shut(x, y)
			continue
		}
		// Whoever has free ports is joined to all others who have. Either one has two, or two have one each.
		x = open[rng.IntN(len(open))]
		y = x
		if w.free[x] < 2 {
			if len(open) < 2 {
				return false
			}
			for y == x {
				y = open[rng.IntN(len(open))]
			}
		}
		if !w.swap(rng, x, y) {
			return false
		}
		shut(x, y)
	}
	return true
}

// pick finds two open switches at random that are not joined. A few draws find them as long as there are many; then all are listed.
func (w *wiring) pick(rng *rand.Rand, open []int) (int, int, bool) {
	for range 16 {
		x, y := open[rng.IntN(len(open))], open[rng.IntN(len(open))]
		if x != y && !w.joined(x, y) {
			return x, y, true
		}
	}
	var pairs [][2]int
	for i, x := range open {
		for _, y := range open[:i] {
			if !w.joined(x, y) {
				pairs = append(pairs, [2]int{x, y})
			}
		}
	}
	if len(pairs) == 0 {
		return 0, 0, false
	}
	p := pairs[rng.IntN(len(pairs))]
	return p[0], p[1], true
}

// swap replaces a random link a--b by x--a and y--b; x and y may be the same switch.
func (w *wiring) swap(rng *rand.Rand, x, y int) bool {
	for _, i := range rng.Perm(len(w.links)) {
		a, b := w.links[i][0], w.links[i][1]
		if rng.IntN(2) == 1 {
			a, b = b, a
		}
		if a == x || a == y || b == x || b == y || w.joined(x, a) || w.joined(y, b) {
			continue
		}
		w.toggle(a, b)
		w.links[i] = [2]int{x, a}
		w.toggle(x, a)
		w.links = append(w.links, [2]int{y, b})
		w.toggle(y, b)
		w.free[x]--
		w.free[y]--
		return true
	}
	return false
}

// invert joins all that are not joined and parts all that are.
func (w *wiring) invert() {
	for x := range w.n {
		for y := range x {
			w.toggle(x, y)
		}
	}
}

func (w *wiring) connected() bool {
	seen := make([]bool, w.n)
	seen[0] = true
	queue := []int{0}
	for i := 0; i < len(queue); i++ {
		row := w.rows[queue[i]*w.words:][:w.words]
		for k, word := range row {
			for ; word != 0; word &= word - 1 {
				if y := k*64 + bits.TrailingZeros64(word); !seen[y] {
					seen[y] = true
					queue = append(queue, y)
				}
			}
		}
	}
	return len(queue) == w.n
}
