package flaps

import (
	"slices"
	"testing"

	"whichlink/graphs"
	"whichlink/pathfind/localize"
	"whichlink/pathfind/rhythm"
)

// TestCongestion: where all arcs lose some packets for a moment now and then, none of them is at fault for that. An arc that goes down among them is, and so are two that lose as little
// where no other does.
func TestCongestion(t *testing.T) {
	innocent, found, weak, told := 0, 0, 0, 0
	for _, fault := range []string{"none", "one down", "two weak"} {
		w := newWorld(t, 2002)
		type burst struct{ from, to, loss float64 }
		bursts := make([]burst, w.f.NumArcs())
		bad := []graphs.ArcID{w.switchArc(), w.switchArc()}
		for a := range bursts {
			from := 1000 * w.r.Float64()
			bursts[a] = burst{from, from + 20 + 60*w.r.Float64(), 0.01 + 0.04*w.r.Float64()}
			if fault == "two weak" && !slices.Contains(bad, graphs.ArcID(a)) {
				bursts[a] = burst{}
			}
		}
		obs, spans := w.flows(2000, func(a graphs.ArcID, ms float64) float64 {
			b := &bursts[a]
			switch {
			case fault == "one down" && a == bad[0] && (ms >= 300 && ms < 340 || ms >= 600 && ms < 640):
				return 1
			case ms >= b.from && ms < b.to:
				return b.loss
			}
			return 0
		})
		r := Solve(w.f, obs, spans, localize.Config{OneWay: true})
		if fault == "none" {
			told += min(r.Congested, 1)
		}
		for i := range r.Suspects {
			x := &r.Suspects[i]
			switch {
			case x.Probability < named || x.Rhythm.Kind == rhythm.Steady:
			case fault == "none" || !slices.Contains(bad, graphs.ArcID(x.ID)) || fault == "one down" && graphs.ArcID(x.ID) != bad[0]:
				innocent++
			case fault == "one down":
				found++
			default:
				weak++
			}
		}
	}
	t.Logf("%d innocent arcs are named, %d of 1 that goes down, %d of 2 that are bad for a moment where no other is; %d of 1 times it is told that many are", innocent, found, weak, told)
	if innocent > 0 || found < 1 || weak < 1 || told < 1 {
		t.Error("want none, and at least 1 of each")
	}
}
