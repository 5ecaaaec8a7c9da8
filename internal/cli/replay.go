package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
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
	bare     bool                  // no fabric is known
	captures int                   // that were read
	whole    atomic.Pointer[frame] // all of it
	now      atomic.Pointer[frame]
}

// A frame is what a rerun shows at once.
type frame struct {
	at       time.Time
	picture  *diagnose.Picture
	history  tui.History
	findings *tui.Findings
}

// Clear implements [session.Screen].
func (r *rerun) Clear() { r.tape = tui.NewTape(r.fabric, replayHorizon) }

// Record implements [session.Screen].
func (r *rerun) Record(x *evidence.Record) { r.tape.Add(x) }

// Show implements [session.Screen]. What happened before the evidence that counts at this moment, such as a note, is remembered of the whole.
func (r *rerun) Show(at time.Time, p *diagnose.Picture) {
	if whole := r.whole.Load(); whole != nil {
		p.Events = remembered(whole.picture.Events, p.Events, at)
	}
	found := r.tape.Findings()
	found.Place(p)
	r.now.Store(&frame{at, p, r.tape.History(), found})
}

// remembered adds to what happened lately what happened before it, up to a moment: both stand in the order of time. What the diagnosis said at a moment is
// that of the moment alone.
func remembered(whole, lately []diagnose.Event, to time.Time) []diagnose.Event {
	known := make(map[diagnose.Event]bool, len(lately))
	for _, x := range lately {
		known[timeless(x)] = true
	}
	var out []diagnose.Event
	for _, x := range before(whole, to) {
		if x.Lane != diagnose.LaneVerdict && !known[timeless(x)] {
			out = append(out, x)
		}
	}
	out = append(out, lately...)
	slices.SortStableFunc(out, func(a, b diagnose.Event) int { return a.At.Compare(b.At) })
	return out
}

// timeless is an event that can be compared: of one moment there is but one form.
func timeless(x diagnose.Event) diagnose.Event {
	x.At = time.Unix(0, x.At.UnixNano()).UTC()
	return x
}

// ShowAll implements [session.Screen].
func (r *rerun) ShowAll() { r.now.Store(r.whole.Load()) }

// Snapshot implements [tui.Source].
func (r *rerun) Snapshot() *tui.Snapshot {
	f := r.now.Load()
	s := &tui.Snapshot{Diagnosis: f.picture.Diagnosis, Picture: f.picture, Fabric: r.fabric, History: f.history, Findings: f.findings, Captures: r.captures, Ports: r.ports, Now: f.at, Status: r.status}
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

// A replaying is what a replay shows and reads.
type replaying struct {
	*rerun
	// read adds the evidence to a store and hands each record on, until ctx ends.
	read func(ctx context.Context, s *diagnose.Store, also func(*evidence.Record)) error
	// files hold that evidence, if it can be moved in.
	files   []string
	packets tui.PacketReader
	forget  func() // once all is over; may be nil
}

// openFiles shows evidence that was written before. A recording knows its fabric.
func (e *env) openFiles(ctx context.Context, fabric string, files []string) error {
	for _, f := range files {
		if ext := filepath.Ext(f); ext == ".yml" || ext == ".yaml" {
			f = graphs.Clean(f)
			return withHint(usagef("%s is a fabric, and no evidence", f), "whichlink --fabric %s measures from this host, with --drill it is practised on, whichlink fabric show %s describes it", f, f)
		}
	}
	if fabric == "" && !e.show() && !slices.ContainsFunc(files, func(f string) bool { return !isCapture(f) }) {
		return e.analyse(ctx, files, &pcapOptions{output: "text", place: &fabricPlace{}}) // there is no fabric to speak of
	}
	for _, f := range files {
		switch info, err := os.Stat(f); {
		case f == "-":
		case err != nil:
			return openError("evidence", err)
		case info.IsDir():
			return fmt.Errorf("read evidence %s: it is a directory", graphs.Clean(f))
		}
	}
	name := graphs.Clean(files[0])
	if more := len(files) - 1; more > 0 {
		name += " and " + plural(more, "other")
	}
	return e.replay(ctx, name, func(ctx context.Context, e *env) (*replaying, error) {
		if fabric == "" {
			fabric, _ = session.FabricOf(files[0])
		}
		packets := newPacketStore(e, files)
		f, known, err := e.fabricOfFiles(fabric, packets)
		if err != nil {
			return nil, err
		}
		x := &replaying{rerun: &rerun{view: view{fabric: f, file: fabric, status: "replay"}, bare: !known, captures: len(packets.direct)}, packets: packets}
		if x.files, x.forget, err = e.analyseFiles(ctx, f, known, files, packets); err != nil {
			return nil, err
		}
		all := x.files
		x.read = func(ctx context.Context, s *diagnose.Store, also func(*evidence.Record)) error {
			return e.readEvidence(ctx, s, all, also)
		}
		if slices.Contains(all, "-") {
			x.files = nil
		}
		return x, nil
	})
}

// replay shows what evidence says, on screens or as text; evidence in files can be moved in. If reading fails in the middle, what was read is
// shown all the same.
func (e *env) replay(ctx context.Context, name string, open func(context.Context, *env) (*replaying, error)) error {
	if !e.show() {
		x, err := open(ctx, e)
		if err != nil {
			return err
		}
		defer x.done()
		store := diagnose.NewStore(x.fabric, diagnose.Config{FabricFile: x.file})
		failed := x.read(ctx, store, nil)
		if failed != nil && store.Records() == 0 {
			return failed
		}
		return errors.Join(e.printDiagnosis(store.Diagnose(), "text"), failed)
	}
	var records atomic.Int64
	loading := func() string {
		return fmt.Sprintf("reading %s: %s so far", name, plural(int(records.Load()), "record"))
	}
	return e.screens(ctx, loading, func(ctx context.Context, e *env) (*scene, error) {
		x, err := open(ctx, e)
		if err != nil {
			return nil, err
		}
		s, err := e.sceneOf(ctx, x, &records)
		if err != nil {
			x.done()
		}
		return s, err
	})
}

func (x *replaying) done() {
	if x.forget != nil {
		x.forget()
	}
}

// sceneOf reads what a replay shows, and counts the records meanwhile.
func (e *env) sceneOf(ctx context.Context, x *replaying, records *atomic.Int64) (*scene, error) {
	x.Clear()
	x.ports = diagnose.NewPortSeries(replayPoints)
	store := diagnose.NewStore(x.fabric, diagnose.Config{Series: x.ports, FabricFile: x.file})
	failed := x.read(ctx, store, func(r *evidence.Record) {
		records.Add(1)
		x.Record(r)
	})
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case failed != nil && store.Records() == 0:
		return nil, failed
	case failed != nil:
		e.say("%v", failed)
	}
	d := store.Diagnose()
	x.Show(d.To, store.Picture(d))
	x.whole.Store(x.now.Load())
	s := &scene{source: stills{x.rerun}, packets: x.packets, finish: x.forget}
	if len(x.files) > 0 {
		x.Player = session.NewPlayer(x.fabric, x.file, x.files, d.To, x.rerun)
		s.source, s.run = x.rerun, func(ctx context.Context) error { x.Run(ctx); return nil }
	}
	return s, nil
}

// stills show a rerun that cannot be moved in.
type stills struct{ r *rerun }

// Snapshot implements [tui.Source].
func (s stills) Snapshot() *tui.Snapshot { return s.r.Snapshot() }

// A within reads as long as its context lasts.
type within struct {
	ctx context.Context
	io.Reader
}

func (w within) Read(p []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	return w.Reader.Read(p)
}
