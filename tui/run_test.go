package tui

import (
	"bytes"
	"context"
	"io"
	"testing"
	"time"
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
