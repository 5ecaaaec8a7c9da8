package tui

import (
	"fmt"
	"slices"
	"strings"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"whichlink/graphs"
)

// The map shows the whole fabric at once, a cell a link or the worst of several. A Clos is drawn as planes by pods and then pod by pod; any other
// fabric as who is next to whom, with what lies around one link beside it.
type mapScreen struct {
	keys   *keyMap
	layout *layout
	layer  int
	byName bool
	hosts  bool // the links of hosts are shown, not those between switches

	pane     int // 0 the main matrix, 1 the pod's
	row, col [2]int
	// focus is the link under the cursor, which is kept when the cells change.
	focus  graphs.LinkID
	moved  bool
	filter filter

	// What was filled in last, and from what.
	from   *Snapshot
	size   [2]int
	order  grid
	filled [2]*heat
	near   bool // what lies around the link is shown where a matrix has the place
	radius int  // of it, in hops
	around ego
}

func newMapScreen(k *keyMap) *mapScreen { return &mapScreen{keys: k, focus: graphs.None, radius: 2} }

func (m *mapScreen) title() string { return "Map" }

func (m *mapScreen) setFilter(query string, s *Snapshot) {
	m.filter = parseFilter(query, nil)
	if s.Picture == nil || query == "" {
		return
	}
	// On a map, to filter is to find: the cursor goes to the worst link whose name holds the words.
	l := layers()[m.layer]
	best, at := -1.0, graphs.LinkID(graphs.None)
	none := func(string) (float64, bool) { return 0, false }
	for id := range graphs.LinkID(s.Picture.Fabric.NumLinks()) {
		if v := l.rank(l.of(s.Picture, id)); v > best && m.filter.match(strings.ToLower(s.Picture.Fabric.LinkName(id)), none) {
			best, at = v, id
		}
	}
	if at == graphs.None {
		m.filter.problem = "no link of this name"
		return
	}
	m.jump(at)
}

func (m *mapScreen) filtered() *filter { return &m.filter }

// jump puts the cursor on a link.
func (m *mapScreen) jump(id graphs.LinkID) {
	m.focus, m.moved = id, true
	m.from = nil
	if on := m.ofHost(id); on != m.hosts && m.layout != nil {
		m.showHosts(on)
	}
}

func (m *mapScreen) refresh(s *Snapshot, still bool) {
	if s.Picture == nil {
		return
	}
	if m.layout == nil || m.layout.fabric != s.Picture.Fabric {
		m.layout = newLayout(s.Picture.Fabric)
		m.moved = false
		m.showHosts(m.hosts)
	}
	if !m.layout.clos && (!still || m.order.rowOf == nil) {
		m.arrange(s)
	}
	if !m.moved {
		m.focus = m.worstLink(s)
	}
}

// arrange orders the switches of a fabric without tiers.
func (m *mapScreen) arrange(s *Snapshot) {
	l := layers()[m.layer]
	f := s.Picture.Fabric
	worst := make([]float64, f.NumNodes())
	for id := range graphs.LinkID(f.NumLinks()) {
		v := l.rank(l.of(s.Picture, id))
		for _, n := range [2]graphs.NodeID{f.Tail(id.Forward()), f.Head(id.Forward())} {
			worst[n] = max(worst[n], v)
		}
	}
	m.order = m.layout.adjacency(worst, m.byName)
	m.from = nil
}

// worstLink is the worst link between switches by the layer that is shown.
func (m *mapScreen) worstLink(s *Snapshot) graphs.LinkID {
	l := layers()[m.layer]
	best, at := -1.0, graphs.LinkID(graphs.None)
	for id := range graphs.LinkID(s.Picture.Fabric.NumLinks()) {
		if s.Picture.Fabric.IsHostArc(id.Forward()) != m.hosts {
			continue
		}
		if v := l.rank(l.of(s.Picture, id)); v > best {
			best, at = v, id
		}
	}
	return at
}

func (m *mapScreen) handle(msg tea.KeyPressMsg, w, h int, s *Snapshot) screen {
	if s.Picture == nil {
		return nil
	}
	k := m.keys
	m.prepare(w, h, s)
	switch {
	case key.Matches(msg, k.Up):
		m.step(-1, 0)
	case key.Matches(msg, k.Down):
		m.step(1, 0)
	case key.Matches(msg, k.Left):
		m.step(0, -1)
	case key.Matches(msg, k.Right):
		m.step(0, 1)
	case key.Matches(msg, k.Layer):
		m.layer = (m.layer + 1) % len(layers())
		m.from = nil
		m.refresh(s, false)
	case key.Matches(msg, k.Order):
		m.byName = !m.byName
		m.refresh(s, false)
	case key.Matches(msg, k.Hosts):
		m.showHosts(!m.hosts)
		m.focus, m.moved = m.worstLink(s), false
	case key.Matches(msg, k.Pane):
		if m.filled[1] != nil && m.filled[1].rows > 0 {
			m.pane = 1 - m.pane
			m.take()
		}
	case key.Matches(msg, k.Around):
		m.near = !m.near
	case key.Matches(msg, k.Wider):
		m.widen(1)
	case key.Matches(msg, k.Closer):
		m.widen(-1)
	case key.Matches(msg, k.Next):
		m.suspect(1, s)
	case key.Matches(msg, k.Prev):
		m.suspect(-1, s)
	case key.Matches(msg, k.Open):
		if m.focus != graphs.None {
			return newLinkScreenOf(k, m.focus, s)
		}
	}
	return nil
}

// widen looks further around the link, or closer, and shows it.
func (m *mapScreen) widen(hops int) {
	if _, right := m.halves(m.size[0], m.size[1]); right == 0 || m.filled[1] != nil {
		m.near = true
	}
	m.radius = min(max(m.radius+hops, 1), mostHops)
}

// step moves the cursor by a cell of the pane that has it.
func (m *mapScreen) step(rows, cols int) {
	h := m.filled[m.pane]
	if h == nil || h.rows == 0 {
		return
	}
	m.moved = true
	m.row[m.pane] = min(max(m.row[m.pane]+rows, 0), h.rows-1)
	m.col[m.pane] = min(max(m.col[m.pane]+cols, 0), h.cols-1)
	m.take()
	if m.pane == 0 && m.layout.pods != nil && !m.hosts {
		m.from = nil // another pod
	}
}

// point puts the cursor on a cell of a pane, and says which link that is; empty if there is none.
func (m *mapScreen) point(pane, row, col int) string {
	m.pane, m.row[pane], m.col[pane] = pane, row, col
	m.step(0, 0)
	if m.focus == graphs.None {
		return ""
	}
	return m.layout.fabric.LinkName(m.focus)
}

// take puts the focus on the link of the cell under the cursor.
func (m *mapScreen) take() {
	if h := m.filled[m.pane]; h != nil && h.rows > 0 {
		m.focus = h.worst[m.row[m.pane]*h.cols+m.col[m.pane]]
	}
}

// suspect goes to the next suspect that is a link.
func (m *mapScreen) suspect(n int, s *Snapshot) {
	if s.Diagnosis == nil {
		return
	}
	var links []graphs.LinkID
	for i := range s.Diagnosis.Suspects {
		if id, ok := s.Picture.Fabric.LinkByName(s.Diagnosis.Suspects[i].Link); ok && !slices.Contains(links, id) {
			links = append(links, id)
		}
	}
	if len(links) > 0 {
		i := slices.Index(links, m.focus)
		m.jump(links[(max(i, 0)+n*min(i+1, 1)+len(links))%len(links)])
	}
}

func (m *mapScreen) copied(s *Snapshot) string {
	if s.Picture == nil || m.focus == graphs.None {
		return ""
	}
	l := linksScreen{states: symptomsOf(s), selected: m.focus, order: []graphs.LinkID{m.focus}}
	return l.copied(s)
}

const (
	rowLabel = 10
	// aheadOf is what stands above and below the cells of the main matrix: the column heads, the ramp and what it means.
	aroundCells = 3
)

// halves shares the width out between the main matrix and what stands beside it; there is nothing beside it on a narrow screen.
func (m *mapScreen) halves(w, h int) (left, right int) {
	if w < panesFrom || h < 12 {
		return w, 0
	}
	left = w * 11 / 20
	return left, w - left
}

// prepare fills the matrices in for a size, if that was not done.
func (m *mapScreen) prepare(w, h int, s *Snapshot) {
	if m.layout == nil || m.layout.fabric != s.Picture.Fabric {
		m.refresh(s, false)
	}
	if m.from == s && m.size == [2]int{w, h} {
		return
	}
	m.from, m.size = s, [2]int{w, h}
	l := layers()[m.layer]
	left, right := m.halves(w, h)
	main := &m.layout.main
	if m.hosts {
		main = &m.layout.hosts
	} else if !m.layout.clos {
		main = &m.order
	}
	m.filled = [2]*heat{main.fill(&l, s.Picture, h-2-aroundCells, left-4-rowLabel), nil}
	podOf := -1
	if r, c, ok := m.filled[0].find(m.focus); ok {
		if m.pane == 0 {
			m.row[0], m.col[0] = r, c
		}
	}
	m.bound(0)
	if m.layout.pods == nil || m.hosts {
		m.pane = 0
		return
	}
	for i := range m.layout.pods {
		if _, _, ok := m.layout.pods[i].at(m.focus); ok {
			podOf = i
			m.pane = 1
		}
	}
	if podOf < 0 {
		m.pane = 0
		podOf = min(m.col[0]*m.filled[0].colBlock, len(m.layout.pods)-1)
	} else {
		m.col[0] = podOf / m.filled[0].colBlock
	}
	width := right
	if right == 0 {
		width = left
	}
	m.filled[1] = m.layout.pods[podOf].fill(&l, s.Picture, h-2-aroundCells, (width-4-rowLabel)/2)
	if r, c, ok := m.filled[1].find(m.focus); ok {
		m.row[1], m.col[1] = r, c
	}
	m.bound(1)
}

func (m *mapScreen) bound(pane int) {
	h := m.filled[pane]
	m.row[pane] = min(max(m.row[pane], 0), max(h.rows-1, 0))
	m.col[pane] = min(max(m.col[pane], 0), max(h.cols-1, 0))
}

func (m *mapScreen) draw(w, h int, s *Snapshot) page {
	if s.Picture == nil {
		return text(line{}.gap(1).add(warn, "? no map").gap(2).add(plain, elide(unmapped(s), max(w-13, 4)))).fill(w, h)
	}
	m.prepare(w, h, s)
	left, right := m.halves(w, h)
	switch {
	case m.near && (right == 0 || m.filled[1] == nil):
		return m.egoPage(w, h, s).fill(w, h)
	case right == 0:
		return m.drawGrid(m.pane, w, h, s).fill(w, h)
	}
	out := m.drawGrid(0, left, h, s)
	var beside page
	if m.filled[1] != nil && !m.near {
		beside = m.drawGrid(1, right, h, s)
	} else {
		beside = m.egoPage(right, h, s)
	}
	if m.pane == 1 && !m.near {
		out.y = -1
	} else {
		beside.y = -1
	}
	return out.beside(beside, left).fill(w, h)
}

// drawGrid draws one of the matrices with its heads, its ramp, and what the link under the cursor is.
func (m *mapScreen) drawGrid(pane, w, h int, s *Snapshot) page {
	l := layers()[m.layer]
	f := m.filled[pane]
	if f == nil || f.rows == 0 {
		return frame("Map", "", w, h, text(line{}.add(dim, map[bool]string{false: "no links between switches", true: "no links of hosts"}[m.hosts])))
	}
	row, col := m.row[pane], m.col[pane]
	if pane != m.pane && pane == 1 {
		row, col = -1, -1
	}
	head := line{}.gap(rowLabel)
	if col >= 0 {
		head = line{}.left(dim, "", rowLabel).add(strong, elide("column "+f.grid.cols[col*f.colBlock], max(w-4-rowLabel, 4)))
	}
	wide, cell := 2*f.cols <= w-4-rowLabel, 1
	if wide {
		cell = 2
	}
	cells := f.draw(&l, row, col, rowLabel, wide).sensitive(spot{x: rowLabel, w: f.cols * cell, h: f.rows, click: func(x, y int) string {
		return m.point(pane, y, x/cell)
	}})
	out := text(head).below(cells)
	out = out.fill(w-4, h-2-2)
	out.lines = append(out.lines, m.about(f, row, col, w-4, s))
	if scale := l.scale + "  ? dark"; pane == 0 || width(scale) <= w-4 {
		out.lines = append(out.lines, line{}.add(dim, elide(scale, w-4)))
	}
	note := "layer " + l.name
	if f.rowBlock*f.colBlock > 1 {
		note = fmt.Sprintf("a cell is the worst of %dx%d, %s", f.rowBlock, f.colBlock, note)
	}
	return frame(f.grid.title, note, w, h, out)
}

// about says what the cell under the cursor holds.
func (m *mapScreen) about(f *heat, row, col, w int, s *Snapshot) line {
	if row < 0 || f.rows == 0 {
		return nil
	}
	cell := row*f.cols + col
	id := f.worst[cell]
	if id == graphs.None {
		return line{}.add(dim, "no link here")
	}
	l := layers()[m.layer]
	g, st := l.glyph(f.value[cell])
	out := line{}.add(st, string(g)).gap(1)
	tail := ""
	if n := f.links[cell]; n > 1 {
		tail = fmt.Sprintf(" and %d more", n-1)
	}
	return out.add(strong, shorten(s.Picture.Fabric.LinkName(id), max(w-2-width(tail), 4))).add(dim, tail)
}
