package captures

import "fmt"

// apartLosses is up to which distance losses are one event.
const apartLosses = 100_000_000

// A periodFinder tells when losses come back at equal distances, as they do by a timer: a schedule of satellites each 15 s, a
// flapping link, a job that begins each minute.
type periodFinder struct {
	a      *Analyzer
	losses uint64 // of all kinds up to now
	events rhythm
	n      int64
	first  int64
	last   int64
}

func newPeriodFinder(a *Analyzer) finder {
	return &periodFinder{a: a, events: rhythm{apart: apartLosses}}
}

// see compares the sum of what was found lost with the sum before.
func (f *periodFinder) see(s *Sight) {
	t, q := &f.a.tcp.counts, &f.a.roce.all
	sum := uint64(t.lostBefore) + uint64(t.lostAfter) + uint64(t.unseen) + uint64(q.GapPackets) + uint64(q.LostAfter)
	if sum <= f.losses {
		f.losses = sum // a receiver may say that what came again was not lost
		return
	}
	if f.n == 0 {
		f.first = s.Time
	}
	f.n += int64(sum - f.losses)
	f.losses = sum
	f.last = max(f.last, s.Time)
	f.events.add(s.Time)
}

func (f *periodFinder) report(r *Report) {
	p, found := f.events.period()
	if !found {
		return
	}
	r.Findings = append(r.Findings, Finding{
		Finding: "periodic-loss", Severity: Warning, Subject: plural(f.n, "loss event"), Count: f.n, From: instant(f.first), To: instant(f.last),
		Text: fmt.Sprintf("losses come back every %s, %s, in %d of %d periods with losses: something that runs by a timer is their cause",
			duration(p.length), p.at(), p.hit, p.cycles),
		Rule: p.rule("losses"),
		// A loss shows where its bytes come again.
		Filter: "tcp.analysis.retransmission || tcp.analysis.lost_segment || infiniband.aeth.syndrome == 0x60",
	})
}
