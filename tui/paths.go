package tui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"whichlink/graphs"
	"whichlink/internal/diagnose"
	"whichlink/pathfind"
)

// The paths screen shows where flows of one pair may go, layer by layer, what each of the pair's own flows lost, and whether they were seen to go
// where the forwarding model has them.
type pathsScreen struct {
	keys     *keyMap
	src, dst graphs.NodeID
	chosen   bool // somebody asked for this pair
	filter   filter
	at       int // of the flow under the cursor
	view     view

	from   *Snapshot
	ways   *pathfind.Ways
	wayOf  [2]graphs.NodeID
	fabric *graphs.Fabric
	hops   []hopRow
	flows  []PairFlow
}

func newPathsScreen(k *keyMap) *pathsScreen {
	return &pathsScreen{keys: k, src: graphs.None, dst: graphs.None}
}

func (p *pathsScreen) title() string { return "Paths" }

// A hopRow is one layer of the pair's paths and the arcs that lead to the next.
type hopRow struct {
	name      string
	nodes     []graphs.NodeID
	share     float64
	arcs      int // that lead on
	seen      int // of which the pair's flows were seen on
	worst     graphs.ArcID
	suspicion float64
}

// setPair asks for a pair.
func (p *pathsScreen) setPair(src, dst graphs.NodeID, s *Snapshot) {
	p.src, p.dst, p.chosen, p.at = src, dst, true, 0
	p.from = nil
	p.refresh(s, false)
}

// choose finds a pair worth looking at: the one that lost most across the first suspect, else the first two hosts.
func (p *pathsScreen) choose(s *Snapshot) {
	f := s.Picture.Fabric
	if v, ok := s.History.(worstKnowing); ok && s.Diagnosis != nil {
		for i := range s.Diagnosis.Suspects {
			if l, ok := f.LinkByName(s.Diagnosis.Suspects[i].Link); ok {
				if src, dst, ok := v.worstPair(l); ok {
					p.src, p.dst = src, dst
					return
				}
			}
		}
	}
	ends := f.Hosts()
	if len(ends) < 2 {
		ends = f.Switches()
	}
	if p.src == graphs.None && len(ends) >= 2 {
		p.src, p.dst = ends[0], ends[len(ends)-1]
	}
}

func (p *pathsScreen) refresh(s *Snapshot, still bool) {
	if s.Picture == nil || p.from == s {
		return
	}
	if p.fabric != s.Picture.Fabric {
		p.fabric, p.ways, p.chosen = s.Picture.Fabric, nil, false
		p.src, p.dst = graphs.None, graphs.None
	}
	p.from = s
	if !p.chosen && (p.src == graphs.None || !still) {
		p.choose(s)
	}
	if p.src == graphs.None || p.src == p.dst {
		return
	}
	if m := s.Picture.Model; m != nil && (p.ways == nil || p.wayOf != [2]graphs.NodeID{p.src, p.dst}) {
		p.ways, p.wayOf = m.Ways(p.src, p.dst), [2]graphs.NodeID{p.src, p.dst}
	}
	p.flows = nil
	if s.History != nil {
		for _, x := range s.History.Pair(p.src, p.dst) {
			loss := ratio(x.Lost, x.Sent)
			if len(p.filter.terms) == 0 || p.filter.match(strings.ToLower(x.Flow), func(field string) (float64, bool) {
				switch field {
				case "loss":
					return 100 * loss, x.Sent > 0
				case "port":
					return float64(x.Port), true
				case "lost":
					return float64(x.Lost), true
				}
				return 0, false
			}) {
				p.flows = append(p.flows, x)
			}
		}
		slices.SortStableFunc(p.flows, func(a, b PairFlow) int { return cmp.Or(cmp.Compare(a.Port, b.Port), cmp.Compare(a.Flow, b.Flow)) })
	}
	p.at = min(p.at, max(len(p.flows)-1, 0))
	p.layers(s)
}

// layers sums up the pair's paths by layer.
func (p *pathsScreen) layers(s *Snapshot) {
	p.hops = nil
	if p.ways == nil {
		return
	}
	seen := map[graphs.ArcID]bool{}
	for i := range p.flows {
		for _, a := range p.flows[i].Path {
			seen[a] = true
		}
	}
	layerOf := map[graphs.NodeID]int{}
	for i, l := range p.ways.Layers() {
		p.hops = append(p.hops, hopRow{name: l.Name, nodes: l.Nodes, share: l.Share, worst: graphs.None})
		for _, n := range l.Nodes {
			if _, ok := layerOf[n]; !ok {
				layerOf[n] = i
			}
		}
	}
	for _, x := range p.ways.Shares() {
		h := &p.hops[layerOf[s.Picture.Fabric.Tail(x.Arc)]]
		h.arcs++
		if seen[x.Arc] {
			h.seen++
		}
		if v := float64(s.Picture.Arcs[x.Arc].Suspicion); h.worst == graphs.None || v > h.suspicion {
			h.worst, h.suspicion = x.Arc, v
		}
	}
}

func (p *pathsScreen) setFilter(query string, s *Snapshot) {
	p.filter = parseFilter(query, []string{"loss", "lost", "port"})
	p.from = nil
	p.refresh(s, false)
}

func (p *pathsScreen) filtered() *filter { return &p.filter }

func (p *pathsScreen) handle(msg tea.KeyPressMsg, w, h int, s *Snapshot) screen {
	if s.Picture == nil {
		return nil
	}
	k := p.keys
	n := max(len(p.flows)-1, 0)
	perRow := max(p.perRow(w), 1)
	p.view.held = false
	switch {
	case key.Matches(msg, k.Left):
		p.at = max(p.at-1, 0)
	case key.Matches(msg, k.Right):
		p.at = min(p.at+1, n)
	case key.Matches(msg, k.Up):
		p.at = max(p.at-perRow, 0)
	case key.Matches(msg, k.Down):
		p.at = min(p.at+perRow, n)
	case key.Matches(msg, k.Swap):
		p.setPair(p.dst, p.src, s)
	case key.Matches(msg, k.Next):
		p.lossy(1)
	case key.Matches(msg, k.Prev):
		p.lossy(-1)
	case key.Matches(msg, k.Open):
		if a := p.suspected(s); a != graphs.None {
			return newLinkScreenOf(k, a.Link(), s)
		}
	}
	return nil
}

// lossy goes to the next flow that lost something.
func (p *pathsScreen) lossy(step int) {
	for i := 1; i <= len(p.flows); i++ {
		at := (p.at + step*i + i*len(p.flows)) % len(p.flows)
		if p.flows[at].Lost > 0 {
			p.at = at
			return
		}
	}
}

// suspected returns the arc of the pair's paths that is suspected most; of the flow under the cursor, if its path is known.
func (p *pathsScreen) suspected(s *Snapshot) graphs.ArcID {
	best, at := -1.0, graphs.ArcID(graphs.None)
	look := func(a graphs.ArcID) {
		if v := float64(s.Picture.Arcs[a].Suspicion); v > best {
			best, at = v, a
		}
	}
	if p.at < len(p.flows) && p.flows[p.at].Path != nil {
		for _, a := range p.flows[p.at].Path {
			look(a)
		}
		return at
	}
	for i := range p.hops {
		if p.hops[i].worst != graphs.None {
			look(p.hops[i].worst)
		}
	}
	return at
}

func (p *pathsScreen) copied(s *Snapshot) string {
	if s.Picture == nil || p.at >= len(p.flows) {
		return ""
	}
	x := &p.flows[p.at]
	words := []string{x.Flow, fmt.Sprintf("sent %d lost %d (%s)", x.Sent, x.Lost, percent(ratio(x.Lost, x.Sent)))}
	for _, a := range x.Path {
		words = append(words, s.Picture.Fabric.ArcName(a))
	}
	return clean(strings.Join(words, " "))
}

const portLabel = 7

func (p *pathsScreen) perRow(w int) int { return max(w-4-portLabel, 8) / 8 * 8 }

func (p *pathsScreen) draw(w, h int, s *Snapshot) page {
	if s.Picture == nil || p.src == graphs.None {
		return text(line{}.gap(1).add(warn, "? no paths").gap(2).add(plain, elide(unmapped(s), max(w-13, 4)))).fill(w, h)
	}
	p.refresh(s, true)
	f := s.Picture.Fabric
	pair := line{}.gap(1).add(strong, shorten(f.NodeName(p.src), w/3)).add(dim, " > ").add(strong, shorten(f.NodeName(p.dst), w/3))
	if other := "  :paths SRC DST asks for another pair"; pair.width()+width(other) <= w {
		pair = pair.add(dim, other)
	}
	out := text(pair)
	rest := h - 1
	hops := min(len(p.hops)+4, max(rest/2, 3))
	if rest < 12 || w < 50 {
		return out.below(p.drawMatrix(w, rest, s)).fill(w, h)
	}
	out = out.below(p.drawHops(w, hops, s))
	rest -= hops
	if w >= panesFrom {
		left := w * 6 / 10
		return out.below(p.drawMatrix(left, rest, s).beside(p.drawFlow(w-left, rest, s), left)).fill(w, h)
	}
	flow := max(rest/2, min(6, rest-4))
	return out.below(p.drawMatrix(w, rest-flow, s)).below(p.drawFlow(w, flow, s)).fill(w, h)
}

func (p *pathsScreen) drawHops(w, h int, s *Snapshot) page {
	if p.ways == nil {
		return frame("Hops", "", w, h, text(line{}.add(warn, "? not known").add(plain, ": the fabric's forwarding model cannot be used here")))
	}
	f := s.Picture.Fabric
	inner := w - 4
	layer, worst := len("layer"), len("worst link on")
	links := make([]string, len(p.hops))
	for i := range p.hops {
		x := &p.hops[i]
		if x.arcs > 0 && x.suspicion >= 0.05 {
			links[i] = probability(x.suspicion) + " " + f.ArcName(x.worst)
		}
		layer, worst = max(layer, width(x.name)), max(worst, width(links[i]))
	}
	layer = min(layer, 12)
	room := inner - 3 - layer - 6 - 9 - 9 - 2 // what is left to the names of nodes and of the worst link
	worst = min(worst, max(room-8, 8))
	names := max(room-worst, 8)
	lines := []line{line{}.right(dim, "#", 2).gap(1).left(dim, "layer", layer).right(dim, "nodes", 6).right(dim, "flows", 9).right(dim, "seen", 9).gap(1).
		left(dim, "nodes", names).gap(1).left(dim, "worst link on", worst)}
	for i := range p.hops {
		x := &p.hops[i]
		var some []string
		for _, n := range x.nodes[:min(len(x.nodes), 4)] {
			some = append(some, f.NodeName(n))
		}
		if len(x.nodes) > 4 {
			some = append(some, "...")
		}
		seen, st := "", plain
		if x.arcs > 0 {
			seen = fmt.Sprintf("%d/%d", x.seen, x.arcs)
			st = severity(x.suspicion)
		}
		lines = append(lines, line{}.right(dim, fmt.Sprint(i+1), 2).gap(1).left(plain, x.name, layer).right(plain, count(len(x.nodes)), 6).
			right(plain, percent(x.share), 9).right(plain, seen, 9).gap(1).left(plain, strings.Join(some, " "), names).gap(1).left(st, shorten(links[i], worst), worst))
	}
	lines = append(lines, p.agreement(s))
	note := "model " + s.Picture.Model.String()
	if c := p.ways.Count(); c < 1e9 {
		note = counted(int(c), "path", "paths") + ", " + note
	}
	return frame("Hops, all flows", note, w, h, text(lines...))
}

// agreement says how many flows were seen where the model has them.
func (p *pathsScreen) agreement(*Snapshot) line {
	agree, differ, unknown := 0, 0, 0
	expected := p.expected()
	for i := range p.flows {
		switch x := &p.flows[i]; {
		case x.Path == nil:
			unknown++
		case asExpected(x.Path, expected):
			agree++
		default:
			differ++
		}
	}
	st := plain
	if differ > 0 {
		st = warn
	}
	return line{}.add(dim, "expected against seen: ").add(plain, fmt.Sprintf("agree %d  ", agree)).add(st, fmt.Sprintf("differ %d  ", differ)).add(plain, fmt.Sprintf("unknown %d", unknown))
}

func (p *pathsScreen) expected() map[graphs.ArcID]bool {
	out := map[graphs.ArcID]bool{}
	if p.ways != nil {
		for _, x := range p.ways.Shares() {
			out[x.Arc] = true
		}
	}
	return out
}

func asExpected(path []graphs.ArcID, expected map[graphs.ArcID]bool) bool {
	return !slices.ContainsFunc(path, func(a graphs.ArcID) bool { return !expected[a] })
}

// drawMatrix draws one mark a flow, in the order of source ports.
func (p *pathsScreen) drawMatrix(w, h int, s *Snapshot) page {
	lossy := 0
	for i := range p.flows {
		if p.flows[i].Lost > 0 {
			lossy++
		}
	}
	note := fmt.Sprintf("%s, %d lossy", counted(len(p.flows), "flow", "flows"), lossy)
	if p.filter.query != "" {
		note = "filtered, " + note
	}
	if len(p.flows) == 0 {
		return frame("Flows by source port", note, w, h, text(line{}.add(warn, "? none").add(plain, " of this pair was measured")))
	}
	per := p.perRow(w)
	rows := (len(p.flows) + per - 1) / per
	legend := []line{nil, line{}.add(dim, ". ok  x lossy  ? unanswered")}
	if h < 6 {
		legend = legend[1:]
	}
	room := max(h-2-len(legend), 0)
	first, end := p.view.window(rows, p.at/per, room)
	body := page{y: -1}.sensitive(spot{x: portLabel, w: per, h: end - first, click: func(x, y int) string {
		i := (first+y)*per + x
		if i >= len(p.flows) {
			return ""
		}
		p.at, p.view = i, view{true, first}
		return p.flows[i].Flow
	}})
	for r := first; r < end; r++ {
		ln := line{}.right(dim, fmt.Sprint(p.flows[r*per].Port), portLabel-1).gap(1)
		for i := r * per; i < min((r+1)*per, len(p.flows)); i++ {
			mark, st := flowMark(&p.flows[i])
			if i == p.at {
				body.x, body.y = portLabel+i-r*per, len(body.lines)
				st = chosen
			}
			ln = ln.ink(st, mark)
		}
		body.lines = append(body.lines, ln)
	}
	body = body.fill(w-4, room)
	body.lines = append(body.lines, legend...)
	return frame("Flows by source port", note, w, h, body)
}

func flowMark(x *PairFlow) (string, style) {
	switch {
	case x.Sent == 0 || x.Lost >= x.Sent:
		return "?", warn
	case x.Lost > 0:
		return "x", bad
	}
	return ".", plain
}

// drawFlow lists what the flow under the cursor crosses, and where it is suspected to lose.
func (p *pathsScreen) drawFlow(w, h int, s *Snapshot) page {
	if p.at >= len(p.flows) {
		return frame("Flow", "", w, h, text())
	}
	x := &p.flows[p.at]
	inner := w - 4
	st := plain
	if x.Lost > 0 {
		st = strong
	}
	lines := []line{
		line{}.add(plain, elide(x.Flow, inner)),
		line{}.add(st, fmt.Sprintf("loss %s  %s of %s", percent(ratio(x.Lost, x.Sent)), count(x.Lost), count(x.Sent))).add(plain, "  rtt "+micros(x.RTT)),
	}
	if x.Path == nil {
		lines = append(lines, line{}.add(warn, "? path not known").add(plain, ": it was not traced, or may be one of several"))
	}
	expected := p.expected()
	// Where there is no room for a row an arc, the nodes stand in one, and below it the arcs that matter.
	dense := len(lines)+len(x.Path) > h-2
	if dense && len(x.Path) > 0 {
		f := s.Picture.Fabric
		chain := f.NodeName(f.Tail(x.Path[0]))
		for _, a := range x.Path {
			chain += " > " + f.NodeName(f.Head(a))
		}
		lines = append(lines, line{}.gap(1).add(plain, elide(clean(chain), inner-1)))
	}
	for _, a := range x.Path {
		t := &s.Picture.Arcs[a]
		if dense && float64(t.Suspicion) < diagnose.Named && (p.ways == nil || expected[a]) {
			continue
		}
		row := line{}.gap(1).add(plain, shorten(s.Picture.Fabric.ArcName(a), max(inner-14, 8)))
		if float64(t.Suspicion) >= diagnose.Named {
			row = row.add(severity(float64(t.Suspicion)), "  <-- p "+probability(float64(t.Suspicion)))
		} else if p.ways != nil && !expected[a] {
			row = row.add(warn, "  not expected")
		}
		lines = append(lines, row)
	}
	if x.Moved {
		lines = append(lines, line{}.add(warn, "! it was on another path before"))
	}
	return frame("Flow "+fmt.Sprint(x.Port), "n N next lossy", w, h, text(lines...))
}
