package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	"whichlink/internal/diagnose"
)

// RunPlain tells in lines what the screens would show, whenever that changes, until ctx ends: for screen readers, for braille, for logs. A replay
// is told once. Nothing is drawn, no line is ever changed, and nothing is asked.
func RunPlain(ctx context.Context, cfg Config) error {
	p := plainText{to: cfg.Output, ascii: cfg.ASCII}
	var m *mask
	if cfg.Mask || cfg.Settings.Mask {
		m = newMask(rand.Uint64())
	}
	if p.to == nil {
		p.to = os.Stdout
	}
	if cfg.Load != nil {
		loaded, err := cfg.Load(ctx)
		if err != nil {
			return err
		}
		cfg.Source = loaded.Source
	}
	if cfg.Source == nil {
		return errors.New("plain lines: no source to show")
	}
	tick := time.NewTicker(tickEvery)
	defer tick.Stop()
	for {
		s := m.snapshot(cfg.Source.Snapshot())
		if err := p.tell(s); err != nil {
			return fmt.Errorf("plain lines: %w", err)
		}
		if s != nil && s.Diagnosis != nil && !s.Live {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// A plainText remembers what was told.
type plainText struct {
	to     io.Writer
	ascii  bool
	told   string // verdict and suspects as they were told last
	events time.Time
	stale  string
}

// tell writes what a snapshot holds that was not told yet.
func (p *plainText) tell(s *Snapshot) error {
	if s == nil || s.Diagnosis == nil {
		return nil
	}
	var b strings.Builder
	put := func(format string, args ...any) {
		text := clean(fmt.Sprintf(format, args...))
		if p.ascii {
			text = toASCII(text)
		}
		b.WriteString(text)
		b.WriteByte('\n')
	}
	told := p.events
	for _, x := range events(s) {
		if x.At.After(told) && x.Lane != diagnose.LaneVerdict {
			put("%s %s: %s, %s", utc(s, x.At), x.Lane, x.What, x.About)
			p.events = x.At
		}
	}
	if now := gist(s.Diagnosis); now != p.told {
		p.told = now
		p.verdict(s, put)
	}
	if _, quiet := sourcesByNeed(s); fmt.Sprint(quiet) != p.stale {
		if p.stale != "" || quiet > 0 {
			put("%s %d of %d sources are stale", utc(s, s.Now), quiet, len(s.Diagnosis.Sources))
		}
		p.stale = fmt.Sprint(quiet)
	}
	_, err := io.WriteString(p.to, b.String())
	return err
}

// utc writes a time of a snapshot for lines: with its date where the evidence has several.
func utc(s *Snapshot, t time.Time) string {
	if s.dated("") == "" || t.IsZero() {
		return clock(t)
	}
	return t.UTC().Format(time.DateOnly+" ") + clock(t)
}

func (p *plainText) verdict(s *Snapshot, put func(string, ...any)) {
	d := s.Diagnosis
	put("%s %s: %s", utc(s, d.To), d.Verdict, d.Summary)
	put("  measured %s", measured(d.Coverage))
	for i := range d.Suspects {
		x := &d.Suspects[i]
		if x.Probability < diagnose.Named {
			break
		}
		put("  suspect %d: %s %s, %s, probability %s", x.Rank, x.Kind, x.ID, x.Symptom, probability(x.Probability))
		put("    for: %s", orElse(x.For, "not said"))
		put("    against: %s", orElse(x.Against, "nothing seen that contradicts it"))
		if len(x.Next) > 0 {
			put("    next: %s", orElse(x.Next[0].What(), x.Next[0].Why))
		}
	}
}

// gist is what of a diagnosis is worth telling anew when it changes: numbers that move with every probe are not.
func gist(d *diagnose.Diagnosis) string {
	var b strings.Builder
	fmt.Fprint(&b, d.Verdict)
	for i := range d.Suspects {
		x := &d.Suspects[i]
		if x.Probability >= diagnose.Named {
			fmt.Fprint(&b, "\n", x.ID, x.Symptom, math.Round(10*x.Probability))
		}
	}
	return b.String()
}
