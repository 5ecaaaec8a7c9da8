package diagnose

import (
	"testing"

	"whichlink/graphs"
)

// TestBothWays: a link that loses packets both ways all the time, each way at its own rate, is two faults, and both are told. One that comes and goes is one.
func TestBothWays(t *testing.T) {
	p := newPlay(t, 120)
	rates := map[string]float64{"leaf1:swp1>spine1:swp1": 0.05, "spine1:swp1>leaf1:swp1": 0.4}
	p.run(24, func(a graphs.ArcID, _ int) float64 { return rates[p.f.ArcName(a)] })
	d := p.store.Diagnose()
	for _, x := range d.Suspects {
		if x.Probability >= Named {
			if rates[x.ID] == 0 {
				t.Errorf("%s is told, p %.2f", x.ID, x.Probability)
			}
			delete(rates, x.ID)
		}
	}
	for name, rate := range rates {
		t.Errorf("%s, which loses %g, is not told:\n%s", name, rate, d.Text())
	}

	p = newPlay(t, 240)
	rates = map[string]float64{"leaf1:swp1>spine1:swp1": 1, "spine1:swp1>leaf1:swp1": 0.6}
	p.run(48, func(a graphs.ArcID, w int) float64 { return rates[p.f.ArcName(a)] * is(w%8 == 3) })
	d = p.store.Diagnose()
	told := 0
	for _, x := range d.Suspects {
		if x.Probability >= Named {
			told++
		}
	}
	if told != 1 {
		t.Errorf("a link that flaps is told as %d suspects:\n%s", told, d.Text())
	}
}
