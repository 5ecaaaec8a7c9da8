package tui

import (
	"context"
	"sync"

	tea "charm.land/bubbletea/v2"
)

// A load is what the first frames wait for.
type load struct {
	make    func(context.Context) (Config, error)
	says    func() string
	waiting bool
	err     error

	mu      sync.Mutex // guards over
	over    bool       // the program ends: nothing is begun any more
	running sync.WaitGroup
}

// A loadedMsg is the end of a load.
type loadedMsg struct {
	cfg Config
	err error
}

// cmd returns the command that loads. Once it runs, [load.wait] waits for it; if somebody quits at once, it never does.
func (l *load) cmd(ctx context.Context) tea.Cmd {
	return func() tea.Msg {
		if !l.begin() {
			return nil
		}
		defer l.running.Done()
		var cfg Config
		err := Guard(func() (err error) { cfg, err = l.make(ctx); return err })
		return loadedMsg{cfg, err}
	}
}

// begin reports whether there is still something to load for.
func (l *load) begin() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.over {
		l.running.Add(1)
	}
	return !l.over
}

// wait waits until a load that was begun has ended, and lets none begin.
func (l *load) wait() {
	l.mu.Lock()
	l.over = true
	l.mu.Unlock()
	l.running.Wait()
}

// words say what is waited for, and nothing of its name if that is masked.
func (l *load) words(masked bool) string {
	if l.says == nil || masked {
		return "loading"
	}
	return l.says()
}

// take shows what was loaded, or ends the program if that could not be.
func (a *App) take(msg loadedMsg) tea.Cmd {
	a.load.waiting = false
	if msg.err != nil {
		a.load.err = msg.err
		return tea.Quit
	}
	a.source, a.trainer, a.player, a.prober, a.reader, a.remark, a.save = msg.cfg.Source, msg.cfg.Trainer, msg.cfg.Player, msg.cfg.Prober, msg.cfg.Captures, msg.cfg.Remark, msg.cfg.Save
	at := a.tab()
	a.setTabs()
	a.pull()
	if a.visit(at); at == 0 {
		a.begin()
	}
	return nil
}
