package captures

import (
	"fmt"

	"github.com/google/gopacket/layers"

	"whichlink/captures/frames"
)

const (
	protoVRRP = 112
	// masterDown is how many intervals of advertisements a backup waits before it takes over (RFC 9568 section 6.1).
	masterDown = 3
	// manyBoth is how many advertisements of one master before another had stopped are more than a change of hands.
	manyBoth = 3
)

// A vrrpKey is a virtual router on one network.
type vrrpKey struct {
	id, version uint8
	v6          bool
	vlan        uint16
}

// A vrrpRouter is a router that advertises itself as a virtual router's master.
type vrrpRouter struct {
	addr     frames.Addr
	priority uint8
	last     int64
}

// A virtualRouter is who was its master.
type virtualRouter struct {
	vrrpKey
	now, before                   vrrpRouter
	changes, firstChange, changed int64
	cause                         string // of the last change
	failed                        bool   // a master fell silent
	// both counts advertisements of one master while another had not stopped.
	both, firstBoth, lastBoth int64
}

// A vrrpFinder follows who is master of virtual routers, the gateways of hosts.
type vrrpFinder struct {
	a       *Analyzer
	routers roll[vrrpKey, virtualRouter]
}

func newVRRPFinder(a *Analyzer) finder {
	return &vrrpFinder{a: a, routers: roll[vrrpKey, virtualRouter]{most: maxTold}}
}

func (f *vrrpFinder) see(s *Sight) {
	if s.IP.Proto != protoVRRP {
		return
	}
	v := cold[*layers.VRRPv2](layers.LayerTypeVRRP, s.Data[min(s.Frame.L4, len(s.Data)):min(s.Frame.End, len(s.Data))])
	if v == nil {
		return
	}
	// The library reads version 3 as 2: the two bytes behind the count hold authentication and seconds there, here hundredths.
	interval := int64(v.AdverInt) * 1e9
	if v.Version == 3 {
		interval = (int64(v.AuthType&0x0f)<<8 | int64(v.AdverInt)) * 1e7
	}
	k := vrrpKey{id: v.VirtualRtrID, version: v.Version, v6: s.IP.Version == 6}
	if n := s.Frame.NumVLANs; n > 0 {
		k.vlan = s.Frame.VLANs[n-1]
	}
	if r, _ := f.routers.of(k); r != nil {
		r.vrrpKey = k
		r.take(vrrpRouter{s.IP.Src, v.Priority, s.Time}, masterDown*interval)
	}
}

// take follows an advertisement. Wait is after which silence a master is taken for dead.
func (r *virtualRouter) take(from vrrpRouter, wait int64) {
	silent := from.last - r.now.last
	switch {
	case r.now.last == 0 || from.addr == r.now.addr:
		r.now = from
		return
	case from.addr == r.before.addr && r.before.priority != 0 && r.now.priority != 0 && from.last-r.before.last <= wait && silent <= wait:
		if r.both++; r.both == 1 {
			r.firstBoth = from.last
		}
		r.lastBoth = from.last
		r.before, r.now = r.now, from
		return
	case r.now.priority == 0:
		r.cause = "the one before resigned"
	case silent > wait:
		r.cause = fmt.Sprintf("the one before was silent for %s, longer than %d intervals", duration(silent), masterDown)
		r.failed = true
	default:
		r.cause = fmt.Sprintf("with priority %d over %d", from.priority, r.now.priority)
	}
	if r.changes++; r.changes == 1 {
		r.firstChange = from.last
	}
	r.changed = from.last
	r.before, r.now = r.now, from
}

func (f *vrrpFinder) report(r *Report) {
	changed, both := ranking{most: f.a.cfg.MaxFindings}, ranking{most: f.a.cfg.MaxFindings}
	for i := range f.routers.all {
		v := &f.routers.all[i]
		if v.both >= manyBoth {
			both.add(candidate{v.both, v.firstBoth, v.lastBoth, uint32(i), 0})
		} else if v.changes > 0 {
			changed.add(candidate{v.changes, v.firstChange, v.changed, uint32(i), 0})
		}
	}
	changed.tell(r, func(c candidate) Finding {
		v := &f.routers.all[c.number]
		severity := Warning
		if v.failed {
			severity = Critical
		}
		return Finding{
			Finding: "vrrp-master-change", Severity: severity, Subject: v.name(), Filter: v.filter(), like: "vrrp",
			Text: fmt.Sprintf("another router became master %s, last %s in the place of %s, %s", plural(v.changes, "time"), v.now.addr.Netip(), v.before.addr.Netip(), v.cause),
			Rule: "advertisements come from another router than before (RFC 9568)",
		}
	})
	both.tell(r, func(c candidate) Finding {
		v := &f.routers.all[c.number]
		return Finding{
			Finding: "vrrp-two-masters", Severity: Critical, Subject: v.name(), Filter: v.filter(), like: "vrrp",
			Text: fmt.Sprintf("%s and %s are master at once, %s in turn: they do not hear each other, or not both ways", v.before.addr.Netip(), v.now.addr.Netip(),
				plural(v.both, "advertisement")),
			Rule: fmt.Sprintf("two routers advertise in turn, neither silent for %d intervals", masterDown),
		}
	})
}

func (v *virtualRouter) name() string {
	name := fmt.Sprintf("vrrp %d", v.id)
	if v.v6 {
		name += " of IPv6"
	}
	if v.vlan != 0 {
		name += fmt.Sprintf(" in VLAN %d", v.vlan)
	}
	return name
}

func (v *virtualRouter) filter() string {
	filter := fmt.Sprintf("vrrp.virt_rtr_id == %d", v.id)
	if v.v6 {
		filter += " && ipv6"
	}
	if v.vlan != 0 {
		filter += fmt.Sprintf(" && vlan.id == %d", v.vlan)
	}
	return filter
}
