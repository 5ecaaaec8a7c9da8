package localize

import (
	"math"
	"slices"
	"testing"

	"whichlink/graphs"
)

// TestBursts: where packets are lost in runs, of which nobody tells, few more innocents are named than where they are lost one by one.
func TestBursts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		run, wrong float64 // wrong is the share of innocents among the names, at most
	}{{2, 0.06}, {8, 0.1}} {
		var all reliability
		for seed := uint64(92000); seed < 92000+uint64(*worlds)/4; seed++ {
			w := burstyWorld(t, seed, c.run)
			for _, s := range w.solve().Suspects {
				all.add(s.Probability, slices.ContainsFunc(s.Class, func(c Cause) bool { return w.faults[c] > 0 }))
			}
		}
		t.Logf("runs of %v\n%v", c.run, &all)
		if float64(all.innocent) > c.wrong*float64(all.named) {
			t.Errorf("runs of %v: %d of %d named are innocent", c.run, all.innocent, all.named)
		}
	}
}

// TestVeryManyLosses: of so many losses that their runs cannot be counted through, as many lie in each as of fewer.
func TestVeryManyLosses(t *testing.T) {
	b := bursts{length: 4}
	for _, expected := range []float64{1e-3, 0.2, 30} {
		few, _ := b.among(8e3, 8e3*expected, 1, 8e3)
		for _, lost := range []float64{1e6, 5e16} {
			if many, likely := b.among(lost, lost*expected, 1, lost); math.Abs(many/lost-few/8e3) > 0.01*few/8e3 || math.IsNaN(likely) {
				t.Errorf("%g losses where %g times as many runs are expected lie in %g runs (%g nats), and 8000 in %g", lost, expected, many, likely, few)
			}
		}
	}
}

// TestRunsLearnt: how long runs are is learnt to a factor of two from what flows lose, on good arcs and on a bad one alike; where packets are lost one by one, or
// only some flows lose many, each for itself, no runs are seen.
func TestRunsLearnt(t *testing.T) {
	for _, c := range []struct {
		name       string
		background float64
		run        float64
		own        int // flows of which one loses many
		told       bool
		least      float64 // the length that is told, at least
		most       float64
	}{
		{name: "one by one", background: 1e-4, run: 1},
		{name: "pairs", background: 1e-4, run: 2, least: 1.4, most: 3.5},
		{name: "runs of four", background: 1e-4, run: 4, least: 2, most: 8},
		{name: "runs of eight", background: 1e-4, run: 8, least: 4, most: 16},
		{name: "some flows of their own", background: 1e-4, run: 1, own: 60},
		{name: "runs of four, told", background: 1e-4, run: 4, told: true, least: 2, most: 8},
	} {
		for seed := range uint64(4) {
			w := newWorld([]*graphs.Fabric{fatTree(t, 4), randomRegular(t, 16, 4, 2)}[seed%2], seed)
			w.background, w.run = c.background, c.run
			w.faults[Cause{Arc, int32(w.fabricArc())}] = 0.01
			w.mesh(600, 200)
			for i := range w.obs {
				o := &w.obs[i]
				if c.own > 0 && i%c.own == 0 {
					o.Lost = int(math.Exp(5 * w.rng.Float64())) // a heavy tail
				}
				if c.told {
					o.Bursts = (o.Lost + 3) / 4
				}
			}
			if r := w.solve(); r.Run < c.least || r.Run > c.most {
				t.Errorf("%s, %d: runs of %.1f", c.name, seed, r.Run)
			}
		}
	}
}

// TestNoRunsInFewPackets: flows of one packet or a few, which often lose all of them where much is lost, tell of no runs, and the loss told is the true one.
func TestNoRunsInFewPackets(t *testing.T) {
	inside, worlds := 0, 0
	for _, most := range []int{1, 3, 20} {
		for _, loss := range []float64{0.1, 0.25, 0.35, 0.5} {
			w := newWorld(leafSpine(t, 4, 3, 2), 2)
			bad := Cause{Arc, int32(w.fabricArc())}
			w.faults[bad] = loss
			hosts := w.Hosts()
			for i := range 1500 {
				x, y := hosts[i%len(hosts)], hosts[(i+1+i/8%7)%len(hosts)]
				w.flow++
				p, n := w.path(x, y), 1+w.rng.IntN(most)
				w.obs = append(w.obs, Observation{Path: p, Src: x, Dst: y, Responder: graphs.None, Sent: n, Lost: w.draw(n, w.hazard(p, x, y)), Flow: w.flow})
			}
			r := w.solve()
			worlds++
			if r.Run > 0 || len(r.Suspects) == 0 || r.Suspects[0].Cause != bad || r.Suspects[0].Probability < 0.9 {
				t.Errorf("up to %d packets, %g: in runs of %.1f, said %s", most, loss, r.Run, describe(r))
			} else if r.Suspects[0].Low <= loss && loss <= r.Suspects[0].High {
				inside++
			}
		}
	}
	if inside < worlds-3 {
		t.Errorf("%d of %d intervals hold the loss", inside, worlds)
	}
}
