// Package plan says which flows to probe so that every arc of a fabric is crossed often enough, without knowing how its switches hash.
//
// A plan follows from the fabric, the configuration and a seed alone: every host that makes it gets the same one, so hosts need not
// talk to each other. A flow crosses the arcs of its forward path, and its answers those of the way back, which is a choice of its
// own; which of several equal paths it takes is chance. So a plan deals in probabilities: flows are added until every arc is
// crossed fewer than c times with a probability of no more than [Risk]. When the flows have been traced, hosts compare the crossings with their
// [Plan.Quota] and ask for [Plan.More].
package plan

import (
	"errors"
	"fmt"
	"slices"

	"whichlink/graphs"
	"whichlink/pathfind"
)

// Defaults of a Config, and the most that it may ask for.
const (
	DefaultCrossings = 3
	DefaultMaxFlows  = 64
	MaxCrossings     = 64 // bounds the memory of a tally
	MaxMaxFlows      = numPorts / 2
)

// Risk is the probability that an arc is crossed too seldom, down to which flows are added.
const Risk = 2e-4

// Source ports of planned flows: of the dynamic range (RFC 6335, 49152 to 65535) the part that Linux, by default, does not give to
// other programs (net.ipv4.ip_local_port_range ends at 60999).
const (
	FirstPort = 61000
	numPorts  = 1<<16 - FirstPort
	portStep  = 2657 // shares no factor with numPorts, so that all are used before one comes again
)

// Config says what a plan is to reach. The zero value is ready for use.
type Config struct {
	// Crossings is how often every arc is to be crossed; 0 means DefaultCrossings.
	Crossings int
	// Seed chooses among plans that are equally good.
	Seed uint64
	// Hosts run probes; nil means all. Every host may be probed.
	Hosts []graphs.NodeID
	// MaxFlows bounds the flows of a host; 0 means DefaultMaxFlows.
	MaxFlows int
	// Coverage is the share (0..1) of the arcs which flows can cross at all that is expected to be crossed so often, with no more flows than that
	// takes. 0 means all arcs but for Risk, and that every host has some flows, for arcs are told apart by many pairs.
	Coverage float64
}

// A Flow is probed from Src to Dst; the destination port is for the prober to choose, the same for all.
type Flow struct {
	Src, Dst graphs.NodeID
	SrcPort  uint16
}

// ErrHosts is returned by Make for a fabric in which no host can probe another.
var ErrHosts = errors.New("no host can probe another")

// A Plan is immutable and safe for concurrent use.
type Plan struct {
	f     *graphs.Fabric
	cfg   Config
	hosts []graphs.NodeID // that run probes, ascending
	flows map[graphs.NodeID][]Flow
	ways  *ways
	tally *tally
	never []graphs.ArcID // that no flow can cross
	quota map[graphs.NodeID]map[graphs.ArcID]int
	total []float64 // by node: TTL-expired answers that tracing all flows once asks for
}

// Make plans the flows of all hosts. It takes an error where the configuration cannot be met at all; an arc that no flow
// can cross is none: see [Plan.Unreachable].
func Make(e *pathfind.ECMP, cfg Config) (*Plan, error) {
	if cfg.Crossings == 0 {
		cfg.Crossings = DefaultCrossings
	}
	if cfg.MaxFlows == 0 {
		cfg.MaxFlows = DefaultMaxFlows
	}
	switch {
	case cfg.Crossings < 1 || cfg.Crossings > MaxCrossings:
		return nil, fmt.Errorf("plan: %d crossings, expected 1 to %d", cfg.Crossings, MaxCrossings)
	case cfg.MaxFlows < 1 || cfg.MaxFlows > MaxMaxFlows:
		return nil, fmt.Errorf("plan: at most %d flows a host, expected 1 to %d", cfg.MaxFlows, MaxMaxFlows)
	case !(cfg.Coverage >= 0 && cfg.Coverage <= 1):
		return nil, fmt.Errorf("plan: coverage %g is not a share of 0 to 1", cfg.Coverage)
	}
	f := e.Fabric()
	hosts := slices.Clone(cfg.Hosts)
	if cfg.Hosts == nil {
		hosts = f.Hosts()
	}
	slices.Sort(hosts)
	hosts = slices.Compact(hosts)
	for _, h := range hosts {
		if h < 0 || int(h) >= f.NumNodes() || !f.Node(h).IsHost() {
			return nil, fmt.Errorf("plan: node %d is not a host", h)
		}
	}
	c := choose(e, cfg, hosts)
	if len(c.chosen) == 0 {
		return nil, fmt.Errorf("plan: %w (hosts that are connected: %d, that are to run probes: %d)", ErrHosts, len(c.all), len(hosts))
	}

	p := &Plan{
		f: f, cfg: cfg, hosts: hosts, tally: c.tally, never: c.unreachable(),
		ways: c.ways, flows: make(map[graphs.NodeID][]Flow, len(hosts)),
	}
	for _, x := range c.chosen {
		n := len(p.flows[x.src])
		p.flows[x.src] = append(p.flows[x.src], Flow{x.src, x.dst, p.Port(x.src, n)})
	}
	p.total = p.countRequests()
	p.quota = p.shareOut()
	p.ways.known = nil // its users have their own
	return p, nil
}

// choose picks the pairs of a plan. Where hosts cannot have as many flows as it takes to give arcs to many pairs, it is thrifty with them; and where
// that leaves arcs lacking too, it takes what leaves fewer.
func choose(e *pathfind.ECMP, cfg Config, hosts []graphs.NodeID) *chooser {
	w := newWays(e)
	c := newChooser(w, cfg, hosts)
	if len(c.all) < 2 || len(c.probes) == 0 {
		return c
	}
	if cfg.Coverage > 0 {
		return c.run(c.thrifty)
	}
	lavish := func(c *chooser) bool {
		c.run(func() {
			c.spread()
			c.mend()
		})
		return !c.exhausted()
	}
	scarce := c.scarce()
	if !scarce && lavish(c) {
		return c
	}
	t := newChooser(w, cfg, hosts)
	if t.run(t.thrifty); !t.lacks() {
		return t
	}
	if scarce {
		lavish(c)
	}
	if c.tally.missing <= t.tally.missing {
		return c
	}
	return t
}

// run chooses, and adds up what came of it.
func (c *chooser) run(choose func()) *chooser {
	choose()
	c.tally.settle(c.ways)
	return c
}

// Port returns the source port of the n-th flow that a host adds: those of the plan first, then those of [Plan.More]. Up to 4,536 of them differ.
func (p *Plan) Port(h graphs.NodeID, n int) uint16 {
	start := int(mix(p.cfg.Seed, uint64(h), 'p') % numPorts)
	return uint16(FirstPort + (start+n*portStep)%numPorts)
}

// Hosts returns the hosts that run probes.
func (p *Plan) Hosts() []graphs.NodeID { return p.hosts }

// Flows returns the flows that a host is to probe. The slice must not be written to.
func (p *Plan) Flows(host graphs.NodeID) []Flow { return p.flows[host] }

// NumFlows returns the number of flows of all hosts.
func (p *Plan) NumFlows() int {
	n := 0
	for _, fs := range p.flows {
		n += len(fs)
	}
	return n
}

// Crossings returns how often every arc is to be crossed.
func (p *Plan) Crossings() int { return p.cfg.Crossings }

// Expected returns how often an arc is expected to be crossed by all flows, forward or back.
func (p *Plan) Expected(a graphs.ArcID) float64 { return p.tally.expected(a) }

// Covered returns how many arcs are expected to be crossed as often as they should be, whatever the switches hash: the sum over all arcs of
// the probability of it.
func (p *Plan) Covered() float64 {
	return float64(uint64(p.f.NumArcs())*one-p.tally.missing) / one
}

// Unreachable returns the arcs that no flow of the plan's hosts can cross, in order.
func (p *Plan) Unreachable() []graphs.ArcID { return p.never }

// Lacking returns the probability that an arc is crossed fewer times than it should be.
func (p *Plan) Lacking(a graphs.ArcID) float64 { return float64(p.tally.lacking[a]) / one }

// Covered counts how often each arc was crossed by paths, which are slices of arcs.
func Covered(f *graphs.Fabric, crossed [][]graphs.ArcID) []int {
	n := make([]int, f.NumArcs())
	for _, path := range crossed {
		for _, a := range path {
			n[a]++
		}
	}
	return n
}
