package generate

import (
	"fmt"

	"whichlink/graphs"
)

// MeshConfig says how large a direct-connect mesh is.
type MeshConfig struct {
	Blocks  int
	Uplinks int // of a block, a multiple of the number of other blocks
	OCSes   int // optical circuit switches, over which a block's uplinks are spread equally
	Hosts   int // a block
	IPv6    bool
}

// Mesh makes a direct mesh of aggregation blocks, as Jupiter is (Poutievski et al., SIGCOMM 2022). A block, whose inside does not
// block, is one node of role agg. Every two blocks have a trunk of equally many parallel links. Each link goes through an optical
// circuit switch, which forwards light and no packets: it is no node, but the shared-risk group of its links. A trunk takes as
// many different ones as it can.
func Mesh(c MeshConfig) (*graphs.Fabric, error) {
	fail := func(format string, args ...any) (*graphs.Fabric, error) {
		return nil, fmt.Errorf("mesh of %d blocks with %d uplinks and %d hosts each over %d optical circuit switches: %w",
			c.Blocks, c.Uplinks, c.Hosts, c.OCSes, fmt.Errorf(format, args...))
	}
	switch {
	case c.Blocks < 2:
		return fail("at least 2 blocks are needed")
	case c.Uplinks < 1 || c.OCSes < 1:
		return fail("at least one of each is needed")
	case c.Uplinks%(c.Blocks-1) != 0:
		return fail("the uplinks cannot be shared equally among %d other blocks", c.Blocks-1)
	case c.Uplinks%c.OCSes != 0:
		return fail("the uplinks of a block cannot be spread equally over the optical circuit switches")
	case c.Blocks%2 == 1 && c.Uplinks/c.OCSes%2 == 1:
		return fail("each optical circuit switch would join %d fibres from each of %d blocks two by two, and their product is odd",
			c.Uplinks/c.OCSes, c.Blocks)
	case c.Hosts < 0:
		return fail("a count cannot be negative")
	}
	if err := tooMany("links", c.Blocks, (c.Uplinks+1)/2+c.Hosts); err != nil {
		return fail("%w", err)
	}
	a := newAssembly(fmt.Sprintf("mesh%du%d", c.Blocks, c.Uplinks), c.IPv6)
	blocks, err := a.tier("block", "agg", c.Blocks)
	if err != nil {
		return nil, err
	}
	width := c.Uplinks / (c.Blocks - 1)
	for i, from := range blocks {
		for j := i + 1; j < len(blocks); j++ {
			for k := range width {
				ocs := (factor(c.Blocks, i, j)*width + k) % c.OCSes
				if err := a.link(from, blocks[j], "ocs"+pad(ocs+1, c.OCSes)); err != nil {
					return nil, err
				}
			}
		}
	}
	for i, b := range blocks {
		if err := a.addHosts(b, pad(i+1, c.Blocks), c.Hosts); err != nil {
			return nil, err
		}
	}
	return a.b.Build()
}

// factor splits the pairs i < j of n blocks into factors in which every block has the same number of pairs: of an even number, n-1 factors
// with one (a round of a tournament), of an odd number, (n-1)/2 with two (steps of the same length on a circle).
func factor(n, i, j int) int {
	switch {
	case n%2 == 1:
		return min(j-i, n-j+i) - 1
	case j == n-1:
		return 2 * i % (n - 1)
	default:
		return (i + j) % (n - 1)
	}
}
