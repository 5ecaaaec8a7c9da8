package tui

import (
	"reflect"
	"strings"
	"testing"

	"charm.land/bubbles/v2/key"
)

// places returns, by name of the place, the groups of keys that work there at once.
func places(k *keyMap) map[string][]keyGroup {
	return map[string][]keyGroup{
		"overview": {k.everywhere(), k.lists(), k.time()},
		"suspect":  {k.everywhere(), k.lists(), k.suspect(), k.link(), k.packets(), k.time()},
		"captures": {k.everywhere(), k.lists(), k.packets(), k.captures(), k.time()},
		"map":      {k.everywhere(), k.suspect(), k.matrix(), k.chart(), k.time()},
		"links":    {k.everywhere(), k.lists(), k.table(), k.time()},
		"paths":    {k.everywhere(), k.suspect(), k.matrix(), k.pair(), k.time()},
		"events":   {k.everywhere(), k.lists(), k.happenings(), k.time()},
		"drill":    {k.everywhere(), k.lists(), k.drill(), k.time()},
		"chooser":  {k.chooser()},
		"prompt":   {k.prompt()},
		"dialog":   {k.dialog()},
	}
}

func TestNoKeyIsBoundTwice(t *testing.T) {
	k := newKeyMap()
	for place, groups := range places(&k) {
		taken := map[string]string{}
		for _, g := range groups {
			for _, b := range g.keys {
				for _, name := range b.Keys() {
					if was, ok := taken[name]; ok {
						t.Errorf("%s: %q is both %q and %q", place, name, was, b.Help().Desc)
					}
					taken[name] = b.Help().Desc
				}
			}
		}
	}
}

// Every binding of the program stands in the help, once, with its key and what it does.
func TestHelpHasEveryKey(t *testing.T) {
	k := newKeyMap()
	listed := map[string]int{}
	for _, g := range k.groups() {
		for _, b := range g.keys {
			listed[b.Help().Key+" "+b.Help().Desc]++
		}
	}
	s := newStage(t, sick(t), 120, 80)
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

// Alt is another program's, and function keys are not on every keyboard.
func TestKeysAreEverywhere(t *testing.T) {
	k := newKeyMap()
	for _, g := range k.groups() {
		for _, b := range g.keys {
			for _, name := range b.Keys() {
				if strings.Contains(name, "alt") || len(name) > 1 && name[0] == 'f' && name[1] >= '0' && name[1] <= '9' {
					t.Errorf("%q is bound to %s", name, b.Help().Desc)
				}
			}
		}
	}
}
