package snmp

import (
	"net/netip"
	"strconv"
	"strings"

	"whichlink/graphs/spelling"
)

// A portFinder finds the interfaces of one system by what it or others call them.
type portFinder struct {
	s       *System
	byIndex map[uint32]int // into s.Ports
	// By each way to name a port, the ports so named.
	name, form, descr, alias, mac map[string][]int
	address                       map[netip.Addr]uint32
	labels                        []string
	// by an identifier as the system itself tells it, the numbers of lldpLocPortTable.
	told map[string][]uint32
}

func newPortFinder(s *System) *portFinder {
	f := &portFinder{s: s, byIndex: map[uint32]int{}, name: map[string][]int{}, form: map[string][]int{}, descr: map[string][]int{},
		alias: map[string][]int{}, mac: map[string][]int{}, address: map[netip.Addr]uint32{}, told: map[string][]uint32{}}
	put := func(to map[string][]int, key string, i int) {
		if key != "" {
			to[key] = append(to[key], i)
		}
	}
	for i := range s.Ports {
		p := &s.Ports[i]
		f.byIndex[p.Index] = i
		put(f.name, p.Name, i)
		put(f.descr, p.Descr, i)
		put(f.alias, p.Alias, i)
		put(f.mac, p.MAC, i)
		put(f.form, spelling.Port(p.Name), i)
		if form := spelling.Port(p.Descr); form != spelling.Port(p.Name) {
			put(f.form, form, i)
		}
	}
	for _, a := range s.Addresses {
		f.address[a.Prefix.Addr()] = a.Index
	}
	for n, l := range s.numbers {
		f.told[l.id.key()] = append(f.told[l.id.key()], n)
	}
	f.label()
	return f
}

// label gives every interface the name by which it is called, as a poll does. A logical unit is called as the interface of which it is one.
func (f *portFinder) label() {
	rows := make([]portRow, len(f.s.Ports))
	for i := range f.s.Ports {
		p := &f.s.Ports[i]
		rows[i] = portRow{p.Index, p.Name, p.Descr, p.Up}
	}
	f.labels = portNames(rows)
	for i := range f.s.Ports {
		if base, _, unit := cutUnit(f.s.Ports[i].Name); unit && len(f.name[base]) > 0 {
			f.labels[i] = base
		}
	}
}

// cutUnit cuts the number of a logical unit off: xe-0/0/1.0.
func cutUnit(name string) (base, unit string, ok bool) {
	at := strings.LastIndexByte(name, '.')
	if at <= 0 || at == len(name)-1 || strings.Trim(name[at+1:], "0123456789") != "" {
		return name, "", false
	}
	return name[:at], name[at+1:], true
}

// LoopbackType is the ifType of an interface whose addresses belong to the system and to no port: softwareLoopback.
const LoopbackType = 24

// PortNames are the names by which the ports of [System.Ports] are called: those of Hearing.Port and Hearing.FarPort.
func (s *System) PortNames() []string { return newPortFinder(s).labels }

// The types of interfaces (IANAifType-MIB) in which no cable is: propVirtual, l2vlan, l3ipvlan, softwareLoopback, tunnel, other.
var noCable = map[uint32]bool{53: true, 135: true, 136: true, LoopbackType: true, 131: true, 1: true}

// only returns the one of some interfaces that is meant: the only one, or the only one that is up, or in which a cable may be.
func (f *portFinder) only(of []int) (int, bool) {
	for _, good := range []func(p *SystemPort) bool{
		func(*SystemPort) bool { return true },
		func(p *SystemPort) bool { return !noCable[p.Type] },
		func(p *SystemPort) bool { return !noCable[p.Type] && p.Up },
	} {
		found, several := -1, false
		for _, i := range of {
			if good(&f.s.Ports[i]) {
				several = several || found >= 0 && f.labels[found] != f.labels[i]
				if found < 0 {
					found = i
				}
			}
		}
		if found >= 0 && !several {
			return found, true
		}
	}
	return 0, false
}

// first looks in several ways, the most telling first, and takes the first that finds one interface.
func (f *portFinder) first(of ...[]int) (int, bool) {
	for _, set := range of {
		if i, ok := f.only(set); ok {
			return i, true
		}
	}
	return 0, false
}

// find returns the interface that an identifier and a description mean, and which of the two told it.
func (f *portFinder) find(id ID, descr string) (int, Step, bool) {
	if i, ok := f.byID(id, descr); ok {
		return i, StepID, true
	}
	if i, ok := f.byDescription(descr); ok {
		return i, StepDescription, true
	}
	return 0, "", false
}

func (f *portFinder) byID(id ID, descr string) (int, bool) {
	text := id.Text
	if text == "" {
		return 0, false
	}
	switch id.Kind {
	case KindMAC:
		return f.only(f.mac[text])
	case KindAddress:
		if a, err := netip.ParseAddr(text); err == nil {
			i, ok := f.byIndex[f.address[a]]
			return i, ok
		}
		return 0, false
	case KindAlias: // by this subtype some send their names
		return f.first(f.alias[text], f.name[text], f.descr[text], f.form[spelling.Port(text)])
	}
	if i, ok := f.first(f.name[text], f.descr[text], f.form[spelling.Port(text)]); ok && !f.misled(i, text, descr) {
		return i, true
	}
	if id.Kind == KindName {
		return 0, false
	}
	if i, ok := f.first(f.alias[text], f.mac[id.key()]); ok {
		return i, true
	}
	// Junos: the decimal ifIndex. That of VRP or of a Catalyst is a number of its own, which the description tells.
	n, err := strconv.ParseUint(text, 10, 32)
	i, ok := f.byIndex[uint32(n)]
	if err != nil || !ok || noCable[f.s.Ports[i].Type] && !f.hasUnits(i) {
		return 0, false
	}
	if other, says := f.byDescription(descr); says && f.labels[other] != f.labels[i] && !f.called(i, descr) {
		return 0, false
	}
	return i, true
}

// misled reports whether a number that happens to be an interface's name means another, by its description.
func (f *portFinder) misled(i int, text, descr string) bool {
	if strings.Trim(text, "0123456789") != "" || f.called(i, descr) {
		return false
	}
	other, ok := f.byDescription(descr)
	return ok && f.labels[other] != f.labels[i]
}

// called reports whether a description is what an interface is called.
func (f *portFinder) called(i int, descr string) bool {
	p := &f.s.Ports[i]
	return descr != "" && (descr == p.Name || descr == p.Descr || descr == p.Alias || spelling.Port(descr) == spelling.Port(p.Name))
}

// hasUnits reports whether an interface is a logical unit of one in which a cable may be.
func (f *portFinder) hasUnits(i int) bool {
	base, _, unit := cutUnit(f.s.Ports[i].Name)
	return unit && len(f.name[base]) > 0
}

func (f *portFinder) byDescription(descr string) (int, bool) {
	if descr == "" {
		return 0, false
	}
	return f.first(f.descr[descr], f.name[descr], f.alias[descr], f.form[spelling.Port(descr)])
}

// number returns the port that a protocol's number means, and what told it: "" where nothing does.
func (f *portFinder) number(p Protocol, n uint32) (string, Step) {
	if p == CDP {
		if i, ok := f.byIndex[n]; ok {
			return f.labels[i], StepIndex
		}
		name := f.s.cdpName[n]
		if i, ok := f.first(f.name[name], f.descr[name], f.form[spelling.Port(name)]); ok && name != "" {
			return f.labels[i], StepDescription
		}
		return name, StepAsTold
	}
	if i, ok := f.byIndex[n]; ok && p == LLDPv2 {
		return f.labels[i], StepIndex
	}
	l, listed := f.s.numbers[n]
	if i, step, ok := f.find(l.id, l.descr); ok {
		return f.labels[i], step
	}
	if i, ok := f.byIndex[f.s.bridge[n]]; ok && f.s.bridge[n] != 0 && f.s.Ports[i].Up {
		return f.labels[i], StepBridge
	}
	if i, ok := f.byIndex[n]; ok && f.numberedByIndex() && !noCable[f.s.Ports[i].Type] && f.s.Ports[i].Up {
		return f.labels[i], StepIndex
	}
	if listed && l.id.Text != "" && !(l.id.Kind == KindMAC && l.descr != "") {
		return l.id.Text, StepAsTold
	}
	return l.descr, StepAsTold
}

// numberedByIndex reports whether LLDP's numbers may be those of interfaces: the system names no port to others, and no port that hears somebody has a
// number that is no interface with a cable. What is down hears nobody, and is not meant.
func (f *portFinder) numberedByIndex() bool {
	if len(f.s.numbers) > 0 {
		return false
	}
	for k := range f.s.Hears {
		h := &f.s.Hears[k]
		if i, ok := f.byIndex[h.Number]; h.Protocol == LLDP && (!ok || noCable[f.s.Ports[i].Type]) {
			return false
		}
	}
	return true
}

// far returns the port that another system means by an identifier and a description, and what told it.
func (f *portFinder) far(h *Hearing) (string, Step) {
	// What the system itself calls its port is what others hear of it.
	if numbers := f.told[h.PortID.key()]; len(numbers) == 1 && h.Protocol != CDP && h.PortID.Text != "" {
		if port, step := f.number(h.Protocol, numbers[0]); port != "" {
			return port, step
		}
	}
	if i, step, ok := f.find(h.PortID, h.PortDescr); ok {
		return f.labels[i], step
	}
	return "", ""
}
