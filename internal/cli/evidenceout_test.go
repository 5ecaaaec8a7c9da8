package cli

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"whichlink/internal/evidence"
)

func note(text string) *evidence.Record {
	return &evidence.Record{Time: time.Unix(0, 0), Source: evidence.SourceNote, By: "h1", Kind: evidence.KindNote, Text: text}
}

// TestEvidenceOut: what is written is whole lines, whatever the file held, and when it is emptied to be rotated.
func TestEvidenceOut(t *testing.T) {
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

// A disk is full for a while, and takes a part of what is written then.
type disk struct {
	bytes.Buffer
	room int
}

func (d *disk) Write(p []byte) (int, error) {
	n, _ := d.Buffer.Write(p[:min(len(p), d.room)])
	if d.room -= n; n < len(p) {
		return n, syscall.ENOSPC
	}
	return n, nil
}

// TestDiskFull: it is said when evidence is lost and when it no longer is, once each, and lines stay whole.
func TestDiskFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &disk{room: 300}
		var said strings.Builder
		w := &evidenceWriter{out: out, say: func(format string, args ...any) { fmt.Fprintf(&said, format+"\n", args...) }}
		for i := range 9 {
			if i == 6 {
				out.room = 1000
			}
			w.record(note(fmt.Sprint("n", i)))
			time.Sleep(2 * time.Second)
		}
		const want = "evidence cannot be written and is lost until it can: no space left on device\nevidence is written again; 4 records were lost\n"
		if said.String() != want {
			t.Errorf("said %q", said.String())
		}
		var got []string
		if _, err := evidence.Read(&out.Buffer, "e", func(r *evidence.Record) bool { got = append(got, r.Text); return true }); err == nil || strings.Join(got, " ") != "n0 n1 n6 n7 n8" {
			t.Errorf("read %q, %v", got, err)
		}
		if err := w.end(); !errors.Is(err, syscall.ENOSPC) || !strings.HasPrefix(err.Error(), "4 of 9 records are lost") {
			t.Error(err)
		}
	})
}
