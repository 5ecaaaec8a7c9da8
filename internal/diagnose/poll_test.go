package diagnose_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"whichlink/graphs"
	"whichlink/internal/evidence"
	"whichlink/internal/lab"
	"whichlink/probes/snmp"
)

// What the plays ask an agent for, in the order of pollColumns.
const (
	colName = iota
	colAdmin
	colOper
	colChange
	colSpeed
	colInOctets
	colInUnicast
	colInErrors
	colInDiscards
	colOutOctets
	colOutUnicast
	colOutErrors
	colOutDiscards
	colFCS
)

var pollColumns = []string{
	colName: "1.3.6.1.2.1.31.1.1.1.1", colAdmin: "1.3.6.1.2.1.2.2.1.7", colOper: "1.3.6.1.2.1.2.2.1.8", colChange: "1.3.6.1.2.1.2.2.1.9",
	colSpeed: "1.3.6.1.2.1.31.1.1.1.15", colInOctets: "1.3.6.1.2.1.31.1.1.1.6", colInUnicast: "1.3.6.1.2.1.31.1.1.1.7",
	colInErrors: "1.3.6.1.2.1.2.2.1.14", colInDiscards: "1.3.6.1.2.1.2.2.1.13", colOutOctets: "1.3.6.1.2.1.31.1.1.1.10",
	colOutUnicast: "1.3.6.1.2.1.31.1.1.1.11", colOutErrors: "1.3.6.1.2.1.2.2.1.20", colOutDiscards: "1.3.6.1.2.1.2.2.1.19",
	colFCS: "1.3.6.1.2.1.10.7.2.1.3",
}

var neighbourColumns = []string{"1.0.8802.1.1.2.1.3.7.1.3", "1.0.8802.1.1.2.1.4.1.1.5", "1.0.8802.1.1.2.1.4.1.1.7", "1.0.8802.1.1.2.1.4.1.1.9"}

// pollEvery is how often a play asks each agent. Its figures are up to three seconds old.
const pollEvery = time.Second

// A pollState is one switch as a play polls it.
type pollState struct {
	name    string
	session *snmp.Session
	uptime  uint64 // at the last poll, in hundredths of a second
	last    map[string][]uint64
	heard   map[string]bool // the ports that ever heard anybody
}

// poll asks all switches of a lab until ctx ends, and hands over what they say as records.
func poll(ctx context.Context, t *testing.T, l *lab.Lab, take func(*evidence.Record)) {
	for _, n := range l.Fabric().Switches() {
		p := &pollState{name: l.Fabric().NodeName(n), heard: map[string]bool{}}
		err := l.DoManagement(func() (err error) {
			p.session, err = snmp.Dial(ctx, l.Fabric().Node(n).Management.String(), snmp.Credentials{Community: lab.Community}, snmp.Limits{})
			return err
		})
		if err != nil {
			t.Error(err)
			return
		}
		go func() {
			defer p.session.Close()
			tick := time.NewTicker(pollEvery)
			defer tick.Stop()
			for ctx.Err() == nil {
				p.counters(ctx, take)
				p.neighbours(ctx, l.Fabric(), take)
				select {
				case <-ctx.Done():
				case <-tick.C:
				}
			}
		}()
	}
}

// counters reads the ports. An agent that does not answer says nothing.
func (p *pollState) counters(ctx context.Context, take func(*evidence.Record)) {
	rows := map[string][]uint64{}
	names := map[string]string{}
	var uptime uint64
	err := p.session.Sweep(ctx, []string{"1.3.6.1.2.1.1.3.0"}, pollColumns, func(c snmp.Cell) {
		if c.Column == colName {
			names[c.Index] = c.Value.Text
			return
		}
		if rows[c.Index] == nil {
			rows[c.Index] = make([]uint64, len(pollColumns))
		}
		rows[c.Index][c.Column] = c.Value.Number
	}, func(_ int, v snmp.Value) { uptime = v.Number })
	if err != nil {
		return
	}
	now := time.Now().UTC()
	for index, row := range rows {
		if port := names[index]; port != "" && port != "lo" && !strings.HasPrefix(port, "mgmt") {
			take(p.record(now, port, index, row, uptime))
		}
	}
	p.last, p.uptime = rows, uptime
}

// record says what a port counted since the last poll.
func (p *pollState) record(now time.Time, port, index string, row []uint64, uptime uint64) *evidence.Record {
	state := func(n uint64) string {
		if n == 1 {
			return evidence.Up
		}
		return evidence.Down
	}
	r := &evidence.Record{V: evidence.Version, Time: now, Source: evidence.SourceSNMP, By: p.name, Kind: evidence.KindCounters,
		PortState: evidence.PortState{Port: p.name + ":" + port, Oper: state(row[colOper]), Admin: state(row[colAdmin]), Speed: row[colSpeed] * 1e6}}
	if at := row[colChange]; at > 0 && at <= uptime {
		ago := int64(uptime-at) * 10
		r.LastChangeAgoMS = &ago
	}
	before := p.last[index]
	if before == nil || uptime <= p.uptime {
		return r
	}
	r.IntervalMS = int(uptime-p.uptime) * 10
	delta := func(column int) *uint64 {
		if row[column] < before[column] {
			r.Reset = true
			return nil
		}
		return evidence.Count(row[column] - before[column])
	}
	r.In = &evidence.Counters{Octets: delta(colInOctets), Unicast: delta(colInUnicast), Errors: delta(colInErrors), Discards: delta(colInDiscards), FCS: delta(colFCS)}
	r.Out = &evidence.Counters{Octets: delta(colOutOctets), Unicast: delta(colOutUnicast), Errors: delta(colOutErrors), Discards: delta(colOutDiscards)}
	return r
}

// neighbours reads whom each port hears; hosts may not speak LLDP at all. An empty table is that of an lldpd that has just begun.
func (p *pollState) neighbours(ctx context.Context, f *graphs.Fabric, take func(*evidence.Record)) {
	local := map[string]string{}
	heard := map[string]*evidence.Record{} // by index
	at := map[string]string{}
	err := p.session.Sweep(ctx, nil, neighbourColumns, func(c snmp.Cell) {
		if c.Column == 0 {
			local[c.Index] = c.Value.Text
			return
		}
		parts := strings.Split(c.Index, ".")
		if len(parts) != 3 {
			return
		}
		r := heard[c.Index]
		if r == nil {
			r = &evidence.Record{V: evidence.Version, Time: time.Now().UTC(), Source: evidence.SourceSNMP, By: p.name, Kind: evidence.KindNeighbour}
			heard[c.Index], at[c.Index] = r, parts[1]
		}
		switch c.Column {
		case 1:
			r.Chassis = c.Value.Text
		case 2:
			r.RemotePort = c.Value.Text
		case 3:
			r.RemoteSystem = c.Value.Text
		}
	}, func(int, snmp.Value) {})
	if err != nil || len(heard) == 0 {
		return
	}
	hears := map[string]bool{}
	for index, r := range heard {
		port := local[at[index]]
		if port == "" {
			continue
		}
		hears[port], p.heard[port] = true, true
		r.Port = p.name + ":" + port
		take(r)
	}
	n, _ := f.NodeByName(p.name)
	for _, a := range f.Out(n) {
		port := f.Port(f.TailPort(a)).Name
		if (!f.IsHostArc(a) || p.heard[port]) && !hears[port] {
			take(&evidence.Record{V: evidence.Version, Time: time.Now().UTC(), Source: evidence.SourceSNMP, By: p.name, Kind: evidence.KindNeighbour,
				PortState: evidence.PortState{Port: p.name + ":" + port}})
		}
	}
}
