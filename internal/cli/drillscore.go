package cli

import (
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"whichlink/graphs"
	"whichlink/internal/diagnose"
	"whichlink/internal/lab"
	"whichlink/tui"
)

// lingering is for how long a healed fault may still be named without being wrong: what was measured while it was set counts for so long.
const lingering = drillHorizon + 5*time.Second

// A scoreboard keeps the rounds of a drill: what was set and healed, and when the program and whoever practises named it. Its methods are safe for
// concurrent use.
type scoreboard struct {
	fabric *graphs.Fabric

	mu     sync.Mutex // guards all below
	rounds []*round
	named  map[string]bool // what the newest diagnosis names
	judged *diagnose.Diagnosis
}

// A round is a [tui.Round] with what only the judge may know.
type round struct {
	tui.Round
	subjects []string
	kind     lab.Kind
}

func newScoreboard(f *graphs.Fabric) *scoreboard {
	return &scoreboard{fabric: f, named: map[string]bool{}}
}

// follow takes in which faults are set at a moment, and what the newest diagnosis names.
func (b *scoreboard) follow(truth []lab.ActiveFault, d *diagnose.Diagnosis, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	active := map[string]bool{}
	for i := range truth {
		t := &truth[i]
		id := strconv.Itoa(int(t.ID))
		active[id] = true
		if t.Kind == lab.Load || slices.ContainsFunc(b.rounds, func(r *round) bool { return r.ID == id }) {
			continue
		}
		r := &round{Round: tui.Round{ID: id, Text: t.Text, Trap: t.Kind == lab.Police || t.Kind == lab.Mute, Set: t.Since}, subjects: t.Subjects, kind: t.Kind}
		if r.Set.IsZero() {
			r.Set = now
		}
		if len(t.Subjects) == 1 {
			r.About = t.Subjects[0]
		}
		b.rounds = append(b.rounds, r)
	}
	for _, r := range b.rounds {
		if r.Healed.IsZero() && !active[r.ID] {
			r.Healed = now
			if r.Trap { // who named nothing was right
				r.Program.Right = r.Program.Wrong == 0
			}
		}
	}
	b.judge(d)
}

// judge notes which suspects a diagnosis names that the one before did not.
func (b *scoreboard) judge(d *diagnose.Diagnosis) {
	if d == nil || d == b.judged {
		return
	}
	b.judged = d
	named := map[string]bool{}
	for i := range d.Suspects {
		x := &d.Suspects[i]
		if x.Probability < diagnose.Named {
			break
		}
		named[x.ID] = true
		// What was named before a fault was set, and still is, says nothing of that fault.
		if !b.named[x.ID] {
			b.answer(x.ID, d.To, func(r *round) *tui.Verdict { return &r.Program })
		}
	}
	b.named = named
}

// answer notes a name, and returns the round of which it is true; nil if there is none.
func (b *scoreboard) answer(name string, at time.Time, of func(*round) *tui.Verdict) *round {
	for _, r := range b.rounds {
		if at.Before(r.Set) || !r.Healed.IsZero() && at.Sub(r.Healed) > lingering || r.Trap || !b.means(r, name) {
			continue
		}
		if v := of(r); r.Healed.IsZero() {
			v.Named = name
			if !v.Right {
				v.Right, v.After = true, at.Sub(r.Set)
			}
		}
		return r
	}
	for _, r := range b.rounds {
		if v := of(r); !at.Before(r.Set) && r.Healed.IsZero() && !v.Right {
			v.Named = name
			v.Wrong++
		}
	}
	return nil
}

// means reports whether a name is what a round is about. Of an arc its link will do, and of a link one of its directions: they are the same cable to
// whoever walks to it.
func (b *scoreboard) means(r *round, name string) bool {
	for _, subject := range r.subjects {
		if subject == name {
			return true
		}
		if l, ok := b.link(subject); ok {
			if m, ok := b.link(name); ok && l == m {
				return true
			}
		}
	}
	return false
}

func (b *scoreboard) link(name string) (graphs.LinkID, bool) {
	if a, ok := b.fabric.ArcByName(name); ok {
		return a.Link(), true
	}
	if p, ok := b.fabric.PortByName(name); ok {
		if a := b.fabric.ArcFrom(p); a != graphs.None {
			return a.Link(), true
		}
	}
	return b.fabric.LinkByName(name)
}

// nothingBroken is the answer to a trap.
const nothingBroken = "nothing"

// learner takes an answer of whoever practises, and says how it was.
func (b *scoreboard) learner(name string, now time.Time) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	open := slices.ContainsFunc(b.rounds, func(r *round) bool { return r.Healed.IsZero() })
	if !open {
		return "", fmt.Errorf("nothing is broken on purpose: there is nothing to answer")
	}
	you := func(r *round) *tui.Verdict { return &r.You }
	if name == nothingBroken {
		return b.nothing(now), nil
	}
	if _, link := b.link(name); !link {
		if _, node := b.fabric.NodeByName(name); !node {
			return "", fmt.Errorf("no link, arc, port or node is called %q", graphs.Clean(name))
		}
	}
	if r := b.answer(name, now, you); r != nil {
		return fmt.Sprintf("right: %s, after %.1f s", graphs.Clean(name), r.You.After.Seconds()), nil
	}
	return "wrong: it is not " + graphs.Clean(name), nil
}

// nothing is right if all that is set are traps.
func (b *scoreboard) nothing(now time.Time) string {
	traps := true
	for _, r := range b.rounds {
		traps = traps && (r.Trap || !r.Healed.IsZero())
	}
	for _, r := range b.rounds {
		switch {
		case !r.Healed.IsZero() || r.You.Right:
		case traps:
			r.You = tui.Verdict{Named: nothingBroken, Right: true, After: now.Sub(r.Set), Wrong: r.You.Wrong}
		default:
			r.You.Named = nothingBroken
			r.You.Wrong++
		}
	}
	if traps {
		return "right: nothing is broken"
	}
	return "wrong: something is broken"
}

// list returns the rounds, the oldest first.
func (b *scoreboard) list() []tui.Round {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := make([]tui.Round, len(b.rounds))
	for i, r := range b.rounds {
		out[i] = r.Round
	}
	return out
}
