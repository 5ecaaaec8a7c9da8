package generate

import (
	"fmt"
	"math/rand/v2"

	"whichlink/graphs"
)

// RandomRegularConfig says how large a random regular fabric is.
type RandomRegularConfig struct {
	Switches int
	Degree   int // links of a switch to other switches
	Hosts    int // a switch
	Seed     uint64
	IPv6     bool
}

// connectTries bounds how often a random graph is drawn anew because it fell apart. Only degree 2 needs more than a few:
// a random 2-regular graph of 1,000 nodes is one ring in about one of twelve draws.
const connectTries = 1000

// maxRandom bounds the bit matrix of a random graph to 32 MiB.
const maxRandom = 1 << 14

// RandomRegular makes a Jellyfish (Singla et al., NSDI 2012): a random graph in which every switch has the same number of links to
// other switches, simple and connected. The same configuration always gives the same fabric.
func RandomRegular(c RandomRegularConfig) (*graphs.Fabric, error) {
	fail := func(format string, args ...any) (*graphs.Fabric, error) {
		return nil, fmt.Errorf("random regular with %d switches, degree %d and %d hosts a switch: %w",
			c.Switches, c.Degree, c.Hosts, fmt.Errorf(format, args...))
	}
	switch {
	case c.Switches < 2:
		return fail("at least 2 switches are needed")
	case c.Switches > maxRandom:
		return fail("more than %d switches", maxRandom)
	case c.Degree < 1 || c.Degree >= c.Switches:
		return fail("the degree must be between 1 and %d, as a switch has one link at most to any other", c.Switches-1)
	case c.Switches%2 == 1 && c.Degree%2 == 1:
		return fail("switches times degree is odd, and every link has two ends")
	case c.Degree == 1 && c.Switches > 2:
		return fail("with degree 1 the fabric falls apart into pairs")
	case c.Hosts < 0:
		return fail("a count cannot be negative")
	}
	if err := tooMany("links", c.Switches, (c.Degree+1)/2+c.Hosts); err != nil {
		return fail("%w", err)
	}
	w, err := randomWiring(c)
	if err != nil {
		return fail("%w", err)
	}
	a := newAssembly(fmt.Sprintf("rr%dd%d", c.Switches, c.Degree), c.IPv6)
	switches, err := a.tier("sw", "tor", c.Switches)
	if err != nil {
		return nil, err
	}
	for x, s := range switches {
		for y := x + 1; y < c.Switches; y++ {
			if w.joined(x, y) {
				if err := a.link(s, switches[y]); err != nil {
					return nil, err
				}
			}
		}
	}
	for i, s := range switches {
		if err := a.addHosts(s, pad(i+1, c.Switches), c.Hosts); err != nil {
			return nil, err
		}
	}
	return a.b.Build()
}

func randomWiring(c RandomRegularConfig) (*wiring, error) {
	rng := rand.New(rand.NewPCG(c.Seed, uint64(c.Switches)<<32|uint64(c.Degree)))
	for range connectTries {
		// A dense graph is drawn as what it lacks: with few links the draw seldom gets stuck.
		lacking := c.Switches - 1 - c.Degree
		w := newWiring(c.Switches, min(c.Degree, lacking))
		if !w.fill(rng) {
			continue
		}
		if lacking < c.Degree {
			w.invert()
		}
		if w.connected() {
			return w, nil
		}
	}
	return nil, fmt.Errorf("no connected graph in %d draws", connectTries)
}
