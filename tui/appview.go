package tui

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

// View implements tea.Model.
func (a *App) View() tea.View {
	p := a.page()
	v := tea.NewView(a.theme.paint(p.lines))
	v.AltScreen = true
	if a.mouse {
		v.MouseMode = tea.MouseModeCellMotion
	}
	if p.y >= 0 {
		c := tea.NewCursor(p.x, p.y)
		c.Blink = false
		v.Cursor = c
	}
	return v
}

// chrome says which of the rows around the screen there is room for: the footer goes last.
func (a *App) chrome() (header, status, footer int) {
	if a.h >= 4 {
		header = 1
	}
	if a.h >= 20 {
		header = 2
	}
	if a.h >= 12 {
		status = 1
	}
	if a.h >= 2 {
		footer = 1
	}
	return header, status, footer
}

func (a *App) bodyHeight() int {
	header, status, footer := a.chrome()
	return max(a.h-header-status-footer, 0)
}

func (a *App) page() page {
	header, status, footer := a.chrome()
	body := a.bodyHeight()
	var out page
	out.y = -1
	if header > 0 {
		out.lines = append(out.lines, a.header())
	}
	if header > 1 {
		out = out.below(page{lines: []line{a.tabLine()}, y: -1, spots: a.tabSpots()})
	}
	switch {
	case a.help != nil:
		out = out.below(a.help.draw(a.w, body).fill(a.w, body))
	case a.dialog != nil:
		under := a.top().draw(a.w, body, a.shown).fill(a.w, body)
		box := a.dialog.draw(a.w, body)
		w := 0
		for _, l := range box.lines {
			w = max(w, l.width())
		}
		x, y := (a.w-w)/2, max(body-len(box.lines), 0)/2
		for i := range under.lines {
			under.lines[i] = under.lines[i].restyled(dim)
		}
		for i := range box.lines {
			box.lines[i] = box.lines[i].fit(w)
		}
		over(under.lines, box.lines, x, y, w)
		under.x, under.y = box.x+x, box.y+y
		out = out.below(under)
	case a.load.waiting:
		out = out.below(text(line{}.gap(1).add(press, elide(clean(a.load.words(a.mask != nil)), a.w-2))).fill(a.w, body))
	default:
		out = out.below(a.top().draw(a.w, body, a.shown).fill(a.w, body))
	}
	if status > 0 {
		out.lines = append(out.lines, a.status())
	}
	if footer > 0 {
		if a.prompt != nil {
			l, x := a.promptLine()
			out.x, out.y = x, len(out.lines)
			out.lines = append(out.lines, l)
		} else {
			out.lines = append(out.lines, a.footer())
		}
	}
	return out.fill(a.w, a.h)
}

// tabLine names the screens that have a digit, the open one in brackets, and what is opened above it.
func (a *App) tabLine() line {
	l := line{}.gap(1)
	for i, t := range a.tabs {
		name := a.tabName(i, t)
		if a.tab() == i {
			l = l.add(strong, "["+name+"]")
		} else {
			l = l.gap(1).add(dim, name).gap(1)
		}
	}
	rec := a.recording(a.w - l.width() - 1)
	if l.width()+rec.width() > a.w {
		rec = nil // half a word says nothing
	}
	room := a.w - l.width() - rec.width() - 2
	for i := 1; i < len(a.stack) && room > 8; i++ {
		if a.stack[i] == a.tabs[a.tab()] {
			continue
		}
		name := shorten(a.stack[i].title(), min(room-2, 44))
		l = l.add(dim, "> ").add(plain, name).gap(1)
		room -= width(name) + 3
	}
	return append(l.gap(max(a.w-l.width()-rec.width(), 0)), rec...)
}

// recording says for how long the evidence has been recorded, or that it no longer is, which is so whatever moment is shown; and why, if room cells hold
// that too.
func (a *App) recording(room int) line {
	const stopped = "REC stopped"
	why := elide(clean(a.latest.Unrecorded), 40)
	switch {
	case why == "" && a.shown.Recording > 0:
		return line{}.add(dim, "REC "+span5(a.shown.Recording)).gap(1)
	case why == "":
		return nil
	case width(stopped+": "+why) < room:
		return line{}.add(warn, stopped+": "+why).gap(1)
	}
	return line{}.add(warn, stopped).gap(1)
}

// tabName is what stands on a tab. Where there is no room for all names beside what is said of the recording, only the open one has its name.
func (a *App) tabName(i int, t screen) string {
	all := 1 + a.recording(0).width()
	for _, t := range a.tabs {
		all += width(t.title()) + 4
	}
	name := keyShown(a.keys.Screens.Keys()[i])
	if all > a.w && i != a.tab() {
		return name
	}
	return name + " " + t.title()
}

// tab returns which of the screens with a digit is open, or lies under what is.
func (a *App) tab() int {
	for i, t := range a.tabs {
		if len(a.stack) > 1 && a.stack[1] == t {
			return i
		}
	}
	return 0
}

// header says what is looked at, and how old it is. What does not fit goes, the least telling first.
func (a *App) header() line {
	s := a.shown
	name := "no fabric"
	size := ""
	if s.Diagnosis != nil && s.Diagnosis.Fabric != "" {
		name = s.Diagnosis.Fabric
	}
	if f := s.Fabric; f != nil {
		name = cmp.Or(f.Name(), name)
		switches, hosts := fabricSize(f)
		size = fmt.Sprintf("%s sw  %s hosts  %s links", count(switches), count(hosts), count(f.NumLinks()))
	}
	mode := a.mode()
	if rows, _, _ := a.chrome(); rows == 1 && a.w >= 60 && a.latest.Unrecorded != "" {
		mode = append(a.recording(0).gap(1), mode...) // there is no line of tabs to say it
	}
	if s.mask != nil {
		mode = append(line{}.add(strong, "MASKED").gap(2), mode...)
	}
	at := s.at(s.Now, seconds)
	if p := s.Playing; p != nil {
		at = s.at(p.At, seconds)
		if p.Back == 0 && a.w >= 80 { // what is replayed may be of any day
			at = s.at(p.At, time.DateOnly+" "+seconds)
		}
	}
	rate := ""
	if s.Live {
		rate = count(int(s.Rate+0.5)) + " probes/s"
	}
	room := a.w - 2 - mode.width() - width(at) - 2
	left := line{}.gap(1)
	use := func(st style, text string, gap int) {
		if n := width(clean(text)); text != "" && left.width()+gap+n+2 <= room {
			left = left.gap(gap).add(st, text)
		}
	}
	if a.w >= 60 {
		use(dim, "whichlink", 0)
		use(strong, name, 2)
	} else {
		left = left.add(strong, elide(clean(name), max(room-3, 1)))
	}
	// The rate tells whether anything is being sent at all, and so goes before the size.
	tail := line{}
	for _, x := range []string{rate, s.Status} {
		if n := width(clean(x)); x != "" && left.width()+tail.width()+n+4 <= room {
			tail = line{}.add(plain, x).gap(2)
			room -= tail.width()
			mode = append(append(mode, line{}.gap(2)...), line{}.add(plain, x)...)
		}
	}
	use(dim, size, 2)
	right := append(append(line{}, mode...), line{}.gap(2).add(plain, at).gap(1)...)
	return append(left.gap(max(a.w-left.width()-right.width(), 1)), right...)
}

// mode says whether the screen follows what is measured.
func (a *App) mode() line {
	switch {
	case a.load.waiting:
		return line{}.add(warn, "LOADING")
	case a.frozen:
		return line{}.add(warn, "|| FROZEN "+span5(a.latest.Now.Sub(a.shown.Now)))
	case a.shown.Live:
		return line{}.add(good, "> LIVE")
	case a.shown.Playing != nil:
		return a.shown.Playing.words()
	}
	return line{}.add(good, "<< REPLAY")
}

// words says where a replay stands.
func (p *Playing) words() line {
	if p.Back > 0 {
		return p.back()
	}
	switch {
	case p.Busy:
		return line{}.add(warn, "<< READING")
	case p.Whole:
		return line{}.add(good, "<< REPLAY all")
	case p.Running:
		return line{}.add(good, fmt.Sprintf("<< REPLAY %gx", p.Speed))
	}
	return line{}.add(warn, "<< REPLAY paused")
}

// back says how far in the past of a live session we are.
func (p *Playing) back() line {
	l := line{}.add(warn, "<< "+span5(p.Back)+" AGO")
	switch {
	case p.Busy:
		return l.add(warn, ", READING")
	case p.Running:
		return l.add(warn, fmt.Sprintf(" %gx", p.Speed))
	}
	return l
}

// status is the row above the footer: what was just done, else the filter, else the drill.
func (a *App) status() line {
	l := line{}.gap(1)
	f := a.top().filtered()
	switch {
	case a.prompt != nil && a.typing:
		return append(l, a.offers()...)
	case a.latest.Inquiry != nil:
		return l.add(press, elide(clean(a.latest.Inquiry.words(a.latest.Now)+"  :stop ends it"), a.w-2))
	case a.message != "":
		return l.add(strong, elide(clean(a.message), a.w-2))
	case f.problem != "":
		return l.add(warn, elide(clean("filter: "+f.problem), a.w-2))
	case f.query != "" && a.prompt == nil:
		return l.add(dim, "filter ").add(strong, elide(clean(f.query), a.w-20)).add(dim, "  "+first(a.keys.Back)+" clears it")
	}
	if x := noted(a.shown); x != nil {
		l = l.add(press, "note ").add(dim, a.shown.at(x.At, a.shown.dated(seconds))+"  "+x.About+"  ")
		return l.add(strong, elide(clean(x.What), max(a.w-l.width()-1, 4)))
	}
	return a.drill(l)
}

// offers says what may be typed next.
func (a *App) offers() line {
	text := a.prompt.value()
	words := strings.Fields(text)
	found := a.candidates(text)
	if len(words) > 0 {
		if c := matching(words[0]); len(c) == 1 && (len(found) == 0 || len(words) == 1 && len(found) == 1) {
			return line{}.add(press, c[0].name+" "+c[0].args).gap(2).add(dim, c[0].does)
		}
	}
	l := line{}
	for _, f := range found {
		if l.width()+width(f)+6 > a.w {
			return l.add(dim, "...")
		}
		l = l.add(plain, f).gap(2)
	}
	return l
}

func (a *App) drill(l line) line {
	faults := a.shown.Faults
	switch {
	case a.trainer == nil && len(faults) == 0:
		return nil
	case len(faults) == 0:
		return l.add(dim, "drill: nothing is broken on purpose")
	case !a.reveal:
		return l.add(dim, "drill: "+counted(len(faults), "fault", "faults")+" set, hidden")
	}
	text := faults[0].Text
	if n := len(faults) - 1; n > 0 {
		text += fmt.Sprintf(", and %d more", n)
	}
	return l.add(dim, "drill, the truth: ").add(warn, elide(clean(text), max(a.w-21, 4)))
}

// hint is a key and what it does here.
func hint(b key.Binding, does string) line {
	return line{}.add(press, b.Help().Key).gap(1).add(plain, does).gap(2)
}

// footer names the keys that matter here, as many as fit; help and quit always.
func (a *App) footer() line {
	k := &a.keys
	var hints []line
	last := append(hint(k.Help, "help"), hint(k.Quit, "quit")...)
	switch {
	case a.dialog != nil:
		hints, last = a.dialog.hints(), nil
	case a.help != nil:
		hints = append(hints, hint(k.Back, "close"))
	default:
		hints = append(hints, a.screenHints()...)
		freeze := "freeze"
		if a.frozen {
			freeze = "resume"
		}
		if _, prose := a.top().(*explainScreen); !prose {
			hints = append(hints, hint(k.Filter, "filter"))
		}
		hints = append(hints, hint(k.Freeze, freeze))
		if a.trainer != nil {
			hints = append(hints, hint(k.Break, "break"))
			if len(a.shown.Faults) > 0 {
				does := "reveal"
				if a.reveal {
					does = "hide"
				}
				hints = append(hints, hint(k.Reveal, does))
			}
		}
		if a.prober != nil {
			does := "probe"
			if _, ok := a.top().(*pathsScreen); ok {
				does = "trace"
			}
			hints = append(hints, hint(k.Probe, does))
		}
		hints = append(hints, hint(k.Copy, "copy"), hint(k.Note, "note"), hint(k.Command, "command"))
	}
	l := line{}.gap(1)
	for _, x := range hints {
		if l.width()+x.width()+last.width() <= a.w {
			l = append(l, x...)
		}
	}
	return append(l, last...)
}

// screenHints are the keys of the screen on top.
func (a *App) screenHints() []line {
	k := &a.keys
	var hints []line
	if len(a.stack) > 1 {
		hints = append(hints, hint(k.Back, "back"))
	}
	switch t := a.top().(type) {
	case *overview:
		if a.shown.Diagnosis != nil && len(a.shown.Diagnosis.Suspects) > 0 {
			hints = append(hints, hint(k.Open, "open"))
		}
	case *linkScreen:
		hints = append(hints, hint(k.Next, "next suspect"), hint(k.Paths, "paths"), hint(k.Packets, "captures"), hint(k.Lower, "counters"), hint(k.OnMap, "map"))
	case *explainScreen:
		hints = append(hints, hint(k.Open, "its link"), hint(k.Down, "scroll"))
	case *linksScreen:
		hints = append(hints, hint(k.Open, "open"), hint(k.Sort, "sort"), hint(k.Reverse, "turn"), hint(k.Wide, "wide"), hint(k.Columns, "columns"))
	case *mapScreen:
		hints = append(hints, hint(k.Open, "open"), hint(k.Next, "suspect"), hint(k.Around, map[bool]string{false: "around", true: "matrix"}[t.near]), hint(k.Layer, "layer"), hint(k.Hosts, "hosts"))
		if t.layout != nil && t.layout.pods != nil {
			hints = append(hints, hint(k.Pane, "pane"))
		} else if t.layout != nil && !t.layout.clos {
			hints = append(hints, hint(k.Order, "order"))
		}
		if t.near || t.filled[1] == nil && a.w >= panesFrom {
			hints = append(hints, hint(k.Wider, "hops"))
		}
	case *pathsScreen:
		hints = append(hints, hint(k.Open, "open"), hint(k.Swap, "swap"), hint(k.Next, "next lossy"))
	case *eventsScreen:
		hints = append(hints, hint(k.Open, "go to link"), hint(k.Moment, "that moment"))
		if a.remark != nil {
			hints = append(hints, hint(k.Remark, "remark"))
		}
	case *capturesScreen:
		hints = append(hints, hint(k.Open, "open"), hint(k.Shark, "tshark"))
	case *drillScreen:
		hints = append(hints, hint(k.Open, "go to link"))
		if a.trainer != nil {
			hints = append(hints, hint(k.Answer, "answer"))
		}
	case *findingScreen:
		hints = append(hints, hint(k.Packets, "packets"), hint(k.Shark, "tshark"))
	}
	if a.player != nil && a.shown.Playing != nil {
		hints = append(hints, hint(k.Play, "play"), hint(k.SeekBack, "earlier"), hint(k.SeekOn, "later"))
		if a.shown.Playing.Back > 0 {
			hints = append(hints, hint(k.Latest, "live"))
		}
	}
	return hints
}

// promptLine is the filter while it is typed.
func (a *App) promptLine() (l line, x int) {
	k := &a.keys
	mark, tail := "/ ", "  "+first(k.KeepFilter)+" keep  "+first(k.LeaveFilter)+" leave"
	if a.typing {
		mark, tail = ": ", "  "+first(k.Complete)+" complete  "+first(k.KeepFilter)+" do  "+first(k.LeaveFilter)+" leave"
	}
	l = line{}.gap(1).add(press, mark)
	at := l.width()
	room := max(a.w-at-len(tail)-1, min(a.w-at, 12))
	value, x := a.prompt.shown(max(room, 1))
	l = l.add(strong, value).gap(max(room-width(value), 0)).add(dim, tail)
	return l, at + x
}
