package diagnose

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"

	"whichlink/graphs"
	"whichlink/internal/evidence"
	"whichlink/pathfind/localize"
)

// A stray is a port at which packets come in from a switch that the plan does not cable to it, as the answers of traces tell: at one TTL that switch answered,
// and at the next one the port.
type stray struct {
	port  graphs.PortID
	from  graphs.NodeID
	flows int
	at    time.Time
}

// nats is what it weighs for a wrong cable.
func (x *stray) nats() float64 { return passage{flows: x.flows}.nats() }

func (s *Store) strayWords(x *stray) string {
	return fmt.Sprintf("%s answers right behind %s, to %s", s.fabric.PortName(x.port), s.fabric.NodeName(x.from), flowsWord(x.flows))
}

// portOfAddress returns the port of a node whose address answered, or None.
func (s *Store) portOfAddress(r *evidence.Record, n graphs.NodeID) graphs.PortID {
	a, err := netip.ParseAddr(r.Address)
	if err != nil {
		return graphs.None
	}
	if o, ok := s.fabric.Owner(a); ok && o.Node == n {
		return o.Port
	}
	return graphs.None
}

// A follower is an answer of a port behind a switch.
type follower struct {
	at   time.Time
	flow *flowLog
	from graphs.NodeID
	// later and sooner tell whether the port answered after the switch or before it: if the path changed between the two, one is of the old path.
	later, sooner bool
}

// followers are the answers of each port behind the switch that answered one TTL before it. Nobody need be asked what the first switch of a host is that has one
// uplink; but if answers at the second TTL never come from where the plan cables that switch to, the host hangs elsewhere.
func (s *Store) followers() map[graphs.PortID][]follower {
	by, unasked, confirmed := map[graphs.PortID][]follower{}, map[graphs.PortID][]follower{}, map[graphs.NodeID]bool{}
	for _, l := range s.order {
		first := s.firstSwitch(l.src)
		var newest [256]*hop
		for i := range l.hops {
			h := &l.hops[i]
			if h.answered == 0 || h.node == graphs.None || h.ttl < 1 || h.ttl >= len(newest)-1 {
				continue
			}
			newest[h.ttl] = h
			if was := newest[h.ttl-1]; was != nil && h.port != graphs.None && h.at.Sub(was.at) < freshSighting {
				by[h.port] = append(by[h.port], follower{at: h.at, flow: l, from: was.node, later: h.at.After(was.at)})
			} else if h.ttl == 2 && h.port != graphs.None && first != graphs.None {
				unasked[h.port] = append(unasked[h.port], follower{h.at, l, first, true, true})
				confirmed[l.src] = confirmed[l.src] || s.behind(h.port) == first
			}
			if next := newest[h.ttl+1]; next != nil && next.port != graphs.None && h.at.Sub(next.at) < freshSighting {
				by[next.port] = append(by[next.port], follower{at: h.at, flow: l, from: h.node, sooner: h.at.After(next.at)})
			}
		}
	}
	for p, list := range unasked {
		by[p] = append(by[p], slices.DeleteFunc(list, func(x follower) bool { return !confirmed[x.flow.src] })...)
	}
	return by
}

// firstSwitch returns the switch of a host that has one uplink, or None.
func (s *Store) firstSwitch(host graphs.NodeID) graphs.NodeID {
	if host == graphs.None || len(s.fabric.Out(host)) != 1 {
		return graphs.None
	}
	return s.fabric.Head(s.fabric.Out(host)[0])
}

// behind returns the node that the plan has at the far end of a port's cable, or None.
func (s *Store) behind(p graphs.PortID) graphs.NodeID {
	if s.fabric.Port(p).Link == graphs.None {
		return graphs.None
	}
	return s.fabric.Head(s.fabric.ArcFrom(p))
}

// sightings is where ports answered, by port, and when either end of a link last did so behind the switch to which the plan cables it.
type sightings struct {
	by      map[graphs.PortID][]follower
	planned map[graphs.LinkID]time.Time
	// proven are switches that answer from the port at which a probe came in: to one prober from two and more, each behind the switch that the plan has there. Mixed are
	// those of which a port answered behind several, as where paths change, or where the port is that by which the answer leaves (RFC 1812, 4.3.2.4).
	proven, mixed map[graphs.NodeID]bool
}

func (s *Store) sightings() *sightings {
	x := &sightings{s.followers(), map[graphs.LinkID]time.Time{}, map[graphs.NodeID]bool{}, map[graphs.NodeID]bool{}}
	for p, all := range x.by {
		for _, y := range all {
			if l := s.fabric.Port(p).Link; y.from == s.behind(p) {
				x.planned[l] = later(x.planned[l], y.at)
			}
		}
	}
	type asked struct{ node, prober graphs.NodeID }
	ports := map[asked]graphs.PortID{}
	for p, all := range x.by {
		n := s.fabric.Port(p).Node
		since := x.planned[s.fabric.Port(p).Link]
		elsewhere := graphs.NodeID(graphs.None)
		for _, y := range all {
			if y.from == s.behind(p) {
				k := asked{n, y.flow.src}
				if other, known := ports[k]; known && other != p {
					x.proven[n] = true
				}
				ports[k] = p
				continue
			}
			if elsewhere == graphs.None {
				elsewhere = y.from
			}
			if y.from != elsewhere || !y.at.After(since) {
				x.mixed[n] = true
			}
		}
	}
	return x
}

// inward reports whether a switch answers from the port at which a probe came in, by its own answers or as nearly all others do.
func (x *sightings) inward(n graphs.NodeID) bool {
	return !x.mixed[n] && (x.proven[n] || len(x.proven) >= max(3, 3*len(x.mixed)))
}

// strays are the ports that answered behind one switch, and that another than the planned one, since either end of their cable was last seen as planned. Paths that
// change meanwhile show a port behind several switches, or in one order only, and so does a switch that answers from other ports than that at which the probe came in.
func (s *Store) strays() []stray {
	seen := s.sightings()
	var list []stray
	for _, p := range slices.Sorted(maps.Keys(seen.by)) {
		l := s.fabric.Port(p).Link
		all := slices.DeleteFunc(seen.by[p], func(y follower) bool { return !y.at.After(seen.planned[l]) })
		if len(all) == 0 || l == graphs.None || !seen.inward(s.fabric.Port(p).Node) || s.hearsPlanned(p) {
			continue
		}
		x := stray{port: p, from: all[0].from}
		flows := map[*flowLog]bool{}
		after, before := false, false
		for _, y := range all {
			flows[y.flow] = true
			x.at = later(x.at, y.at)
			after, before = after || y.later, before || y.sooner
		}
		if x.flows = len(flows); after && before {
			list = append(list, x)
		}
	}
	return list
}

// hearsPlanned reports whether a port itself says that its cable is where it should be: then it is the addresses that the fabric file has elsewhere.
func (s *Store) hearsPlanned(p graphs.PortID) bool {
	return slices.ContainsFunc(s.wired().wires, func(w wire) bool {
		return w.ends[0].id == p && w.ends[1].id != graphs.None && s.fabric.Port(w.ends[1].id).Node == s.behind(p)
	})
}

// straySuspects adds the links that traces find plugged otherwise than planned. That no flow crosses them as planned is the effect.
func (s *Store) straySuspects(d *Diagnosis, gone []withdrawal) []withdrawal {
	s.misplaced, s.nextTo = map[graphs.LinkID]bool{}, map[graphs.LinkID]bool{}
	for i := range d.Suspects {
		if l, ok := s.fabric.LinkByName(d.Suspects[i].Link); ok && d.Suspects[i].Symptom == Miswire && d.Suspects[i].Probability >= Named {
			s.misplaced[l] = true
		}
	}
	found := s.strays()
	wrong := map[graphs.LinkID]bool{}
	for i := range found {
		wrong[s.fabric.Port(found[i].port).Link] = true
	}
	heard := &cabled{}
	words := map[graphs.LinkID][]*stray{}
	for i := range found {
		x := &found[i]
		l := s.fabric.Port(x.port).Link
		words[l] = append(words[l], x)
		for _, a := range s.fabric.Out(x.from) {
			s.nextTo[a.Link()] = s.nextTo[a.Link()] || s.fabric.Head(a) == s.fabric.Port(x.port).Node
		}
		far := s.plugAt(found, x, func(k graphs.LinkID) bool { return k != l && (wrong[k] || isGone(gone, k)) })
		if far == graphs.None {
			continue
		}
		heard.wires = append(heard.wires, wire{ends: [2]wireEnd{s.endOf(x.port), s.endOf(far)}, at: x.at})
		if k := s.fabric.Port(far).Link; k != l {
			words[k] = append(words[k], x)
		}
	}
	if len(heard.wires) > 0 {
		heard.compare(s.fabric)
	}
	for l := range graphs.LinkID(s.fabric.NumLinks()) {
		if len(words[l]) > 0 {
			gone = s.straySuspect(d, l, words[l], heard, gone)
		}
	}
	s.rewire(d, found)
	return gone
}

func (s *Store) endOf(p graphs.PortID) wireEnd {
	x := s.fabric.Port(p)
	return wireEnd{s.fabric.NodeName(x.Node), x.Name, p}
}

// plugAt finds the port of the switch behind which a stray answered to which its cable leads: one that answered behind the stray's switch in turn; or that of the
// cable which the plan has between the switches behind which both ends of the stray's own link answered, as where two cables are exchanged; or the only one whose own cable is
// elsewhere, too; else None.
func (s *Store) plugAt(found []stray, x *stray, elsewhere func(graphs.LinkID) bool) graphs.PortID {
	at, other := s.fabric.Port(x.port).Node, s.fabric.HeadPort(s.fabric.ArcFrom(x.port))
	var mutual, exchanged, alone []graphs.PortID
	for _, p := range s.fabric.Ports(x.from) {
		if slices.ContainsFunc(found, func(y stray) bool { return y.port == p && y.from == at }) {
			mutual = append(mutual, p)
		}
		if slices.ContainsFunc(found, func(y stray) bool { return y.port == other && y.from == s.behind(p) }) {
			exchanged = append(exchanged, p)
		}
		if l := s.fabric.Port(p).Link; l != graphs.None && elsewhere(l) {
			alone = append(alone, p)
		}
	}
	for _, ports := range [][]graphs.PortID{mutual, exchanged, alone} {
		if len(ports) == 1 {
			return ports[0]
		}
	}
	return graphs.None
}

// straySuspect tells of one link, or puts to what ports told of it already what traces do.
func (s *Store) straySuspect(d *Diagnosis, l graphs.LinkID, words []*stray, heard *cabled, gone []withdrawal) []withdrawal {
	name := s.fabric.LinkName(l)
	out := Suspect{Kind: "link", ID: name, Link: name, Symptom: Miswire, Class: []string{name}}
	nats := 0.0
	var says []Evidence
	for _, x := range words {
		nats += x.nats()
		says = append(says, Evidence{s.instrument(), s.strayWords(x)})
		out.For += ", " + s.strayWords(x)
	}
	if i := slices.IndexFunc(d.Suspects, func(x Suspect) bool { return x.Link == name }); i >= 0 {
		x := &d.Suspects[i]
		x.Evidence = append(x.Evidence, says...)
		if x.Symptom == Miswire {
			x.Probability = max(x.Probability, probabilityOf(nats))
		}
		s.misplaced[l] = x.Symptom == Miswire && x.Probability >= Named
		return gone
	}
	out.Probability = probabilityOf(nats)
	out.For = fmt.Sprintf("planned is %s; %s", name, out.For[2:])
	out.Against = "what the ports themselves hear is not known: wrong addresses in the fabric file look the same"
	out.Evidence = []Evidence{{s.instrument(), out.For}}
	if isGone(gone, l) {
		out.Probability = min(surest, 1-(1-out.Probability)/4)
		out.Evidence = append(out.Evidence, Evidence{s.instrument(), "no traced path crosses it as planned"})
	}
	out.Next = []Step{{Why: "see it in the ports' own words, by LLDP", Do: "whichlink snmp discover SEED --out found.clab.yml && whichlink fabric diff " + s.fabricFile() + " found.clab.yml"}}
	if mend := s.mendOf(heard, l); mend != "" {
		out.Next = append(out.Next, Step{Why: "put the plugs where the plan wants them", Do: mend})
	}
	d.Suspects = append(d.Suspects, out)
	s.misplaced[l] = true
	return settle(gone, l)
}

// strays counts packets of which nobody knows where they went, since what is known of their ways comes from the plan alone, and cables are elsewhere.
func (o *observer) strays(c count) {
	o.unplanned.sent += c.sent
	o.unplanned.lost += c.lost
}

// onPlan leaves those of a flow's ways, as they were traced, that do not cross cables that are elsewhere than the plan has them.
func (s *Store) onPlan(l *flowLog, set []localize.Alternative) []localize.Alternative {
	if len(s.misplaced) == 0 {
		return set
	}
	return slices.DeleteFunc(set, func(w localize.Alternative) bool { return s.offPlan(l, w.Arcs) })
}

// offPlan reports whether a path crosses a cable that is elsewhere, or may: one between switches that have such a cable between them is only crossed for sure if its own
// port answered.
func (s *Store) offPlan(l *flowLog, arcs []graphs.ArcID) bool {
	return slices.ContainsFunc(arcs, func(a graphs.ArcID) bool {
		return s.misplaced[a.Link()] ||
			s.nextTo[a.Link()] && !slices.ContainsFunc(l.hops, func(h hop) bool { return h.answered > 0 && h.port == s.fabric.HeadPort(a) })
	})
}
