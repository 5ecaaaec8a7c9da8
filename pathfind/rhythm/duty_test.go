package rhythm

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestTellDuty: where few flows cross a suspect, the episodes that are seen take up less of the time than it was bad. What is told has no such lean, and its interval holds
// the truth about as often as it says, also where ten flows are all there is; more leave less in doubt, and their order does not matter.
func TestTellDuty(t *testing.T) {
	last := 1.0
	for _, c := range []struct{ n, seeds int }{{10, 60}, {30, 24}, {90, 8}} {
		n, seeds := c.n, c.seeds
		truth, seen, told, met, width, held, all := 0.0, 0.0, 0.0, 0.0, 0.0, 0, 0
		for seed := range uint64(seeds) {
			r := rand.New(rand.NewPCG(seed, 77))
			var ws []window
			for at := 1000 * r.ExpFloat64() / 4; at < 950; at += 80 + 170*r.ExpFloat64() {
				ws = append(ws, window{at, at + 20 + 60*r.Float64()})
			}
			counts := flows(r, n, 40, 40, 1000, false, within(ws, 1, 2e-4))
			got := Find(counts, 0)
			if got.Kind != Flapping && got.Kind != Once {
				continue
			}
			duty := dutyOf(ws)
			all++
			for i := range counts {
				met += float64(counts[i].Lost) / float64(counts[i].Sent) / float64(n)
			}
			truth, seen = truth+duty, seen+got.Duty
			again := got
			got.TellDuty(counts, 0, 1000)
			told, width = told+got.Duty, width+got.DutyHigh-got.DutyLow
			if got.DutyLow <= duty && duty <= got.DutyHigh {
				held++
			}
			if !(0 <= got.DutyLow && got.DutyLow <= got.Duty && got.Duty <= got.DutyHigh && got.DutyHigh <= 1) {
				t.Errorf("seed %d: duty %g, from %g to %g", seed, got.Duty, got.DutyLow, got.DutyHigh)
			}
			slices.Reverse(counts)
			if again.TellDuty(counts, 0, 1000); again.Duty != got.Duty || again.DutyHigh != got.DutyHigh {
				t.Errorf("seed %d: another order tells %g, not %g", seed, again.Duty, got.Duty)
			}
		}
		t.Logf("%d flows: the truth is %.3f of the time in the mean, lost was %.3f, seen is %.3f, told %.3f, in the interval %d of %d, which is %.3f wide", n, truth/float64(all),
			met/float64(all), seen/float64(all), told/float64(all), held, all, width/float64(all))
		if held < all*3/4 || all < seeds/2 {
			t.Errorf("%d flows: %d of %d in the interval, of %d worlds", n, held, all, seeds)
		}
		if told < 0.93*truth || told > 1.07*truth || n == 30 && seen > 0.9*truth {
			t.Errorf("%d flows: %.3f told and %.3f seen, the truth is %.3f", n, told, seen, truth)
		}
		if width > 0.7*last*float64(all) {
			t.Errorf("%d flows: intervals are %.3f wide in the mean, with fewer flows %.3f", n, width/float64(all), last)
		}
		last = width / float64(all)
	}
}

// TestTellQuickDuty: where counts last for longer than the outages of a suspect that is down at times, long episodes in which a part is lost look better than so many short ones. The interval told
// holds the truth all the same, and what is lost in all is known well.
func TestTellQuickDuty(t *testing.T) {
	held, lost, all := 0, 0, 0
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 78))
		var ws []window
		for at := 0.0; at < 990; at += 10 + 60*r.ExpFloat64() {
			ws = append(ws, window{at, at + 5 + 10*r.Float64()})
			at = ws[len(ws)-1].to
		}
		counts := flows(r, 60, 40, 80, 1000, false, within(ws, 1, 2e-4))
		got := Find(counts, 0)
		if got.Kind == Steady {
			continue
		}
		all++
		duty := dutyOf(ws)
		got.TellDuty(counts, 0, 1000)
		if got.DutyLow <= duty && duty <= got.DutyHigh {
			held++
		}
		if got.LostLow <= duty && duty <= got.LostHigh {
			lost++
		}
		t.Logf("seed %d: %d outages, bad for %.3f of the time; seen are %d of %.2f, told %.3f (%.3f to %.3f), lost %.3f (%.3f to %.3f)", seed, len(ws), duty, len(got.Episodes), got.Loss,
			got.Duty, got.DutyLow, got.DutyHigh, got.Lost, got.LostLow, got.LostHigh)
	}
	if all < 24 || held < all*9/10 || lost < all*4/5 {
		t.Errorf("of %d that come and go the interval of the duty cycle holds the truth in %d, that of what is lost in %d", all, held, lost)
	}
}
