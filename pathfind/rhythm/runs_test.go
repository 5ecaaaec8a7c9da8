package rhythm

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestRuns: runs that flows lose each at times of its own are no episodes, those that all lose at the same moments are, and a loss in runs that begins at some moment is told to.
func TestRuns(t *testing.T) {
	const flows, packets, every = 9, 1500, 20.0
	for _, c := range []struct {
		name string
		bad  func(r *rand.Rand, at float64) bool // whether a run begins
		last func(r *rand.Rand, at float64) bool // whether it goes on
		want Kind
	}{
		{"of their own", func(r *rand.Rand, _ float64) bool { return r.Float64() < 0.005 }, func(r *rand.Rand, _ float64) bool { return r.Float64() < 0.75 }, Steady},
		{"of their own, since", func(r *rand.Rand, at float64) bool { return at > 15000 && r.Float64() < 0.01 }, func(r *rand.Rand, _ float64) bool { return r.Float64() < 0.75 }, Since},
		{"outages", func(_ *rand.Rand, at float64) bool { return int(at)%7000 < 200 }, func(_ *rand.Rand, at float64) bool { return int(at)%7000 < 200 }, Flapping},
	} {
		for seed := range uint64(6) {
			r := rand.New(rand.NewPCG(seed, 11))
			var counts []Count
			for flow := range flows {
				lost := false
				for i := range packets {
					at := (float64(i) + float64(flow)/flows) * every
					begins := !lost && c.bad(r, at)
					switch {
					case begins:
						counts = append(counts, Count{From: at, To: at, Sent: 1, Lost: 1, Run: true})
					case lost && c.last(r, at):
						x := &counts[len(counts)-1]
						x.To, x.Sent, x.Lost = at, x.Sent+1, x.Lost+1
						continue
					case lost || i == 0:
						counts = append(counts, Count{From: at, To: at, Sent: 1})
					default:
						x := &counts[len(counts)-1]
						x.To, x.Sent = at, x.Sent+1
					}
					lost = begins
				}
			}
			got := Find(slices.Clone(counts), 350)
			if got.Kind != c.want {
				t.Errorf("%s, seed %d: kind %d in %d episodes", c.name, seed, got.Kind, len(got.Episodes))
			}
		}
	}
}
