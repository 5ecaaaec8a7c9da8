package formats

import (
	"strings"

	"whichlink/graphs"
)

func isSonic(text []byte) bool {
	return isSonicLinks(text) || isSonicDevices(text) || isMinigraph(text)
}

func readSonic(f *File, name string, from []source) error {
	if isMinigraph(from[0].text) {
		return readMinigraph(f, name, from)
	}
	return readSonicCSV(f, name, from)
}

// The lab files of sonic-mgmt: a CSV file of links, one of devices, or both.

func isSonicLinks(text []byte) bool   { return hasColumns(text, "startdevice", "enddevice") }
func isSonicDevices(text []byte) bool { return hasColumns(text, "hostname", "managementip") }

func readSonicCSV(f *File, name string, from []source) error {
	s, left := newSketch(), passed{}
	var links, devices []source
	for _, file := range from {
		if isSonicDevices(file.text) {
			devices = append(devices, file)
		} else {
			links = append(links, file)
		}
	}
	if err := eachRow(devices, func(t *table) error { return t.readSonicDevice(s) }); err != nil {
		return err
	}
	if err := eachRow(links, func(t *table) error { return t.readSonicLink(s, left) }); err != nil {
		return err
	}
	if err := s.build(f, name); err != nil {
		return err
	}
	left.note(f)
	return nil
}

func (t *table) readSonicDevice(s *sketch) error {
	host := t.get("hostname")
	if host == "" {
		return t.fail("no Hostname")
	}
	n := s.nodeAt(host, place{t.name, t.line})
	if word := t.get("managementip"); word != "" {
		a, err := parseAddress(word)
		if err != nil {
			return t.fail("ManagementIp: %w", err)
		}
		n.Management = a
	}
	n.Role = sonicRole(t.get("type"))
	return nil
}

// sonicRole is the role of a type of device, in the lab files or in a minigraph. Whatever does not forward packets of the fabric is a host.
func sonicRole(kind string) graphs.Role {
	kind = strings.ToLower(kind)
	for _, r := range []struct {
		part string
		role graphs.Role
	}{
		{"server", graphs.RoleHost}, {"pdu", graphs.RoleHost}, {"ixia", graphs.RoleHost}, {"snappi", graphs.RoleHost}, {"ptf", graphs.RoleHost},
		{"mgmt", "management"}, {"console", graphs.RoleHost}, {"fanout", "fanout"}, {"upperspine", "superspine"}, {"spine", "spine"}, {"leaf", "leaf"}, {"tor", "tor"},
		{"core", "core"}, {"devsonic", "switch"},
	} {
		if strings.Contains(kind, r.part) {
			return r.role
		}
	}
	return graphs.Role(graphs.Clean(kind))
}

func (t *table) readSonicLink(s *sketch, left passed) error {
	if !t.has("startdevice", "enddevice") {
		return t.fail("no columns StartDevice and EndDevice, expected links, or devices: Hostname, ManagementIp")
	}
	c := cable{file: t.name, line: t.line}
	for i, side := range []string{"start", "end"} {
		if c.ends[i] = (socket{t.get(side + "device"), t.get(side + "port")}); c.ends[i].node == "" {
			return t.fail("no %sDevice", strings.ToUpper(side[:1])+side[1:])
		}
	}
	if c.ends[0].node == c.ends[1].node {
		left.add("links from a device to itself")
		return nil
	}
	if word := t.get("bandwidth"); word != "" {
		speed, err := megabits(word)
		if err != nil {
			return t.fail("BandWidth is %w", err)
		}
		c.speed = speed
	}
	return s.add(c)
}

// megabits reads a speed of which SONiC's files give the number of Mbit/s.
func megabits(word string) (graphs.BitsPerSecond, error) {
	if strings.Trim(word, "0123456789") == "" {
		word += "M"
	}
	return ParseSpeed(word)
}
