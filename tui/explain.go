package tui

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"whichlink/graphs"
	"whichlink/internal/diagnose"
)

// The explain screen says of one suspect, or of a link that is none, what the claim means, what speaks for it and against it, what else it may be, and what
// would change it, with the counts from which a doubter can work it out again. Its words are those of docs/decides.md.
type explainScreen struct {
	keys   *keyMap
	of     string // the suspect, or the name of a link or an arc
	scroll int
	filter filter // always empty: there is nothing to filter
}

// explainLabel is the width of the labels before its sentences.
const explainLabel = 11

func (e *explainScreen) title() string { return "why " + e.of }

func (e *explainScreen) refresh(*Snapshot, bool) {}

func (e *explainScreen) setFilter(string, *Snapshot) {}

func (e *explainScreen) filtered() *filter { return &e.filter }

func (e *explainScreen) handle(msg tea.KeyPressMsg, w, h int, s *Snapshot) screen {
	if key.Matches(msg, e.keys.Open) {
		if x := suspectOf(s, e.of); x != nil {
			return newLinkScreen(e.keys, x, s)
		}
		return linkNamed(e.keys, e.of, s)
	}
	e.scroll = scrolledBy(e.keys, msg, e.scroll, len(e.lines(w-4, s)), h-2)
	return nil
}

// copied is all of it, to be pasted into a ticket.
func (e *explainScreen) copied(s *Snapshot) string {
	rows := make([]string, 0, 32)
	for _, l := range e.lines(100, s) {
		var b strings.Builder
		for _, x := range l {
			b.WriteString(x.text)
		}
		rows = append(rows, strings.TrimRight(b.String(), " "))
	}
	return strings.Join(rows, "\n") + "\n"
}

func (e *explainScreen) draw(w, h int, s *Snapshot) page {
	if w < 24 || h < 8 {
		shown, _ := scrolled(e.lines(w-1, s), e.scroll, h)
		return text(shown...).fill(w, h)
	}
	shown, note := scrolled(e.lines(w-4, s), e.scroll, h-2)
	if note != "" {
		note += "  " + first(e.keys.Down) + " " + first(e.keys.Up)
	}
	return frame("Why "+shorten(e.of, max(w-40, 12)), note, w, h, text(shown...))
}

// suspectOf returns the suspect of a name: its own, that of its link, or one that the evidence cannot tell from it. Nil if there is none.
func suspectOf(s *Snapshot, name string) *diagnose.Suspect {
	if s.Diagnosis == nil {
		return nil
	}
	list := s.Diagnosis.Suspects
	for _, is := range []func(*diagnose.Suspect) bool{
		func(x *diagnose.Suspect) bool { return x.ID == name },
		func(x *diagnose.Suspect) bool { return x.Link != "" && x.Link == name },
		func(x *diagnose.Suspect) bool { return slices.Contains(x.Class, name) },
	} {
		for i := range list {
			if is(&list[i]) {
				return &list[i]
			}
		}
	}
	return nil
}

// An account is lines that are being written.
type account struct {
	w     int
	lines []line
}

func (a *account) put(label string, st style, format string, args ...any) {
	a.lines = append(a.lines, labelled(label, explainLabel, st, fmt.Sprintf(format, args...), a.w)...)
}

func (a *account) space() { a.lines = append(a.lines, nil) }

func (e *explainScreen) lines(w int, s *Snapshot) []line {
	a := &account{w: w}
	if s.Diagnosis == nil {
		a.put("verdict", plain, "nothing is measured yet: there is nothing to explain")
		return a.lines
	}
	if x := suspectOf(s, e.of); x != nil {
		a.suspect(s, x)
	} else {
		a.unsuspected(s, e.of)
	}
	a.space()
	a.restsOn(s)
	return a.lines
}

// suspect accounts for a suspect.
func (a *account) suspect(s *Snapshot, x *diagnose.Suspect) {
	head := line{}.left(dim, "claim", explainLabel).add(severity(x.Probability), symptomWord(x.Symptom)+"  p "+probability(x.Probability)).gap(2)
	if name := x.Kind + " " + x.ID; head.width()+width(name) <= a.w {
		a.lines = append(a.lines, head.add(strong, name))
	} else {
		a.lines = append(a.lines, head)
		a.put("", strong, "%s", name)
	}
	a.put("", plain, "%s", meaning(x))
	if x.Probability < diagnose.Named {
		a.put("", warn, "Below p %.2f it is not named in the verdict: it is listed so that it can be looked at.", diagnose.Named)
	}
	a.put("rule", plain, "%s", ruleOf(x.Symptom))
	a.space()
	a.put("for", plain, "%s", orElse(x.For, "not said"))
	for _, v := range x.Evidence {
		if !strings.Contains(x.For, v.Text) {
			a.put("  "+v.Source, plain, "%s", v.Text)
		}
	}
	a.space()
	a.put("against", plain, "%s", orElse(x.Against, "nothing seen that contradicts it"))
	for _, v := range x.Doubts {
		if !strings.Contains(x.Against, v.Text) {
			a.put("  "+v.Source, plain, "%s", v.Text)
		}
	}
	a.counts(s, x)
	a.space()
	a.rivals(s, x)
	a.space()
	a.changes(x)
}

// meaning says what a claim claims.
func meaning(x *diagnose.Suspect) string {
	text := fmt.Sprintf("Of a hundred claims made at p %s, about %.0f are meant to be true", probability(x.Probability), 100*x.Probability)
	if n := len(x.Class); n > 1 {
		return text + fmt.Sprintf(": that it is this, or %s that the evidence does not tell from it.", counted(n-1, "other", "others"))
	}
	return text + "."
}

// ruleOf says by which rule a symptom is found.
func ruleOf(y diagnose.Symptom) string {
	switch y {
	case diagnose.Loss:
		return "Flows cross each other: each arc, link, switch, host and shared-risk group is a possible cause with a loss of its own, and those which explain best which flows lose packets and which do not are named. Unanswered is not lost."
	case diagnose.Flap:
		return "It is good or bad by turns: change points say when, and two episodes or more make a flap. A loss that is always there is never one. Ports that went down, or changed while they read up, are flaps by themselves."
	case diagnose.Down:
		return "No flow crosses it though flows should, or its ports say that they are down."
	case diagnose.Slow:
		return "A flow is held against flows whose round trips cross as many links, and against its own past, never against other links."
	case diagnose.Hot:
		return "Its load is held against what it should carry by the forwarding model and the traffic, never against its siblings."
	case diagnose.Corruption:
		return "The port behind it counts packets that arrived broken while somebody looked; they are too few for probes to miss, or probes miss them as well."
	case diagnose.Miswire:
		return "What its ports hear as their neighbours (LLDP) is not what is planned, or traces are answered at them from right behind another switch."
	case diagnose.Pause:
		return "It stops others by pause frames and is not stopped itself meanwhile: pauses are followed to who begins them."
	case diagnose.MTU:
		return "Small packets pass, and large ones do not."
	case diagnose.Loop:
		return "Packets come by again, with less time to live."
	}
	return "see docs/decides.md"
}

// counts are the flows that cross a suspect of arcs, as they were measured from end to end, from which its probability follows.
func (a *account) counts(s *Snapshot, x *diagnose.Suspect) {
	if s.Picture == nil {
		return
	}
	arcs := s.Picture.ArcsOf(x.ID)
	if len(arcs) == 0 || len(arcs) > 2 {
		return
	}
	a.space()
	for i, arc := range arcs {
		t := &s.Picture.Arcs[arc]
		label := map[bool]string{true: "counts"}[i == 0]
		if !t.Measured {
			a.put(label, plain, "%s: crossed by no flow of which that is known", s.Fabric.ArcName(arc))
			continue
		}
		text := fmt.Sprintf("%s: %s cross it, %s and %s; %s of %s lost on their whole way (%s)", s.Fabric.ArcName(arc), counted(int(t.Flows), "flow", "flows"),
			counted(int(t.Lossy), "loses packets", "lose packets"), counted(int(t.Flows-t.Lossy), "loses none", "lose none"), count(int(t.Lost)), counted(int(t.Sent), "packet", "packets"), percent(t.Loss()))
		a.put(label, plain, "%s", text)
	}
	if x.Loss != nil && x.LossLow != nil && x.LossHigh != nil {
		a.put("", plain, "best loss of its own %s, with 90 %% within %s", percent(*x.Loss), interval(x.LossLow, x.LossHigh))
	}
}

// rivals says what else it may be.
func (a *account) rivals(s *Snapshot, x *diagnose.Suspect) {
	if len(x.Class) > 1 {
		others := slices.DeleteFunc(slices.Clone(x.Class), func(id string) bool { return id == x.ID })
		a.put("same to us", plain, "%s", strings.Join(others, ", "))
		a.put("", dim, "the odds between them are within one in twelve: a packet that crosses one of them alone would split them")
	}
	listed := 0
	for i := range s.Diagnosis.Suspects {
		y := &s.Diagnosis.Suspects[i]
		if y.ID == x.ID || listed == 5 {
			continue
		}
		label := map[bool]string{true: "besides"}[listed == 0]
		a.put(label, plain, "#%d %s %s, %s, p %s", y.Rank, y.Kind, y.ID, y.Symptom, probability(y.Probability))
		listed++
	}
	if listed == 0 {
		a.put("besides", plain, "no other suspect at or above p 0.05")
	} else {
		a.put("", dim, "several can be true at once: they need not add up to 1")
	}
}

// changes says what would make the claim weaker or stronger.
func (a *account) changes(x *diagnose.Suspect) {
	a.put("changed by", plain, "%s", turning(x))
	for i, n := range x.Next {
		a.put(fmt.Sprint("next ", i+1), plain, "%s", orElse(n.Why, n.What()))
		if n.Why != "" && n.Do != "" {
			a.put("", press, "%s", n.What())
		}
	}
}

// turning says which observation would turn a claim.
func turning(x *diagnose.Suspect) string {
	switch {
	case x.Symptom == diagnose.Loss && x.Loss != nil && *x.Loss > 0 && *x.Loss < 1:
		// n packets arrive by chance with probability (1-loss)^n.
		n := math.Ceil(math.Log(100) / -math.Log1p(-*x.Loss))
		return fmt.Sprintf("%s more that cross it with none lost would make it a hundred times less likely; more losses on flows that share nothing else would make it likelier", counted(int(n), "packet", "packets"))
	case x.Symptom == diagnose.Down:
		return "a packet that crosses it, or a port that reads up and stays up"
	case x.Symptom == diagnose.Flap:
		return "a time without an episode that is long beside those between its episodes; what stays bad becomes a loss"
	case x.Symptom == diagnose.Miswire:
		return "neighbours read again after the plugs were moved, or a plan that says what is there"
	case x.Symptom == diagnose.Hot:
		return "a measured traffic matrix in place of the estimated one (localize --matrix), or load that moves away"
	}
	return "more flows that cross it, and flows that cross what it could be taken for and not it"
}

// unsuspected says of a link, an arc, a port or a switch why it is no suspect.
func (a *account) unsuspected(s *Snapshot, name string) {
	a.put("claim", plain, "%s is not suspected: verdict %s, %s", name, s.Diagnosis.Verdict, s.Diagnosis.Summary)
	for _, c := range s.Diagnosis.Cleared {
		if c.ID == name || strings.HasPrefix(c.ID, name+":") || strings.Contains(name, c.ID+":") {
			a.put("cleared", plain, "%s: %s", c.ID, c.Why)
		}
	}
	if s.Fabric == nil || s.Picture == nil {
		return
	}
	if l, ok := linkOfName(s.Fabric, name); ok {
		for _, arc := range [2]graphs.ArcID{l.Forward(), l.Backward()} {
			a.put(direction(arc), plain, "%s: %s", s.Fabric.ArcName(arc), tallyWords(&s.Picture.Arcs[arc]))
		}
	}
}

// restsOn says on how much the diagnosis rests: what was not measured is not healthy, and what went quiet proves nothing.
func (a *account) restsOn(s *Snapshot) {
	a.put("rests on", plain, "measured %s; evidence %s", measured(s.Diagnosis.Coverage), evidenceWindow(s))
	if dark := s.Diagnosis.Coverage.Arcs - s.Diagnosis.Coverage.Measured; dark > 0 {
		a.put("", warn, "%s not measured: a fault there would not show", counted(dark, "arc is", "arcs are"))
	}
	if list, quiet := sourcesByNeed(s); quiet > 0 {
		names := make([]string, 0, quiet)
		for _, src := range list[:min(quiet, 3)] {
			names = append(names, src.By+" "+src.Source)
		}
		a.put("", warn, "%s quiet (%s): what they do not say proves nothing", counted(quiet, "source is", "sources are"), strings.Join(names, ", "))
	}
}

// explain opens the account of what is named, else of what is selected, else of the first suspect.
func explain(a *App, words []string) (tea.Cmd, error) {
	if len(words) > 1 {
		return nil, errors.New("explain needs one name, or none for what is selected")
	}
	name := a.selectedName()
	if len(words) == 1 {
		name = words[0]
	}
	if d := a.shown.Diagnosis; name == "" && d != nil && len(d.Suspects) > 0 {
		name = d.Suspects[0].ID
	}
	switch {
	case name == "":
		return nil, errors.New("nothing is suspected; :explain NAME says why a link is not")
	case suspectOf(a.shown, name) == nil && !isNamed(a.shown, name):
		return nil, fmt.Errorf("no suspect, link, port or node is called %q", name)
	}
	a.open(&explainScreen{keys: &a.keys, of: name})
	return nil, nil
}

// isNamed reports whether the fabric has something of a name.
func isNamed(s *Snapshot, name string) bool {
	if s.Fabric == nil {
		return false
	}
	_, link := linkOfName(s.Fabric, name)
	_, node := s.Fabric.NodeByName(name)
	return link || node
}

// completeSuspects are the suspects by rank, then the names of the fabric.
func completeSuspects(a *App, words []string) []string {
	var names []string
	if d := a.shown.Diagnosis; d != nil {
		for i := range d.Suspects {
			names = append(names, d.Suspects[i].ID)
		}
	}
	for _, name := range completeNames(a, words) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}
