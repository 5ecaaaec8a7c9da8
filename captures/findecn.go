package captures

import (
	"fmt"

	"whichlink/captures/frames"
)

// An ecnFinder counts packets that carry Congestion Experienced, by flow.
type ecnFinder struct {
	a  *Analyzer
	ce int64
}

func newECNFinder(a *Analyzer) finder { return &ecnFinder{a: a} }

func (f *ecnFinder) see(s *Sight) {
	switch s.Frame.Kind {
	case frames.TCPSegment, frames.UDPPacket, frames.RoCEPacket:
		f.ce++
	}
}

func (f *ecnFinder) report(r *Report) {
	r.ECN.CE = f.ce
	list := ranking{most: f.a.cfg.MaxFindings}
	f.a.flows.flows.all(func(n uint32, fl *flow) {
		for dir := range fl.halves {
			if c := fl.halves[dir].ce; c > 0 {
				list.add(candidate{int64(c), fl.first, fl.last, n, dir})
			}
		}
	})
	list.tell(r, func(c candidate) Finding {
		fl := f.a.flows.flows.at(c.number)
		e := fl.evidence(c.dir)
		total := int64(fl.halves[c.dir].packets)
		return Finding{
			Finding: "ecn-ce", Severity: Warning, Subject: flowName(e), about: chooseFlow(e), Rule: "IP ECN field 3 (RFC 3168)",
			Text:   fmt.Sprintf("%d of %s (%.3g %%) marked Congestion Experienced before the point of capture", c.count, plural(total, "packet"), 100*float64(c.count)/float64(total)),
			Filter: flowFilter(e) + " && " + ceFilter, like: ceFilter,
		}
	})
}
