package generate

import (
	"fmt"

	"whichlink/graphs"
)

// DRingConfig says how large a DRing is.
type DRingConfig struct {
	Supernodes int
	Switches   int // in all supernodes together
	Hosts      int // a switch
	IPv6       bool
}

// DRing makes the flat ring of Harsh et al. (HotNets 2020): supernodes in a ring, and every switch linked to every switch of the
// supernodes one and two steps away. The switches are spread over the supernodes as evenly as can be, the larger ones among the
// smaller. With five supernodes or fewer, all are neighbours. The cables between two supernodes are a bundle.
func DRing(c DRingConfig) (*graphs.Fabric, error) {
	fail := func(format string, args ...any) (*graphs.Fabric, error) {
		return nil, fmt.Errorf("dring with %d supernodes, %d switches and %d hosts a switch: %w",
			c.Supernodes, c.Switches, c.Hosts, fmt.Errorf(format, args...))
	}
	switch {
	case c.Supernodes < 3:
		return fail("a ring has at least 3 supernodes")
	case c.Switches < c.Supernodes:
		return fail("a supernode has at least one switch")
	case c.Switches > maxSwitches:
		return fail("more than %d switches", maxSwitches)
	case c.Hosts < 0:
		return fail("a count cannot be negative")
	}
	largest := ceil(c.Switches, c.Supernodes)
	if err := tooMany("links", c.Supernodes, largest, 2*largest+c.Hosts); err != nil {
		return fail("%w", err)
	}
	a := newAssembly(fmt.Sprintf("dr%dx%d", c.Supernodes, c.Switches), c.IPv6)
	ring := make([]cluster, c.Supernodes)
	for i := range ring {
		size := (i+1)*c.Switches/c.Supernodes - i*c.Switches/c.Supernodes
		var err error
		if ring[i], err = a.cluster("s"+pad(i+1, c.Supernodes), size, largest); err != nil {
			return nil, err
		}
	}
	for i, from := range ring {
		for j := i + 1; j < len(ring); j++ {
			if steps := min(j-i, len(ring)-j+i); steps > 2 {
				continue
			}
			for _, x := range from.switches {
				for _, y := range ring[j].switches {
					if err := a.link(x, y, bundle(from.name, ring[j].name)); err != nil {
						return nil, err
					}
				}
			}
		}
	}
	if err := a.hostClusters(ring, c.Hosts); err != nil {
		return nil, err
	}
	return a.b.Build()
}
