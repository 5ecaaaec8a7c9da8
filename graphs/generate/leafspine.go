package generate

import (
	"fmt"

	"whichlink/graphs"
)

// LeafSpineConfig says how large a leaf-spine fabric is.
type LeafSpineConfig struct {
	Leaves int
	Spines int
	Hosts  int // a leaf
	IPv6   bool
}

// LeafSpine makes a two-tier Clos: every leaf has one link to every spine.
func LeafSpine(c LeafSpineConfig) (*graphs.Fabric, error) {
	switch {
	case c.Leaves < 1 || c.Spines < 1:
		return nil, fmt.Errorf("leaf-spine with %d leaves and %d spines: at least one of each is needed", c.Leaves, c.Spines)
	case c.Hosts < 0:
		return nil, fmt.Errorf("leaf-spine with %d hosts a leaf: a count cannot be negative", c.Hosts)
	}
	if err := tooMany("links", c.Leaves, max(c.Spines, c.Hosts)); err != nil {
		return nil, fmt.Errorf("leaf-spine with %d leaves, %d spines and %d hosts a leaf: %w", c.Leaves, c.Spines, c.Hosts, err)
	}
	a := newAssembly(fmt.Sprintf("ls%dx%d", c.Leaves, c.Spines), c.IPv6)
	leaves, err := a.tier("leaf", "leaf", c.Leaves)
	if err != nil {
		return nil, err
	}
	spines, err := a.tier("spine", "spine", c.Spines)
	if err != nil {
		return nil, err
	}
	if err := a.linkAll(leaves, spines); err != nil {
		return nil, err
	}
	for i, l := range leaves {
		if err := a.addHosts(l, pad(i+1, c.Leaves), c.Hosts); err != nil {
			return nil, err
		}
	}
	return a.b.Build()
}

// tier adds n switches of a role, numbered from 1.
func (a *assembly) tier(prefix string, role graphs.Role, n int) ([]graphs.NodeID, error) {
	ids := make([]graphs.NodeID, n)
	for i := range ids {
		id, err := a.addSwitch(prefix+pad(i+1, n), role)
		if err != nil {
			return nil, err
		}
		ids[i] = id
	}
	return ids, nil
}

// linkAll links every switch of one tier to every switch of the next.
func (a *assembly) linkAll(lower, upper []graphs.NodeID) error {
	for _, l := range lower {
		for _, u := range upper {
			if err := a.link(l, u); err != nil {
				return err
			}
		}
	}
	return nil
}
