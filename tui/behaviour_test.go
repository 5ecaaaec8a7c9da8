package tui

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"image/color"
	"io"
	"math"
	"regexp"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"whichlink/graphs"
	"whichlink/internal/diagnose"
)

// typed runs the program on keys that come one after the other, and returns what it wrote to the terminal.
func typed(t *testing.T, cfg Config, keys ...string) string {
	t.Helper()
	r, w := io.Pipe()
	var out bytes.Buffer
	cfg.Input, cfg.Output = r, &out
	go func() {
		for _, k := range keys {
			time.Sleep(80 * time.Millisecond)
			_, _ = io.WriteString(w, k)
		}
	}()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := run(ctx, cfg, tea.WithWindowSize(100, 30)); err != nil || ctx.Err() != nil {
		t.Fatal(err, ctx.Err())
	}
	return out.String()
}

// Any value of NO_COLOR but the empty one means no colours, whatever else asks for them. Bold and reverse stay.
func TestNoColor(t *testing.T) {
	coloured := regexp.MustCompile("\x1b\\[[0-9;]*(3[0-7]|9[0-7]|38;|48;)[0-9;]*m")
	t.Setenv("CLICOLOR_FORCE", "1")
	t.Setenv("TERM", "xterm-256color")
	for _, c := range []struct {
		set  string
		flag bool
		want bool
	}{{"", false, true}, {"1", false, false}, {"0", false, false}, {"yes", false, false}, {"true", false, false}, {"false", false, false}, {" ", false, false}, {"", true, false}} {
		t.Run(fmt.Sprintf("%q %v", c.set, c.flag), func(t *testing.T) {
			t.Setenv("NO_COLOR", c.set)
			out := typed(t, Config{Source: &fixed{sick(t)}, NoColor: c.flag}, "q")
			if got := coloured.MatchString(out); got != c.want {
				t.Errorf("colours: %v, want %v", got, c.want)
			}
			if !strings.Contains(out, "SUSPECTS") {
				t.Error("nothing was drawn")
			}
		})
	}
}

// What is copied goes through the terminal (OSC 52), and so to the machine at which somebody sits. The note holds all of the proof.
func TestCopyReachesTheTerminal(t *testing.T) {
	out := typed(t, Config{Source: &fixed{sick(t)}}, "x", "q")
	_, rest, ok := strings.Cut(out, "\x1b]52;c;")
	if !ok {
		t.Fatalf("no OSC 52 in %q", out)
	}
	note, err := base64.StdEncoding.DecodeString(rest[:strings.IndexAny(rest, "\x07\x1b")])
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"whichlink, fabric ls4x4, 2026-11-20T14:32:07Z", "verdict: suspects. " + sickArc + " drops 5.1 %", "#1 loss arc " + sickArc + ", p 0.99",
		"for: 41 of 43 flows", "against: 2 flows cross it clean", "next: tell which end: read the error counters of both ports: whichlink snmp poll",
		"#2 loss arc leaf3", "not measured: 2 arcs, which is unknown and not healthy",
	} {
		if !strings.Contains(string(note), want) {
			t.Errorf("the note does not say %q:\n%s", want, note)
		}
	}
	if strings.Contains(string(note), "spine4") {
		t.Errorf("the note names what is not suspected:\n%s", note)
	}
}

// Q leaves the last screen behind, where it can be scrolled to; q does not.
func TestQLeavesTheScreen(t *testing.T) {
	after := func(out string) string { return out[strings.LastIndex(out, "\x1b[?1049l")+1:] }
	if out := after(typed(t, Config{Source: &fixed{sick(t)}}, "Q")); !strings.Contains(out, "drops 5.1 % of packets") {
		t.Errorf("nothing is left: %q", out)
	}
	if out := after(typed(t, Config{Source: &fixed{sick(t)}}, "q")); strings.Contains(out, "drops 5.1 %") {
		t.Errorf("something is left: %q", out)
	}
}

// Mouse reports would take the terminal's own selection away.
func TestMouseIsOffUntilAskedFor(t *testing.T) {
	s := newStage(t, sick(t), 100, 30)
	if m := s.View().MouseMode; m != tea.MouseModeNone {
		t.Errorf("mouse mode %v at the beginning", m)
	}
	s.press("M")
	if m := s.View().MouseMode; m == tea.MouseModeNone {
		t.Error("M does not turn the mouse on")
	}
	s.press("3")
	s.Update(tea.MouseWheelMsg{Button: tea.MouseWheelDown})
	if l := s.tabs[2].(*linksScreen); l.at != 1 {
		t.Errorf("the wheel moved to row %d", l.at)
	}
	row := strings.Split(bare(s.View().Content), "\n")[1]
	s.Update(tea.MouseClickMsg{Button: tea.MouseLeft, X: strings.Index(row, "Events"), Y: 1})
	if s.top() != s.tabs[4] {
		t.Error("a click on a tab does not open it")
	}
	s.Update(tea.WindowSizeMsg{Width: 60, Height: 24})
	s.sees(t, " 1  2  3  4 [5 Events] 6  7")
	row = strings.Split(bare(s.View().Content), "\n")[1]
	s.Update(tea.MouseClickMsg{Button: tea.MouseLeft, X: strings.Index(row, "6"), Y: 1})
	if s.top() != s.tabs[5] {
		t.Error("a click on a tab without its name does not open it")
	}
	s.press("M")
	if m := s.View().MouseMode; m != tea.MouseModeNone {
		t.Error("M does not turn the mouse off")
	}
}

// A theme of its own colours must be readable on its ground: WCAG asks for a contrast of 4.5.
func TestThemesCanBeRead(t *testing.T) {
	luminance := func(c color.Color) float64 {
		r, g, b, _ := c.RGBA()
		part := func(v uint32) float64 {
			x := float64(v) / 0xffff
			if x <= 0.04045 {
				return x / 12.92
			}
			return math.Pow((x+0.055)/1.055, 2.4)
		}
		return 0.2126*part(r) + 0.7152*part(g) + 0.0722*part(b)
	}
	for name, ground := range map[string]color.Color{"dark": color.Black, "light": color.White} {
		th := themeOf(name, false)
		for _, st := range []style{good, warn, bad} {
			a, b := luminance(th.styles[st].GetForeground()), luminance(ground)
			if c := (max(a, b) + 0.05) / (min(a, b) + 0.05); c < 4.5 {
				t.Errorf("theme %s, style %d: contrast %.1f", name, st, c)
			}
		}
		// Who sees no red from green still sees yellow from blue.
		_, _, gb, _ := th.styles[good].GetForeground().RGBA()
		br, _, bb, _ := th.styles[bad].GetForeground().RGBA()
		if gb <= bb || br <= bb {
			t.Errorf("theme %s: good is not bluer than bad", name)
		}
	}
	for _, name := range ThemeNames() {
		s := newStage(t, sick(t), 100, 30)
		s.press(":")
		s.word("theme " + name)
		s.press("enter")
		if got, want := bare(s.View().Content), bare(newStage(t, sick(t), 100, 30).View().Content); got != want {
			t.Errorf("theme %s says something else", name)
		}
	}
}

// Links keep their rows for a second after a key, and their cursor for ever.
func TestLinksStayUnderTheFinger(t *testing.T) {
	s := newStage(t, sick(t), 100, 30)
	s.press("3", "j", "j")
	l := s.tabs[2].(*linksScreen)
	want, before := l.selected, append([]graphs.LinkID{}, l.order...)
	next := *s.shown
	p := *next.Picture
	p.Arcs = append([]diagnose.ArcTally{}, p.Arcs...)
	last := before[len(before)-1]
	p.Arcs[last.Forward()].Suspicion = 1
	next.Picture = &p
	s.source.s = &next
	s.tick(1)
	if fmt.Sprint(l.order) != fmt.Sprint(before) {
		t.Error("rows moved within a second of a key")
	}
	s.tick(stillFor)
	if l.order[0] != last {
		t.Error("rows do not move after a second")
	}
	if l.selected != want || l.order[l.at] != want {
		t.Error("the cursor left its link")
	}
}

func TestLinksFilterBySort(t *testing.T) {
	s := newStage(t, sick(t), 100, 30)
	for _, c := range []struct {
		query string
		want  int
	}{{"", 24}, {"loss>1", 1}, {"p>.5 !leaf1", 1}, {"dark", 1}, {"flaps>=2", 1}, {"h1-1", 1}, {"use>30 use<32", 1}, {"nowhere", 0}} {
		s.press("3", "/", "ctrl+u")
		s.word(c.query)
		s.press("enter")
		if got := len(s.tabs[2].(*linksScreen).order); got != c.want {
			t.Errorf("%q finds %d links, want %d", c.query, got, c.want)
		}
	}
}

func TestCommands(t *testing.T) {
	type check func(*stage) bool
	top := func(i int) check { return func(s *stage) bool { return s.top() == s.tabs[i] } }
	for text, ok := range map[string]check{
		"links":                  top(2),
		"ev":                     top(4),
		"goto " + sickLink:       func(s *stage) bool { return s.top().title() == sickLink },
		"goto " + sickArc:        func(s *stage) bool { return s.top().title() == sickLink },
		"goto spine3:swp1":       func(s *stage) bool { return s.top().title() == sickLink },
		"goto spine3":            func(s *stage) bool { return len(s.tabs[2].(*linksScreen).order) == 4 },
		"goto nowhere":           func(s *stage) bool { return strings.HasPrefix(s.message, "! no link") },
		"sort flaps":             func(s *stage) bool { return linkColumns()[s.tabs[2].(*linksScreen).by].name == "flaps" },
		"layer use":              func(s *stage) bool { return layers()[s.tabs[1].(*mapScreen).layer].name == "use" },
		"layer weather":          func(s *stage) bool { return strings.Contains(s.message, "suspicion, loss") },
		"paths h2-1 h4-2":        func(s *stage) bool { return strings.Contains(bare(s.View().Content), "h2-1 > h4-2") },
		"paths h2-1 h2-1":        func(s *stage) bool { return strings.Contains(s.message, "both ends") },
		"filter spine2":          func(s *stage) bool { return s.top().filtered().query == "spine2" },
		"freeze":                 func(s *stage) bool { return s.frozen },
		"seek 10:00:00":          func(s *stage) bool { return strings.Contains(s.message, "no replay") },
		"f":                      func(s *stage) bool { return strings.Contains(s.message, "no command") },
		"\x1b]52;c;eA==\x07goto": func(s *stage) bool { return strings.HasPrefix(s.message, "! no command") },
	} {
		s := newStage(t, sick(t), 100, 30)
		s.press(":")
		s.Update(tea.PasteMsg{Content: text})
		s.press("enter")
		if !ok(s) {
			t.Errorf(":%s ends on %s, with %q", text, s.top().title(), s.message)
		}
		for i := 0; i < 6; i++ {
			s.press("esc")
		}
		if len(s.stack) != 1 {
			t.Errorf(":%s: esc does not lead back", text)
		}
	}
}

func TestCompletion(t *testing.T) {
	for typed, want := range map[string]string{
		"ov": "overview ", "lay": "layer ", "layer co": "layer coverage ", "goto spi": "goto spine", "goto spine2:": "goto spine2:", "paths h1-1 h4-": "paths h1-1 h4-",
		"goto leaf1:swp3": "goto leaf1:swp3--spine3:swp1 ", "nonsense x": "nonsense x", "sort l": "sort l", "sort lossy": "sort lossy ",
	} {
		s := newStage(t, sick(t), 100, 30)
		s.press(":")
		s.Update(tea.PasteMsg{Content: typed})
		s.press("tab")
		if got := s.prompt.value(); got != want {
			t.Errorf("%q is completed to %q, want %q", typed, got, want)
		}
	}
}

// A hand on a replay notes what was asked of it.
type hand struct{ asked []string }

func (h *hand) Seek(to time.Time) { h.asked = append(h.asked, "seek "+clock(to)) }
func (h *hand) Whole()            { h.asked = append(h.asked, "whole") }
func (h *hand) Play(on bool)      { h.asked = append(h.asked, fmt.Sprint("play ", on)) }
func (h *hand) Speed(x float64)   { h.asked = append(h.asked, fmt.Sprint("speed ", x)) }

// Time moves with its own keys alone: esc never changes what is shown.
func TestTimeKeys(t *testing.T) {
	s := newStage(t, sick(t), 100, 30)
	s.source.s.Live = false
	s.source.s.Playing = &Playing{From: noon.Add(-time.Hour), To: noon, At: noon.Add(-time.Minute), Speed: 1}
	h := &hand{}
	s.player = h
	for _, k := range []string{"space", "<", ">", "}", "{", "T", "esc", "j"} {
		s.press(k)
	}
	for _, text := range []string{"seek 14:00:01", "seek -30s", "seek 2026-11-20T13:00:00Z", "speed 4x", "speed 900", "all"} {
		s.press(":")
		s.Update(tea.PasteMsg{Content: text})
		s.press("enter")
	}
	want := "[play true seek 14:30:57Z seek 14:31:17Z speed 2 speed 0.5 whole seek 14:00:01Z seek 14:30:37Z seek 13:00:00Z speed 4 whole]"
	if got := fmt.Sprint(h.asked); got != want {
		t.Errorf("asked for\n%s, want\n%s", got, want)
	}
	s.sees(t, "<< REPLAY paused")
	s.sees(t, "14:31:07Z")
}

// In a live session the same keys go back into what was recorded, on whatever screen, and the header says how far.
func TestTimeMachineLive(t *testing.T) {
	s := newStage(t, sick(t), 100, 30)
	h := &hand{}
	s.player = h
	s.press("<")
	s.sees(t, "nothing is recorded")
	live := *s.source.s
	live.Recording = time.Minute
	s.source.s = &live
	s.tick(1)
	for _, screen := range []string{"1", "2", "3", "4", "5", "6", "7"} {
		s.press(screen, "<")
	}
	s.press("space", "T")
	s.sees(t, "this is now: < goes back")
	s.press("5", "t")
	s.sees(t, "all screens go to 14:31:55.000Z")
	s.press(":")
	s.Update(tea.PasteMsg{Content: "seek -30s"})
	s.press("enter")
	want := strings.Repeat("seek 14:31:57Z ", 7) + "seek 14:31:55Z seek 14:31:37Z"
	if got := strings.Trim(fmt.Sprint(h.asked), "[]"); got != want {
		t.Errorf("asked for\n%s, want\n%s", got, want)
	}
	back := live
	back.Live, back.Now = false, noon.Add(-65*time.Second)
	back.Playing = &Playing{From: noon.Add(-time.Minute), To: noon, At: back.Now, Speed: 2, Running: true, Back: 65 * time.Second}
	s.source.s = &back
	s.tick(1)
	for _, screen := range []string{"1", "2", "3", "4", "5", "6", "7"} {
		s.press(screen)
		s.sees(t, "<< 65 s AGO 2x")
		s.sees(t, "14:31:02Z")
	}
	h.asked = nil
	s.press("esc", "esc", "T")
	if fmt.Sprint(h.asked) != "[whole]" {
		t.Errorf("asked for %v", h.asked)
	}
}

// Times are in UTC unless somebody asks for another zone; what leaves the screen is in UTC always.
func TestZones(t *testing.T) {
	s := newStage(t, captured(t), 120, 40)
	b := withShelf(s)
	h := &hand{}
	s.player = h
	s.press(":")
	s.word("tz Asia/Kolkata")
	s.press("enter")
	s.sees(t, "times are of Asia/Kolkata (L)")
	s.sees(t, "20:02:07L")
	for _, screen := range []string{"2", "3", "4", "5", "6", "7"} {
		s.press(screen)
		s.sees(t, "20:02:07L")
		if got := bare(s.View().Content); regexp.MustCompile(`\d:\d\d(\.\d+)?Z`).MatchString(got) {
			t.Errorf("screen %s still shows UTC:\n%s", screen, got)
		}
	}
	s.press("6", "enter")
	s.Update(s.press("p")())
	s.sees(t, "20:01:37.000000L")
	if len(b.asked) != 1 {
		t.Error("no packets")
	}
	s.press("1", "enter")
	s.sees(t, "20:01:02L to 20:02:06L")
	s.press("5", "y")
	s.sees(t, "copied: 2026-11-20T14:31:55Z")
	live := *s.source.s
	live.Recording = time.Hour
	s.source.s = &live
	s.tick(1)
	for _, text := range []string{"seek 20:00:00", "seek 14:30:00Z"} {
		s.press(":")
		s.Update(tea.PasteMsg{Content: text})
		s.press("enter")
	}
	if got := fmt.Sprint(h.asked); got != "[seek 14:30:00Z seek 14:30:00Z]" {
		t.Errorf("asked for %s", got)
	}
	for text, want := range map[string]string{"tz nowhere": "no zone is called", "tz utc": "times are in UTC", "tz": "tz needs"} {
		s.press(":")
		s.Update(tea.PasteMsg{Content: text})
		s.press("enter")
		s.sees(t, want)
	}
}

// Where the evidence has several dates a time of day alone may be any of theirs, and what is replayed may be of any day.
func TestDates(t *testing.T) {
	x := *sick(t)
	d := *x.Diagnosis
	d.From = noon.Add(-24 * time.Hour)
	x.Diagnosis, x.Live, x.Playing = &d, false, &Playing{From: d.From, To: noon, At: noon.Add(-time.Minute), Speed: 1}
	s := newStage(t, &x, 120, 40)
	s.sees(t, "2026-11-20 14:31:07Z")
	s.press("5")
	s.sees(t, " 2026-11-20 14:31:27.000Z ")
	s.press("1", "enter")
	s.sees(t, "2026-11-20 14:31:02Z to 2026-11-20 14:32:06Z")
	var out bytes.Buffer
	if err := (&plainText{to: &out}).tell(&x); err != nil || !strings.Contains(out.String(), "2026-11-20 14:31:27Z snmp: port went down") {
		t.Errorf("%v\n%s", err, out.String())
	}
}

// A remark goes where the evidence goes; without a recording it says so.
func TestRemark(t *testing.T) {
	s := newStage(t, sick(t), 100, 30)
	var said []string
	s.remark = func(text string) error { said = append(said, text); return nil }
	s.press("5", "a")
	s.word("cable 7 swapped")
	s.press("enter")
	s.sees(t, "noted")
	if fmt.Sprint(said) != "[cable 7 swapped]" {
		t.Errorf("noted %v", said)
	}
	s.remark = nil
	s.press("a", "x", "enter")
	s.sees(t, "! nothing is recorded here")
}

// Lines for screen readers: what changed and nothing else, without boxes, and nothing that a terminal would obey.
func TestPlain(t *testing.T) {
	var out bytes.Buffer
	p := plainText{to: &out, ascii: true}
	first := sick(t)
	again := *first
	for _, s := range []*Snapshot{nil, first, &again} {
		if err := p.tell(s); err != nil {
			t.Fatal(err)
		}
	}
	text := out.String()
	for _, want := range []string{
		"14:31:27Z snmp: port went down, spine3:swp1\n", "14:32:06Z suspects: " + sickArc + " drops 5.1 %", "  measured 46 of 48 arcs", "  suspect 1: arc " + sickArc + ", loss, probability 0.99\n",
		"    for: 41 of 43", "    against: 2 flows", "    next: whichlink snmp poll", "1 of 5 sources are stale",
	} {
		if strings.Count(text, want) != 1 {
			t.Errorf("%q is not told once:\n%s", want, text)
		}
	}
	if i := strings.IndexFunc(text, func(r rune) bool { return r > '~' || r < ' ' && r != '\n' }); i >= 0 {
		t.Errorf("not plain from %q on", text[i:])
	}
	if strings.Contains(text, "spine4") {
		t.Error("what is not named is told")
	}
	out.Reset()
	if err := p.tell(well(t)); err != nil || !strings.Contains(out.String(), "healthy: nothing found") {
		t.Errorf("%v %q", err, out.String())
	}
	out.Reset()
	if err := p.tell(nasty(t)); err != nil || strings.ContainsAny(out.String(), "\x1b\r\t\u202e") {
		t.Errorf("%v %q", err, out.String())
	}
}

// A replay that comes to a note tells it on every screen for a while.
func TestNotesAreToldAtTheirTime(t *testing.T) {
	x := *sick(t)
	x.Live, x.Playing = false, &Playing{From: noon.Add(-time.Minute), To: noon}
	const note = "note 14:31:06Z  h1-1  drained by ana, INC-4471"
	for _, c := range []struct {
		after time.Duration // the beginning, a second before the note
		whole bool
		told  bool
	}{{-2 * time.Second, false, false}, {time.Second, false, true}, {9 * time.Second, false, true}, {12 * time.Second, false, false}, {time.Second, true, false}} {
		p := *x.Playing
		p.At, p.Whole = noon.Add(-62*time.Second+c.after), c.whole
		moment := x
		moment.Playing = &p
		s := newStage(t, &moment, 100, 30)
		for _, key := range []string{"1", "3", "5"} {
			s.press(key)
			if got := strings.Contains(bare(s.View().Content), note); got != c.told {
				t.Errorf("screen %s, %s after the beginning: told %v, want %v", key, c.after, got, c.told)
			}
		}
	}
}
