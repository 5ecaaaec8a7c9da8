package sim

import (
	"net/netip"
	"slices"
	"time"

	"whichlink/graphs"
	"whichlink/internal/evidence"
	"whichlink/probes"
)

// What the round trip of a probe takes where nothing is wrong: both hosts, each link with its switch, and, evenly spread around a mean by an
// exponential distribution, what waits in each switch.
const (
	hostDelay  = 20 * time.Microsecond
	hopDelay   = time.Microsecond
	queueDelay = 300 * time.Nanosecond
)

// samples is how many round trips of a flow are drawn at a time: they are for a distribution of which five figures are told.
const samples = 16

// A journal writes what is measured as the records that probers write.
type journal struct {
	emit  func(*evidence.Record)
	begin time.Time
	from  time.Duration // where the window began
	flows []entry
}

// An entry is what was counted of a flow in the window.
type entry struct {
	flow       evidence.Flow
	by         string
	path, back []string // once traced
	there      Count
	lostBack   int
	lostAt     []int // in milliseconds after the window's beginning
	rtt        probes.Delays
}

// Record has every flow written down, by windows, from now on: its echoes, and its path when that is traced. The measurement begins at a time of day.
// What a record names is taken from the fabric, whose hosts must have addresses.
func (m *Measurement) Record(begin time.Time, emit func(*evidence.Record)) {
	j := &journal{emit: emit, begin: begin, from: m.now, flows: make([]entry, len(m.flows))}
	for i := range j.flows {
		fl := &m.flows[i]
		j.flows[i].by = m.f.NodeName(fl.Src)
		j.flows[i].flow = evidence.Flow{Src: m.reachedAt(&fl.ways[1]), Dst: m.reachedAt(&fl.ways[0]), Proto: "udp", SrcPort: fl.SrcPort, DstPort: probes.DefaultPort}
	}
	m.journal = j
	for i := range m.flows {
		m.pathKnown(int32(i))
	}
}

// reachedAt returns the address that a host is reached at: of its links a packet comes in by that whose address it was sent to.
func (m *Measurement) reachedAt(w *way) netip.Addr {
	last := w.arcs[len(w.arcs)-1]
	if x, ok := m.f.Port(m.f.HeadPort(last)).Prefix(false); ok {
		return x.Addr()
	}
	return m.f.Address(m.f.Head(last), false)
}

func (j *journal) record(kind evidence.Kind, e *entry, at time.Duration) *evidence.Record {
	return &evidence.Record{V: evidence.Version, Time: j.begin.Add(at).UTC(), Source: evidence.SourceProbe, By: e.by, Epoch: "0", Kind: kind,
		Flow: &e.flow, Path: e.path, Back: e.back}
}

// pathKnown writes down what is known of a flow's path now.
func (m *Measurement) pathKnown(i int32) {
	e := &m.journal.flows[i]
	for d, names := range [...]*[]string{&e.path, &e.back} {
		if m.state[i].ways[d].traced {
			*names = m.names(m.flows[i].ways[d].arcs)
		}
	}
	r := m.journal.record(evidence.KindPath, e, m.now)
	first := m.journal.begin.UTC()
	r.PreviousTime, r.Changed = &first, m.now > 0
	m.journal.emit(r)
}

func (m *Measurement) names(arcs []graphs.ArcID) []string {
	names := make([]string, len(arcs))
	for i, a := range arcs {
		names[i] = m.f.ArcName(a)
	}
	return names
}

// note adds packets of a flow to its window, and when from now each was due. The numbers of those that were lost are in m.lost.
func (m *Measurement) note(i int32, due func(n int) time.Duration, there, back Count) {
	e := &m.journal.flows[i]
	e.there.add(there)
	e.lostBack += back.Lost
	for _, n := range m.lost {
		at := m.now - m.journal.from + due(n)
		e.lostAt = append(e.lostAt, int(at.Milliseconds()))
	}
	for range min(back.Sent-back.Lost, samples) {
		e.rtt.Add(m.roundTrip(i))
	}
}

func (m *Measurement) roundTrip(i int32) time.Duration {
	rtt := hostDelay
	for d := range 2 {
		for range m.flows[i].ways[d].arcs {
			rtt += hopDelay + time.Duration(m.rng.ExpFloat64()*float64(queueDelay))
		}
		for _, k := range m.state[i].ways[d].faults {
			if f := &m.cfg.Faults[k]; f.active(m.now) {
				rtt += f.Delay
			}
		}
	}
	return rtt
}

// closeWindow writes down what was counted since the last time.
func (m *Measurement) closeWindow() {
	j := m.journal
	for i := range j.flows {
		e := &j.flows[i]
		if e.there.Sent == 0 {
			continue
		}
		r := j.record(evidence.KindEcho, e, m.now)
		r.WindowMS = int((m.now - j.from).Milliseconds())
		lost := e.there.Lost + e.lostBack
		r.Sent, r.Lost, r.LostForward, r.LostBack = evidence.Int(e.there.Sent), evidence.Int(lost), evidence.Int(0), evidence.Int(0)
		if lost < e.there.Sent { // answers tell how many probes arrived
			r.LostForward, r.LostBack = evidence.Int(e.there.Lost), evidence.Int(e.lostBack)
		}
		slices.Sort(e.lostAt) // on the way back some are lost that were sent earlier
		r.LostAtMS, r.RTT = e.lostAt[:min(len(e.lostAt), evidence.MaxLostAt)], e.rtt.Delay()
		j.emit(r)
		e.there, e.lostBack, e.lostAt, e.rtt = Count{}, 0, nil, probes.Delays{}
	}
	j.from = m.now
}
