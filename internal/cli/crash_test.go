package cli

import (
	"context"
	"errors"
	"os"
	"time"

	"whichlink/graphs"
	"whichlink/internal/diagnose"
	"whichlink/internal/evidence"
	"whichlink/pathfind"
	"whichlink/pathfind/plan"
	"whichlink/probes"
	"whichlink/tui"
)

// panicking are screens on which something panics: what the variable CRASH names.
func panicking() int {
	e := &env{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr}
	where := os.Getenv("CRASH")
	return e.exit(e.screens(context.Background(), nil, func(context.Context, *env) (*scene, error) {
		drawn := make(chan struct{})
		s := &scene{source: &bomb{where: where, drawn: drawn}, run: func(ctx context.Context) error {
			if where == "measuring" {
				time.Sleep(500 * time.Millisecond)
				panic("a fault\nin what measures\x1b[31m")
			}
			if where == "probes" {
				return probing(ctx, e, drawn)
			}
			<-ctx.Done()
			return nil
		}, finish: func() { e.say("recorded") }}
		return s, nil
	}))
}

// probing measures from this host until a goroutine that traces paths panics, once the screens are drawn.
func probing(ctx context.Context, e *env, drawn <-chan struct{}) error {
	f, err := e.readFabric(os.Getenv("FABRIC"))
	if err != nil {
		return err
	}
	ecmp := pathfind.NewECMP(f)
	p, err := plan.Make(ecmp, plan.Config{})
	if err != nil {
		return err
	}
	host, _ := f.NodeByName("h1")
	s, err := probes.NewSession(probes.SessionConfig{ECMP: ecmp, Plan: p, Host: host, Rate: 100, Emit: func(r *evidence.Record) {
		if r.PreviousTime != nil { // a path was found
			<-drawn
			panic("a fault in a record")
		}
	}})
	if err != nil {
		return err
	}
	return s.Run(ctx)
}

// A bomb is a source of snapshots that goes off.
type bomb struct {
	where string
	asked int
	drawn chan struct{} // closed when the screens were drawn for some time
}

func (b *bomb) Snapshot() *tui.Snapshot {
	if b.asked++; b.where == "drawing" && b.asked > 3 {
		_ = make([]int, 2)[b.asked] // out of range
	}
	if b.asked == 8 {
		close(b.drawn)
		if b.where == "elsewhere" { // in a goroutine that nobody waits for
			go func() { panic("a fault\nelsewhere\x1b[31m") }()
		}
	}
	return &tui.Snapshot{Diagnosis: &diagnose.Diagnosis{Verdict: diagnose.Healthy, Summary: "all is well"}, Now: time.Now(), Live: true, Fabric: new(graphs.Fabric)}
}

func (b *bomb) prober() tui.Prober { return b }

func (b *bomb) Propose(tui.Inquiry) (tui.Proposal, error) { panic(errors.New("a fault in a command")) }
