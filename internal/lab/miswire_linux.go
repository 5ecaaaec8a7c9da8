package lab

import (
	"context"
	"errors"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"whichlink/graphs"
)

// A swapped is two links whose far ends hang at each other's ports. Every port keeps its name and its addresses, and the routing
// follows the real cables, as it does where links are unnumbered or speak over link-local addresses: packets get there, by
// other ways than the plan says.
type swapped struct {
	lab        *Lab
	one, other graphs.LinkID
}

func (s *swapped) apply() error  { return s.lab.swap(s.one, s.other) }
func (s *swapped) remove() error { return s.lab.swap(s.one, s.other) }
func (s *swapped) hit() uint64   { return 0 }

// swap exchanges the far ends of two links. It makes both pairs of devices anew; the caller holds faults.mu.
func (l *Lab) swap(one, other graphs.LinkID) error {
	was := l.wired()
	now, err := was.swap(one, other)
	if err != nil {
		return err
	}
	near := []graphs.PortID{l.fabric.Link(one).Ends[0], l.fabric.Link(other).Ends[0]}
	touched := map[graphs.NodeID]bool{}
	for _, p := range near {
		touched[l.fabric.Port(p).Node], touched[l.fabric.Port(was.far[p]).Node] = true, true
	}
	// What hangs at these devices goes with them.
	var resume []effect
	for _, b := range l.faults.active {
		if b.Kind == NodeLoss && touched[b.target.node] {
			if err := b.effect.remove(); err != nil {
				return err
			}
			resume = append(resume, b.effect)
		}
	}
	err = l.ctrl.rewire(context.Background(), now, touched, func() error {
		for _, p := range near {
			if err := l.dropPair(p); err != nil {
				return err
			}
		}
		for _, p := range near {
			if err := l.replug(p, now.far[p]); err != nil {
				return err
			}
		}
		return nil
	})
	for _, e := range resume {
		err = errors.Join(err, e.apply())
	}
	return errors.Join(err, l.relisten(touched))
}

// dropPair removes a port's device, and with it the device at the other end of its cable.
func (l *Lab) dropPair(p graphs.PortID) error {
	m := nl.NewIfInfomsg(unix.AF_UNSPEC)
	m.Index = l.ifindex(p)
	return l.atNode(l.fabric.Port(p).Node, func(s *namespace) error {
		return s.rtnl.add(unix.RTM_DELLINK, 0, "unplug "+l.fabric.PortName(p), m)
	})
}

// replug makes the devices of two ports as a pair. The caller has set the wiring.
func (l *Lab) replug(near, far graphs.PortID) error {
	if err := l.atNode(l.fabric.Port(near).Node, func(*namespace) error { return l.addLink(near, far) }); err != nil {
		return err
	}
	for _, p := range []graphs.PortID{near, far} {
		if err := l.atNode(l.fabric.Port(p).Node, func(s *namespace) error { return l.raisePort(s, p) }); err != nil {
			return err
		}
	}
	return nil
}

// forgetNexthops removes all nexthops of a node, and with them all routes that the lab made there. The caller holds s.mu and has
// sent the batch.
func (l *Lab) forgetNexthops(s *namespace) error {
	ids := make([]uint32, 0, len(s.groups))
	for _, id := range s.groups {
		ids = append(ids, id)
	}
	for _, p := range l.fabric.Ports(s.node) {
		ids = append(ids, 2*uint32(l.slot[p])+1, 2*uint32(l.slot[p])+2)
	}
	s.groups = nil
	for _, id := range ids {
		if err := s.rtnl.add(unix.RTM_DELNEXTHOP, 0, "remove a next hop", nhMsg{}, nl.NewRtAttr(unix.NHA_ID, nl.Uint32Attr(id))); err != nil {
			return err
		}
		// Some went with their device already.
		if err := s.rtnl.flush(); err != nil && !errors.Is(err, unix.ENOENT) {
			return err
		}
	}
	return nil
}
