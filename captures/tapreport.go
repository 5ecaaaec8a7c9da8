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
	Copies [2]int64 `json:"copies"`
	// Unnamed packets carry nothing that tells them from the next; Unjudged ones fell out of the table before their time.
	Unnamed  [2]int64 `json:"unnamed"`
	Unjudged int64    `json:"unjudged"`
	// Apart counts directions of flows that only A, or only B, has anything of: they take another way, or a filter keeps them out.
	Apart [2]int `json:"flows_apart"`
	Clock *Clock `json:"clock"`
	// Delay is the one-way delay from A to B and from B to A, in microseconds, absent where no packet went that way.
	Delay [2]*evidence.Delay `json:"delay_us"`
	// Flows are the directions of flows with the most losses, at most maxTapFlows.
	Flows []TapFlow `json:"flows"`
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
	Lost    int64    `json:"lost"`
	Missed  int64    `json:"missed"`
	// Marked got Congestion Experienced between the taps.
	Marked int64 `json:"marked"`
	// Delay is the mean one-way delay in microseconds, absent where nothing matched.
	Delay *float64 `json:"delay_us,omitempty"`

	from, to int64
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
	r := &TapReport{A: graphs.Clean(a), B: graphs.Clean(b), Unnamed: p.unnamed, Unjudged: p.unjudged, Flows: []TapFlow{}}
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
				if h.packets[1-tap] == 0 {
					r.Apart[tap]++
				}
			}
			if h.met > 0 {
				p.flowReport(r, s, dir)
			}
		}
	})
	slices.SortStableFunc(r.Flows, func(x, y TapFlow) int {
		return cmp.Or(cmp.Compare(y.Lost, x.Lost), cmp.Compare(y.Missed, x.Missed), cmp.Compare(y.Packets[0], x.Packets[0]))
	})
	findings := p.findings(r)
	r.Flows = r.Flows[:min(len(r.Flows), maxTapFlows)]
	return r, findings
}

func (p *pairing) flowReport(r *TapReport, s *tapFlowState, dir int) {
	h := &s.halves[dir]
	f := TapFlow{
		Flow: s.key.evidence(dir), Packets: [2]int64{int64(h.packets[0]), int64(h.packets[1])}, from: h.from, to: h.to,
	}
	if h.timed > 0 {
		us := float64(h.delay) / float64(h.timed) / 1000
		f.Delay = &us
	}
	if first := h.first(&p.clock); first >= 0 {
		f.First = []string{"a", "b"}[first]
		f.Lost, f.Missed, f.Marked = int64(h.only[first]), int64(h.only[1-first]), int64(h.marked[1-first])
		r.Lost[first] += f.Lost
		r.Missed[first] += f.Missed
		if f.Delay != nil && first == 1 {
			*f.Delay = -*f.Delay
		}
	} else {
		f.Delay = nil
	}
	r.Flows = append(r.Flows, f)
}

// findings tells what is wrong between the taps.
func (p *pairing) findings(r *TapReport) []Finding {
	var out []Finding
	names := [2]string{r.A, r.B}
	between := func(f *TapFlow) (from, to string) {
		if f.First == "b" {
			return r.B, r.A
		}
		return r.A, r.B
	}
	tell := func(kind string, severity Severity, count func(*TapFlow) int64, text func(*TapFlow) string) {
		list := slices.DeleteFunc(slices.Clone(r.Flows), func(f TapFlow) bool { return count(&f) == 0 })
		slices.SortStableFunc(list, func(x, y TapFlow) int { return cmp.Compare(count(&y), count(&x)) })
		for i := range list {
			f := &list[i]
			one := Finding{
				Finding: kind, Severity: severity, Subject: flowName(f.Flow), Count: count(f), From: p.at(f.from), To: p.at(f.to),
				Text: text(f), Rule: tapRule, Filter: tapFilter(f.Flow),
			}
			if i == p.rank {
				one.Subject, one.Text, one.Count = plural(int64(len(list)-i), "other"), "more of the same, by subject less than those that are told singly", 0
				for j := range list[i:] {
					one.Count += count(&list[i+j])
				}
				out = append(out, one)
				break
			}
			out = append(out, one)
		}
	}
	tell("tap-loss", Critical, func(f *TapFlow) int64 { return f.Lost }, func(f *TapFlow) string {
		from, to := between(f)
		total := f.Packets[index01(f.First == "b")]
		return fmt.Sprintf("%d of %s (%.2g %%) lost between %s and %s", f.Lost, plural(total, "packet"), 100*float64(f.Lost)/float64(max(total, 1)), from, to)
	})
	tell("tap-marked", Warning, func(f *TapFlow) int64 { return f.Marked }, func(f *TapFlow) string {
		from, to := between(f)
		return fmt.Sprintf("%s got Congestion Experienced between %s and %s: the queue is there", plural(f.Marked, "packet"), from, to)
	})
	tell("tap-missed", Warning, func(f *TapFlow) int64 { return f.Missed }, func(f *TapFlow) string {
		from, to := between(f)
		return fmt.Sprintf("%s at %s that %s, which they pass first, does not have: its capture missed them, the network did not", plural(f.Missed, "packet"), to, from)
	})
	for tap := range 2 {
		if n := r.Copies[tap]; n > 0 {
			out = append(out, Finding{
				Finding: "tap-copies", Severity: Info, Subject: names[tap], Count: n, From: p.at(p.span[tap][0]), To: p.at(p.span[tap][1]),
				Text: plural(n, "packet") + " captured more than once there: counted once", Rule: tapRule, Filter: "frame",
			})
		}
	}
	return append(out, p.clockFinding(r))
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
