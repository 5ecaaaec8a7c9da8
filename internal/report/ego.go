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

// The places of an ego graph: neighbours left and right, ends between them; rows apart. A phone shows all of it.
const (
	egoWidth = 350
	leftEnd  = 130
	rightEnd = 220
	leftSide = 76
	egoRow   = 22
	egoTop   = 24
)

// ego draws a suspect that is an arc, a link, a switch or a host; nil for others.
func (c *Collector) ego(x *diagnose.Suspect, marks []Mark) *Ego {
	f := c.fabric
	g := &Ego{Of: x.ID, Width: egoWidth}
	if n, ok := f.NodeByName(x.ID); ok {
		heads := c.neighbours(n, graphs.None, marks)
		half := (min(len(heads), 2*mostNeighbours) + 1) / 2
		left, right := heads[:half], heads[half:min(len(heads), 2*half)]
		g.Omitted = len(heads) - len(left) - len(right)
		g.Height = egoTop + egoRow*max(1, half)
		middle := g.Height / 2
		g.Nodes = append(g.Nodes, EgoNode{f.NodeName(n), egoWidth / 2, middle - 8, "middle", true})
		c.side(g, left, n, egoWidth/2, middle, true, marks)
		c.side(g, right, n, egoWidth/2, middle, false, marks)
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
	g.Height = egoTop + egoRow*max(1, len(left), len(right))
	middle := g.Height / 2
	g.Nodes = append(g.Nodes, EgoNode{f.NodeName(from), leftEnd, middle - 8, "middle", true}, EgoNode{f.NodeName(to), rightEnd, middle - 8, "middle", true})
	c.side(g, left, from, leftEnd, middle, true, marks)
	c.side(g, right, to, rightEnd, middle, false, marks)
	g.Edges = append(g.Edges, c.edge(a, leftEnd, middle, rightEnd, middle, marks))
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
func (c *Collector) side(g *Ego, arcs []graphs.ArcID, of graphs.NodeID, x, y int, left bool, marks []Mark) {
	at, anchor, text := egoWidth-leftSide, "start", egoWidth-leftSide+4
	if left {
		at, anchor, text = leftSide, "end", leftSide-4
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
