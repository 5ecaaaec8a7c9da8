package whatif

import (
	"cmp"
	"slices"

	"whichlink/graphs"
	"whichlink/pathfind"
)

// A damage is what is gone of a fabric.
type damage struct {
	f     *graphs.Fabric
	speed []float64 // by link
	// drained and down tell links: those that are gone before anything fails, and all that are gone.
	drained, down []bool
	gone          []bool // by node
	ends          []graphs.NodeID
}

func newDamage(c *Config) *damage {
	f := c.Fabric
	d := &damage{
		f: f, speed: pathfind.Speeds(f), drained: make([]bool, f.NumLinks()), down: make([]bool, f.NumLinks()),
		gone: make([]bool, f.NumNodes()), ends: pathfind.Uniform(f).Ends,
	}
	for _, t := range c.Drain {
		d.take(t, d.drained)
	}
	copy(d.down, d.drained)
	for _, t := range c.Fail {
		d.take(t, d.down)
	}
	return d
}

func (d *damage) take(t Thing, links []bool) {
	for _, l := range t.links {
		links[l] = true
	}
	if t.node != graphs.None {
		d.gone[t.node] = true
	}
}

// A Switch is one that is left, and what it has lost.
type Switch struct {
	Node graphs.NodeID
	// Links are those to other switches, Capacity the sum of their speeds.
	Links, LinksLeft       int
	Capacity, CapacityLeft float64
	// Neighbours counts the switches that it was linked to, and Lost are those to which no link is left.
	Neighbours int
	Lost       []graphs.NodeID
	// Hosts are the ports of hosts that are linked to it, as far as they are left; HostCapacity is the sum of their links' speeds.
	Hosts        []graphs.PortID
	HostCapacity float64
	// HostsLost counts the links to hosts that are gone.
	HostsLost int
	// Rail is the number, from 1, that the links to this switch have among those of their hosts, if it is the same for all and the hosts have
	// others: the rail of a rail-optimised fabric. Else it is 0.
	Rail int
	// WorstLoss is the largest share of usable capacity that a pair loses which begins or ends here, and LeastDisjoint the least disjoint
	// paths that such a pair has left, of the pairs that were looked at; -1 where none was.
	WorstLoss     float64
	LeastDisjoint int
}

func (d *damage) switches() []Switch {
	var hurt []Switch
	for _, n := range d.f.Switches() {
		if s := d.switchState(n); !d.gone[n] && s.LinksLeft+len(s.Hosts) < d.f.Degree(n) {
			hurt = append(hurt, s)
		}
	}
	slices.SortStableFunc(hurt, func(x, y Switch) int {
		return cmp.Or(cmp.Compare(y.lostShare(), x.lostShare()), cmp.Compare(len(y.Lost), len(x.Lost)), cmp.Compare(y.HostsLost, x.HostsLost))
	})
	return hurt
}

// lostShare is the share of its capacity to other switches that a switch has lost.
func (s *Switch) lostShare() float64 { return lostOf(s.Capacity, s.CapacityLeft) }

// lostOf returns what share of something is lost, negative where it has grown.
func lostOf(before, after float64) float64 {
	if before == 0 {
		return 0
	}
	return 1 - after/before
}

func (d *damage) switchState(n graphs.NodeID) Switch {
	f := d.f
	s := Switch{Node: n, WorstLoss: -1, LeastDisjoint: -1}
	live := map[graphs.NodeID]bool{} // by neighbour: whether a link to it is left
	rails := map[int]bool{}
	for _, a := range f.Out(n) {
		m, speed, down := f.Head(a), d.speed[a.Link()], d.down[a.Link()]
		switch host := f.Node(m).IsHost(); {
		case host && down:
			s.HostsLost++
		case host:
			s.Hosts = append(s.Hosts, f.HeadPort(a))
			s.HostCapacity += speed
			rails[d.railOf(f.HeadPort(a))] = true
		default:
			s.Links++
			s.Capacity += speed
			live[m] = live[m] || !down
			if !down {
				s.LinksLeft++
				s.CapacityLeft += speed
			}
		}
	}
	s.Neighbours = len(live)
	for m, left := range live {
		if !left {
			s.Lost = append(s.Lost, m)
		}
	}
	slices.Sort(s.Lost)
	if len(rails) == 1 {
		for r := range rails {
			s.Rail = r
		}
	}
	return s
}

// railOf returns the number of a host's port among those that have links, from 1, or 0 where it is the only one.
func (d *damage) railOf(p graphs.PortID) int {
	at, linked := 0, 0
	for _, q := range d.f.Ports(d.f.Port(p).Node) {
		if d.f.Port(q).Link != graphs.None {
			linked++
		}
		if q == p {
			at = linked
		}
	}
	if linked == 1 {
		return 0
	}
	return at
}

// A Host is one that is left and has lost links.
type Host struct {
	Node        graphs.NodeID
	Links, Left int
	// Lost are its own ports whose links are gone.
	Lost []graphs.PortID
	// CutOff is true if no way is left from it to the largest part of the fabric.
	CutOff bool
}

// hosts also tells the hosts whose own links are up but lead nowhere.
func (d *damage) hosts() []Host {
	was, is := d.parts(nil), d.parts(d.down)
	main := d.largest(is)
	inMain := func(part []graphs.NodeID, n graphs.NodeID) bool { return main != graphs.None && part[n] == part[main] }
	var hurt []Host
	for _, n := range d.f.Hosts() {
		if d.gone[n] {
			continue
		}
		h := Host{Node: n, Links: d.f.Degree(n), CutOff: true}
		connected := false
		for _, a := range d.f.Out(n) {
			m := d.f.Head(a)
			connected = connected || main == graphs.None || inMain(was, m)
			if d.down[a.Link()] {
				h.Lost = append(h.Lost, d.f.TailPort(a))
				continue
			}
			h.Left++
			h.CutOff = h.CutOff && !inMain(is, m)
		}
		h.CutOff = h.CutOff && connected
		if len(h.Lost) > 0 || h.CutOff {
			hurt = append(hurt, h)
		}
	}
	slices.SortStableFunc(hurt, func(x, y Host) int {
		switch {
		case x.CutOff && !y.CutOff:
			return -1
		case y.CutOff && !x.CutOff:
			return 1
		}
		return cmp.Compare(x.Left*y.Links, y.Left*x.Links)
	})
	return hurt
}

// parts parts the nodes: two switches are in one part if a way is left between them. Every host, which carries no transit, is its own part.
// A part is called by its first node.
func (d *damage) parts(down []bool) []graphs.NodeID {
	part := make([]graphs.NodeID, d.f.NumNodes())
	for n := range part {
		part[n] = graphs.None
	}
	var queue []graphs.NodeID
	for first := range graphs.NodeID(len(part)) {
		if part[first] != graphs.None {
			continue
		}
		part[first] = first
		if d.f.Node(first).IsHost() {
			continue
		}
		queue = append(queue[:0], first)
		for i := 0; i < len(queue); i++ {
			for _, a := range d.f.Out(queue[i]) {
				m := d.f.Head(a)
				if part[m] == graphs.None && !d.f.Node(m).IsHost() && (down == nil || !down[a.Link()]) {
					part[m] = first
					queue = append(queue, m)
				}
			}
		}
	}
	return part
}

// largest returns a switch of the part that has most of the ends that are left, the first of them; None where no end is left.
func (d *damage) largest(part []graphs.NodeID) graphs.NodeID {
	size := map[graphs.NodeID]int{}
	best := graphs.NodeID(graphs.None)
	for _, n := range d.ends {
		if !d.gone[n] {
			size[part[n]]++
		}
	}
	for _, n := range d.ends {
		if !d.gone[n] && (best == graphs.None || size[part[n]] > size[part[best]]) {
			best = n
		}
	}
	return best
}
