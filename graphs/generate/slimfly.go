package generate

import (
	"fmt"

	"whichlink/graphs"
)

// SlimFlyConfig says how large a Slim Fly is: Q is a power of a prime, but 2.
type SlimFlyConfig struct {
	Q     int
	Hosts int // a switch
	IPv6  bool
}

// SlimFly makes the McKay-Miller-Širáň graph of Besta and Hoefler (SC 2014): 2q² switches of degree (3q-δ)/2, where q = 4w+δ and δ is -1, 0
// or 1, and no two more than two links apart. There are q groups a01, a02, ... and q groups b01, b02, ... of q switches. Between each
// group of the first kind and each of the second run q cables, which are a bundle.
func SlimFly(c SlimFlyConfig) (*graphs.Fabric, error) {
	fail := func(format string, args ...any) (*graphs.Fabric, error) {
		return nil, fmt.Errorf("slim fly with q=%d and %d hosts a switch: %w", c.Q, c.Hosts, fmt.Errorf(format, args...))
	}
	f, err := newField(c.Q)
	switch {
	case err != nil:
		return fail("%w", err)
	case c.Q == 2:
		return fail("q must be 4w-1, 4w or 4w+1 for a whole w")
	case c.Hosts < 0:
		return fail("a count cannot be negative")
	}
	if err := tooMany("links", c.Q, c.Q, max((3*c.Q+1)/2, c.Hosts)); err != nil {
		return fail("%w", err)
	}
	s := newAssembly(fmt.Sprintf("sf%d", c.Q), c.IPv6)
	as, err := s.clusters("a", c.Q, c.Q)
	if err != nil {
		return nil, err
	}
	bs, err := s.clusters("b", c.Q, c.Q)
	if err != nil {
		return nil, err
	}
	within := mmsGenerators(f)
	for i, groups := range [][]cluster{as, bs} {
		for _, g := range groups {
			if err := s.linkWithin(f, g, within[i]); err != nil {
				return nil, err
			}
		}
	}
	for x, from := range as {
		for m, to := range bs {
			for y := range c.Q {
				// (0,x,y) and (1,m,c) are joined where y = mx+c.
				if err := s.link(from.switches[y], to.switches[f.sub(y, f.mul(m, x))], bundle(from.name, to.name)); err != nil {
					return nil, err
				}
			}
		}
	}
	if err := s.hostClusters(append(as, bs...), c.Hosts); err != nil {
		return nil, err
	}
	return s.b.Build()
}

// mmsGenerators tells which differences are links within the groups of either kind. The second set is the first times a primitive
// element; both hold with an element its negative.
func mmsGenerators(f *field) [2][]bool {
	sets := [2][]bool{make([]bool, f.q), make([]bool, f.q)}
	take := func(exponent int) {
		for i, set := range sets {
			set[f.power[(exponent+i)%(f.q-1)]] = true
		}
	}
	last := f.q - 2
	if f.q%4 == 3 {
		// The even powers up to the middle, and from there on the odd ones.
		last = (f.q - 3) / 2
		for e := (f.q - 1) / 2; e <= f.q-2; e += 2 {
			take(e)
		}
	}
	for e := 0; e <= last; e += 2 {
		take(e)
	}
	return sets
}

func (a *assembly) linkWithin(f *field, g cluster, differences []bool) error {
	for x, s := range g.switches {
		for y := x + 1; y < len(g.switches); y++ {
			if differences[f.sub(x, y)] {
				if err := a.link(s, g.switches[y]); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
