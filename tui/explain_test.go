package tui

import (
	"encoding/base64"
	"slices"
	"strings"
	"testing"
)

// A suspect is explained with what speaks against it and with what it may be instead; a link that is none, with what was measured on it.
func TestExplain(t *testing.T) {
	told := func(typed string) string {
		s := newStage(t, sick(t), 120, 60)
		s.press(":")
		s.word(typed)
		s.press("enter")
		return bare(s.View().Content)
	}
	for _, c := range []struct {
		typed string
		sees  []string
	}{
		{"explain", []string{"LOSS  p 0.99", "about 99 are meant to be true.", "41 of 43 flows", "2 flows cross it clean: h1-1 to h3-2", sickArc + ": 34 flows cross it, 32 lose packets and 2 lose none",
			"88 packets more that cross it with none lost would make it a hundred times less likely", "#2 arc leaf3:swp2>spine2:swp3, loss, p 0.62", "whichlink snmp poll", "2 arcs are not measured", "1 source is quiet (spine2 snmp)"}},
		{"explain leaf3:swp2--spine2:swp3", []string{"arc leaf3:swp2>spine2:swp3", "or 1 other that the evidence does not tell from it", "spine2:swp3>leaf3:swp2"}},
		{"explain spine4", []string{"Below p 0.50 it is not named", "never against other links"}},
		{"explain leaf2:swp1--spine1:swp2", []string{"CORRUPT  p 0.06"}},
		{"explain leaf2:swp2--spine2:swp2", []string{"leaf2:swp2--spine2:swp2 is not suspected: verdict suspects", "0 of 45 flows that cross it lose packets", "cleared    spine2: answers few"}},
		{"explain nowhere", []string{`no suspect, link, port or node is called "nowhere"`}},
		{"explain a b", []string{"explain needs one name"}},
	} {
		got := told(c.typed)
		flat := strings.Join(strings.Fields(strings.NewReplacer("│", " ").Replace(got)), " ")
		for _, want := range c.sees {
			if !strings.Contains(flat, strings.Join(strings.Fields(want), " ")) {
				t.Errorf(":%s does not tell %q:\n%s", c.typed, want, got)
			}
		}
	}
	s := newStage(t, sick(t), 100, 30)
	if got := s.candidates("explain leaf3:swp2"); !slices.Contains(got, "leaf3:swp2>spine2:swp3") {
		t.Errorf("completes to %q", got)
	}
	if got := s.candidates("explain "); len(got) == 0 || got[0] != sickArc {
		t.Errorf("completes to %q, not to the first suspect first", got)
	}
	s = newStage(t, well(t), 100, 30)
	s.press(":")
	s.word("explain")
	s.press("enter")
	s.sees(t, "nothing is suspected; :explain NAME says why a link is not")
}

// It scrolls, leads to the link, and is copied whole.
func TestExplainKeys(t *testing.T) {
	s := newStage(t, sick(t), 60, 15)
	s.press(":")
	s.word("explain")
	s.press("enter")
	first := bare(s.View().Content)
	s.press("G")
	if bare(s.View().Content) == first {
		t.Error("G does not scroll")
	}
	s.press("g")
	if bare(s.View().Content) != first {
		t.Error("g does not scroll back")
	}
	out := typed(t, Config{Source: &fixed{sick(t)}}, ":explain\r", "y", "q")
	_, rest, ok := strings.Cut(out, "\x1b]52;c;")
	if !ok {
		t.Fatal("nothing is copied")
	}
	copied, err := base64.StdEncoding.DecodeString(rest[:strings.IndexAny(rest, "\x07\x1b")])
	if err != nil || !strings.HasPrefix(string(copied), "claim      LOSS  p 0.99  arc "+sickArc+"\n") || !strings.Contains(string(copied), "rests on") {
		t.Errorf("copied %q, %v", copied, err)
	}
	s.press("enter")
	if _, ok := s.top().(*linkScreen); !ok {
		t.Error("enter does not open the link")
	}
}
