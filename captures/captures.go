// Package captures reads packet captures and says what they prove: loss before and behind the point of capture, congestion,
// pauses, corruption, and what the capture itself missed.
//
// An [Analyzer] is fed with packets (of captures/files) in the order of time and holds what it must know of each flow and queue
// pair, and nothing of the packets themselves: its memory does not grow with the length of a capture. [Analyzer.Report] tells
// the counts and the findings, each with the rule that it follows and a display filter that shows its packets.
//
// What was captured twice is told apart first (a mirror of both sides of a router shows every packet twice) and kept out of
// everything else, because a copy looks like a retransmission.
package captures

import (
	"whichlink/captures/files"
	"whichlink/captures/frames"
)

// Config says how to judge. The zero value works.
type Config struct {
	// LinkSpeed is the speed of the links that pause frames were seen on, in bits per second. If 0, what pcapng states is taken.
	LinkSpeed uint64
	// MaxFindings bounds the findings of one kind; the rest is summed up in one. DefaultMaxFindings if 0.
	MaxFindings int
	// Series asks for how the counts went over time.
	Series bool
}

// DefaultMaxFindings is how many findings of one kind are told singly.
const DefaultMaxFindings = 20

// An Analyzer takes packets and keeps what they tell. One goroutine owns it.
type Analyzer struct {
	cfg     Config
	ahead   [batch]preview
	sought  [batch]sought
	one     [1]files.Packet
	touched uint64 // keeps what is only touched from being left out
	sight   Sight
	flows   flowTable
	copies  copyTable
	tcp     tcpTracker
	roce    roceTracker
	ttl     *ttlFinder
	last    int64 // the latest time of a packet
	first   int64
	packets int64
	finders []finder
	byKind  [frames.NumKinds][]finder
	copied  [frames.NumKinds][]finder // those that want copies
	byMarks [markEvery + 1][]finder   // those that want any of the marks of a packet
	points  points
	pauses  *pauseFinder
	spells  spellBook
	series  *recorder // nil unless it was asked for
}

// New makes an analyzer.
func New(cfg Config) *Analyzer {
	if cfg.MaxFindings <= 0 {
		cfg.MaxFindings = DefaultMaxFindings
	}
	a := &Analyzer{cfg: cfg, copies: newCopyTable(), points: points{roll: roll[pointKey, tapLoad]{most: maxTold}, speed: cfg.LinkSpeed}}
	if cfg.Series {
		a.series = &recorder{}
	}
	for _, w := range wishes {
		f := w.make(a)
		a.finders = append(a.finders, f)
		for _, k := range w.kinds {
			a.byKind[k] = append(a.byKind[k], f)
		}
		for marks := range a.byMarks {
			if w.marks&mark(marks) != 0 {
				a.byMarks[marks] = append(a.byMarks[marks], f)
			}
		}
		for _, k := range w.copies {
			a.copied[k] = append(a.copied[k], f)
		}
	}
	return a
}

// Add looks at one packet.
func (a *Analyzer) Add(p *files.Packet) {
	a.one[0] = *p
	a.AddAll(a.one[:])
}

// AddAll looks at packets one after the other. It is faster than Add, for it begins to fetch what it knows of the flows of all of
// them before it follows the first.
func (a *Analyzer) AddAll(packets []files.Packet) {
	for len(packets) > 0 {
		now := packets[:min(len(packets), batch)]
		if a.packets == 0 {
			a.first, a.last = now[0].Time, now[0].Time
			a.roce.began = a.first
		}
		a.packets += int64(len(now))
		first, last := a.first, a.last
		for i := range now {
			first, last = min(first, now[i].Time), max(last, now[i].Time)
		}
		a.first, a.last = first, last
		a.look(now)
		for i := range now {
			a.add(&now[i], &a.ahead[i%batch], &a.sought[i%batch])
		}
		packets = packets[len(now):]
	}
}

// add follows a packet that was looked at.
func (a *Analyzer) add(p *files.Packet, v *preview, x *sought) {
	f := &v.frame
	s := &a.sight
	s.Packet, s.Frame, s.IP = p, f, f.IP()
	s.Dir, s.Copy, s.kind = 0, false, tcpNormal
	s.flow, s.number, s.before = nil, 0, 0
	if f.NumIPs > 1 {
		a.outer(s)
	}
	if v.ported {
		s.number, s.flow, s.Dir = a.flows.find(s.IP, x.ends, x.hash, x.number, p.Time)
		s.before = s.flow.last
		s.flow.last = max(s.before, p.Time)
	}
	if v.judged {
		if equal, gap, ttl := a.copies.look(x.copy, s.IP.TTL, p.Time); equal && a.isCopy(s, gap, ttl) {
			a.copy(s, gap, ttl)
			return
		}
	}
	if f.Kind == frames.ICMPPacket && f.ICMP.HasQuoted && f.ICMP.Quoted.HasPorts {
		a.quoted(&f.ICMP.Quoted, p.Time)
	}
	switch f.Kind {
	case frames.TCPSegment:
		if s.flow != nil {
			a.tcp.track(s, &a.flows)
		}
	case frames.RoCEPacket:
		a.roce.track(s)
		if a.roce.answered != 0 {
			a.answered(s)
		}
	}
	marks := v.marks
	if a.tcp.noted || a.roce.noted {
		a.tcp.noted, a.roce.noted = false, false
		marks |= markLoss
	}
	if s.flow != nil {
		h := &s.flow.halves[s.Dir&1]
		if before := h.count(s, marks); before != s.IP.TTL && before != 0 {
			a.ttl.change(s, before)
		}
		if h.packets == 1 || s.flow.halves[s.Dir&1^1].packets == 0 {
			marks |= markAlone
		}
	} else {
		marks |= markAlone
	}
	if a.pauses.frames > 0 && a.pauses.concerns(s) {
		marks |= markPaused
	}
	tap := a.points.last
	if tap == nil || tap.file != p.File || tap.iface != p.Interface {
		tap = a.points.find(s)
	}
	if tap != nil {
		if tap.over(p.Time) {
			tap.roll(p.Time)
		}
		tap.add(p.Time, int64(p.Orig))
	}
	for _, x := range a.byKind[f.Kind] {
		x.see(s)
	}
	if marks != 0 {
		for _, x := range a.byMarks[marks&markEvery] {
			x.see(s)
		}
	}
	if a.series != nil {
		a.series.add(a, s)
	}
}

// copy shows a packet that was captured before to those who want to see it.
func (a *Analyzer) copy(s *Sight, gap int64, ttl uint8) {
	s.Copy, s.CopyGap, s.CopyTTL = true, gap, ttl
	s.flow.state |= sawCopy
	a.copies.limit = maxCopySetsMirror
	for _, x := range a.copied[s.Frame.Kind] {
		x.see(s)
	}
}

// answered takes the round trip of a request of RoCE, whose flow is not that of its answer.
func (a *Analyzer) answered(s *Sight) {
	q := a.roce.pairs.at(a.roce.answered)
	if q.number == 0 {
		return
	}
	f := a.flows.flows.at(q.number)
	dir := 0
	if f.key.a != q.src {
		dir = 1
	}
	a.tcp.sample(f, dir, s.Time, a.roce.took)
}

// quoted notes the flow that an ICMP error quotes, of which nothing else may have been captured.
func (a *Analyzer) quoted(q *frames.Quoted, now int64) {
	ip := frames.IP{Src: q.Src, Dst: q.Dst, SrcPort: q.SrcPort, DstPort: q.DstPort, Proto: q.Proto}
	a.flows.lookUp(&ip, now)
}

// outer counts a packet in the flows of all its IP headers but the innermost, which alone is followed further.
func (a *Analyzer) outer(s *Sight) {
	for i := range s.Frame.NumIPs - 1 {
		ip := &s.Frame.IPs[i]
		if !ported(ip) {
			continue
		}
		_, f, dir := a.flows.lookUp(ip, s.Time)
		f.last = max(f.last, s.Time)
		h := &f.halves[dir]
		h.packets++
		h.bytes += uint64(ip.HeaderLen + ip.Len)
	}
}

// count adds a packet to its direction and returns the TTL of the one before, 0 if it is the first.
func (h *half) count(s *Sight, marks mark) (before uint8) {
	before = h.ttl
	h.packets++
	h.bytes += uint64(s.IP.HeaderLen + s.IP.Len)
	h.ttl, h.tos = s.IP.TTL, s.IP.TOS
	if marks&markCE != 0 {
		h.ce++
	}
	return before
}

// Flows returns how many flows there were: TCP connections, and pairs of UDP ports.
func (a *Analyzer) Flows() int { return a.flows.tcp + a.flows.udp }
