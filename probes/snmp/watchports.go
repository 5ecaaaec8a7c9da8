package snmp

import (
	"context"
	"errors"
	"time"

	"whichlink/internal/evidence"
)

// A portReader reads what the ports of one agent are called and what they counted since it was last asked.
type portReader struct {
	agent *Agent
	last  *Reading
	meter *Meter
	// heard are the neighbours when they were last asked for, at listened.
	heard    []Neighbour
	listened time.Time
	// lit is when the light was read that records have told.
	lit time.Time
}

// portsTold are what the agent calls itself, the names of ports by ifIndex, records that have them as their Port, and how many requests that took.
type portsTold struct {
	system   string
	names    map[uint32]string
	records  []*evidence.Record
	requests int
	// relearned are the ports that forgot their neighbour and heard it again.
	relearned []string
}

// ethernet are the types of interfaces that have a cable (IANAifType-MIB); aggregates, VLANs and tunnels count what others count, too.
var ethernet = map[uint32]bool{6: true, 62: true, 69: true, 117: true}

// read returns what could be read. An agent that fails at a table that it need not have has told the rest.
func (p *portReader) read(ctx context.Context) (portsTold, error) {
	r := p.agent.Read(ctx)
	told := portsTold{system: r.Name, names: make(map[uint32]string, len(r.Ports)), requests: r.Requests}
	for i := range r.Ports {
		told.names[r.Ports[i].Index] = r.Ports[i].Name
	}
	if r.Err != nil && (!errors.Is(r.Err, ErrAgent) || len(r.Ports) == 0) {
		return told, r.Err
	}
	if p.last != nil {
		told.records = counterRecords(p.last, r, p.meter, p.agent.looked != p.lit)
		p.lit = p.agent.looked
	}
	if p.agent.listened != p.listened {
		told.records = append(told.records, neighbourRecords(p.heard, r.Neighbours)...)
		if p.last != nil && !r.Clock.restarted(&p.last.Clock, r.Time.Sub(p.last.Time)) {
			told.relearned = relearned(p.heard, r.Neighbours)
		}
		for _, n := range told.records {
			n.Time = r.Time
		}
		p.heard, p.listened = r.Neighbours, p.agent.listened
	}
	p.last = r
	return told, nil
}

// counterRecords writes down what each port counted between two readings, and how fast it goes by a meter that takes them in. Light, which is read seldom, is
// told once.
func counterRecords(before, after *Reading, meter *Meter, lit bool) []*evidence.Record {
	var records []*evidence.Record
	deltas := Between(before, after)
	meter.Add(deltas, after.Quantum)
	for _, d := range deltas {
		q := after.Port(d.Index)
		if q == nil || !ethernet[q.Type] {
			continue
		}
		r := &evidence.Record{Time: after.Time, Kind: evidence.KindCounters, PortState: evidence.PortState{
			Port: q.Name, IntervalMS: int(d.Elapsed.Milliseconds()), Oper: q.Oper, Admin: q.Admin, Speed: q.Speed, Reset: d.Reset,
		}}
		if q.LastChange != nil {
			ago := q.LastChange.Milliseconds()
			r.LastChangeAgoMS = &ago
		}
		if lit {
			r.Optics = q.Optics
		}
		if !d.Reset {
			in, out := d.In, d.Out
			in.Pause, out.Pause = d.pauses()
			r.In, r.Out = &in, &out
			if rate, ok := meter.Rate(d.Index); ok {
				r.InRate, r.OutRate, r.RateMS = evidence.Count(uint64(rate.In)), evidence.Count(uint64(rate.Out)), int(rate.Over.Milliseconds())
			}
		}
		records = append(records, r)
	}
	return records
}

// pauses returns how often a port was told to stop, and told the other end to: where frames are counted by priority, too, those of the priority that was stopped most often.
func (d *Delta) pauses() (received, sent *uint64) {
	received, sent = d.In.Pause, d.Out.Pause
	more := func(old *uint64, n uint64) *uint64 {
		if old != nil && *old >= n {
			return old
		}
		return &n
	}
	for _, p := range d.PFC {
		received, sent = more(received, p.Received), more(sent, p.Sent)
	}
	return received, sent
}
