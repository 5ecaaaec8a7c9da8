package rhythm

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestSample: of very many counts with losses a sample is looked at, and what is told is of all of them.
func TestSample(t *testing.T) {
	bad := []window{{2000, 2600}, {7000, 7900}}
	counts := flows(rand.New(rand.NewPCG(3, 4)), 4_000, 100, 10_000, 10_000, true, within(bad, 0.9, 0))
	lost := 0.0
	for i := range counts {
		lost += float64(counts[i].Lost)
	}
	least := 0.9 * lost * math.Log(0.9/normal) // what passed within tells some against it
	if lost < 2*mostLossy {
		t.Fatalf("only %v losses", lost)
	}
	r := Find(counts, 100)
	if len(r.Episodes) != len(bad) {
		t.Fatalf("%d episodes", len(r.Episodes))
	}
	for i, e := range r.Episodes {
		lost -= e.Lost
		if math.Abs(e.From-bad[i].from) > 1 || math.Abs(e.To-bad[i].to) > 1 {
			t.Errorf("an episode from %.1f to %.1f", e.From, e.To)
		}
	}
	if math.Abs(lost-r.Stray) > 1e-6*lost || r.Stray > 50 || r.Proof < least {
		t.Errorf("%.1f losses are missing, %.1f of them outside of episodes; proof %.0f, want %.0f", lost, r.Stray, r.Proof, least)
	}
}
