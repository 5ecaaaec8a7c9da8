// Package cabling compares the cabling that was found with the cabling that was planned, port by port, and says which plugs to move.
//
// On a fabric with tiers a wrong cable mostly breaks a rule that one can see. On a random graph it breaks none: 480 wrong links of 32,000
// leave diameter, path lengths and spectral gap as they were. Hence nothing here looks at statistics of the graph. [Compare] holds every
// port against the plan; [Comparison.Mends] are the fewest moves of plugs that make the cabling what was planned; [Comparison.Rules] say
// where the plan itself has a structure, of tiers, pods or meta-nodes, what breaks it.
//
// Names are matched as graphs/spelling does it. What nobody saw is told apart from what is wrong: a node whose agent is silent, hosts on
// which LLDP does not run, names that may mean two things. None of these is guessed.
package cabling

import "whichlink/graphs"

// A Config says what to know before two fabrics are compared. The zero value compares ports by their names and expects light everywhere.
type Config struct {
	// Dark names ports (node:port), nodes and links of which no link is expected to be seen. It excuses what is dark, and nothing else.
	Dark []string
	// PlanNumbered and ObservedNumbered tell that the names of ports were made up by whoever read the fabric, as the file has none.
	// If either is true, nodes are compared: a link is right if the plan joins the same two nodes.
	PlanNumbered, ObservedNumbered bool
	// Loops are observed cables from a node to itself, which no fabric holds, by the names of their two ports (node:port).
	Loops [][2]string
}

// A Comparison is what [Compare] found. Ports and links have the plan's names where the plan knows them. Every planned link is counted
// once: right, wrong, missing, dark, or not to be seen for one of the reasons that Unseen, HostLinks and Unclear tell.
type Comparison struct {
	// Planned and Observed are the numbers of links.
	Planned, Observed int
	// Right counts the planned links that were found as planned. Of these, HalfNamed were found by node only: the observation gives no
	// name that a port could have to one of their ends.
	Right, HalfNamed int
	// Wrong are the ports at which another port was found than planned, WrongLinks the planned links that these belong to.
	Wrong      []Misplaced
	WrongLinks int
	// Missing are the planned links of which neither end was seen with any link.
	Missing []string
	// Unexpected are the links found between ports of which the plan knows neither.
	Unexpected []string
	// Dark are the ports that were expected to be dark and are, Lit those that were expected to be and are not. DarkLinks counts the
	// planned links that are dark for this reason. Unknown are the names of [Config].Dark that neither fabric has.
	Dark, Lit, Unknown []string
	DarkLinks          int
	// Unseen are nodes of the plan that the observation lacks; of UnseenLinks planned links nothing is known for that reason.
	Unseen      []Unseen
	UnseenLinks int
	// HostLinks counts the planned links to hosts where no host at all was observed.
	HostLinks int
	// Unclear are links found whose ends have names that may mean several ports or nodes, or none; UnclearLinks counts the planned links
	// of which nothing can be said for that reason. Ambiguous lists the names.
	Unclear      []string
	UnclearLinks int
	Ambiguous    []string
	// Mends are the fewest moves that make the wrong links right. Where a port has no name that one could go to there is none;
	// Unmended counts these groups of wrong links.
	Mends    []Mend
	Unmended int
	// Rules are the plan's rules that something breaks.
	Rules []Rule
}

// A Misplaced port was found with another at the far end of its cable than planned.
type Misplaced struct{ Port, Planned, Found string }

// An Unseen node is one of which the observation knows nothing, with the number of its planned links that were not seen.
type Unseen struct {
	Node  string
	Links int
}

// Moves counts the plugs that are to be moved.
func (c *Comparison) Moves() int {
	n := 0
	for i := range c.Mends {
		n += len(c.Mends[i].Moves)
	}
	return n
}

// Compare holds an observed fabric against its plan.
func Compare(plan, observed *graphs.Fabric, config Config) *Comparison {
	s := newSeating(plan, newObservation(observed, config.Loops), config)
	c := &Comparison{Planned: plan.NumLinks(), Observed: s.seen.links()}
	c.HalfNamed, c.Unclear, c.Ambiguous = s.halfNamed, s.unclearLinks, s.ambiguous
	dark := newDarkList(s, config.Dark)
	c.Dark, c.Lit, c.Unknown = dark.unlit, dark.lit, dark.unknown
	c.classify(s, dark)
	for _, e := range s.ends {
		a, b := e[0], e[1]
		if a != nowhere && s.isForeign(a) && s.isForeign(b) {
			c.Unexpected = append(c.Unexpected, s.linkName(a, b))
		}
	}
	c.mend(s, dark)
	c.Rules = rules(s)
	return c
}

// classify says of every planned link what became of it.
func (c *Comparison) classify(s *seating, dark *darkList) {
	hosts := s.anyHost()
	unseen := map[graphs.NodeID]int{}
	for l := range graphs.LinkID(s.plan.NumLinks()) {
		e := s.plan.Link(l).Ends
		p, q := socket(e[0]), socket(e[1])
		if s.found[p] == q {
			c.Right++
			continue
		}
		wrong := false
		for _, x := range []socket{p, q} {
			if s.found[x] != nowhere {
				wrong = true
				c.Wrong = append(c.Wrong, Misplaced{s.name(x), s.name(s.planned[x]), s.name(s.found[x])})
			}
		}
		a, b := s.plan.Port(e[0]).Node, s.plan.Port(e[1]).Node
		switch {
		case wrong:
			c.WrongLinks++
		case dark.ports[p] || dark.ports[q]:
			c.DarkLinks++
		case s.unclear[p] || s.unclear[q]:
			c.UnclearLinks++
		case !hosts && (s.plan.Node(a).IsHost() || s.plan.Node(b).IsHost()):
			c.HostLinks++
		case s.unseen(a) || s.unseen(b):
			c.UnseenLinks++
			for _, n := range []graphs.NodeID{a, b} {
				if s.unseen(n) {
					unseen[n]++
				}
			}
		default:
			c.Missing = append(c.Missing, s.plan.LinkName(l))
		}
	}
	for n := range graphs.NodeID(s.plan.NumNodes()) {
		if unseen[n] > 0 {
			c.Unseen = append(c.Unseen, Unseen{s.plan.NodeName(n), unseen[n]})
		}
	}
}
