package tui

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

func settingsOf(t *testing.T, text string) Settings {
	t.Helper()
	s, err := ReadSettings("config.toml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func stageWith(t *testing.T, cfg Config) *stage {
	t.Helper()
	cfg.Source = &fixed{sick(t)}
	a := NewApp(t.Context(), cfg)
	a.Update(tea.WindowSizeMsg{Width: 120, Height: 200})
	return &stage{App: a}
}

// Keys do what they are bound to and nothing else, and help, footer, tabs and hints show them as they are bound.
func TestBoundKeys(t *testing.T) {
	s := stageWith(t, Config{Settings: settingsOf(t, `
[keys]
freeze = "F"
back = ["esc", "backspace"]
help = "ctrl-g"
down = ["down", "ctrl-n"]
screens = ["!", "@", "#", "$", "%", "^", "&"]
open = ["enter", "insert"]
leave-filter = "ctrl-x"
`)})
	s.press("f")
	s.hides(t, "FROZEN")
	s.press("F")
	s.sees(t, "FROZEN")
	s.sees(t, "F resume")
	s.sees(t, "ctrl-g help")
	s.press("#")
	s.sees(t, "[# Links]")
	s.press("3", "?")
	s.sees(t, "[# Links]")
	s.press("/")
	s.word("nothing like it")
	s.sees(t, "enter keep  ctrl-x leave")
	s.sees(t, "no link passes the filter; esc backspace clears it"[:len("no link passes the filter; esc")]+" clears it")
	s.Update(tea.KeyPressMsg{Code: 'x', Mod: tea.ModCtrl})
	s.press("backspace")
	if got := s.top().filtered().query; got != "" {
		t.Errorf("the filter is still %q", got)
	}
	at := s.linkTable().at
	s.Update(tea.KeyPressMsg{Code: 'n', Mod: tea.ModCtrl})
	if s.linkTable().at != at+1 {
		t.Error("ctrl-n does not go down")
	}
	s.Update(tea.KeyPressMsg{Code: 'g', Mod: tea.ModCtrl})
	for _, want := range []string{"F ", "ctrl-g ", "esc backspace ", "down ctrl-n ", "! @ # $ % ^ & ", "enter insert", "esc close"} {
		s.sees(t, want)
	}
	m := reflect.ValueOf(s.keys)
	screen := bare(s.View().Content)
	for i := range m.NumField() {
		if h := m.Field(i).Interface().(key.Binding).Help(); !strings.Contains(screen, "  "+h.Key+" ") || !strings.Contains(screen, h.Desc) {
			t.Errorf("the help does not show %s %s", h.Key, h.Desc)
		}
	}
}

// A theme of somebody's own colours what it names, and the rest is as it was; the bell and the mask are on from the beginning.
func TestSettings(t *testing.T) {
	set := settingsOf(t, "theme = \"dusk\"\nbell = \"notify\"\nmask = true\n[themes.dusk]\nbad = \"#FF8800\"\ngood = \"bright-cyan\"\ndim = 244\n")
	s := stageWith(t, Config{Settings: set})
	s.sees(t, "MASKED")
	if s.bell.mode != bellNotify {
		t.Errorf("the bell is %q", s.bell.mode)
	}
	content := s.View().Content
	for _, want := range []string{"38;2;255;136;0m", "\x1b[96m> LIVE", "38;5;244m"} {
		if !strings.Contains(content, want) {
			t.Errorf("no %q on the screen", want)
		}
	}
	for typed, says := range map[string]string{"theme dawn": "! themes are terminal, dark, light, mono, dusk", "theme mono": "", "theme dusk": ""} {
		s.press(":")
		s.word(typed)
		s.press("enter")
		s.sees(t, says)
	}
	if s = stageWith(t, Config{Settings: set, Theme: "mono"}); strings.Contains(s.View().Content, "38;2;255;136;0m") {
		t.Error("the flag does not overrule the file")
	}
	s = stageWith(t, Config{Unsettled: fmt.Errorf("x.toml:3: no action is called %q", "fly")})
	s.sees(t, `! ignored: x.toml:3: no action is called "fly"`)
	s = stageWith(t, Config{Settled: "keys and themes are those of /x.toml"})
	s.press(":")
	s.word("settings")
	s.press("enter")
	s.sees(t, "keys and themes are those of /x.toml")
}

// What is wrong in the file is told in a line, with the line where it stands.
func TestSettingsErrors(t *testing.T) {
	for text, want := range map[string]string{
		"\nx = " + strings.Repeat("{a=", 9000):           `:2: the line is longer than 1000 bytes`,
		"theme = 7":                                      `:1: theme is a text in quotes`,
		"\n\ntheme = \"pink\"":                           `:3: theme "pink" is not one of terminal, dark, light, mono`,
		"bell = \"loud\"":                                `:1: bell "loud" is not one of notify, off, on`,
		"mask = \"on\"":                                  `:1: mask is true or false`,
		"# keys\ncolour = 1":                             `:2: no setting is called "colour": expected bell, keys, mask, theme, themes`,
		"keys = 3":                                       `:1: keys is a table: [keys]`,
		"[keys]\n\nfly = \"f\"":                          `:3: no action is called "fly"; docs/keys.md lists them`,
		"[keys]\nfree = \"F\"":                           `:2: no action is called "free"; did you mean "freeze"?`,
		"[keys]\nfreeze = \"hyper-f\"":                   `:2: freeze: no key is called "hyper-f"`,
		"[keys]\nfreeze = \"\"":                          `:2: freeze: no key is called ""`,
		"[keys]\nfreeze = []":                            `:2: freeze: needs a key at least`,
		"[keys]\nfreeze = [1]":                           `:2: freeze: a key is a text in quotes, or a list of such`,
		"[keys]\nfreeze = [\"F\", \"F\"]":                `:2: freeze: "F" is there twice`,
		"[keys]\nfreeze = \"ctrl-c\"":                    `:2: freeze: ctrl-c always ends the program`,
		"[keys]\ninterrupt = \"X\"":                      `:2: no action is called "interrupt"`,
		"[keys]\nfreeze = \"shift-f\"":                   `:2: freeze: "shift-f": with shift a key is another letter, such as X`,
		"[keys]\nfreeze = \"y\"":                         `:2: copy: "y" is freeze already, on a link`,
		"[keys]\n\nsort = \"z\"\nwide = \"z\"":           `:4: wide: "z" is sort already, on links`,
		"[keys]\nscreens = [\"a\"]":                      `:2: screens: needs 7 keys, one a screen`,
		"[keys]\nkeep-filter = \"k\"":                    `:2: keep-filter: "k" is typed there`,
		"[keys]\nfreeze = \"F\"\nfreeze = \"D\"":         `:3: `,
		"[keys":                                          `:1: `,
		"theme = \"a\nb\"":                               `:1: `,
		"[themes.dark]\nbad = 1":                         `:1: theme "dark" is one of the program's own`,
		"[themes.x]\nfoo = 1":                            `:2: no style is called "foo": expected bad, chosen, dim, good, press, strong, warn`,
		"[themes.x]\ngood = 1\nbad = \"#12345\"":         `:3: "#12345" is no colour: expected "#rrggbb"`,
		"[themes.x]\nbad = 256":                          `:2: 256 is no colour`,
		"[themes.x]\nbad = \"\\u001b[31m\"":              `:2: "\x1b[31m" is no colour`,
		"[themes]\nx = 1":                                `:2: themes.x is a table`,
		"# " + strings.Repeat("x", MostSettings):         `: larger than 65536 bytes`,
		"x = \"\xff\"":                                   `:1: `,
		"theme = \"dark\"\x00":                           `:1: `,
		"keys.freeze = \"y\"\n":                          `:1: copy: "y" is freeze already`,
		"keys = { copy = \"Y\", freeze = [\"Y\"] }":      `:1: copy: "Y" is freeze already`,
		"[keys]\nfreeze = \"\"\"\nf\"\"\"\nsort = \"é\"": "",
	} {
		_, err := ReadSettings("a/config.toml", []byte(text))
		if want == "" && err == nil {
			continue
		}
		if err == nil || !strings.HasPrefix(err.Error(), "a/config.toml"+want) || strings.ContainsAny(err.Error(), "\n\x1b") {
			t.Errorf("%.60q\n gives %v\n want  a/config.toml%s", text, err, want)
		}
	}
}

// No file stops the reader, its errors have one line, and what it takes can be used.
func FuzzReadSettings(f *testing.F) {
	for _, text := range []string{"theme = \"dark\"\n[keys]\nfreeze = [\"F\", \"ctrl-f\"]\n", "[themes.x]\nbad = \"#ff0000\"\n", "keys = { copy = \"Y\" }", "[[keys]]\n", "a.b.c = 1979-05-27T07:32:00Z"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := ReadSettings("f", text)
		if err != nil {
			if strings.ContainsAny(err.Error(), "\n\r\x1b") || !strings.HasPrefix(err.Error(), "f:") {
				t.Errorf("%q", err)
			}
			return
		}
		if s.keys != nil {
			if twice, is := s.keys.doubled(); is {
				t.Error(twice)
			}
		}
		for _, name := range s.ThemeNames() {
			s.theme(name, true)
		}
	})
}

// docs/keys.md lists every action with its keys, as the program has them. -update writes it anew.
func TestKeysDocument(t *testing.T) {
	const file = "../docs/keys.md"
	var b strings.Builder
	b.WriteString(`# Keys and themes of your own

` + "`$XDG_CONFIG_HOME/whichlink/config.toml` (`~/.config/whichlink/config.toml`)" + ` is read when the screens are opened. What is wrong in it is told with its line, and
the screens go on as if there were no file; ` + "`whichlink doctor` and `:settings`" + ` say where it is looked for. All of it is optional:

` + "```toml" + `
theme = "dusk"     # terminal, dark, light, mono, or one of the file; --theme overrules it
bell = "notify"    # off, on: rings when suspects or pins change, notify: says it to the desktop, too (OSC 9)
mask = false       # true: pseudonyms in place of names and addresses

[keys]             # one key or several; those that are not named stay as they are
freeze = "F"
down = ["down", "ctrl-n"]

[themes.dusk]      # bad, chosen, dim, good, press, strong, warn: "#rrggbb", 0 to 255, or a name such as "bright-red"
bad = "#ff8800"
good = "bright-cyan"
` + "```" + `

Keys are letters and signs, ` + "`" + strings.Join(specialKeys[:15], "`, `") + "`, `f1` to `f12`" + `, and these with ` + "`ctrl-`, `alt-` or `shift-`" + `. One key cannot do two things in one place, where
letters are typed no letter can be bound, and ` + "`ctrl-c`" + ` always ends the program. Made from the program by ` + "`go test ./tui -update`" + `:

| action | keys | does |
| --- | --- | --- |
`)
	k := newKeyMap()
	actions := k.actions()
	for _, name := range slices.SortedFunc(maps.Keys(actions), func(a, b string) int { return cmp.Compare(a, b) }) {
		shown := make([]string, 0, 4)
		for _, x := range actions[name].Keys() {
			shown = append(shown, "`"+keyShown(x)+"`")
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", name, strings.Join(shown, " "), actions[name].Help().Desc)
	}
	inStep(t, file, b.String())
	example, _, _ := strings.Cut(strings.SplitN(b.String(), "```toml\n", 2)[1], "```")
	if s := settingsOf(t, example); s.Theme != "dusk" || s.keys == nil {
		t.Errorf("the example is read as %+v", s)
	}
}
