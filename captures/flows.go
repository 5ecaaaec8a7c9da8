package captures

import (
	"time"

	"whichlink/captures/frames"
	"whichlink/graphs"
	"whichlink/internal/evidence"
)

// A FlowReport is what a capture tells of one direction of a flow. What was not measured is nil.
type FlowReport struct {
	Flow        evidence.Flow
	Packets     int
	Bytes       uint64
	First, Last time.Time // of the flow, in either direction
	// Of TCP and RoCE. Of RoCE LostBefore counts missing sequence numbers, LostAfter how often the sender went back.
	LostBefore, LostAfter, Retransmitted *int
	OutOfOrder                           *int // of TCP
	CE                                   *int
	// Data counts at least the packets that carry payload, of TCP and RoCE: the loss of others does not show.
	Data *int
	// RTT is the round trip between the point of capture and the receivers of both directions.
	RTT *evidence.Delay
	// spells are when it lost packets, as far as that is known.
	spells []spell
}

// EachFlow calls each for every direction of a flow that packets went in, in the order in which flows were first seen, until it
// returns an error.
func (a *Analyzer) EachFlow(each func(*FlowReport) error) error {
	queues := map[flowHalf]roceCounts{}
	a.roce.pairs.all(func(_ uint32, q *queuePair) {
		if q.number == 0 {
			return
		}
		h := flowHalf{q.number, 0}
		if a.flows.flows.at(q.number).key.a != q.src {
			h.dir = 1
		}
		c := queues[h]
		c.GapPackets += q.GapPackets
		c.LostAfter += q.LostAfter
		c.Retransmitted += q.Retransmitted
		queues[h] = c
	})
	var failed error
	a.flows.flows.all(func(n uint32, f *flow) {
		for dir := range f.halves {
			h := &f.halves[dir]
			if h.packets == 0 || failed != nil {
				continue
			}
			r := &FlowReport{
				Flow: f.evidence(dir), Packets: int(h.packets), Bytes: h.bytes, First: *instant(f.first), Last: *instant(f.last),
				CE: evidence.Int(int(h.ce)),
			}
			if f.key.proto == frames.ProtoTCP {
				var t troubles
				if h.trouble != 0 {
					t = *a.tcp.trouble.at(h.trouble)
				}
				r.LostBefore, r.LostAfter = evidence.Int(int(t.lostBefore)), evidence.Int(int(t.lostAfter))
				r.Retransmitted, r.OutOfOrder = evidence.Int(int(t.retransmission)), evidence.Int(int(t.outOfOrder))
			} else if c, roce := queues[flowHalf{n, dir}]; roce {
				r.LostBefore, r.LostAfter = evidence.Int(int(c.GapPackets)), evidence.Int(int(c.LostAfter))
				r.Retransmitted = evidence.Int(int(c.Retransmitted))
			}
			if r.LostBefore != nil {
				r.Data = evidence.Int(carrying(h))
				r.spells = a.spells.of(flowHalf{n, dir}, *r.LostBefore, *r.LostAfter)
			}
			if f.rtt != 0 {
				r.RTT = a.tcp.histograms.at(f.rtt).delay()
			}
			failed = each(r)
		}
	})
	return failed
}

// carrying returns how many packets carry payload, at least: an acknowledgement has headers of 60 bytes at the most usual, and a
// full packet carries about 1448 bytes.
func carrying(h *half) int {
	const headers, payload = 60, 1448
	if rest := int64(h.bytes) - headers*int64(h.packets); rest > 0 {
		return int(min(int64(h.packets), (rest+payload-1)/payload))
	}
	return 0
}

// Evidence hands over all that was found as records: first the flows, then the findings. By names the files. A flow that lost packets has
// a record for each spell of losses and for what lies between them; what is counted over the whole of it stands in the last.
func (a *Analyzer) Evidence(r *Report, by string, each func(*evidence.Record) error) error {
	by = graphs.Clean(by)
	err := a.EachFlow(func(f *FlowReport) error { return f.records(by, each) })
	for i := range r.Findings {
		if err != nil {
			return err
		}
		f := &r.Findings[i]
		rec := &evidence.Record{
			Source: evidence.SourcePcap, By: by, Kind: evidence.KindFinding, Finding: f.Finding, Severity: string(f.Severity), Subject: f.Subject, Address: f.Address,
			Count: evidence.Int(int(f.Count)), Text: f.Text, Rule: f.Rule, Filter: f.Filter, Time: *instant(a.last),
		}
		if f.To != nil {
			rec.Time = *f.To
		}
		if f.From != nil {
			rec.WindowMS = int((rec.Time.Sub(*f.From) + time.Millisecond - 1) / time.Millisecond)
		}
		err = each(rec)
	}
	return err
}

// records hands over what is known of a direction of a flow: a record for each stretch of time.
func (f *FlowReport) records(by string, each func(*evidence.Record) error) error {
	first, last := f.First.UnixNano(), f.Last.UnixNano()
	if len(f.spells) == 0 {
		rec := windowed(first, last)
		rec.By, rec.Flow, rec.Packets, rec.Data, rec.LostBefore, rec.LostAfter = by, &f.Flow, &f.Packets, f.Data, f.LostBefore, f.LostAfter
		f.whole(rec)
		return each(rec)
	}
	parts := stretches(first, last, f.Packets, *f.Data, f.spells)
	for i := range parts {
		p := &parts[i]
		rec := windowed(p.from, p.to)
		rec.By, rec.Flow, rec.Packets, rec.Data, rec.LostBefore, rec.LostAfter = by, &f.Flow, &p.packets, &p.data, &p.lostBefore, &p.lostAfter
		if i == len(parts)-1 {
			f.whole(rec)
		}
		if err := each(rec); err != nil {
			return err
		}
	}
	return nil
}

// whole fills in what is known of a flow as a whole only.
func (f *FlowReport) whole(rec *evidence.Record) {
	rec.Retransmitted, rec.OutOfOrder, rec.CE, rec.RTT = f.Retransmitted, f.OutOfOrder, f.CE, f.RTT
}

// windowed begins a record of a flow over a stretch of time, in milliseconds of which it lies whole.
func windowed(from, to int64) *evidence.Record {
	ms := max(1, (to-from+999_999)/1_000_000)
	return &evidence.Record{Time: *instant(to), Source: evidence.SourcePcap, Kind: evidence.KindFlow, WindowMS: int(min(ms, 1<<31-1))}
}
