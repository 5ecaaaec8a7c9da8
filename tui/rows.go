package tui

import "slices"

// A rowRef points to a row of the snapshot: at is where it stands there, key what it is.
type rowRef struct {
	key string
	at  int
}

// rows is the order of a list and its cursor, which stays on what it was put on, wherever that moves.
type rows struct {
	order    []rowRef
	selected string
	// moved is true from the first time that somebody moved the cursor. Until then it stays on the first row.
	moved bool
	view  view
}

// update takes a new order. While a key was pressed a moment ago (still), rows that are there keep their places: nothing
// may slip away under a finger.
func (r *rows) update(next []rowRef, still bool) {
	was := r.cursor()
	if still {
		at := make(map[string]int, len(next))
		for _, n := range next {
			at[n.key] = n.at
		}
		kept := make([]rowRef, 0, len(next))
		for _, o := range r.order {
			if i, ok := at[o.key]; ok {
				kept = append(kept, rowRef{o.key, i})
				delete(at, o.key)
			}
		}
		for _, n := range next {
			if _, ok := at[n.key]; ok {
				kept = append(kept, n)
			}
		}
		next = kept
	}
	r.order = next
	switch {
	case len(next) == 0:
	case !r.moved && !still:
		r.selected = next[0].key
	case !slices.ContainsFunc(next, func(n rowRef) bool { return n.key == r.selected }):
		r.selected = next[min(was, len(next)-1)].key
	}
}

// cursor returns the index of the selected row in the order, 0 if there is none.
func (r *rows) cursor() int {
	return max(0, slices.IndexFunc(r.order, func(o rowRef) bool { return o.key == r.selected }))
}

// current returns the selected row.
func (r *rows) current() (rowRef, bool) {
	if len(r.order) == 0 {
		return rowRef{}, false
	}
	return r.order[r.cursor()], true
}

// move shifts the cursor by n rows, as far as there are any.
func (r *rows) move(n int) {
	r.moved, r.view.held = true, false
	if len(r.order) > 0 {
		r.selected = r.order[min(max(r.cursor()+n, 0), len(r.order)-1)].key
	}
}

// table draws heads, and as many rows as there is room for in w x h around the cursor. draw draws a row of the snapshot behind the mark of the cursor, and
// nothing for a row that is gone; none is what stands there if there are no rows.
func (r *rows) table(w, h int, heads line, none string, draw func(at int, mark string) line) page {
	out := page{y: -1}
	if h >= 3 {
		out.lines = append(out.lines, heads)
		h--
	}
	if len(r.order) == 0 {
		return out.below(text(line{}.gap(2).add(dim, elide(none, w-2))))
	}
	cursor := r.cursor()
	first, end := r.view.window(len(r.order), cursor, h)
	top, drawn := len(out.lines), make([]string, 0, max(end-first, 0))
	for i := first; i < end; i++ {
		mark := " "
		if i == cursor {
			mark = ">"
		}
		l := draw(r.order[i].at, mark)
		if l == nil {
			continue
		}
		if i == cursor {
			out.x, out.y = 0, len(out.lines)
			l = l.fit(w).restyled(chosen)
		}
		out.lines, drawn = append(out.lines, l), append(drawn, r.order[i].key)
	}
	return out.sensitive(spot{y: top, w: w, h: len(drawn), click: func(_, y int) string {
		r.selected, r.moved, r.view = drawn[y], true, view{true, first}
		return drawn[y]
	}})
}
