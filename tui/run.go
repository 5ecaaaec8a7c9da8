// Package tui is the terminal UI. It draws and holds no truth of its own: everything on the screen stands in a [Snapshot],
// which a [Source] makes and the screens only read. The same snapshot drawn twice at one size gives the same picture.
//
// [Run] is all that most callers need. What a caller supplies is small: a [Source], and for a drill a [Trainer]. A [Tape]
// keeps the echoes that the screen of a link shows over time.
//
// The package never measures, reads files or logs, and nothing else may write to the terminal while it runs.
package tui

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
)

// Config says what to show and where.
type Config struct {
	// Source is what is shown. It is needed, unless there is a Load.
	Source Source
	// Load makes what is shown while the first frames say what is waited for: Source, Trainer, Prober and Player of what it returns are taken. It is
	// called once, must obey its context, and has returned when Run returns. An error ends Run.
	Load func(ctx context.Context) (Config, error)
	// Loading says in a line what is waited for; nil says nothing.
	Loading func() string
	// Trainer breaks and heals the drill; nil if this is none.
	Trainer Trainer
	// Prober measures what is asked for; nil if nothing can be sent.
	Prober Prober
	// Player moves in recorded evidence; nil if what is shown happens now.
	Player Player
	// Remark puts a note among the evidence; nil where nothing is recorded.
	Remark func(text string) error
	// Save writes a file that somebody asked for, and overwrites none; nil where nothing may be written.
	Save func(ctx context.Context, name string, data []byte) error
	// Captures fetches the packets behind the findings of captures; nil where nothing can.
	Captures PacketReader
	// Memory keeps what somebody chose on the screens over the end of the program; nil keeps nothing.
	Memory Memory
	// Mask shows pseudonyms in place of names and addresses from the beginning.
	Mask bool
	// Settings are those of whoever runs the program; Settled says where they are from, and Unsettled why they could not be read.
	Settings  Settings
	Settled   string
	Unsettled error
	// Theme is one of [Settings.ThemeNames]; empty means that of the settings.
	Theme string
	// NoColor leaves out colours. So does any value of the environment variable NO_COLOR but the empty one.
	NoColor bool
	// ASCII draws with ASCII alone.
	ASCII bool
	// Input and Output are the terminal; nil means the process's own.
	Input  io.Reader
	Output io.Writer
}

// Run shows the terminal UI until somebody quits or ctx ends, and leaves the terminal as it was, also if it panics: then it returns a [Crash]. That ctx
// ended is no error.
func Run(ctx context.Context, cfg Config) error { return run(ctx, cfg) }

func run(ctx context.Context, cfg Config, more ...tea.ProgramOption) error {
	if cfg.Source == nil && cfg.Load == nil {
		return errors.New("terminal ui: no source to show")
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// main turns signals into the end of ctx; two handlers would race.
	options := []tea.ProgramOption{tea.WithContext(ctx), tea.WithoutSignalHandler(), tea.WithoutCatchPanics()}
	// colorprofile reads NO_COLOR as a boolean; no-color.org asks for any value. ASCII still has bold and reverse.
	if cfg.NoColor || os.Getenv("NO_COLOR") != "" {
		options = append(options, tea.WithColorProfile(colorprofile.ASCII))
	}
	if cfg.Input != nil {
		options = append(options, tea.WithInput(cfg.Input))
	}
	if cfg.Output != nil {
		options = append(options, tea.WithOutput(cfg.Output))
	}
	model := NewApp(ctx, cfg)
	program := tea.NewProgram(model, append(options, more...)...)
	var last tea.Model
	err := Guard(func() (err error) { last, err = program.Run(); return err })
	ended := ctx.Err() != nil
	cancel()
	crash := new(Crash)
	if errors.As(err, &crash) {
		program.Kill() // gives the terminal back
		model.crash = err
	}
	model.load.wait()
	forgot := errors.Join(model.memory.finish(model.linkTable()), model.pins.finish())
	if model.crash != nil {
		return model.crash
	}
	if model.load.err != nil && !ended {
		return model.load.err
	}
	if err != nil && !ended {
		return fmt.Errorf("terminal ui: %w", err)
	}
	if a, ok := last.(*App); ok && a.keep {
		_, err := fmt.Fprintln(cmp.Or[io.Writer](cfg.Output, os.Stdout), a.left())
		return errors.Join(err, forgot)
	}
	return forgot
}

// left is the last screen as plain text, for the terminal's own memory.
func (a *App) left() string {
	rows := strings.Split(ansi.Strip(a.View().Content), "\n")
	for i := range rows {
		rows[i] = strings.TrimRight(rows[i], " ")
	}
	return strings.TrimRight(strings.Join(rows, "\n"), "\n")
}
