package spelling

// A Matching says which names of one set mean which of another.
type Matching struct {
	// Pairs holds for a name of the first set the one of the second.
	Pairs map[string]string
	// Ambiguous are names of which several may mean the same: none of them is in Pairs.
	Ambiguous []Ambiguity
	// First and Second are the names that have no counterpart in the other set, in their order.
	First, Second []string
}

// An Ambiguity lists the names of the two sets that share a spelling and have no counterpart that is certain, in their order.
type Ambiguity struct {
	First, Second []string
	// Rivals are the names of either set that share the spelling too, but have their counterpart.
	Rivals []string
}

// MatchNodes matches the names of nodes: those that are the same, then those that differ in case, then those that differ in their domain.
func MatchNodes(first, second []string) Matching {
	return match(first, second, fold, Node)
}

// MatchPorts matches the names of the ports of one node: those that are the same, then those that differ in case, then in spelling.
func MatchPorts(first, second []string) Matching {
	return match(first, second, fold, Port)
}

// match tries one form after the other, the most exact first. A form pairs two names if no third one has it. One with a counterpart stays
// a rival in the forms that follow: of sw1.a and sw1.b the second is not sw1 for the reason that the first is somewhere else.
func match(first, second []string, forms ...func(string) string) Matching {
	m := Matching{Pairs: map[string]string{}}
	taken := map[string]bool{}
	for _, name := range second {
		taken[name] = false
	}
	for _, name := range first {
		if _, ok := taken[name]; ok {
			m.Pairs[name], taken[name] = name, true
		}
	}
	for i, form := range forms {
		groups, order := m.group(first, second, taken, form)
		for _, key := range order {
			g := groups[key]
			switch {
			case len(g.First) == 1 && len(g.Second) == 1 && len(g.Rivals) == 0:
				m.Pairs[g.First[0]], taken[g.Second[0]] = g.Second[0], true
			case i < len(forms)-1:
			case len(g.First) > 0 && len(g.Second) > 0:
				m.Ambiguous = append(m.Ambiguous, *g)
			default:
				m.First, m.Second = append(m.First, g.First...), append(m.Second, g.Second...)
			}
		}
	}
	return m
}

// group puts the names of both sets together by their form, in the order of the first set and then of the second.
func (m *Matching) group(first, second []string, taken map[string]bool, form func(string) string) (map[string]*Ambiguity, []string) {
	groups := map[string]*Ambiguity{}
	var order []string
	seen := map[string]bool{}
	of := func(name string) *Ambiguity {
		key := form(name)
		g := groups[key]
		if g == nil {
			g = &Ambiguity{}
			groups[key] = g
			order = append(order, key)
		}
		return g
	}
	for _, name := range first {
		if seen[name] {
			continue
		}
		seen[name] = true
		g := of(name)
		if _, ok := m.Pairs[name]; ok {
			g.Rivals = append(g.Rivals, name)
		} else {
			g.First = append(g.First, name)
		}
	}
	clear(seen)
	for _, name := range second {
		if seen[name] {
			continue
		}
		seen[name] = true
		g := of(name)
		switch {
		case taken[name] && m.Pairs[name] == name: // a rival already
		case taken[name]:
			g.Rivals = append(g.Rivals, name)
		default:
			g.Second = append(g.Second, name)
		}
	}
	return groups, order
}
