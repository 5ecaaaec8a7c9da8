package tui

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"whichlink/graphs"
	"whichlink/internal/diagnose"
)

// The link screen shows one suspect: what is said of it, and, if it is a link or an arc, what every flow across it saw
// over time. A suspect of another kind has no series of its own and shows its proof at full size.
type linkScreen struct {
	keys   *keyMap
	id     string // of the suspect, which keeps its place whatever its rank; empty for a link that was opened by itself
	link   string // name; empty if the suspect has none
	rows   rows
	filter filter
	scroll int
	// counters shows what ports counted in place of the flows, where there is no room for both.
	counters bool

	// The detail of a link costs milliseconds; it is asked for once a snapshot.
	asked  *Snapshot
	detail *LinkDetail
}

func newLinkScreen(k *keyMap, x *diagnose.Suspect, s *Snapshot) *linkScreen {
	l := &linkScreen{keys: k, id: x.ID, link: x.Link}
	l.refresh(s, false)
	return l
}

// newLinkScreenOf opens a link, suspected or not.
func newLinkScreenOf(k *keyMap, id graphs.LinkID, s *Snapshot) *linkScreen {
	l := &linkScreen{keys: k, link: s.Fabric.LinkName(id)}
	l.refresh(s, false)
	return l
}

func (l *linkScreen) title() string { return cmp.Or(l.link, l.id) }

// suspect returns what the snapshot says of it now, nil if it is no suspect any more.
func (l *linkScreen) suspect(s *Snapshot) *diagnose.Suspect {
	if s.Diagnosis == nil {
		return nil
	}
	for i := range s.Diagnosis.Suspects {
		if x := &s.Diagnosis.Suspects[i]; x.ID == l.id || l.id == "" && x.Link == l.link {
			return x
		}
	}
	return nil
}

func (l *linkScreen) linkID(s *Snapshot) graphs.LinkID {
	if s.Fabric == nil || l.link == "" {
		return graphs.None
	}
	id, ok := s.Fabric.LinkByName(l.link)
	if !ok {
		return graphs.None
	}
	return id
}

// refresh asks the history, and sorts the flows: those that lose most first.
func (l *linkScreen) refresh(s *Snapshot, still bool) {
	if l.asked != s {
		l.asked, l.detail = s, nil
		if id := l.linkID(s); id != graphs.None && s.History != nil {
			l.detail = s.History.Link(id)
		}
	}
	var next []rowRef
	if l.detail != nil {
		for i := range l.detail.Flows {
			f := &l.detail.Flows[i]
			if len(l.filter.terms) == 0 || l.filter.match(flowText(f), flowNumber(f)) {
				next = append(next, rowRef{fmt.Sprint(f.Flow, f.Arc, f.Answers), i})
			}
		}
		loss := make([]float64, len(l.detail.Flows))
		for _, n := range next {
			loss[n.at], _ = flowNumber(&l.detail.Flows[n.at])("loss")
		}
		slices.SortFunc(next, func(a, b rowRef) int {
			return cmp.Or(cmp.Compare(loss[b.at], loss[a.at]), cmp.Compare(a.key, b.key))
		})
	}
	l.rows.update(next, still)
}

func flowText(f *FlowSeries) string {
	return strings.ToLower(f.Flow + "\n" + direction(f.Arc) + "\n" + carrier(f))
}

func flowNumber(f *FlowSeries) func(string) (float64, bool) {
	return func(field string) (float64, bool) {
		switch field {
		case "sent":
			return float64(sum(f.Sent)), true
		case "lost":
			return float64(sum(f.Lost)), true
		case "loss":
			r := ratio(sum(f.Lost), sum(f.Sent))
			return 100 * r, !math.IsNaN(r)
		case "rtt":
			r := latest(f.RTT)
			return r, !math.IsNaN(r)
		}
		return 0, false
	}
}

func sum(v []int) int {
	n := 0
	for _, x := range v {
		n += x
	}
	return n
}

// direction names an arc by the letters that the screen gives to the link's ends.
func direction(a graphs.ArcID) string {
	if a == a.Link().Forward() {
		return "A>B"
	}
	return "B>A"
}

// carrier says what of a flow crosses the arc.
func carrier(f *FlowSeries) string {
	w := "probe"
	if f.Answers {
		w = "answer"
	}
	if f.Maybe {
		w += "?"
	}
	return w
}

func (l *linkScreen) setFilter(query string, s *Snapshot) {
	l.filter = parseFilter(query, []string{"sent", "lost", "loss", "rtt"})
	l.refresh(s, false)
}

func (l *linkScreen) filtered() *filter { return &l.filter }

// step goes to the next suspect or the one before.
func (l *linkScreen) step(n int, s *Snapshot) {
	if s.Diagnosis == nil || len(s.Diagnosis.Suspects) == 0 {
		return
	}
	at := slices.IndexFunc(s.Diagnosis.Suspects, func(x diagnose.Suspect) bool { return x.ID == l.id || l.id == "" && x.Link == l.link })
	at = min(max(at+n, 0), len(s.Diagnosis.Suspects)-1)
	if x := &s.Diagnosis.Suspects[at]; x.ID != l.id {
		*l = *newLinkScreen(l.keys, x, s)
	}
}

func (l *linkScreen) handle(msg tea.KeyPressMsg, w, h int, s *Snapshot) screen {
	if moveRows(&l.rows, l.keys, msg) {
		return nil
	}
	switch {
	case key.Matches(msg, l.keys.Next):
		l.step(1, s)
		return nil
	case key.Matches(msg, l.keys.Prev):
		l.step(-1, s)
		return nil
	case key.Matches(msg, l.keys.Paths):
		return l.paths(s)
	case key.Matches(msg, l.keys.OnMap):
		return l.onMap(s)
	case key.Matches(msg, l.keys.Lower):
		l.counters = !l.counters
		return nil
	case key.Matches(msg, l.keys.TextDown):
		l.scroll++
	case key.Matches(msg, l.keys.TextUp):
		l.scroll--
	default:
		return nil
	}
	p := l.plan(w, h)
	vw := w
	if p.side {
		vw = verdictWidth(w)
	}
	most := len(l.verdict(vw-4, s)) - p.verdict + 2
	if l.counters {
		most = max(most, 4*len(counterRows()))
	}
	l.scroll = min(max(l.scroll, 0), max(most, 0))
	return nil
}

// paths opens the paths of the pair that lost most across the link.
func (l *linkScreen) paths(s *Snapshot) screen {
	v, ok := s.History.(worstKnowing)
	id := l.linkID(s)
	if !ok || s.Picture == nil || id == graphs.None {
		return nil
	}
	src, dst, ok := v.worstPair(id)
	if !ok {
		return nil
	}
	p := newPathsScreen(l.keys)
	p.fabric = s.Picture.Fabric
	p.setPair(src, dst, s)
	return p
}

// onMap shows the link on the map.
func (l *linkScreen) onMap(s *Snapshot) screen {
	id := l.linkID(s)
	if s.Picture == nil || id == graphs.None {
		return nil
	}
	m := newMapScreen(l.keys)
	m.refresh(s, false)
	m.jump(id)
	return m
}

func (l *linkScreen) copied(s *Snapshot) string {
	r, ok := l.rows.current()
	if !ok || l.detail == nil || r.at >= len(l.detail.Flows) {
		if x := l.suspect(s); x != nil {
			return suspectNote(x)
		}
		return ""
	}
	f := &l.detail.Flows[r.at]
	return clean(fmt.Sprintf("%s  %s of %s  sent %d lost %d (%s)", f.Flow, carrier(f), s.Fabric.ArcName(f.Arc),
		sum(f.Sent), sum(f.Lost), percent(ratio(sum(f.Lost), sum(f.Sent)))))
}

// A linkPlan shares out the rows of the screen.
type linkPlan struct {
	verdict, series, flows int
	side                   bool // verdict and series side by side
}

// seriesRows are the names of the ends, loss and delay in both directions, when it went down, and the scale of time.
const seriesRows = 7

// countersRows are what the counters of both ends take when something is wrong with both.
const countersRows = 16

func (l *linkScreen) plan(w, h int) linkPlan {
	h-- // the line that says where we are
	switch {
	case l.link == "":
		return linkPlan{verdict: h}
	case w < stackFrom || h < 16:
		return linkPlan{}
	case w >= panesFrom:
		p := linkPlan{side: true, series: max(seriesRows+2, h*2/5)}
		p.verdict = p.series
		p.flows = h - p.series
		return p
	}
	p := linkPlan{series: seriesRows + 2}
	p.verdict = max((h-p.series)/2, 4)
	p.flows = h - p.series - p.verdict
	return p
}

func verdictWidth(w int) int { return w / 2 }

func (l *linkScreen) draw(w, h int, s *Snapshot) page {
	out := text(l.trail(s, w))
	p := l.plan(w, h)
	switch {
	case p.verdict == 0:
		return out.below(l.drawSmall(w, h-1, s)).fill(w, h)
	case p.flows == 0:
		return out.below(l.drawVerdict(w, p.verdict, s)).fill(w, h)
	case p.side:
		left := verdictWidth(w)
		out = out.below(l.drawVerdict(left, p.verdict, s).beside(l.drawSeries(w-left, p.series, s), left))
	case l.counters:
		return out.below(l.drawVerdict(w, p.verdict, s)).below(l.drawCounters(w, p.series+p.flows, s)).fill(w, h)
	default:
		out = out.below(l.drawVerdict(w, p.verdict, s)).below(l.drawSeries(w, p.series, s))
	}
	_, counted := l.ends(s)
	switch {
	case counted && p.flows >= 2*countersRows-4:
		rows := min(max(len(l.counterLines(w-4, s))+2, countersRows), p.flows/2)
		out = out.below(l.drawCounters(w, rows, s)).below(l.drawFlows(w, p.flows-rows, s))
	case l.counters:
		out = out.below(l.drawCounters(w, p.flows, s))
	default:
		out = out.below(l.drawFlows(w, p.flows, s))
	}
	return out.fill(w, h)
}

// trail says where we are.
func (l *linkScreen) trail(s *Snapshot, w int) line {
	out := line{}.gap(1)
	rank := ""
	if x := l.suspect(s); x != nil {
		rank = fmt.Sprintf("suspect #%d  ", x.Rank)
	}
	more := ""
	if id := l.linkID(s); id != graphs.None {
		f := s.Fabric
		if v := speed(f.Link(id).Speed); v != "" {
			more += "  " + v
		}
		if s.pinned()[id] {
			more += "  pinned"
		}
		for _, g := range f.Link(id).Groups {
			more += "  " + f.Group(g).Name
		}
	}
	name := cmp.Or(l.link, l.id)
	room := w - out.width() - width(rank) - 1
	out = out.add(plain, rank).add(strong, shorten(name, max(room, 4)))
	return out.add(dim, elide(clean(more), max(w-out.width()-1, 0)))
}

// headline says what the suspect is said to be.
func (l *linkScreen) headline(s *Snapshot, w int) []line {
	x := l.suspect(s)
	if x == nil && l.id == "" {
		return []line{line{}.add(plain, "not suspected")}
	}
	if x == nil {
		return []line{line{}.add(plain, elide("no suspect any more: what it was seen to do is explained otherwise, or over", w))}
	}
	st := severity(x.Probability)
	head := line{}.add(st, "! "+symptomWord(x.Symptom)).gap(2).add(st, "p "+probability(x.Probability))
	if x.Loss != nil {
		head = head.gap(2).add(plain, "loss "+percent(*x.Loss))
		if x.LossLow != nil && x.LossHigh != nil {
			head = head.add(dim, "  ("+interval(x.LossLow, x.LossHigh)+")")
		}
	}
	kind := line{}.left(dim, x.Kind, proofLabel).add(strong, shorten(x.ID, max(w-proofLabel, 8)))
	return []line{head, kind}
}

func (l *linkScreen) verdict(w int, s *Snapshot) []line {
	out := l.headline(s, w)
	if x := l.suspect(s); x != nil {
		out = append(out, proof(x, w)...)
	}
	return append(out, l.facts(w, s)...)
}

func (l *linkScreen) drawVerdict(w, h int, s *Snapshot) page {
	shown, note := scrolled(l.verdict(w-4, s), l.scroll, h-2)
	if note != "" {
		note += l.keys.scrolls()
	}
	return frame("Verdict", note, w, h, text(shown...)).sensitive(spot{w: w, h: h, text: true})
}
