package cli

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"whichlink/graphs"
	"whichlink/internal/diagnose"
	"whichlink/internal/evidence"
	"whichlink/internal/session"
	"whichlink/tui"
)

// replayHorizon is how much of a replay the screens show over time.
const replayHorizon = 24 * time.Hour

// replayPoints is how many readings of a port the screens can go back to: two hours at ten seconds each.
const replayPoints = 720

// A rerun shows evidence that was written before, all of it or as it was at a moment.
type rerun struct {
	view
	*session.Player
	bare  bool                  // no fabric is known
	whole atomic.Pointer[frame] // all of it
	now   atomic.Pointer[frame]
}

// A frame is what a rerun shows at once.
type frame struct {
	picture  *diagnose.Picture
	history  tui.History
	findings *tui.Findings
}

// Clear implements [session.Screen].
func (r *rerun) Clear() { r.tape = tui.NewTape(r.fabric, replayHorizon) }

// Record implements [session.Screen].
func (r *rerun) Record(x *evidence.Record) { r.tape.Add(x) }

// Show implements [session.Screen].
func (r *rerun) Show(p *diagnose.Picture) {
	r.now.Store(&frame{p, r.tape.History(), r.tape.Findings()})
}

// ShowAll implements [session.Screen].
func (r *rerun) ShowAll() { r.now.Store(r.whole.Load()) }

// Snapshot implements [tui.Source].
func (r *rerun) Snapshot() *tui.Snapshot {
	f := r.now.Load()
	s := &tui.Snapshot{Diagnosis: f.picture.Diagnosis, Picture: f.picture, Fabric: r.fabric, History: f.history, Findings: f.findings, Ports: r.ports, Now: f.picture.Diagnosis.To, Status: r.status}
	if r.bare {
		s.Fabric, s.Picture, s.History = nil, nil, nil
	}
	if r.Player == nil {
		return s
	}
	at := r.State()
	s.Playing = &tui.Playing{From: at.From, To: at.To, At: at.At, Whole: at.Whole, Running: at.Running, Speed: at.Speed, Busy: at.Busy}
	if at.Err != nil {
		s.Status = "cannot read on: " + graphs.Clean(at.Err.Error())
	}
	return s
}

// openFiles shows evidence that was written before. A recording knows its fabric.
func (e *env) openFiles(ctx context.Context, fabric string, files []string) error {
	if fabric == "" {
		fabric, _ = session.FabricOf(files[0])
	}
	packets := newPacketStore(e, files)
	f, known, err := e.fabricOfFiles(fabric, packets)
	if err != nil {
		return err
	}
	files, forget, err := e.analyseFiles(ctx, f, known, files, packets)
	if err != nil {
		return err
	}
	defer forget()
	seekable := files
	if slices.Contains(files, "-") {
		seekable = nil
	}
	r := &rerun{view: view{fabric: f, status: "replay"}, bare: !known}
	return e.replay(ctx, r, seekable, packets, func(s *diagnose.Store, also func(*evidence.Record)) error {
		return e.readEvidence(s, files, also)
	})
}

// replay shows what evidence says, on screens or as text; evidence in files can be moved in. If reading fails in the middle, what was read is
// shown all the same.
func (e *env) replay(ctx context.Context, r *rerun, files []string, packets tui.PacketReader, read func(*diagnose.Store, func(*evidence.Record)) error) error {
	r.Clear()
	r.ports = diagnose.NewPortSeries(replayPoints)
	store := diagnose.NewStore(r.fabric, diagnose.Config{Series: r.ports})
	failed := read(store, r.Record)
	if failed != nil && store.Records() == 0 {
		return failed
	}
	d := store.Diagnose()
	if !e.show() {
		return errors.Join(e.printDiagnosis(d, "text"), failed)
	}
	if failed != nil {
		e.say("%v", failed)
	}
	r.Show(store.Picture(d))
	r.whole.Store(r.now.Load())
	if len(files) == 0 {
		return e.screens(ctx, stills{r}, nil, packets)
	}
	r.Player = session.NewPlayer(r.fabric, files, d.To, r)
	ctx, cancel := context.WithCancel(ctx)
	var playing sync.WaitGroup
	playing.Go(func() { r.Run(ctx) })
	err := e.screens(ctx, r, nil, packets)
	cancel()
	playing.Wait()
	return err
}

// stills show a rerun that cannot be moved in.
type stills struct{ r *rerun }

// Snapshot implements [tui.Source].
func (s stills) Snapshot() *tui.Snapshot { return s.r.Snapshot() }
