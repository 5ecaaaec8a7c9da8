package cabling

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"whichlink/graphs"
)

// A Rule is something that the plan keeps everywhere and that shows wrong cables without naming any port: tiers, pods, meta-nodes. Which
// there are is read from the plan; a random graph has none.
type Rule struct {
	// Name is tiers, parts or meta-nodes; Says is the rule in words.
	Name, Says string
	// Plan and Observed say what breaks it, a sentence each.
	Plan, Observed []string
}

// A span is a link between two switches of the plan: planned, or found.
type span struct {
	a, b graphs.NodeID
	name string
}

// rules checks the rules of the plan. Those that it has and that are broken nowhere are listed too: that is worth knowing.
func rules(s *seating) []Rule {
	var planned, found []span
	for l := range graphs.LinkID(s.plan.NumLinks()) {
		e := s.plan.Link(l).Ends
		planned = append(planned, span{s.plan.Port(e[0]).Node, s.plan.Port(e[1]).Node, s.plan.LinkName(l)})
	}
	for _, e := range s.ends {
		if e[0] != nowhere {
			found = append(found, span{s.place(e[0]), s.place(e[1]), s.linkName(e[0], e[1])})
		}
	}
	toOthers := func(x span) bool {
		n := graphs.NodeID(s.plan.NumNodes())
		return x.a >= n || x.b >= n || s.plan.Node(x.a).IsHost() || s.plan.Node(x.b).IsHost()
	}
	planned, found = slices.DeleteFunc(planned, toOthers), slices.DeleteFunc(found, toOthers)
	var all []Rule
	if t, ok := newTiers(s.plan, planned); ok {
		all = append(all, t.rule(found))
		all = append(all, t.partRules(planned, found)...)
	}
	if m, ok := newMetas(s.plan, planned); ok {
		all = append(all, m.rule(planned, found))
	}
	return all
}

// plainRoles say that a node is a switch, and nothing of its place.
var plainRoles = map[graphs.Role]bool{"switch": true, "router": true, "bridge": true}

// A rolePair is two roles in the order of the alphabet.
type rolePair struct{ a, b graphs.Role }

func (p rolePair) String() string { return fmt.Sprintf("%s and %s", p.a, p.b) }

// tiers are the pairs of roles that the plan joins, with the number of its links between them.
type tiers struct {
	plan   *graphs.Fabric
	joined map[rolePair]int
	pairs  []rolePair // in the order of the alphabet
}

func (t *tiers) pair(x span) rolePair {
	a, b := t.plan.Node(x.a).Role, t.plan.Node(x.b).Role
	return rolePair{min(a, b), max(a, b)}
}

// newTiers finds the tiers of a plan: at least two roles of switches, each of which says where it stands, and not each joined with each.
func newTiers(plan *graphs.Fabric, planned []span) (*tiers, bool) {
	t := &tiers{plan: plan, joined: map[rolePair]int{}}
	for _, x := range planned {
		t.joined[t.pair(x)]++
	}
	roles := map[graphs.Role]bool{}
	for p := range t.joined {
		roles[p.a], roles[p.b] = true, true
		t.pairs = append(t.pairs, p)
	}
	for r := range roles {
		if plainRoles[r] {
			return nil, false
		}
	}
	slices.SortFunc(t.pairs, func(x, y rolePair) int { return strings.Compare(x.String(), y.String()) })
	n := len(roles)
	return t, n > 1 && len(t.pairs) < n*(n+1)/2
}

// rule is that links join the tiers which the plan joins: none joins two leaves, none skips a tier, unless planned so.
func (t *tiers) rule(found []span) Rule {
	var words []string
	for _, p := range t.pairs {
		words = append(words, fmt.Sprintf("%s (%d)", p, t.joined[p]))
	}
	r := Rule{Name: "tiers", Says: "links join " + strings.Join(words, ", ") + ", and no others"}
	for _, x := range found {
		if p := t.pair(x); t.joined[p] == 0 {
			r.Observed = append(r.Observed, fmt.Sprintf("%s joins %s", x.name, p))
		}
	}
	return r
}

// partRules are those of the pairs of tiers between which the plan falls into parts: the pods of a fat-tree between edge and aggregation,
// its planes between aggregation and core. No link joins two parts.
func (t *tiers) partRules(planned, found []span) []Rule {
	var all []Rule
	for _, p := range t.pairs {
		if p.a == p.b {
			continue
		}
		part := newParts(t.plan.NumNodes())
		for _, x := range planned {
			if t.pair(x) == p {
				part.join(x.a, x.b)
			}
		}
		n := part.count()
		if n < 2 {
			continue
		}
		r := Rule{Name: "parts", Says: fmt.Sprintf("between %s the plan has %d parts, which no link joins", p, n)}
		for _, x := range found {
			if t.pair(x) == p && part.of(x.a) != part.of(x.b) {
				r.Observed = append(r.Observed, fmt.Sprintf("%s joins the parts of %s and %s", x.name, t.plan.NodeName(x.a), t.plan.NodeName(x.b)))
			}
		}
		all = append(all, r)
	}
	return all
}

// parts are disjoint sets of nodes.
type parts struct {
	parent []graphs.NodeID
	joined []bool
}

func newParts(n int) *parts {
	p := &parts{make([]graphs.NodeID, n), make([]bool, n)}
	for i := range p.parent {
		p.parent[i] = graphs.NodeID(i)
	}
	return p
}

func (p *parts) of(n graphs.NodeID) graphs.NodeID {
	for p.parent[n] != n {
		p.parent[n] = p.parent[p.parent[n]]
		n = p.parent[n]
	}
	return n
}

func (p *parts) join(a, b graphs.NodeID) {
	p.joined[a], p.joined[b] = true, true
	p.parent[p.of(a)] = p.of(b)
}

// count counts the parts of the nodes that were joined to any.
func (p *parts) count() int {
	n := 0
	for i := range p.parent {
		if p.joined[i] && p.of(graphs.NodeID(i)) == graphs.NodeID(i) {
			n++
		}
	}
	return n
}

var metaName = regexp.MustCompile(`^(m\d+)-sw\d+$`)

// metas are the meta-nodes of an Xpander.
type metas struct {
	of    []string // by node
	names []string
	each  int // links between any two
}

// newMetas finds the meta-nodes: every switch has the name of its own before its name, and most pairs of them have the same number of links.
func newMetas(plan *graphs.Fabric, planned []span) (*metas, bool) {
	m := &metas{of: make([]string, plan.NumNodes())}
	all := map[string]bool{}
	for _, n := range plan.Switches() {
		name := metaName.FindStringSubmatch(strings.ToLower(plan.NodeName(n)))
		if name == nil {
			return nil, false
		}
		m.of[n] = name[1]
		all[name[1]] = true
	}
	m.names = slices.Sorted(maps.Keys(all))
	often := map[int]int{}
	most := 0
	for _, n := range m.between(planned) {
		if often[n]++; often[n] > most {
			m.each, most = n, often[n]
		}
	}
	return m, len(m.names) > 2 && m.each > 0 && 4*most > len(m.names)*(len(m.names)-1)
}

// A metaPair is two meta-nodes in order.
type metaPair struct{ a, b string }

// between counts the links between any two meta-nodes, of which there may be none.
func (m *metas) between(links []span) map[metaPair]int {
	n := map[metaPair]int{}
	for i, a := range m.names {
		for _, b := range m.names[i+1:] {
			n[metaPair{a, b}] = 0
		}
	}
	for _, x := range links {
		if a, b := m.of[x.a], m.of[x.b]; a != b {
			n[metaPair{min(a, b), max(a, b)}]++
		}
	}
	return n
}

// rule is that of Xpander (Valadarsky et al., CoNEXT 2016): no links within a meta-node, equally many between any two.
func (m *metas) rule(planned, found []span) Rule {
	return Rule{
		Name: "meta-nodes", Says: fmt.Sprintf("no link within any of %d meta-nodes, %d between any two", len(m.names), m.each),
		Plan: m.breaks(planned, true), Observed: m.breaks(found, len(found) >= len(planned)),
	}
}

// breaks says what breaks the rule. Pairs with too few links are told where none is missing from sight.
func (m *metas) breaks(links []span, few bool) []string {
	var breaks []string
	for _, x := range links {
		if m.of[x.a] == m.of[x.b] {
			breaks = append(breaks, fmt.Sprintf("%s is within meta-node %s", x.name, m.of[x.a]))
		}
	}
	between := m.between(links)
	for i, a := range m.names {
		for _, b := range m.names[i+1:] {
			if n := between[metaPair{a, b}]; n > m.each || few && n < m.each {
				breaks = append(breaks, fmt.Sprintf("meta-nodes %s and %s are joined %d times, not %d", a, b, n, m.each))
			}
		}
	}
	return breaks
}
