package cabling

import (
	"fmt"
	"slices"
	"strings"

	"whichlink/graphs"
	"whichlink/graphs/spelling"
)

// A socket is a port of either fabric: the plan's ports have their own ids, and behind them stand the observed ports that the plan lacks.
type socket int32

// nowhere is the socket at the far end of no cable.
const nowhere socket = -1

// A seating says for every socket which other its cable was planned to lead to and where it was found to lead.
type seating struct {
	plan   *graphs.Fabric
	seen   *observation
	config Config

	// nodeOf is the plan's node of an observed one, or None.
	nodeOf []graphs.NodeID
	// observed tells which of the plan's nodes the observation has.
	observed []bool
	// vague tells which observed nodes have a name that may mean several of the plan's, or a MAC address for a name.
	vague []bool

	planned, found []socket
	// at is the port of the observation that was found to be the socket, or None.
	at []graphs.PortID
	// unclear sockets may have a link, of which it is not clear that it is theirs. Unnamed ones have no name that one could go to.
	unclear, unnamed []bool
	// ends are the sockets of an observed link; nowhere if it is unclear.
	ends [][2]socket

	halfNamed    int
	unclearLinks []string
	ambiguous    []string
}

func newSeating(plan *graphs.Fabric, seen *observation, config Config) *seating {
	s := &seating{plan: plan, seen: seen, config: config, ends: make([][2]socket, seen.links())}
	for p := range graphs.PortID(plan.NumPorts()) {
		l := plan.Port(p).Link
		e := plan.Link(l).Ends
		s.add(socket(e[0]^e[1]^p), graphs.None)
	}
	for l := range s.ends {
		s.ends[l] = [2]socket{nowhere, nowhere}
	}
	s.matchNodes()
	if config.PlanNumbered || config.ObservedNumbered {
		s.seatByNode()
	} else {
		s.seatByName()
	}
	return s
}

func (s *seating) add(planned socket, at graphs.PortID) socket {
	s.planned = append(s.planned, planned)
	s.found = append(s.found, nowhere)
	s.at = append(s.at, at)
	s.unclear = append(s.unclear, false)
	s.unnamed = append(s.unnamed, false)
	return socket(len(s.planned) - 1)
}

// addForeign makes a socket of an observed port that the plan lacks.
func (s *seating) addForeign(p graphs.PortID) socket { return s.add(nowhere, p) }

func (s *seating) isForeign(x socket) bool { return int(x) >= s.plan.NumPorts() }

// seat notes where an observed link is.
func (s *seating) seat(l graphs.LinkID, a, b socket) {
	s.ends[l] = [2]socket{a, b}
	s.found[a], s.found[b] = b, a
	e := s.seen.ends(l)
	s.at[a], s.at[b] = e[0], e[1]
}

// place is where a socket is: a node of the plan, or behind these one that only the observation knows.
func (s *seating) place(x socket) graphs.NodeID {
	if !s.isForeign(x) {
		return s.plan.Port(graphs.PortID(x)).Node
	}
	return s.placeOfSeen(s.seen.node(s.at[x]))
}

func (s *seating) placeOfSeen(n graphs.NodeID) graphs.NodeID {
	if at := s.nodeOf[n]; at != graphs.None {
		return at
	}
	return graphs.NodeID(s.plan.NumNodes()) + n
}

func (s *seating) placeName(n graphs.NodeID) string {
	if known := graphs.NodeID(s.plan.NumNodes()); n >= known {
		return s.seen.NodeName(n - known)
	}
	return s.plan.NodeName(n)
}

// name names a socket as the plan does. A port that the plan does not name has the name that was observed.
func (s *seating) name(x socket) string {
	switch {
	case s.isForeign(x), s.config.PlanNumbered && !s.config.ObservedNumbered && s.at[x] != graphs.None:
		return s.placeName(s.place(x)) + ":" + s.seen.port(s.at[x])
	default:
		return s.plan.PortName(graphs.PortID(x))
	}
}

// linkName names the link between two sockets: as the plan does if it is a planned one.
func (s *seating) linkName(a, b socket) string {
	if s.planned[a] == b && s.planned[b] == a && s.plan.Link(s.plan.Port(graphs.PortID(a)).Link).Ends[0] != graphs.PortID(a) {
		a, b = b, a
	}
	return s.name(a) + "--" + s.name(b)
}

// anyHost reports whether any of the plan's hosts was observed.
func (s *seating) anyHost() bool {
	return slices.ContainsFunc(s.plan.Hosts(), func(n graphs.NodeID) bool { return s.observed[n] })
}

// unseen reports whether nothing is known of a node. A node with a single link is not told from its link.
func (s *seating) unseen(n graphs.NodeID) bool {
	return !s.observed[n] && s.plan.Degree(n) > 1
}

// matchNodes finds for the observed nodes those of the plan.
func (s *seating) matchNodes() {
	s.nodeOf = make([]graphs.NodeID, s.seen.NumNodes())
	s.vague = make([]bool, s.seen.NumNodes())
	s.observed = make([]bool, s.plan.NumNodes())
	m := spelling.MatchNodes(nodeNames(s.seen.Fabric), nodeNames(s.plan))
	for n := range s.nodeOf {
		s.nodeOf[n] = graphs.None
		name := s.seen.NodeName(graphs.NodeID(n))
		if at, ok := m.Pairs[name]; ok {
			s.nodeOf[n], _ = s.plan.NodeByName(at)
			s.observed[s.nodeOf[n]] = true
		} else if _, ok := spelling.MAC(name); ok {
			s.vague[n] = true
		}
	}
	for _, a := range m.Ambiguous {
		s.ambiguous = append(s.ambiguous, tellAmbiguity("node", a, ""))
		for _, name := range a.First {
			n, _ := s.seen.NodeByName(name)
			s.vague[n] = true
		}
		for _, name := range a.Second {
			n, _ := s.plan.NodeByName(name)
			for _, p := range s.plan.Ports(n) {
				s.unclear[p] = true
			}
		}
	}
}

func nodeNames(f *graphs.Fabric) []string {
	names := make([]string, f.NumNodes())
	for n := range names {
		names[n] = f.NodeName(graphs.NodeID(n))
	}
	return names
}

// tellAmbiguity says which names found may mean which of the plan.
func tellAmbiguity(what string, a spelling.Ambiguity, node string) string {
	may := strings.Join(append(slices.Clone(a.Second), a.Rivals...), " or ")
	return fmt.Sprintf("%s %s may be %s of the plan", what, node+strings.Join(a.First, " and "), may)
}

// seatByName finds for the observed ports those of the plan by their names, and notes the links.
func (s *seating) seatByName() {
	of := make([]socket, s.seen.numPorts())
	for n := range graphs.NodeID(s.seen.NumNodes()) {
		s.matchPorts(n, of)
	}
	var halves []graphs.LinkID
	for l := range graphs.LinkID(s.seen.links()) {
		e := s.seen.ends(l)
		a, b := of[e[0]], of[e[1]]
		switch {
		case a == nowhere || b == nowhere, s.unnamed[a] && s.unnamed[b]:
			s.tellUnclear(l, a, b)
		case s.unnamed[a] || s.unnamed[b]:
			halves = append(halves, l)
		default:
			s.seat(l, a, b)
		}
	}
	s.seatHalves(halves, of)
}

func (s *seating) tellUnclear(l graphs.LinkID, ends ...socket) {
	s.unclearLinks = append(s.unclearLinks, s.seen.linkName(l))
	for _, x := range ends {
		if x != nowhere {
			s.unclear[x] = true
		}
	}
}

// matchPorts finds the sockets of an observed node's ports: nowhere for those whose name may mean several.
func (s *seating) matchPorts(n graphs.NodeID, of []socket) {
	at := s.nodeOf[n]
	ports := s.seen.ports(n)
	if at == graphs.None {
		for _, p := range ports {
			of[p] = nowhere
			if !s.vague[n] {
				of[p] = s.addForeign(p)
			}
		}
		return
	}
	planned := portNames(s.plan, at)
	seen := make([]string, len(ports))
	for i, p := range ports {
		seen[i] = s.seen.port(p)
	}
	byName := make(map[string]graphs.PortID, len(planned))
	for i, p := range s.plan.Ports(at) {
		byName[planned[i]] = p
	}
	pairs, vague := map[string]string(nil), map[string]bool{}
	if slices.ContainsFunc(seen, func(name string) bool { _, ok := byName[name]; return !ok }) {
		m := spelling.MatchPorts(seen, planned)
		pairs = m.Pairs
		for _, a := range m.Ambiguous {
			s.ambiguous = append(s.ambiguous, tellAmbiguity("port", a, s.plan.NodeName(at)+":"))
			for _, name := range a.First {
				vague[name] = true
			}
			for _, name := range a.Second {
				s.unclear[byName[name]] = true
			}
		}
	}
	numbers := slices.ContainsFunc(planned, isNumber)
	for i, p := range ports {
		name := seen[i]
		if pairs != nil {
			if to, ok := pairs[name]; ok {
				name = to
			}
		}
		q, ok := byName[name]
		switch _, mac := spelling.MAC(name); {
		case ok:
			of[p] = socket(q)
		case vague[name]:
			of[p] = nowhere
		default:
			of[p] = s.addForeign(p)
			s.unnamed[of[p]] = mac || isNumber(name) && !numbers
		}
	}
}

func portNames(f *graphs.Fabric, n graphs.NodeID) []string {
	ports := f.Ports(n)
	names := make([]string, len(ports))
	for i, p := range ports {
		names[i] = f.Port(p).Name
	}
	return names
}

// isNumber tells an interface index from a name.
func isNumber(name string) bool { return strings.Trim(name, "0123456789") == "" }
