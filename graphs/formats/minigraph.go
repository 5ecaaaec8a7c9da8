package formats

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"whichlink/graphs"
)

func isMinigraph(text []byte) bool {
	return beginsXML(text) && bytes.Contains(text, []byte("<DeviceMiniGraph"))
}

// minigraph is what a SONiC minigraph says: the links of one device and its neighbours (PngDec), addresses (DpgDec), speeds (DeviceInfos).
// Ports have the names of the vendor there (fortyGigE0/0), not SONiC's own.
type minigraph struct {
	sketch *sketch
	left   passed
	cables []cable
	// own is the name of the device of which the file is; speeds without a name are its.
	own    string
	prefix map[socket][]netip.Prefix
	speed  map[socket]graphs.BitsPerSecond
}

func readMinigraph(f *File, name string, from []source) error {
	m := &minigraph{sketch: newSketch(), left: passed{}, prefix: map[socket][]netip.Prefix{}, speed: map[socket]graphs.BitsPerSecond{}}
	for _, file := range from {
		if err := eachElement(file, m.element); err != nil {
			return err
		}
	}
	for _, c := range m.cables {
		for i, e := range c.ends {
			c.prefix[i] = m.prefix[e]
			s := m.speed[e]
			if e.node == m.own {
				s = max(s, m.speed[socket{"", e.port}])
			}
			if s != 0 && (c.speed == 0 || s < c.speed) {
				c.speed = s
			}
			delete(m.prefix, e)
		}
		if err := m.sketch.add(c); err != nil {
			return err
		}
	}
	if err := m.sketch.build(f, name); err != nil {
		return err
	}
	if n := len(m.prefix); n > 0 {
		f.note("addresses of %d ports to which no link is told of (port channels, others): passed over", n)
	}
	m.left.note(f)
	return nil
}

func (m *minigraph) element(d *xml.Decoder, start *xml.StartElement, at place) error {
	switch start.Name.Local {
	case "DeviceLinkBase":
		return m.link(d, start, at)
	case "Device":
		return m.device(d, start, at)
	case "DeviceDataPlaneInfo":
		return m.dataPlane(d, start, at)
	case "DeviceInfo":
		return m.speeds(d, start)
	case "Hostname": // the last one that is in no other element is the file's own
		var own string
		err := d.DecodeElement(&own, start)
		m.own = strings.TrimSpace(own)
		return err
	}
	return nil
}

func (m *minigraph) link(d *xml.Decoder, start *xml.StartElement, at place) error {
	var x struct {
		ElementType, StartDevice, StartPort, EndDevice, EndPort, Bandwidth string
	}
	if err := d.DecodeElement(&x, start); err != nil {
		return err
	}
	c := cable{file: at.file, line: at.line}
	c.ends = [2]socket{{strings.TrimSpace(x.StartDevice), strings.TrimSpace(x.StartPort)}, {strings.TrimSpace(x.EndDevice), strings.TrimSpace(x.EndPort)}}
	switch {
	case strings.TrimSpace(x.ElementType) != "DeviceInterfaceLink":
		m.left.add("links of type " + graphs.Clean(strings.TrimSpace(x.ElementType)))
		return nil
	case c.ends[0].node == "" || c.ends[1].node == "":
		return &Error{at.file, at.line, errors.New("a DeviceLinkBase has no StartDevice or no EndDevice")}
	case c.ends[0].node == c.ends[1].node:
		m.left.add("links from a device to itself")
		return nil
	}
	if word := strings.TrimSpace(x.Bandwidth); word != "" {
		var err error
		if c.speed, err = megabits(word); err != nil {
			return &Error{at.file, at.line, fmt.Errorf("element Bandwidth is %w", err)}
		}
	}
	m.cables = append(m.cables, c)
	return nil
}

func (m *minigraph) device(d *xml.Decoder, start *xml.StartElement, at place) error {
	var x struct {
		Type       string `xml:"type,attr"`
		Hostname   string
		Management string `xml:"ManagementAddress>IPPrefix"`
	}
	if err := d.DecodeElement(&x, start); err != nil {
		return err
	}
	if x.Hostname = strings.TrimSpace(x.Hostname); x.Hostname == "" {
		m.left.add("devices without a Hostname")
		return nil
	}
	n := m.sketch.nodeAt(x.Hostname, at)
	n.Role = sonicRole(strings.TrimSpace(x.Type))
	if word := strings.TrimSpace(x.Management); word != "" && !n.Management.IsValid() {
		a, err := parseAddress(word)
		if err != nil {
			return &Error{at.file, at.line, fmt.Errorf("element ManagementAddress: %w", err)}
		}
		if !a.IsUnspecified() {
			n.Management = a
		}
	}
	return nil
}

func (m *minigraph) dataPlane(d *xml.Decoder, start *xml.StartElement, at place) error {
	var x struct {
		Hostname string
		Loopback []struct {
			PrefixStr string
		} `xml:"LoopbackIPInterfaces>LoopbackIPInterface"`
		Port []struct {
			AttachTo, Prefix string
		} `xml:"IPInterfaces>IPInterface"`
	}
	if err := d.DecodeElement(&x, start); err != nil {
		return err
	}
	if x.Hostname = strings.TrimSpace(x.Hostname); x.Hostname == "" {
		return nil
	}
	wrong := func(word string) error {
		return &Error{at.file, at.line, fmt.Errorf("DeviceDataPlaneInfo of %s: %q, expected an address with the length of its subnet", graphs.Clean(x.Hostname), graphs.Clean(word))}
	}
	n := m.sketch.nodeAt(x.Hostname, at)
	for _, l := range x.Loopback {
		p, err := netip.ParsePrefix(strings.TrimSpace(l.PrefixStr))
		if err != nil {
			return wrong(l.PrefixStr)
		}
		n.Loopback = append(n.Loopback, p.Addr().Unmap())
	}
	for _, i := range x.Port {
		p, err := netip.ParsePrefix(strings.TrimSpace(i.Prefix))
		if err != nil || p.Addr().Is4In6() {
			return wrong(i.Prefix)
		}
		at := socket{x.Hostname, strings.TrimSpace(i.AttachTo)}
		m.prefix[at] = append(m.prefix[at], p)
	}
	return nil
}

func (m *minigraph) speeds(d *xml.Decoder, start *xml.StartElement) error {
	var x struct {
		Hostname  string
		Interface []struct {
			InterfaceName, Speed string
		} `xml:"EthernetInterfaces>EthernetInterface"`
	}
	if err := d.DecodeElement(&x, start); err != nil {
		return err
	}
	for _, i := range x.Interface {
		if s, err := megabits(strings.TrimSpace(i.Speed)); err == nil {
			m.speed[socket{strings.TrimSpace(x.Hostname), strings.TrimSpace(i.InterfaceName)}] = s
		}
	}
	return nil
}
