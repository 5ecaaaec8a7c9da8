package lab

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"whichlink/graphs"
)

// The management network is a star of veth pairs, one from each switch to a namespace of its own, with permanent neighbours and a route for each
// address: no bridge that could forward, no subnet that could clash with the fabric's. managementIndex is below the ports' indexes.
const managementIndex = firstIndex - 1

// buildManagement makes the management network. The switches exist and have no management device yet.
func (l *Lab) buildManagement(mount func() (string, error)) error {
	var err error
	if l.collector, err = collectorOf(l.fabric); err != nil {
		return err
	}
	onMortalThread(func() {
		l.management, err = makeNamespace(graphs.None, "the management network", mount, func() error { return nil })
	})
	if err != nil {
		return err
	}
	hub := netip.PrefixFrom(l.collector, 32)
	if err := l.atSpace(l.management, func(s *namespace) error {
		if err := s.raise(1, "lo"); err != nil {
			return err
		}
		return s.addAddress(1, hub)
	}); err != nil {
		return err
	}
	for _, n := range l.fabric.Switches() {
		if err := l.addManagement(n, hub); err != nil {
			return fmt.Errorf("management of %s: %w", l.fabric.NodeName(n), err)
		}
	}
	return nil
}

// addManagement connects one switch.
func (l *Lab) addManagement(n graphs.NodeID, hub netip.Prefix) error {
	mine := netip.PrefixFrom(l.fabric.Node(n).Management, 32)
	near := device{l.managementDevice(n), managementIndex, managementMAC(n, 0)}
	far := device{fmt.Sprintf("node%d", n), firstIndex + int32(n), managementMAC(n, 1)}
	err := l.atNode(n, func(s *namespace) error {
		if err := s.rtnl.addPair(near, far, l.management.fd); err != nil {
			return err
		}
		if err := s.raise(near.index, near.name); err != nil {
			return err
		}
		if err := s.addAddress(near.index, mine); err != nil {
			return err
		}
		return s.reach(near.index, hub, mine.Addr(), far.mac)
	})
	if err != nil {
		return err
	}
	return l.atSpace(l.management, func(s *namespace) error {
		if err := s.raise(far.index, far.name); err != nil {
			return err
		}
		return s.reach(far.index, mine, hub.Addr(), near.mac)
	})
}

// reach puts into the batch what leads packets for an address over a device, with its neighbour entry and the own address.
func (s *namespace) reach(index int32, to netip.Prefix, from netip.Addr, mac []byte) error {
	err := s.rtnl.add(unix.RTM_NEWNEIGH, unix.NLM_F_CREATE|unix.NLM_F_REPLACE, "add neighbour "+to.Addr().String(),
		ndMsg{family: unix.AF_INET, index: index}, nl.NewRtAttr(unix.NDA_DST, to.Addr().AsSlice()), nl.NewRtAttr(unix.NDA_LLADDR, mac))
	if err != nil {
		return err
	}
	m := nl.NewRtMsg()
	m.Family, m.Dst_len, m.Protocol, m.Scope = unix.AF_INET, uint8(to.Bits()), unix.RTPROT_STATIC, unix.RT_SCOPE_LINK
	return s.rtnl.add(unix.RTM_NEWROUTE, unix.NLM_F_CREATE|unix.NLM_F_REPLACE, "add the route to "+to.String(), m,
		nl.NewRtAttr(unix.RTA_DST, to.Addr().AsSlice()), nl.NewRtAttr(unix.RTA_OIF, nl.Uint32Attr(uint32(index))),
		nl.NewRtAttr(unix.RTA_PREFSRC, from.AsSlice()))
}

// managementMAC is locally administered, and differs from those of ports.
func managementMAC(n graphs.NodeID, side byte) []byte {
	return binary.BigEndian.AppendUint32([]byte{0x02, 0x6d + side}, uint32(n))
}

// managementDevice is the name of a switch's management device: one that none of its ports has.
func (l *Lab) managementDevice(n graphs.NodeID) string {
	for i := 0; ; i++ {
		name := fmt.Sprintf("mgmt%d", i)
		if !slices.ContainsFunc(l.fabric.Ports(n), func(p graphs.PortID) bool { return l.device[p] == name }) {
			return name
		}
	}
}

// managementSpaceName is the name under /run/netns of the management network of a named lab.
func managementSpaceName(lab string, f *graphs.Fabric) string {
	name := lab + "-" + ManagementNode
	for slices.Contains(NamespaceNames(lab, f), name) {
		name += "_"
	}
	return name
}

// DoManagement runs fn on a thread that is inside the management network, where the agents of all switches answer. The rules are those of
// [Lab.Do].
func (l *Lab) DoManagement(fn func() error) error {
	if l.management == nil {
		return errNoAgents
	}
	return l.management.do(fn)
}

// nodeOrManagement finds the namespace that a client names.
func (l *Lab) nodeOrManagement(name string) (*namespace, error) {
	if n, ok := l.fabric.NodeByName(name); ok {
		return l.spaces[n], nil
	}
	if name == ManagementNode && l.management != nil {
		return l.management, nil
	}
	return nil, fmt.Errorf("the lab has no node %q", strings.TrimSpace(graphs.Clean(name)))
}
