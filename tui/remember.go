package tui

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	tea "charm.land/bubbletea/v2"
)

// A Memory keeps what somebody chose on the screens from one session to the next, in parts that have names. Its methods may be called from any goroutine.
type Memory interface {
	// Recall fills v with what was kept as a part, as [encoding/json] does, and leaves it as it is if nothing was.
	Recall(part string, v any) error
	// Keep keeps v as a part, and leaves all others as they are.
	Keep(part string, v any) error
}

// linksPart is the part of a memory that holds a linksChoice.
const linksPart = "links"

// A linksChoice is how somebody wants the table of links.
type linksChoice struct {
	Columns []string `json:"columns,omitempty"` // none: those that are shown by themselves
	Sort    string   `json:"sort,omitempty"`
	Turned  bool     `json:"turned,omitempty"`
	Wide    bool     `json:"wide,omitempty"`
}

func (c linksChoice) equal(o linksChoice) bool {
	return slices.Equal(c.Columns, o.Columns) && c.Sort == o.Sort && c.Turned == o.Turned && c.Wide == o.Wide
}

// check says what is wrong with a choice: a file can say anything.
func (c linksChoice) check() error {
	names := linkFields()
	for i, n := range c.Columns {
		switch {
		case !slices.Contains(names, n):
			return fmt.Errorf("no column %q; columns are %s", n, strings.Join(names, ", "))
		case slices.Contains(c.Columns[:i], n):
			return fmt.Errorf("column %q is there twice", n)
		}
	}
	if c.Sort != "" && !slices.Contains(names, c.Sort) {
		return fmt.Errorf("no column %q to sort by; columns are %s", c.Sort, strings.Join(names, ", "))
	}
	return nil
}

// choice is how the table of links is now.
func (l *linksScreen) choice() linksChoice {
	return linksChoice{Columns: l.chosen, Sort: linkFields()[l.by], Turned: l.turned, Wide: l.wide}
}

// choose makes the table of links as it was.
func (l *linksScreen) choose(c linksChoice) {
	l.chosen, l.by, l.turned, l.wide = c.Columns, max(slices.Index(linkFields(), c.Sort), 0), c.Turned, c.Wide
}

// A remembering is what of the screens is in a memory.
type remembering struct {
	in      Memory // nil: nothing is kept
	links   linksChoice
	keeping bool // a command is about it
	asked   int  // how often something was to be kept

	mu   sync.Mutex // guards done, and the order of what is kept
	done int        // the newest that was
}

// A keptMsg is the end of keeping.
type keptMsg struct{ err error }

// recall puts the screens as they were. What cannot be understood is told once, and left out.
func (r *remembering) recall(in Memory, l *linksScreen) error {
	r.in, r.links = in, l.choice()
	if in == nil {
		return nil
	}
	var c linksChoice
	err := in.Recall(linksPart, &c)
	if err == nil {
		if err = c.check(); err != nil {
			err = fmt.Errorf("what was kept of the links: %w", err)
		}
	}
	if err != nil {
		return fmt.Errorf("ignored: %w", err)
	}
	l.choose(c)
	r.links = l.choice()
	return nil
}

// keep returns the command that keeps what has changed, nil if there is nothing to do, or as long as one is under way.
func (r *remembering) keep(l *linksScreen) tea.Cmd {
	c := l.choice()
	if r.in == nil || r.keeping || c.equal(r.links) {
		return nil
	}
	c.Columns = slices.Clone(c.Columns)
	r.asked++
	r.links, r.keeping = c, true
	turn := r.asked
	return func() tea.Msg {
		r.mu.Lock()
		defer r.mu.Unlock()
		if turn <= r.done { // the end of the program overtook it
			return keptMsg{}
		}
		r.done = turn
		return keptMsg{r.in.Keep(linksPart, c)}
	}
}

// finish keeps what the last key changed. A command that was not run any more has lost nothing: all that it would have kept is kept here.
func (r *remembering) finish(l *linksScreen) error {
	if r.keeping {
		r.keeping, r.links = false, linksChoice{}
	}
	if cmd := r.keep(l); cmd != nil {
		return cmd().(keptMsg).err
	}
	return nil
}
