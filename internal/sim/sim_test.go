package sim

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"whichlink/graphs"
	"whichlink/graphs/generate"
	"whichlink/internal/diagnose"
	"whichlink/internal/evidence"
	"whichlink/pathfind"
	"whichlink/pathfind/localize"
)

// smallRNG is a fabric with shared-risk groups.
func smallRNG(t testing.TB) *graphs.Fabric {
	p, err := generate.RNG(generate.RNGConfig{Routers: 16, Degree: 6, Rooms: 3, Hosts: 1, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	return p.Fabric()
}

func TestDraw(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, x := range []struct {
		packets int
		loss    float64
	}{{1, 0.5}, {10, 0.03}, {1000, 0.0004}, {1000, 0.02}, {64, 0.9}} {
		const rounds = 20000
		sum, squares, runs, left := 0.0, 0.0, 0.0, rng.ExpFloat64()
		for range rounds {
			var lost []int
			c := draw(rng, x.packets, -math.Log1p(-x.loss), &left, &lost)
			if c.Lost != len(lost) || c.Sent != x.packets || !slices.IsSorted(lost) || len(lost) > 0 && (lost[0] < 0 || lost[len(lost)-1] >= x.packets) {
				t.Fatalf("%+v, lost %v", c, lost)
			}
			sum += float64(c.Lost)
			squares += float64(c.Lost * c.Lost)
			runs += float64(c.Runs)
		}
		n := float64(x.packets)
		mean, variance := n*x.loss, n*x.loss*(1-x.loss)
		got := sum / rounds
		if off := math.Abs(got-mean) / math.Sqrt(variance/rounds); off > 4 {
			t.Errorf("%d packets at %g: %g lost, expected %g", x.packets, x.loss, got, mean)
		}
		if v := squares/rounds - got*got; math.Abs(v/variance-1) > 0.1 {
			t.Errorf("%d packets at %g: variance %g, expected %g", x.packets, x.loss, v, variance)
		}
		// A run begins at a loss that is the first, or comes after a packet that passed.
		if r := mean*(1-x.loss) + x.loss*x.loss; math.Abs(runs/rounds/r-1) > 0.1 {
			t.Errorf("%d packets at %g: %g runs, expected %g", x.packets, x.loss, runs/rounds, r)
		}
	}
	var lost []int
	left := rng.ExpFloat64()
	if c := draw(rng, 50, -math.Log(1e-12), &left, &lost); c.Lost != 50 || c.Runs != 1 {
		t.Errorf("all lost: %+v", c)
	}
}

// TestFaults: what crosses a fault loses the share that it should while the fault is there, and nothing else does.
func TestFaults(t *testing.T) {
	f := smallRNG(t)
	r := Route(pathfind.NewSpraypoint(f, nil, pathfind.SpraypointConfig{}), meshed(f), 3)
	a := r.flows[0].ways[0].arcs[1]
	l := f.Link(a.Link())
	for name, x := range map[string]struct {
		fault Fault
		share float64 // of the time that it is there
	}{
		"arc":     {Fault{Cause: localize.Cause{Kind: localize.Arc, ID: int32(a)}, Loss: 0.05}, 1},
		"link":    {Fault{Cause: localize.Cause{Kind: localize.Link, ID: int32(a.Link())}, Loss: 0.02}, 1},
		"node":    {Fault{Cause: localize.Cause{Kind: localize.Node, ID: int32(f.Tail(a))}, Loss: 0.01}, 1},
		"host":    {Fault{Cause: localize.Cause{Kind: localize.Host, ID: int32(f.Hosts()[0])}, Loss: 0.01}, 1},
		"group":   {Fault{Cause: localize.Cause{Kind: localize.Group, ID: int32(l.Groups[0])}, Loss: 0.01}, 1},
		"flap":    {Fault{Cause: localize.Cause{Kind: localize.Arc, ID: int32(a)}, Loss: 0.5, Period: 2 * time.Second, Down: 300 * time.Millisecond}, 0.15},
		"not yet": {Fault{Cause: localize.Cause{Kind: localize.Arc, ID: int32(a)}, Loss: 0.1, From: 20 * time.Second}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			m := r.Measure(Config{Seed: 5, Faults: []Fault{x.fault}})
			m.Run(20 * time.Second)
			lost, expected, sent := 0, 0.0, 0
			for i := range m.flows {
				for d, w := range m.state[i].ways {
					sent += (w.known.Sent + w.unknown.Sent) * (1 - d)
					n := w.known.Lost + w.unknown.Lost
					if len(w.faults) == 0 && n > 0 {
						t.Fatalf("flow %d loses %d packets and meets no fault", i, n)
					}
					lost += n
					expected += float64(w.known.Sent+w.unknown.Sent) * x.share * (1 - math.Pow(1-x.fault.Loss, float64(len(w.faults))))
				}
			}
			if x.share > 0 && expected < 50 || math.Abs(float64(lost)-expected) > 0.05*expected+4*math.Sqrt(expected) {
				t.Errorf("%d lost, expected %.0f", lost, expected)
			}
			if all := 0.9 * 1000 * 20 * len(f.Hosts()); math.Abs(float64(sent-all)) > float64(len(m.flows)) {
				t.Errorf("%d packets sent, the budget is %d", sent, all)
			}
		})
	}
}

// TestTraces: no path is known where nothing may be asked, and a switch is not asked for more than it may be.
func TestTraces(t *testing.T) {
	f := smallRNG(t)
	r := Route(pathfind.NewECMP(f), meshed(f), 3)
	m := r.Measure(Config{SwitchRate: 10})
	asked := 0
	for s := range 10 {
		m.Run(time.Duration(s+1) * time.Second)
		if now := m.asks(); now > 10*24 && s == 0 || now < asked {
			t.Errorf("%d answers after %d s, %d before", now, s+1, asked)
		} else {
			asked = now
		}
	}
	if asked == 0 || len(m.queue) == 0 {
		t.Errorf("%d answers, %d ways left", asked, len(m.queue))
	}
	slow := r.Measure(Config{SwitchRate: 1}) // less than one answer in a window
	if slow.Run(20 * time.Second); slow.asks() == 0 || slow.asks() > 20*24 {
		t.Errorf("%d answers in 20 s, of one a second and switch", slow.asks())
	}
	untraced := r.Measure(Config{SwitchRate: -1})
	untraced.Run(time.Second)
	for _, o := range untraced.Observations() {
		if len(o.Path) > 2 && o.From != o.To {
			t.Fatalf("the path is known: %+v", o)
		}
	}
}

// asks counts the answers that the paths took which are known.
func (m *Measurement) asks() int {
	n := 0
	for i := range m.flows {
		for d, w := range m.state[i].ways {
			if w.traced {
				n += len(m.flows[i].ways[d].ask)
			}
		}
	}
	return n
}

// TestNamed: from what is simulated the solver names what is faulty, whatever is known of paths, and so does the program from the records.
func TestNamed(t *testing.T) {
	f := smallRNG(t)
	for _, model := range []pathfind.Model{pathfind.NewECMP(f), pathfind.NewSpraypoint(f, nil, pathfind.SpraypointConfig{})} {
		for name, rate := range map[string]float64{"traced": 0, "half traced": 5, "untraced": -1} {
			t.Run(model.String()+" "+name, func(t *testing.T) {
				r := Route(model, meshed(f), 3)
				rng := rand.New(rand.NewPCG(1, 3))
				cfg := noise
				cfg.SwitchRate = rate
				cfg.Faults = arcFaults(2, 0.02, 0.05)(f, rng)
				m := r.Measure(cfg)
				m.Run(20 * time.Second)
				var s score
				s.judge(m, s.solve(m), t)
				if s.found != 2 || s.innocents != 0 {
					t.Errorf("%+v", s)
				}
			})
		}
	}
}

func TestRecords(t *testing.T) {
	f := smallRNG(t)
	a := arcFaults(1, 0.03, 0.03)(f, rand.New(rand.NewPCG(9, 3)))[0]
	a.Delay = 5 * time.Millisecond
	cfg := noise
	cfg.Faults = []Fault{a}
	m := Route(pathfind.NewECMP(f), meshed(f), 3).Measure(cfg)
	var buf bytes.Buffer
	store := diagnose.NewStore(f, diagnose.Config{})
	slow := 0
	m.Record(time.Unix(1e9, 0), func(r *evidence.Record) {
		if err := evidence.Write(&buf, r); err != nil {
			t.Fatal(err)
		}
		store.Add(r)
		if r.RTT != nil && r.RTT.P50 > 4000 {
			slow++
		}
	})
	m.Run(5 * time.Second)
	d := store.Diagnose()
	want := f.ArcName(graphs.ArcID(a.ID))
	if len(d.Suspects) == 0 || d.Suspects[0].ID != want || d.Suspects[0].Probability < 0.9 {
		t.Errorf("suspects %+v, want %s", d.Suspects, want)
	}
	if slow == 0 {
		t.Error("nothing is slow")
	}
	n := 0
	if _, err := evidence.Read(&buf, "sim", func(*evidence.Record) bool { n++; return true }); err != nil || n != store.Records() {
		t.Errorf("%d of %d records can be read: %v", n, store.Records(), err)
	}
}

// TestCable: a trunk cable is named as the group that it is, and not as its many links, whether it loses a packet now and then or is dead.
func TestCable(t *testing.T) {
	p, err := generate.RNG(generate.RNGConfig{Routers: 96, Degree: 24, Rooms: 4, Hosts: 1, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	f := p.Fabric()
	r := Route(pathfind.NewSpraypoint(f, nil, pathfind.SpraypointConfig{}), meshed(f), 1)
	for _, loss := range []float64{0.01, 1} {
		for seed := range uint64(2) {
			cfg := noise
			cfg.Seed, cfg.SwitchRate = seed, 1e4
			cfg.Faults = cableFault(loss, 10*time.Second)(f, rand.New(rand.NewPCG(seed, 'F')))
			m := r.Measure(cfg)
			m.Run(10 * time.Second)
			m.Forget()
			m.Run(20 * time.Second)
			var s score
			if s.judge(m, s.solve(m), t); s.alone != 1 || s.innocents != 0 {
				t.Errorf("cable with loss %g: %+v", loss, s)
			}
		}
	}
}
