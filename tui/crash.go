package tui

import (
	"fmt"
	"runtime/debug"

	tea "charm.land/bubbletea/v2"
)

// A Crash is a fault of the program itself: what it panicked with, and where it was then. [Run] returns it when the terminal is as it was.
type Crash struct {
	Value string
	Stack []byte
}

// Error says what happened in one line.
func (c *Crash) Error() string { return "a fault in whichlink itself: " + elide(clean(c.Value), 200) }

// Guard calls f, and returns a [Crash] if it panics.
func Guard(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &Crash{Value: fmt.Sprint(v), Stack: debug.Stack()}
		}
	}()
	return f()
}

// A crashMsg is the end of a command that panicked.
type crashMsg struct{ err error }

// guarded is a command whose panic ends the program, and not the terminal with it: commands run beside the loop that Run can guard.
func guarded(cmd tea.Cmd) tea.Cmd {
	if cmd == nil {
		return nil
	}
	return func() (msg tea.Msg) {
		if err := Guard(func() error { msg = cmd(); return nil }); err != nil {
			return crashMsg{err}
		}
		if batch, ok := msg.(tea.BatchMsg); ok {
			for i := range batch {
				batch[i] = guarded(batch[i])
			}
		}
		return msg
	}
}
