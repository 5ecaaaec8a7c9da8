package tui

import (
	"reflect"
	"strings"
	"testing"

	"charm.land/bubbles/v2/key"
)

func TestNoKeyIsBoundTwice(t *testing.T) {
	k := newKeyMap()
	if twice, is := k.doubled(); is {
		t.Error(twice)
	}
}

// Every binding of the program stands in the help, once, with its key and what it does.
func TestHelpHasEveryKey(t *testing.T) {
	k := newKeyMap()
	listed := map[string]int{}
	for _, g := range k.groups(&overview{}) {
		for _, b := range g.keys {
			listed[b.Help().Key+" "+b.Help().Desc]++
		}
	}
	s := newStage(t, sick(t), 120, 100)
	s.press("?")
	screen := bare(s.View().Content)
	m := reflect.ValueOf(k)
	for i := range m.NumField() {
		name := m.Type().Field(i).Name
		b := m.Field(i).Interface().(key.Binding)
		h := b.Help()
		if h.Key == "" || h.Desc == "" || !b.Enabled() {
			t.Errorf("%s has no help", name)
		}
		if n := listed[h.Key+" "+h.Desc]; n != 1 {
			t.Errorf("%s stands in the help %d times", name, n)
		}
		if !strings.Contains(screen, "  "+h.Key+" ") || !strings.Contains(screen, h.Desc) {
			t.Errorf("the help on the screen does not show %s: %s %s", name, h.Key, h.Desc)
		}
	}
}

// The keys of a screen stand first in its help, and one that does nothing there says where it does something.
func TestHelpBeginsHere(t *testing.T) {
	s := newStage(t, sick(t), 100, 30)
	s.press("3", "?")
	rows := strings.Split(bare(s.View().Content), "\n")
	if !strings.Contains(rows[3], "Links, here") || !strings.Contains(rows[4], "s  sort by the next column") {
		t.Errorf("the help of the links begins with\n%s", strings.Join(rows[:8], "\n"))
	}
	s.press("esc", "L")
	s.sees(t, "L does nothing here. Map: next layer")
	s.press("1", "w")
	s.sees(t, "w does nothing here. Captures: open in tshark, asks first; Links: wide columns; Paths")
	for _, key := range []string{"j", "G", "Z", "enter"} {
		s = newStage(t, sick(t), 100, 30)
		s.press(key)
		s.hides(t, "does nothing here")
	}
}

// Up and down in a prompt lead through what was typed into it before, filters and commands apart.
func TestRecall(t *testing.T) {
	s := newStage(t, sick(t), 100, 30)
	enter := func(first, text string) {
		s.press(first)
		s.word(text)
		s.press("enter")
	}
	enter("/", "spine2")
	s.press("esc")
	enter(":", "links")
	enter(":", "map")
	enter(":", "map")
	s.press(":")
	for _, c := range []struct{ key, want string }{{"up", "map"}, {"up", "links"}, {"up", "links"}, {"down", "map"}, {"down", ""}, {"down", ""}, {"up", "map"}} {
		s.press(c.key)
		if got := s.prompt.value(); got != c.want {
			t.Errorf("after %s the prompt holds %q, want %q", c.key, got, c.want)
		}
	}
	s.press("esc", "1", "/", "up")
	if got := s.top().filtered().query; got != "spine2" {
		t.Errorf("the filter is %q", got)
	}
	for i := range 2 * mostRecalled {
		s.typed[0].add(strings.Repeat("x", i))
	}
	if n := len(s.typed[0].lines); n != mostRecalled {
		t.Errorf("%d lines are kept", n)
	}
}

// Alt is another program's, and function keys are not on every keyboard.
func TestKeysAreEverywhere(t *testing.T) {
	k := newKeyMap()
	for _, g := range k.groups(&overview{}) {
		for _, b := range g.keys {
			for _, name := range b.Keys() {
				if strings.Contains(name, "alt") || len(name) > 1 && name[0] == 'f' && name[1] >= '0' && name[1] <= '9' {
					t.Errorf("%q is bound to %s", name, b.Help().Desc)
				}
			}
		}
	}
}
