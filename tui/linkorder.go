package tui

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"whichlink/graphs"
	"whichlink/internal/diagnose"
)

// A linkRank is all links in the order of one column, those that are pinned first. It is made anew only when something of what it was made of is
// another one, so that a filter, which changes with every key, has nothing to sort.
type linkRank struct {
	picture  *diagnose.Picture
	findings *Findings
	pinned   map[graphs.LinkID]bool
	by       int
	turned   bool

	links []graphs.LinkID
}

// rank sorts all links, unless they are sorted.
func (l *linksScreen) rank(s *Snapshot) []graphs.LinkID {
	now := linkRank{picture: s.Picture, findings: s.Findings, pinned: s.pinned(), by: l.by, turned: l.turned}
	if r := &l.ranked; r.picture == now.picture && r.findings == now.findings && r.by == now.by && r.turned == now.turned && maps.Equal(r.pinned, now.pinned) {
		return r.links
	}
	type keyed struct {
		v  float64
		id graphs.LinkID
	}
	value := linkColumns()[l.by].value
	n := s.Picture.Fabric.NumLinks()
	rows := make([]keyed, 0, n)
	var r linkRow
	for id := range graphs.LinkID(n) {
		r = l.row(s, id)
		v := value(&r)
		if math.IsNaN(v) {
			v = -1 // what is not known comes after all that is
		}
		if !l.turned {
			v = -v
		}
		rows = append(rows, keyed{v, id})
	}
	slices.SortFunc(rows, func(a, b keyed) int {
		switch { // neither is NaN, which cmp.Compare would ask four times
		case a.v < b.v:
			return -1
		case a.v > b.v:
			return 1
		}
		return cmp.Compare(a.id, b.id)
	})
	now.links = make([]graphs.LinkID, 0, n)
	for _, x := range rows {
		if now.pinned[x.id] {
			now.links = append(now.links, x.id)
		}
	}
	for _, x := range rows {
		if !now.pinned[x.id] {
			now.links = append(now.links, x.id)
		}
	}
	l.ranked = now
	return now.links
}

// arrange sorts and filters, and puts the cursor back on its link.
func (l *linksScreen) arrange(s *Snapshot) {
	if l.order = l.rank(s); len(l.filter.terms) > 0 {
		l.order = l.passed(l.order, s)
	}
	l.place()
}

// passed are the links that the filter lets through, in the order in which they come.
func (l *linksScreen) passed(links []graphs.LinkID, s *Snapshot) []graphs.LinkID {
	if l.names == nil {
		l.names = lowerNames(s.Picture.Fabric)
	}
	columns := linkColumns()
	var r linkRow // one for all: columns are functions, for which each would be allocated
	number := func(field string) (float64, bool) {
		for i := range columns {
			if c := &columns[i]; c.name == field {
				v := c.value(&r)
				if inPercent(field) {
					v *= 100
				}
				return v, !math.IsNaN(v)
			}
		}
		return 0, false
	}
	out := make([]graphs.LinkID, 0, len(links))
	for _, id := range links {
		r = l.row(s, id)
		state := r.state()
		if state == "ok" {
			state = "" // no word finds what is nothing
		}
		if l.filter.match(l.names[id], number, state) {
			out = append(out, id)
		}
	}
	return out
}

// lowerNames returns the names of all links as a filter reads them: in lower case, and cut from one text. They are put together here and not taken from
// the fabric, which would make each of them thrice: this is done while somebody waits for the first letter of a filter.
func lowerNames(f *graphs.Fabric) []string {
	nodes := make([]string, f.NumNodes())
	for id := range nodes {
		nodes[id] = strings.ToLower(f.NodeName(graphs.NodeID(id)))
	}
	n := f.NumLinks()
	ends := make([]int, n)
	var all strings.Builder
	if n > 0 {
		all.Grow(n * (len(f.LinkName(graphs.LinkID(n-1))) + 1)) // names with the most digits come last
	}
	for id := range graphs.LinkID(n) {
		for i, p := range f.Link(id).Ends {
			if i > 0 {
				all.WriteString("--")
			}
			port := f.Port(p)
			all.WriteString(nodes[port.Node])
			all.WriteByte(':')
			all.WriteString(strings.ToLower(port.Name))
		}
		ends[id] = all.Len()
	}
	names, text, from := make([]string, n), all.String(), 0
	for i, to := range ends {
		names[i], from = text[from:to], to
	}
	return names
}

// place finds the cursor's link in the order.
func (l *linksScreen) place() {
	if !l.moved {
		l.at = 0
	} else if i := slices.Index(l.order, l.selected); i >= 0 {
		l.at = i
	}
	l.at = min(max(l.at, 0), max(len(l.order)-1, 0))
	if len(l.order) > 0 {
		l.selected = l.order[l.at]
	}
}
