package pathfind

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"whichlink/graphs"
)

// SpraypointConfig holds the parameters of Spraypoint. The zero value stands for those of the paper.
type SpraypointConfig struct {
	// P is how many neighbours a waypoint names as waypoints of the next level, and H how many next hops a node has; 0 means 4 and 2.
	P, H int
	// Levels is how many levels of waypoints there are above level 0; 0 means as many as the size of the fabric asks for.
	Levels int
	// Key is the secret that all switches share, from which they draw the same waypoints.
	Key uint64
}

// The parameters of the paper's evaluation.
const (
	defaultP = 4
	defaultH = 2
)

// String names the model as ParseSpec takes it.
func (c SpraypointConfig) String() string {
	c = c.withDefaults()
	s := fmt.Sprintf("spraypoint:p=%d,h=%d", c.P, c.H)
	if c.Levels > 0 {
		s += fmt.Sprintf(",levels=%d", c.Levels)
	}
	if c.Key > 0 {
		s += fmt.Sprintf(",key=%d", c.Key)
	}
	return s
}

func (c SpraypointConfig) withDefaults() SpraypointConfig {
	if c.P == 0 {
		c.P = defaultP
	}
	if c.H == 0 {
		c.H = defaultH
	}
	return c
}

// A Spraypoint is the routing of Resilient Network Graphs (Bernardi et al., "RNG: Flat Datacenter Networks at Scale", 2026, section 5).
// For every destination, nodes stand in levels:
//
//	WP0   the neighbours of the destination
//	WPl   for each node of WPl-1, p neighbours of it that are not in a level before, drawn by a hash
//	IR    the inner ring: neighbours of the last waypoints that are in no level yet
//	OR    the outer ring: everything else
//
// The source switch sprays over all of its links to switches, even if the destination is a neighbour. From then on, packets point: a
// node of WP0 sends them to the destination, over all links; any other to h of its neighbours in the level before, and in the outer ring to
// h neighbours that are nearer to the inner ring. A neighbour that is picked gets packets over all links to it, each as likely as any
// other. What is sprayed to a neighbour that points back comes once more through the source, which then points.
//
// Two VRFs do this in a switch: that of its hosts sprays, and that of its links to switches points. Here these are the states 0 and 1.
//
// A destination host is behind the switch that it is linked to; behind several, all of these are the destination, and WP0 is their
// neighbours. A switch that has the destination's links does not spray. A host sends over all of its links from where there is a way.
//
// Picks are by rendezvous hashing: every node ranks its neighbours by a hash of the key, the destination, itself and the neighbour, and
// takes the first that qualify. So when links fail, only picks change that lost their neighbour, or whose neighbour changed its level.
// Hashes are of names, so that they do not depend on the order of a file.
//
// The paper does not say what becomes of nodes that have no way to the inner ring but through waypoints, as there are in small or regular
// fabrics. Here they count to the outer ring, and point to the neighbours that are nearest to the destination.
type Spraypoint struct {
	*table
	cfg     SpraypointConfig
	levels  int
	hash    []uint64                 // by node: of its name
	ladders []atomic.Pointer[ladder] // by the root, where it is only one

	mu      sync.Mutex
	signed  []*ladder // those that hold signs, the oldest first; guarded by mu
	mostSet int       // how many of them may
}

// A ladder holds the level of every node for one destination: 0 for the switches that deliver, l+1 for WPl, then IR, and one more for every
// link from there; -1 where there is no way. Packets always point one level down.
type ladder struct {
	roots []graphs.NodeID
	to    uint64 // the hash of the roots' names
	level []int16
	outer map[graphs.NodeID]bool // nodes of the outer ring that stand in a level of waypoints
	signs atomic.Pointer[signs]
}

// Signs remember which way nodes point: by node, as many arcs plus one as a node has next hops, then 0. What is 0 from the beginning is not known
// yet. To find it takes a hash of every neighbour, at every node that is asked.
type signs []atomic.Uint32

// mostSigns bounds the memory of all signs together, in arcs of 4 bytes.
const mostSigns = 1 << 24

// NewSpraypoint returns Spraypoint as it is when the links that down reports are taken away; nil stands for none.
func NewSpraypoint(f *graphs.Fabric, down func(graphs.LinkID) bool, c SpraypointConfig) *Spraypoint {
	m := newMesh(f, down)
	s := &Spraypoint{
		cfg: c.withDefaults(), levels: c.Levels,
		hash: make([]uint64, f.NumNodes()), ladders: make([]atomic.Pointer[ladder], f.NumNodes()),
	}
	switches, links := 0, 0
	for n := range graphs.NodeID(f.NumNodes()) {
		s.hash[n] = hashName(f.NodeName(n))
		if m.host[n] {
			continue
		}
		switches++
		for _, a := range m.out(n) {
			if !m.host[m.head[a]] {
				links++
			}
		}
	}
	if s.levels == 0 {
		s.levels = spraypointLevels(switches, float64(links)/float64(max(1, switches)), s.cfg.P)
	}
	s.mostSet = mostSigns / max(1, len(s.hash)*s.cfg.H)
	s.table = newTable(&m, c.String(), 2, func(dst graphs.NodeID) field { return pointing{s, s.ladderTo(dst), dst} })
	return s
}

// hashName is FNV-1a of 64 bits.
func hashName(name string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(name) {
		h = (h ^ uint64(name[i])) * 1099511628211
	}
	return h
}

// mix is the finalizer of splitmix64.
func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

// The two things that picks are for; each ranks the neighbours differently.
const (
	forWaypoints = 1 + iota
	forNextHops
)

// picks returns the first n neighbours of a node that qualify, in the order of their hashes.
func (s *Spraypoint) picks(l *ladder, at graphs.NodeID, n int, purpose uint64, qualifies func(graphs.NodeID) bool) []graphs.NodeID {
	seed := mix(s.cfg.Key + mix(l.to+mix(s.hash[at]+purpose)))
	picked := make([]graphs.NodeID, 0, min(n, 8))
	ranks := make([]uint64, 0, min(n, 8))
	for _, a := range s.out(at) {
		m := s.head[a]
		if s.host[m] || !qualifies(m) {
			continue
		}
		rank := mix(seed ^ s.hash[m])
		i := len(picked)
		for i > 0 && (rank > ranks[i-1] || rank == ranks[i-1] && m < picked[i-1]) {
			i--
		}
		if i == n || slices.Contains(picked, m) {
			continue
		}
		if len(picked) == n {
			picked, ranks = picked[:n-1], ranks[:n-1]
		}
		picked, ranks = slices.Insert(picked, i, m), slices.Insert(ranks, i, rank)
	}
	return picked
}

// ladderTo returns the ladder of a destination.
func (s *Spraypoint) ladderTo(dst graphs.NodeID) *ladder {
	roots := s.roots(dst)
	if len(roots) != 1 {
		return s.climb(roots)
	}
	kept := &s.ladders[roots[0]]
	if l := kept.Load(); l != nil {
		return l
	}
	l := s.climb(roots)
	if !kept.CompareAndSwap(nil, l) {
		return kept.Load() // that of another caller: both are equal
	}
	return l
}

// signsOf returns the signs of a ladder, or nil where it must do without: one that is not kept itself, or a fabric too large. Beyond the bound the
// oldest signs are forgotten.
func (s *Spraypoint) signsOf(l *ladder) signs {
	if p := l.signs.Load(); p != nil {
		return *p
	}
	if len(l.roots) != 1 || s.mostSet == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := l.signs.Load(); p != nil {
		return *p
	}
	if len(s.signed) >= s.mostSet {
		s.signed[0].signs.Store(nil)
		s.signed = append(s.signed[:0], s.signed[1:]...)
	}
	s.signed = append(s.signed, l)
	made := make(signs, len(s.host)*s.cfg.H)
	l.signs.Store(&made)
	return made
}

// climb puts all nodes in their levels.
func (s *Spraypoint) climb(roots []graphs.NodeID) *ladder {
	l := &ladder{roots: roots, level: make([]int16, len(s.host))}
	for i := range l.level {
		l.level[i] = -1
	}
	for _, r := range roots {
		l.level[r] = 0
		l.to += s.hash[r]
	}
	level := s.unplaced(l, roots, 1)
	placed := append([]graphs.NodeID(nil), level...)
	top := int16(1)
	for range s.levels {
		var then []graphs.NodeID
		for _, n := range level {
			for _, m := range s.picks(l, n, s.cfg.P, forWaypoints, func(m graphs.NodeID) bool {
				return l.level[m] < 0 || l.level[m] > top
			}) {
				if l.level[m] < 0 {
					l.level[m] = top + 1
					then = append(then, m)
				}
			}
		}
		top++
		level = then
		placed = append(placed, level...)
	}
	for ring := top + 1; len(level) > 0 && ring < maxDistance; ring++ {
		level = s.unplaced(l, level, ring)
	}
	s.strays(l, placed, top)
	return l
}

// unplaced gives a level to the neighbours of some nodes that have none, and returns them.
func (s *Spraypoint) unplaced(l *ladder, nodes []graphs.NodeID, level int16) []graphs.NodeID {
	var found []graphs.NodeID
	for _, n := range nodes {
		for _, a := range s.out(n) {
			if m := s.head[a]; !s.host[m] && l.level[m] < 0 {
				l.level[m] = level
				found = append(found, m)
			}
		}
	}
	return found
}

// strays places the nodes that lie behind waypoints of lower levels only, the nearest first.
func (s *Spraypoint) strays(l *ladder, waypoints []graphs.NodeID, top int16) {
	var found []graphs.NodeID
	for level := int16(1); level < maxDistance; level++ {
		from := found
		for _, n := range waypoints {
			if l.level[n] == level {
				from = append(from, n)
			}
		}
		if len(from) == 0 && level > top {
			return
		}
		found = s.unplaced(l, from, level+1)
		for _, n := range found {
			if l.outer == nil {
				l.outer = map[graphs.NodeID]bool{}
			}
			l.outer[n] = true
		}
	}
}

// pointing forwards to one destination.
type pointing struct {
	s   *Spraypoint
	l   *ladder
	dst graphs.NodeID
}

func (p pointing) next(at graphs.NodeID, state int32, into []nextHop) []nextHop {
	s, l := p.s, p.l
	isDst := func(m graphs.NodeID) bool { return m == p.dst }
	switch level := l.level[at]; {
	case s.host[at]:
		if into = p.arcs(at, 0, isDst, into); len(into) > 0 {
			return into // host to host
		}
		return p.arcs(at, 0, func(m graphs.NodeID) bool { return l.level[m] >= 0 }, into)
	case level < 0:
		return into
	case level == 0:
		return p.arcs(at, 1, isDst, into)
	case state == 0:
		return p.arcs(at, 1, func(m graphs.NodeID) bool { return !s.host[m] }, into)
	default:
		return p.point(at, level, into)
	}
}

// arcs appends the arcs from a node to some of its neighbours.
func (p pointing) arcs(at graphs.NodeID, state int32, to func(graphs.NodeID) bool, into []nextHop) []nextHop {
	for _, a := range p.s.out(at) {
		if to(p.s.head[a]) {
			into = append(into, nextHop{arc: a, state: state})
		}
	}
	return even(into)
}

// point appends the next hops of a node that points.
func (p pointing) point(at graphs.NodeID, level int16, into []nextHop) []nextHop {
	s, l := p.s, p.l
	var own signs
	if all := s.signsOf(l); all != nil {
		own = all[int(at)*s.cfg.H:][:s.cfg.H]
		if a := own[0].Load(); a > 0 { // written last
			for i := 0; a > 0; a = own[i].Load() {
				into = append(into, nextHop{arc: graphs.ArcID(a - 1), state: 1})
				if i++; i == len(own) {
					break
				}
			}
			return even(into)
		}
	}
	first := len(into)
	if level == 1 {
		into = p.arcs(at, 1, func(m graphs.NodeID) bool { return l.level[m] == 0 }, into)
	} else {
		picked := s.picks(l, at, s.cfg.H, forNextHops, func(m graphs.NodeID) bool { return l.level[m] == level-1 })
		into = p.arcs(at, 1, func(m graphs.NodeID) bool { return slices.Contains(picked, m) }, into)
	}
	if found := into[first:]; len(found) <= len(own) { // several links may lead to a neighbour
		for i := range slices.Backward(found) {
			own[i].Store(uint32(found[i].arc) + 1)
		}
	}
	return into
}

// place ranks: source host, source switch, the outer ring from far to near, the inner ring, waypoints, the switches that deliver, the host.
func (p pointing) place(at graphs.NodeID, state int32) (rank int, name string) {
	const far = math.MaxInt16
	inner := p.s.levels + 2
	switch level := int(p.l.level[at]); {
	case at == p.dst:
		return far + 1, p.s.f.NodeName(at)
	case p.s.host[at]:
		return -2, string(graphs.RoleHost)
	case level == 0:
		return far, "deliver"
	case state == 0:
		return -1, "SPRAY"
	case level == inner:
		return far - level, "IR"
	case level > inner:
		return far - level, "OR"
	case p.l.outer[at]:
		return far - inner - 1, "OR"
	default:
		return far - level, "WP" + strconv.Itoa(level-1)
	}
}

// spraypointLevels returns how many levels of waypoints above level 0 a random graph of n switches needs with d links to other switches each: one in all but the
// very largest (RNG paper, section 7).
func spraypointLevels(n int, d float64, p int) int {
	if p < 2 || d <= 0 {
		return 1
	}
	return max(1, int(math.Ceil(math.Log(float64(n)/(2*d*d))/math.Log(float64(p)))))
}
