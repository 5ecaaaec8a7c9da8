package generate

import (
	"fmt"
	"slices"

	"whichlink/graphs"
)

// ThreeTierConfig says how large a three-tier Clos is. All links between switches have the same speed, so a cluster switch with more racks
// below than aggregation switches above is oversubscribed by the quotient.
type ThreeTierConfig struct {
	Zones           int
	Racks           int // a zone
	ClusterSwitches int // a zone
	Aggregation     int // aggregation switches, above all zones
	Hosts           int // a rack
	NICs            int // links of a host to its rack switch, one a GPU
	IPv6            bool
}

// cardPorts is how many ports a line card of a modular switch has. A switch with no more ports than that is none.
const cardPorts = 36

// ThreeTier makes a three-tier Clos for GPUs, as Meta's AI zones are (Gangidi et al., SIGCOMM 2024): in a zone, every rack switch
// (rtsw2-017) has a link to every cluster switch (ctsw2-03), and every cluster switch one to every aggregation switch (atsw11) above the
// zones. The links of a line card of a modular switch are a shared-risk group; cards are filled in the order of ports, the racks first.
func ThreeTier(c ThreeTierConfig) (*graphs.Fabric, error) {
	fail := func(format string, args ...any) (*graphs.Fabric, error) {
		return nil, fmt.Errorf("three tiers with %d zones of %d racks and %d cluster switches, %d aggregation switches and %d hosts a rack: %w",
			c.Zones, c.Racks, c.ClusterSwitches, c.Aggregation, c.Hosts, fmt.Errorf(format, args...))
	}
	switch {
	case c.Zones < 1 || c.Racks < 1 || c.ClusterSwitches < 1 || c.Aggregation < 1:
		return fail("at least one of each switch is needed")
	case c.Hosts < 0:
		return fail("a count cannot be negative")
	case c.Hosts > 0 && c.NICs < 1:
		return fail("a host has at least one link, not %d", c.NICs)
	}
	for _, factors := range [][]int{{c.Racks, c.ClusterSwitches}, {c.ClusterSwitches, c.Aggregation}, {c.Racks, c.Hosts, max(c.NICs, 1)}} {
		if err := tooMany("links", append(factors, c.Zones)...); err != nil {
			return fail("%w", err)
		}
	}
	a := newAssembly(fmt.Sprintf("tt%dx%dx%d", c.Zones, c.Racks, c.ClusterSwitches), c.IPv6)
	a.switchSpeed, a.hostSpeed = GPUSpeed, GPUSpeed
	above, err := a.tier("atsw", "agg", c.Aggregation)
	if err != nil {
		return nil, err
	}
	racks := make([][]graphs.NodeID, c.Zones)
	for z := range racks {
		if racks[z], err = a.addZone(c, pad(z+1, c.Zones)+"-", above); err != nil {
			return nil, err
		}
	}
	for z := range racks {
		for i, rack := range racks[z] {
			for h := range c.Hosts {
				name := "h" + pad(z+1, c.Zones) + "-" + pad(i+1, c.Racks) + "-" + pad(h+1, c.Hosts)
				if err := a.addHost(name, slices.Repeat([]graphs.NodeID{rack}, c.NICs)...); err != nil {
					return nil, err
				}
			}
		}
	}
	return a.b.Build()
}

// addZone adds the switches of a zone and all their links to each other and up. It returns the rack switches.
func (a *assembly) addZone(c ThreeTierConfig, zone string, above []graphs.NodeID) ([]graphs.NodeID, error) {
	racks, err := a.tier("rtsw"+zone, "rack", c.Racks)
	if err != nil {
		return nil, err
	}
	clusters, err := a.tier("ctsw"+zone, "cluster", c.ClusterSwitches)
	if err != nil {
		return nil, err
	}
	var groups []string
	for _, r := range racks {
		for i, s := range clusters {
			groups = a.card(groups[:0], s, "ctsw"+zone+pad(i+1, c.ClusterSwitches), c.Racks+c.Aggregation)
			if err := a.link(r, s, groups...); err != nil {
				return nil, err
			}
		}
	}
	for i, s := range clusters {
		for j, up := range above {
			groups = a.card(groups[:0], s, "ctsw"+zone+pad(i+1, c.ClusterSwitches), c.Racks+c.Aggregation)
			groups = a.card(groups, up, "atsw"+pad(j+1, c.Aggregation), c.Zones*c.ClusterSwitches)
			if err := a.link(s, up, groups...); err != nil {
				return nil, err
			}
		}
	}
	return racks, nil
}

// card adds to groups the line card of the next free port of a switch, where that many ports make it modular.
func (a *assembly) card(groups []string, n graphs.NodeID, name string, ports int) []string {
	if ports <= cardPorts {
		return groups
	}
	return append(groups, "card-"+name+"-"+pad(a.ports[n]/cardPorts+1, ceil(ports, cardPorts)))
}
