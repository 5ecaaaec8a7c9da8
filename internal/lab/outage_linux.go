package lab

import (
	"context"
	"sync"
	"time"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"whichlink/graphs"
)

// An outage is a link that is down: both ends drop everything that comes in, and the controller hears of it.
type outage struct {
	lab    *Lab
	link   graphs.LinkID
	filter *filter
}

func (o *outage) apply() error {
	if err := o.filter.apply(); err != nil {
		return err
	}
	if o.lab.ctrl.fell(o.link) {
		o.show(operDormant)
	}
	return nil
}

func (o *outage) remove() error {
	if err := o.filter.remove(); err != nil {
		return err
	}
	if o.lab.ctrl.rose(o.link) {
		o.show(operUp)
	}
	return nil
}

func (o *outage) hit() uint64 { return o.filter.hit() }

// Operational states of a device (RFC 2863, linux/if.h).
const (
	operDormant = 5
	operUp      = 6
)

// show sets the operational state of both ports, for whoever looks at the devices. Best effort: nothing forwards by it.
func (o *outage) show(state byte) {
	mode := byte(0)
	if state == operDormant {
		mode = 1 // so that the kernel does not raise it again
	}
	for _, p := range o.lab.fabric.Link(o.link).Ends {
		m := nl.NewIfInfomsg(unix.AF_UNSPEC)
		m.Index = o.lab.ifindex(p)
		err := o.lab.atNode(o.lab.fabric.Port(p).Node, func(s *namespace) error {
			return s.rtnl.add(unix.RTM_SETLINK, 0, "set state of "+o.lab.device[p], m,
				nl.NewRtAttr(unix.IFLA_LINKMODE, []byte{mode}), nl.NewRtAttr(unix.IFLA_OPERSTATE, []byte{state}))
		})
		if err != nil {
			o.lab.log.Debug("show the state of a port", "port", o.lab.fabric.PortName(p), "err", err)
		}
	}
}

// A flap is an outage that comes and goes. The first fall is at once.
type flap struct {
	outage           outage
	period, downTime time.Duration

	cancel context.CancelFunc
	done   chan struct{}

	mu   sync.Mutex // guards down and the outage
	down bool
}

func (f *flap) apply() error {
	if err := f.turn(true); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	f.cancel, f.done = cancel, make(chan struct{})
	go f.run(ctx)
	return nil
}

func (f *flap) run(ctx context.Context) {
	defer close(f.done)
	// Counted from the start, so that no delay adds up.
	for next := time.Now(); ; {
		for _, step := range []struct {
			after time.Duration
			down  bool
		}{{f.downTime, false}, {f.period - f.downTime, true}} {
			next = next.Add(step.after)
			select {
			case <-ctx.Done():
				return
			case <-time.After(time.Until(next)):
			}
			if err := f.turn(step.down); err != nil {
				f.outage.lab.log.Error("flap", "err", err)
			}
		}
	}
}

func (f *flap) turn(down bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.down == down {
		return nil
	}
	f.down = down
	if down {
		return f.outage.apply()
	}
	return f.outage.remove()
}

func (f *flap) remove() error {
	f.cancel()
	<-f.done
	return f.turn(false)
}

func (f *flap) hit() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.outage.hit()
}

func (f *flap) isDown() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.down
}
