package localize

import (
	"math"
	"slices"
)

const (
	// like is how much less often one is tried in a component's place that looks the same, and alien the likeness below which none is.
	like, alien = 0.15, 0.01
	// wobble is by how much rates are changed, in logarithms, and guessed that by which they are of what takes another's place.
	wobble, guessed = 0.5, 0.3
	// inTurn is how many are tried in a member's place while it is out, and removed how many of them are another component.
	inTurn, removed = 5, 0.75
	// mostBeside bounds for how many components it is remembered what may take their place.
	mostBeside = 1 << 12
	// extreme is the least share of the losses of one that two in its place may have.
	extreme = 0.02
)

// besidersOf returns what may take a component's place: what shares its lossy observations.
func (w *wanderer) besidersOf(c int32) *besiders {
	if b := w.beside[c]; b != nil {
		return b
	}
	b := &besiders{gauged: w.gauge(c)}
	near := slices.Clone(w.near(c))
	slices.Sort(near)
	sum := 0.0
	for _, x := range near {
		if x == c {
			continue
		}
		both := float64(w.shared[x])
		often := both / float64(w.lossy[x]) * both / float64(w.lossy[c])
		if often < alien {
			continue
		}
		if w.looks[x] == w.looks[c] {
			often *= like
		}
		sum += often
		b.of, b.upTo = append(b.of, x), append(b.upTo, sum)
	}
	for i := range b.upTo {
		b.upTo[i] /= sum
	}
	if len(w.beside) >= mostBeside {
		clear(w.beside)
	}
	w.beside[c] = b
	return b
}

// often returns how likely one is to be tried in the place of another.
func (b *besiders) often(c int32) float64 {
	if i, ok := slices.BinarySearch(b.of, c); ok {
		return width(b.upTo, i)
	}
	return 0
}

// gauge returns how many packets are expected to cross a component.
func (w *wanderer) gauge(c int32) float64 {
	n := w.ev.exposure[c] + 1
	soft, _ := w.ev.sets.sumsOf(c)
	for size, flows := range soft {
		n += flows * w.ev.sets.packets[size]
	}
	return n
}

// stride tries to change something.
func (w *wanderer) stride() {
	n := len(w.comps)
	kind := w.rng.Float64()
	switch {
	case kind < 0.12:
		w.arrive()
	case n == 0:
	case kind < 0.24:
		j := w.rng.IntN(n)
		back := math.Log(w.comes(w.comps[j], w.rates[j]) * float64(n))
		w.attempt([]int{j}, nil, nil, back)
	case kind < 0.84:
		w.refill(w.rng.IntN(n))
	case kind < 0.88:
		w.part()
	case n == 1:
	case kind < 0.92:
		w.unite()
	default:
		j, k := w.rng.IntN(n), w.rng.IntN(n-1)
		if k >= j {
			k++
		}
		x, first, back := w.another(j)
		y, second, more := w.another(k)
		if x >= 0 && y >= 0 && x != y {
			w.attempt([]int{j, k}, []int32{x, y}, []float64{first, second}, back+more)
		}
	}
}

// arrive tries one member more.
func (w *wanderer) arrive() {
	c := w.candidates[w.pick(w.births)]
	rate := log(usualRate) + w.rng.NormFloat64()
	w.attempt(nil, []int32{c}, []float64{rate}, -math.Log(w.comes(c, rate)*float64(len(w.comps)+1)))
}

// comes is how likely a component with a rate is the next to come.
func (w *wanderer) comes(c int32, rate float64) float64 {
	i, ok := slices.BinarySearch(w.candidates, c)
	if !ok {
		return 0
	}
	z := rate - log(usualRate)
	return width(w.births, i) * math.Exp(-z*z/2) / math.Sqrt(2*math.Pi)
}

// another returns a component in the place of the j-th member, with a rate that explains about as many losses, and the log of how much likelier the way
// back is to be tried; or one below 0.
func (w *wanderer) another(j int) (x int32, rate, back float64) {
	c := w.comps[j]
	here := w.besidersOf(c)
	if len(here.of) == 0 {
		return -1, 0, 0
	}
	x = here.of[w.pick(here.upTo)]
	there := w.besidersOf(x)
	rate = w.rates[j] + math.Log(here.gauged/there.gauged) + guessed*w.rng.NormFloat64()
	return x, rate, math.Log(there.often(c) / here.often(x))
}

// part tries two in the place of one, of which one may be that, and which share its losses.
func (w *wanderer) part() {
	n := len(w.comps)
	j := w.rng.IntN(n)
	c := w.comps[j]
	x, y := w.drawBeside(c), w.drawBeside(c)
	some := w.rng.Float64()
	if x == y || some < extreme || some > 1-extreme {
		return
	}
	losses := math.Exp(w.rates[j]) * w.besidersOf(c).gauged
	rates := []float64{math.Log(some * losses / w.besidersOf(x).gauged), math.Log((1 - some) * losses / w.besidersOf(y).gauged)}
	w.attempt([]int{j}, []int32{x, y}, rates, -w.parts(c, x, y, some, n))
}

// unite tries one in the place of two.
func (w *wanderer) unite() {
	n := len(w.comps)
	j, k := w.rng.IntN(n), w.rng.IntN(n-1)
	if k >= j {
		k++
	}
	x, y := w.comps[j], w.comps[k]
	c := w.drawBeside(x)
	if w.rng.IntN(2) == 0 {
		c = w.drawBeside(y)
	}
	first, second := math.Exp(w.rates[j])*w.besidersOf(x).gauged, math.Exp(w.rates[k])*w.besidersOf(y).gauged
	some := first / (first + second)
	if some < extreme || some > 1-extreme || w.oftenBeside(c, x)*w.oftenBeside(c, y) == 0 {
		return
	}
	rate := math.Log((first + second) / w.besidersOf(c).gauged)
	w.attempt([]int{j, k}, []int32{c}, []float64{rate}, w.parts(c, x, y, some, n-1))
}

// parts returns the log of how much likelier it is to try x and y in the place of c, one of n members, with a share of its losses, than the way back.
func (w *wanderer) parts(c, x, y int32, some float64, n int) float64 {
	there := 2 * w.oftenBeside(c, x) * w.oftenBeside(c, y) / float64(n) * some * (1 - some)
	back := (w.oftenBeside(x, c) + w.oftenBeside(y, c)) / 2 * 2 / float64(n*(n+1))
	return math.Log(there / back)
}

// drawBeside returns a component or one that may take its place.
func (w *wanderer) drawBeside(c int32) int32 {
	b := w.besidersOf(c)
	if len(b.of) == 0 || w.rng.IntN(3) == 0 {
		return c
	}
	return b.of[w.pick(b.upTo)]
}

// oftenBeside returns how likely drawBeside is to return x.
func (w *wanderer) oftenBeside(c, x int32) float64 {
	b := w.besidersOf(c)
	switch {
	case len(b.of) == 0 && x == c:
		return 1
	case x == c:
		return 1. / 3
	}
	return 2. / 3 * b.often(x)
}
