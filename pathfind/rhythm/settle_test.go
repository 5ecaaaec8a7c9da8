package rhythm

import "testing"

// TestSettleSpares: thousands of episodes are settled for as long as effort is to spare, and what is left then are episodes in the order of time.
func TestSettleSpares(t *testing.T) {
	var counts []Count
	var eps []episode
	for i := range 4000 {
		at := float64(20 * i)
		counts = append(counts, Count{From: at, To: at + 40_000, Sent: 10}, Count{From: at, To: at, Sent: 1, Lost: 1}, Count{From: at + 10, To: at + 10, Sent: 1})
		eps = append(eps, episode{from: at, to: at})
	}
	const effort, most = 5_000_000, 5_000_000 // to spare, and for one step
	s := newScan(counts)
	s.spare = effort
	settled, _ := s.settle(eps)
	if s.spare > 0 || s.spare < -most {
		t.Errorf("%d of %d to spare in the end", s.spare, effort)
	}
	for i := 1; i < len(settled); i++ {
		if settled[i].from <= settled[i-1].to {
			t.Fatalf("%+v follows %+v", settled[i], settled[i-1])
		}
	}
}
