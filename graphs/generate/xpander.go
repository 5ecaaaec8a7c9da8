package generate

import (
	"fmt"
	"math/rand/v2"

	"whichlink/graphs"
)

// XpanderConfig says how large an Xpander is.
type XpanderConfig struct {
	Degree int // links of a switch to other switches; there is one meta-node more
	Lift   int // switches of a meta-node
	Hosts  int // a switch
	Seed   uint64
	IPv6   bool
}

// Xpander makes a random lift of the complete graph (Valadarsky et al., CoNEXT 2016): degree+1 meta-nodes of as many switches as the
// lift says, between every two meta-nodes a random perfect matching, within a meta-node nothing. The cables between two meta-nodes are a bundle.
func Xpander(c XpanderConfig) (*graphs.Fabric, error) {
	fail := func(format string, args ...any) (*graphs.Fabric, error) {
		return nil, fmt.Errorf("xpander with degree %d, lift %d and %d hosts a switch: %w", c.Degree, c.Lift, c.Hosts, fmt.Errorf(format, args...))
	}
	switch {
	case c.Degree < 2:
		return fail("with a degree below 2 the fabric falls apart into pairs")
	case c.Lift < 1:
		return fail("a meta-node has at least one switch")
	case c.Hosts < 0:
		return fail("a count cannot be negative")
	case c.Degree >= maxRandom || c.Lift > maxRandom/(c.Degree+1):
		return fail("more than %d switches", maxRandom)
	}
	if err := tooMany("links", (c.Degree+1)*c.Lift, (c.Degree+1)/2+c.Hosts); err != nil {
		return fail("%w", err)
	}
	w, err := liftedWiring(c)
	if err != nil {
		return fail("%w", err)
	}
	a := newAssembly(fmt.Sprintf("xp%dd%d", w.n, c.Degree), c.IPv6)
	metas, err := a.clusters("m", c.Degree+1, c.Lift)
	if err != nil {
		return nil, err
	}
	for _, l := range w.links {
		from, to := metas[l[0]/c.Lift], metas[l[1]/c.Lift]
		if err := a.link(from.switches[l[0]%c.Lift], to.switches[l[1]%c.Lift], bundle(from.name, to.name)); err != nil {
			return nil, err
		}
	}
	if err := a.hostClusters(metas, c.Hosts); err != nil {
		return nil, err
	}
	return a.b.Build()
}

// liftedWiring draws the matchings anew until the fabric hangs together. Only degree 2 needs more than a few draws: there, one in as many
// as the lift gives a single ring.
func liftedWiring(c XpanderConfig) (*wiring, error) {
	rng := rand.New(rand.NewPCG(c.Seed, uint64(c.Lift)<<32|uint64(c.Degree)))
	for range connectTries {
		w := newWiring((c.Degree+1)*c.Lift, c.Degree)
		for x := range c.Degree + 1 {
			for y := x + 1; y <= c.Degree; y++ {
				for i, j := range rng.Perm(c.Lift) {
					w.join(x*c.Lift+i, y*c.Lift+j)
				}
			}
		}
		if w.connected() {
			return w, nil
		}
	}
	return nil, fmt.Errorf("no connected graph in %d draws", connectTries)
}
