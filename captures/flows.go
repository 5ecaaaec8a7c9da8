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
}

// EachFlow calls each for every direction of a flow that packets went in, in the order in which flows were first seen, until it
// returns an error.
func (a *Analyzer) EachFlow(each func(*FlowReport) error) error {
	type half struct {
		number uint32
		dir    int
	}
	queues := map[half]roceCounts{}
	a.roce.pairs.all(func(_ uint32, q *queuePair) {
		if q.number == 0 {
			return
		}
		h := half{q.number, 0}
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
			} else if c, roce := queues[half{n, dir}]; roce {
				r.LostBefore, r.LostAfter = evidence.Int(int(c.GapPackets)), evidence.Int(int(c.LostAfter))
				r.Retransmitted = evidence.Int(int(c.Retransmitted))
			}
			if r.LostBefore != nil {
				r.Data = evidence.Int(carrying(h))
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

// Evidence hands over all that was found as records: first the flows, then the findings. By names the files.
func (a *Analyzer) Evidence(r *Report, by string, each func(*evidence.Record) error) error {
	by = graphs.Clean(by)
	err := a.EachFlow(func(f *FlowReport) error {
		return each(&evidence.Record{
			Time: f.Last, Source: evidence.SourcePcap, By: by, Kind: evidence.KindFlow, Flow: &f.Flow, Packets: &f.Packets,
			LostBefore: f.LostBefore, LostAfter: f.LostAfter, Retransmitted: f.Retransmitted, OutOfOrder: f.OutOfOrder, CE: f.CE, RTT: f.RTT,
			Data: f.Data,
		})
	})
	for i := range r.Findings {
		if err != nil {
			return err
		}
		f := &r.Findings[i]
		rec := &evidence.Record{
			Source: evidence.SourcePcap, By: by, Kind: evidence.KindFinding, Finding: f.Finding, Severity: string(f.Severity), Subject: f.Subject,
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
