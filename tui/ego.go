package tui

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"whichlink/graphs"
)

const (
	// treeHops is up to how many hops what lies around a link can be drawn as a tree; mostHops is how far it can be seen: random graphs have a diameter of
	// three or four.
	treeHops = 2
	mostHops = 4
	// roomy is the height from which on blank lines stand between the parts of what lies around a link.
	roomy = 14
)

// An ego is what was drawn around a link. To find the worst of all that lies two hops away takes longer than a frame may.
type ego struct {
	focus  graphs.LinkID
	from   *Snapshot
	layer  int
	radius int
	size   [2]int
	page   page

	// rings are the links by how far they are, which is the same as long as focus and radius are.
	rings    [][]graphs.LinkID
	ringsOf  graphs.LinkID
	ringsFor *graphs.Fabric
}

// A spoke is a link of the ego graph, with the node at its far end.
type spoke struct {
	link graphs.LinkID
	to   graphs.NodeID
	rank float64
}

// spokes are the links of a switch, the worst first.
func (m *mapScreen) spokes(n graphs.NodeID, s *Snapshot, but graphs.LinkID) []spoke {
	l := layers()[m.layer]
	f := s.Picture.Fabric
	var out []spoke
	for _, a := range f.Out(n) {
		if a.Link() != but && !f.Node(f.Head(a)).IsHost() {
			out = append(out, spoke{a.Link(), f.Head(a), l.rank(l.of(s.Picture, a.Link()))})
		}
	}
	slices.SortStableFunc(out, func(a, b spoke) int {
		return cmp.Or(cmp.Compare(b.rank, a.rank), cmp.Compare(f.NodeName(a.to), f.NodeName(b.to)))
	})
	return out
}

// egoPage is what lies around the link under the cursor, drawn anew only if it may have changed.
func (m *mapScreen) egoPage(w, h int, s *Snapshot) page {
	a := &m.around
	if a.from != s || a.focus != m.focus || a.radius != m.radius || a.layer != m.layer || a.size != [2]int{w, h} {
		a.from, a.focus, a.radius, a.layer, a.size = s, m.focus, m.radius, m.layer, [2]int{w, h}
		a.page = m.drawEgo(w, h, s)
	}
	return a.page
}

// drawEgo draws what lies around the link under the cursor, so many hops from its ends: if the other links of an end are clean, it is not the switch. Two
// hops are drawn as a tree; of more it says ring by ring what is worst.
func (m *mapScreen) drawEgo(w, h int, s *Snapshot) page {
	f := s.Picture.Fabric
	if m.focus == graphs.None {
		return frame("Around the link", "", w, h, text(line{}.add(dim, "no link here: move to one")))
	}
	l := layers()[m.layer]
	v := l.of(s.Picture, m.focus)
	g, st := l.glyph(v)
	says := "? dark"
	if !math.IsNaN(v) {
		says = l.words(v)
	}
	ends := [2]graphs.NodeID{f.Tail(m.focus.Forward()), f.Head(m.focus.Forward())}
	name := max((w-4-7-width(says))/2, 4) // of an end: between them stands what the link is, behind them what is known of it
	lines := []line{line{}.add(strong, elide(clean(f.NodeName(ends[0])), name)).add(st, " ="+string(g)+"= ").add(strong, elide(clean(f.NodeName(ends[1])), name)).gap(2).add(st, says)}
	if h >= roomy {
		lines = append(lines, nil)
	}
	if m.radius > treeHops {
		lines = append(lines, m.ringLines(ends, w-4, h-2-len(lines), s)...)
	} else {
		lines = append(lines, m.treeLines(ends, w-4, h-2-len(lines), s)...)
	}
	lines = lines[:min(len(lines), max(h-2, 0))]
	return frame("Around the link, "+counted(m.radius, "hop", "hops"), "layer "+l.name, w, h, text(lines...))
}

// treeLines are the links at both ends, and with two hops those behind them.
func (m *mapScreen) treeLines(ends [2]graphs.NodeID, inner, room int, s *Snapshot) []line {
	f := s.Picture.Fabric
	l := layers()[m.layer]
	var lines []line
	for i, n := range ends {
		all := m.spokes(n, s, m.focus)
		raised := 0
		for _, x := range all {
			if x.rank >= l.steps[0] {
				raised++
			}
		}
		lines = append(lines, line{}.add(strong, f.NodeName(n)).add(dim, fmt.Sprintf("  %s, %d raised", counted(len(all), "other link", "other links"), raised)))
		dense := room < roomy-4 // each end has its half, and its head alone says how many links there are
		most := max(room/2-3, 1)
		if dense {
			most = room/2 - 1
		}
		if i == 1 {
			most = max(room-len(lines), 0)
		}
		for j, x := range all {
			if dense && j >= most {
				break
			}
			if !dense && j >= most-1 && len(all) > most {
				lines = append(lines, line{}.ink(dim, "└─ ").add(dim, count(len(all)-j)+" more"))
				break
			}
			lines = append(lines, m.drawSpoke(x, &l, j == len(all)-1 || dense && j == most-1, inner, s))
		}
		if i == 0 && !dense {
			lines = append(lines, nil)
		}
	}
	return lines
}

func (m *mapScreen) drawSpoke(x spoke, l *layer, last bool, w int, s *Snapshot) line {
	f := s.Picture.Fabric
	branch := "├─"
	if last {
		branch = "└─"
	}
	g, st := l.glyph(l.of(s.Picture, x.link))
	out := line{}.ink(dim, branch).add(st, string(g)).ink(dim, "─ ").left(plain, f.NodeName(x.to), 14)
	if m.radius < 2 {
		return out.add(dim, shorten(f.LinkName(x.link), max(w-out.width(), 4)))
	}
	further := m.spokes(x.to, s, x.link)
	for i, y := range further {
		name := " " + elide(clean(f.NodeName(y.to)), 14)
		more := fmt.Sprintf(" %d more", len(further)-i)
		if i >= 2 || out.width()+3+width(name)+len(more) > w {
			return out.add(dim, more)
		}
		g, st := l.glyph(l.of(s.Picture, y.link))
		out = out.ink(dim, " ─").add(st, string(g)).add(plain, name)
	}
	return out
}

// A ranked link is one of a ring.
type ranked struct {
	link graphs.LinkID
	rank float64
}

// ringLines say ring by ring how many links there are, how many of them are raised or not known, and which are worst.
func (m *mapScreen) ringLines(ends [2]graphs.NodeID, w, room int, s *Snapshot) []line {
	f, l := s.Picture.Fabric, layers()[m.layer]
	a := &m.around
	if a.rings == nil || a.ringsOf != m.focus || a.ringsFor != f {
		a.rings, a.ringsOf, a.ringsFor = ringsAround(f, m.focus), m.focus, f
	}
	var lines []line
	if n, hops := detours(f, m.focus); n > 0 {
		lines = append(lines, line{}.add(plain, fmt.Sprintf("%s of %d hops around it", counted(n, "way", "ways"), hops)))
	} else {
		lines = append(lines, line{}.add(warn, "no way around it"))
	}
	if room >= roomy-4 {
		lines = append(lines, nil)
	}
	rings := a.rings[:min(m.radius, len(a.rings))]
	for i, ring := range rings {
		raised, dark := 0, 0
		var list []ranked // what is of interest
		for _, x := range ring {
			v := l.of(s.Picture, x)
			if math.IsNaN(v) {
				dark++
			} else if v >= l.steps[0] {
				raised++
			} else {
				continue
			}
			list = append(list, ranked{x, l.rank(v)})
		}
		head := line{}.add(strong, fmt.Sprintf("hop %d", i+1)).add(dim, fmt.Sprintf("  %s, %d raised", counted(len(ring), "link", "links"), raised))
		if dark > 0 {
			head = head.add(warn, fmt.Sprintf(", ? %d", dark))
		}
		lines = append(lines, head)
		slices.SortFunc(list, func(a, b ranked) int { return cmp.Or(cmp.Compare(b.rank, a.rank), cmp.Compare(a.link, b.link)) })
		// What room is left is shared out among the rings that are to come.
		most := max((room-len(lines))/(len(rings)-i)-1, 0)
		for _, x := range list[:min(most, len(list))] {
			g, st := l.glyph(l.of(s.Picture, x.link))
			lines = append(lines, line{}.gap(2).add(st, string(g)).gap(1).add(plain, shorten(f.LinkName(x.link), max(w-4, 4))))
		}
		if n := len(list) - most; n > 0 && most > 0 {
			lines[len(lines)-1] = lines[len(lines)-1].add(dim, fmt.Sprintf(" and %d more", n))
		}
	}
	return lines
}

// ringsAround are the links between switches by how many hops they are from a link: the first ring are those at its ends.
func ringsAround(f *graphs.Fabric, focus graphs.LinkID) [][]graphs.LinkID {
	seen := make([]bool, f.NumLinks())
	seen[focus] = true
	reached := make([]bool, f.NumNodes())
	next := []graphs.NodeID{f.Tail(focus.Forward()), f.Head(focus.Forward())}
	var rings [][]graphs.LinkID
	for range mostHops {
		at := next
		next = nil
		var ring []graphs.LinkID
		for _, n := range at {
			reached[n] = true
		}
		for _, n := range at {
			for _, a := range f.Out(n) {
				if to := f.Head(a); !seen[a.Link()] && !f.Node(to).IsHost() {
					seen[a.Link()] = true
					ring = append(ring, a.Link())
					if !reached[to] {
						reached[to] = true
						next = append(next, to)
					}
				}
			}
		}
		rings = append(rings, ring)
	}
	return rings
}

// detours counts the shortest ways between the ends of a link that do not use it, and their length in hops; 0 if there is none.
func detours(f *graphs.Fabric, without graphs.LinkID) (n, hops int) {
	from, to := f.Tail(without.Forward()), f.Head(without.Forward())
	ways := map[graphs.NodeID]int{from: 1}
	depth := map[graphs.NodeID]int{from: 0}
	for at := []graphs.NodeID{from}; len(at) > 0 && ways[to] == 0; {
		hops++
		var next []graphs.NodeID
		for _, x := range at {
			for _, a := range f.Out(x) {
				y := f.Head(a)
				if a.Link() == without || f.Node(y).IsHost() {
					continue
				}
				if d, ok := depth[y]; !ok {
					depth[y] = hops
					next = append(next, y)
				} else if d != hops {
					continue
				}
				ways[y] += ways[x]
			}
		}
		at = next
	}
	return ways[to], hops
}
