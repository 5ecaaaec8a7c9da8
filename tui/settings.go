package tui

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/BurntSushi/toml"

	"whichlink/graphs"
)

// Settings are what somebody wants of the terminal UI whenever it is opened: keys, themes of their own, and what is on from the beginning. The zero Settings
// are those of the program; [ReadSettings] reads others.
type Settings struct {
	Theme string // a name of [Settings.ThemeNames]; empty: the first
	Bell  string // off, on or notify; empty: off
	Mask  bool   // names are masked

	keys   *keyMap // nil: those of the program
	themes map[string]map[style]string
}

// MostSettings is the size that a file of settings may have, in bytes.
const MostSettings = 64 << 10

// mostInLine is how long a line of it may be: what nests deeply in one line takes the reader seconds.
const mostInLine = 1000

// ReadSettings reads settings in TOML: theme, bell and mask, a table keys of actions (docs/keys.md) with their keys, and tables themes.NAME with a colour for a
// style. An error is one line, which begins with the name and the line where it is wrong.
func ReadSettings(name string, text []byte) (Settings, error) {
	r := settingsReader{file: graphs.Clean(name)}
	if len(text) > MostSettings {
		return Settings{}, fmt.Errorf("%s: larger than %d bytes", r.file, MostSettings)
	}
	for i, line := range strings.Split(string(text), "\n") {
		if len(line) > mostInLine {
			return Settings{}, fmt.Errorf("%s:%d: the line is longer than %d bytes", r.file, i+1, mostInLine)
		}
	}
	var top map[string]toml.Primitive
	var err error
	if r.meta, err = toml.Decode(string(text), &top); err != nil {
		return Settings{}, r.at(err)
	}
	for _, key := range slices.Sorted(maps.Keys(top)) {
		if err := r.member(key, top[key]); err != nil {
			return Settings{}, r.at(err)
		}
	}
	if names := r.out.ThemeNames(); r.out.Theme != "" && !slices.Contains(names, r.out.Theme) {
		return Settings{}, r.at(r.refuse(top["theme"], fmt.Errorf("theme %q is not one of %s", graphs.Clean(r.out.Theme), strings.Join(names, ", "))))
	}
	return r.out, nil
}

// A settingsReader reads one file.
type settingsReader struct {
	file string
	meta toml.MetaData
	out  Settings
}

// A taker is handed a value of the file. What it returns as an error gets the value's line.
type taker func(value any) error

// UnmarshalTOML implements [toml.Unmarshaler].
func (t taker) UnmarshalTOML(value any) error { return t(value) }

func (r *settingsReader) take(p toml.Primitive, t taker) error { return r.meta.PrimitiveDecode(p, &t) }

// refuse returns an error with the line of a value.
func (r *settingsReader) refuse(p toml.Primitive, err error) error {
	return r.take(p, func(any) error { return err })
}

// at puts file and line before what is wrong.
func (r *settingsReader) at(err error) error {
	var where toml.ParseError
	if !errors.As(err, &where) {
		return fmt.Errorf("%s: %s", r.file, graphs.Printable(err.Error()))
	}
	says, _, _ := strings.Cut(where.Message, "\n")
	return fmt.Errorf("%s:%d: %s", r.file, max(where.Position.Line, 1), graphs.Printable(says))
}

func (r *settingsReader) member(key string, p toml.Primitive) error {
	switch key {
	case "theme":
		return r.take(p, func(v any) (err error) { r.out.Theme, err = textOf(key, v); return err })
	case "bell":
		return r.take(p, func(v any) (err error) {
			if r.out.Bell, err = textOf(key, v); err == nil && !slices.Contains(bellModes(), r.out.Bell) {
				err = fmt.Errorf("bell %q is not one of %s", graphs.Clean(r.out.Bell), strings.Join(bellModes(), ", "))
			}
			return err
		})
	case "mask":
		return r.take(p, func(v any) error {
			on, ok := v.(bool)
			if r.out.Mask = on; !ok {
				return errors.New("mask is true or false")
			}
			return nil
		})
	case "keys":
		return r.keys(p)
	case "themes":
		return r.themes(p)
	}
	return r.refuse(p, fmt.Errorf("no setting is called %q: expected bell, keys, mask, theme, themes", graphs.Clean(key)))
}

// table reads the members of a table.
func (r *settingsReader) table(key string, p toml.Primitive) (map[string]toml.Primitive, error) {
	if err := r.take(p, func(v any) error {
		if _, ok := v.(map[string]any); !ok {
			return fmt.Errorf("%s is a table: [%s]", key, key)
		}
		return nil
	}); err != nil {
		return nil, err
	}
	var out map[string]toml.Primitive
	return out, r.meta.PrimitiveDecode(p, &out)
}

func textOf(key string, v any) (string, error) {
	s, ok := v.(string)
	if !ok {
		return "", fmt.Errorf("%s is a text in quotes", graphs.Clean(key))
	}
	return s, nil
}

// keys binds actions, and then looks whether a key would do two things at once.
func (r *settingsReader) keys(p toml.Primitive) error {
	table, err := r.table("keys", p)
	if err != nil {
		return err
	}
	k := newKeyMap()
	actions := k.actions()
	for _, name := range slices.Sorted(maps.Keys(table)) {
		b, ok := actions[name]
		if !ok {
			return r.refuse(table[name], fmt.Errorf("no action is called %q%s", graphs.Clean(name), nearest(name, slices.Sorted(maps.Keys(actions)))))
		}
		if err := r.take(table[name], func(v any) error {
			names, err := keysOf(v)
			if err == nil {
				err = k.bind(b, names)
			}
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			return nil
		}); err != nil {
			return err
		}
	}
	if twice, is := k.doubled(); is {
		// The line is that of an action of the file: one that somebody bound took the key of another.
		for _, name := range []string{twice.second, twice.first} {
			if p, ok := table[name]; ok {
				return r.refuse(p, twice)
			}
		}
		return twice
	}
	r.out.keys = &k
	return nil
}

// keysOf are the names of keys in a value: one, or a list.
func keysOf(v any) ([]string, error) {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	var out []string
	for _, x := range list {
		s, ok := x.(string)
		if !ok {
			return nil, errors.New("a key is a text in quotes, or a list of such")
		}
		name, err := keyNamed(s)
		if err != nil {
			return nil, err
		}
		if slices.Contains(out, name) {
			return nil, fmt.Errorf("%q is there twice", name)
		}
		out = append(out, name)
	}
	if len(out) == 0 {
		return nil, errors.New("needs a key at least")
	}
	return out, nil
}

// styleNames are what a theme can colour.
func styleNames() map[string]style {
	return map[string]style{"dim": dim, "strong": strong, "good": good, "warn": warn, "bad": bad, "press": press, "chosen": chosen}
}

func (r *settingsReader) themes(p toml.Primitive) error {
	tables, err := r.table("themes", p)
	if err != nil {
		return err
	}
	r.out.themes = map[string]map[style]string{}
	for _, name := range slices.Sorted(maps.Keys(tables)) {
		switch {
		case slices.Contains(ThemeNames(), name):
			return r.refuse(tables[name], fmt.Errorf("theme %q is one of the program's own", name))
		case name == "" || strings.ContainsFunc(name, func(c rune) bool { return c <= ' ' || c > '~' }):
			return r.refuse(tables[name], fmt.Errorf("theme %q: a name has no blanks, and ASCII alone", graphs.Clean(name)))
		}
		table, err := r.table("themes."+name, tables[name])
		if err != nil {
			return err
		}
		colours := map[style]string{}
		for _, key := range slices.Sorted(maps.Keys(table)) {
			st, ok := styleNames()[key]
			if !ok {
				names := slices.Sorted(maps.Keys(styleNames()))
				return r.refuse(table[key], fmt.Errorf("no style is called %q: expected %s", graphs.Clean(key), strings.Join(names, ", ")))
			}
			if err := r.take(table[key], func(v any) (err error) { colours[st], err = colourOf(v); return err }); err != nil {
				return err
			}
		}
		r.out.themes[name] = colours
	}
	return nil
}

// ansiNames are the sixteen colours that the terminal's owner has chosen, in the order of their numbers.
var ansiNames = []string{"black", "red", "green", "yellow", "blue", "magenta", "cyan", "white", "bright-black", "bright-red", "bright-green", "bright-yellow",
	"bright-blue", "bright-magenta", "bright-cyan", "bright-white"}

// colourOf returns a colour as lipgloss has it: of a name, of a number up to 255, or #rrggbb.
func colourOf(v any) (string, error) {
	if n, ok := v.(int64); ok && n >= 0 && n <= 255 {
		return strconv.FormatInt(n, 10), nil
	}
	s, _ := v.(string)
	if i := slices.Index(ansiNames, s); i >= 0 {
		return strconv.Itoa(i), nil
	}
	if n, err := strconv.ParseUint(strings.TrimPrefix(s, "#"), 16, 32); err == nil && len(s) == len("#rrggbb") && s[0] == '#' {
		return fmt.Sprintf("#%06x", n), nil
	}
	return "", fmt.Errorf("%s is no colour: expected \"#rrggbb\", a number from 0 to 255, or a name such as \"bright-red\"", graphs.Clean(fmt.Sprintf("%#v", v)))
}

// ThemeNames are those of the program, and those of the file.
func (s *Settings) ThemeNames() []string {
	return append(ThemeNames(), slices.Sorted(maps.Keys(s.themes))...)
}

// theme returns the theme of a name.
func (s *Settings) theme(name string, ascii bool) *theme {
	t := themeOf(name, ascii)
	for st, colour := range s.themes[name] {
		t.styles[st] = t.styles[st].Faint(false).Foreground(lipgloss.Color(colour))
	}
	return t.ready()
}

// nearest says which of several names somebody may have meant.
func nearest(name string, names []string) string {
	for _, n := range names {
		if len(name) > 2 && (strings.HasPrefix(n, name) || strings.HasPrefix(name, n)) {
			return fmt.Sprintf("; did you mean %q?", n)
		}
	}
	return "; docs/keys.md lists them"
}
