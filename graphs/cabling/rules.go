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
	if r, ok := metaNodes(s.plan, planned, found); ok {
		all = append(all, r)
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

// metaNodes is the rule of Xpander (Valadarsky et al., CoNEXT 2016): no links within a meta-node, equally many between any two. It is there
// where every switch has the name of its meta-node before its own.
func metaNodes(plan *graphs.Fabric, planned, found []span) (Rule, bool) {
	meta := make([]string, plan.NumNodes())
	all := map[string]bool{}
	for _, n := range plan.Switches() {
		m := metaName.FindStringSubmatch(strings.ToLower(plan.NodeName(n)))
		if m == nil {
			return Rule{}, false
		}
		meta[n] = m[1]
		all[m[1]] = true
	}
	if len(all) < 3 {
		return Rule{}, false
	}
	names := slices.Sorted(maps.Keys(all))
	pairs := len(names) * (len(names) - 1) / 2
	each := len(planned) / pairs
	r := Rule{Name: "meta-nodes", Says: fmt.Sprintf("no links within any of %d meta-nodes, %d between any two", len(names), each)}
	r.Plan = breaksOfMeta(meta, names, planned, each)
	r.Observed = breaksOfMeta(meta, names, found, each)
	return r, true
}

func breaksOfMeta(meta, names []string, links []span, each int) []string {
	var breaks []string
	type pair struct{ a, b string }
	between := map[pair]int{}
	for _, x := range links {
		a, b := meta[x.a], meta[x.b]
		if a == b {
			breaks = append(breaks, fmt.Sprintf("%s is within meta-node %s", x.name, a))
		}
		between[pair{min(a, b), max(a, b)}]++
	}
	for i, a := range names {
		for _, b := range names[i+1:] {
			if n := between[pair{a, b}]; n != each {
				breaks = append(breaks, fmt.Sprintf("%d links between meta-nodes %s and %s, not %d", n, a, b, each))
			}
		}
	}
	return breaks
}
