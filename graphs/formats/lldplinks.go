package formats

import "whichlink/graphs"

// reciprocate finds the port of a loose far end by what the far end itself says: the one of its ports that hears this end.
func (j *lldpJoin) reciprocate() {
	type view struct {
		at   lldpEnd
		from int
	}
	heard := map[view]lldpEnd{}
	several := map[view]bool{}
	for i := range j.seen {
		s := &j.seen[i]
		v := view{s.to, s.from.node}
		if s.loose {
			continue
		}
		if was, ok := heard[v]; ok && was != s.from {
			several[v] = true
		}
		heard[v] = s.from
	}
	for i := range j.seen {
		s := &j.seen[i]
		if v := (view{s.from, s.to.node}); s.loose && !several[v] {
			if far, ok := heard[v]; ok {
				s.to, s.loose = far, false
			}
		}
	}
}

// pairLoose joins what is left between two devices that both report: the one port of the one with the one port of the other. Where there
// are more, which is joined to which cannot be told; the links are taken as the device sees them that reports first.
func (j *lldpJoin) pairLoose() {
	type pair struct{ from, to int }
	loose := map[pair][]int{}
	for i := range j.seen {
		if s := &j.seen[i]; s.loose {
			loose[pair{s.from.node, s.to.node}] = append(loose[pair{s.from.node, s.to.node}], i)
		}
	}
	for i := range j.seen {
		s := &j.seen[i]
		there, back := pair{s.from.node, s.to.node}, pair{s.to.node, s.from.node}
		if !s.loose || len(loose[back]) == 0 {
			continue
		}
		if len(loose[there]) == 1 && len(loose[back]) == 1 {
			far := &j.seen[loose[back][0]]
			s.to, s.loose, far.to, far.loose = far.from, false, s.from, false
			continue
		}
		j.file.note("which of %d ports of %s is joined to which of %d of %s cannot be told: the latter are named as the former hear them",
			len(loose[there]), graphs.Clean(j.names[there.from]), len(loose[back]), graphs.Clean(j.names[there.to]))
		for _, k := range loose[back] {
			j.seen[k].dropped, j.seen[k].loose = true, false
		}
		delete(loose, back)
	}
}

// settle leaves every port one neighbour. Of several it takes the one that hears the port too, else the one that tells its name; if that
// does not do, the port leads to a segment which several share, and to no link.
func (j *lldpJoin) settle() {
	by := map[lldpEnd][]int{}
	var order []lldpEnd
	told := map[[2]lldpEnd]bool{}
	for i := range j.seen {
		s := &j.seen[i]
		if s.dropped {
			continue
		}
		if by[s.from] == nil {
			order = append(order, s.from)
		}
		if told[[2]lldpEnd{s.from, s.to}] {
			s.dropped = true // told twice, as by two outputs of one device
			continue
		}
		told[[2]lldpEnd{s.from, s.to}] = true
		by[s.from] = append(by[s.from], i)
	}
	only := func(at []int, good func(*sighting) bool) int {
		found := none
		for _, i := range at {
			if good(&j.seen[i]) {
				if found != none {
					return none
				}
				found = i
			}
		}
		return found
	}
	var shared []string
	for _, end := range order {
		at := by[end]
		if len(at) < 2 {
			continue
		}
		keep := only(at, func(s *sighting) bool { return told[[2]lldpEnd{s.to, s.from}] })
		if keep != none && j.segment(at, by[j.seen[keep].to]) {
			keep = none
		} else if keep == none {
			keep = only(at, func(s *sighting) bool { return s.told.name != "" })
		}
		if keep == none {
			shared = append(shared, j.endName(end))
		}
		for _, i := range at {
			j.seen[i].dropped = i != keep
		}
	}
	if len(shared) > 0 {
		j.file.note("several neighbours at one port, which is no link then: %s", few(shared))
	}
}

// segment reports whether what two ports hear shows that others are on the same wire: a third that both hear, or a crowd.
func (j *lldpJoin) segment(near, far []int) bool {
	const crowd = 16
	if len(near) > crowd || len(far) > crowd {
		return true
	}
	for _, a := range near {
		for _, b := range far {
			if j.seen[a].to.node == j.seen[b].to.node {
				return true
			}
		}
	}
	return false
}

// draw makes the fabric: first the links that both ends tell of, then those of one end that take no port from another.
func (j *lldpJoin) draw(name string) error {
	told := map[[2]lldpEnd]bool{}
	for i := range j.seen {
		if s := &j.seen[i]; !s.dropped {
			told[[2]lldpEnd{s.from, s.to}] = true
		}
	}
	taken := map[lldpEnd]bool{}
	var crossed, halves []string
	take := make([]bool, len(j.seen))
	for _, both := range []bool{true, false} {
		for i := range j.seen {
			s := &j.seen[i]
			reciprocal := told[[2]lldpEnd{s.to, s.from}]
			if s.dropped || reciprocal != both {
				continue
			}
			free := !taken[s.from] && (s.to.port == "" || !taken[s.to])
			switch {
			case free:
				take[i], taken[s.from] = true, true
				taken[s.to] = s.to.port != ""
				if _, reports := j.ports[s.to.node]; reports && !both {
					halves = append(halves, j.endName(s.from))
				}
			case !both:
				crossed = append(crossed, j.endName(s.from)+" and "+j.endName(s.to))
			}
		}
	}
	sk := newSketch()
	for _, h := range j.hosts {
		sk.node(j.names[j.host[h]])
	}
	for i := range j.seen {
		s := &j.seen[i]
		if s.told.management.IsValid() {
			if _, ok := sk.byName[j.names[s.to.node]]; ok || take[i] {
				sk.node(j.names[s.to.node]).Management = s.told.management
			}
		}
		if take[i] && s.told.station && j.ports[s.to.node] == nil {
			sk.node(j.names[s.to.node]).Role = graphs.RoleHost
		}
		if !take[i] {
			continue
		}
		ends := [2]socket{{j.names[s.from.node], plainPort(s.from.port)}, {j.names[s.to.node], plainPort(s.to.port)}}
		if err := sk.add(cable{ends: ends, file: s.told.file, line: s.told.line}); err != nil {
			return err
		}
	}
	j.own(sk)
	j.notes(sk, halves, crossed)
	return sk.build(j.file, name)
}

func (j *lldpJoin) notes(sk *sketch, halves, crossed []string) {
	f := j.file
	if n := len(j.unnamed); n > 0 {
		f.note("no file says whose neighbours it lists: taken for those of %s, after the %s", few(cleaned(j.unnamed)), plural(n, "file's name", "files' names"))
	}
	if len(halves) > 0 {
		f.note("%d links are told of by one end only, though the other reports too: at %s", len(halves), few(halves))
	}
	if len(crossed) > 0 {
		f.note("%d neighbours passed over, since a port of the two has another link: %s", len(crossed), few(crossed))
	}
	reports := map[string]bool{}
	for _, node := range j.host {
		reports[j.names[node]] = true
	}
	var quiet []string
	for _, n := range sk.nodes {
		if !reports[n.Name] {
			quiet = append(quiet, graphs.Clean(n.Name))
		}
	}
	if len(quiet) > 0 {
		f.note("known by their neighbours only, having reported nothing: %s", few(quiet))
	}
	if len(j.silent) > 0 {
		f.note("no output of %s", few(cleaned(j.silent)))
	}
	if len(j.foreign) > 0 {
		f.note("output that is not understood, passed over: %s", few(cleaned(j.foreign)))
	}
	if j.other > 0 {
		f.note("%d outputs of CDP were passed over", j.other)
	}
	switch {
	case f.observed:
		f.Loops = append(f.Loops, j.loops...)
	case len(j.loops) > 0:
		f.note("%d cables lead from a device to itself: passed over", len(j.loops))
	}
	if j.nameless > 0 {
		f.note("%d neighbours tell neither name nor chassis: passed over", j.nameless)
	}
}
