package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"whichlink/internal/evidence"
)

// TestEvidenceOut: what is written is whole lines, whatever the file held, and when it is emptied to be rotated.
func TestEvidenceOut(t *testing.T) {
	note := func(text string) *evidence.Record {
		return &evidence.Record{Time: time.Unix(0, 0), Source: evidence.SourceNote, By: "h1", Kind: evidence.KindNote, Text: text}
	}
	texts := regexp.MustCompile(`\{"v":1.*"text":"(\w+)"\}`)
	for _, c := range []struct {
		name, before, want string
		how                int
		rotated            bool
	}{
		{"a run anew", "before\n", "a\nb\n", overwrite, false},
		{"a restart", "before\n", "before\na\nb\n", lengthen, false},
		{"a restart after a crash", "before\nhal", "before\nhal\na\nb\n", lengthen, false},
		{"a first start", "", "a\nb\n", lengthen, false},
		{"copied and emptied", "before\n", "b\n", lengthen, true},
		{"a run copied and emptied", "", "b\n", overwrite, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			name := filepath.Join(t.TempDir(), "e.jsonl")
			if err := os.WriteFile(name, []byte(c.before), 0o600); err != nil {
				t.Fatal(err)
			}
			w, closeOut, err := new(env).evidenceOut(name, c.how)
			if err != nil {
				t.Fatal(err)
			}
			w.record(note("a"))
			if c.rotated {
				if err := os.Truncate(name, 0); err != nil {
					t.Fatal(err)
				}
			}
			w.record(note("b"))
			if err := closeOut(); err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(name)
			if got := texts.ReplaceAllString(string(got), "$1"); err != nil || got != c.want {
				t.Errorf("%q, want %q (%v)", got, c.want, err)
			}
		})
	}
}
