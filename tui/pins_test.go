package tui

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"whichlink/graphs"
	"whichlink/internal/diagnose"
)

// pinned makes a stage with a memory, on which the commands of pins are run as the program runs them.
func pinnedStage(t *testing.T, n *notebook, x *Snapshot) *stage {
	t.Helper()
	a := NewApp(t.Context(), Config{Source: &fixed{x}, Memory: n})
	a.Update(tea.WindowSizeMsg{Width: 120, Height: 40})
	return &stage{App: a}
}

// What is pinned is shown with its state, stands first among the links, and is the same after a restart: by fabric, bounded, and without names that it
// does not have.
func TestPins(t *testing.T) {
	n := &notebook{parts: map[string]string{}}
	s := pinnedStage(t, n, sick(t))
	s.deliver(s.press("*"))
	s.press(":")
	s.word("pin spine4")
	s.deliver(s.press("enter"))
	s.press(":")
	s.word("pin leaf4:swp1")
	s.deliver(s.press("enter"))
	for _, want := range []string{"Pinned", "LOSS        p 0.99   5.0 %", "spine4", "leaf4:swp1--spine1:swp4"} {
		s.sees(t, want)
	}
	s.press("3")
	l := s.tabs[2].(*linksScreen)
	first := []string{s.shown.Fabric.LinkName(l.order[0]), s.shown.Fabric.LinkName(l.order[1])}
	if slices.Sort(first); !slices.Equal(first, []string{sickLink, "leaf4:swp1--spine1:swp4"}) {
		t.Errorf("first among the links are %q", first)
	}
	s.sees(t, ">*"+sickLink)
	again := *s.taken // the same fabric, read once more
	again.Fabric = leafSpine(t, "ls4x4", 4, 4, 2)
	again.Picture = &diagnose.Picture{Diagnosis: again.Diagnosis, Fabric: again.Fabric, Arcs: again.Picture.Arcs, Model: again.Picture.Model}
	s.App.source = &fixed{&again}
	for range stillFor + 1 {
		s.Update(tickMsg{})
	}
	s.sees(t, ">*"+sickLink)
	s.deliver(s.press("*")) // the one under the cursor is no longer pinned
	s.sees(t, "no longer pinned: "+sickLink)

	// Another session, another fabric, and this one again.
	other := randomGraph(t)
	s = pinnedStage(t, n, other)
	s.hides(t, "Pinned")
	name := other.Fabric.NodeName(other.Fabric.Switches()[0])
	s.press(":")
	s.Update(keyPaste("pin " + name))
	s.deliver(s.press("enter"))
	s = pinnedStage(t, n, sick(t))
	if want := fmt.Sprint([]string{"spine4", "leaf4:swp1--spine1:swp4"}); fmt.Sprint(s.pins.names) != want {
		t.Errorf("pinned are %q, want %s", s.pins.names, want)
	}

	// Nothing without bound, and what is wrong is said.
	for _, typed := range []struct{ text, says string }{{"pin nobody", "! links and nodes can be pinned"}, {"pin a b", "! pin needs one name"}} {
		s.press(":")
		s.word(typed.text)
		s.press("enter")
		s.sees(t, typed.says)
	}
	f := s.taken.Fabric
	for id := range graphs.LinkID(f.NumLinks()) {
		_, _, err := s.pins.toggle(f.LinkName(id))
		if full := len(s.pins.names) == mostPins; err != nil && !full {
			t.Fatal(err)
		}
	}
	if len(s.pins.names) != mostPins {
		t.Errorf("%d are pinned", len(s.pins.names))
	}
	for i := range 2 * mostPinned {
		b := pinboard{in: n, of: leafSpine(t, fmt.Sprint("fabric", i), 2, 2, 0), names: []string{"leaf1"}}
		if msg := b.keep()().(pinnedMsg); msg.err != nil {
			t.Fatal(msg.err)
		}
	}
	var all []keptPins
	if err := n.Recall(pinsPart, &all); err != nil || len(all) != mostPinned || all[0].Fabric != fmt.Sprint("fabric", 2*mostPinned-1) {
		t.Errorf("kept are %v, %v", all, err)
	}
	for text, says := range map[string]string{
		`{"fabric": 7}`: "! ignored: ", `[{"fabric": "ls4x4", "names": ["leaf1", "\u001b[2J", "leaf9:swp1", "leaf1"]}]`: "",
	} {
		n.parts[pinsPart] = text
		s = pinnedStage(t, n, sick(t))
		s.sees(t, says)
		s.hides(t, "leaf9")
		s.hides(t, "\x1b")
	}
}

// How a node is follows from its links, unless it is itself named; and nothing seen of it is not fine.
func TestPinnedStates(t *testing.T) {
	x := sick(t)
	b := pinboard{of: x.Fabric, names: []string{"leaf1", "spine4", "leaf2", "h1-1", sickLink, "leaf4:swp4--spine4:swp4"}}
	var got []string
	for _, p := range b.look(x).pins {
		got = append(got, p.name(x.Fabric)+" "+p.state)
	}
	want := []string{"leaf1 LOSS", "spine4 half dark", "leaf2 ok", "h1-1 ok", sickLink + " LOSS", "leaf4:swp4--spine4:swp4 dark"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	named := *x.Diagnosis
	named.Suspects = slices.Clone(named.Suspects)
	named.Suspects[2].Probability = 0.7
	x.Diagnosis = &named
	if got := b.look(x).pins[1]; got.state != "DELAY" || got.p != 0.7 {
		t.Errorf("a named switch is %+v", got)
	}
}

// The bell rings when what is pinned changes, once in a while, and says what in words that hide names where these are masked.
func TestBellOfPins(t *testing.T) {
	healthy, ill := well(t), sick(t)
	ill.Fabric, ill.Picture.Fabric = healthy.Fabric, healthy.Fabric // one fabric, seen twice
	quiet := *ill
	d := *quiet.Diagnosis
	d.Suspects = nil // else the suspect rings by itself
	quiet.Diagnosis = &d
	p := *quiet.Picture
	p.Arcs = slices.Clone(p.Arcs)
	p.Diagnosis = &d
	id, _ := p.Fabric.LinkByName(sickLink)
	p.Arcs[id.Forward()] = diagnose.ArcTally{}
	quiet.Picture = &p

	b := pinboard{of: healthy.Fabric, names: []string{sickLink}}
	m := newMask(5)
	if err := m.learn(healthy.Fabric); err != nil {
		t.Fatal(err)
	}
	ring := &bell{mode: bellNotify}
	said := func(s *Snapshot, hides *mask) string {
		cmd := ring.hear(s, b.look(s).pins, hides)
		if cmd == nil {
			return ""
		}
		return cmd().(tea.RawMsg).Msg.(string)
	}
	if got := said(healthy, nil); got != "" {
		t.Errorf("the first look rings: %q", got)
	}
	if got, want := said(&quiet, nil), "\a\x1b]9;whichlink: pinned "+sickLink+": half dark, was ok\x1b\\"; got != want {
		t.Errorf("told %q, want %q", got, want)
	}
	if got := said(healthy, nil); got != "" {
		t.Errorf("rings again at once: %q", got)
	}
	later := quiet
	later.Now = noon.Add(quietFor)
	if got := said(&later, m); !strings.Contains(got, m.name(sickLink)+": half dark") || len(leaks(healthy.Fabric, nil, got)) > 0 {
		t.Errorf("masked it tells %q", got)
	}
	ring.mode = bellOn
	later.Now = noon.Add(9 * quietFor)
	back := *healthy
	back.Now = noon.Add(5 * quietFor)
	if got := said(&back, nil); got != "\a" {
		t.Errorf("rings by %q", got)
	}
	ring.mode = bellOff
	if got := said(&later, nil); got != "" {
		t.Errorf("it is off, and tells %q", got)
	}
	// A suspect that comes first.
	ring = &bell{mode: bellNotify}
	ring.hear(ill, nil, nil)
	turned := *ill
	e := *ill.Diagnosis
	e.Suspects = slices.Clone(e.Suspects)
	e.Suspects[0], e.Suspects[1] = e.Suspects[1], e.Suspects[0]
	turned.Diagnosis = &e
	if got := said(&turned, nil); !strings.Contains(got, "leaf3:swp2>spine2:swp3 is the first suspect now") {
		t.Errorf("told %q", got)
	}
}
