package rhythm

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

var measure = flag.Bool("measure", false, "print how often constant loss is taken for episodes, and episodes are found, over many seeds")

var seeds = flag.Int("seeds", 100, "how many seeds -measure plays")

// A window is a stretch of time in which the simulated suspect is bad.
type window struct{ from, to float64 }

// flows simulates flows of some packets each over a suspect: each is one count, or with moments each packet is one.
func flows(r *rand.Rand, n, packets int, length, span float64, moments bool, loss func(t float64) float64) []Count {
	var counts []Count
	for range n {
		c := Count{From: r.Float64() * (span - length)}
		c.To = c.From + length*(0.5+r.Float64()/2)
		for i := range packets {
			t := c.From + (c.To-c.From)*float64(i)/float64(packets)
			lost := 0
			if r.Float64() < loss(t) {
				lost = 1
			}
			if moments {
				counts = append(counts, Count{From: t, To: t, Sent: 1, Lost: lost})
			}
			c.Sent++
			c.Lost += lost
		}
		if !moments {
			counts = append(counts, c)
		}
	}
	return counts
}

func within(ws []window, in, out float64) func(float64) float64 {
	return func(t float64) float64 {
		if slices.ContainsFunc(ws, func(w window) bool { return t >= w.from && t < w.to }) {
			return in
		}
		return out
	}
}

func kindName(k Kind) string {
	return []string{"steady", "flapping", "once", "since", "until"}[k]
}

func TestFind(t *testing.T) {
	for _, c := range []struct {
		name      string
		windows   []window
		bad, good float64
		want      Kind
		period    float64 // ms
	}{
		{"good", nil, 0, 1e-4, Steady, 0},
		{"constant 2 %", nil, 0, 0.02, Steady, 0},
		{"constant 50 %", nil, 0, 0.5, Steady, 0},
		{"dead", nil, 0, 1, Steady, 0},
		{"2 % of the time", []window{{300, 310}, {800, 810}}, 1, 0, Flapping, 0},
		{"regular", []window{{100, 140}, {300, 340}, {500, 540}, {700, 740}, {900, 940}}, 1, 1e-4, Flapping, 200},
		{"irregular", []window{{100, 140}, {200, 240}, {500, 540}, {880, 920}}, 1, 1e-4, Flapping, 0},
		{"constant 2 % and a burst", []window{{600, 620}}, 1, 0.02, Steady, 0},
		{"in part", []window{{200, 300}, {600, 700}}, 0.1, 0, Flapping, 0},
		{"once", []window{{400, 450}}, 1, 0, Once, 0},
		{"since", []window{{600, 2000}}, 0.2, 0, Since, 0},
		{"until", []window{{-1, 400}}, 0.2, 0, Until, 0},
	} {
		for _, moments := range []bool{false, true} {
			r := rand.New(rand.NewPCG(5, 5))
			counts := flows(r, 120, 40, 40, 1000, moments, within(c.windows, c.bad, c.good))
			got := Find(counts, 0)
			name := fmt.Sprintf("%s, moments %v", c.name, moments)
			if got.Kind != c.want || len(got.Episodes) != len(c.windows) && c.want != Steady {
				t.Errorf("%s: %s (%.1f nats), episodes %v", name, kindName(got.Kind), got.Bayes, got.Episodes)
				continue
			}
			if math.Abs(got.Period-c.period) > 5 {
				t.Errorf("%s: period %.1f ms (off by %.2f), want %g", name, got.Period, got.Jitter, c.period)
			}
			duty := 0.0
			for i, e := range got.Episodes {
				w := window{max(c.windows[i].from, 0), min(c.windows[i].to, 1000)}
				duty += (w.to - w.from) / 1000
				if math.Abs(e.From-w.from) > 20 || math.Abs(e.To-w.to) > 20 {
					t.Errorf("%s: episode %.1f to %.1f ms, want %v", name, e.From, e.To, w)
				}
			}
			if c.want != Steady && (math.Abs(got.Duty-duty) > 0.04 || math.Abs(got.Loss-c.bad) > 0.25*c.bad) {
				t.Errorf("%s: duty %.3f and loss %.3f, want %.3f and %.3f", name, got.Duty, got.Loss, duty, c.bad)
			}
			r.Shuffle(len(counts), func(i, j int) { counts[i], counts[j] = counts[j], counts[i] })
			if again := Find(counts, 0); !reflect.DeepEqual(again, got) {
				t.Errorf("%s: another order gives %+v, not %+v", name, again, got)
			}
		}
	}
}

// TestConstantIsNoFlap: a loss that is always there is never taken for one that comes and goes, however few its packets are. Some of its flows lose bursts.
func TestConstantIsNoFlap(t *testing.T) {
	for _, n := range []int{2, 10, 60} {
		for _, packets := range []int{5, 40} {
			for _, loss := range []float64{0.01, 0.05, 0.2, 0.5} {
				for seed := range uint64(20) {
					r := rand.New(rand.NewPCG(seed, 3))
					counts := flows(r, n, packets, 50, 1000, seed%2 == 0, within(nil, 0, loss))
					if got := Find(counts, 0); got.Kind != Steady || got.Bayes > decisive {
						t.Errorf("%d flows of %d, loss %g, seed %d: %s by %.1f nats", n, packets, loss, seed, kindName(got.Kind), got.Bayes)
					}
				}
			}
		}
	}
}

// TestDoubtful: flows of which only some cross the suspect tell its episodes all the same, and a flow with a trouble of its own makes none.
func TestDoubtful(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	bad := flows(r, 300, 40, 40, 1000, false, within([]window{{200, 260}, {700, 740}}, 1, 0))
	good := flows(r, 300, 40, 40, 1000, false, within(nil, 0, 1e-4))
	for i := range bad {
		bad[i].Share, bad[i].Outlier = 0.25, 0.002
	}
	for i := range good {
		good[i].Share, good[i].Outlier = 0.25, 0.002
	}
	if got := Find(append(bad, good...), 0); got.Kind != Flapping || len(got.Episodes) != 2 || got.Proof < 50 {
		t.Errorf("%s, proof %.1f, episodes %v", kindName(got.Kind), got.Proof, got.Episodes)
	}
	good[7].Lost = good[7].Sent
	for i := range good {
		good[i].Share = 1
	}
	if got := Find(good, 0); got.Kind != Steady {
		t.Errorf("one flow that lost all: %s by %.1f nats", kindName(got.Kind), got.Bayes)
	}
}

// TestQuiet: the caller says how long it has to be quiet between two episodes.
func TestQuiet(t *testing.T) {
	counts := flows(rand.New(rand.NewPCG(4, 4)), 120, 40, 40, 1000, true, within([]window{{200, 240}, {260, 300}, {700, 760}}, 1, 0))
	for quiet, want := range map[float64]int{0: 3, 100: 2, 1000: 1} {
		if got := Find(counts, quiet); len(got.Episodes) != want {
			t.Errorf("quiet %g ms: %d episodes, want %d: %v", quiet, len(got.Episodes), want, got.Episodes)
		}
	}
}

func FuzzFind(f *testing.F) {
	f.Add([]byte{0, 10, 9, 9, 20, 5, 9, 0, 50, 3, 9, 7, 90, 0, 9, 0}, uint8(3))
	f.Fuzz(func(t *testing.T, data []byte, share uint8) {
		var counts []Count
		for ; len(data) >= 4; data = data[4:] {
			from := float64(data[0])
			counts = append(counts, Count{From: from, To: from + float64(data[1]) - 2, Sent: int(data[2]), Lost: int(data[3]), Share: float64(share) / 100,
				Outlier: float64(share%3) / 100})
		}
		got := Find(counts, float64(share%5))
		got.TellDuty(counts, 0, float64(share))
		if math.IsNaN(got.Bayes) || !(got.DutyLow >= 0 && got.DutyLow <= got.Duty+1e-9 && got.Duty <= got.DutyHigh+1e-9) || !(got.Duty >= 0 && got.Duty <= 1) || !(got.Loss >= 0 && got.Loss <= 1.001) || (got.Kind == Steady) != (len(got.Episodes) == 0) {
			t.Errorf("%+v", got)
		}
		for i, e := range got.Episodes {
			if !(e.From <= e.To) || i > 0 && e.From < got.Episodes[i-1].To || !(e.Lost <= e.Sent*1.001) {
				t.Errorf("%+v", got)
			}
		}
	})
}

func TestMeasure(t *testing.T) {
	if !*measure {
		t.Skip("-measure not given")
	}
	fmt.Println("constant loss taken for episodes")
	for _, moments := range []bool{false, true} {
		for _, n := range []int{3, 10, 40, 200} {
			for _, packets := range []int{5, 40} {
				fmt.Printf("moments %v, %d flows of %d: ", moments, n, packets)
				for _, loss := range []float64{0.002, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 0.9} {
					wrong, top := 0, math.Inf(-1)
					for seed := range uint64(*seeds) {
						r := rand.New(rand.NewPCG(seed, 1))
						got := Find(flows(r, n, packets, 50, 1000, moments, within(nil, 0, loss)), 0)
						if got.Bayes != 0 {
							top = max(top, got.Bayes)
						}
						if got.Kind != Steady {
							wrong++
						}
					}
					fmt.Printf(" %g:%d (%.1f)", loss, wrong, top)
				}
				fmt.Println()
			}
		}
	}
	fmt.Println("episodes found; mean error of edges in ms")
	for _, moments := range []bool{false, true} {
		for _, n := range []int{20, 60, 200} {
			for _, bad := range []float64{1, 0.5, 0.1} {
				found, right, edges, count := 0, 0, 0.0, 0
				for seed := range uint64(*seeds) {
					r := rand.New(rand.NewPCG(seed, 2))
					ws := []window{{200, 250}, {500, 540}, {800, 830}}
					got := Find(flows(r, n, 40, 50, 1000, moments, within(ws, bad, 0)), 0)
					if got.Kind == Flapping {
						found++
					}
					if len(got.Episodes) == len(ws) {
						right++
						for i, e := range got.Episodes {
							edges += math.Abs(e.From-ws[i].from) + math.Abs(e.To-ws[i].to)
							count += 2
						}
					}
				}
				fmt.Printf("moments %v, %d flows, loss %g: flap %d, all three %d, edges %.1f ms\n", moments, n, bad, found, right, edges/float64(max(count, 1)))
			}
		}
	}
}

// dutyOf returns the share of a second that windows take up.
func dutyOf(ws []window) float64 {
	sum := 0.0
	for _, w := range ws {
		sum += max(0, min(w.to, 1000)-max(w.from, 0)) / 1000
	}
	return sum
}

// TestMeasureDuty prints how well the duty cycle and the period of one that flaps regularly are told.
func TestMeasureDuty(t *testing.T) {
	if !*measure {
		t.Skip("-measure not given")
	}
	fmt.Println("| flows | lost in episodes | said to flap | duty within a factor of 1.5 | in the interval | of that width | period told | within 10 % |")
	fmt.Println("| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
	for _, n := range []int{20, 60, 200} {
		for _, bad := range []float64{1, 0.5, 0.1} {
			flapping, duties, held, told, right, wide := 0, 0, 0, 0, 0, 0.0
			for seed := range uint64(*seeds) {
				r := rand.New(rand.NewPCG(seed, 4))
				period := 120 + 130*r.Float64()
				down := period * (0.1 + 0.3*r.Float64())
				var ws []window
				for at := period * r.Float64(); at < 1000; at += period {
					start := at + 0.02*period*(2*r.Float64()-1)
					ws = append(ws, window{start, start + down})
				}
				counts := flows(r, n, 40, 50, 1000, false, within(ws, bad, 0))
				got := Find(counts, 0)
				if got.Kind != Flapping {
					continue
				}
				flapping++
				duty := dutyOf(ws)
				got.TellDuty(counts, 0, 1000)
				wide += got.DutyHigh - got.DutyLow
				if got.DutyLow <= duty && duty <= got.DutyHigh {
					held++
				}
				if got.Duty < 1.5*duty && duty < 1.5*got.Duty {
					duties++
				}
				if got.Period > 0 {
					told++
					if math.Abs(got.Period/period-1) < 0.1 {
						right++
					}
				}
			}
			fmt.Printf("| %d | %g | %d of %d | %d of %d | %d of %d | %.2f | %d | %d of %d |\n", n, bad, flapping, *seeds, duties, flapping, held, flapping,
				wide/float64(max(1, flapping)), told, right, told)
		}
	}
}

// TestEndedOnce: a loss that ended midway is hardly ever taken for one that came and went, for the quiet that chance makes in it.
func TestEndedOnce(t *testing.T) {
	wrong, told := 0, 0
	for _, n := range []int{20, 60, 200} {
		for seed := range uint64(100) {
			r := rand.New(rand.NewPCG(seed, 6))
			counts := flows(r, n, 5, 50, 1000, true, within([]window{{-1, 500}}, 0.5, 0))
			switch Find(counts, 0).Kind {
			case Flapping:
				wrong++
			case Until, Once:
				told++
			}
		}
	}
	if wrong > 8 || told < 270 {
		t.Errorf("of 300 that ended %d are said to flap, and %d to have ended", wrong, told)
	}
}
