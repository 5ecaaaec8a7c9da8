package captures

import (
	"fmt"

	"whichlink/captures/frames"
)

// A copyFinder counts packets that were captured twice: a mirror of both sides of a router, of several VLANs, or of what is
// received and sent.
type copyFinder struct {
	a                *Analyzer
	tcp              int64
	routed, mirrored copyKind
}

// copyKind sums up the copies of one kind.
type copyKind struct {
	n, from, to int64
	gap         histogram
	example     uint32
	dir         int
}

func newCopyFinder(a *Analyzer) finder { return &copyFinder{a: a} }

func (f *copyFinder) see(s *Sight) {
	if s.Frame.Kind == frames.TCPSegment {
		f.tcp++
	}
	k := &f.mirrored
	if s.CopyTTL != s.IP.TTL {
		k = &f.routed
	}
	if k.n == 0 {
		k.from, k.example, k.dir = s.Time, s.number, s.Dir
	}
	k.n++
	k.to = s.Time
	k.gap.add(s.CopyGap)
}

func (f *copyFinder) report(r *Report) {
	r.TCP.Copies = f.tcp
	for _, c := range []struct {
		k    *copyKind
		text string
	}{
		{&f.routed, "seen twice, before and behind a routed hop of %s: kept out of all other counts"},
		{&f.mirrored, "seen twice with the same TTL, %s apart, by a mirror of several ports or VLANs: kept out of all other counts"},
	} {
		if c.k.n == 0 {
			continue
		}
		e := f.a.flows.flows.at(c.k.example).evidence(c.k.dir)
		r.Findings = append(r.Findings, Finding{
			Finding: "capture-copies", Severity: Info, about: chooseFlow(e), Subject: plural(c.k.n, "packet"), Count: c.k.n, From: instant(c.k.from), To: instant(c.k.to),
			Text: fmt.Sprintf(c.text, duration(c.k.gap.quantile(0.5))) + ", for example of " + flowName(e),
			Rule: "same IP identification, checksum, sequence and acknowledgement numbers and length within 1 s; without identification within 1 ms",
			// Wireshark does not know copies: it takes them for retransmissions and duplicate acknowledgements.
			Filter: flowFilter(e),
		})
	}
}

// unseenFilter is a Wireshark display filter for what shows that the capture misses segments.
const unseenFilter = "(tcp.analysis.lost_segment || tcp.analysis.ack_lost_segment)"

// A dropFinder tells what the capture itself missed, which must not be taken for the network's loss.
type dropFinder struct{ a *Analyzer }

func newDropFinder(a *Analyzer) finder { return &dropFinder{a} }

func (f *dropFinder) see(*Sight) {}

func (f *dropFinder) report(r *Report) {
	for i, s := range r.stats {
		if s.Dropped > 0 {
			r.Findings = append(r.Findings, Finding{
				Finding: "capture-dropped", Severity: Warning, Subject: r.Files[i].File, Count: int64(min(s.Dropped, 1<<62)),
				From: r.Files[i].From, To: r.Files[i].To,
				Text: fmt.Sprintf("the capture dropped %s itself: gaps may be the capture's and not the network's", plural(int64(min(s.Dropped, 1<<62)), "packet")),
				Rule: "isb_ifdrop, isb_osdrop, epb_dropcount of pcapng", Filter: "frame",
			})
		}
	}
	list := ranking{most: f.a.cfg.MaxFindings}
	f.a.flows.flows.all(func(n uint32, fl *flow) {
		for dir := range fl.halves {
			if x := fl.halves[dir].trouble; x != 0 {
				if t := f.a.tcp.trouble.at(x); t.missed > 0 {
					list.add(candidate{int64(t.missed), t.first, t.last, n, dir})
				}
			}
		}
	})
	list.tell(r, func(c candidate) Finding {
		e := f.a.flows.flows.at(c.number).evidence(c.dir)
		return Finding{
			Finding: "capture-missed", Severity: Warning, Subject: flowName(e), about: chooseFlow(e),
			Text:   plural(c.count, "hole") + " in the capture that the receiver acknowledged: the capture missed the packets, the network did not",
			Rule:   "bytes that were never captured were acknowledged",
			Filter: flowFilter(e) + " && " + unseenFilter, like: unseenFilter,
		}
	})
}
