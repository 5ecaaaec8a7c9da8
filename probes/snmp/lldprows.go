package snmp

import (
	"cmp"
	"maps"
	"math/bits"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A tellingColumn is a column of a table that tells of ports or neighbours, and what is done with its cells. The index is the instance's.
type tellingColumn struct {
	oid  string
	take func(r *tellingRows, index []uint32, v Value)
}

// tellingRows collects the cells of one agent.
type tellingRows struct {
	s         *System
	ports     map[uint32]*SystemPort
	addresses map[netip.Addr]*ownAddress
	numbers   map[uint32]*localPort
	hears     map[[4]uint32]*Hearing // by protocol and index
}

// An ownAddress is a row of ipAddrTable.
type ownAddress struct {
	index uint32
	bits  int
}

// mostNeighbours bounds what one agent may have its neighbours take of memory. A port that leads to a segment hears some; no switch hears so many.
const mostNeighbours = 20_000

func newTellingRows(s *System) *tellingRows {
	s.bridge, s.cdpName = map[uint32]uint32{}, map[uint32]string{}
	return &tellingRows{s: s, ports: map[uint32]*SystemPort{}, addresses: map[netip.Addr]*ownAddress{}, numbers: map[uint32]*localPort{},
		hears: map[[4]uint32]*Hearing{}}
}

// cells returns what [Session.Sweep] is to call for the cells of some columns.
func (r *tellingRows) cells(of []tellingColumn) func(Cell) {
	return func(c Cell) {
		of[c.Column].take(r, c.Index, c.Value)
	}
}

func (r *tellingRows) port(index []uint32) *SystemPort {
	if len(index) != 1 {
		return &SystemPort{} // a row of something else, which nobody will see
	}
	p := r.ports[index[0]]
	if p == nil {
		p = &SystemPort{Index: index[0]}
		r.ports[index[0]] = p
	}
	return p
}

func portColumn(oid string, set func(p *SystemPort, v Value)) tellingColumn {
	return tellingColumn{oid, func(r *tellingRows, index []uint32, v Value) { set(r.port(index), v) }}
}

// portColumns are those of IF-MIB, BRIDGE-MIB and RFC1213-MIB by which ports are found.
var portColumns = []tellingColumn{
	portColumn("1.3.6.1.2.1.2.2.1.2", func(p *SystemPort, v Value) { p.Descr = words(v.Text) }),
	portColumn("1.3.6.1.2.1.2.2.1.3", func(p *SystemPort, v Value) { p.Type = uint32(v.Number) }),
	portColumn("1.3.6.1.2.1.2.2.1.6", func(p *SystemPort, v Value) { p.MAC = portMAC(v.Text) }),
	portColumn("1.3.6.1.2.1.2.2.1.8", func(p *SystemPort, v Value) { p.Up = v.Number == 1 }),
	portColumn("1.3.6.1.2.1.31.1.1.1.1", func(p *SystemPort, v Value) { p.Name = words(v.Text) }),
	portColumn("1.3.6.1.2.1.31.1.1.1.15", func(p *SystemPort, v Value) {
		if v.Number <= 1e9 { // more than a petabit is no speed
			p.Mbps = v.Number
		}
	}),
	portColumn("1.3.6.1.2.1.31.1.1.1.18", func(p *SystemPort, v Value) { p.Alias = words(v.Text) }),
	{"1.3.6.1.2.1.17.1.4.1.2", func(r *tellingRows, index []uint32, v Value) {
		if len(index) == 1 && v.IsNumber() {
			r.s.bridge[index[0]] = uint32(v.Number)
		}
	}},
	{"1.3.6.1.2.1.4.20.1.2", func(r *tellingRows, index []uint32, v Value) {
		if a := r.own(index); a != nil && v.IsNumber() {
			a.index = uint32(v.Number)
		}
	}},
	{"1.3.6.1.2.1.4.20.1.3", func(r *tellingRows, index []uint32, v Value) {
		mask, err := netip.ParseAddr(v.Text)
		if a := r.own(index); a != nil && err == nil && mask.Is4() {
			b := mask.As4()
			n := bits.LeadingZeros32(^(uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])))
			a.bits = n
		}
	}},
}

// portMAC is a MAC address that an interface has for itself.
func portMAC(raw string) string {
	if m, ok := macText(raw); ok && m != "00:00:00:00:00:00" {
		return m
	}
	return ""
}

// own returns the row of ipAddrTable, or nil.
func (r *tellingRows) own(index []uint32) *ownAddress {
	a, ok := addressOfIndex(index)
	if !ok || !a.Is4() {
		return nil
	}
	if r.addresses[a] == nil {
		r.addresses[a] = &ownAddress{bits: 32}
	}
	return r.addresses[a]
}

// addressOfIndex reads an address from the parts of an instance.
func addressOfIndex(index []uint32) (netip.Addr, bool) {
	raw := make([]byte, 0, 16)
	for _, n := range index {
		if n > 255 || len(raw) == 16 {
			return netip.Addr{}, false
		}
		raw = append(raw, byte(n))
	}
	a, ok := netip.AddrFromSlice(raw)
	return a.Unmap(), ok
}

// hearing returns the neighbour of an instance of TimeMark.LocalPortNum.Index, TimeMark.LocalIfIndex.DestMACIndex.Index in LLDP-V2-MIB, or
// ifIndex.DeviceIndex in CISCO-CDP-MIB, and what follows these parts.
func (r *tellingRows) hearing(p Protocol, index []uint32) (*Hearing, []uint32) {
	var key [4]uint32
	parts, number := 3, 1
	switch p {
	case LLDPv2:
		parts, key[0] = 4, 1
	case CDP:
		parts, number, key[0] = 2, 0, 2
	}
	if len(index) < parts {
		return &Hearing{}, nil
	}
	// The destination MAC of LLDP-V2-MIB tells nearest bridges from others and no neighbours apart.
	key[1], key[2], key[3] = index[number], index[0], index[parts-1]
	h := r.hears[key]
	if h == nil {
		if len(r.hears) >= mostNeighbours {
			return &Hearing{}, nil
		}
		h = &Hearing{Protocol: p, Number: index[number], Far: FarUnknown, order: [3]uint32(key[1:])}
		r.hears[key] = h
	}
	return h, index[parts:]
}

func hearingColumn(p Protocol, oid string, set func(h *Hearing, v Value)) tellingColumn {
	return tellingColumn{oid, func(r *tellingRows, index []uint32, v Value) {
		if h, rest := r.hearing(p, index); len(rest) == 0 {
			set(h, v)
		}
	}}
}

func localColumn(oid string, set func(l *localPort, v Value)) tellingColumn {
	return tellingColumn{oid, func(r *tellingRows, index []uint32, v Value) {
		if len(index) != 1 {
			return
		}
		if r.numbers[index[0]] == nil {
			r.numbers[index[0]] = &localPort{}
		}
		set(r.numbers[index[0]], v)
	}}
}

// lldpColumns are those of LLDP-MIB or LLDP-V2-MIB: lldpLocPortTable, lldpRemTable, lldpRemManAddrTable, which are numbered alike but for what
// stands before them and for the second part of the remote index.
func lldpColumns(p Protocol) []tellingColumn {
	base, first, addresses := lldpBase, 4, "4.2.1.3"
	if p == LLDPv2 {
		base, first = lldpV2Base, 5
	}
	local := func(n int) string { return base + "3.7.1." + strconv.Itoa(n) }
	remote := func(n int) string { return base + "4.1.1." + strconv.Itoa(first+n) }
	return []tellingColumn{
		localColumn(local(2), func(l *localPort, v Value) { l.id.Kind = kind(&portKinds, v.Number) }),
		localColumn(local(3), func(l *localPort, v Value) { l.id.Text = v.Text }),
		localColumn(local(4), func(l *localPort, v Value) { l.descr = words(v.Text) }),
		hearingColumn(p, remote(0), func(h *Hearing, v Value) { h.Chassis.Kind = kind(&chassisKinds, v.Number) }),
		hearingColumn(p, remote(1), func(h *Hearing, v Value) { h.Chassis.Text = v.Text }),
		hearingColumn(p, remote(2), func(h *Hearing, v Value) { h.PortID.Kind = kind(&portKinds, v.Number) }),
		hearingColumn(p, remote(3), func(h *Hearing, v Value) { h.PortID.Text = v.Text }),
		hearingColumn(p, remote(4), func(h *Hearing, v Value) { h.PortDescr = advertised(v.Text) }),
		hearingColumn(p, remote(5), func(h *Hearing, v Value) { h.Name = advertised(v.Text) }),
		hearingColumn(p, remote(8), func(h *Hearing, v Value) { h.StationOnly = stationOnly(v.Text) }),
		{base + addresses, func(r *tellingRows, index []uint32, _ Value) {
			if h, rest := r.hearing(p, index); len(rest) > 1 {
				h.manage(managementAddress(rest))
			}
		}},
	}
}

const (
	lldpBase   = "1.0.8802.1.1.2.1."
	lldpV2Base = "1.3.111.2.802.1.1.13.1."
)

// advertised is the text of something that a neighbour may leave out. OS10 says so in words.
func advertised(raw string) string {
	if w := words(raw); !strings.EqualFold(w, "not advertised") {
		return w
	}
	return ""
}

// stationOnly reads LldpSystemCapabilitiesMap: bit 7 and none by which a system forwards.
func stationOnly(raw string) bool { return len(raw) > 0 && raw[0]&0x01 != 0 && !forwards(raw) }

// forwards reads LldpSystemCapabilitiesMap: bridge (bit 2), access point (3), router (4).
func forwards(raw string) bool { return len(raw) > 0 && raw[0]&0x38 != 0 }

// managementAddress reads the end of an instance of lldpRemManAddrTable: the family, the length, which some agents leave out, and the address.
func managementAddress(rest []uint32) netip.Addr {
	rest = rest[1:]
	if len(rest) > 0 && int(rest[0]) == len(rest)-1 {
		rest = rest[1:]
	}
	a, _ := addressOfIndex(rest)
	return a
}

// mostAddresses is how many addresses of one neighbour are kept.
const mostAddresses = 8

// manage adds an address at which a neighbour says that it is managed, if it is one at which anybody could be.
func (h *Hearing) manage(a netip.Addr) {
	if a.IsValid() && !a.IsUnspecified() && !a.IsMulticast() && !a.IsLinkLocalUnicast() && len(h.Management) < mostAddresses && !slices.Contains(h.Management, a) {
		h.Management = append(h.Management, a)
	}
}

// finish puts what was collected into the system, in the order of its numbers.
func (r *tellingRows) finish() {
	for _, i := range slices.Sorted(maps.Keys(r.ports)) {
		r.s.Ports = append(r.s.Ports, *r.ports[i])
	}
	for _, a := range slices.SortedFunc(maps.Keys(r.addresses), netip.Addr.Compare) {
		r.s.Addresses = append(r.s.Addresses, SystemAddress{r.addresses[a].index, netip.PrefixFrom(a, r.addresses[a].bits)})
	}
	r.s.numbers = map[uint32]localPort{}
	for n, l := range r.numbers {
		l.id.settle()
		r.s.numbers[n] = *l
	}
	for _, h := range r.hears {
		h.Chassis.settle()
		h.PortID.settle()
		if h.PortID.Text == "" && h.Chassis.Text == "" && h.Name == "" {
			continue // a row of which no more than its addresses came
		}
		r.s.Hears = append(r.s.Hears, *h)
	}
	r.s.Deaf = r.s.Deaf && len(r.s.Hears)+len(r.s.numbers) == 0
	slices.SortFunc(r.s.Hears, func(a, b Hearing) int {
		return cmp.Or(slices.Compare(a.order[:], b.order[:]), cmp.Compare(a.Protocol, b.Protocol))
	})
}

// scalar instances that tell who the agent is, with what to do with them.
var systemScalars = []struct {
	oid string
	set func(s *System, v Value)
}{
	{"1.3.6.1.2.1.1.3.0", func(s *System, v Value) { s.Uptime = time.Duration(uint32(v.Number)) * 10 * time.Millisecond }},
	{"1.3.6.1.2.1.1.5.0", func(s *System, v Value) { s.SysName = words(v.Text) }},
	{"1.3.6.1.6.3.10.2.1.1.0", func(s *System, v Value) { s.Engine = v.Text }},
	{lldpV2Base + "3.1.0", func(s *System, v Value) { s.Chassis.Kind = kind(&chassisKinds, v.Number) }},
	{lldpV2Base + "3.2.0", func(s *System, v Value) { s.Chassis.Text = v.Text }},
	{lldpV2Base + "3.3.0", func(s *System, v Value) { s.Name = words(v.Text) }},
	{lldpV2Base + "3.6.0", func(s *System, v Value) { s.Forwards = forwards(v.Text) }},
	{lldpBase + "3.6.0", func(s *System, v Value) { s.Forwards = forwards(v.Text) }},
	{lldpBase + "3.1.0", func(s *System, v Value) { s.Chassis.Kind = kind(&chassisKinds, v.Number) }},
	{lldpBase + "3.2.0", func(s *System, v Value) { s.Chassis.Text = v.Text }},
	{lldpBase + "3.3.0", func(s *System, v Value) { s.Name = words(v.Text) }},
	{cdpDeviceID, func(s *System, v Value) {
		if s.Name == "" && s.SysName == "" {
			s.Name = cdpSystemName(words(v.Text))
		}
	}},
}

// identify takes in the scalars.
func (s *System) identify(values map[string]Value) {
	s.Deaf = true
	for _, x := range systemScalars {
		if v, ok := values[x.oid]; ok {
			x.set(s, v)
			if strings.HasPrefix(x.oid, lldpBase) || strings.HasPrefix(x.oid, lldpV2Base) || strings.HasPrefix(x.oid, cdpBase) {
				s.Deaf = false
			}
		}
	}
	s.Chassis.settle()
	if s.Name == "" {
		s.Name = s.SysName
	}
}
