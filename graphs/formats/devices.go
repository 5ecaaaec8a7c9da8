package formats

import (
	"net/netip"
	"slices"

	"whichlink/graphs"
)

// A Device is what one device of a fabric, asked by whatever means, tells of itself and of its neighbours.
type Device struct {
	Name string
	// From says where this is from, for errors.
	From string
	// Role is what the device says that it is for, or empty.
	Role graphs.Role
	// Management is the address at which it was asked, Loopback those that belong to none of its ports.
	Management netip.Addr
	Loopback   []netip.Addr
	Ports      []DevicePort
	Neighbours []Neighbour
}

// A DevicePort is a port of a device.
type DevicePort struct {
	Name     string
	Speed    graphs.BitsPerSecond
	Prefixes []netip.Prefix
}

// A Neighbour is what one port of a device hears of the port at the other end of its cable. Empty fields are not known.
type Neighbour struct {
	// Port is the device's own.
	Port string
	// Name and Chassis are the neighbour's, PortID and PortDescr those of its port. Alias is true if PortID is what somebody wrote about the port.
	Name, Chassis     string
	PortID, PortDescr string
	Alias             bool
	Management        netip.Addr
	// Host is true where the neighbour says that it is an end system.
	Host bool
}

// Join makes a fabric of what devices tell of their neighbours, as [Import] does of LLDP's output: links of what both ends tell or one,
// with the ports, addresses and speeds that the devices tell of themselves. A cable from a device to itself is in [File.Loops].
func Join(name string, devices []Device) (*File, error) {
	f := &File{Format: "lldp", observed: true}
	l := &lldp{file: f, known: map[string]bool{}, ports: map[string][]string{}, devices: map[string]*Device{}}
	for i := range devices {
		d := &devices[i]
		l.host(d.Name, false)
		l.devices[d.Name] = d
		for _, p := range d.Ports {
			l.ports[d.Name] = append(l.ports[d.Name], p.Name)
		}
		for _, n := range d.Neighbours {
			l.add(neighbour{
				host: d.Name, port: n.Port, chassis: n.Chassis, name: n.Name, id: n.PortID, descr: n.PortDescr, alias: n.Alias,
				management: n.Management, station: n.Host, file: d.From,
			})
		}
	}
	if err := l.build(graphs.Clean(name)); err != nil {
		return nil, err
	}
	return f, nil
}

// own adds to a drawing what the devices tell of themselves. An address that two of them claim tells nothing and is left out.
func (j *lldpJoin) own(sk *sketch) {
	owners := map[netip.Addr]string{}
	var twice []string
	claim := func(a netip.Addr, node string) {
		if was, ok := owners[a]; ok && was != node && was != "" {
			twice = append(twice, a.String())
			node = ""
		} else if ok && was == "" {
			node = ""
		}
		owners[a] = node
	}
	ports := map[socket]*DevicePort{}
	for _, host := range j.hosts {
		d := j.devices[host]
		if d == nil {
			continue
		}
		node := j.names[j.host[host]]
		for i := range d.Ports {
			ports[socket{node, plainPort(d.Ports[i].Name)}] = &d.Ports[i]
			for _, p := range d.Ports[i].Prefixes {
				claim(p.Addr(), node)
			}
		}
		for _, a := range d.Loopback {
			claim(a, node)
		}
	}
	for _, host := range j.hosts {
		if d := j.devices[host]; d != nil {
			node := j.names[j.host[host]]
			n := sk.node(node)
			n.Management, n.Role = d.Management, d.Role
			for _, a := range d.Loopback {
				if owners[a] == node && !slices.Contains(n.Loopback, a) {
					n.Loopback = append(n.Loopback, a)
				}
			}
		}
	}
	for i := range sk.cables {
		c := &sk.cables[i]
		for k, e := range c.ends {
			p := ports[e]
			if p == nil {
				continue
			}
			if p.Speed != 0 && (c.speed == 0 || p.Speed < c.speed) {
				c.speed = p.Speed
			}
			for _, x := range p.Prefixes {
				if owners[x.Addr()] == e.node {
					c.prefix[k] = append(c.prefix[k], x)
				}
			}
		}
	}
	if len(twice) > 0 {
		slices.Sort(twice)
		j.file.note("several devices have the address %s: left out", few(slices.Compact(twice)))
	}
}
