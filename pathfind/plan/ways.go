package plan

import (
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

// ways knows which arcs the flows of a pair may cross, forward or back. Hosts behind the same switch share its ways.
type ways struct {
	e     *pathfind.ECMP
	f     *graphs.Fabric
	gate  []gate // by node
	known map[[2]graphs.NodeID][]crossing
}

// A gate is where a host's packets enter the fabric: the switch behind its only link, else the host itself.
type gate struct {
	node graphs.NodeID
	in   graphs.ArcID // from host to switch; None where the gate is the host itself
}

func newWays(e *pathfind.ECMP) *ways {
	f := e.Fabric()
	w := &ways{e: e, f: f, gate: make([]gate, f.NumNodes()), known: map[[2]graphs.NodeID][]crossing{}}
	for n := range graphs.NodeID(f.NumNodes()) {
		w.gate[n] = gate{n, graphs.None}
		if out := f.Out(n); f.Node(n).IsHost() && len(out) == 1 && !f.Node(f.Head(out[0])).IsHost() {
			w.gate[n] = gate{f.Head(out[0]), out[0]}
		}
	}
	return w
}

// between returns the arcs that flows between the gates of two hosts may cross, either way; nil where they cannot reach each other or share their
// gate. The order of the hosts makes no difference: no arc lies both on a way there and on a way back.
func (w *ways) between(a, b graphs.NodeID) []crossing {
	x, y := w.gate[a].node, w.gate[b].node
	if x > y {
		x, y = y, x
	}
	key := [2]graphs.NodeID{x, y}
	if known, ok := w.known[key]; ok {
		return known
	}
	var cs []crossing
	if x != y {
		for _, shares := range [][]pathfind.ArcShare{w.e.Shares(x, y), w.e.Shares(y, x)} {
			for _, s := range shares {
				cs = append(cs, crossing{s.Arc, uint32(s.Share * one)})
			}
		}
	}
	w.known[key] = cs
	return cs
}

// reaches reports whether two hosts can reach each other.
func (w *ways) reaches(a, b graphs.NodeID) bool { return w.e.Distance(a, b) > 0 }

// connected returns those of some hosts whose link is up.
func (w *ways) connected(hosts []graphs.NodeID) []graphs.NodeID {
	var up []graphs.NodeID
	for _, h := range hosts {
		if w.e.Distance(h, w.gate[h].node) >= 0 {
			up = append(up, h)
		}
	}
	return up
}

// ownLink returns the host whose only link an arc belongs to.
func (w *ways) ownLink(a graphs.ArcID) (graphs.NodeID, bool) {
	for _, x := range []graphs.ArcID{a, a.Reverse()} {
		if h := w.f.Tail(x); w.gate[h].in == x {
			return h, true
		}
	}
	return graphs.None, false
}

// share returns the probability, in parts of one, that a flow of a pair crosses an arc.
func (w *ways) share(p pair, a graphs.ArcID) uint32 {
	if h, ok := w.ownLink(a); ok {
		if h == p.src || h == p.dst {
			return one
		}
		return 0
	}
	return shareOf(w.between(p.src, p.dst), a)
}

// flow returns all arcs that a flow may cross, with those of the hosts' own links.
func (w *ways) flow(src, dst graphs.NodeID) []crossing {
	cs := w.between(src, dst)
	all := make([]crossing, 0, len(cs)+4)
	for _, h := range []graphs.NodeID{src, dst} {
		if in := w.gate[h].in; in != graphs.None {
			all = append(all, crossing{in, one}, crossing{in.Reverse(), one})
		}
	}
	return append(all, cs...)
}

func shareOf(cs []crossing, a graphs.ArcID) uint32 {
	for _, c := range cs {
		if c.arc == a {
			return c.p
		}
	}
	return 0
}

// A tally keeps, for every arc, the distribution of the number of crossings as far as it matters: the probability of each count
// below c. Flows choose their paths independently, so adding one is a step of a Poisson binomial distribution.
type tally struct {
	c       int
	exactly []uint32 // c for each arc, parts of one
	lacking []uint32 // their sum: the probability of fewer than c crossings
	sum     []uint64 // expected crossings, parts of one
	missing uint64   // sum of lacking: expected arcs with fewer than c crossings
}

func newTally(arcs, c int) *tally {
	t := &tally{c: c, exactly: make([]uint32, arcs*c), lacking: make([]uint32, arcs), sum: make([]uint64, arcs), missing: uint64(arcs) * one}
	for a := range arcs {
		t.exactly[a*c], t.lacking[a] = one, one
	}
	return t
}

func (t *tally) add(cs []crossing) {
	for _, x := range cs {
		exactly := t.exactly[int(x.arc)*t.c:][:t.c]
		p := uint64(x.p)
		var sum, carry uint64
		for i, was := range exactly {
			moved := uint64(was) * p / one
			exactly[i] = uint32(uint64(was) - moved + carry)
			carry = moved
			sum += uint64(exactly[i])
		}
		t.missing = t.missing - uint64(t.lacking[x.arc]) + sum
		t.lacking[x.arc] = uint32(sum)
		t.sum[x.arc] += p
	}
}

func (t *tally) expected(a graphs.ArcID) float64 { return float64(t.sum[a]) / one }

// gain returns by how much a flow lessens the expected number of crossings that are missing: for each arc, the probability of crossing it times the
// probability that a crossing is still missing there.
func (t *tally) gain(cs []crossing) uint64 {
	var g uint64
	for _, x := range cs {
		g += uint64(x.p) * uint64(t.lacking[x.arc]) >> 20
	}
	return g
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
