package plan

import (
	"encoding/binary"
	"slices"

	"whichlink/graphs"
	"whichlink/pathfind"
)

// Probabilities are integers here, parts of one, so that a plan is the same on every processor: some fuse the multiplication and the addition
// of floating point numbers, and others do not.
const one = 1 << 30

// A crossing says with which probability a flow crosses an arc.
type crossing struct {
	arc graphs.ArcID
	p   uint32 // parts of one
}

// ways knows which arcs the flows of a pair may cross, forward or back. Hosts behind the same switch share its ways. So do gates that are
// linked to the same nodes, all but for their own first and last arcs: the racks of a zone, of which there may be hundreds.
type ways struct {
	e     *pathfind.ECMP
	f     *graphs.Fabric
	gate  []gate            // by node
	arcs  [][]graphs.ArcID  // by gate: what leaves it towards other gates, in the order of where it goes
	rank  []int32           // by arc: its place there
	like  []graphs.NodeID   // by gate: the first of those that are linked as it is
	twin  []graphs.NodeID   // by gate that is a first: the second, or None
	known map[uint64]*inner // by two gates, each the first of its like

	shares []pathfind.ArcShare // of the newest inner
}

// A gate is where a host's packets enter the fabric: the switch behind all its links, else the host itself.
type gate struct {
	node graphs.NodeID
	own  []graphs.ArcID // live arcs from host to switch; none where the gate is the host itself
}

// An inner is what flows between two gates may cross, or between any that are like these. In ends an arc is told by its rank at its gate.
type inner struct {
	ends [2][]end
	mid  []crossing // of which the first still matter, see [chooser.add]
	open int        // how many those are
	// What is left of mid was crossed often enough when so many flows had been counted.
	closed []int32
	flows  int32
}

// An end is the arc of some rank, or its reverse.
type end struct {
	rank    int32
	reverse bool
	p       uint32
}

func (x end) of(arcs []graphs.ArcID) graphs.ArcID {
	if x.reverse {
		return arcs[x.rank].Reverse()
	}
	return arcs[x.rank]
}

// A between is an inner with the arcs of the gates that are meant. The zero between has no arcs.
type between struct {
	*inner
	arcs [2][]graphs.ArcID
}

func newWays(e *pathfind.ECMP) *ways {
	f := e.Fabric()
	w := &ways{
		e: e, f: f, gate: make([]gate, f.NumNodes()), arcs: make([][]graphs.ArcID, f.NumNodes()), rank: make([]int32, f.NumArcs()),
		like: make([]graphs.NodeID, f.NumNodes()), twin: make([]graphs.NodeID, f.NumNodes()), known: map[uint64]*inner{},
	}
	isGate := make([]bool, f.NumNodes())
	for n := range graphs.NodeID(f.NumNodes()) {
		w.gate[n] = gate{node: n}
		if !f.Node(n).IsHost() {
			continue
		}
		live := e.Live(n)
		if len(live) > 0 && !f.Node(f.Head(live[0])).IsHost() && !slices.ContainsFunc(live, func(a graphs.ArcID) bool { return f.Head(a) != f.Head(live[0]) }) {
			w.gate[n] = gate{f.Head(live[0]), live}
		}
		isGate[w.gate[n].node] = true
	}
	w.findTwins(isGate)
	return w
}

// fresh returns ways of the same fabric, for another goroutine.
func (w *ways) fresh() *ways {
	n := *w
	n.known, n.shares = map[uint64]*inner{}, nil
	return &n
}

// findTwins finds gates that are linked to the same nodes, with as many links to each. An exchange of two of them changes nothing else, and they
// are not linked to each other; so no shortest way to or from one leads over the other.
func (w *ways) findTwins(isGate []bool) {
	first := map[string]graphs.NodeID{}
	var key []byte
	for g := range graphs.NodeID(len(isGate)) {
		w.like[g], w.twin[g] = g, graphs.None
		if !isGate[g] {
			continue
		}
		key = key[:0]
		for _, a := range w.e.Live(g) {
			if h := w.f.Head(a); h == g || w.gate[h].node != g {
				w.arcs[g] = append(w.arcs[g], a)
			}
		}
		slices.SortStableFunc(w.arcs[g], func(a, b graphs.ArcID) int { return int(w.f.Head(a) - w.f.Head(b)) })
		for i, a := range w.arcs[g] {
			w.rank[a] = int32(i)
			key = binary.LittleEndian.AppendUint32(key, uint32(w.f.Head(a)))
		}
		if f, ok := first[string(key)]; !ok {
			first[string(key)] = g
		} else {
			w.like[g] = f
			if w.twin[f] == graphs.None {
				w.twin[f] = g
			}
		}
	}
}

// distance returns the number of links between a gate and a node, or -1.
func (w *ways) distance(g, n graphs.NodeID) int {
	switch {
	case g == n:
		return 0
	case w.like[g] == w.like[n]:
		if len(w.arcs[g]) == 0 {
			return -1
		}
		return 2
	}
	return w.e.Distance(n, w.like[g])
}

// between returns the arcs that flows between the gates of two hosts may cross, either way; none where they cannot reach each other or share their
// gate. The order of the hosts makes no difference: no arc lies both on a way there and on a way back.
func (w *ways) between(a, b graphs.NodeID) between {
	x, y := w.gate[a].node, w.gate[b].node
	d := w.distance(x, y)
	if d <= 0 {
		return between{}
	}
	if w.like[x] > w.like[y] || w.like[x] == w.like[y] && x > y {
		x, y = y, x
	}
	u, v := w.like[x], w.like[y]
	switch {
	case d == 1: // their arcs lead to each other, and there is nothing to exchange
		u, v = x, y
	case u == v:
		v = w.twin[u]
	}
	key := uint64(u)<<32 | uint64(v)
	in, ok := w.known[key]
	if !ok {
		in = w.inner(u, v)
		w.known[key] = in
	}
	return between{in, [2][]graphs.ArcID{w.arcs[x], w.arcs[y]}}
}

func (w *ways) inner(u, v graphs.NodeID) *inner {
	w.shares = w.e.AppendShares(w.e.AppendShares(w.shares[:0], u, v), v, u)
	var n [2]int
	for _, s := range w.shares {
		if tail, head := w.f.Tail(s.Arc), w.f.Head(s.Arc); tail == u || head == u {
			n[0]++
		} else if tail == v || head == v {
			n[1]++
		}
	}
	in := &inner{mid: make([]crossing, 0, len(w.shares)-n[0]-n[1]), open: len(w.shares) - n[0] - n[1]}
	for i := range n {
		in.ends[i] = make([]end, 0, n[i])
	}
	for _, s := range w.shares {
		p, tail, head := uint32(s.Share*one), w.f.Tail(s.Arc), w.f.Head(s.Arc)
		switch {
		case tail == u:
			in.ends[0] = append(in.ends[0], end{w.rank[s.Arc], false, p})
		case head == u:
			in.ends[0] = append(in.ends[0], end{w.rank[s.Arc.Reverse()], true, p})
		case tail == v:
			in.ends[1] = append(in.ends[1], end{w.rank[s.Arc], false, p})
		case head == v:
			in.ends[1] = append(in.ends[1], end{w.rank[s.Arc.Reverse()], true, p})
		default:
			in.mid = append(in.mid, crossing{s.Arc, p})
		}
	}
	return in
}

// append adds all crossings to a list.
func (b between) append(cs []crossing) []crossing {
	if cs = b.appendEnds(cs); b.inner != nil {
		cs = append(cs, b.mid...)
	}
	return cs
}

// appendEnds adds only those of the first and the last links.
func (b between) appendEnds(cs []crossing) []crossing {
	if b.inner == nil {
		return cs
	}
	for i, ends := range b.ends {
		for _, x := range ends {
			cs = append(cs, crossing{x.of(b.arcs[i]), x.p})
		}
	}
	return cs
}

// reaches reports whether two connected hosts can reach each other.
func (w *ways) reaches(a, b graphs.NodeID) bool {
	return a != b && w.distance(w.gate[a].node, w.gate[b].node) >= 0
}

// connected returns those of some hosts that have a link which is up.
func (w *ways) connected(hosts []graphs.NodeID) []graphs.NodeID {
	var up []graphs.NodeID
	for _, h := range hosts {
		if len(w.e.Live(h)) > 0 {
			up = append(up, h)
		}
	}
	return up
}

// ownLink returns the host behind whose gate an arc lies, either way.
func (w *ways) ownLink(a graphs.ArcID) (graphs.NodeID, bool) {
	for _, x := range []graphs.ArcID{a, a.Reverse()} {
		if h := w.f.Tail(x); slices.Contains(w.gate[h].own, x) {
			return h, true
		}
	}
	return graphs.None, false
}

// share returns the probability, in parts of one, that a flow of a pair crosses an arc.
func (w *ways) share(p pair, a graphs.ArcID) uint32 {
	if h, ok := w.ownLink(a); ok {
		if h == p.src || h == p.dst {
			return one / uint32(len(w.gate[h].own))
		}
		return 0
	}
	if !w.mayCross(p, a) {
		return 0
	}
	b := w.between(p.src, p.dst)
	for i, ends := range b.ends {
		for _, x := range ends {
			if x.of(b.arcs[i]) == a {
				return x.p
			}
		}
	}
	return shareOf(b.mid, a)
}

// mayCross reports whether an arc between gates lies on a shortest way between two hosts, there or back.
func (w *ways) mayCross(p pair, a graphs.ArcID) bool {
	x, y := w.gate[p.src].node, w.gate[p.dst].node
	d, tail, head := w.distance(x, y), w.f.Tail(a), w.f.Head(a)
	there := func(x, y graphs.NodeID) bool {
		dt, dh := w.distance(x, tail), w.distance(y, head)
		return dt >= 0 && dh >= 0 && dt+1+dh == d
	}
	return there(x, y) || there(y, x)
}

// flow returns all arcs that a flow may cross, with those of the hosts' own links.
func (w *ways) flow(src, dst graphs.NodeID) []crossing {
	return w.between(src, dst).append(w.appendOwn(nil, src, dst))
}

// appendOwn adds the own links of some hosts to a list.
func (w *ways) appendOwn(cs []crossing, hosts ...graphs.NodeID) []crossing {
	for _, h := range hosts {
		own := w.gate[h].own
		for _, a := range own {
			p := one / uint32(len(own))
			cs = append(cs, crossing{a, p}, crossing{a.Reverse(), p})
		}
	}
	return cs
}

func shareOf(cs []crossing, a graphs.ArcID) uint32 {
	for _, c := range cs {
		if c.arc == a {
			return c.p
		}
	}
	return 0
}

// mix makes a number that looks random of some others (SplitMix64, Steele et al., OOPSLA 2014).
func mix(words ...uint64) uint64 {
	var h uint64
	for _, w := range words {
		h += w + 0x9e3779b97f4a7c15
		h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
		h = (h ^ h>>27) * 0x94d049bb133111eb
		h ^= h >> 31
	}
	return h
}
