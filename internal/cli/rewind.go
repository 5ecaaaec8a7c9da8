package cli

import (
	"context"
	"sync"
	"time"

	"whichlink/graphs"
	"whichlink/internal/diagnose"
	"whichlink/internal/session"
	"whichlink/tui"
)

// A rewinder lets the screens of a live session go back to what was recorded of it, while measuring goes on. It implements [tui.Player].
type rewinder struct {
	ctx  context.Context
	view *view

	mu   sync.Mutex // guards all below
	past *past      // nil while what happens now is shown
}

// A past is one stay in the recording of a session, as far as it went when the stay began.
type past struct {
	rerun
	stop func()
}

// nearNow is how close to now is now.
const nearNow = time.Second

// Seek implements [tui.Player]. To seek to now is to be live again.
func (r *rewinder) Seek(to time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	switch {
	case r.view.recorder == nil:
		return
	case now.Sub(to) < nearNow:
		r.leave()
		return
	case to.Before(r.view.begun):
		to = r.view.begun
	}
	if r.past != nil {
		if end := r.past.State().To; !end.IsZero() && to.After(end) {
			r.leave() // what was recorded since is not in its index
		}
	}
	if r.past == nil {
		r.enter(to)
	}
	r.past.Seek(to)
}

// enter begins a stay in the recording.
func (r *rewinder) enter(at time.Time) {
	p := &past{rerun: rerun{view: view{fabric: r.view.fabric, file: r.view.file}}}
	p.Clear()
	if err := r.view.recorder.Flush(); err != nil {
		return // the header tells it
	}
	p.Player = session.NewPlayer(r.view.fabric, r.view.file, r.view.recorder.Files(), at, p)
	ctx, cancel := context.WithCancel(r.ctx)
	var running sync.WaitGroup
	running.Go(func() { p.Run(ctx) })
	p.stop = func() { cancel(); running.Wait() }
	r.past = p
}

// leave goes back to what happens now. The player ends in its own time: to wait for it would hold up the screens.
func (r *rewinder) leave() {
	if p := r.past; p != nil {
		go p.stop()
		r.past = nil
	}
}

// Whole implements [tui.Player]: all there is, in a live session, is what happens now.
func (r *rewinder) Whole() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.leave()
}

// Play implements [tui.Player].
func (r *rewinder) Play(on bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.past != nil {
		r.past.Play(on)
	}
}

// Speed implements [tui.Player].
func (r *rewinder) Speed(x float64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.past != nil {
		r.past.Player.Speed(x)
	}
}

// at puts the moment that is sought in the place of what happens now. What does not change with time, such as the score, stays.
func (r *rewinder) at(live *tui.Snapshot) *tui.Snapshot {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.past
	if p == nil {
		return live
	}
	s := *live
	state := p.State()
	s.Live = false
	s.Playing = &tui.Playing{From: state.From, To: state.To, At: state.At, Running: state.Running, Speed: state.Speed, Busy: state.Busy, Back: live.Now.Sub(state.At)}
	if state.Err != nil {
		s.Status = "cannot read back: " + graphs.Clean(state.Err.Error())
		s.Playing.Busy = false
	}
	f := p.now.Load()
	if f == nil && state.Err != nil {
		return &s
	}
	if f == nil {
		s.Playing.Busy = true
		return &s
	}
	pic := *f.picture
	if live.Picture != nil {
		// What happened before the evidence that counts at this moment is remembered by the live session alone.
		pic.Events, pic.Forgotten = before(live.Picture.Events, state.At), live.Picture.Forgotten
	}
	s.Picture, s.Diagnosis, s.History, s.Findings, s.Now = &pic, pic.Diagnosis, f.history, f.findings, state.At
	return &s
}

// before returns the events up to a moment; they stand in the order of time.
func before(all []diagnose.Event, at time.Time) []diagnose.Event {
	n := len(all)
	for n > 0 && all[n-1].At.After(at) {
		n--
	}
	return all[:n:n]
}

// A timed source shows a live session, or the moment of it that somebody went back to.
type timed struct {
	tui.Source
	*rewinder
}

// withPast lets a live session be gone back in as long as ctx lasts, and takes remarks for it.
func withPast(ctx context.Context, s tui.Source, v *view, w *diagnose.Watch) *timed {
	v.take = w.Take
	return &timed{s, &rewinder{ctx: ctx, view: v}}
}

// Snapshot implements [tui.Source].
func (t *timed) Snapshot() *tui.Snapshot { return t.at(t.Source.Snapshot()) }

func (t *timed) prober() tui.Prober { return t.view.prober() }

func (t *timed) remark(text string) error { return t.view.remark(text) }
