package tui

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"charm.land/bubbles/v2/key"

	"whichlink/graphs"
)

// actions returns the bindings of a keyMap by the names that actions have in files: those of its fields, as in page-down. Only ctrl-c is always what it is.
func (k *keyMap) actions() map[string]*key.Binding {
	out := map[string]*key.Binding{}
	v := reflect.ValueOf(k).Elem()
	for i := range v.NumField() {
		if b := v.Field(i).Addr().Interface().(*key.Binding); b != &k.Interrupt {
			out[dashed(v.Type().Field(i).Name)] = b
		}
	}
	return out
}

// dashed writes PageDown as page-down.
func dashed(name string) string {
	var b strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('-')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// bind gives an action other keys.
func (k *keyMap) bind(b *key.Binding, names []string) error {
	if b == &k.Screens && len(names) != len(k.Screens.Keys()) {
		return fmt.Errorf("needs %d keys, one a screen", len(k.Screens.Keys()))
	}
	typed := slices.ContainsFunc(append(k.prompt().keys, k.dialog().keys...), func(x key.Binding) bool { return x.Help() == b.Help() })
	for _, n := range names {
		if typed && (utf8.RuneCountInString(n) == 1 || n == "space") {
			return fmt.Errorf("%q is typed there", n)
		}
	}
	b.SetKeys(names...)
	shown := make([]string, len(names))
	for i, n := range names {
		shown[i] = keyShown(n)
	}
	b.SetHelp(strings.Join(shown, " "), b.Help().Desc)
	return nil
}

// specialKeys are keys that print nothing, as Bubble Tea calls them.
var specialKeys = []string{"enter", "esc", "tab", "space", "backspace", "delete", "insert", "home", "end", "pgup", "pgdown", "up", "down", "left", "right",
	"f1", "f2", "f3", "f4", "f5", "f6", "f7", "f8", "f9", "f10", "f11", "f12"}

// keyNamed returns what Bubble Tea calls a key that somebody wrote as ctrl-d, pgdn, space or x.
func keyNamed(text string) (string, error) {
	wrong := fmt.Errorf("no key is called %q: expected such as x, ctrl-d, shift-tab, pgdn", graphs.Clean(text))
	if utf8.RuneCountInString(text) == 1 {
		if r, _ := utf8.DecodeRuneInString(text); r == utf8.RuneError || !unicode.IsPrint(r) {
			return "", wrong
		} else if r == ' ' {
			return "space", nil
		}
		return text, nil
	}
	rest, with := strings.ToLower(text), ""
	for _, m := range []string{"ctrl", "alt", "shift"} {
		if after, ok := strings.CutPrefix(strings.Replace(rest, m+"-", m+"+", 1), m+"+"); ok {
			rest, with = after, with+m+"+"
		}
	}
	if rest == "pgdn" {
		rest = "pgdown"
	}
	switch {
	case with == "ctrl+" && rest == "c":
		return "", errors.New("ctrl-c always ends the program")
	case slices.Contains(specialKeys, rest):
		return with + rest, nil
	case with != "" && utf8.RuneCountInString(rest) == 1 && rest[0] > ' ' && rest[0] <= '~':
		if strings.Contains(with, "shift") {
			return "", fmt.Errorf("%q: with shift a key is another letter, such as X", graphs.Clean(text))
		}
		return with + rest, nil
	}
	return "", wrong
}

// keyShown is a key as it stands in help and footer.
func keyShown(name string) string {
	if len(name) < 2 {
		return name
	}
	return strings.ReplaceAll(strings.Replace(name, "pgdown", "pgdn", 1), "+", "-")
}

// first is the first key of an action, as it is shown.
func first(b key.Binding) string {
	if len(b.Keys()) == 0 {
		return ""
	}
	return keyShown(b.Keys()[0])
}

// places are the groups of keys that work at once, by the name of the place.
func (k *keyMap) places() map[string][]keyGroup {
	return map[string][]keyGroup{
		"the overview":          {k.everywhere(), k.lists(), k.time()},
		"a link":                {k.everywhere(), k.lists(), k.suspect(), k.link(), k.packets(), k.time()},
		"captures":              {k.everywhere(), k.lists(), k.packets(), k.captures(), k.time()},
		"the map":               {k.everywhere(), k.moves(), k.suspect(), k.matrix(), k.chart(), k.time()},
		"links":                 {k.everywhere(), k.lists(), k.table(), k.time()},
		"paths":                 {k.everywhere(), k.moves(), k.suspect(), k.matrix(), k.pair(), k.time()},
		"events":                {k.everywhere(), k.lists(), k.happenings(), k.time()},
		"the drill":             {k.everywhere(), k.lists(), k.drill(), k.time()},
		"the choice of columns": {k.chooser(), {"", []key.Binding{k.Do, k.Cancel, k.ChooseUp, k.ChooseDown, k.Interrupt}}},
		"prompts":               {k.prompt(), {"", []key.Binding{k.Interrupt}}},
		"dialogs":               {k.dialog(), {"", []key.Binding{k.Interrupt}}},
	}
}

// moves are the keys of lists that maps obey.
func (k *keyMap) moves() keyGroup { return keyGroup{"", []key.Binding{k.Up, k.Down}} }

// A doubleError is a key that would do two things in one place.
type doubleError struct{ key, place, first, second string }

func (d doubleError) Error() string {
	return fmt.Sprintf("%s: %q is %s already, on %s", d.second, keyShown(d.key), d.first, d.place)
}

// doubled looks for a key that would do two things in one place.
func (k *keyMap) doubled() (doubleError, bool) {
	names := map[key.Help]string{k.Interrupt.Help(): "interrupt"}
	for name, b := range k.actions() {
		names[b.Help()] = name
	}
	places := k.places()
	for _, place := range slices.Sorted(maps.Keys(places)) {
		taken := map[string]string{}
		for _, g := range places[place] {
			for _, b := range g.keys {
				for _, n := range b.Keys() {
					if was, ok := taken[n]; ok {
						return doubleError{n, place, was, names[b.Help()]}, true
					}
					taken[n] = names[b.Help()]
				}
			}
		}
	}
	return doubleError{}, false
}

// clears says which key lets everything pass again, where nothing passes the filter.
func (k *keyMap) clears(what string) string {
	return "no " + what + " passes the filter; " + first(k.Back) + " clears it"
}

// scrolls are the keys that scroll a text beside a list.
func (k *keyMap) scrolls() string { return "  " + first(k.TextDown) + " " + first(k.TextUp) }
