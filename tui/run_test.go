package tui

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
)

func TestRun(t *testing.T) {
	run := func(ctx context.Context, in io.Reader) error {
		done := make(chan error, 1)
		go func() {
			done <- Run(ctx, Config{Source: &fixed{sick(t)}, Input: in, Output: new(bytes.Buffer)})
		}()
		select {
		case err := <-done:
			return err
		case <-time.After(10 * time.Second):
			t.Fatal("still running")
			return nil
		}
	}
	t.Run("q quits", func(t *testing.T) {
		r, w := io.Pipe()
		go w.Write([]byte("q"))
		if err := run(context.Background(), r); err != nil {
			t.Error(err)
		}
	})
	t.Run("the end of the context is no error", func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		time.AfterFunc(50*time.Millisecond, cancel)
		r, _ := io.Pipe()
		if err := run(ctx, r); err != nil {
			t.Error(err)
		}
	})
	t.Run("without a source", func(t *testing.T) {
		if err := Run(context.Background(), Config{}); err == nil {
			t.Error("no error")
		}
	})
}

// The first frame does not wait for what is shown.
func TestLoad(t *testing.T) {
	a := NewApp(context.Background(), Config{
		Load: func(context.Context) (Config, error) {
			return Config{Source: &fixed{sick(t)}, Trainer: &practice{}}, nil
		},
		Loading: func() string { return "reading a.jsonl: 12 records so far" },
	})
	s := &stage{App: a}
	s.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
	s.sees(t, "LOADING")
	s.sees(t, "reading a.jsonl: 12 records so far")
	for _, k := range []string{"b", "P", "R", "enter", "2", "x", "y", "/", "esc", "1"} { // there is nothing yet, and nothing breaks
		s.press(k)
	}
	s.press("3")
	s.tick(1)
	s.Update(a.load.cmd(a.ctx)())
	s.hides(t, "LOADING")
	s.sees(t, "[3 Links]")
	s.press("1")
	s.sees(t, "SUSPECTS")
	s.press("b")
	s.sees(t, "Break the drill")
}

// What cannot be loaded ends the program with its own error; who quits meanwhile waits until it has let go.
func TestLoadEnds(t *testing.T) {
	wrong := errors.New("no such fabric")
	r, _ := io.Pipe()
	if err := Run(context.Background(), Config{Load: func(context.Context) (Config, error) { return Config{}, wrong }, Input: r, Output: new(bytes.Buffer)}); err != wrong {
		t.Errorf("%v, not the error of what is loaded", err)
	}
	var l load
	late := l.cmd(t.Context())
	l.wait() // somebody quit before it was begun
	if msg := late(); msg != nil {
		t.Errorf("after the end it loads: %v", msg)
	}
	begun, let := make(chan struct{}), false
	in, keys := io.Pipe()
	go func() {
		<-begun
		keys.Write([]byte("q"))
	}()
	err := Run(context.Background(), Config{Input: in, Output: new(bytes.Buffer), Load: func(ctx context.Context) (Config, error) {
		close(begun)
		<-ctx.Done()
		time.Sleep(50 * time.Millisecond)
		let = true
		return Config{}, ctx.Err()
	}})
	if err != nil || !let {
		t.Errorf("%v; let go: %v", err, let)
	}
}
