package flaps

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"whichlink/graphs"
	"whichlink/pathfind"
	"whichlink/pathfind/localize"
)

// heavy draws n flows of thousands of packets each. Every arc loses up to .01 % of them all the time, each its own share, and down all of them from 400 to 410 ms.
func (w *world) heavy(n int, down graphs.ArcID) ([]localize.Observation, []Span) {
	good := make([]float64, w.f.NumArcs())
	for a := range good {
		good[a] = 1e-4 * w.r.Float64()
	}
	obs, spans := w.flows(n, func(graphs.ArcID, float64) float64 { return 0 })
	for i := range obs {
		o, s := &obs[i], &spans[i]
		o.Sent = int(3000 * math.Pow(33, w.r.Float64()))
		s.To = min(s.From+100*w.r.Float32(), 1000)
		want := 0.0
		for _, a := range o.Path {
			want += good[a]
		}
		o.Lost = w.poisson(want * float64(o.Sent))
		if in := min(s.To, 410) - max(s.From, 400); in > 0 && slices.Contains(o.Path, down) {
			o.Lost += int(float64(in/(s.To-s.From)) * float64(o.Sent-o.Lost))
		}
	}
	return obs, spans
}

// poisson draws how often what is expected so often happens.
func (w *world) poisson(mean float64) int {
	n := 0
	for left := mean - w.r.ExpFloat64(); left > 0; left -= w.r.ExpFloat64() {
		n++
	}
	return n
}

// TestHeavy: that good arcs differ shows where flows carry very many packets. It makes none of them flap, whether their ways are known or not, and hides none that
// goes down.
func TestHeavy(t *testing.T) {
	for seed := range uint64(4) {
		w := newWorld(t, seed)
		obs, spans := w.heavy(1600, graphs.None)
		if got := w.said(Solve(w.f, obs, spans, localize.Config{OneWay: true})); len(got) > 0 {
			t.Errorf("seed %d: said %v of no fault", seed, got)
		}
		w.hidePaths(obs)
		if got := w.said(Solve(w.f, obs, spans, localize.Config{OneWay: true, Paths: pathfind.NewEqualCost(w.f, pathfind.PerPath)})); len(got) > 0 {
			t.Errorf("seed %d, ways unknown: said %v of no fault", seed, got)
		}
		down := w.switchArc()
		want := []string{fmt.Sprintf("arc %d false", down)}
		obs, spans = w.heavy(1600, down)
		if got := w.said(Solve(w.f, obs, spans, localize.Config{OneWay: true})); !slices.Equal(got, want) {
			t.Errorf("seed %d: said %v, want %v", seed, got, want)
		}
	}
}
