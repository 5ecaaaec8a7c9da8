package generate

import (
	"fmt"
	"strings"

	"whichlink/graphs"
)

// TorusConfig says how large a torus is: the number of switches in each of two or three dimensions.
type TorusConfig struct {
	Dimensions []int
	Hosts      int // a switch
	IPv6       bool
}

// Torus makes a 2D or 3D torus: every switch is linked to the next in each dimension, and the last to the first. Where a dimension has
// but two switches, the link between them is not laid twice. A switch is named for its place, sw1-4-2. The cables that lead from one
// plane of the first dimension to the next, a rack to its neighbour, are a bundle.
func Torus(c TorusConfig) (*graphs.Fabric, error) {
	var sizes []string
	for _, d := range c.Dimensions {
		sizes = append(sizes, fmt.Sprint(d))
	}
	size := strings.Join(sizes, "x")
	fail := func(format string, args ...any) (*graphs.Fabric, error) {
		return nil, fmt.Errorf("torus of %s with %d hosts a switch: %w", size, c.Hosts, fmt.Errorf(format, args...))
	}
	if n := len(c.Dimensions); n != 2 && n != 3 {
		return fail("it has two or three dimensions, not %d", n)
	}
	for _, d := range c.Dimensions {
		if d < 2 {
			return fail("a dimension has at least 2 switches")
		}
	}
	if c.Hosts < 0 {
		return fail("a count cannot be negative")
	}
	if err := tooMany("links", append([]int{len(c.Dimensions) + c.Hosts}, c.Dimensions...)...); err != nil {
		return fail("%w", err)
	}
	a := newAssembly("torus"+size, c.IPv6)
	places := []string{""}
	for _, d := range c.Dimensions {
		var longer []string
		for _, p := range places {
			for i := range d {
				longer = append(longer, p+"-"+pad(i+1, d))
			}
		}
		places = longer
	}
	switches := make([]graphs.NodeID, len(places))
	for i, p := range places {
		var err error
		if switches[i], err = a.addSwitch("sw"+p[1:], "tor"); err != nil {
			return nil, err
		}
	}
	if err := a.linkTorus(switches, c.Dimensions); err != nil {
		return nil, err
	}
	for i, p := range places {
		if err := a.addHosts(switches[i], p[1:], c.Hosts); err != nil {
			return nil, err
		}
	}
	return a.b.Build()
}

// linkTorus links every switch to the next in each dimension; the last dimension runs fastest.
func (a *assembly) linkTorus(switches []graphs.NodeID, dimensions []int) error {
	for i := range switches {
		step := len(switches)
		for k, d := range dimensions {
			step /= d
			at := i / step % d
			if d == 2 && at == 1 {
				continue
			}
			next := (at + 1) % d
			var groups []string
			if k == 0 {
				groups = append(groups, bundle("x"+pad(at+1, d), "x"+pad(next+1, d)))
			}
			if err := a.link(switches[i], switches[i+(next-at)*step], groups...); err != nil {
				return err
			}
		}
	}
	return nil
}
