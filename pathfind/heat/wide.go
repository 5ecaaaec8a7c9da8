package heat

import (
	"math"

	"whichlink/graphs"
	"whichlink/pathfind"
)

// A wide fabric has too many pairs for the arcs of each to be kept. What they put on arcs is worked out destination by destination, from all sources at
// once, each time that it is asked for; of a pair there is only its rate.
type wide struct {
	ends []graphs.NodeID
	at   map[graphs.NodeID]int // by end: its place
	rate []float32             // by destination and source
	free []float64             // by arc: what of what is expected there could have left by another
	on   map[graphs.ArcID][]crossing
}

const (
	// mostWide is between how many ends a matrix is held: it takes four bytes a pair.
	mostWide = 4096
	// mostNarrow is how many pairs a measured matrix may have for the arcs of each to be kept.
	mostNarrow = 1 << 15
	// wideWork bounds what drawing the estimate of a wide fabric toward the loads may cost, in arcs looked at, each time anew for every end. It is
	// drawn leastFits times nevertheless.
	wideWork  = 3e8
	leastFits = 2
	// wideParts is into how many parts the destinations of a wide fabric are divided. Sums are taken part by part, and do not depend on the processors.
	wideParts = 8
	// mostExplained is of how many hot arcs, the fullest, the pairs are looked for.
	mostExplained = 12
)

func newWide(ends []graphs.NodeID) *wide {
	w := &wide{ends: ends, at: make(map[graphs.NodeID]int, len(ends)), rate: make([]float32, len(ends)*len(ends))}
	for i, n := range ends {
		w.at[n] = i
	}
	return w
}

func (w *wide) of(src, dst int) float64 { return float64(w.rate[dst*len(w.ends)+src]) }

// demand is the matrix for a model to let flow.
func (w *wide) demand() pathfind.Demand {
	return pathfind.Demand{Ends: w.ends, Volume: func(src, dst graphs.NodeID) float64 { return w.of(w.at[src], w.at[dst]) }}
}

// measuredWide takes a measured matrix of many pairs. It reports false where there are too many ends.
func (s *solver) measuredWide() bool {
	var ends []graphs.NodeID
	seen := map[graphs.NodeID]bool{}
	for _, x := range s.in.Matrix {
		for _, n := range [...]graphs.NodeID{x.Src, x.Dst} {
			if !seen[n] {
				seen[n] = true
				ends = append(ends, n)
			}
		}
	}
	if len(ends) > mostWide {
		return false
	}
	s.wide = newWide(ends)
	for _, x := range s.in.Matrix {
		s.wide.rate[s.wide.at[x.Dst]*len(ends)+s.wide.at[x.Src]] += float32(x.Rate)
	}
	_, ok := s.pour(nil)
	if !ok {
		s.wide = nil
	}
	return ok
}

// estimateWide is estimate for fabrics of many ends: the same model, drawn toward the loads a few times only.
func (s *solver) estimateWide(ends []graphs.NodeID, out, in []float64, told bool) {
	s.wide = newWide(ends)
	w, n := s.wide, len(ends)
	for j := range n {
		for i := range n {
			switch {
			case i == j:
			case told:
				w.rate[j*n+i] = float32(math.Sqrt(out[i]) * math.Sqrt(in[j])) // of the product only the ratios matter, and it may be too great
				w.rate[j*n+i] *= w.rate[j*n+i]
			default:
				w.rate[j*n+i] = 1
			}
		}
	}
	expected, ok := s.pour(nil)
	if !ok {
		s.wide = nil
		return
	}
	if !told {
		out, in = nil, nil
	}
	total, sum := 0.0, 0.0
	for _, a := range s.known {
		total, sum = total+s.in.Load[a], sum+expected[a]
	}
	if !(sum > 0) {
		return
	}
	s.multiply(total / sum)
	for a := range expected {
		expected[a] *= total / sum
	}
	s.gravity = expected
	s.stray = s.astray()
	for range min(fits, max(leastFits, int(wideWork/float64(n)/float64(s.f.NumArcs())))) {
		expected, _ = s.pour(s.drawWide(expected, out, in))
	}
}

// drawWide returns what changes the rates to a destination as draw does.
func (s *solver) drawWide(expected []float64, out, in []float64) func(dst int, b *pathfind.Basin, scratch *[2][]float64) {
	w, n := s.wide, len(s.wide.ends)
	lacks, told := make([]float64, len(expected)), make([]float64, len(expected))
	for a, x := range expected {
		if load := s.in.Load[a]; !math.IsNaN(load) && !s.f.IsHostArc(graphs.ArcID(a)) && !s.stray[a] && x > 0 {
			lacks[a], told[a] = ratio(load, x), 1
		}
	}
	sends, gets := make([]float64, n), make([]float64, n)
	for j := range n {
		for i := range n {
			sends[i] += w.of(i, j)
			gets[j] += w.of(i, j)
		}
	}
	return func(j int, b *pathfind.Basin, scratch *[2][]float64) {
		sum, weight := scratch[0], scratch[1]
		b.Up(func(a graphs.ArcID) float64 { return lacks[a] }, sum)
		b.Up(func(a graphs.ArcID) float64 { return told[a] }, weight)
		for i := range n {
			if i == j {
				continue
			}
			up, by := sum[i], weight[i]
			if out != nil {
				const bound = 1.5 // as in draw
				up += bound * (min(0, ratio(out[i], sends[i])) + min(0, ratio(in[j], gets[j])))
				by += 2 * bound
			}
			if by > 0 {
				w.rate[j*n+i] *= float32(math.Exp(haste * up / by))
			}
		}
	}
}

// pour lets the matrix flow, after change, if that is not nil, has changed what is sent to each destination, and returns what arcs carry. It reports
// false where the model does not forward by destination.
func (s *solver) pour(change func(dst int, b *pathfind.Basin, scratch *[2][]float64)) (loads []float64, ok bool) {
	w := s.wide
	var load, free [wideParts][]float64
	var scratch [wideParts][2][]float64
	for p := range wideParts {
		load[p], free[p] = make([]float64, s.f.NumArcs()), make([]float64, s.f.NumArcs())
		scratch[p] = [2][]float64{make([]float64, len(w.ends)), make([]float64, len(w.ends))}
	}
	ok = pathfind.Basins(s.in.Model, w.ends, w.ends, wideParts, func(p, j int, b *pathfind.Basin) {
		if change != nil {
			change(j, b, &scratch[p])
		}
		b.Down(func(i int) float64 { return w.of(i, j) }, func(a graphs.ArcID, flow float64, among int) {
			load[p][a] += flow
			if among > 1 {
				free[p][a] += flow
			}
		})
	})
	for p := 1; p < wideParts; p++ {
		for a := range load[0] {
			load[0][a] += load[p][a]
			free[0][a] += free[p][a]
		}
	}
	w.free = free[0]
	return load[0], ok
}

// look finds the pairs on some arcs.
func (s *solver) look(arcs []graphs.ArcID) {
	w := s.wide
	var found [wideParts]map[graphs.ArcID][]crossing
	pathfind.Basins(s.in.Model, w.ends, w.ends, wideParts, func(p, j int, b *pathfind.Basin) {
		if found[p] == nil {
			found[p] = map[graphs.ArcID][]crossing{}
		}
		share := make([]float64, len(w.ends))
		for _, a := range arcs {
			if !b.Crosses(a) {
				continue
			}
			b.Up(func(x graphs.ArcID) float64 {
				if x == a {
					return 1
				}
				return 0
			}, share)
			for i, x := range share {
				if rate := w.of(i, j); x > 0 && rate > 0 {
					found[p][a] = append(found[p][a], crossing{w.ends[i], w.ends[j], rate, x})
				}
			}
		}
	})
	w.on = map[graphs.ArcID][]crossing{}
	for _, a := range arcs {
		for p := range found {
			w.on[a] = append(w.on[a], found[p][a]...)
		}
	}
}
