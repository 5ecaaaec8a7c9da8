package tui

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"testing"

	tea "charm.land/bubbletea/v2"
)

// A notebook is a memory in memory.
type notebook struct {
	parts map[string]string
	kept  int
	err   error
}

func (n *notebook) Recall(part string, v any) error {
	if n.parts[part] == "" {
		return nil
	}
	return json.Unmarshal([]byte(n.parts[part]), v)
}

func (n *notebook) Keep(part string, v any) error {
	text, err := json.Marshal(v)
	n.kept++
	n.parts[part] = string(text)
	return errors.Join(err, n.err)
}

// How the links are sorted, which columns they have and whether the wide ones are shown is the same after a restart: also what the very last key changed,
// and what was loaded while the first frames stood.
func TestLinksAreRemembered(t *testing.T) {
	n := &notebook{parts: map[string]string{"pins": `["leaf1"]`}}
	session := func(keys string) {
		r, w := io.Pipe()
		go func() { _, _ = io.WriteString(w, keys) }()
		load := func(context.Context) (Config, error) { return Config{Source: &fixed{sick(t)}}, nil }
		if err := run(t.Context(), Config{Source: &fixed{sick(t)}, Load: load, Memory: n, Input: r, Output: new(bytes.Buffer)}, tea.WithWindowSize(120, 40)); err != nil {
			t.Fatal(err)
		}
	}
	recalled := func() *stage {
		a := NewApp(t.Context(), Config{Source: &fixed{sick(t)}, Memory: n})
		s := &stage{App: a}
		s.Update(tea.WindowSizeMsg{Width: 120, Height: 40})
		s.press("3")
		return s
	}
	s := recalled()
	s.sees(t, "sort p descending")
	s.hides(t, "expect")
	if s.memory.keep(s.linkTable()) != nil {
		t.Error("nothing was changed, and something is to be kept")
	}
	session("3ssSwC\x1b[B\x1b[B q\x03") // the choice of columns hides lossy, which sorts, and so stays in sight; q is no key of it
	session("\x03")                     // who changes nothing changes nothing
	s = recalled()
	s.sees(t, "sort lossy ascending")
	s.sees(t, "expect")
	if got := s.linkTable().choice(); got.Sort != "lossy" || !got.Turned || !got.Wide || len(got.Columns) == 0 || got.Columns[2] == "lossy" {
		t.Errorf("%+v", got)
	}
	if n.parts["pins"] != `["leaf1"]` {
		t.Errorf("another part was touched: %v", n.parts)
	}
	// It is kept by the next tick, once, and a keeping that fails is told.
	n.kept, n.err = 0, errors.New("remember the links: no space left on device")
	s.press("S")
	_, cmd := s.Update(tickMsg{})
	s.press("s")
	batch, ok := cmd().(tea.BatchMsg)
	if !ok || len(batch) != 2 {
		t.Fatalf("%T", cmd())
	}
	s.Update(batch[1]())
	s.sees(t, "! remember the links: no space left")
	if n.kept != 1 {
		t.Errorf("kept %d times", n.kept)
	}
}

// A memory that holds nonsense is told in one line, and is no obstacle.
func TestBrokenMemory(t *testing.T) {
	for part, says := range map[string]string{
		`{"columns":["p","speed\u001b[31m"]}`: `! ignored: what was kept of the links: no column "speed\x1b[31m"; columns are p, loss`,
		`{"columns":["p","p"]}`:               `column "p" is there twice`,
		`{"sort":"speed"}`:                    `no column "speed" to sort by`,
		`{"sort":7}`:                          "! ignored: json: cannot unmarshal number",
		`{"columns":`:                         "unexpected end of JSON input",
	} {
		s := &stage{App: NewApp(t.Context(), Config{Source: &fixed{sick(t)}, Memory: &notebook{parts: map[string]string{linksPart: part}}})}
		s.Update(tea.WindowSizeMsg{Width: 120, Height: 40})
		s.sees(t, says)
		if s.press("3"); s.linkTable().chosen != nil {
			t.Errorf("%s: columns %q", part, s.linkTable().chosen)
		}
		s.sees(t, "sort p descending")
	}
}
