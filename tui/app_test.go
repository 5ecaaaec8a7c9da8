package tui

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"whichlink/internal/diagnose"
)

// quits reports whether a command ends the program.
func quits(cmd tea.Cmd) bool {
	if cmd == nil {
		return false
	}
	_, ok := cmd().(tea.QuitMsg)
	return ok
}

func (s *stage) sees(t *testing.T, want string) {
	t.Helper()
	if got := bare(s.View().Content); !strings.Contains(got, want) {
		t.Errorf("the screen does not show %q:\n%s", want, got)
	}
}

func (s *stage) hides(t *testing.T, secret string) {
	t.Helper()
	if got := bare(s.View().Content); strings.Contains(got, secret) {
		t.Errorf("the screen shows %q:\n%s", secret, got)
	}
}

func TestEscNeverQuits(t *testing.T) {
	for _, first := range [][]string{nil, {"?"}, {"enter"}, {"/", "x"}, {"f"}, {"b"}, {"b", "enter"}, {"enter", "/", "1", "enter", "?"}} {
		s := newStage(t, sick(t), 100, 30)
		s.press(first...)
		for range 6 {
			if quits(s.press("esc")) {
				t.Errorf("after %v esc quits", first)
			}
		}
		if len(s.stack) != 1 || s.help != nil || s.dialog != nil || s.prompt != nil || s.top().filtered().query != "" {
			t.Errorf("after %v and six esc something is still open", first)
		}
	}
}

func TestEscClosesOneThingAtATime(t *testing.T) {
	s := newStage(t, sick(t), 100, 30)
	s.press("enter", "/", "5", "0")
	s.press("esc")
	if s.prompt != nil || s.top().filtered().query != "50" || len(s.stack) != 2 {
		t.Fatal("the first esc closes the prompt alone")
	}
	s.press("esc")
	if s.top().filtered().query != "" || len(s.stack) != 2 {
		t.Fatal("the second esc clears the filter alone")
	}
	s.press("esc")
	if len(s.stack) != 1 {
		t.Fatal("the third esc leaves the screen")
	}
}

func TestQuit(t *testing.T) {
	for _, first := range [][]string{nil, {"enter"}, {"f"}, {"?"}} {
		s := newStage(t, sick(t), 100, 30)
		s.trainer = nil
		s.press(first...)
		if !quits(s.press("q")) {
			t.Errorf("after %v q does not quit", first)
		}
	}
	for _, first := range [][]string{{"/"}, {"b"}, {"b", "tab"}, {"?"}, {"q"}, {"P"}} {
		s := newStage(t, sick(t), 100, 30)
		s.press(first...)
		once := quits(s.press("ctrl+c"))
		if !once && !quits(s.press("ctrl+c")) {
			t.Errorf("after %v ctrl-c twice does not quit", first)
		}
	}
}

// What somebody set going and what ends with the program is told before it does; esc stays.
func TestQuitAsks(t *testing.T) {
	going := *sick(t)
	going.Recording = time.Minute
	going.Inquiry = &Progress{Says: "tracing h1-1 > h3-2", Begun: noon, Until: noon.Add(10 * time.Second)}
	for _, c := range []struct {
		drill bool
		keys  []string
		sees  []string
	}{
		{true, []string{"q"}, []string{"The drill ends with 1 fault in it", "tracing h1-1 > h3-2 is under way, and stops", "What was recorded stays", "enter leave", "esc stay"}},
		{false, []string{"q"}, []string{"tracing h1-1 > h3-2 is under way, and stops"}},
		{true, []string{"ctrl+c"}, []string{"The drill ends"}},
		{true, []string{":", "q", "u", "i", "t", "enter"}, []string{"The drill ends"}},
	} {
		s := newStage(t, &going, 100, 30)
		if !c.drill {
			s.trainer = nil
		}
		for _, k := range c.keys {
			if quits(s.press(k)) {
				t.Errorf("%v does not ask", c.keys)
			}
		}
		for _, want := range c.sees {
			s.sees(t, want)
		}
		s.press("esc")
		s.hides(t, "Leave?")
		s.press(c.keys...)
		if !quits(s.press("enter")) {
			t.Errorf("%v and enter do not quit", c.keys)
		}
	}
	for _, c := range []struct {
		key  string
		keep bool
	}{{"q", false}, {"Q", true}} {
		s := newStage(t, &going, 100, 30)
		s.press(c.key)
		if !quits(s.press("enter")) || s.keep != c.keep {
			t.Errorf("%s leaves the screen: %v", c.key, s.keep)
		}
	}
	quiet := going
	quiet.Inquiry = nil // recorded, but nothing ends that would be missed
	s := newStage(t, &quiet, 100, 30)
	s.trainer = nil
	if !quits(s.press("q")) {
		t.Error("q asks though nothing ends")
	}
}

// Letters typed into the prompt reach nothing but the prompt.
func TestFilterOwnsLetters(t *testing.T) {
	s := newStage(t, sick(t), 100, 30)
	s.press("/")
	for _, r := range "qfbyRjknN?:/gG" {
		if quits(s.press(string(r))) {
			t.Fatalf("%c in the filter quits", r)
		}
	}
	if got := s.prompt.value(); got != "qfbyRjknN?:/gG" {
		t.Errorf("the prompt holds %q", got)
	}
	if s.frozen || s.dialog != nil || s.help != nil || s.reveal {
		t.Error("a letter got through the prompt")
	}
	s.press("ctrl+u")
	s.Update(tea.PasteMsg{Content: "spine2\n"})
	if got := s.top().filtered().query; got != "spine2" {
		t.Errorf("pasted filter is %q", got)
	}
	s.press("enter")
	o := s.stack[0].(*overview)
	if len(o.rows.order) != 1 || o.current(s.shown).ID != "leaf3:swp2>spine2:swp3" {
		t.Errorf("the filter shows %v", o.rows.order)
	}
	s.sees(t, "filter spine2  esc clears it")
	// The filter stays with its screen.
	s.press("enter", "esc")
	if s.top().filtered().query != "spine2" {
		t.Error("the filter is lost on return")
	}
}

func TestFreeze(t *testing.T) {
	s := newStage(t, sick(t), 100, 30)
	s.press("f")
	later := well(t)
	later.Now = noon.Add(12 * time.Second)
	s.source.s = later
	s.tick(10)
	s.sees(t, "FROZEN 12 s")
	s.sees(t, "SUSPECTS")
	s.press("esc", "esc")
	s.sees(t, "FROZEN 12 s")
	// What was not open yet when it was frozen opens on the frozen data.
	s.press("enter")
	s.sees(t, "10.32.0.1:50002>10.32.2.1:862")
	s.press("esc", "f")
	s.sees(t, "LIVE")
	s.sees(t, "HEALTHY")
}

func TestSelectionStaysOnItsSuspect(t *testing.T) {
	first := sick(t)
	s := newStage(t, first, 100, 30)
	s.press("j")
	o := s.stack[0].(*overview)
	want := o.current(s.shown).ID

	turned := *first.Diagnosis
	turned.Suspects = append([]diagnose.Suspect{}, first.Diagnosis.Suspects...)
	turned.Suspects[0], turned.Suspects[1] = turned.Suspects[1], turned.Suspects[0]
	turned.Suspects = append([]diagnose.Suspect{{ID: "new", Kind: "node", Probability: 1}}, turned.Suspects...)
	next := *first
	next.Diagnosis = &turned
	s.source.s = &next

	order := func() (ids []string) {
		for _, r := range o.rows.order {
			ids = append(ids, suspectAt(s.shown, r.at).ID)
		}
		return ids
	}
	before := order()
	s.tick(1)
	if got := order(); fmt.Sprint(got[:4]) != fmt.Sprint(before) {
		t.Errorf("rows moved within a second of a key: %v, then %v", before, got)
	}
	moved := next
	s.source.s = &moved
	s.tick(stillFor)
	if got := order(); got[0] != "new" || got[1] != want {
		t.Errorf("after a second the order is %v", got)
	}
	if got := o.current(s.shown).ID; got != want {
		t.Errorf("the cursor went from %s to %s", want, got)
	}
}

func TestCursorFollowsTheFirstUntilMoved(t *testing.T) {
	r := rows{}
	r.update([]rowRef{{"a", 0}, {"b", 1}}, false)
	r.update([]rowRef{{"b", 0}, {"a", 1}}, false)
	if r.selected != "b" {
		t.Errorf("selected %s", r.selected)
	}
	r.move(1)
	r.update([]rowRef{{"b", 0}}, false)
	if r.selected != "b" {
		t.Errorf("selected %s after its row went", r.selected)
	}
	r.update(nil, true)
	r.move(1)
	r.update([]rowRef{{"c", 0}}, true)
	if r.selected != "c" {
		t.Errorf("selected %q of a new list", r.selected)
	}
}

func TestCopy(t *testing.T) {
	s := newStage(t, sick(t), 100, 30)
	if s.press("y") == nil {
		t.Fatal("nothing was copied")
	}
	s.sees(t, "copied: #1 "+sickArc+" loss p=0.99 loss=5.1 % (4.3-6.0 %)")
	s.press("enter", "y")
	s.sees(t, "copied: 10.32.0.1:50002>10.32.2.1:862 udp  probe of "+sickArc)
	s.tick(sayFor)
	s.hides(t, "copied")
	s = newStage(t, well(t), 100, 30)
	s.press("y")
	s.sees(t, "nothing to copy")
}

func TestStaleSourceSaysSo(t *testing.T) {
	s := newStage(t, sick(t), 100, 30)
	s.sees(t, "2m07  ! STALE")
	old := *sick(t)
	old.Now = noon.Add(11 * time.Second)
	s = newStage(t, &old, 100, 30)
	s.sees(t, "h1-1         probe     412    12 s  ! STALE")
	old.Live = false
	s = newStage(t, &old, 100, 30)
	s.hides(t, "STALE")
}

func TestDrillHidesItsTruth(t *testing.T) {
	const truth = "loss on " + sickArc + ", rate 5%"
	s := newStage(t, sick(t), 100, 30)
	s.hides(t, truth)
	s.press("b", "left", "tab")
	s.sees(t, "1  (hidden)")
	s.hides(t, truth)
	s.press("esc", "R")
	s.sees(t, truth)
	s.press("R")
	s.hides(t, truth)
}

func TestWithoutADrill(t *testing.T) {
	s := newStage(t, thin(t), 100, 30)
	s.trainer = nil
	s.press("b")
	s.sees(t, "no drill here")
	s.press("R")
	s.sees(t, "no drill here")
	s.hides(t, "b break")
}

func TestNextSuspect(t *testing.T) {
	s := newStage(t, sick(t), 100, 30)
	s.press("enter", "n", "n")
	s.sees(t, "suspect #3  spine4")
	s.sees(t, "median delay through it is 31 us above its siblings")
	s.press("N", "N", "N")
	s.sees(t, "suspect #1  "+sickLink)
}

func TestSuspectThatVanishes(t *testing.T) {
	s := newStage(t, sick(t), 100, 30)
	s.press("enter")
	s.source.s = well(t)
	s.tick(stillFor + 1)
	s.sees(t, "no suspect any more")
	s.sees(t, "10.32.0.1:50002>10.32.2.1:862")
}

func TestTrainer(t *testing.T) {
	do := func(t *testing.T, s *stage, keys ...string) {
		t.Helper()
		if cmd := s.press(keys...); cmd != nil {
			s.Update(cmd())
		}
	}
	t.Run("random loss", func(t *testing.T) {
		s := newStage(t, sick(t), 100, 30)
		do(t, s, "b", "enter")
		s.sees(t, "Set loss on random, rate 5%?")
		do(t, s, "enter")
		s.sees(t, "set loss on random, rate 5%")
		if got := fmt.Sprint(s.drill.orders); got != "[{loss [random] map[rate:5%]}]" {
			t.Errorf("ordered %s", got)
		}
	})
	t.Run("chosen target", func(t *testing.T) {
		s := newStage(t, sick(t), 100, 30)
		do(t, s, "b", "f", "tab")
		s.word("leaf2 spine3")
		do(t, s, "tab", "ctrl+u", "2", "s", "enter")
		s.sees(t, "Set flap on leaf2:swp3--spine3:swp2, down 1s, period 2s?")
		do(t, s, "esc", "enter", "enter")
		if got := fmt.Sprint(s.drill.orders); got != "[{flap [leaf2:swp3--spine3:swp2] map[down:1s period:2s]}]" {
			t.Errorf("ordered %s", got)
		}
	})
	t.Run("picked target", func(t *testing.T) {
		s := newStage(t, sick(t), 100, 30)
		do(t, s, "b", "n", "tab", "down", "down", "enter", "enter")
		if got := fmt.Sprint(s.drill.orders); got != "[{node [spine1] map[rate:1%]}]" {
			t.Errorf("ordered %s", got)
		}
	})
	t.Run("two targets", func(t *testing.T) {
		s := newStage(t, sick(t), 100, 30)
		do(t, s, "b", "m", "tab")
		s.word(sickLink)
		do(t, s, "enter", "enter")
		if got := fmt.Sprint(s.drill.orders); got != "[{miswire ["+sickLink+" random] map[]}]" {
			t.Errorf("ordered %s", got)
		}
	})
	t.Run("no such target", func(t *testing.T) {
		s := newStage(t, sick(t), 100, 30)
		do(t, s, "b", "tab")
		s.word("q")
		do(t, s, "enter")
		s.sees(t, "arc: no arc of this name")
		if d, ok := s.dialog.(*breakDialog); !ok || d.asking || len(s.drill.orders) > 0 {
			t.Error("a wrong target was taken")
		}
	})
	t.Run("heal", func(t *testing.T) {
		s := newStage(t, sick(t), 100, 30)
		do(t, s, "b", "h", "enter", "enter")
		if got := fmt.Sprint(s.drill.healed); got != "[1]" {
			t.Errorf("healed %s", got)
		}
		s.sees(t, "healed 1 fault")
	})
	t.Run("nothing to heal", func(t *testing.T) {
		s := newStage(t, well(t), 100, 30)
		do(t, s, "b", "h", "enter")
		s.sees(t, "nothing is broken")
	})
	t.Run("failure", func(t *testing.T) {
		s := newStage(t, sick(t), 100, 30)
		s.drill.err = errors.New("no such namespace")
		do(t, s, "b", "enter", "enter")
		s.sees(t, "! no such namespace")
	})
}

// A terminal without colours still tells everything: no style carries meaning alone.
func TestColoursCarryNoMeaning(t *testing.T) {
	s := newStage(t, sick(t), 100, 30)
	for _, word := range []string{"! SUSPECTS", "> LIVE", "? 2 arcs: unknown", "STALE", ">  1 leaf1"} {
		s.sees(t, word)
	}
	content := s.View().Content
	if !strings.Contains(content, "\x1b[1;31m! SUSPECTS") {
		t.Errorf("the verdict is not bold red: %q", strings.Split(content, "\n")[1])
	}
	for _, row := range strings.Split(content, "\n") {
		if strings.Contains(row, ">  1 leaf1") && !strings.Contains(row, "\x1b[7m>  1 leaf1") {
			t.Errorf("the selected row is not reversed: %q", row)
		}
	}
	if strings.Contains(content, "38;") || strings.Contains(content, "48;") {
		t.Error("colours beyond the terminal's sixteen are used")
	}
}

func TestCursorStandsOnTheSelectedRow(t *testing.T) {
	s := newStage(t, sick(t), 100, 30)
	s.press("j", "j")
	v := s.View()
	if v.Cursor == nil {
		t.Fatal("no cursor")
	}
	row := []rune(strings.Split(bare(v.Content), "\n")[v.Cursor.Y])
	if row[v.Cursor.X] != '>' || !strings.Contains(string(row), "spine4") {
		t.Errorf("the cursor stands in %q", string(row))
	}
	s.press("/")
	s.word("leaf")
	v = s.View()
	if row := strings.Split(bare(v.Content), "\n")[v.Cursor.Y]; row[v.Cursor.X-4:v.Cursor.X] != "leaf" {
		t.Errorf("in the filter the cursor stands at %d of %q", v.Cursor.X, row)
	}
}

func TestBeforeTheFirstSnapshot(t *testing.T) {
	s := newStage(t, nil, 80, 24)
	for _, k := range []string{"j", "enter", "y", "f", "R", "/", "x", "esc", "esc", "?", "esc", "b", "enter", "enter"} {
		s.press(k)
		s.View()
	}
	s = newStage(t, &Snapshot{Now: noon}, 80, 24)
	s.sees(t, "MEASURING")
}
