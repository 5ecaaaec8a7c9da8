package tui

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// A Round is one fault of a drill: from when it was set until it was healed, and who named it in that time.
type Round struct {
	ID   string // of the fault
	Text string // the truth
	// About is the name of what is broken, for the screens that show it; empty if there is more than one.
	About string
	// Trap is true of what looks like a fault and is none: to name anything is wrong.
	Trap   bool
	Set    time.Time
	Healed time.Time // zero as long as it is set
	// Program is what the diagnosis made of it, You what whoever practises did.
	Program, You Verdict
}

// A Verdict is how somebody did in a round.
type Verdict struct {
	// Named is what was named last; empty as long as nothing was.
	Named string
	Right bool
	// After is how long after the fault was set the first right name was said, and Wrong how many wrong ones were.
	After time.Duration
	Wrong int
}

// short says in fewer words how it went.
func (v *Verdict) short(r *Round) string {
	switch {
	case v.Right && r.Trap:
		return "right"
	case v.Right && v.Wrong > 0:
		return fmt.Sprintf("%.1f s, %d wrong", v.After.Seconds(), v.Wrong)
	case v.Right:
		return fmt.Sprintf("%.1f s", v.After.Seconds())
	case v.Wrong > 0:
		return fmt.Sprintf("%d wrong", v.Wrong)
	}
	return "nothing"
}

// words says how it went.
func (v *Verdict) words(r *Round) string {
	switch {
	case v.Right && r.Trap:
		return "right: nothing"
	case v.Right:
		text := "right in " + span5(v.After)
		if v.After < 100*time.Second {
			text = fmt.Sprintf("right in %.1f s", v.After.Seconds())
		}
		if v.Wrong > 0 {
			text += fmt.Sprintf(", %d wrong", v.Wrong)
		}
		return text
	case v.Wrong > 0:
		return "wrong, " + counted(v.Wrong, "time", "times")
	case r.Healed.IsZero():
		return "nothing yet"
	}
	return "nothing"
}

func (v *Verdict) style() style {
	switch {
	case v.Right:
		return good
	case v.Wrong > 0:
		return bad
	}
	return dim
}

// The drill screen shows what is broken on purpose, once somebody asks for it, and how the rounds went.
type drillScreen struct {
	dated
	trainer Trainer
	reveal  bool
}

func newDrillScreen(k *keyMap, trainer Trainer) *drillScreen {
	d := &drillScreen{dated: dated{keys: k}, trainer: trainer}
	d.row = func(s *Snapshot, at int) (datedRow, bool) {
		if at >= len(s.Rounds) {
			return datedRow{}, false
		}
		r := &s.Rounds[at]
		x := datedRow{when: r.Set, copy: fmt.Sprintf("round %s: %s, set %s; program %s; you %s", r.ID, d.text(r), r.Set.UTC().Format(time.RFC3339), r.Program.words(r), r.You.words(r))}
		if d.open(r) { // else enter would tell
			x.about = r.About
		}
		return x, true
	}
	return d
}

func (d *drillScreen) title() string { return "Drill" }

// open reports whether the truth of a round may be shown: when it is over, or when somebody gave up.
func (d *drillScreen) open(r *Round) bool {
	return d.reveal || !r.Healed.IsZero() || r.You.Right && !r.Trap
}

func (d *drillScreen) text(r *Round) string {
	if !d.open(r) {
		return "(hidden)"
	}
	return r.Text
}

func (d *drillScreen) refresh(s *Snapshot, still bool) {
	var next []rowRef
	for i := range s.Rounds {
		r := &s.Rounds[len(s.Rounds)-1-i]
		text := strings.ToLower(d.text(r) + "\n" + r.Program.words(r) + "\n" + r.You.words(r))
		if len(d.filter.terms) == 0 || d.filter.match(text, func(field string) (float64, bool) {
			if field == "you" {
				return r.You.After.Seconds(), r.You.Right
			}
			return r.Program.After.Seconds(), r.Program.Right
		}) {
			next = append(next, rowRef{r.ID, len(s.Rounds) - 1 - i})
		}
	}
	d.rows.update(next, still)
}

func (d *drillScreen) setFilter(query string, s *Snapshot) {
	d.filter = parseFilter(query, []string{"program", "you"})
	d.refresh(s, false)
}

func (d *drillScreen) draw(w, h int, s *Snapshot) page {
	if d.trainer == nil && len(s.Rounds) == 0 {
		return text(append([]line{line{}.gap(1).add(strong, "No drill here")},
			labelled("", 1, dim, "whichlink without a fabric brings one up, and so does whichlink --drill --fabric FILE: there links can be broken, and nothing else is touched", w-1)...)...).fill(w, h)
	}
	if w < stackFrom || h < 16 {
		return d.table(w, h, s).fill(w, h)
	}
	set := d.broken(s, w)
	const score = 6
	top := min(max(len(set)+2, score), h/2)
	out := page{y: -1}
	if w >= panesFrom {
		left := w / 2
		out = frame("Broken now", "", left, top, text(set...)).beside(frame("Score", "", w-left, top, text(scores(s.Rounds)...)), left)
	} else {
		out = frame("Broken now", "", w, top, text(set...)).below(frame("Score", "", w, score, text(scores(s.Rounds)...)))
	}
	rest := h - len(out.lines)
	note := counted(len(s.Rounds), "round", "rounds")
	if d.filter.query != "" {
		note = fmt.Sprintf("filter %q: %d of %d", d.filter.query, len(d.rows.order), len(s.Rounds))
	}
	return out.below(frame("Rounds, the newest first", note, w, rest, d.table(w-4, rest-2, s))).fill(w, h)
}

// broken lists the faults that are set, and what can be done.
func (d *drillScreen) broken(s *Snapshot, w int) []line {
	var out []line
	for i := range s.Rounds {
		if r := &s.Rounds[i]; r.Healed.IsZero() {
			out = append(out, line{}.left(dim, "fault "+r.ID, 10).left(dim, span5(s.Now.Sub(r.Set)), 6).add(warn, elide(clean(d.text(r)), max(w/2-24, 8))))
		}
	}
	if len(out) == 0 {
		out = append(out, line{}.add(plain, "nothing"))
	}
	k := d.keys
	keys := append(hint(k.Break, "break, heal"), hint(k.Answer, "answer")...)
	if !d.reveal {
		keys = append(keys, hint(k.Reveal, "give up")...)
	}
	return append(out, nil, keys)
}

// scores add the rounds up.
func scores(rounds []Round) []line {
	line1 := func(who string, of func(*Round) *Verdict) line {
		right, wrong, over := 0, 0, 0
		var took []time.Duration
		for i := range rounds {
			r := &rounds[i]
			v := of(r)
			wrong += v.Wrong
			if !r.Healed.IsZero() || v.Right {
				over++
			}
			if v.Right {
				right++
				if !r.Trap {
					took = append(took, v.After)
				}
			}
		}
		l := line{}.left(dim, who, 9).add(strong, fmt.Sprintf("%d of %d", right, over)).add(plain, fmt.Sprintf(" right, %d wrong", wrong))
		if len(took) > 0 {
			slices.Sort(took)
			l = l.add(plain, fmt.Sprintf(", median %.1f s", took[len(took)/2].Seconds()))
		}
		return l
	}
	return []line{
		line1("program", func(r *Round) *Verdict { return &r.Program }),
		line1("you", func(r *Round) *Verdict { return &r.You }),
		nil,
		line{}.add(dim, "an answer: a link, arc, switch or nothing"),
	}
}

func (d *drillScreen) table(w, h int, s *Snapshot) page {
	none := "no round yet: " + d.keys.Break.Help().Key + " breaks something"
	if len(s.Rounds) > 0 {
		none = d.keys.clears("round")
	}
	verdict, words := 24, (*Verdict).words
	if w < 80 {
		verdict, words = 14, (*Verdict).short
	}
	wide := w >= 60
	what := max(w-2-4-2*(verdict+1), 4)
	if wide {
		what = max(what-10, 4)
	}
	heads := line{}.gap(2).right(dim, "#", 3).gap(1)
	if wide {
		heads = heads.left(dim, "set", 10)
	}
	heads = heads.left(dim, "program", verdict).gap(1).left(dim, "you", verdict).gap(1).left(dim, "what was broken", what)
	return d.rows.table(w, h, heads, none, func(at int, mark string) line {
		if at >= len(s.Rounds) {
			return nil
		}
		r := &s.Rounds[at]
		row := line{}.left(plain, mark, 2).right(plain, r.ID, 3).gap(1)
		if wide {
			row = row.left(dim, s.at(r.Set, seconds), 10)
		}
		return row.left(r.Program.style(), words(&r.Program, r), verdict).gap(1).left(r.You.style(), words(&r.You, r), verdict).gap(1).left(plain, d.text(r), what)
	})
}
