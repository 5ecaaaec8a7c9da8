package diagnose

import (
	"math/rand/v2"
	"slices"
	"testing"

	"whichlink/graphs"
	"whichlink/internal/evidence"
)

// joined is what is said of a scene by probes and ports together.
func (s *scene) joined() *Diagnosis {
	store := NewStore(s.f, Config{})
	for _, r := range slices.Concat(s.probe, s.snmp) {
		store.Add(r)
	}
	return store.Diagnose()
}

// TestUntracedPorts: where no path is known, ports do not make less of a fault than probes do: what is lost to one that counts a few errors is loss, and a queue that
// drops elsewhere shades nobody whose flows mostly do not cross it.
func TestUntracedPorts(t *testing.T) {
	const queue = "spine3:swp4>leaf4:swp3"
	for _, errors := range []uint64{0, 7} {
		s := newScene(t)
		s.rng = rand.New(rand.NewPCG(1, 5))
		s.run(probing{flows: 160, packets: 60, windows: 4, untraced: true, lose: func(a graphs.ArcID, w int) float64 {
			return s.only(0.02, sickArc)(a, w) + s.only(0.03, queue)(a, w)
		}})
		s.poll(20, func(port string, st *evidence.PortState) {
			switch port {
			case "spine3:swp4":
				st.Out.Discards = evidence.Count(30_000)
			case receiving:
				st.In.Errors = evidence.Count(errors)
			}
		})
		d := s.joined()
		for _, want := range []string{sickArc, queue} {
			i := slices.IndexFunc(d.Suspects, func(x Suspect) bool { return slices.Contains(x.Class, want) })
			if i < 0 || d.Suspects[i].Symptom != Loss || d.Suspects[i].Probability < 0.9 || *d.Suspects[i].Loss < 0.01 {
				t.Errorf("with %d errors %s is not told to lose packets:\n%s", errors, want, d.Text())
			}
		}
	}
}
