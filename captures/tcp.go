package captures

import (
	"whichlink/captures/frames"
)

// A tcpKind says what a segment is. A segment is of one kind only.
type tcpKind uint8

const (
	tcpNormal tcpKind = iota
	tcpRetransmission
	tcpFast       // a fast retransmission: it answers duplicate acknowledgements
	tcpSpurious   // a retransmission of what was acknowledged
	tcpOutOfOrder // late, but too soon for a retransmission, as Wireshark counts it
)

const (
	fastWithin     = 20_000_000  // a fast retransmission follows the last duplicate acknowledgement within
	orderUnknown   = 3_000_000   // what is later than this is no reordering, where no handshake was captured
	orderLeast     = 1_000_000   // and where one was: at least this
	minimumRTO     = 200_000_000 // of Linux
	timeoutSpan    = 25_000_000  // a timeout is the minimum, the round trip, and the coarseness of timers
	sameBurst      = 1_000_000
	maxHoles       = 1 << 16 // of all flows together
	maxHolesOfFlow = 256
	maxHistograms  = 1 << 14
)

// A hole is bytes that were not captured though later ones were.
type hole struct {
	since  int64
	lo, hi uint32
	next   uint32
}

// A tcpTracker follows TCP connections: Wireshark's rules for what a segment is, in its order and first hit wins, and holes for
// where it was lost. Wireshark takes the handshake's round trip for the longest reordering; in a fabric, where that is some tens
// of microseconds, it is at least 1 ms here.
type tcpTracker struct {
	counts     troubles // sums of all flows; times unused
	trouble    arena[troubles]
	holes      arena[hole]
	freeHole   uint32
	liveHoles  int
	rtts       uint32 // how many round trips there were
	lastRTT    int64  // the last of them
	histograms arena[histogram]
	rest       histogram // of flows that have no histogram of their own
	series     rttSeries
	reused     int
	noted      bool // what was counted of troubles changed; whoever asks for it clears it
}

// after reports whether sequence number a is behind b (RFC 9293 section 3.4).
func after(a, b uint32) bool { return int32(a-b) > 0 }

// track looks at a segment. It may begin a new flow where ports were used again.
func (t *tcpTracker) track(s *Sight, table *flowTable) {
	seg := &s.Frame.TCP
	h := &s.flow.halves[s.Dir&1]
	if seg.Flags&(frames.SYN|frames.ACK) == frames.SYN && h.flags&hasBase != 0 && seg.Seq != h.base {
		s.number, s.flow = table.renew(s.number, s.Dir, s.Time)
		s.Dir = 0
		h = &s.flow.halves[0]
		t.reused++
	}
	if seg.Flags&frames.SYN != 0 && seg.Seq != h.base {
		h.flags &^= hasNext | hasBase // what came before, such as a reset, was of another connection
	}
	peer := &s.flow.halves[s.Dir&1^1]
	if s.flow.irtt == 0 {
		t.handshake(s, seg)
	}
	control := seg.Flags&(frames.SYN|frames.FIN|frames.RST) != 0
	if !control && seg.Seq == h.next && seg.Len > 1 && seg.Window != 0 && h.flags&hasNext != 0 {
		t.inOrder(s, h, peer, seg)
		return
	}
	length := uint32(seg.Len)
	occupies := length
	if seg.Flags&(frames.SYN|frames.FIN) != 0 {
		occupies++
	}
	end := seg.Seq + occupies
	known := h.flags&hasNext != 0
	probe := known && length == 1 && seg.Seq == h.next && peer.flags&hasAck != 0 && peer.window == 0
	if seg.Window == 0 && !control {
		t.count(s, h).zeroWindow++
		t.counts.zeroWindow++
	}
	alive := known && length <= 1 && seg.Seq == h.next-1 && !control
	duplicate := false
	switch {
	case probe || !known:
	case after(seg.Seq, h.next) && seg.Flags&frames.RST == 0:
		t.lost(s, h, seg.Seq)
	case alive:
	case occupies > 0 && after(h.next, seg.Seq):
		t.again(s, h, peer, seg.Seq, end)
	case length == 0 && !control && seg.Window != 0 && seg.Window == h.window && seg.Seq == h.next && seg.Ack == h.ack &&
		h.flags&hasAck != 0:
		duplicate = peer.flags&keepAlive == 0
	}
	if duplicate {
		if h.dups < 255 {
			h.dups++
		}
		t.counts.duplicateAck++
	} else {
		h.dups = 0
	}
	if length > 0 && s.kind == tcpNormal && !alive {
		t.silence(s, h, peer, seg)
	}
	t.advance(s, h, seg, end, occupies, probe)
	if seg.Flags&frames.ACK != 0 {
		t.acknowledge(s, h, peer, seg)
	}
	h.window = seg.Window
	h.flags &^= keepAlive
	if alive {
		h.flags |= keepAlive
	}
}

// inOrder takes a segment that carries what comes next, as most do, and is nothing special.
func (t *tcpTracker) inOrder(s *Sight, h, peer *half, seg *frames.TCP) {
	h.dups = 0
	t.silence(s, h, peer, seg)
	h.next, h.nextTime = seg.Seq+uint32(seg.Len), s.Time
	if h.rttTime == 0 {
		h.rttSeq, h.rttTime = h.next, s.Time
	}
	if seg.Flags&frames.ACK != 0 {
		t.acknowledge(s, h, peer, seg)
	}
	h.window = seg.Window
	h.flags &^= keepAlive
}

// handshake measures the handshake's round trip at the point of capture: from SYN to the acknowledgement of the SYN-ACK.
func (t *tcpTracker) handshake(s *Sight, seg *frames.TCP) {
	f := s.flow
	switch seg.Flags & (frames.SYN | frames.ACK) {
	case frames.SYN:
		f.state, f.synTime = f.state|sawSyn, s.Time
	case frames.SYN | frames.ACK:
		f.state |= sawSynAck
	case frames.ACK:
		if s.Dir == 0 && f.state&(sawSyn|sawSynAck) == sawSyn|sawSynAck {
			f.irtt = uint32(min(max(s.Time-f.synTime, 1), 1<<32-1))
		}
	}
}

// reordering returns how late a segment may be and still have been overtaken on the way.
func (f *flow) reordering() int64 {
	switch irtt := int64(f.irtt); {
	case irtt == 0:
		return orderUnknown
	case irtt >= orderLeast:
		return irtt
	default:
		return max(3*irtt, orderLeast)
	}
}

// again classifies a segment that begins before what was seen.
func (t *tcpTracker) again(s *Sight, h, peer *half, seq, end uint32) {
	acked := peer.flags&hasAck != 0 && !after(end, peer.ack)
	sinceNext := s.Time - h.nextTime
	filled, since := t.fill(h, seq, end)
	x := t.count(s, h)
	switch {
	case s.Frame.TCP.Len > 0 && acked:
		s.kind = tcpSpurious
	case peer.dups >= 2 && peer.ack == seq && s.Time-peer.ackTime < fastWithin:
		s.kind = tcpFast
	case sinceNext < s.flow.reordering() && h.next != end:
		s.kind = tcpOutOfOrder
	default:
		s.kind = tcpRetransmission
	}
	switch s.kind {
	case tcpOutOfOrder:
		x.outOfOrder++
		t.counts.outOfOrder++
	case tcpSpurious:
		x.spurious++
		t.counts.spurious++
	case tcpFast:
		x.fast++
		t.counts.fast++
	}
	if s.kind != tcpOutOfOrder {
		x.retransmission++
		t.counts.retransmission++
		if sinceNext >= minimumRTO {
			x.timeouts++
			t.counts.timeouts++
		}
		h.rttTime = 0 // Karn: which of the two is acknowledged cannot be told
	}
	// Where it was lost: a hole that is filled was lost before it could be captured, bytes that were seen before were lost behind.
	switch {
	case s.kind == tcpOutOfOrder && (filled && s.Time-since < s.flow.reordering() || after(h.base, seq)):
		x.reordered++
	case filled:
		x.lostBefore++
		t.counts.lostBefore++
	case !acked && !after(h.base, seq):
		x.lostAfter++
		t.counts.lostAfter++
		x.cameAgain(span{seq, end})
	}
}

// lost notes that the segments between what was seen and seq were not captured.
func (t *tcpTracker) lost(s *Sight, h *half, seq uint32) {
	t.count(s, h).lostSegment++
	t.counts.lostSegment++
	n := 0
	for i := h.holes; i != 0; i = t.holes.at(i).next {
		n++
	}
	if n >= maxHolesOfFlow || t.liveHoles >= maxHoles || seq-h.next > 1<<30 {
		return
	}
	i := t.freeHole
	if i != 0 {
		t.freeHole = t.holes.at(i).next
	} else {
		i, _ = t.holes.add()
	}
	*t.holes.at(i) = hole{since: s.Time, lo: h.next, hi: seq, next: h.holes}
	h.holes = i
	t.liveHoles++
}

// fill takes [seq, end) out of a direction's holes, and says whether any of it lay in one and since when that was open.
func (t *tcpTracker) fill(h *half, seq, end uint32) (bool, int64) {
	filled, since := false, int64(0)
	link := &h.holes
	for *link != 0 {
		i := *link
		o := t.holes.at(i)
		if !after(end, o.lo) || !after(o.hi, seq) {
			link = &o.next
			continue
		}
		if !filled || o.since < since {
			since = o.since
		}
		filled = true
		left, right := after(seq, o.lo), after(o.hi, end)
		switch {
		case left && right:
			// The rest behind the segment stays; what lies in front becomes a hole of its own if there is one to spare.
			if j := t.freeHole; j != 0 {
				t.freeHole = t.holes.at(j).next
				*t.holes.at(j) = hole{since: o.since, lo: o.lo, hi: seq, next: o.next}
				o.next = j
				t.liveHoles++
			} else if t.liveHoles < maxHoles {
				j, n := t.holes.add()
				o = t.holes.at(i)
				*n = hole{since: o.since, lo: o.lo, hi: seq, next: o.next}
				o.next = j
				t.liveHoles++
			}
			o.lo = end
			return true, since
		case left:
			o.hi = seq
			link = &o.next
		case right:
			o.lo = end
			link = &o.next
		default:
			t.release(link)
		}
	}
	return filled, since
}

// release takes a hole out of its list.
func (t *tcpTracker) release(link *uint32) {
	i := *link
	o := t.holes.at(i)
	*link = o.next
	o.next, t.freeHole = t.freeHole, i
	t.liveHoles--
}

// silence looks for a timeout of which nothing else is seen: the last segment of a burst was lost before it could be captured.
// The next in sequence then comes after a minimum timeout and a round trip, and alone until it is acknowledged.
func (t *tcpTracker) silence(s *Sight, h, peer *half, seg *frames.TCP) {
	gap, flags := s.Time-h.nextTime, h.flags&^(alone|pushed)
	if gap >= minimumRTO && gap < minimumRTO+timeoutSpan+2*int64(s.flow.irtt) && h.burst >= 2 && h.flags&pushed == 0 && peer.flags&hasAck != 0 && seg.Seq == h.next {
		flags |= alone
	}
	if gap > sameBurst {
		h.burst = 0
	}
	if h.burst < 255 {
		h.burst++
	}
	if seg.Flags&frames.PSH != 0 {
		flags |= pushed
	}
	h.flags = flags
}

// advance moves the end of what was seen.
func (t *tcpTracker) advance(s *Sight, h *half, seg *frames.TCP, end, occupies uint32, probe bool) {
	if h.flags&hasNext == 0 {
		h.flags |= hasNext
		h.next, h.nextTime = end, s.Time
		if seg.Flags&frames.SYN != 0 {
			h.begin(seg.Seq)
		} else {
			h.begin(seg.Seq - 1)
		}
		return
	}
	if after(end, h.next) && !probe {
		h.next, h.nextTime = end, s.Time
		if occupies > 0 && h.rttTime == 0 {
			h.rttSeq, h.rttTime = end, s.Time
		}
	}
}

// begin notes the number that a connection began with, by what is seen first: its SYN, else the first segment, or what the peer acknowledges. Wireshark
// tells by it a connection that uses the ports again from one whose SYN comes late.
func (h *half) begin(base uint32) {
	if h.flags&hasBase == 0 {
		h.flags |= hasBase
		h.base = base
	}
}

// acknowledge takes the acknowledgement that a segment of h carries to what its peer has sent.
func (t *tcpTracker) acknowledge(s *Sight, h, peer *half, seg *frames.TCP) {
	if peer.flags&hasNext != 0 {
		if peer.rttTime != 0 && !after(peer.rttSeq, seg.Ack) {
			t.sample(s.flow, 1-s.Dir, s.Time, s.Time-peer.rttTime)
			peer.rttTime = 0
		}
		if seg.Blocks != 0 && peer.trouble != 0 {
			if d, ok := duplicateSACK(seg); ok {
				t.unneeded(t.trouble.at(peer.trouble), d)
			}
		}
		if peer.flags&alone != 0 && !after(peer.next, seg.Ack) {
			peer.flags &^= alone
			x := t.count(s, peer)
			x.unseen++
			x.timeouts++
			t.counts.unseen++
			t.counts.timeouts++
		}
		if peer.holes != 0 {
			t.missed(s, peer, seg.Ack)
		}
	}
	peer.begin(seg.Ack - 1)
	h.ack, h.ackTime = seg.Ack, s.Time
	h.flags |= hasAck
}

// missed takes out the holes that are acknowledged: what was in them was received, and the capture itself missed it.
func (t *tcpTracker) missed(s *Sight, peer *half, ack uint32) {
	for link := &peer.holes; *link != 0; {
		if o := t.holes.at(*link); after(o.hi, ack) {
			link = &o.next
			continue
		}
		t.release(link)
		t.count(s, peer).missed++
		t.counts.missed++
	}
}

// sample takes a round trip between the point of capture and the receiver of what goes in one direction of a flow.
func (t *tcpTracker) sample(f *flow, dir int, now, d int64) {
	if d < 0 {
		return
	}
	t.series.add(f, dir, now, d)
	t.rtts++
	t.lastRTT = d
	if f.rtt == 0 {
		if t.histograms.n >= maxHistograms {
			t.rest.add(d)
			return
		}
		f.rtt, _ = t.histograms.add()
	}
	t.histograms.at(f.rtt).add(d)
}

// roundTrips sums up the round trips of all flows.
func (t *tcpTracker) roundTrips() histogram {
	all := t.rest
	t.histograms.all(func(_ uint32, h *histogram) { all.join(h) })
	return all
}

// count returns the troubles of a direction, to be added to.
func (t *tcpTracker) count(s *Sight, h *half) *troubles {
	if h.trouble == 0 {
		var x *troubles
		h.trouble, x = t.trouble.add()
		x.first = s.Time
	}
	x := t.trouble.at(h.trouble)
	x.last = s.Time
	t.noted = true
	return x
}
