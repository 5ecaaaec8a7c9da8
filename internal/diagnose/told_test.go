package diagnose

import (
	"slices"
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

// TestDeadOneWay: an arc that is dead from some moment on, beside another that loses a part all the time, is no link that goes down: packets come the other way.
func TestDeadOneWay(t *testing.T) {
	const dead, weak = "leaf1:swp2>spine2:swp1", "spine3:swp4>leaf4:swp3"
	for _, plain := range []bool{false, true} {
		for _, since := range []int{17, 20, 21} {
			p := newPlay(t, 400)
			p.plain = plain
			arc, _ := p.f.ArcByName(dead)
			others := 0 // few flows come the other way
			p.flows = slices.DeleteFunc(p.flows, func(fl playFlow) bool {
				other := slices.Contains(fl.path, arc.Reverse()) || slices.Contains(fl.back, arc.Reverse())
				others += int(is(other))
				return other && others > 4
			})
			p.run(24, func(a graphs.ArcID, w int) float64 {
				return is(p.f.ArcName(a) == dead && w >= since) + 0.05*is(p.f.ArcName(a) == weak)
			})
			d := p.store.Diagnose()
			for _, want := range []string{dead, weak} {
				if !slices.ContainsFunc(d.Suspects, func(x Suspect) bool {
					return x.ID == want && x.Probability >= Named && x.Symptom == Loss && x.Until == nil
				}) {
					t.Errorf("plain %v, dead since window %d: %s is not told to lose packets:\n%s", plain, since, want, d.Text())
				}
			}
		}
	}
}
