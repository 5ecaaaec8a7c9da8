package probes

import (
	"testing"
	"time"
)

// TestPace has senders take all that they may, from slow hosts to fast ones: together they keep to the rate, and neither kind of packet starves.
func TestPace(t *testing.T) {
	start := time.Date(2026, 11, 20, 3, 0, 0, 0, time.UTC)
	for _, rate := range []float64{2, 10, 1000, 10_000} {
		for name, x := range map[string]struct {
			perAsk         int     // packets
			echoes, others float64 // shares of the rate, at least
		}{
			"echoes only":     {0, echoShare, 0},
			"many questions":  {1, 1 - askingShare, askingShare},
			"dear questions":  {4, 1 - askingShare, askingShare * 0.9},
			"a few questions": {-1, echoShare * 0.99, (1 - echoShare) * 0.9}, // no more than what echoes leave
		} {
			p := newPace(rate, start)
			const length = 10 * time.Second
			echoes, others := 0, 0
			step := min(time.Duration(2/rate*float64(time.Second)), 5*time.Millisecond)
			for now := start; now.Sub(start) < length; now = now.Add(step) {
				for p.echo(now) {
					echoes++
				}
				if x.perAsk < 0 {
					if float64(others) < (1-echoShare)*rate*now.Sub(start).Seconds() && p.mayAsk(false, now) {
						p.asked(1)
						others++
					}
					continue
				}
				for x.perAsk > 0 && p.mayAsk(false, now) {
					p.asked(x.perAsk)
					others += x.perAsk
				}
			}
			all := rate * length.Seconds()
			if sent := float64(echoes + others); sent > all+2*p.burst()+float64(max(x.perAsk, 0)) {
				t.Errorf("%s at %g: %.0f packets sent in the time of %.0f", name, rate, sent, all)
			}
			if e, o := float64(echoes)+p.burst()+4, float64(others)+p.burst(); e < x.echoes*all || o < x.others*all {
				t.Errorf("%s at %g: %d echoes and %d others of %.0f", name, rate, echoes, others, all)
			}
		}
	}
}
