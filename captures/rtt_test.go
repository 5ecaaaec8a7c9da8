package captures

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// talk sends data and its acknowledgements, n times each so many ns, with the round trip that delay says of the time since the beginning.
func (w *wire) talk(t *testing.T, n int, every int64, delay func(since int64) int64) *Report {
	w.open()
	begun, seq := w.now, uint32(100)
	for range n {
		w.data(every, seq)
		seq += 10
		d := delay(w.now - begun)
		w.ack(d, seq)
		w.now -= d
	}
	return w.report(t)
}

func TestRTT(t *testing.T) {
	const us, ms, second = 1000, 1_000_000, 1_000_000_000
	rng := rand.New(rand.NewPCG(7, 11))
	noise := func(d int64) int64 { return d + rng.Int64N(d/8) }
	for _, c := range []struct {
		name, want, text string
		n                int
		every            int64
		delay            func(since int64) int64
	}{
		{"steady", "", "", 4000, ms, func(int64) int64 { return noise(40 * us) }},
		{"a longer way", "rtt-regression", "even the least of each", 4000, ms, func(since int64) int64 {
			if since > 3*second {
				return noise(90 * us)
			}
			return noise(40 * us)
		}},
		{"queues", "rtt-regression", "while the least stayed at 40", 8000, 50 * us, func(since int64) int64 {
			if since > 200*ms && rng.IntN(4) > 0 {
				return 200*us + rng.Int64N(200*us)
			}
			return 40*us + rng.Int64N(2*us)
		}},
		{"a shorter way", "rtt-recovery", "fell from", 4000, ms, func(since int64) int64 {
			if since > second {
				return noise(40 * us)
			}
			return noise(90 * us)
		}},
		{"another way every 15 s", "periodic-delay", "changes every 15", 6000, 30 * ms, func(since int64) int64 {
			return 20*ms + rng.Int64N(ms) + []int64{20, 6, 25, 14, 0, 17, 3}[since/(15*second)%7]*ms
		}},
		{"another way now and then", "", "", 6000, 30 * ms, func() func(since int64) int64 {
			until, level := int64(0), int64(0)
			return func(since int64) int64 {
				for since > until {
					until += int64(rng.ExpFloat64() * 15 * second)
					level = rng.Int64N(25) * ms
				}
				return 20*ms + rng.Int64N(ms) + level
			}
		}()},
	} {
		r := newWire().talk(t, c.n, c.every, c.delay)
		var got, texts []string
		for _, f := range r.Findings {
			if strings.HasPrefix(f.Finding, "rtt-") || strings.HasPrefix(f.Finding, "periodic-") {
				got, texts = append(got, f.Finding), append(texts, f.Text)
			}
		}
		if strings.Join(got, " ") != c.want || c.want != "" && !strings.Contains(texts[0], c.text) {
			t.Errorf("%s: %q, want %q: %q", c.name, got, c.want, texts)
		}
	}
}

// TestStepByChance holds that series without a step, of equal or of wandering values, are not told to have one.
func TestStepByChance(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 17))
	wrong := 0
	for range 1000 {
		values := make([]float64, 20+rng.IntN(200))
		for i := range values {
			values[i] = 50_000 * (1 + rng.ExpFloat64())
		}
		if _, ok := step(values, 1); ok {
			wrong++
		}
	}
	if wrong > 2 {
		t.Errorf("%d of 1000 random series have a step", wrong)
	}
}
