package diagnose

import (
	"net/netip"
	"slices"
	"time"

	"whichlink/graphs"
	"whichlink/pathfind"
	"whichlink/pathfind/localize"
)

// A trip is from where to where packets go, and over which links they come in there and may leave, as the addresses tell at nodes of several links; None where they do not.
type trip struct {
	src, dst graphs.NodeID
	out, in  graphs.ArcID
}

// there and home are the trips of a flow.
func (l *flowLog) there() trip { return l.trip(l.src, l.dst) }
func (l *flowLog) home() trip  { return l.trip(l.dst, l.src) }

// trip is that of a flow's packets between two nodes, which need not be its ends.
func (l *flowLog) trip(src, dst graphs.NodeID) trip {
	x := trip{src, dst, l.into(src), l.into(dst)}
	if x.out != graphs.None {
		x.out = x.out.Reverse()
	}
	return x
}

// into returns the arc over which a flow's packets come to one of its ends, if its address tells; else None.
func (l *flowLog) into(n graphs.NodeID) graphs.ArcID {
	switch n {
	case graphs.None:
	case l.dst:
		return l.intoDst
	case l.src:
		return l.intoSrc
	}
	return graphs.None
}

// arcTo returns the arc over which a node of several links gets what is sent to an address of one of its ports, or None.
func (s *Store) arcTo(a netip.Addr) graphs.ArcID {
	o, ok := s.fabric.Owner(a)
	if !ok || o.Port == graphs.None || s.fabric.Degree(o.Node) < 2 {
		return graphs.None
	}
	for _, out := range s.ecmp.Live(o.Node) {
		if s.fabric.TailPort(out) == o.Port {
			return out.Reverse()
		}
	}
	return graphs.None
}

// arrivals are how many ways that are known lead to a host of several links over the one of the address that packets are sent to, and how many over another.
type arrivals struct{ own, other int }

// add takes in what a record tells of packets that are sent to an address of the port at which an arc ends, or of none.
func (a *arrivals) add(w way, to graphs.ArcID) {
	switch arcs := w.alternatives; {
	case to == graphs.None || !w.certain():
	case arcs[0][len(arcs[0])-1] == to:
		a.own++
	default:
		a.other++
	}
}

// byAddress reports whether packets come in over the link of their address, as where leaves announce the subnets of their ports, and not over any that leads to the host, as where hosts
// announce their addresses themselves. Proven tells that it was seen, and not only never seen otherwise.
func (a arrivals) byAddress() (yes, proven bool) {
	const stray = 8 // a path that changes while it is traced may look as if it led elsewhere
	yes = stray*a.other <= a.own
	return yes, yes && a.own >= leastLeaving
}

// comesOverAny reports whether packets come to hosts of several links over any of these. Where too few were traced to tell, it may be so unless what was lost
// is explained far better otherwise: more is left open then, and nothing that is faulty ruled out.
func (s *Store) comesOverAny() bool {
	const better = 3 // nats
	own, proven := s.arrivals.byAddress()
	if !own || proven || !slices.ContainsFunc(s.order, func(l *flowLog) bool {
		_, lost := l.sums()
		return lost > 0 && (l.intoSrc != graphs.None || l.intoDst != graphs.None)
	}) {
		return !own
	}
	s.stormy = s.storms(nil) // what is lost in storms takes long to tell, and tells nothing of this
	cfg := localize.Config{Independent: s.together(), Together: s.diedAtOnce() >= onsetFlows}
	var score [2]float64
	var sent [2]int
	for i := range score {
		s.anyLink = i == 1
		o := s.observe(s.stormy, time.Time{})
		cfg.Paths = s.askedSets()
		score[i] = s.localize(o, cfg).Score
		for j := range o.list {
			sent[i] += o.list[j].Sent
		}
	}
	s.lists, s.stormy = nil, nil // of what was taken for granted just now
	return sent[0] == sent[1] && score[0] < score[1]+better
}

// comeIn leaves out of the ways of a flow what comes in over another link of a host than the one of its address.
func (l *flowLog) comeIn() {
	if l.intoSrc == graphs.None && l.intoDst == graphs.None {
		return
	}
	for i := range l.paths {
		p := &l.paths[i]
		p.path, p.back = p.path.into(l.intoDst), p.back.into(l.intoSrc)
	}
	for i := range l.echoes {
		e := &l.echoes[i]
		if len(e.path.alternatives) < 2 && len(e.back.alternatives) < 2 {
			continue
		}
		e.path, e.back = e.path.into(l.intoDst), e.back.into(l.intoSrc)
		if i > 0 {
			e.path, e.back = e.path.shared(l.echoes[i-1].path), e.back.shared(l.echoes[i-1].back)
		}
	}
}

// leastLeaving is of how many traced flows none must leave otherwise for all to be taken to leave as they do.
const leastLeaving = 8

// leaving is how packets leave hosts of several links: by the link of their source address, as those of RDMA do and where rules route by it, or by any that leads on (the strong and the weak host
// model of RFC 1122, 3.3.4.2).
type leaving struct{ strong, weak bool }

// leavings returns how packets may leave, as flows tell that were traced.
func (s *Store) leavings() leaving {
	own, other := 0, 0
	for _, l := range s.order {
		if l.intoSrc == graphs.None {
			continue
		}
		if path, _ := l.now(); path.certain() {
			if path.alternatives[0][0] == l.intoSrc.Reverse() {
				own++
			} else {
				other++
			}
		}
	}
	return leaving{other == 0 || own > other, other > 0 || own < leastLeaving}
}

// pathsOf lists the paths of a trip under the forwarding model, each as often as it is taken, and counts them; it lists none where they are too many or the model is not known.
func (s *Store) pathsOf(x trip) ([]pathfind.Path, float64) {
	switch {
	case s.model == nil:
		return nil, 0
	case s.model != pathfind.Model(s.ecmp):
		return s.model.Ways(x.src, x.dst).Paths(maxAlternatives)
	}
	return s.pathsBy(s.ecmp, x)
}

// pathsBy lists the paths of a trip by ECMP. Where packets may leave in either manner, those that only leave by the link of their address are as likely as all others.
func (s *Store) pathsBy(e *pathfind.ECMP, x trip) ([]pathfind.Path, float64) {
	if x.out == graphs.None || !s.leave.strong {
		return s.pathsInto(e, x.src, x)
	}
	strong, count := s.pathsInto(e, s.fabric.Head(x.out), x)
	for i, p := range strong {
		strong[i].Arcs = append([]graphs.ArcID{x.out}, p.Arcs...)
	}
	if !s.leave.weak {
		return strong, count
	}
	all, more := s.pathsInto(e, x.src, x)
	strong = slices.DeleteFunc(strong, func(p pathfind.Path) bool {
		return slices.ContainsFunc(all, func(q pathfind.Path) bool { return slices.Equal(p.Arcs, q.Arcs) })
	})
	if more += float64(len(strong)); all == nil || more > maxAlternatives || len(strong) == 0 {
		return all, more
	}
	for i := range all {
		all[i].Share /= 2
	}
	for _, p := range strong {
		all = append(all, pathfind.Path{Arcs: p.Arcs, Share: p.Share / 2})
	}
	return all, more
}

// pathsInto lists the shortest paths from a node to the end of a trip, over the link by which its packets come in there.
func (s *Store) pathsInto(e *pathfind.ECMP, from graphs.NodeID, x trip) ([]pathfind.Path, float64) {
	if x.in == graphs.None || s.anyLink {
		return e.Paths(from, x.dst, maxAlternatives)
	}
	at := s.fabric.Tail(x.in)
	if at == from {
		return []pathfind.Path{{Arcs: []graphs.ArcID{x.in}, Share: 1}}, 1
	}
	list, count := e.Paths(from, at, maxAlternatives)
	for i := range list {
		list[i].Arcs = append(list[i].Arcs, x.in)
	}
	return list, count
}
