package report

import (
	"fmt"
	"math"
	"slices"

	"whichlink/graphs"
	"whichlink/internal/diagnose"
)

// An Ego is the surroundings of a suspect: its ends, and the neighbours of these.
type Ego struct {
	Of     string
	Width  int
	Height int
	Nodes  []EgoNode
	Edges  []EgoEdge
	// Omitted is how many neighbours are not drawn.
	Omitted int
	// leftSide and rightSide are where names of neighbours stand, leftEnd and rightEnd are the ends.
	leftSide, leftEnd, rightEnd, rightSide int
}

// An EgoNode is a node in its place: X and Y are where its name begins or ends.
type EgoNode struct {
	Name   string
	X, Y   int
	Anchor string // start, middle or end, as SVG has it
	Centre bool
}

// An EgoEdge is a link, by the worse of its directions. Arrow is whether it is a suspect in one direction only, which is the one in which it is drawn.
type EgoEdge struct {
	Name           string
	X1, Y1, X2, Y2 int
	Mark           Mark
	Arrow          bool
}

// mostNeighbours is how many neighbours are drawn on either side, worst first.
const mostNeighbours = 12

// The least room of an ego graph's parts: names of neighbours, their links, the suspect between its ends; and how far rows are apart. So a phone shows all of it;
// with long names it is wider, and a phone shows it smaller.
const (
	egoSide = 76
	egoLink = 54
	egoSpan = 90
	egoRow  = 22
	egoTop  = 24
)

// place finds room for the names of the neighbours and of the ends.
func (c *Collector) place(g *Ego, left, right []graphs.ArcID, ends ...graphs.NodeID) {
	name := func(n graphs.NodeID) int { return lettersWide(len([]rune(short(c.fabric.NodeName(n))))) }
	side := func(arcs []graphs.ArcID) int {
		wide := egoSide
		for _, a := range arcs {
			wide = max(wide, name(c.fabric.Head(a))+6)
		}
		return wide
	}
	g.leftSide = side(left)
	g.leftEnd = g.leftSide + egoLink
	g.rightEnd = g.leftEnd
	if len(ends) == 2 {
		g.rightEnd += max(egoSpan, (name(ends[0])+name(ends[1]))/2+10)
	}
	g.rightSide = g.rightEnd + egoLink
	g.Width = g.rightSide + side(right)
	g.Height = egoTop + egoRow*max(1, len(left), len(right))
}

// ego draws a suspect that is an arc, a link, a switch or a host; nil for others.
func (c *Collector) ego(x *diagnose.Suspect, marks []Mark) *Ego {
	f := c.fabric
	g := &Ego{Of: x.ID}
	if n, ok := f.NodeByName(x.ID); ok {
		heads := c.neighbours(n, graphs.None, marks)
		half := (min(len(heads), 2*mostNeighbours) + 1) / 2
		left, right := heads[:half], heads[half:min(len(heads), 2*half)]
		g.Omitted = len(heads) - len(left) - len(right)
		c.place(g, left, right, n)
		middle := g.Height / 2
		g.Nodes = append(g.Nodes, EgoNode{f.NodeName(n), g.leftEnd, middle - 8, "middle", true})
		c.side(g, left, g.leftEnd, middle, true, marks)
		c.side(g, right, g.leftEnd, middle, false, marks)
		return g
	}
	id := x.ID
	a, ok := f.ArcByName(id)
	if !ok {
		l, ok := f.LinkByName(id)
		if !ok {
			return nil
		}
		a = l.Forward()
	}
	from, to := f.Tail(a), f.Head(a)
	left, right := c.neighbours(from, to, marks), c.neighbours(to, from, marks)
	g.Omitted = max(0, len(left)-mostNeighbours) + max(0, len(right)-mostNeighbours)
	left, right = left[:min(len(left), mostNeighbours)], right[:min(len(right), mostNeighbours)]
	c.place(g, left, right, from, to)
	middle := g.Height / 2
	g.Nodes = append(g.Nodes, EgoNode{f.NodeName(from), g.leftEnd, middle - 8, "middle", true}, EgoNode{f.NodeName(to), g.rightEnd, middle - 8, "middle", true})
	c.side(g, left, g.leftEnd, middle, true, marks)
	c.side(g, right, g.rightEnd, middle, false, marks)
	g.Edges = append(g.Edges, c.edge(a, g.leftEnd, middle, g.rightEnd, middle, marks))
	return g
}

// neighbours returns one arc to each neighbour of a node but one, the worst of parallel ones, the worst neighbours first.
func (c *Collector) neighbours(n, but graphs.NodeID, marks []Mark) []graphs.ArcID {
	best := map[graphs.NodeID]int{}
	var out []graphs.ArcID
	for _, a := range c.fabric.Out(n) {
		h := c.fabric.Head(a)
		if h == but {
			continue
		}
		if i, ok := best[h]; !ok {
			best[h] = len(out)
			out = append(out, a)
		} else if bothWays(a, marks).severity() > bothWays(out[i], marks).severity() {
			out[i] = a
		}
	}
	slices.SortStableFunc(out, func(a, b graphs.ArcID) int { return bothWays(b, marks).severity() - bothWays(a, marks).severity() })
	return out
}

// bothWays returns the worse mark of a link's directions.
func bothWays(a graphs.ArcID, marks []Mark) Mark {
	if marks[a.Reverse()].severity() > marks[a].severity() {
		return marks[a.Reverse()]
	}
	return marks[a]
}

// side puts neighbours on one side of a node.
func (c *Collector) side(g *Ego, arcs []graphs.ArcID, x, y int, left bool, marks []Mark) {
	at, anchor, text := g.rightSide, "start", g.rightSide+4
	if left {
		at, anchor, text = g.leftSide, "end", g.leftSide-4
	}
	top := (g.Height-egoRow*len(arcs))/2 + egoRow/2
	for i, a := range arcs {
		row := top + egoRow*i
		g.Nodes = append(g.Nodes, EgoNode{Name: c.fabric.NodeName(c.fabric.Head(a)), X: text, Y: row + 4, Anchor: anchor})
		g.Edges = append(g.Edges, c.edge(a, x, y, at, row, marks))
	}
}

// edge draws a link from the tail of an arc to its head, or the other way round if only that direction is a suspect.
func (c *Collector) edge(a graphs.ArcID, x1, y1, x2, y2 int, marks []Mark) EgoEdge {
	there, back := marks[a], marks[a.Reverse()]
	e := EgoEdge{c.fabric.LinkName(a.Link()), x1, y1, x2, y2, bothWays(a, marks), false}
	if bad := Possible.severity(); e.Mark.severity() >= bad && there != back {
		e.Arrow = true
		if back.severity() > there.severity() {
			a = a.Reverse()
			e.X1, e.Y1, e.X2, e.Y2 = x2, y2, x1, y1
		}
		e.Name = c.fabric.ArcName(a)
	}
	return e
}

// Head returns the triangle at the middle of an edge that points along it.
func (e *EgoEdge) Head() string {
	dx, dy := float64(e.X2-e.X1), float64(e.Y2-e.Y1)
	length := max(1, math.Hypot(dx, dy))
	dx, dy = dx/length, dy/length
	mx, my := float64(e.X1+e.X2)/2, float64(e.Y1+e.Y2)/2
	return fmt.Sprintf("%.1f,%.1f %.1f,%.1f %.1f,%.1f", mx+7*dx, my+7*dy, mx-5*dx-5*dy, my-5*dy+5*dx, mx-5*dx+5*dy, my-5*dy-5*dx)
}
