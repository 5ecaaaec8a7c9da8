package captures

import "fmt"

// A tcpFinding is one kind of trouble of TCP, told by flow and direction.
type tcpFinding struct {
	name     string
	severity Severity
	of       func(*troubles) uint32
	text     func(n int64) string
	rule     string
	filter   string
}

var tcpFindings = []tcpFinding{
	{
		"tcp-loss-before", Critical, func(t *troubles) uint32 { return t.lostBefore },
		func(n int64) string {
			return plural(n, "segment") + " lost between the sender and the point of capture"
		},
		"bytes missing in the capture came later, and not by reordering", "(tcp.analysis.retransmission || tcp.analysis.out_of_order)",
	},
	{
		"tcp-loss-after", Critical, func(t *troubles) uint32 { return t.lostAfter },
		func(n int64) string {
			return plural(n, "segment") + " lost between the point of capture and the receiver, or their acknowledgements were"
		},
		"bytes were seen twice, not acknowledged the first time and not by D-SACK later, and the packets are no copies", "tcp.analysis.retransmission",
	},
	{
		"tcp-timeout-unseen", Critical, func(t *troubles) uint32 { return t.unseen },
		func(n int64) string {
			return plural(n, "silence") + " as long as a retransmission timeout: the last segment of a burst was lost before the point of capture"
		},
		"after all was acknowledged, the next segment came alone, 200 ms and a round trip later", "tcp.time_delta >= 0.2",
	},
	{
		"tcp-spurious", Warning, func(t *troubles) uint32 { return t.spurious + t.unneeded },
		func(n int64) string { return plural(n, "segment") + " sent again although they had arrived" },
		"the peer's acknowledgement covered the bytes when they came again, or said by D-SACK that it had them twice (RFC 2883)", "tcp.analysis.retransmission",
	},
	{
		"tcp-reordering", Warning, func(t *troubles) uint32 { return t.reordered },
		func(n int64) string { return plural(n, "segment") + " overtaken by later ones" },
		"bytes missing in the capture came later than the highest by less than the handshake's round trip (in a fabric max(3 round trips, 1 ms); 3 ms where no handshake was captured)",
		"tcp.analysis.out_of_order",
	},
	{
		"tcp-zero-window", Warning, func(t *troubles) uint32 { return t.zeroWindow },
		func(n int64) string {
			return plural(n, "segment") + " with a closed window: the program that receives does not read; not a fault of the network"
		},
		"window 0 without SYN, FIN or RST", "tcp.analysis.zero_window",
	},
}

// A tcpFinder tells what the tracking of TCP found.
type tcpFinder struct{ a *Analyzer }

func newTCPFinder(a *Analyzer) finder { return &tcpFinder{a} }

func (f *tcpFinder) see(*Sight) {}

func (f *tcpFinder) report(r *Report) {
	lists := make([]ranking, len(tcpFindings))
	for i := range lists {
		lists[i].most = f.a.cfg.MaxFindings
	}
	f.a.flows.flows.all(func(n uint32, fl *flow) {
		for dir := range fl.halves {
			h := &fl.halves[dir]
			if h.trouble == 0 {
				continue
			}
			t := f.a.tcp.trouble.at(h.trouble)
			for i, kind := range tcpFindings {
				if c := kind.of(t); c > 0 {
					lists[i].add(candidate{int64(c), t.first, t.last, n, dir})
				}
			}
		}
	})
	for i, kind := range tcpFindings {
		lists[i].tell(r, func(c candidate) Finding {
			fl := f.a.flows.flows.at(c.number)
			e := fl.evidence(c.dir)
			return Finding{
				Finding: kind.name, Severity: kind.severity, Subject: flowName(e), about: chooseFlow(e), Rule: kind.rule,
				Text:   fmt.Sprintf("%s, of %s", kind.text(c.count), plural(int64(fl.halves[c.dir].packets), "packet")),
				Filter: flowFilter(e) + " && " + kind.filter, like: kind.filter,
			}
		})
	}
}
