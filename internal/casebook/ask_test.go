package casebook_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"whichlink/graphs"
	"whichlink/internal/diagnose"
	"whichlink/internal/lab"
	"whichlink/internal/lab/labtest"
	"whichlink/pathfind"
	"whichlink/probes"
)

// TestAsk: somebody asks for more of a pair and of an arc while a watch runs. It is measured along new flows and along those that cross the arc, within the
// rate, and when it is over the watch keeps to its plan.
func TestAsk(t *testing.T) {
	labtest.Need(t)
	f, err := leafSpine(2, 2, 2)(1)
	if err != nil {
		t.Fatal(err)
	}
	l, err := lab.New(t.Context(), lab.Config{Fabric: f, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	f = l.Fabric()
	const rate = 500
	cfg := diagnose.WatchConfig{Fabric: f, Rate: rate, Seed: 1}
	for _, h := range f.Hosts() {
		cfg.Hosts = append(cfg.Hosts, diagnose.WatchHost{Node: h, Reflect: true, Open: func(open func() error) error { return l.Do(h, open) }})
	}
	src, dst := f.Hosts()[0], f.Hosts()[len(f.Hosts())-1]
	bad := graphs.ArcID(graphs.None)
	for _, x := range pathfind.NewECMP(f).Shares(src, dst) {
		if !f.IsHostArc(x.Arc) {
			bad = x.Arc
			break
		}
	}
	fault, err := lab.ParseFault(f, "loss", []string{f.ArcName(bad)}, lab.FaultOptions{Rate: "20%"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Break(fault); err != nil {
		t.Fatal(err)
	}
	w, err := diagnose.NewWatch(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	start := time.Now()
	ended := make(chan error)
	go func() { ended <- w.Run(ctx) }()
	time.Sleep(time.Second)

	other := make(chan error, 1)
	time.AfterFunc(time.Second, func() { _, err := w.Ask(ctx, diagnose.Ask{Src: dst, Dst: src, For: time.Second}); other <- err })
	pair, err := w.Ask(ctx, diagnose.Ask{Src: src, Dst: dst, For: 3 * time.Second})
	if err != nil || pair.Flows < diagnose.NewFlows || pair.Paths != 2 || pair.Lossy == 0 || pair.Lost == 0 || pair.Lost > pair.Sent {
		t.Errorf("of the pair: %+v, %v", pair, err)
	}
	if err := <-other; !errors.Is(err, diagnose.ErrAsked) {
		t.Errorf("another was asked for at once: %v", err)
	}
	arc, err := w.Ask(ctx, diagnose.Ask{Arcs: []graphs.ArcID{bad}, For: 2 * time.Second})
	if err != nil || arc.Flows == 0 || arc.Lossy == 0 || arc.Lost < arc.Sent/20 {
		t.Errorf("of %s: %+v, %v", f.ArcName(bad), arc, err)
	}
	if _, busy := w.Asked(); busy {
		t.Error("it is not over")
	}
	// A round of echoes may be under way still.
	time.Sleep(time.Second)
	before := w.Pursued()
	time.Sleep(time.Second)
	if n := w.Pursued() - before; n > 0 {
		t.Errorf("%d echoes went along flows that nobody asks for any more", n)
	}
	stopping, stop := context.WithCancel(ctx)
	time.AfterFunc(100*time.Millisecond, stop)
	if _, err := w.Ask(stopping, diagnose.Ask{Arcs: []graphs.ArcID{bad}, For: time.Minute}); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped: %v", err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	took := time.Since(start).Seconds()
	if all := float64(rate*len(cfg.Hosts)) * took; float64(w.Sent()) > all*1.02 || float64(w.Pursued()) > probes.PursuitShare*all {
		t.Errorf("%d packets, %d of them asked for, in %.1f s: more than %d a second and host", w.Sent(), w.Pursued(), took, rate)
	}
}
