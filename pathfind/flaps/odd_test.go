package flaps

import (
	"math"
	"testing"

	"whichlink/graphs"
	"whichlink/pathfind"
	"whichlink/pathfind/localize"
)

// TestUnusable: what cannot be an observation of the fabric is left out and counted, and what is not said of the others is not known.
func TestUnusable(t *testing.T) {
	w := newWorld(t, 1)
	flapping := w.switchArc()
	obs, spans := w.flows(1500, func(a graphs.ArcID, ms float64) float64 {
		if a == flapping && (ms >= 200 && ms < 240 || ms >= 500 && ms < 530 || ms >= 800 && ms < 840) {
			return 1
		}
		return 0
	})
	cfg := localize.Config{Paths: pathfind.NewEqualCost(w.f, pathfind.PerPath)}
	want := w.said(Solve(w.f, obs, spans, cfg))
	odd := []localize.Observation{obs[0], obs[1], obs[2], obs[3], obs[4], obs[5]}
	odd[0].Path = []graphs.ArcID{-1}
	odd[1].Path = []graphs.ArcID{1 << 20}
	odd[2].From, odd[2].To = 9999, 3
	odd[3].From, odd[3].To = graphs.None, 3
	odd[4].Sent, odd[4].Lost = 0, 5
	odd[5].Lost = 70
	for i := range odd {
		odd[i].Flow += 1 << 20
	}
	timed := append(spans[:0:0], spans...)
	timed[7].To = float32(math.Inf(1))
	r := Solve(w.f, append(obs, odd...), timed, cfg)
	if r.Ignored != len(odd) || len(w.said(r)) != len(want) || w.said(r)[0] != want[0] {
		t.Errorf("%d of %d ignored, said %q, want %q", r.Ignored, len(odd), w.said(r), want)
	}
	if r := Solve(nil, obs, spans, cfg); r.Ignored != len(obs) {
		t.Errorf("without a fabric %d of %d are ignored", r.Ignored, len(obs))
	}
}

// FuzzSolve gives it whatever can be written: nothing panics, and no number is none.
func FuzzSolve(f *testing.F) {
	f.Add([]byte("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"))
	f.Add([]byte{2, 1, 9, 30, 1, 0, 1, 9, 3, 7, 1, 9, 30, 1, 30, 4, 3, 0xff, 0, 0, 5, 5, 90, 60, 0xff, 63, 1})
	w := newWorld(f, 1)
	paths := pathfind.NewEqualCost(w.f, pathfind.PerPath)
	f.Fuzz(func(t *testing.T, data []byte) {
		next := func() (b int) {
			if len(data) > 0 {
				b, data = int(data[0]), data[1:]
			}
			return b
		}
		node := func() graphs.NodeID { return graphs.NodeID(next()%(w.f.NumNodes()+3) - 2) }
		times := []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), math.MaxFloat32, -1}
		moment := func() float32 {
			b := next()
			if b < len(times) {
				return times[b]
			}
			return float32(10 * b)
		}
		var obs []localize.Observation
		var spans []Span
		for len(data) > 0 && len(obs) < 40 {
			o := localize.Observation{Src: node(), Dst: node(), Responder: graphs.None, Flow: len(obs)}
			if next()%2 == 0 {
				o.From, o.To = node(), node()
			}
			for range next() % 5 {
				o.Path = append(o.Path, graphs.ArcID(next()%(w.f.NumArcs()+2)-1))
			}
			o.Sent = next() << (next() % 64)
			o.Lost = min(next()<<(next()%64), o.Sent+1)
			obs, spans = append(obs, o), append(spans, Span{moment(), moment()})
		}
		r := Solve(w.f, obs, spans[:max(0, len(spans)-1)], localize.Config{Paths: paths})
		for i := range r.Suspects {
			x := &r.Suspects[i]
			sum := x.Low + x.Loss + x.High + x.Rhythm.Duty + x.Rhythm.Loss + x.Rhythm.Period
			if !(x.Probability >= 0 && x.Probability <= 1) || math.IsNaN(sum) || math.IsInf(sum, 0) {
				t.Errorf("%+v", x)
			}
		}
	})
}
