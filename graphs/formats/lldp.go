package formats

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"whichlink/graphs"
)

// A neighbour is what one port heard by LLDP (IEEE 802.1AB) from the port at the other end of its cable.
type neighbour struct {
	// host and port are the device that tells of the neighbour, and its own port.
	host, port string
	// portID is how the host names its port to others, where the file says so and it is not port.
	portID string
	// What the other end told of itself. Name is its system name. ID is its port's identifier; alias is true if that is a description.
	chassis, name string
	id, descr     string
	alias         bool
	management    netip.Addr
	station       bool // it says that it is an end system
	file          string
	line          int
}

// lldp collects what the devices of a fabric tell of their neighbours.
type lldp struct {
	file *File
	// hosts are the devices that told something, be it that they have no neighbours, with the ports that they listed.
	hosts      []string
	known      map[string]bool
	ports      map[string][]string
	neighbours []neighbour
	// devices are what the hosts tell of themselves, where they were asked for more than their neighbours.
	devices map[string]*Device

	unnamed []string // devices whose name is that of their file
	silent  []string // devices whose output is empty
	foreign []string // devices whose output is something else
	other   int      // neighbours of other protocols, in output of their own
}

// isLLDP recognises neighbours as lldpctl prints them in any of its forms, as EOS, NX-OS and Junos print them as JSON, and the files in
// which SuzieQ keeps the output of several devices.
func isLLDP(text []byte) bool {
	keys := topLevel(text)
	for _, k := range []string{"lldp", "lldpNeighbors", "TABLE_nbor", "TABLE_nbor_detail", "lldp-neighbors-information"} {
		if _, ok := keys[k]; ok {
			return true
		}
	}
	_, hosts := keys["hostname"]
	_, output := keys["data"]
	return hosts && output && bytes.Contains(text, []byte("lldp")) || isLLDPText(text)
}

func readLLDP(f *File, name string, from []source) error {
	l := &lldp{file: f, known: map[string]bool{}, ports: map[string][]string{}}
	for _, s := range from {
		if err := l.read(s); err != nil {
			var at *Error
			if !errors.As(err, &at) {
				at = &Error{Err: err}
			}
			if at.File == "" {
				at.File = s.name
			}
			return at
		}
	}
	if len(from) > 1 {
		name = "lldp"
	}
	return l.build(name)
}

// read reads a file. A device's own name stands in the file only where something put it there; else the file is named after it.
func (l *lldp) read(s source) error {
	host := fabricName(s.name)
	if text := bytes.TrimLeft(s.text, " \t\r\n"); len(text) > 0 && text[0] != '{' && text[0] != '[' {
		return l.readText(s, host, 0)
	}
	values, err := parseValues(s.text, 0)
	if err != nil {
		return err
	}
	for i := range values {
		if err := l.readJSON(s, host, &values[i]); err != nil {
			return err
		}
	}
	return nil
}

// host notes that a device told something. Its name is a guess where that is the file's.
func (l *lldp) host(name string, guessed bool) {
	if l.known[name] {
		return
	}
	l.known[name] = true
	l.hosts = append(l.hosts, name)
	if guessed {
		l.unnamed = append(l.unnamed, name)
	}
}

func (l *lldp) add(n neighbour) {
	if n.port != "" {
		l.ports[n.host] = append(l.ports[n.host], n.port)
		l.neighbours = append(l.neighbours, n)
	}
}

// readJSON reads the output of one device, or SuzieQ's list of such.
func (l *lldp) readJSON(s source, host string, v *jsonValue) error {
	for i := range v.list() {
		item := &v.list()[i]
		if name := item.get("hostname").word(); name != "" && item.get("data") != nil {
			if err := l.readOutput(s, name, item.get("data")); err != nil {
				return err
			}
			continue
		}
		if !l.shape(s, host, item) {
			return &Error{Line: item.line, Err: errors.New("no neighbours here: expected lldp, lldpNeighbors, TABLE_nbor or lldp-neighbors-information")}
		}
		l.host(host, true)
	}
	return nil
}

// readOutput reads what a device printed: JSON, JSON within a string, or text.
func (l *lldp) readOutput(s source, host string, data *jsonValue) error {
	if data.kind != '"' {
		l.take(s, host, data)
		return nil
	}
	text := strings.TrimSpace(data.text)
	switch {
	case text == "":
		l.silent = append(l.silent, host)
	case text[0] == '{' || text[0] == '[':
		values, err := parseValues([]byte(text), data.line)
		if err != nil {
			return &Error{Line: data.line, Err: fmt.Errorf("output of %s: %w", graphs.Clean(host), errors.Unwrap(err))}
		}
		for i := range values {
			l.take(s, host, &values[i])
		}
	case isLLDPText([]byte(text)):
		l.host(host, false)
		return l.readText(source{s.name, []byte(text)}, host, data.line)
	default:
		l.foreign = append(l.foreign, host)
	}
	return nil
}

func (l *lldp) take(s source, host string, v *jsonValue) {
	for i := range v.list() {
		if l.shape(s, host, &v.list()[i]) {
			l.host(host, false)
		} else {
			l.foreign = append(l.foreign, host)
		}
	}
}

// shape reads one device's neighbours, whichever software printed them, and reports whether it knows the shape.
func (l *lldp) shape(s source, host string, v *jsonValue) bool {
	switch {
	case v.get("lldp") != nil:
		l.lldpctl(s, host, v.get("lldp"))
	case v.get("lldpNeighbors") != nil:
		l.eos(s, host, v.get("lldpNeighbors"))
	case v.get("TABLE_nbor", "TABLE_nbor_detail") != nil:
		l.nxos(s, host, v.get("TABLE_nbor", "TABLE_nbor_detail").first().get("ROW_nbor", "ROW_nbor_detail"))
	case v.get("lldp-neighbors-information") != nil:
		for i := range v.get("lldp-neighbors-information").list() {
			l.junos(s, host, v.get("lldp-neighbors-information").list()[i].get("lldp-neighbor-information"))
		}
	case v.get("TABLE_cdp_neighbor_brief_info", "TABLE_cdp_neighbor_detail_info") != nil:
		l.other++
	default:
		return false
	}
	return true
}

// lldpctl reads lldpd's json and json0, the latter of which "net show lldp json" of Cumulus prints too. In json0 everything is an array; in
// json what is alone is not, and what has a name is an object whose only key is that name.
func (l *lldp) lldpctl(s source, host string, top *jsonValue) {
	for i := range top.list() {
		for _, item := range top.list()[i].get("interface").list() {
			if name := item.get("name"); name != nil && name.kind == '"' {
				l.lldpctlPort(s, host, name.word(), &item)
				continue
			}
			for k := range item.keys {
				l.lldpctlPort(s, host, item.keys[k], &item.items[k])
			}
		}
	}
}

func (l *lldp) lldpctlPort(s source, host, port string, v *jsonValue) {
	n := neighbour{host: host, port: port, file: s.name, line: v.line}
	chassis := v.get("chassis").first()
	if id := chassis.get("id").first(); id.get("value") == nil && chassis != nil && len(chassis.keys) == 1 && chassis.items[0].kind == '{' {
		n.name, chassis = chassis.keys[0], &chassis.items[0]
	}
	inner := func(v *jsonValue) string {
		if v = v.first(); v.get("value") != nil {
			v = v.get("value")
		}
		return v.word()
	}
	if name := inner(chassis.get("name")); name != "" {
		n.name = name
	}
	n.chassis = inner(chassis.get("id"))
	n.id, n.descr = inner(v.get("port").first().get("id")), inner(v.get("port").first().get("descr"))
	n.alias = v.get("port").first().get("id").first().get("type").word() == "ifalias"
	for _, a := range chassis.get("mgmt-ip").list() {
		n.manage(inner(&a))
	}
	l.add(n)
}

// manage keeps the first address that is one, link-local ones aside.
func (n *neighbour) manage(word string) {
	if a, err := netip.ParseAddr(word); err == nil && !n.management.IsValid() && !a.IsLinkLocalUnicast() && a.Zone() == "" {
		n.management = a.Unmap()
	}
}

// eos reads "show lldp neighbors detail | json" of Arista EOS, whose port identifiers stand in quotes of their own, and the short form.
func (l *lldp) eos(s source, host string, v *jsonValue) {
	if v.kind == '[' {
		for i := range v.items {
			x := &v.items[i]
			l.add(neighbour{
				host: host, port: x.get("port").word(), name: x.get("neighborDevice").word(), id: x.get("neighborPort").word(),
				file: s.name, line: x.line,
			})
		}
		return
	}
	for i, port := range v.keys {
		l.ports[host] = append(l.ports[host], port)
		for _, x := range v.items[i].get("lldpNeighborInfo").list() {
			far := x.get("neighborInterfaceInfo")
			n := neighbour{
				host: host, port: port, name: x.get("systemName").word(), chassis: x.get("chassisId").word(),
				id: strings.Trim(far.get("interfaceId").word(), `"`), descr: strings.Trim(far.get("interfaceDescription").word(), `"`),
				alias: far.get("interfaceIdType").word() == "interfaceAlias", file: s.name, line: x.line,
			}
			for _, a := range x.get("managementAddresses").list() {
				n.manage(a.get("address").word())
			}
			l.add(n)
		}
	}
}

// nxos reads "show lldp neighbors | json" of Cisco NX-OS, short or in detail. A row alone is no list.
func (l *lldp) nxos(s source, host string, rows *jsonValue) {
	said := func(v *jsonValue) string {
		if w := v.word(); w != "not advertised" && w != "null" {
			return w
		}
		return ""
	}
	for _, x := range rows.list() {
		n := neighbour{
			host: host, port: x.get("l_port_id").word(), chassis: said(x.get("chassis_id")), name: said(x.get("sys_name")),
			id: said(x.get("port_id")), descr: said(x.get("port_desc")), file: s.name, line: x.line,
		}
		n.alias = strings.Contains(strings.ToLower(x.get("port_type").word()), "alias") || x.get("port_type").word() == "1"
		n.manage(x.get("mgmt_addr").word())
		l.add(n)
	}
}

// junos reads "show lldp neighbors detail | display json", where every leaf is a list of an object with data.
func (l *lldp) junos(s source, host string, rows *jsonValue) {
	for _, x := range rows.list() {
		leaf := func(keys ...string) string { return x.get(keys...).first().get("data").word() }
		n := neighbour{
			host: host, port: leaf("lldp-local-interface", "lldp-local-port-id"), portID: leaf("lldp-local-port-id"),
			chassis: leaf("lldp-remote-chassis-id"), name: leaf("lldp-remote-system-name"),
			id: leaf("lldp-remote-port-id"), descr: leaf("lldp-remote-port-description"), file: s.name, line: x.line,
		}
		n.alias = strings.Contains(strings.ToLower(leaf("lldp-remote-port-id-subtype")), "alias")
		n.manage(leaf("lldp-remote-management-address"))
		l.add(n)
	}
}
