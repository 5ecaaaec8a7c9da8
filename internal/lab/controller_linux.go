package lab

import (
	"context"
	"maps"
	"sync"
	"time"

	"whichlink/graphs"
)

// A controller plays the routing protocol: it hears of every change of a link after the convergence delay, in order, and then
// changes the routes that differ on all nodes.
type controller struct {
	lab    *Lab
	wake   chan struct{}
	cancel context.CancelFunc
	done   chan struct{}

	mu      sync.Mutex             // guards what follows
	queue   []event                // in order of due
	outages map[graphs.LinkID]int  // how many faults hold a link down at this moment
	down    map[graphs.LinkID]bool // links that are down as far as the routing has heard

	applying sync.Mutex // held while routes change; guards now
	now      *routing   // what the nodes forward by
}

// An event is a change of a link.
type event struct {
	due  time.Time
	link graphs.LinkID
	down bool
}

func newController(l *Lab, now *routing) *controller {
	ctx, cancel := context.WithCancel(context.Background())
	c := &controller{
		lab: l, wake: make(chan struct{}, 1), cancel: cancel, done: make(chan struct{}),
		outages: map[graphs.LinkID]int{}, down: map[graphs.LinkID]bool{}, now: now,
	}
	go c.run(ctx)
	return c
}

// fell reports that a fault took a link down, and returns whether it was up before.
func (c *controller) fell(link graphs.LinkID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.outages[link]++
	if c.outages[link] > 1 {
		return false
	}
	c.tell(link, true)
	return true
}

// rose reports that a fault lets go of a link, and returns whether it is up now.
func (c *controller) rose(link graphs.LinkID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.outages[link]--
	if c.outages[link] > 0 {
		return false
	}
	delete(c.outages, link)
	c.tell(link, false)
	return true
}

// tell queues a change that happens now. The caller holds mu.
func (c *controller) tell(link graphs.LinkID, down bool) {
	c.queue = append(c.queue, event{time.Now().Add(c.lab.cfg.convergence()), link, down})
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

func (c *controller) stop() {
	c.cancel()
	<-c.done
}

func (c *controller) run(ctx context.Context) {
	defer close(c.done)
	for {
		c.mu.Lock()
		var wait <-chan time.Time
		if len(c.queue) > 0 {
			wait = time.After(time.Until(c.queue[0].due))
		}
		c.mu.Unlock()
		select {
		case <-ctx.Done():
			return
		case <-c.wake:
		case <-wait:
			c.takeDue()
			if err := c.converge(ctx); err != nil && ctx.Err() == nil {
				c.lab.log.Error("change routes", "err", err)
			}
		}
	}
}

// takeDue takes the events from the queue whose time has come.
func (c *controller) takeDue() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.queue) > 0 && time.Until(c.queue[0].due) <= 0 {
		e := c.queue[0]
		c.queue = c.queue[1:]
		if e.down {
			c.down[e.link] = true
		} else {
			delete(c.down, e.link)
		}
	}
}

// converge changes the routes of all nodes to those of the moment.
func (c *controller) converge(ctx context.Context) error {
	c.applying.Lock()
	defer c.applying.Unlock()
	now, was := c.compute(c.lab.wired()), c.now
	c.now = now
	start := time.Now()
	err := c.lab.eachNode(ctx, func(s *namespace) error { return c.lab.applyRouting(s, was, now) })
	c.lab.log.Debug("routes changed", "took", time.Since(start))
	return err
}

// rewire changes cables: plug does it, touched are the nodes at whose ports it does. All routes follow at once.
func (c *controller) rewire(ctx context.Context, w *wiring, touched map[graphs.NodeID]bool, plug func() error) error {
	c.applying.Lock()
	defer c.applying.Unlock()
	c.lab.mu.Lock()
	c.lab.wiring = w
	c.lab.mu.Unlock()
	if err := plug(); err != nil {
		return err
	}
	now, was := c.compute(w), c.now
	c.now = now
	return c.lab.eachNode(ctx, func(s *namespace) error {
		if !touched[s.node] {
			return c.lab.applyRouting(s, was, now)
		}
		if err := c.lab.forgetNexthops(s); err != nil {
			return err
		}
		if err := c.lab.addNexthops(s); err != nil {
			return err
		}
		if err := c.lab.applyRouting(s, nil, now); err != nil {
			return err
		}
		return c.lab.awaitPorts(ctx, s)
	})
}

func (c *controller) compute(w *wiring) *routing {
	c.mu.Lock()
	down := maps.Clone(c.down)
	c.mu.Unlock()
	return computeRouting(w, c.lab.ipv6, func(l graphs.LinkID) bool { return down[l] })
}
