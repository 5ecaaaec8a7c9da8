package spelling

// SameNodes puts the names of one set together that mean the same node: those that differ in case, and the one name with a domain with
// those that lack it. First holds for each name the first that means the same. Where two names differ in their domain, a third without one
// may mean either: it stays by itself, and the three are one of the ambiguous sets, with the name without domain in front.
func SameNodes(names []string) (first map[string]string, ambiguous [][]string) {
	type group struct{ short, long []string } // the first spelling of each, folded ones apart
	groups := map[string]*group{}
	var order []string
	folded := map[string]string{}
	first = map[string]string{}
	for _, name := range names {
		if _, ok := first[name]; ok {
			continue
		}
		full := fold(name)
		if was, ok := folded[full]; ok {
			first[name] = was
			continue
		}
		folded[full], first[name] = name, name
		key := Node(name)
		g := groups[key]
		if g == nil {
			g = &group{}
			groups[key] = g
			order = append(order, key)
		}
		if full == key {
			g.short = append(g.short, name)
		} else {
			g.long = append(g.long, name)
		}
	}
	one := map[string]string{}
	for _, key := range order {
		g := groups[key]
		all := append(g.short[:len(g.short):len(g.short)], g.long...)
		switch {
		case len(all) == 1:
		case len(g.long) > 1 && len(g.short) > 0:
			ambiguous = append(ambiguous, all)
		case len(g.long) <= 1:
			for _, name := range all {
				one[name] = key
			}
		}
	}
	leader := map[string]string{}
	for _, name := range names {
		key, ok := one[first[name]]
		if !ok {
			continue
		}
		if leader[key] == "" {
			leader[key] = first[name]
		}
		first[name] = leader[key]
	}
	return first, ambiguous
}
