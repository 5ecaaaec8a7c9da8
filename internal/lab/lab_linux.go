package lab

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"strconv"
	"sync"

	"whichlink/graphs"
)

// A Lab is a running fabric. Its methods may be called from any goroutine.
type Lab struct {
	cfg    Config
	log    *slog.Logger
	fabric *graphs.Fabric
	ipv6   bool
	spaces []*namespace // by node
	device []string     // by port: its name in the kernel
	slot   []int32      // by port: its number within its node

	ctrl   *controller
	faults faults

	// Of a lab with SNMP:
	management *namespace
	collector  netip.Addr
	agents     *agents

	mu     sync.Mutex // guards what follows
	wiring *wiring
	closed bool
}

// New makes the lab: namespaces, links, addresses, routes. It returns when packets can flow. Without privileges its error is an
// [UnavailableError]; [Enter] may help. Close gives everything back.
func New(ctx context.Context, cfg Config) (*Lab, error) {
	if cfg.Fabric == nil {
		return nil, errors.New("make a lab: no fabric given")
	}
	f, err := WithAddresses(cfg.Fabric)
	if err != nil {
		return nil, fmt.Errorf("make a lab: %w", err)
	}
	if cfg.SNMP {
		if f, err = WithManagement(f); err != nil {
			return nil, fmt.Errorf("make a lab: %w", err)
		}
	}
	l := &Lab{cfg: cfg, log: cfg.Logger, fabric: f, wiring: asPlanned(f), device: devices(f), slot: make([]int32, f.NumPorts())}
	if l.log == nil {
		l.log = slog.New(slog.DiscardHandler)
	}
	for n := range graphs.NodeID(f.NumNodes()) {
		_, has := loopback(f, n, true)
		l.ipv6 = l.ipv6 || has
		for i, p := range f.Ports(n) {
			l.slot[p] = int32(i)
			_, has := f.Port(p).Prefix(true)
			l.ipv6 = l.ipv6 || has
		}
	}
	if _, err := os.Stat("/proc/sys/net/" + seedPath); err != nil {
		l.log.Warn("this kernel knows no hash seed by namespace: with more than one stage of equal paths some are never taken", "err", err)
	}
	if err := l.build(ctx); err != nil {
		l.Close()
		if why := explain(err); why != nil {
			return nil, why
		}
		return nil, fmt.Errorf("make a lab: %w", err)
	}
	return l, nil
}

func (l *Lab) build(ctx context.Context) error {
	f := l.fabric
	none := func(graphs.LinkID) bool { return false }
	computed := make(chan *routing, 1)
	go func() { computed <- computeRouting(l.wiring, l.ipv6, none) }()
	mount := func(graphs.NodeID) (string, error) { return "", nil }
	mountManagement := func() (string, error) { return "", nil }
	var err error
	unlock := func() {}
	if l.cfg.Name != "" {
		if unlock, err = lockNamedDir(); err != nil {
			return err
		}
		if err := prepareNamedDir(); err != nil {
			unlock()
			return err
		}
		names := NamespaceNames(l.cfg.Name, f)
		mount = func(n graphs.NodeID) (string, error) { return mountNamespace(names[n]) }
		mountManagement = func() (string, error) { return mountNamespace(managementSpaceName(l.cfg.Name, f)) }
	}
	l.spaces, err = makeNamespaces(f, &l.cfg, l.ipv6, mount)
	if err == nil && l.cfg.SNMP {
		err = l.buildManagement(mountManagement)
	}
	unlock()
	if err != nil {
		return err
	}
	// Both ends of every link must be up before a route can use it.
	err = l.eachNode(ctx, func(s *namespace) error {
		for _, p := range f.Ports(s.node) {
			if link := f.Port(p).Link; f.Link(link).Ends[0] == p {
				if err := l.addLink(p, f.Link(link).Ends[1]); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	err = l.eachNode(ctx, func(s *namespace) error {
		if err := l.raiseLoopback(s); err != nil {
			return err
		}
		for _, p := range f.Ports(s.node) {
			if err := l.raisePort(s, p); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	routing := <-computed
	err = l.eachNode(ctx, func(s *namespace) error {
		if err := l.addNexthops(s); err != nil {
			return err
		}
		return l.applyRouting(s, nil, routing)
	})
	if err != nil {
		return err
	}
	if err := l.eachNode(ctx, func(s *namespace) error { return l.awaitPorts(ctx, s) }); err != nil {
		return err
	}
	l.ctrl = newController(l, routing)
	if l.cfg.SNMP {
		return l.startAgents(ctx)
	}
	return nil
}

// eachNode lets work fill the batch of every node, several at a time, and sends the batches.
func (l *Lab) eachNode(ctx context.Context, work func(*namespace) error) error {
	return parallel(len(l.spaces), func(i int) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return l.atNode(graphs.NodeID(i), work)
	})
}

// atNode lets work fill the batch of one node and sends it.
func (l *Lab) atNode(n graphs.NodeID, work func(*namespace) error) error {
	if err := l.atSpace(l.spaces[n], work); err != nil {
		return fmt.Errorf("node %s: %w", l.fabric.NodeName(n), err)
	}
	return nil
}

// atSpace lets work fill the batch of a namespace and sends it.
func (l *Lab) atSpace(s *namespace, work func(*namespace) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rtnl == nil {
		return ErrClosed
	}
	if err := work(s); err != nil {
		return err
	}
	return s.rtnl.flush()
}

// Fabric returns the fabric as it is planned: that of the Config, with addresses.
func (l *Lab) Fabric() *graphs.Fabric { return l.fabric }

// Wired returns the fabric as it is really connected. It is Fabric unless cables are miswired; then the nodes and links have the
// same ids, but the ends of some links differ, and the ids of ports may.
func (l *Lab) Wired() *graphs.Fabric { return l.wired().fabric }

func (l *Lab) wired() *wiring {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.wiring
}

// Device returns the name of a port's network device inside the namespace of its node.
func (l *Lab) Device(p graphs.PortID) string { return l.device[p] }

// Do runs fn on a thread that is inside the network namespace of a node. Sockets that fn opens stay there, and may be used
// from any goroutine afterwards. A goroutine that fn starts is not inside.
func (l *Lab) Do(n graphs.NodeID, fn func() error) error {
	if n < 0 || int(n) >= len(l.spaces) {
		return fmt.Errorf("enter node %d: the lab has no such node", n)
	}
	return l.spaces[n].do(fn)
}

// Reseed gives every switch a new ECMP hash seed: flows take other paths, and nothing is wrong. It needs Linux 6.11.
func (l *Lab) Reseed(seed uint64) error {
	switches := l.fabric.Switches()
	return onThreads(len(switches), func(i int) error {
		if err := l.spaces[switches[i]].enter(); err != nil {
			return err
		}
		return sysctl(seedPath, strconv.FormatUint(uint64(hashSeed(seed, switches[i])), 10))
	})
}

// Close takes the lab down: it heals nothing, but stops everything and lets go of the namespaces, which the kernel then removes
// together with all that is in them. Sockets that are still open keep theirs alive. It may be called again.
func (l *Lab) Close() error {
	l.mu.Lock()
	was := l.closed
	l.closed = true
	l.mu.Unlock()
	if was {
		return nil
	}
	l.faults.stop()
	if l.ctrl != nil {
		l.ctrl.stop()
	}
	l.agents.stop()
	for _, s := range append(l.spaces, l.management) {
		if s != nil {
			s.close()
		}
	}
	return nil
}
