package captures

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"whichlink/graphs"
	"whichlink/internal/evidence"
)

// A TapReport is what two points of capture tell together.
type TapReport struct {
	A string `json:"a"`
	B string `json:"b"`
	// Packets were captured at A and at B, without copies and what nothing tells from each other; Matched of them at both.
	Packets [2]int64 `json:"packets"`
	Matched int64    `json:"matched"`
	// Lost counts packets lost from A to B and from B to A; Missed those that A's and B's capture missed, since the other tap behind it has them.
	Lost   [2]int64 `json:"lost"`
	Missed [2]int64 `json:"missed"`
	// Dropped counts what A's and B's capture did not take while it took nothing else either, though the other tap had packets one
	// after the other: no loss of the network's is made of these.
	Dropped [2]int64 `json:"dropped"`
	Copies  [2]int64 `json:"copies"`
	// Unnamed packets carry nothing that tells them from the next; Unjudged ones fell out of the table before their time.
	Unnamed  [2]int64 `json:"unnamed"`
	Unjudged int64    `json:"unjudged"`
	// Expired packets were sent with a TTL that ends between the taps, as traceroute sends them: they are no loss.
	Expired int64 `json:"expired"`
	// Apart counts directions of flows that only A, or only B, has anything of, and that need not have passed the other: they take another way, or a filter keeps
	// them out.
	Apart [2]int `json:"flows_apart"`
	Clock *Clock `json:"clock"`
	// Delay is the one-way delay from A to B and from B to A, in microseconds, absent where no packet went that way.
	Delay [2]*evidence.Delay `json:"delay_us"`
	// Flows are the directions of flows with the most losses, at most maxTapFlows.
	Flows []TapFlow `json:"flows"`

	pairing *pairing // nil where nothing matched
}

// A Clock says how B's clock runs against A's.
type Clock struct {
	// Offset is by how many microseconds B is ahead of A when A begins; Drift is how it grows, in millionths, absent where the captures are too short.
	Offset float64  `json:"offset_us"`
	Drift  *float64 `json:"drift_ppm,omitempty"`
	// Symmetric says that both directions were compared. Without it the offset has the least one-way delay in it, and delays are told above that.
	Symmetric bool `json:"symmetric"`
}

// A TapFlow is one direction of a flow between two taps.
type TapFlow struct {
	Flow evidence.Flow `json:"flow"`
	// First is the tap nearer to the sender, a or b; empty where it is not known.
	First   string   `json:"first"`
	Packets [2]int64 `json:"packets"`
	Matched int64    `json:"matched"`
	Lost    int64    `json:"lost"`
	Missed  int64    `json:"missed"`
	// Dropped were captured at the first only, while the other's capture took nothing at all: whether they were lost is not known.
	Dropped int64 `json:"dropped"`
	// Marked got Congestion Experienced between the taps.
	Marked int64 `json:"marked"`
	// Delay is the mean one-way delay in microseconds, absent where nothing matched.
	Delay *float64 `json:"delay_us,omitempty"`
}

const maxTapFlows = 1000

const tapRule = "matched by addresses, ports, identification and what names the packet in its flow; in the other capture's time within 1 s"

func unmatched(a, b string, draws *[2]draw) (*TapReport, []Finding) {
	r := &TapReport{A: graphs.Clean(a), B: graphs.Clean(b), Packets: [2]int64{draws[0].packets, draws[1].packets}, Flows: []TapFlow{}}
	return r, []Finding{{
		Finding: "tap-unmatched", Severity: Warning, Subject: r.A + " and " + r.B, Count: 0,
		From: instant(draws[0].from), To: instant(draws[0].to),
		Text:   "no packet is in both captures: not the same traffic, or addresses are translated or segments cut between them (capture with segmentation offload off)",
		Rule:   tapRule,
		Filter: "frame",
	}}
}

// first says which tap a direction of a flow passes first: 0 for A, 1 for B, -1 where nothing tells.
func (h *tapHalf) first(c *tapClock) int {
	switch {
	case h.nearerA != h.nearerB:
		return index01(h.nearerB > h.nearerA)
	case c.both && h.timed > 0 && h.delay != 0:
		return index01(h.delay < 0)
	case h.only[0] > 0 != (h.only[1] > 0):
		return index01(h.only[1] > 0)
	}
	return -1
}

func index01(second bool) int {
	if second {
		return 1
	}
	return 0
}

// report sums up.
func (p *pairing) report(a, b string) (*TapReport, []Finding) {
	r := &TapReport{A: graphs.Clean(a), B: graphs.Clean(b), Unnamed: p.unnamed, Unjudged: p.unjudged, Expired: p.expired,
		Dropped: [2]int64{p.holes[0].n, p.holes[1].n}, Flows: []TapFlow{}, pairing: p}
	r.Clock = &Clock{Offset: float64(p.clock.offset) / 1000, Symmetric: p.clock.both}
	if p.clock.drifts {
		ppm := p.clock.drift * 1e6
		r.Clock.Drift = &ppm
	}
	for i := range p.delays {
		if p.delays[i].n > 0 {
			r.Delay[i] = p.delays[i].delay()
		}
	}
	p.flows.all(func(_ uint32, s *tapFlowState) {
		for dir := range s.halves {
			h := &s.halves[dir]
			if h.packets[0]+h.packets[1] == 0 {
				continue
			}
			r.Matched += int64(h.met)
			for tap := range 2 {
				r.Packets[tap] += int64(h.packets[tap])
				r.Copies[tap] += int64(h.copies[tap])
				if h.packets[1-tap] == 0 && !h.vanished {
					r.Apart[tap]++
				}
			}
		}
	})
	worst := func() {
		slices.SortStableFunc(r.Flows, func(x, y TapFlow) int {
			return cmp.Or(cmp.Compare(y.Lost, x.Lost), cmp.Compare(y.Missed, x.Missed), cmp.Compare(y.Packets[0], x.Packets[0]))
		})
		r.Flows = r.Flows[:min(len(r.Flows), maxTapFlows)]
	}
	var kinds [len(tapFindings)]ranking
	for i := range kinds {
		kinds[i].most = p.rank
	}
	_ = p.eachFlow(func(n uint32, dir int, f *TapFlow) error {
		if first := index01(f.First == "b"); f.First != "" {
			r.Lost[first] += f.Lost
			r.Missed[first] += f.Missed
		}
		h := &p.flows.at(n).halves[dir]
		for i := range kinds {
			if c := tapFindings[i].count(f); c > 0 {
				kinds[i].add(candidate{c, h.from, h.to, n, dir})
			}
		}
		if r.Flows = append(r.Flows, *f); len(r.Flows) == 2*maxTapFlows {
			worst()
		}
		return nil
	})
	worst()
	return r, p.findings(r, kinds[:])
}

// eachFlow tells of every direction of a flow that both taps saw or should have seen, with its number.
func (p *pairing) eachFlow(each func(n uint32, dir int, f *TapFlow) error) error {
	var failed error
	p.flows.all(func(n uint32, s *tapFlowState) {
		for dir := range s.halves {
			if h := &s.halves[dir]; (h.met > 0 || h.vanished) && failed == nil {
				f := p.tell(s, dir)
				failed = each(n, dir, &f)
			}
		}
	})
	return failed
}

func (p *pairing) tell(s *tapFlowState, dir int) TapFlow {
	h := &s.halves[dir]
	f := TapFlow{Flow: s.key.evidence(dir), Packets: [2]int64{int64(h.packets[0]), int64(h.packets[1])}, Matched: int64(h.met)}
	first := h.first(&p.clock)
	if first < 0 {
		return f
	}
	if h.timed > 0 {
		us := float64(h.delay) / float64(h.timed) / 1000
		if first == 1 {
			us = -us
		}
		f.Delay = &us
	}
	f.First = []string{"a", "b"}[first]
	f.Lost, f.Missed, f.Marked = int64(h.only[first]), int64(h.only[1-first]), int64(h.marked[1-first])
	f.Dropped = int64(h.silent[first])
	return f
}

// Evidence hands over what is known of each direction of a flow that both taps saw, or should have seen, and of which it is known which of them it passes
// first: a record for each spell of losses and for what lies between. By names the two captures, at the nodes or ports of a fabric where A and B were taken,
// "" where that is not known.
func (r *TapReport) Evidence(by string, at [2]string, each func(*TapFlow, *evidence.Record) error) error {
	p := r.pairing
	if p == nil {
		return nil
	}
	by = graphs.Clean(by)
	from, to := max(p.span[0][0], p.span[1][0]), min(p.span[0][1], p.span[1][1])
	return p.eachFlow(func(n uint32, dir int, f *TapFlow) error {
		if f.First == "" {
			return nil
		}
		near := index01(f.First == "b")
		packets := int(f.Matched + f.Lost)
		for _, x := range stretches(from, to, packets, packets, p.books[near].of(flowHalf{n, dir}, 0, int(f.Lost))) {
			rec := windowed(x.from, x.to)
			rec.By, rec.Flow, rec.At, rec.To = by, &f.Flow, at[near], at[1-near]
			rec.Packets, rec.LostBetween = &x.packets, &x.lostAfter
			if err := each(f, rec); err != nil {
				return err
			}
		}
		return nil
	})
}

// tapFindings are what may be wrong with a direction of a flow between two taps, which it passes in the order from, to.
var tapFindings = [...]struct {
	name     string
	severity Severity
	count    func(f *TapFlow) int64
	text     func(f *TapFlow, from, to string) string
	rule     string
	filter   string // beyond the flow's
}{
	{"tap-black-hole", Critical, func(f *TapFlow) int64 {
		if f.Matched > 0 {
			return 0
		}
		return f.Lost
	}, func(f *TapFlow, from, to string) string {
		return fmt.Sprintf("all of %s lost between %s and %s, which it must pass: a black hole", plural(f.Lost, "packet"), from, to)
	}, fmt.Sprintf("one tap has nothing of the flow, which gets no answer, and %d others or more of the same service between the same hosts passed both and are answered; or no path of the fabric leads around the tap",
		vanishedLike), ""},
	{"tap-loss", Critical, func(f *TapFlow) int64 {
		if f.Matched == 0 {
			return 0
		}
		return f.Lost
	}, func(f *TapFlow, from, to string) string {
		total := f.Packets[index01(f.First == "b")]
		return fmt.Sprintf("%d of %s (%.3g %%) lost between %s and %s", f.Lost, plural(total, "packet"), 100*float64(f.Lost)/float64(max(total, 1)), from, to)
	}, tapRule, ""},
	{"tap-marked", Warning, func(f *TapFlow) int64 { return f.Marked }, func(f *TapFlow, from, to string) string {
		return fmt.Sprintf("%s got Congestion Experienced between %s and %s: the queue is there", plural(f.Marked, "packet"), from, to)
	}, tapRule, ceFilter},
	{"tap-missed", Warning, func(f *TapFlow) int64 { return f.Missed }, func(f *TapFlow, from, to string) string {
		return fmt.Sprintf("%s at %s that %s, which they pass first, does not have: its capture missed them, the network did not", plural(f.Missed, "packet"), to, from)
	}, tapRule, ""},
}

// findings tells what is wrong between the taps: of each kind the flows that are worst.
func (p *pairing) findings(r *TapReport, kinds []ranking) []Finding {
	var out Report
	for i := range kinds {
		kind := &tapFindings[i]
		kinds[i].tell(&out, func(c candidate) Finding {
			f := p.tell(p.flows.at(c.number), c.dir)
			from, to := r.A, r.B
			if f.First == "b" {
				from, to = to, from
			}
			filter := tapFilter(f.Flow)
			if kind.filter != "" {
				filter += " && " + kind.filter
			}
			return Finding{
				Finding: kind.name, Severity: kind.severity, Subject: flowName(f.Flow), Text: kind.text(&f, from, to), Rule: kind.rule, Filter: filter, like: kind.filter,
			}
		})
	}
	for tap, name := range [2]string{r.A, r.B} {
		if hole := &p.holes[tap]; hole.n > 0 {
			out.Findings = append(out.Findings, Finding{
				Finding: "tap-dropped", Severity: Warning, Subject: name, Count: hole.n, From: p.at(hole.from), To: p.at(hole.to),
				Text: fmt.Sprintf("%s at %s while this capture took nothing at all: it could not keep up, and nothing is said of the network there (a larger buffer: tcpdump -B)",
					plural(hole.n, "packet"), [2]string{r.B, r.A}[tap]),
				Rule: fmt.Sprintf("%d packets in a row at the other tap alone, or %d of which one passed here first", silentLong, silentProven), Filter: p.meanwhile(1-tap, hole),
			})
		}
		if n := r.Copies[tap]; n > 0 {
			out.Findings = append(out.Findings, Finding{
				Finding: "tap-copies", Severity: Info, Subject: name, Count: n, From: p.at(p.span[tap][0]), To: p.at(p.span[tap][1]),
				Text: plural(n, "packet") + " captured more than once there: counted once", Rule: tapRule, Filter: "frame",
			})
		}
	}
	return append(out.Findings, p.clockFinding(r))
}

func (p *pairing) clockFinding(r *TapReport) Finding {
	c := &p.clock
	how := "ahead of"
	if c.offset < 0 {
		how = "behind"
	}
	text := fmt.Sprintf("the clock of %s is %s %s that of %s", r.B, duration(max(c.offset, -c.offset)), how, r.A)
	if c.drifts {
		text += fmt.Sprintf(", drifting by %.3g ppm", c.drift*1e6)
	}
	if c.both {
		text += fmt.Sprintf("; at least %s each way if both ways are as long", duration(c.least))
	} else {
		text += "; no two directions were told apart, so the delay itself is in that"
	}
	return Finding{
		Finding: "tap-clock", Severity: Info, Subject: r.A + " and " + r.B, Count: int64(c.met), From: p.at(p.span[0][0]), To: p.at(p.span[0][1]),
		Text: text, Rule: "least one-way differences of both directions, drift by their convex hull", Filter: "frame",
	}
}

// meanwhile is a display filter for what a tap captured while the other took nothing: by the clock of its own capture, to a microsecond.
func (p *pairing) meanwhile(tap int, hole *captureHole) string {
	const coarse = 1000
	from, to := hole.from, hole.to
	if tap == 1 {
		from, to = p.clock.toB(from), p.clock.toB(to)
	}
	return fmt.Sprintf("frame.time_epoch >= %s && frame.time_epoch <= %s", epoch(from-coarse), epoch(to+coarse))
}

// at is nil where nothing has a time.
func (p *pairing) at(ns int64) *time.Time {
	if ns == 0 {
		return nil
	}
	return instant(ns)
}

// tapFilter is a display filter for one direction of a flow of any protocol.
func tapFilter(e evidence.Flow) string {
	if e.Proto == "tcp" || e.Proto == "udp" {
		return flowFilter(e)
	}
	ip := "ip"
	if e.Src.Is6() {
		ip = "ipv6"
	}
	return fmt.Sprintf("%s.src == %s && %s.dst == %s", ip, e.Src, ip, e.Dst)
}
