package lab

import (
	"context"
	"encoding/binary"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"whichlink/graphs"
)

// Interface indexes, nexthop ids and metrics that the lab uses. Chosen by us, so that nothing has to be looked up.
const (
	firstIndex  = 1000    // of a node's ports; the kernel's own devices come before
	firstGroup  = 1 << 20 // ids of nexthop groups; single nexthops have ids from 1 on
	routeMetric = 1024    // behind the routes that come with addresses (0 for IPv4, 256 for IPv6)
)

// ifindex is the index of a port's device in the namespace of its node. The two ends of a link never have the same: the kernel
// takes a device whose peer has its own index for one without a peer, and may then let its link come up a second late.
func (l *Lab) ifindex(p graphs.PortID) int32 {
	end := int32(0)
	if l.fabric.Link(l.fabric.Port(p).Link).Ends[1] == p {
		end = 1
	}
	return firstIndex + 2*l.slot[p] + end
}

// hardwareAddress is the MAC address of a port: locally administered, and telling the port.
func hardwareAddress(p graphs.PortID) []byte {
	return binary.BigEndian.AppendUint32([]byte{0x02, 0x6c}, uint32(p))
}

// linkLocal is the IPv6 address under which neighbours send to a port. It names a neighbour entry only, so whatever is wired to
// a port can be its gateway without sharing a subnet.
func linkLocal(p graphs.PortID) netip.Addr {
	a := [16]byte{0: 0xfe, 1: 0x80}
	binary.BigEndian.PutUint32(a[12:], uint32(p)+1)
	return netip.AddrFrom16(a)
}

// devices gives every port a device name: its own where the kernel takes that (at most 15 bytes, no slash, colon or blank), else that with a hyphen for each slash, as others spell it, too,
// else port and its number within the node.
func devices(f *graphs.Fabric) []string {
	names := make([]string, f.NumPorts())
	for n := range graphs.NodeID(f.NumNodes()) {
		taken := map[string]bool{"lo": true}
		for _, slash := range []string{"/", "-"} {
			for _, p := range f.Ports(n) {
				if name := strings.ReplaceAll(f.Port(p).Name, "/", slash); names[p] == "" && validDevice(name) && !taken[name] {
					names[p] = name
					taken[name] = true
				}
			}
		}
		for i, p := range f.Ports(n) {
			for k := i + 1; names[p] == ""; k += f.Degree(n) {
				if name := fmt.Sprintf("port%d", k); !taken[name] {
					names[p] = name
					taken[name] = true
				}
			}
		}
	}
	return names
}

func validDevice(name string) bool {
	return len(name) < unix.IFNAMSIZ && name != "." && name != ".." && name != "all" && name != "default" &&
		!strings.ContainsAny(name, "/:% \t\n\v\f\r") && !strings.ContainsFunc(name, func(r rune) bool { return r > 0x7e })
}

// addLink puts the request for a link's pair of devices into the batch of the near end's namespace.
func (l *Lab) addLink(near, far graphs.PortID) error {
	r := l.spaces[l.fabric.Port(near).Node].rtnl
	device := func(p graphs.PortID) device { return device{l.device[p], l.ifindex(p), hardwareAddress(p)} }
	return r.addPair(device(near), device(far), l.spaces[l.fabric.Port(far).Node].fd)
}

// A device is one end of a veth pair that is to be made.
type device struct {
	name  string
	index int32
	mac   []byte
}

func (d device) put(parent *nl.RtAttr) {
	parent.AddRtAttr(unix.IFLA_IFNAME, nl.ZeroTerminated(d.name))
	parent.AddRtAttr(unix.IFLA_ADDRESS, d.mac)
	parent.AddRtAttr(unix.IFLA_NUM_TX_QUEUES, nl.Uint32Attr(1))
	parent.AddRtAttr(unix.IFLA_NUM_RX_QUEUES, nl.Uint32Attr(1))
	// No packet larger than the wire takes: a fault must drop packets, not trains of them.
	parent.AddRtAttr(unix.IFLA_GSO_MAX_SEGS, nl.Uint32Attr(1))
}

// addPair puts into the batch what makes a veth pair between the socket's namespace and the one that far is an open file of.
func (r *rtnl) addPair(near, far device, farSpace int) error {
	head := nl.NewIfInfomsg(unix.AF_UNSPEC)
	head.Index = near.index
	attrs := nl.NewRtAttr(0, nil)
	near.put(attrs)
	info := attrs.AddRtAttr(unix.IFLA_LINKINFO, nil)
	info.AddRtAttr(nl.IFLA_INFO_KIND, nl.NonZeroTerminated("veth"))
	peer := info.AddRtAttr(nl.IFLA_INFO_DATA, nil).AddRtAttr(nl.VETH_INFO_PEER, nil)
	nl.NewIfInfomsgChild(peer, unix.AF_UNSPEC).Index = far.index
	far.put(peer)
	peer.AddRtAttr(unix.IFLA_NET_NS_FD, nl.Uint32Attr(uint32(farSpace)))
	return r.add(unix.RTM_NEWLINK, unix.NLM_F_CREATE|unix.NLM_F_EXCL, "make the pair of devices "+near.name+" and "+far.name,
		head, children{attrs})
}

// children is the attributes inside an attribute, without the attribute itself.
type children struct{ parent *nl.RtAttr }

func (c children) Len() int          { return c.parent.Len() - unix.SizeofRtAttr }
func (c children) Serialize() []byte { return c.parent.Serialize()[unix.SizeofRtAttr:] }

// raiseLoopback puts into the batch what brings up a node's loopback device and addresses.
func (l *Lab) raiseLoopback(s *namespace) error {
	if err := s.raise(1, "lo"); err != nil {
		return err
	}
	for _, a := range l.fabric.Node(s.node).Loopback {
		if a.Is4() || l.ipv6 {
			if err := s.addAddress(1, netip.PrefixFrom(a, a.BitLen())); err != nil {
				return err
			}
		}
	}
	return nil
}

// raisePort puts into the batch what brings up a port, with its addresses and the neighbours at the other end of its cable.
func (l *Lab) raisePort(s *namespace, p graphs.PortID) error {
	index := l.ifindex(p)
	if err := s.raise(index, l.device[p]); err != nil {
		return err
	}
	for _, x := range l.fabric.Port(p).Prefixes {
		if x.Addr().Is4() || l.ipv6 {
			if err := s.addAddress(index, x); err != nil {
				return err
			}
		}
	}
	far := l.wired().far[p]
	neighbours := []netip.Addr{l.gateway(far)}
	if l.ipv6 {
		neighbours = append(neighbours, linkLocal(far))
	}
	for _, x := range l.fabric.Port(far).Prefixes {
		if x.Addr() != neighbours[0] && (x.Addr().Is4() || l.ipv6) {
			neighbours = append(neighbours, x.Addr())
		}
	}
	for _, a := range neighbours {
		m := ndMsg{family: family(a), index: index}
		err := s.rtnl.add(unix.RTM_NEWNEIGH, unix.NLM_F_CREATE|unix.NLM_F_REPLACE, "add neighbour "+a.String(), m,
			nl.NewRtAttr(unix.NDA_DST, a.AsSlice()), nl.NewRtAttr(unix.NDA_LLADDR, hardwareAddress(far)))
		if err != nil {
			return err
		}
	}
	return nil
}

// gateway is the IPv4 address under which neighbours send to a port: its own, or that of its node where it has none.
func (l *Lab) gateway(p graphs.PortID) netip.Addr {
	if x, ok := l.fabric.Port(p).Prefix(false); ok {
		return x.Addr()
	}
	a, _ := loopback(l.fabric, l.fabric.Port(p).Node, false)
	return a
}

// awaitPorts waits until the kernel has noticed that the ports of a node are up; before, it drops what they should send.
func (l *Lab) awaitPorts(ctx context.Context, s *namespace) error {
	for _, p := range l.fabric.Ports(s.node) {
		m := nl.NewIfInfomsg(unix.AF_UNSPEC)
		m.Index = l.ifindex(p)
		for {
			answer, err := s.rtnl.ask(unix.RTM_GETLINK, "read the state of "+l.device[p], m)
			if err != nil {
				return err
			}
			attrs, err := nl.ParseRouteAttrAsMap(answer[min(len(answer), unix.SizeofIfInfomsg):])
			if err != nil {
				return fmt.Errorf("read the state of %s: %w", l.device[p], err)
			}
			if a := attrs[unix.IFLA_OPERSTATE]; len(a.Value) == 1 && a.Value[0] >= operDormant {
				break
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(time.Millisecond):
			}
		}
	}
	return nil
}

func (s *namespace) raise(index int32, name string) error {
	m := nl.NewIfInfomsg(unix.AF_UNSPEC)
	m.Index, m.Flags, m.Change = index, unix.IFF_UP, unix.IFF_UP
	return s.rtnl.add(unix.RTM_NEWLINK, 0, "bring up "+name, m)
}

func (s *namespace) addAddress(index int32, x netip.Prefix) error {
	m := nl.NewIfAddrmsg(int(family(x.Addr())))
	m.Prefixlen = uint8(x.Bits())
	m.Index = uint32(index)
	if x.Addr().Is6() {
		m.Flags = unix.IFA_F_NODAD
	}
	return s.rtnl.add(unix.RTM_NEWADDR, unix.NLM_F_CREATE|unix.NLM_F_REPLACE, "add address "+x.String(), m,
		nl.NewRtAttr(unix.IFA_LOCAL, x.Addr().AsSlice()), nl.NewRtAttr(unix.IFA_ADDRESS, x.Addr().AsSlice()))
}

func family(a netip.Addr) uint8 {
	if a.Is4() {
		return unix.AF_INET
	}
	return unix.AF_INET6
}

// An ndMsg is struct ndmsg of a permanent neighbour.
type ndMsg struct {
	family uint8
	index  int32
}

func (m ndMsg) Len() int { return unix.SizeofNdMsg }

func (m ndMsg) Serialize() []byte {
	b := make([]byte, unix.SizeofNdMsg)
	b[0] = m.family
	binary.NativeEndian.PutUint32(b[4:], uint32(m.index))
	binary.NativeEndian.PutUint16(b[8:], unix.NUD_PERMANENT)
	return b
}
