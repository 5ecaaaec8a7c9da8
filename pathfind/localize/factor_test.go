package localize

import (
	"math"
	"slices"
	"testing"
)

// TestFactor: doubts about one fault say nothing about another, unless what was seen says so.
func TestFactor(t *testing.T) {
	// By weight beside the mode's. Two and six can only come together in place of five.
	seen := []struct {
		comps  []int32
		weight float64
	}{
		{[]int32{1, 2, 3, 5}, 1}, // the mode
		{[]int32{2, 3, 5}, 1},    // without 1
		{[]int32{1, 3, 5}, 0.25}, // without 2
		{[]int32{1, 2, 4, 5}, 3}, // 4 in place of 3
		{[]int32{1, 2, 5}, 0.5},  // neither
		{[]int32{3, 5}, 0.25},    // without 1 and 2, as likely as both doubts together
		{[]int32{1, 2, 3, 6, 7}, 1},
	}
	fabric := leafSpine(t, 2, 2, 1)
	cfg := Config{}.withDefaults()
	ix := newIndex(fabric, cfg)
	s := newSearch(newModel(ix, compile(ix, nil, cfg), cfg)) // nothing was lost
	var weights []float64
	for i, h := range seen {
		s.by[keyOf(h.comps)] = int32(i)
		s.hyps = append(s.hyps, hypothesis{key: keyOf(h.comps), comps: h.comps, expanded: i == 0})
		weights = append(weights, h.weight)
	}
	f := s.factor(weights, weights)
	for _, c := range []struct {
		class []int32
		want  float64
	}{
		{[]int32{1}, 1 / 2.0}, {[]int32{2}, 4 / 5.0}, {[]int32{3}, 1 / 4.5}, {[]int32{4}, 3 / 4.5}, {[]int32{3, 4}, 4 / 4.5},
		{[]int32{5}, 1 / 2.0}, {[]int32{6}, 1 / 2.0}, {[]int32{5, 7}, 1}, {[]int32{1, 2}, 1 - 1/2.0*1/5}, {[]int32{8}, 0},
	} {
		if got := f.holds(c.class); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("holds(%v) = %.4f, want %.4f", c.class, got, c.want)
		}
	}
	if got := f.healthy(); got != 0 {
		t.Errorf("healthy = %v, though one of 5 and 6 is faulty", got)
	}
	slices.Reverse(s.hyps)
	slices.Reverse(weights)
	for i := range s.hyps {
		s.by[s.hyps[i].key] = int32(i)
	}
	if a, b := f.holds([]int32{3}), s.factor(weights, weights).holds([]int32{3}); a != b {
		t.Errorf("holds(3) = %v or %v, by the order of what was seen", a, b)
	}
}

// TestFactorJoined: 1 may as well be any of 4, 5 and 6. That a doubt about 3 was seen with one of these only, and is likelier beside it, does not take from what it says beside the
// others.
func TestFactorJoined(t *testing.T) {
	cfg := Config{}.withDefaults()
	ix := newIndex(leafSpine(t, 2, 2, 1), cfg)
	s := newSearch(newModel(ix, compile(ix, nil, cfg), cfg))
	weights := []float64{1, 1, 1, 1, 0.25, 1}
	for i, comps := range [][]int32{{1, 2, 3}, {2, 3, 4}, {2, 3, 5}, {2, 3, 6}, {1, 2}, {2, 4}} {
		s.by[keyOf(comps)] = int32(i)
		s.hyps = append(s.hyps, hypothesis{key: keyOf(comps), comps: comps, expanded: i == 0})
	}
	f := s.factor(weights, weights)
	for _, c := range []struct {
		class []int32
		want  float64
	}{{[]int32{3}, 4 / 5.75}, {[]int32{1}, 1.25 / 5.75}, {[]int32{1, 4, 5, 6}, 1}, {[]int32{3, 4}, 1 - 0.75/5.75}, {[]int32{2}, 1}} {
		if got := f.holds(c.class); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("holds(%v) = %.4f, want %.4f", c.class, got, c.want)
		}
	}
}

// TestFactorUnexpanded: what was found last, when there was no time left to look at it from all sides, counts by its weight beside what was looked at.
func TestFactorUnexpanded(t *testing.T) {
	cfg := Config{}.withDefaults()
	ix := newIndex(leafSpine(t, 2, 2, 1), cfg)
	for _, c := range []struct{ expanded, want float64 }{{0, 1}, {1e-9, 1}, {0.25, 0.8}} {
		s := newSearch(newModel(ix, compile(ix, nil, cfg), cfg))
		for i, comps := range [][]int32{nil, {1, 2, 8}, {1, 2, 3}} {
			s.by[keyOf(comps)] = int32(i)
			s.hyps = append(s.hyps, hypothesis{key: keyOf(comps), comps: comps, rates: make([]float64, len(comps)), expanded: i == 0})
		}
		f := s.factor([]float64{c.expanded, 1e-100, 1}, []float64{c.expanded, 1e-100, 1})
		for _, x := range []int32{1, 2, 3} {
			if got := f.holds([]int32{x}); !(math.Abs(got-c.want) < 1e-6) {
				t.Errorf("holds(%d) = %v beside %v of what was expanded, want %v", x, got, c.expanded, c.want)
			}
		}
		if got := f.holds([]int32{8}); !(math.Abs(got) < 1e-6) {
			t.Errorf("holds(8) = %v beside %v of what was expanded, want 0", got, c.expanded)
		}
	}
}
