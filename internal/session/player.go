package session

import (
	"context"
	"sync"
	"time"

	"whichlink/graphs"
	"whichlink/internal/diagnose"
	"whichlink/internal/evidence"
)

// Window is how much evidence before the moment that is shown counts, once somebody moves in time: as much as in a live session.
const Window = time.Minute

// A Screen takes what a player shows. Its methods are called by one goroutine.
type Screen interface {
	// Clear forgets all records; Record takes one in.
	Clear()
	Record(*evidence.Record)
	// Show shows a picture of a moment with the records taken in so far.
	Show(at time.Time, p *diagnose.Picture)
	// ShowAll shows again what was shown when the evidence was opened.
	ShowAll()
}

// A Player moves through recorded evidence. Its methods return at once; Run does the work.
type Player struct {
	fabric *graphs.Fabric
	file   string
	names  []string
	screen Screen
	wake   chan struct{}

	mu    sync.Mutex // guards all below
	state State
	want  *time.Time // to be sought; nil if nothing is
	all   bool       // all of it is wanted
}

// A State is where a player stands.
type State struct {
	From, To time.Time // of the evidence; zero until it is indexed
	At       time.Time
	Whole    bool
	Running  bool
	Speed    float64
	Busy     bool
	Err      error // why files cannot be read any more
}

// NewPlayer plays evidence files over a fabric, of which file is the name for commands that are printed, if not empty. What they hold in all is on the screen already, up to the time to.
func NewPlayer(f *graphs.Fabric, file string, names []string, to time.Time, screen Screen) *Player {
	return &Player{fabric: f, file: file, names: names, screen: screen, wake: make(chan struct{}, 1), state: State{At: to, Whole: true, Speed: 1}}
}

// State returns where the player stands.
func (p *Player) State() State {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.state
}

func (p *Player) change(f func()) {
	p.mu.Lock()
	f()
	p.mu.Unlock()
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// Seek goes to a moment.
func (p *Player) Seek(to time.Time) {
	p.change(func() {
		if p.state.To.After(p.state.From) { // else it is not known yet how far there is to go
			to = later(earlier(to, p.state.To), p.state.From)
		}
		p.want, p.all, p.state.Busy, p.state.At = &to, false, true, to
	})
}

// Whole shows all of the evidence.
func (p *Player) Whole() {
	p.change(func() { p.want, p.all, p.state.Running = nil, true, false })
}

// Play lets time run, or stand. From the end it begins anew.
func (p *Player) Play(on bool) {
	p.change(func() {
		p.state.Running = on
		if on && p.state.Whole {
			from := p.state.From
			p.want, p.state.Busy = &from, true
		}
	})
}

// Speed is how many recorded seconds a second shows.
func (p *Player) Speed(x float64) {
	p.change(func() { p.state.Speed = x })
}

// frameEvery is how often a running player shows something new.
const frameEvery = 250 * time.Millisecond

// Run indexes the files, and then follows what is asked for, until ctx ends.
func (p *Player) Run(ctx context.Context) {
	r, err := index(p.names)
	p.change(func() {
		if p.state.Err = err; err == nil {
			p.state.From, p.state.To = r.from, r.to
		}
	})
	if err != nil {
		return
	}
	var store *diagnose.Store
	tick := time.NewTicker(frameEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.wake:
			store = p.obey(r, store)
		case <-tick.C:
			if s := p.State(); s.Running && !s.Busy && store != nil {
				step := time.Duration(float64(frameEvery) * s.Speed)
				p.advance(r, store, s.At, earlier(s.At.Add(step), s.To))
			}
		}
	}
}

// obey does what was asked for last.
func (p *Player) obey(r *reel, store *diagnose.Store) *diagnose.Store {
	p.mu.Lock()
	want, all := p.want, p.all
	p.want, p.all = nil, false
	p.mu.Unlock()
	switch {
	case all:
		p.screen.ShowAll()
		p.change(func() { p.state.Whole, p.state.At, p.state.Busy = true, p.state.To, false })
		return nil
	case want == nil:
		return store
	}
	at := later(earlier(*want, r.to), r.from)
	store = diagnose.NewStore(p.fabric, diagnose.Config{Horizon: Window, FabricFile: p.file})
	p.screen.Clear()
	p.advance(r, store, at.Add(-Window), at)
	p.change(func() { p.state.Whole, p.state.Busy = false, p.want != nil })
	return store
}

// advance takes in the records between two moments and shows what follows from them.
func (p *Player) advance(r *reel, store *diagnose.Store, after, to time.Time) {
	records, err := r.between(after, to)
	for _, x := range records {
		store.Add(x)
		p.screen.Record(x)
	}
	p.screen.Show(to, store.Picture(store.Diagnose()))
	p.mu.Lock()
	defer p.mu.Unlock()
	p.state.At = to
	if err != nil {
		p.state.Err = err
	}
	if p.state.Running && !to.Before(p.state.To) {
		p.state.Running = false
	}
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
