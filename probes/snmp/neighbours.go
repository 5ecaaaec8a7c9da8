package snmp

import (
	"context"
	"slices"
	"time"
)

// neighbours reads whom the ports hear, once a minute: by LLDP-MIB, by LLDP-V2-MIB where that tells none, and by CDP where neither
// does. An agent that was just restarted shows no tables for some seconds, which is not to hear nobody: what it heard before is told until then.
func (p *reader) neighbours(ctx context.Context) error {
	if !p.full && p.Time.Sub(p.listened) < slowLasts {
		p.Neighbours = p.hears
		return nil
	}
	s := &System{Target: p.target}
	rows := newTellingRows(s)
	err := p.listen(ctx, rows)
	if len(rows.hears) > 0 {
		for index, l := range p.labels {
			q := p.ports[index]
			rows.ports[index] = &SystemPort{Index: index, Name: l.name, Descr: l.descr, Alias: l.alias, MAC: l.mac, Type: l.kind, Up: q != nil && q.Oper == "up"}
		}
	}
	rows.finish()
	if justStarted := p.Clock.Uptime != nil && ticks(*p.Clock.Uptime) < 30*time.Second; justStarted && len(s.Hears)+len(s.numbers) == 0 {
		p.Neighbours = p.hears
		return err
	}
	p.hears = nil
	var names map[string]uint32
	if len(s.Hears) > 0 {
		Resolve([]*System{s})
		names = p.names(s)
	}
	for _, h := range s.Hears {
		n := Neighbour{Port: h.Port, Chassis: h.Chassis.Text, System: h.Name, RemotePort: h.PortID.Text, row: rowOf(&h)}
		if index, ok := names[h.Port]; ok {
			n.index = index
		}
		// A MAC address for a port id says less than the description.
		if h.PortID.Kind == KindMAC && h.PortDescr != "" || n.RemotePort == "" {
			n.RemotePort = h.PortDescr
		}
		p.hears = append(p.hears, n)
	}
	p.listened, p.Neighbours = p.Time, p.hears
	return err
}

// listen reads the tables of neighbours.
func (p *reader) listen(ctx context.Context, rows *tellingRows) error {
	bridge := portColumns[slices.IndexFunc(portColumns, func(c tellingColumn) bool { return c.oid == oidBridgePort })]
	for _, columns := range [][]tellingColumn{append(lldpColumns(LLDP), bridge), lldpColumns(LLDPv2), cdpColumns} {
		if len(rows.hears) > 0 {
			break
		}
		oids := make([]string, len(columns))
		for i := range columns {
			oids[i] = columns[i].oid
		}
		if err := p.session.Sweep(ctx, nil, oids, rows.cells(columns), nil); err != nil {
			return err
		}
	}
	return nil
}

// names returns the ports by the names that neighbours are told for, the first of those that are called alike: a port before its logical units.
func (p *reader) names(s *System) map[string]uint32 {
	names := map[string]uint32{}
	for i, n := range s.PortNames() {
		if old, ok := names[n]; !ok || p.labels[s.Ports[i].Index].name == n && p.labels[old].name != n {
			names[n] = s.Ports[i].Index
		}
	}
	return names
}
