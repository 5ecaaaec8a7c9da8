package generate

import (
	"fmt"

	"whichlink/graphs"
)

// DragonflyConfig says how large a Dragonfly is.
type DragonflyConfig struct {
	Groups      int // 0 is the most that its global links can join: switches times global links, and one
	Switches    int // of a group
	GlobalLinks int // of a switch to other groups
	Hosts       int // a switch
	IPv6        bool
}

// Dragonfly makes the fabric of Kim et al. (ISCA 2008): groups of switches that are all linked to each other, and global links, equally
// many between every two groups. The global links of a group leave it in one trunk, and so are in the trunks of two groups.
func Dragonfly(c DragonflyConfig) (*graphs.Fabric, error) {
	fail := func(format string, args ...any) (*graphs.Fabric, error) {
		return nil, fmt.Errorf("dragonfly of groups of %d switches with %d global links and %d hosts each: %w",
			c.Switches, c.GlobalLinks, c.Hosts, fmt.Errorf(format, args...))
	}
	switch {
	case c.Switches < 1 || c.GlobalLinks < 1:
		return fail("at least one of each is needed")
	case c.Hosts < 0:
		return fail("a count cannot be negative")
	}
	groups, err := globalGroups(c.Groups, c.Switches, c.GlobalLinks)
	if err != nil {
		return fail("%w", err)
	}
	if err := tooMany("links", groups, c.Switches, c.Switches/2+c.GlobalLinks+c.Hosts); err != nil {
		return fail("%w", err)
	}
	a := newAssembly(fmt.Sprintf("df%da%dh%d", groups, c.Switches, c.GlobalLinks), c.IPv6)
	gs, err := a.clusters("g", groups, c.Switches)
	if err != nil {
		return nil, err
	}
	for _, g := range gs {
		for i, x := range g.switches {
			for _, y := range g.switches[i+1:] {
				if err := a.link(x, y); err != nil {
					return nil, err
				}
			}
		}
	}
	if err := a.linkGroups(gs, c.GlobalLinks); err != nil {
		return nil, err
	}
	if err := a.hostClusters(gs, c.Hosts); err != nil {
		return nil, err
	}
	return a.b.Build()
}

// DragonflyPlusConfig says how large a Dragonfly+ is.
type DragonflyPlusConfig struct {
	Groups      int // 0 is the most that its global links can join: spines times global links, and one
	Leaves      int // of a group
	Spines      int // of a group
	GlobalLinks int // of a spine to other groups
	Hosts       int // a leaf
	IPv6        bool
}

// DragonflyPlus makes the fabric of Shpiner et al. (HiPINEB 2017), a Dragonfly whose groups are leaf-spine fabrics: the spines have
// the global links, the leaves the hosts.
func DragonflyPlus(c DragonflyPlusConfig) (*graphs.Fabric, error) {
	fail := func(format string, args ...any) (*graphs.Fabric, error) {
		return nil, fmt.Errorf("dragonfly+ of groups of %d leaves with %d hosts and %d spines with %d global links: %w",
			c.Leaves, c.Hosts, c.Spines, c.GlobalLinks, fmt.Errorf(format, args...))
	}
	switch {
	case c.Leaves < 1 || c.Spines < 1 || c.GlobalLinks < 1:
		return fail("at least one of each is needed")
	case c.Hosts < 0:
		return fail("a count cannot be negative")
	}
	groups, err := globalGroups(c.Groups, c.Spines, c.GlobalLinks)
	if err != nil {
		return fail("%w", err)
	}
	for _, each := range [][2]int{{c.Spines, c.GlobalLinks}, {c.Leaves, c.Spines}, {c.Leaves, c.Hosts}} {
		if err := tooMany("links", groups, each[0], each[1]); err != nil {
			return fail("%w", err)
		}
	}
	a := newAssembly(fmt.Sprintf("dfp%dl%ds%dh%d", groups, c.Leaves, c.Spines, c.GlobalLinks), c.IPv6)
	leaves, spines := make([]cluster, groups), make([]cluster, groups)
	for i := range groups {
		name := "g" + pad(i+1, groups)
		leaves[i] = cluster{name: name, digits: c.Leaves}
		spines[i] = cluster{name: name}
		if leaves[i].switches, err = a.tier(name+"-leaf", "leaf", c.Leaves); err != nil {
			return nil, err
		}
		if spines[i].switches, err = a.tier(name+"-spine", "spine", c.Spines); err != nil {
			return nil, err
		}
		if err := a.linkAll(leaves[i].switches, spines[i].switches); err != nil {
			return nil, err
		}
	}
	if err := a.linkGroups(spines, c.GlobalLinks); err != nil {
		return nil, err
	}
	if err := a.hostClusters(leaves, c.Hosts); err != nil {
		return nil, err
	}
	return a.b.Build()
}

// globalGroups says how many groups there are. Their global links must be shared out equally.
func globalGroups(groups, switches, links int) (int, error) {
	if err := tooMany("global links of a group", switches, links); err != nil {
		return 0, err
	}
	global := switches * links
	switch {
	case groups == 0:
		return global + 1, nil
	case groups < 2:
		return 0, fmt.Errorf("at least 2 groups are needed, not %d", groups)
	case groups > global+1:
		return 0, fmt.Errorf("%d groups, but the %d global links of a group reach only %d others", groups, global, global)
	case global%(groups-1) != 0:
		return 0, fmt.Errorf("%d groups, and the %d global links of a group cannot be shared equally among %d others", groups, global, groups-1)
	}
	return groups, nil
}

// linkGroups lays the global links, perSwitch of them to a switch, in the arrangement called palmtree: the global ports of a group, in
// order, lead to the next group, the one after it and so on around the ring of groups, as many times around as there are ports for.
func (a *assembly) linkGroups(gs []cluster, perSwitch int) error {
	rounds := len(gs[0].switches) * perSwitch / (len(gs) - 1)
	for i, from := range gs {
		for j := i + 1; j < len(gs); j++ {
			to := gs[j]
			for r := range rounds {
				x, y := r*(len(gs)-1)+j-i-1, r*(len(gs)-1)+len(gs)-(j-i)-1
				if err := a.link(from.switches[x/perSwitch], to.switches[y/perSwitch], "trunk-"+from.name, "trunk-"+to.name); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
