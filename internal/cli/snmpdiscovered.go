package cli

import (
	"cmp"
	"slices"

	"whichlink/graphs"
	"whichlink/graphs/formats"
	"whichlink/probes/snmp"
)

// devices makes of systems, which are resolved, what a fabric is joined of.
func devices(systems []*snmp.System) []formats.Device {
	out := make([]formats.Device, len(systems))
	for i, s := range systems {
		d := formats.Device{Name: s.Name, From: s.Target, Management: s.Addr}
		if s.Forwards {
			d.Role = "switch"
		}
		labels := s.PortNames()
		at := map[uint32]int{}
		loopback := map[uint32]bool{}
		named := map[string]int{}
		for k, p := range s.Ports {
			n, ok := named[labels[k]]
			if !ok {
				n = len(d.Ports)
				named[labels[k]] = n
				d.Ports = append(d.Ports, formats.DevicePort{Name: labels[k]})
			}
			at[p.Index], loopback[p.Index] = n, p.Type == snmp.LoopbackType
			if p.Up && p.Mbps > 0 {
				d.Ports[n].Speed = graphs.BitsPerSecond(p.Mbps) * 1_000_000
			}
		}
		for _, a := range s.Addresses {
			switch n, ok := at[a.Index]; {
			case a.Prefix.Addr().IsLoopback() || a.Prefix.Addr().IsUnspecified() || a.Prefix.Addr() == s.Addr:
			case loopback[a.Index]:
				d.Loopback = append(d.Loopback, a.Prefix.Addr())
			case ok:
				d.Ports[n].Prefixes = append(d.Ports[n].Prefixes, a.Prefix)
			}
		}
		for k := range s.Hears {
			if h := &s.Hears[k]; h.Far != snmp.FarAmbiguous {
				d.Neighbours = append(d.Neighbours, deviceNeighbour(systems, h))
			}
		}
		out[i] = d
	}
	return out
}

// deviceNeighbour is a neighbour by what it is known to be, or as it tells of itself.
func deviceNeighbour(systems []*snmp.System, h *snmp.Hearing) formats.Neighbour {
	n := formats.Neighbour{
		Port: h.Port, Name: h.Name, Chassis: h.Chassis.Text, PortID: h.PortID.Text, PortDescr: h.PortDescr, Alias: h.PortID.Kind == snmp.KindAlias, Host: h.StationOnly,
	}
	if len(h.Management) > 0 {
		n.Management = h.Management[0]
	}
	if h.Far >= 0 {
		far := systems[h.Far]
		n.Name, n.Chassis, n.Management = far.Name, far.Chassis.Text, far.Addr
		if h.FarPort != "" {
			n.PortID, n.PortDescr, n.Alias = h.FarPort, "", false
		}
	}
	return n
}

// A discovery is what snmp discover -o json prints.
type discovery struct {
	Fabric string            `json:"fabric"`
	Agents []discoveredAgent `json:"agents"`
	Links  []discoveredLink  `json:"links"`
	Notes  []string          `json:"notes"`
}

type discoveredAgent struct {
	Target   string `json:"target"`
	Name     string `json:"name"`
	HeardAs  string `json:"heard_as,omitempty"`
	Chassis  string `json:"chassis,omitempty"`
	Hops     int    `json:"hops"`
	Error    string `json:"error"`
	Ports    int    `json:"ports"`
	Requests int    `json:"requests"`
	MS       int64  `json:"ms"`

	Neighbours []discoveredNeighbour `json:"neighbours"`
}

type discoveredNeighbour struct {
	Protocol snmp.Protocol `json:"protocol"`
	Number   uint32        `json:"number"`
	// Port is the agent's own, absent where it cannot be told, and By what told it.
	Port string    `json:"port,omitempty"`
	By   snmp.Step `json:"by,omitempty"`
	// Chassis, System and RemotePort are what the neighbour tells of itself, Node and NodePort what it was found to be.
	Chassis    string    `json:"chassis,omitempty"`
	System     string    `json:"system,omitempty"`
	RemotePort string    `json:"remote_port,omitempty"`
	Node       string    `json:"node,omitempty"`
	NodePort   string    `json:"node_port,omitempty"`
	NodePortBy snmp.Step `json:"node_port_by,omitempty"`
}

// A discoveredLink is a link and how many of its ends tell of it.
type discoveredLink struct {
	Link string `json:"link"`
	Told int    `json:"told"`
}

func discoveryJSON(c *snmp.Crawled, file *formats.File, notes []string) discovery {
	d := discovery{Fabric: file.Fabric.Name(), Agents: []discoveredAgent{}, Links: []discoveredLink{}, Notes: slices.Concat([]string{}, notes)}
	systems := answered(c.Systems)
	told := map[string]bool{}
	for _, s := range c.Systems {
		a := discoveredAgent{Target: s.Target, Name: s.Name, HeardAs: s.HeardAs, Chassis: s.Chassis.Text, Hops: s.Hops, Ports: len(s.Ports), Requests: s.Requests,
			MS: s.Took.Milliseconds(), Neighbours: []discoveredNeighbour{}}
		if s.Err != nil {
			a.Error = graphs.Clean(s.Err.Error())
		}
		for i := range s.Hears {
			h := &s.Hears[i]
			n := discoveredNeighbour{Protocol: h.Protocol, Number: h.Number, Port: h.Port, By: h.Step, Chassis: h.Chassis.Text, System: h.Name,
				RemotePort: cmp.Or(h.PortID.Text, h.PortDescr), NodePort: h.FarPort, NodePortBy: h.FarStep}
			if h.Far >= 0 {
				n.Node = systems[h.Far].Name
			}
			a.Neighbours = append(a.Neighbours, n)
			told[s.Name+":"+h.Port] = true // of ends without a port none is a link's
		}
		d.Agents = append(d.Agents, a)
	}
	f := file.Fabric
	for l := range graphs.LinkID(f.NumLinks()) {
		link := discoveredLink{Link: f.LinkName(l)}
		for _, p := range f.Link(l).Ends {
			if told[f.PortName(p)] {
				link.Told++
			}
		}
		d.Links = append(d.Links, link)
	}
	return d
}
