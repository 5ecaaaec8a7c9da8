// Package whatif says what a fabric loses when some of it fails or is drained: who loses links, capacity and disjoint paths, which pairs are
// cut off, whether too many neighbours of one switch go at once, and what a traffic matrix puts on the links that are left.
//
// [Find] resolves the names of things, and [Ask] answers. What is drained leaves the forwarding first, without loss; then what
// fails is gone. The state after is the same for both, once routes have changed. Until they do, flows that cross what fails are lost.
//
// Ends are the switches that have hosts, or all switches where none has any; pairs are ordered pairs of ends that are left. A pair is
// measured in three ways:
//
//   - its capacity is the maximum flow between the two switches over the speeds of the links, in whatever way it would have to be routed;
//   - its usable capacity is what the pair may send, alone in the fabric, until the first of its links is full, its flows being shared
//     out as the forwarding model does;
//   - its disjoint paths are those of the model that have no link between switches in common.
//
// Capacity can only shrink. The others can grow: two switches with a link of their own have one shortest path, and many once it fails.
//
// The package is pure: the same question has the same answer, and chance comes from a seed.
package whatif

import (
	"runtime"
	"sync"
	"sync/atomic"

	"whichlink/graphs"
	"whichlink/pathfind"
)

// DefaultPairs is how many pairs are looked at if nothing else is said.
const DefaultPairs = 2000

// Config is a question. Fabric and Model must be set.
type Config struct {
	Fabric *graphs.Fabric
	// Model makes the forwarding model that is in force when the links that down reports are gone. It must not fail for some links
	// where it does not fail for others.
	Model func(down func(graphs.LinkID) bool) (pathfind.Model, error)
	// ByHost has the model asked about a host of each switch, and not about the switch: the routes of a FIB lead to hosts.
	ByHost      bool
	Fail, Drain []Thing
	// Matrix is the traffic whose load is told; nil for none.
	Matrix *Matrix
	// Neighbours is how many neighbours a switch may lose at once.
	Neighbours Limit
	// Pairs bounds how many pairs are looked at; 0 means DefaultPairs. Where there are more, some are drawn by Seed.
	Pairs int
	Seed  uint64
}

// An Answer says what is lost.
type Answer struct {
	// Model names the forwarding model.
	Model string
	// LinksGone counts the links that are gone, of all; SwitchesGone and HostsGone count nodes that failed or were drained themselves.
	LinksGone, SwitchesGone, HostsGone int
	// SpeedKnown is false where no link has a speed: all count 1 then, and capacities are in links.
	SpeedKnown bool
	Rule       Rule
	// Switches are those that are left and have lost links to other switches, or hosts; Hosts those that are left and have lost links. The
	// worst come first.
	Switches []Switch
	Hosts    []Host
	Pairs    Pairs
	// Load is nil if no matrix was given.
	Load *Load
}

// Ask answers a question. It takes an error only from the making of the model.
func Ask(c Config) (*Answer, error) {
	if c.Pairs == 0 {
		c.Pairs = DefaultPairs
	}
	d := newDamage(&c)
	m, err := newModels(&c, d)
	if err != nil {
		return nil, err
	}
	a := &Answer{Model: m.before.String()}
	for l := range d.down {
		if d.down[l] {
			a.LinksGone++
		}
		a.SpeedKnown = a.SpeedKnown || c.Fabric.Link(graphs.LinkID(l)).Speed > 0
	}
	for n, gone := range d.gone {
		switch {
		case gone && c.Fabric.Node(graphs.NodeID(n)).IsHost():
			a.HostsGone++
		case gone:
			a.SwitchesGone++
		}
	}
	a.Switches, a.Hosts = d.switches(), d.hosts()
	a.Rule = d.rule(c.Neighbours, a.Switches)
	a.Pairs = d.pairs(&c, m, a.Switches)
	if c.Matrix != nil {
		a.Load = d.load(&c, m)
	}
	return a, nil
}

// models are the states of forwarding, one after the other: as it is, with what is drained gone, and with all gone.
type models struct{ before, drained, after pathfind.Model }

func newModels(c *Config, d *damage) (m models, err error) {
	if m.before, err = c.Model(func(graphs.LinkID) bool { return false }); err != nil {
		return m, err
	}
	m.drained = m.before
	if len(c.Drain) > 0 {
		if m.drained, err = c.Model(func(l graphs.LinkID) bool { return d.drained[l] }); err != nil {
			return m, err
		}
	}
	m.after = m.drained
	if len(c.Fail) > 0 {
		m.after, err = c.Model(func(l graphs.LinkID) bool { return d.down[l] })
	}
	return m, err
}

// inParallel calls work for 0 to n-1 from as many goroutines as there are processors, each with what start returns to it.
func inParallel[T any](n int, start func() T, work func(own T, i int)) {
	var turn atomic.Int64
	var wait sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		wait.Go(func() {
			own := start()
			for i := int(turn.Add(1)) - 1; i < n; i = int(turn.Add(1)) - 1 {
				work(own, i)
			}
		})
	}
	wait.Wait()
}
