package formats

import (
	"strings"
	"unicode"

	"whichlink/graphs"
)

// netbox is what files of NetBox tell: devices, and the cabling between them.
type netbox struct {
	sketch *sketch
	plant  *plant
	left   passed
	// told are the devices that are in a list of devices; cabled those at which a cable ends.
	told   []netboxDevice
	cabled map[string]bool
}

type netboxDevice struct {
	node graphs.Node
	at   place
}

func newNetbox() *netbox {
	return &netbox{sketch: newSketch(), plant: newPlant(), left: passed{}, cabled: map[string]bool{}}
}

func (b *netbox) cable(s strand) {
	for _, t := range s.ends {
		b.cabled[t.device] = true
	}
	b.plant.add(s)
}

// build traces the links. A device at which only cables of other kinds end is no node: a patch panel, a power strip.
func (b *netbox) build(f *File, name string) error {
	links := newSketch()
	if err := b.plant.trace(links, b.left); err != nil {
		return err
	}
	for _, d := range b.told {
		if _, linked := links.byName[d.node.Name]; !linked && b.cabled[d.node.Name] {
			b.left.add("devices at which no link ends, only other cables (patch panels, power)")
			continue
		}
		*b.sketch.nodeAt(d.node.Name, d.at) = d.node
	}
	for _, c := range links.cables {
		if err := b.sketch.add(c); err != nil {
			return err
		}
	}
	if err := b.sketch.build(f, name); err != nil {
		return err
	}
	b.left.note(f)
	return nil
}

func isNetbox(text []byte) bool {
	return isNetboxCables(text) || isNetboxDevices(text) || isNetboxJSON(text)
}

func readNetbox(f *File, name string, from []source) error {
	if beginsJSON(from[0].text) {
		return readNetboxJSON(f, name, from)
	}
	return readNetboxCSV(f, name, from)
}

// Exports and import files of NetBox in CSV: cables, devices, or both in any order.

func isNetboxCables(text []byte) bool { return hasColumns(text, "side_a_device", "side_b_device") }
func isNetboxDevices(text []byte) bool {
	return hasColumns(text, "name", "device_role") || hasColumns(text, "name", "role", "device_type")
}

func readNetboxCSV(f *File, name string, from []source) error {
	b := newNetbox()
	var cables, devices []source
	for _, file := range from {
		if isNetboxDevices(file.text) {
			devices = append(devices, file)
		} else {
			cables = append(cables, file)
		}
	}
	if err := eachRow(devices, b.readDevice); err != nil {
		return err
	}
	if err := eachRow(cables, b.readCable); err != nil {
		return err
	}
	return b.build(f, name)
}

func (b *netbox) readDevice(t *table) error {
	name := t.get("name")
	if name == "" {
		b.left.add("devices without a name")
		return nil
	}
	d := netboxDevice{graphs.Node{Name: name, Role: roleOfDevice(t.get("device_role", "role"))}, place{t.name, t.line}}
	if word := t.get("primary_ip", "primary_ip4", "primary_ip6", "ip_address"); word != "" {
		a, err := parseAddress(word)
		if err != nil {
			return t.fail("primary address: %w", err)
		}
		d.node.Management = a
	}
	b.told = append(b.told, d)
	return nil
}

func (b *netbox) readCable(t *table) error {
	if !t.has("side_a_device", "side_a_name", "side_b_device", "side_b_name") {
		return t.fail("no columns side_a_device, side_a_name, side_b_device, side_b_name, expected cables, or devices: name, role, device_type")
	}
	s := strand{at: place{t.name, t.line}}
	for i, side := range []string{"side_a_", "side_b_"} {
		s.ends[i] = termination{t.get(side + "device"), terminationKind(t.get(side + "type")), t.get(side + "name")}
		if e := s.ends[i]; e.kind == anInterface && (e.device == "" || e.name == "") {
			return t.fail("no %sdevice or no %sname", side, side)
		}
	}
	b.cable(s)
	return nil
}

// terminationKind is one word for what NetBox calls dcim.interface, interface or, in GraphQL, InterfaceType. Without it, an interface.
func terminationKind(s string) string {
	s = strings.ToLower(s)
	if s == "" {
		return anInterface
	}
	s = strings.TrimSuffix(s[strings.LastIndex(s, ".")+1:], "type")
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) {
			return r
		}
		return -1
	}, s)
}

// deviceWords are words of device roles that roleWords does not have.
var deviceWords = map[string]graphs.Role{"compute": graphs.RoleHost, "hypervisor": graphs.RoleHost, "storage": graphs.RoleHost, "workstation": graphs.RoleHost}

// roleOfDevice is the role that a device role such as "TOR Switch" means, which every company names as it likes: that of its first word
// that is known, else the name itself.
func roleOfDevice(role string) graphs.Role {
	if r := roleOfGroup(role); r != "" {
		return r
	}
	for _, word := range strings.FieldsFunc(strings.ToLower(role), func(r rune) bool { return !unicode.IsLetter(r) }) {
		if r := roleOfGroup(word); r != "" {
			return r
		}
		if r := deviceWords[word]; r != "" {
			return r
		}
	}
	return graphs.Role(graphs.Clean(strings.ToLower(role)))
}
