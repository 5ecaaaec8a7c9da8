package generate

import (
	"fmt"

	"whichlink/graphs"
)

// FatTreeConfig says how large a fat-tree is: K is the number of ports of its switches, even.
type FatTreeConfig struct {
	K    int
	IPv6 bool
}

// FatTree makes the three-tier fat-tree of Al-Fares et al. (SIGCOMM 2008): k pods of k/2 edge and k/2 aggregation switches,
// (k/2)² core switches, k/2 hosts an edge switch. The i-th aggregation switch of every pod connects to the i-th group of k/2 cores.
func FatTree(c FatTreeConfig) (*graphs.Fabric, error) {
	if c.K < 2 || c.K%2 != 0 {
		return nil, fmt.Errorf("fat-tree with k=%d: k must be even and at least 2", c.K)
	}
	half := c.K / 2
	if err := tooMany("links", 3, c.K, half, half); err != nil {
		return nil, fmt.Errorf("fat-tree with k=%d: %w", c.K, err)
	}
	a := newAssembly(fmt.Sprintf("ft%d", c.K), c.IPv6)
	cores, err := a.tier("core", "core", half*half)
	if err != nil {
		return nil, err
	}
	edges := make([][]graphs.NodeID, c.K)
	for p := range c.K {
		pod := pad(p+1, c.K) + "-"
		aggs, err := a.tier("agg"+pod, "agg", half)
		if err != nil {
			return nil, err
		}
		if edges[p], err = a.tier("edge"+pod, "edge", half); err != nil {
			return nil, err
		}
		if err := a.linkAll(edges[p], aggs); err != nil {
			return nil, err
		}
		for i, g := range aggs {
			if err := a.linkAll([]graphs.NodeID{g}, cores[i*half:(i+1)*half]); err != nil {
				return nil, err
			}
		}
	}
	for p := range edges {
		for i, e := range edges[p] {
			if err := a.addHosts(e, pad(p+1, c.K)+"-"+pad(i+1, half), half); err != nil {
				return nil, err
			}
		}
	}
	return a.b.Build()
}
