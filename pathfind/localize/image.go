package localize

import (
	"slices"

	"whichlink/graphs"
)

// Where ways are not known, planes of a Clos may look alike, and pods. Then a member of a hypothesis may be in another plane, but only if all others are that belong
// together with it: what the evidence tells is how they lie to each other.

const (
	// images bounds how many are looked at for one thing in place of another, placings how often a member is given a place on the way there, and allPlacings that of all.
	images, placings, allPlacings = 4, 2048, 1 << 16
	// adjacent is added to the number of common neighbours of two switches for each link between them.
	adjacent = 1 << 16
)

// A kin is what a search knows of how switches lie to each other, where ways are not known.
type kin struct {
	alike    map[int32][]int32        // by switch, those that look like it
	of       map[[2]graphs.NodeID]int // see kinship
	placings int                      // how many more there may be
}

func newKin() kin {
	return kin{map[int32][]int32{}, map[[2]graphs.NodeID]int{}, allPlacings}
}

// An imaging looks for members that lie to each other as some others do.
type imaging struct {
	*search
	comps  []int32 // those that have an image
	image  []int32 // as far as there is one
	accept func(image []int32) bool
	left   int // how many more placings there may be
	shown  int // how many images were looked at
}

// imageOf looks for members that lie to each other as some others do, with one component, or one switch at which some of them lie, in place of another, as far as nothing
// but what is loaded tells them apart. It ends when one is accepted.
func (s *search) imageOf(comps []int32, from, to int32, accept func(image []int32) bool) {
	m := imaging{search: s, comps: []int32{from}, image: []int32{to}, left: min(placings, s.like.kin.placings), accept: func(image []int32) bool {
		all := make([]int32, len(comps))
		k := 1
		for i, c := range comps {
			if c == from {
				all[i] = to
				continue
			}
			all[i] = image[k]
			k++
		}
		return accept(all)
	}}
	for _, c := range comps {
		if c != from {
			m.comps = append(m.comps, c)
		}
	}
	was := m.left
	m.place()
	s.like.kin.placings -= was - max(m.left, 0)
}

// place gives the next component each of its places, and those after it theirs, and reports whether it is to go on.
func (m *imaging) place() bool {
	k := len(m.image)
	if k == len(m.comps) {
		m.shown++
		return !m.accept(m.image) && m.shown < images
	}
	c := m.comps[k]
	try := func(y int32) bool {
		if m.left--; m.left < 0 {
			return false
		}
		if !m.fits(k, y) {
			return true
		}
		m.image = append(m.image, y)
		more := m.place()
		m.image = m.image[:k]
		return more
	}
	if !try(c) { // what may stay does
		return false
	}
	for _, y := range m.alike(c) {
		if y != c && !try(y) {
			return false
		}
	}
	return true
}

// alike returns what looks like a component.
func (s *search) alike(c int32) []int32 {
	if s.ix.kindOf(c) == 2 {
		return s.like.kin.alike[c]
	}
	if x := s.devs.choices[c]; x != nil {
		return x.of
	}
	return nil
}

// fits reports whether a component lies to the images of those before the k-th as that does to themselves.
func (m *imaging) fits(k int, y int32) bool {
	if slices.Contains(m.image[:k], y) {
		return false
	}
	own, there := m.switchesOf(m.comps[k]), m.switchesOf(y)
	for i := range k {
		other, image := m.switchesOf(m.comps[i]), m.switchesOf(m.image[i])
		for a := range own {
			for b := range other {
				if m.kinship(own[a], other[b]) != m.kinship(there[a], image[b]) {
					return false
				}
			}
		}
	}
	return true
}

// switchesOf returns the ends of an arc or a link, or a switch; none of what is no place.
func (s *search) switchesOf(c int32) []graphs.NodeID {
	switch s.ix.kindOf(c) {
	case 0, 1:
		ends := s.ix.endsOf(c)
		return ends[:]
	case 2:
		return []graphs.NodeID{graphs.NodeID(c - s.ix.nodes)}
	}
	return nil
}

// kinship tells how two nodes lie to each other: whether they are the same, by how many links they are joined, and how many neighbours they share.
func (s *search) kinship(a, b graphs.NodeID) int {
	if a == b {
		return -1
	}
	key := [2]graphs.NodeID{min(a, b), max(a, b)}
	kin, ok := s.like.kin.of[key]
	if !ok {
		for _, x := range s.ix.f.Out(a) {
			n := s.ix.head[x]
			if n == b {
				kin += adjacent
			}
			for _, y := range s.ix.f.Out(b) {
				if s.ix.head[y] == n {
					kin++
				}
			}
		}
		s.like.kin.of[key] = kin
	}
	return kin
}
