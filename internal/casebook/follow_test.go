package casebook_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"whichlink/graphs"
	"whichlink/internal/diagnose"
	"whichlink/internal/lab"
	"whichlink/internal/lab/labtest"
	"whichlink/pathfind"
	"whichlink/probes"
)

// A chase is how one host found a gray arc.
type chase struct {
	right   bool
	seconds float64 // until the arc stood alone
	sent    int
	pursued int
}

// chaseFrom lets one host of a lab, all others of which answer, find out which arc on its ways loses one percent.
func chaseFrom(t *testing.T, f *graphs.Fabric, follow bool, rate float64, seed uint64, most time.Duration) chase {
	t.Helper()
	l, err := lab.New(t.Context(), lab.Config{Fabric: f, Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	f = l.Fabric()
	rng := rand.New(rand.NewPCG(seed, 11))
	hosts := f.Hosts()
	src := hosts[rng.IntN(len(hosts))]
	bad := arcOnTheWay(f, src, hosts, rng)
	fault, err := lab.ParseFault(f, "loss", []string{f.ArcName(bad)}, lab.FaultOptions{Rate: "1%"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Break(fault); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), most)
	defer cancel()
	for _, h := range hosts {
		if h == src {
			continue
		}
		r, err := probes.NewReflector(probes.ReflectorConfig{Open: func(open func() error) error { return l.Do(h, open) }, Ports: []uint16{probes.DefaultPort}})
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{})
		reflecting, stop := context.WithCancel(t.Context())
		go func() {
			defer close(done)
			if err := r.Run(reflecting); err != nil {
				t.Error(err)
			}
		}()
		defer func() { stop(); <-done }()
	}
	w, err := diagnose.NewWatch(diagnose.WatchConfig{
		Fabric: f, Rate: rate, Seed: seed, Follow: follow,
		Hosts: []diagnose.WatchHost{{Node: src, Open: func(open func() error) error { return l.Do(src, open) }}},
	})
	if err != nil {
		t.Fatal(err)
	}
	var c chase
	start := time.Now()
	watching := make(chan struct{})
	go func() {
		defer close(watching)
		for {
			select {
			case <-ctx.Done():
				return
			case <-w.Changed():
			}
			d := w.Latest()
			if len(d.Suspects) > 0 && d.Suspects[0].Probability >= 0.99 && len(d.Suspects[0].Class) == 1 {
				c.seconds, c.sent, c.pursued = time.Since(start).Seconds(), w.Sent(), w.Pursued()
				c.right = d.Suspects[0].ID == f.ArcName(bad)
				cancel()
				return
			}
		}
	}()
	if err := w.Run(ctx); err != nil {
		t.Fatal(err)
	}
	took := time.Since(start).Seconds()
	<-watching
	if c.seconds == 0 {
		c.seconds, c.sent, c.pursued = took, w.Sent(), w.Pursued()
	}
	if sent := float64(w.Sent()); sent > rate*took+max(6, rate/10) {
		t.Errorf("%.0f packets in %.1f s: more than %g a second", sent, took, rate)
	}
	if !c.right {
		t.Logf("%s, seed %d, follow %v, %s from %s:\n%s", f, seed, follow, f.ArcName(bad), f.NodeName(src), w.Latest().Text())
	}
	return c
}

// arcOnTheWay draws an arc between switches on a way from a host to another.
func arcOnTheWay(f *graphs.Fabric, src graphs.NodeID, hosts []graphs.NodeID, rng *rand.Rand) graphs.ArcID {
	e := pathfind.NewECMP(f)
	for {
		var arcs []graphs.ArcID
		for _, x := range e.Shares(src, hosts[rng.IntN(len(hosts))]) {
			if !f.IsHostArc(x.Arc) {
				arcs = append(arcs, x.Arc)
			}
		}
		if len(arcs) > 0 {
			return arcs[rng.IntN(len(arcs))]
		}
	}
}

// TestFollow: one host that follows what its diagnosis asks for names a gray arc by itself, on real packets and within its rate. With -full
// it prints how long that takes, beside one that keeps to its plan.
func TestFollow(t *testing.T) {
	labtest.Need(t)
	if !*full {
		f, err := leafSpine(4, 4, 1)(1)
		if err != nil {
			t.Fatal(err)
		}
		c := chaseFrom(t, f, true, 500, 1, 40*time.Second)
		t.Logf("%+v", c)
		if !c.right || c.pursued == 0 {
			t.Errorf("not found by what was followed: %+v", c)
		}
		// A host that may send little: what finds paths is no exception.
		chaseFrom(t, f, true, 25, 2, 3*time.Second)
		return
	}
	fmt.Println("| fabric | runs | keeps to the plan: right, seconds, packets (medians) | follows: right, seconds, packets (medians) |")
	fmt.Println("| --- | --- | --- | --- |")
	for _, sh := range shapes {
		if sh.fast || *onlyShape != "" && sh.name != *onlyShape {
			continue
		}
		var words [2]string
		for i, follow := range []bool{false, true} {
			right := 0
			var seconds []float64
			var sent []int
			for seed := range uint64(*seeds) {
				f, err := sh.make(*firstSeed + seed)
				if err != nil {
					t.Fatal(err)
				}
				c := chaseFrom(t, f, follow, 500, *firstSeed+seed, 60*time.Second)
				if c.right {
					right++
				}
				seconds, sent = append(seconds, c.seconds), append(sent, c.sent)
			}
			slices.Sort(seconds)
			slices.Sort(sent)
			words[i] = fmt.Sprintf("%d, %.1f, %d", right, seconds[len(seconds)/2], sent[len(sent)/2])
		}
		fmt.Printf("| %s | %d | %s | %s |\n", sh.name, *seeds, words[0], words[1])
	}
}
