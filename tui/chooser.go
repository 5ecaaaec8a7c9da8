package tui

import (
	"slices"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

// A chooser says which columns a table has, and in what order. What is chosen works at once, and is remembered.
type chooser struct {
	keys  *keyMap
	links *linksScreen
	at    int
	names []string // all columns, those that are shown first
	shown int      // how many of names are shown
}

func newChooser(k *keyMap, l *linksScreen) *chooser {
	c := &chooser{keys: k, links: l}
	at := l.wanted
	if l.chosen != nil { // wide columns are not chosen by being seen
		at = l.picked
	}
	for _, x := range at() {
		c.names = append(c.names, x.name)
	}
	c.shown = len(c.names)
	for _, n := range linkFields() {
		if !slices.Contains(c.names, n) {
			c.names = append(c.names, n)
		}
	}
	return c
}

func (c *chooser) handle(msg tea.KeyPressMsg) (open bool, e *errand) {
	k := c.keys
	switch {
	case key.Matches(msg, k.Do, k.Cancel):
		return false, nil
	case key.Matches(msg, k.ChooseDown):
		c.at = min(c.at+1, len(c.names)-1)
	case key.Matches(msg, k.ChooseUp):
		c.at = max(c.at-1, 0)
	case key.Matches(msg, k.Toggle):
		c.toggle()
	case key.Matches(msg, k.Earlier):
		c.swap(c.at - 1)
	case key.Matches(msg, k.Later):
		c.swap(c.at + 1)
	}
	return true, nil
}

// take hands over what was chosen.
func (c *chooser) take() { c.links.chosen = slices.Clone(c.names[:c.shown]) }

// toggle shows or hides the column under the cursor. The last one stays.
func (c *chooser) toggle() {
	name := c.names[c.at]
	c.names = slices.Delete(c.names, c.at, c.at+1)
	switch {
	case c.at >= c.shown:
		c.names = slices.Insert(c.names, c.shown, name)
		c.at = c.shown
		c.shown++
	case c.shown > 1:
		c.shown--
		c.names = slices.Insert(c.names, c.shown, name)
	default:
		c.names = slices.Insert(c.names, 0, name)
	}
	c.take()
}

// swap moves a column that is shown to the place of another one.
func (c *chooser) swap(to int) {
	if c.at < c.shown && to >= 0 && to < c.shown {
		c.names[c.at], c.names[to] = c.names[to], c.names[c.at]
		c.at = to
		c.take()
	}
}

func (c *chooser) paste(string) {}

func (c *chooser) hints() []line {
	k := c.keys
	return []line{hint(k.Toggle, "show, hide"), hint(k.Earlier, "to the left"), hint(k.Later, "to the right"), hint(k.Cancel, "close")}
}

func (c *chooser) draw(w, h int) page {
	return boxed("Columns", "", w, h, func(w int) page {
		p := page{y: -1}
		for i, n := range c.names {
			box := "[ ] "
			if i < c.shown {
				box = "[x] "
			}
			l := line{}.gap(2).add(plain, box).left(plain, n, 12)
			if i == c.at {
				p.x, p.y = 2, len(p.lines)
				l = l.fit(min(w, 20)).restyled(chosen)
			}
			p.lines = append(p.lines, l)
		}
		return p
	})
}
