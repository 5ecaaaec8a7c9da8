package tui

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"whichlink/graphs"
)

// A breakDialog asks which fault to set in the drill, or which to heal, says what that will do, and asks again.
// While it is open it owns all keys.
type breakDialog struct {
	keys    *keyMap
	trainer Trainer
	fabric  *graphs.Fabric
	mask    *mask
	kinds   []FaultKind // those of the trainer, then heal
	kind    int
	fields  []field // what the kind needs; the first line, the kind itself, is not among them
	focus   int     // 0: the kind; i: fields[i-1]
	names   map[TargetKind][]string
	faults  []Fault
	reveal  bool
	asking  bool
	problem string
}

// A field is one line of the form.
type field struct {
	label  string
	target TargetKind // empty for an option
	input  input
	// pick is the candidate under the cursor, -1 for none.
	pick int
}

const (
	heal                      = "heal"
	healAll                   = "all"
	targetFault    TargetKind = "fault"
	candidateLines            = 4
)

func newBreakDialog(k *keyMap, t Trainer, s *Snapshot, reveal bool) *breakDialog {
	d := &breakDialog{keys: k, trainer: t, fabric: s.Fabric, mask: s.mask, faults: s.Faults, reveal: reveal, names: map[TargetKind][]string{}}
	d.kinds = append(slices.Clone(t.Kinds()), FaultKind{
		Name: heal, Does: "takes a fault away", Targets: []TargetKind{targetFault}})
	d.choose(0)
	return d
}

// choose turns to a kind of fault and makes the fields that it needs.
func (d *breakDialog) choose(kind int) {
	d.kind = (kind + len(d.kinds)) % len(d.kinds)
	d.fields = nil
	k := d.kinds[d.kind]
	for i, t := range k.Targets {
		label := string(t)
		if len(k.Targets) > 1 {
			label += fmt.Sprint(" ", i+1)
		}
		d.fields = append(d.fields, newField(label, t, ""))
	}
	for _, o := range k.Options {
		d.fields = append(d.fields, newField(o.Name, "", o.Default))
	}
}

func newField(label string, t TargetKind, value string) field {
	return field{label: label, target: t, input: newInput(value, 600), pick: -1}
}

// candidates returns the names that hold every word typed so far.
func (d *breakDialog) candidates(f *field) []string {
	if f.target == "" {
		return nil
	}
	all, ok := d.names[f.target]
	if !ok {
		all = d.all(f.target)
		d.names[f.target] = all
	}
	words := strings.Fields(strings.ToLower(f.input.value()))
	if len(words) == 0 {
		return all
	}
	var out []string
	for _, name := range all {
		low := strings.ToLower(name)
		if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(low, w) }) {
			out = append(out, name)
		}
	}
	return out
}

func (d *breakDialog) all(t TargetKind) []string {
	if t == targetFault {
		out := []string{healAll}
		for _, f := range d.faults {
			out = append(out, f.ID)
		}
		return out
	}
	out := []string{Random}
	if d.fabric == nil {
		return out
	}
	switch f := d.fabric; t {
	case TargetArc:
		for a := range graphs.ArcID(f.NumArcs()) {
			out = append(out, f.ArcName(a))
		}
	case TargetLink:
		for l := range graphs.LinkID(f.NumLinks()) {
			out = append(out, f.LinkName(l))
		}
	case TargetSwitch, TargetHost:
		for n := range graphs.NodeID(f.NumNodes()) {
			if f.Node(n).IsHost() == (t == TargetHost) {
				out = append(out, f.NodeName(n))
			}
		}
	}
	return out
}

// handle takes a key. It reports whether the dialog stays open, and hands out an errand when the learner has said yes.
func (d *breakDialog) handle(msg tea.KeyPressMsg) (open bool, e *errand) {
	k := d.keys
	d.problem = ""
	if d.asking {
		switch {
		case key.Matches(msg, k.Do):
			return false, d.errand()
		case key.Matches(msg, k.Cancel):
			d.asking = false
		}
		return true, nil
	}
	switch {
	case key.Matches(msg, k.Cancel):
		return false, nil
	case key.Matches(msg, k.Do):
		d.asking = d.complete()
	case key.Matches(msg, k.NextField):
		d.take()
		d.turn(1)
	case key.Matches(msg, k.PrevField):
		d.turn(-1)
	case d.focus == 0:
		d.handleKind(msg)
	default:
		d.handleField(msg)
	}
	return true, nil
}

// turn moves the focus among the kind and the fields.
func (d *breakDialog) turn(n int) {
	size := len(d.fields) + 1
	d.focus = (d.focus + n + size) % size
}

func (d *breakDialog) handleKind(msg tea.KeyPressMsg) {
	k := d.keys
	switch {
	case key.Matches(msg, k.ChooseDown, k.KindOn):
		d.choose(d.kind + 1)
	case key.Matches(msg, k.ChooseUp, k.KindBack):
		d.choose(d.kind - 1)
	case msg.Text != "":
		// A letter goes to the next kind that begins with it.
		for i := 1; i <= len(d.kinds); i++ {
			if at := (d.kind + i) % len(d.kinds); strings.HasPrefix(d.kinds[at].Name, strings.ToLower(msg.Text)) {
				d.choose(at)
				return
			}
		}
	}
}

func (d *breakDialog) handleField(msg tea.KeyPressMsg) {
	f := &d.fields[d.focus-1]
	if f.target != "" {
		n := len(d.candidates(f))
		switch {
		case key.Matches(msg, d.keys.ChooseDown):
			f.pick = min(f.pick+1, n-1)
			return
		case key.Matches(msg, d.keys.ChooseUp):
			f.pick = max(f.pick-1, -1)
			return
		}
	}
	was := f.input.value()
	f.input.press(msg)
	if f.input.value() != was {
		f.pick = -1
	}
}

// paste puts pasted text into the field that has the focus.
func (d *breakDialog) paste(text string) {
	if d.focus > 0 && !d.asking {
		f := &d.fields[d.focus-1]
		f.input.insert(text)
		f.pick = -1
	}
}

// take completes the field under focus from its picked candidate, or from the only one there is.
func (d *breakDialog) take() {
	if d.focus > 0 {
		d.fields[d.focus-1].take(d.candidates(&d.fields[d.focus-1]))
	}
}

func (f *field) take(candidates []string) {
	if f.target == "" || f.input.value() == "" && f.pick < 0 {
		return
	}
	switch {
	case f.pick >= 0 && f.pick < len(candidates):
		f.input.set(candidates[f.pick])
	case len(candidates) == 1:
		f.input.set(candidates[0])
	default:
		return
	}
	f.pick = -1
}

// complete completes and checks the form. What is wrong is said, and gets the focus.
func (d *breakDialog) complete() bool {
	for i := range d.fields {
		f := &d.fields[i]
		f.take(d.candidates(f))
		v := f.value()
		switch {
		case f.target == targetFault && len(d.faults) == 0:
			d.problem = "nothing is broken"
		case f.target != "" && !slices.Contains(d.candidates(f), v):
			d.problem = fmt.Sprintf("%s: no %s of this name", f.label, f.target)
		case v == "":
			d.problem = f.label + ": a value is missing"
		default:
			continue
		}
		d.turn(i + 1 - d.focus)
		return false
	}
	return true
}

// value is what a field holds; an empty target stands for its first candidate: random, or all faults.
func (f *field) value() string {
	v := strings.TrimSpace(f.input.value())
	switch {
	case v == "" && f.target == targetFault:
		return healAll
	case v == "" && f.target != "":
		return Random
	}
	return v
}

// order returns what the form says.
func (d *breakDialog) order() Order {
	o := Order{Kind: d.kinds[d.kind].Name, Options: map[string]string{}}
	for i := range d.fields {
		f := &d.fields[i]
		if f.target != "" {
			o.Targets = append(o.Targets, f.value())
		} else {
			o.Options[f.label] = f.value()
		}
	}
	return o
}

// says puts an order into words.
func (o Order) says() string {
	s := o.Kind + " on " + strings.Join(o.Targets, " and ")
	for _, k := range slices.Sorted(maps.Keys(o.Options)) {
		s += ", " + k + " " + o.Options[k]
	}
	return s
}

func (d *breakDialog) errand() *errand {
	o, t, faults := d.order(), d.trainer, d.faults
	if o.Kind != heal {
		says := o.says()
		for i, name := range o.Targets {
			o.Targets[i] = d.mask.real(name)
		}
		return &errand{says: "set " + says, do: func(ctx context.Context) error { return t.Break(ctx, o) }}
	}
	id := o.Targets[0]
	if id != healAll {
		return &errand{says: "healed fault " + id, do: func(ctx context.Context) error { return t.Heal(ctx, id) }}
	}
	return &errand{says: "healed " + counted(len(faults), "fault", "faults"), do: func(ctx context.Context) error {
		for _, f := range faults {
			if err := t.Heal(ctx, f.ID); err != nil {
				return fmt.Errorf("fault %s: %w", f.ID, err)
			}
		}
		return nil
	}}
}
