package diagnose

import "testing"

// At the edges of its outages a link that flaps loses packets that others in its class may seem to lose: that names none of them beside it, unless they are as sure.
func TestShadeByClass(t *testing.T) {
	f := newPlay(t, 0).f
	sick, arc, beside := f.LinkName(0), f.ArcName(0), f.ArcName(6)
	for _, c := range []struct {
		p, want float64
		class   []string
	}{{0.86, shaded, []string{beside, arc}}, {0.86, 0.86, []string{beside}}, {0.99, 0.99, []string{beside, arc}}} {
		d := &Diagnosis{Suspects: []Suspect{
			{Kind: "link", ID: sick, Link: sick, Symptom: Flap, Probability: 0.99, Class: []string{sick}},
			{Kind: "arc", ID: beside, Link: f.LinkName(3), Symptom: Loss, Probability: c.p, Class: c.class},
		}}
		if shadeByClass(f, d); d.Suspects[1].Probability != c.want || d.Suspects[0].Probability != 0.99 {
			t.Errorf("%v at %.2f: %.2f, expected %.2f", c.class, c.p, d.Suspects[1].Probability, c.want)
		}
	}
}
