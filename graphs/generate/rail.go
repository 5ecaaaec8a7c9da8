package generate

import (
	"fmt"

	"whichlink/graphs"
)

// RailConfig says how large a rail-optimised fabric is.
type RailConfig struct {
	GPUs  int
	Rails int // GPUs of a host, each with a network card and a rail of its own
	Ports int // of a switch, half of them down at most
	IPv6  bool
}

// Rail makes a rail-optimised fabric: the r-th network card of every host goes to a leaf of rail r (leaf3-2 is that of rail 3 in unit
// 2), the host's port eth3 to rail 3. The hosts are parted evenly into as few units, with one leaf a rail, as give each a port. Above, as
// few spines as will do, two where there is more than one host, have equally many links to each leaf, together at least as many as the
// leaf has down: the fabric does not block. The parallel links between a leaf and a spine are a trunk.
func Rail(c RailConfig) (*graphs.Fabric, error) {
	fail := func(format string, args ...any) (*graphs.Fabric, error) {
		return nil, fmt.Errorf("%d GPUs over %d rails with switches of %d ports: %w", c.GPUs, c.Rails, c.Ports, fmt.Errorf(format, args...))
	}
	switch {
	case c.GPUs < 1 || c.Rails < 1:
		return fail("at least one of each is needed")
	case c.GPUs%c.Rails != 0:
		return fail("a host has a GPU on each rail, so their number must be a multiple of the rails")
	case c.Ports < 2:
		return fail("a leaf needs a port down and one up")
	case c.Ports > maxLinks:
		return fail("more than %d ports", maxLinks)
	}
	if err := tooMany("links", c.GPUs, 2); err != nil {
		return fail("%w", err)
	}
	hosts := c.GPUs / c.Rails
	units := ceil(hosts, c.Ports/2)
	down := ceil(hosts, units)
	leaves := units * c.Rails
	if leaves > c.Ports {
		return fail("%d leaves, and a spine cannot reach more than its %d ports: this needs a third tier", leaves, c.Ports)
	}
	spines, width := railSpines(leaves, down, c.Ports)
	a := newAssembly(fmt.Sprintf("rail%dx%d", c.Rails, hosts), c.IPv6)
	a.switchSpeed, a.hostSpeed = GPUSpeed, GPUSpeed
	rails := make([][]graphs.NodeID, c.Rails)
	for r := range rails {
		var err error
		if rails[r], err = a.tier("leaf"+pad(r+1, c.Rails)+"-", "leaf", units); err != nil {
			return nil, err
		}
	}
	above, err := a.tier("spine", "spine", spines)
	if err != nil {
		return nil, err
	}
	if err := a.linkRails(rails, above, width); err != nil {
		return nil, err
	}
	for h := range hosts {
		nics := make([]graphs.NodeID, c.Rails)
		for r := range nics {
			nics[r] = rails[r][h/down]
		}
		if err := a.addHost("h"+pad(h/down+1, units)+"-"+pad(h%down+1, down), nics...); err != nil {
			return nil, err
		}
	}
	return a.b.Build()
}

// railSpines finds the fewest spines, two where possible, that give each leaf as many links up as down, and how many links each leaf has
// to each.
func railSpines(leaves, down, ports int) (spines, width int) {
	for spines = max(min(2, down), ceil(leaves*down, ports)); spines < down; spines++ {
		width = ceil(down, spines)
		if leaves*width <= ports && down+spines*width <= ports {
			return spines, width
		}
	}
	return spines, 1
}

// linkRails links the leaves, rail by rail, to all spines.
func (a *assembly) linkRails(rails [][]graphs.NodeID, spines []graphs.NodeID, width int) error {
	for r, leaves := range rails {
		for u, l := range leaves {
			for i, s := range spines {
				var groups []string
				if width > 1 {
					groups = append(groups, "trunk-leaf"+pad(r+1, len(rails))+"-"+pad(u+1, len(leaves))+"-spine"+pad(i+1, len(spines)))
				}
				for range width {
					if err := a.link(l, s, groups...); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}
