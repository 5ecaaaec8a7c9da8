package lab

import (
	"encoding/binary"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"whichlink/graphs"
)

// Nexthops are objects of their own in the kernel (since 5.3), to which routes refer: a set of equal next hops is stored once a
// node, not once a route, for IPv4 and IPv6 alike.

// rtaNHID is RTA_NH_ID of linux/rtnetlink.h: the nexthop of a route.
const rtaNHID = 30

// A groupKey tells sets of next hops apart: the family and the ports.
type groupKey struct {
	ipv6  bool
	ports string
}

// nexthop returns the id of the nexthop that is the set of ports, and puts what makes it into the batch if it is new.
func (l *Lab) nexthop(s *namespace, ipv6 bool, ports []graphs.PortID) (uint32, error) {
	single := func(p graphs.PortID) uint32 {
		id := 2*uint32(l.slot[p]) + 1
		if ipv6 {
			id++
		}
		return id
	}
	if len(ports) == 1 {
		return single(ports[0]), nil
	}
	var key []byte
	for _, p := range ports {
		key = binary.NativeEndian.AppendUint32(key, uint32(p))
	}
	k := groupKey{ipv6, string(key)}
	if id, ok := s.groups[k]; ok {
		return id, nil
	}
	id := uint32(firstGroup + len(s.groups))
	var members []byte
	for _, p := range ports {
		members = binary.NativeEndian.AppendUint32(members, single(p))
		members = append(members, 0, 0, 0, 0) // weight 1 is written as 0
	}
	err := s.rtnl.add(unix.RTM_NEWNEXTHOP, unix.NLM_F_CREATE|unix.NLM_F_REPLACE, "add group of next hops", nhMsg{protocol: unix.RTPROT_STATIC},
		nl.NewRtAttr(unix.NHA_ID, nl.Uint32Attr(id)), nl.NewRtAttr(unix.NHA_GROUP, members))
	if err != nil {
		return 0, err
	}
	if s.groups == nil {
		s.groups = map[groupKey]uint32{}
	}
	s.groups[k] = id
	return id, nil
}

// addNexthops puts the nexthops of a node's ports into the batch, one a port and family.
func (l *Lab) addNexthops(s *namespace) error {
	for _, p := range l.fabric.Ports(s.node) {
		far := l.wired().far[p]
		gateways := []netip.Addr{l.gateway(far)}
		if l.ipv6 {
			gateways = append(gateways, linkLocal(far))
		}
		for i, g := range gateways {
			id := 2*uint32(l.slot[p]) + 1 + uint32(i)
			err := s.rtnl.add(unix.RTM_NEWNEXTHOP, unix.NLM_F_CREATE|unix.NLM_F_REPLACE, "add next hop over "+l.device[p],
				nhMsg{family: family(g), protocol: unix.RTPROT_STATIC, flags: unix.RTNH_F_ONLINK},
				nl.NewRtAttr(unix.NHA_ID, nl.Uint32Attr(id)),
				nl.NewRtAttr(unix.NHA_OIF, nl.Uint32Attr(uint32(l.ifindex(p)))),
				nl.NewRtAttr(unix.NHA_GATEWAY, g.AsSlice()))
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// An nhMsg is struct nhmsg. Requests that remove take the zero value only.
type nhMsg struct {
	family   uint8
	protocol uint8
	flags    uint32
}

func (m nhMsg) Len() int { return 8 }

func (m nhMsg) Serialize() []byte {
	b := make([]byte, 8)
	b[0], b[2] = m.family, m.protocol
	binary.NativeEndian.PutUint32(b[4:], m.flags)
	return b
}

// setRoute puts into the batch a route to a prefix over a set of ports; none removes the route.
func (l *Lab) setRoute(s *namespace, x netip.Prefix, ports []graphs.PortID) error {
	m := nl.NewRtMsg()
	m.Family = family(x.Addr())
	m.Dst_len = uint8(x.Bits())
	m.Protocol = unix.RTPROT_STATIC
	attrs := []nl.NetlinkRequestData{m, nl.NewRtAttr(unix.RTA_PRIORITY, nl.Uint32Attr(routeMetric))}
	if x.Bits() > 0 {
		attrs = append(attrs, nl.NewRtAttr(unix.RTA_DST, x.Addr().AsSlice()))
	}
	if len(ports) == 0 {
		return s.rtnl.add(unix.RTM_DELROUTE, 0, "remove route to "+x.String(), attrs...)
	}
	id, err := l.nexthop(s, x.Addr().Is6(), ports)
	if err != nil {
		return err
	}
	attrs = append(attrs, nl.NewRtAttr(rtaNHID, nl.Uint32Attr(id)))
	return s.rtnl.add(unix.RTM_NEWROUTE, unix.NLM_F_CREATE|unix.NLM_F_REPLACE, "add route to "+x.String(), attrs...)
}

// routing is what all nodes forward by at one moment: the prefixes of every node, by family, and the way to it.
type routing struct {
	prefixes [2][][]netip.Prefix // IPv4, IPv6
	table    *table
	// uplinks are the ports over which a host sends.
	uplinks map[graphs.NodeID][]graphs.PortID
}

func computeRouting(w *wiring, ipv6 bool, down func(graphs.LinkID) bool) *routing {
	r := &routing{uplinks: map[graphs.NodeID][]graphs.PortID{}}
	r.prefixes[0] = destinations(w.fabric, false)
	if ipv6 {
		r.prefixes[1] = destinations(w.fabric, true)
	}
	r.table = computeTable(w, down, r.prefixes[0], r.prefixes[1])
	for _, h := range w.plan.Hosts() {
		var all, up []graphs.PortID
		for _, p := range w.plan.Ports(h) {
			all = append(all, p)
			if !down(w.linkOf(p)) {
				up = append(up, p)
			}
		}
		// A host whose last cable is dead keeps its route, as servers do: what it sends is lost, and sending is no error.
		if len(up) == 0 {
			up = all
		}
		r.uplinks[h] = up
	}
	return r
}

var defaultRoutes = [2]netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")}

// applyRouting puts into a node's batch what leads from one routing to the next; was is nil for a node without any routes.
func (l *Lab) applyRouting(s *namespace, was, now *routing) error {
	if l.fabric.Node(s.node).IsHost() {
		up := now.uplinks[s.node]
		if len(up) == 0 || was != nil && slices.Equal(was.uplinks[s.node], up) {
			return nil
		}
		for i, x := range defaultRoutes {
			if i == 0 || l.ipv6 {
				if err := l.setRoute(s, x, up); err != nil {
					return err
				}
			}
		}
		return nil
	}
	for i := range now.prefixes {
		old := map[netip.Prefix][]graphs.PortID{}
		if was != nil {
			for dst, prefixes := range was.prefixes[i] {
				ports := was.table.at(s.node, graphs.NodeID(dst))
				for _, x := range prefixes {
					if len(ports) > 0 {
						old[x] = ports
					}
				}
			}
		}
		for dst, prefixes := range now.prefixes[i] {
			ports := now.table.at(s.node, graphs.NodeID(dst))
			for _, x := range prefixes {
				before, had := old[x]
				delete(old, x)
				if had && slices.Equal(before, ports) || !had && len(ports) == 0 {
					continue
				}
				if err := l.setRoute(s, x, ports); err != nil {
					return err
				}
			}
		}
		for x := range old {
			if err := l.setRoute(s, x, nil); err != nil {
				return err
			}
		}
	}
	return nil
}
