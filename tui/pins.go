package tui

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	tea "charm.land/bubbletea/v2"

	"whichlink/graphs"
	"whichlink/internal/diagnose"
)

const (
	// pinsPart is the part of a memory that holds a list of keptPins, those of the fabric that was changed last first.
	pinsPart = "pins"
	// mostPins is how many things of one fabric can be pinned, and mostPinned of how many fabrics pins are kept.
	mostPins   = 24
	mostPinned = 16
)

// keptPins are the names of links and nodes that are watched on a fabric.
type keptPins struct {
	Fabric string   `json:"fabric"`
	Names  []string `json:"names"`
}

// A pinboard is what somebody watches on this fabric. It is kept by the fabric's name.
type pinboard struct {
	in    Memory // nil: nothing is kept
	all   []keptPins
	of    *graphs.Fabric
	names []string // on it, in the order in which they were pinned

	asked int        // how often something was to be kept
	mu    sync.Mutex // guards done, and the order of what is kept
	done  int
}

// A pin is a watched link, or a node, and how it is.
type pin struct {
	link  graphs.LinkID // None if it is a node
	node  graphs.NodeID
	state string  // LOSS and so on of what is named, else ok, half dark, dark
	p     float64 // of the likeliest suspicion on it
	loss  float64 // NaN where it is not known
}

// A pinnedMsg is the end of keeping pins.
type pinnedMsg struct{ err error }

// recall reads what was kept.
func (b *pinboard) recall(in Memory) error {
	if b.in = in; in == nil {
		return nil
	}
	if err := in.Recall(pinsPart, &b.all); err != nil {
		b.all = nil
		return fmt.Errorf("ignored: %w", err)
	}
	return nil
}

// turn takes up the pins of a fabric.
func (b *pinboard) turn(f *graphs.Fabric) {
	if f == b.of {
		return
	}
	b.of, b.names = f, nil
	if f == nil {
		return
	}
	if i := slices.IndexFunc(b.all, func(k keptPins) bool { return k.Fabric == f.Name() }); i >= 0 {
		b.names = slices.Clone(b.all[i].Names[:min(len(b.all[i].Names), mostPins)])
	}
}

// toggle pins what a name means, or takes the pin out, and reports its name and whether it is pinned now.
func (b *pinboard) toggle(name string) (string, bool, error) {
	if b.of == nil {
		return "", false, errors.New("no fabric is known: nothing can be pinned")
	}
	if l, ok := linkOfName(b.of, name); ok {
		name = b.of.LinkName(l)
	} else if _, ok := b.of.NodeByName(name); !ok {
		return "", false, errors.New("links and nodes can be pinned: :pin NAME, or what is selected")
	}
	if i := slices.Index(b.names, name); i >= 0 {
		b.names = slices.Delete(slices.Clone(b.names), i, i+1)
		b.all = with(b.all, keptPins{b.of.Name(), b.names})
		return name, false, nil
	}
	if len(b.names) >= mostPins {
		return "", false, fmt.Errorf("%d are pinned, which is as many as can be watched", mostPins)
	}
	b.names = append(slices.Clip(b.names), name)
	b.all = with(b.all, keptPins{b.of.Name(), b.names})
	return name, true, nil
}

// with puts the pins of a fabric first, in place of what it had.
func with(all []keptPins, now keptPins) []keptPins {
	var out []keptPins
	if len(now.Names) > 0 {
		out = append(out, now)
	}
	for _, k := range all {
		if k.Fabric != now.Fabric && len(out) < mostPinned {
			out = append(out, k)
		}
	}
	return out
}

// keep returns the command that keeps the pins of this fabric, and leaves those of others.
func (b *pinboard) keep() tea.Cmd {
	if b.in == nil || b.of == nil {
		return nil
	}
	b.asked++
	turn, now := b.asked, keptPins{b.of.Name(), b.names}
	return func() tea.Msg { return pinnedMsg{b.write(turn, now)} }
}

func (b *pinboard) write(turn int, now keptPins) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if turn <= b.done { // a later one overtook it
		return nil
	}
	b.done = turn
	var all []keptPins
	if err := b.in.Recall(pinsPart, &all); err != nil {
		all = nil // it cannot be understood, and is written anew
	}
	return b.in.Keep(pinsPart, with(all, now))
}

// finish keeps what the last key changed, if its command was not run any more.
func (b *pinboard) finish() error {
	if b.asked == 0 || b.of == nil {
		return nil
	}
	return b.write(b.asked, keptPins{b.of.Name(), b.names})
}

// look returns a snapshot that tells how what is pinned is.
func (b *pinboard) look(s *Snapshot) *Snapshot {
	if len(b.names) == 0 || s.Picture == nil {
		return s
	}
	c := *s
	c.pins = nil
	sick := symptomsOf(s)
	for _, name := range b.names { // as they are; the ids are those of the snapshot, whatever its names are
		x := pin{link: graphs.None, node: graphs.None}
		if l, ok := b.of.LinkByName(name); ok {
			x.link = l
			x.take(s.Picture, sick, l)
		} else if n, ok := b.of.NodeByName(name); ok {
			x.node = n
			x.takeNode(s, sick)
		} else {
			continue // of a fabric that was recabled; it is kept
		}
		c.pins = append(c.pins, x)
	}
	return &c
}

// take is how a link is.
func (x *pin) take(p *diagnose.Picture, sick map[graphs.LinkID]string, l graphs.LinkID) {
	r := linkRow{id: l, forward: &p.Arcs[l.Forward()], backward: &p.Arcs[l.Backward()], symptom: sick[l]}
	x.state, x.p, x.loss = r.state(), float64(max(r.forward.Suspicion, r.backward.Suspicion)), r.worst((*diagnose.ArcTally).Loss)
	if r.symptom != "" {
		x.state = r.symptom
	}
}

// takeNode is how a node is: itself, if it is named, else the worst of its links, and dark only if all of them are.
func (x *pin) takeNode(s *Snapshot, sick map[graphs.LinkID]string) {
	x.state, x.loss = "ok", math.NaN()
	dark := 0
	arcs := s.Picture.Fabric.Out(x.node)
	for _, a := range arcs {
		var y pin
		y.take(s.Picture, sick, a.Link())
		if y.state == "dark" {
			dark++
		}
		if x.p = max(x.p, y.p); sick[a.Link()] != "" && (y.p == x.p || x.state == "ok") {
			x.state = y.state
		}
		if !math.IsNaN(y.loss) && !(x.loss >= y.loss) {
			x.loss = y.loss
		}
	}
	name := s.Picture.Fabric.NodeName(x.node)
	for i := range s.Diagnosis.Suspects {
		if y := &s.Diagnosis.Suspects[i]; y.Kind == "node" && y.ID == name && y.Probability >= diagnose.Named {
			x.state, x.p = symptomWord(y.Symptom), y.Probability
		}
	}
	switch {
	case x.state != "ok" || dark == 0:
	case dark == len(arcs):
		x.state = "dark"
	default:
		x.state = "half dark"
	}
}

// name is what a pin is called.
func (x *pin) name(f *graphs.Fabric) string {
	if x.link == graphs.None {
		return f.NodeName(x.node)
	}
	return f.LinkName(x.link)
}

// sick reports whether the state is a symptom, and not a word for how much was seen.
func (x *pin) sick() bool { return x.state != "ok" && x.state != "dark" && x.state != "half dark" }

func (x *pin) style() style {
	switch {
	case x.sick():
		return cmp.Or(severity(x.p), warn)
	case x.state == "ok":
		return plain
	}
	return warn
}

// pinned are the links that stand first.
func (s *Snapshot) pinned() map[graphs.LinkID]bool {
	if len(s.pins) == 0 {
		return nil
	}
	out := make(map[graphs.LinkID]bool, len(s.pins))
	for i := range s.pins {
		if l := s.pins[i].link; l != graphs.None {
			out[l] = true
		}
	}
	return out
}

// pinLines are the pins, each in a row of w cells: at most h of them.
func pinLines(s *Snapshot, w, h int) []line {
	var out []line
	for i := range s.pins[:min(len(s.pins), max(h, 0))] {
		x := &s.pins[i]
		state := x.state
		if state != "ok" && !x.sick() {
			state = "? " + state
		}
		const columns = 1 + 12 + 6 + 8
		name := max(w-columns, 4)
		out = append(out, line{}.left(plain, shorten(x.name(s.Fabric), name), name).gap(1).left(x.style(), state, 12).left(plain, "p "+probability(x.p), 6).right(plain, percent(x.loss), 8))
	}
	return out
}

// pinPane is as high as what is pinned needs, at most most rows with its frame; nothing where nothing is.
func pinPane(s *Snapshot, most int) int {
	if n := len(s.pins); n > 0 && most >= 3 {
		return min(n+2, most)
	}
	return 0
}

func drawPins(w, h int, s *Snapshot) page {
	if h == 0 {
		return text()
	}
	note := "state, p, loss"
	if more := len(s.pins) - (h - 2); more > 0 {
		note = fmt.Sprintf("and %d more, first among the links", more)
	}
	return frame("Pinned", note, w, h, text(pinLines(s, w-4, h-2)...))
}

// pinThis pins what is selected, or what is named; once more takes the pin out.
func (a *App) pinThis(name string) (tea.Cmd, error) {
	if name == "" {
		name = a.selectedName()
	}
	name, on, err := a.pins.toggle(a.mask.real(name))
	if err != nil {
		return nil, err
	}
	a.lookAgain()
	a.refresh()
	if on {
		a.say("pinned " + name)
	} else {
		a.say("no longer pinned: " + name)
	}
	return a.pins.keep(), nil
}

func pinCommand(a *App, words []string) (tea.Cmd, error) {
	switch len(words) {
	case 0:
		return a.pinThis("")
	case 1:
		return a.pinThis(words[0])
	}
	return nil, errors.New("pin needs one name, or none for what is selected")
}
