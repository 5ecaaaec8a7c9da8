package tui

import (
	"fmt"
	"slices"
)

// dialogWidth and dialogHeight are what the dialog takes where there is room; it is of one size whatever it shows.
const (
	dialogWidth  = 68
	dialogHeight = 14
	formLabel    = 10
)

// draw returns the dialog in at most w x h. The row that has the focus is always in sight.
func (d *breakDialog) draw(w, h int) page {
	return boxed("Break the drill", d.note(), w, h, func(w int) page {
		if d.asking {
			return d.question(w)
		}
		return d.form(w)
	})
}

func (d *breakDialog) note() string {
	if len(d.faults) == 0 {
		return "nothing broken"
	}
	return counted(len(d.faults), "fault", "faults") + " active"
}

func (d *breakDialog) form(w int) page {
	k := d.kinds[d.kind]
	room := max(w-formLabel-2, 4)
	p := page{y: -1}
	mark := func(i int) line {
		if i == d.focus {
			return line{}.add(strong, "> ")
		}
		return line{}.gap(2)
	}
	l := mark(0).left(dim, "fault", formLabel)
	l = l.add(strong, k.Name)
	if d.focus == 0 {
		p.x, p.y = formLabel+2, 0
		l = l.add(dim, fmt.Sprintf("  < %d of %d >", d.kind+1, len(d.kinds)))
	}
	p.lines = append(p.lines, l)
	for _, r := range wrap(k.Does, room) {
		p.lines = append(p.lines, line{}.gap(formLabel+2).add(dim, r))
	}
	for i := range d.fields {
		f := &d.fields[i]
		focused := d.focus == i+1
		l := mark(i+1).left(dim, f.label, formLabel)
		value, x := f.input.shown(room)
		if focused {
			p.x, p.y = l.width()+x, len(p.lines)
		}
		if value == "" {
			l = l.add(dim, elide(f.emptyMeans(), room))
		} else {
			l = l.add(plain, value)
		}
		p.lines = append(p.lines, l)
		if focused && f.target != "" {
			p.lines = append(p.lines, d.choices(f, room)...)
		}
	}
	if d.problem != "" {
		p.lines = append(p.lines, nil, line{}.gap(2).add(warn, "! "+d.problem))
	}
	return p
}

func (f *field) emptyMeans() string {
	if f.target == targetFault {
		return "all of them"
	}
	if f.target != "" {
		return "random: you will not be told"
	}
	return ""
}

// choices lists candidates around the picked one. What a fault is stays hidden until it was asked for.
func (d *breakDialog) choices(f *field, room int) []line {
	all := d.candidates(f)
	first, end := window(len(all), max(f.pick, 0), candidateLines)
	var out []line
	for i := first; i < end; i++ {
		name := shorten(all[i], room)
		if f.target == targetFault && i < len(all) {
			name = elide(d.faultText(all[i]), room)
		}
		l := line{}.gap(formLabel + 2)
		if i == f.pick {
			out = append(out, l.add(chosen, name))
		} else {
			out = append(out, l.add(dim, name))
		}
	}
	if more := len(all) - end; more > 0 {
		out = append(out, line{}.gap(formLabel+2).add(dim, count(more)+" more"))
	}
	return out
}

func (d *breakDialog) faultText(id string) string {
	i := slices.IndexFunc(d.faults, func(f Fault) bool { return f.ID == id })
	switch {
	case i < 0:
		return id
	case d.reveal:
		return id + "  " + d.faults[i].Text
	}
	return id + "  (hidden)"
}

// hints names the keys of the dialog.
func (d *breakDialog) hints() []line {
	k := d.keys
	if d.asking {
		return []line{hint(k.Do, "do it"), hint(k.Cancel, "back")}
	}
	hints := []line{hint(k.Do, "ask"), hint(k.NextField, "next field"), hint(k.Cancel, "close")}
	switch {
	case d.focus == 0:
		hints = append(hints, hint(k.ChooseDown, "next fault"))
	case d.fields[d.focus-1].target != "":
		hints = append(hints, hint(k.ChooseDown, "next name"))
	}
	return hints
}

// question says what will happen and asks.
func (d *breakDialog) question(w int) page {
	o := d.order()
	what := fmt.Sprintf("Set %s?", o.says())
	if o.Kind == heal {
		what = fmt.Sprintf("Heal fault %s?", o.Targets[0])
		if o.Targets[0] == healAll {
			what = fmt.Sprintf("Heal %s?", counted(len(d.faults), "fault", "faults"))
		}
	}
	return asking(what, []string{"It touches the drill on this machine alone, and no other network."}, d.hints(), w)
}
