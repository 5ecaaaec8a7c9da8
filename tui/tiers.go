package tui

import (
	"cmp"
	"slices"
	"strconv"

	"whichlink/graphs"
)

// A grid is a way of laying links out as a matrix: the row and the column of each link, -1 where it is not in it.
type grid struct {
	title      string
	rows, cols []string // their names
	rowOf      []int32  // by link
	colOf      []int32
	// partOf, if set, is the part of the fabric that a link is in, and part the one that is laid out: all pods share one index.
	partOf []int32
	part   int32
	// both says that rows and columns are the same nodes, and every link stands on both sides of the diagonal.
	both bool
}

// at returns the row and the column of a link.
func (g *grid) at(id graphs.LinkID) (row, col int, ok bool) {
	if id < 0 || int(id) >= len(g.rowOf) || g.rowOf[id] < 0 || g.partOf != nil && g.partOf[id] != g.part {
		return 0, 0, false
	}
	return int(g.rowOf[id]), int(g.colOf[id]), true
}

// A layout is how a fabric is drawn: by its tiers if it is a Clos, else by who is next to whom.
type layout struct {
	fabric *graphs.Fabric
	clos   bool
	main   grid
	// pods are, in a Clos of three tiers, the matrices of each column of main: leaf by aggregation switch.
	pods []grid
	// hosts are the links of hosts; it is made when it is first asked for.
	hosts grid
	// tier is a switch's distance from the nearest host, 0 for hosts.
	tier []int
}

// newLayout finds out what shape a fabric has. No name or role is asked: tiers are distances from the hosts.
func newLayout(f *graphs.Fabric) *layout {
	l := &layout{fabric: f, tier: f.HostDistances()}
	top := 0
	counts := map[int]int{}
	for n, t := range l.tier {
		if !f.Node(graphs.NodeID(n)).IsHost() {
			top = max(top, t)
			counts[t]++
		}
	}
	up, all := 0, 0
	for id := range graphs.LinkID(f.NumLinks()) {
		a, b := l.ends(id)
		if l.tier[a] < 1 || l.tier[b] < 1 {
			continue
		}
		all++
		if l.tier[a] != l.tier[b] {
			up++
		}
	}
	l.clos = top >= 2 && top <= 3 && all > 0 && 20*up >= 19*all && counts[0] == 0
	switch {
	case !l.clos:
		return l
	case top == 2:
		l.main = l.bipartite("Spine by leaf", l.ofTier(2), l.ofTier(1))
	default:
		l.threeTiers()
	}
	return l
}

// ends returns the nodes of a link, the higher tier last.
func (l *layout) ends(id graphs.LinkID) (low, high graphs.NodeID) {
	low, high = l.fabric.Tail(id.Forward()), l.fabric.Head(id.Forward())
	if l.tier[low] > l.tier[high] {
		low, high = high, low
	}
	return low, high
}

func (l *layout) ofTier(t int) []graphs.NodeID {
	var out []graphs.NodeID
	for _, n := range l.fabric.Switches() {
		if l.tier[n] == t {
			out = append(out, n)
		}
	}
	return out
}

func (l *layout) empty(title string) grid {
	g := grid{title: title, rowOf: make([]int32, l.fabric.NumLinks()), colOf: make([]int32, l.fabric.NumLinks())}
	for i := range g.rowOf {
		g.rowOf[i], g.colOf[i] = -1, -1
	}
	return g
}

// bipartite lays out the links between two sets of switches.
func (l *layout) bipartite(title string, rows, cols []graphs.NodeID) grid {
	g := l.empty(title)
	l.between(&g, rows, cols)
	return g
}

// between puts the links between two sets of switches into a grid.
func (l *layout) between(g *grid, rows, cols []graphs.NodeID) {
	row, col := indexOf(rows), indexOf(cols)
	for _, n := range rows {
		g.rows = append(g.rows, l.fabric.NodeName(n))
	}
	for _, n := range cols {
		g.cols = append(g.cols, l.fabric.NodeName(n))
	}
	for _, n := range cols {
		for _, a := range l.fabric.Out(n) {
			if r, ok := row[l.fabric.Head(a)]; ok {
				g.rowOf[a.Link()], g.colOf[a.Link()] = int32(r), int32(col[n])
				if g.partOf != nil {
					g.partOf[a.Link()] = g.part
				}
			}
		}
	}
}

func indexOf(nodes []graphs.NodeID) map[graphs.NodeID]int {
	m := make(map[graphs.NodeID]int, len(nodes))
	for i, n := range nodes {
		m[n] = i
	}
	return m
}

// threeTiers lays out planes by pods, and each pod. A pod is what hangs together below the spines, a plane what hangs together above the leaves;
// where all spines hang together, each is a plane of its own.
func (l *layout) threeTiers() {
	pod := l.parts(1, 2)
	plane := l.parts(2, 3)
	planes := count32(plane)
	word := "plane "
	spines := l.ofTier(3)
	if planes <= 1 {
		word, planes = "", len(spines)
		for i, n := range spines {
			plane[n] = int32(i)
		}
	}
	l.main = l.empty("Spine plane by pod, worst link of each")
	for i := range planes {
		name := word + strconv.Itoa(i)
		if word == "" {
			name = l.fabric.NodeName(spines[i])
		}
		l.main.rows = append(l.main.rows, name)
	}
	pods := count32(pod)
	leaves, aggs := make([][]graphs.NodeID, pods), make([][]graphs.NodeID, pods)
	for _, n := range l.fabric.Switches() {
		switch l.tier[n] {
		case 1:
			leaves[pod[n]] = append(leaves[pod[n]], n)
		case 2:
			aggs[pod[n]] = append(aggs[pod[n]], n)
		}
	}
	for id := range graphs.LinkID(l.fabric.NumLinks()) {
		if low, high := l.ends(id); l.tier[low] == 2 && l.tier[high] == 3 {
			l.main.rowOf[id], l.main.colOf[id] = plane[high], pod[low]
		}
	}
	all, partOf := l.empty(""), make([]int32, l.fabric.NumLinks())
	for i := range pods {
		// A pod is called by its first leaf: numbers of ours would be others than those in the names of its switches.
		of := "of " + l.fabric.NodeName(slices.Concat(leaves[i], aggs[i])[0])
		l.main.cols = append(l.main.cols, "pod "+of)
		g := all
		g.title, g.partOf, g.part = "Pod "+of+", leaf by aggregation", partOf, int32(i)
		l.between(&g, leaves[i], aggs[i])
		l.pods = append(l.pods, g)
	}
}

// parts numbers the connected parts of the switches of two tiers, by node; -1 for all others.
func (l *layout) parts(a, b int) []int32 {
	part := make([]int32, l.fabric.NumNodes())
	for i := range part {
		part[i] = -1
	}
	n := int32(0)
	for _, s := range l.fabric.Switches() {
		if part[s] >= 0 || l.tier[s] != a && l.tier[s] != b {
			continue
		}
		queue := []graphs.NodeID{s}
		part[s] = n
		for len(queue) > 0 {
			at := queue[0]
			queue = queue[1:]
			for _, arc := range l.fabric.Out(at) {
				to := l.fabric.Head(arc)
				if t := l.tier[to]; (t == a || t == b) && part[to] < 0 {
					part[to] = n
					queue = append(queue, to)
				}
			}
		}
		n++
	}
	return part
}

func count32(part []int32) int {
	if len(part) == 0 {
		return 0
	}
	return int(slices.Max(part)) + 1
}

// adjacency lays out who is next to whom, the switches with the worst links first, or by name.
func (l *layout) adjacency(worst []float64, byName bool) grid {
	g := l.empty("Adjacency, worst first")
	g.both = true
	nodes := slices.Clone(l.fabric.Switches())
	if byName {
		g.title = "Adjacency, by name"
		slices.SortFunc(nodes, func(a, b graphs.NodeID) int { return cmp.Compare(l.fabric.NodeName(a), l.fabric.NodeName(b)) })
	} else {
		slices.SortStableFunc(nodes, func(a, b graphs.NodeID) int { return cmp.Compare(worst[b], worst[a]) })
	}
	at := make([]int32, l.fabric.NumNodes())
	for i := range at {
		at[i] = -1
	}
	for i, n := range nodes {
		at[n] = int32(i)
		g.rows = append(g.rows, l.fabric.NodeName(n))
	}
	g.cols = g.rows
	for id := range graphs.LinkID(l.fabric.NumLinks()) {
		a, b := at[l.fabric.Tail(id.Forward())], at[l.fabric.Head(id.Forward())]
		if a >= 0 && b >= 0 {
			g.rowOf[id], g.colOf[id] = a, b
		}
	}
	return g
}
