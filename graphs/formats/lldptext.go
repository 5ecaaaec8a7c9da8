package formats

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"

	"whichlink/graphs"
)

// isLLDPText recognises what lldpctl prints as text, with -f keyvalue, and with -f xml.
func isLLDPText(text []byte) bool {
	head := text[:min(len(text), 4096)]
	head = bytes.TrimLeft(head, "- \t\r\n")
	if bytes.HasPrefix(head, []byte("<?xml")) {
		if _, rest, ok := bytes.Cut(head, []byte("?>")); ok {
			return bytes.HasPrefix(bytes.TrimLeft(rest, " \t\r\n"), []byte("<lldp"))
		}
	}
	line, _, _ := bytes.Cut(head, []byte("\n"))
	return bytes.HasPrefix(head, []byte("LLDP neighbors")) || bytes.HasPrefix(head, []byte("<lldp")) ||
		bytes.HasPrefix(line, []byte("Interface:")) && bytes.Contains(line, []byte("via:")) ||
		bytes.HasPrefix(line, []byte("lldp.")) && bytes.Contains(line, []byte("="))
}

// readText reads one of lldpctl's forms that are not JSON. If line is not 0, all is from this line of another file.
func (l *lldp) readText(s source, host string, line int) error {
	l.host(host, line == 0)
	text := bytes.TrimLeft(s.text, " \t\r\n")
	switch {
	case bytes.HasPrefix(text, []byte("<")):
		return l.readXML(s, host)
	case bytes.HasPrefix(text, []byte("lldp.")):
		return l.readKeyValue(s, host)
	}
	n := neighbour{}
	number := 0
	for row := range bytes.Lines(s.text) {
		number++
		key, value, _ := strings.Cut(string(row), ":")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		kind, rest, _ := strings.Cut(value, " ")
		switch key {
		case "Interface":
			l.add(n)
			port, _, _ := strings.Cut(value, ",")
			n = neighbour{host: host, port: port, file: s.name, line: number}
			if line != 0 {
				n.line = line
			}
		case "ChassisID":
			n.chassis = strings.TrimSpace(rest)
		case "SysName":
			n.name = value
		case "PortID":
			n.id, n.alias = strings.TrimSpace(rest), kind == "ifalias"
		case "PortDescr":
			n.descr = value
		case "MgmtIP":
			n.manage(value)
		}
	}
	l.add(n)
	return nil
}

// readKeyValue reads lines such as lldp.swp1.chassis.name=l1. The name of a port may itself hold dots.
func (l *lldp) readKeyValue(s source, host string) error {
	n := neighbour{}
	number := 0
	for row := range bytes.Lines(s.text) {
		number++
		key, value, ok := strings.Cut(strings.TrimSpace(string(row)), "=")
		if key == "" {
			continue
		}
		rest, prefixed := strings.CutPrefix(key, "lldp.")
		if !ok || !prefixed {
			return &Error{Line: number, Err: fmt.Errorf("%q, expected a line such as lldp.swp1.chassis.name=l1", graphs.Clean(key))}
		}
		if port, ok := strings.CutSuffix(rest, ".via"); ok {
			l.add(n)
			n = neighbour{host: host, port: port, file: s.name, line: number}
			continue
		}
		rest, _ = strings.CutPrefix(rest, n.port+".")
		switch rest {
		case "chassis.name":
			n.name = value
		case "chassis.mac", "chassis.local", "chassis.ip", "chassis.ifname":
			n.chassis = value
		case "chassis.mgmt-ip":
			n.manage(value)
		case "port.ifname", "port.mac", "port.local", "port.ip":
			n.id = value
		case "port.ifalias":
			n.id, n.alias = value, true
		case "port.descr":
			n.descr = value
		}
	}
	l.add(n)
	return nil
}

// lldpXML is an interface as lldpctl -f xml prints it.
type lldpXML struct {
	Name    string `xml:"name,attr"`
	Chassis struct {
		ID         string   `xml:"id"`
		Name       string   `xml:"name"`
		Management []string `xml:"mgmt-ip"`
	} `xml:"chassis"`
	Port struct {
		ID struct {
			Type  string `xml:"type,attr"`
			Value string `xml:",chardata"`
		} `xml:"id"`
		Descr string `xml:"descr"`
	} `xml:"port"`
}

func (l *lldp) readXML(s source, host string) error {
	dec := newXML(s)
	for {
		t, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return xmlError(s, dec, err)
		}
		start, ok := t.(xml.StartElement)
		if !ok || start.Name.Local != "interface" {
			continue
		}
		line, _ := dec.InputPos()
		var x lldpXML
		if err := dec.DecodeElement(&x, &start); err != nil {
			return xmlError(s, dec, err)
		}
		n := neighbour{
			host: host, port: strings.TrimSpace(x.Name), chassis: strings.TrimSpace(x.Chassis.ID), name: strings.TrimSpace(x.Chassis.Name),
			id: strings.TrimSpace(x.Port.ID.Value), alias: x.Port.ID.Type == "ifalias", descr: strings.TrimSpace(x.Port.Descr),
			file: s.name, line: line,
		}
		for _, a := range x.Chassis.Management {
			n.manage(strings.TrimSpace(a))
		}
		l.add(n)
	}
}
