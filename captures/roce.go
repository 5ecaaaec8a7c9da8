package captures

import (
	"encoding/binary"

	"whichlink/captures/frames"
)

const (
	psnMask = 1<<24 - 1
	// minLocalTimeout is the shortest local ACK timeout that is believed: 4.096 us * 2^12.
	minLocalTimeout = 4096 << 12
	// settling is how long after its beginning a capture may still see answers to what was sent before.
	settling = 1_000_000
	// maxQueuePairs bounds the queue pairs that are followed.
	maxQueuePairs = 1 << 22
	// maxSearch bounds the queue pairs of one pair of hosts that are looked at to find which an acknowledgement belongs to.
	maxSearch = 64
)

// A queuePair is what goes from one address to one queue pair of another: requests, and the answers to the other side's reads,
// whose sequence numbers are the other side's.
type queuePair struct {
	src, dst   frames.Addr
	first      int64
	lastTime   int64 // of the last request
	asked      int64 // when the request of askedPSN passed, which wants an answer; 0 when none is timed
	last       int64
	number     uint32 // of the UDP flow it was first seen in
	qp         uint32
	base       uint32 // the PSN of the first request
	next       uint32 // the expected PSN of a request
	nextAnswer uint32 // the expected PSN of a read response
	askedPSN   uint32
	older      uint32 // the queue pair before it between the same addresses
	peer       uint32 // the opposite direction: where this direction's acknowledgements go
	packets    uint32
	holes      [4]psnHole
	roceCounts
	mtu      uint16
	lastOp   uint8
	answerOp uint8
	flags    uint8
}

// The bits of queuePair.flags.
const (
	qpNext    = 1 << iota // next counts
	qpAnswer              // nextAnswer counts
	qpElastic             // a read of unknown length was asked for: the next request may be further on
	qpNotRdy              // the receiver was not ready: what is sent again was not lost
	qpAgain               // the last request was one sent again
	qpDatagrams
)

// A psnHole is sequence numbers [lo, lo+n) that were not captured.
type psnHole struct{ lo, n uint32 }

// roceCounts is what happened to a queue pair, or to all.
type roceCounts struct {
	Gaps, GapPackets, NAK, OtherNAK, RNR, CNP, Retransmitted, GoBack, LostAfter, Timeouts, ICRCBad, CE uint32
	ICRCChecked                                                                                        uint64
}

// A roceTracker follows queue pairs.
type roceTracker struct {
	pairs   arena[queuePair]
	index   index
	hosts   index // the newest queue pair between two addresses
	packets int64
	began   int64 // time of the first packet of the capture
	all     roceCounts
	// answered is the queue pair of which the last packet answered a request, 0 if it did not, and took how long that took.
	answered uint32
	took     int64
	noted    bool // more was found lost; whoever asks for it clears it
}

func roceHash(src, dst *frames.Addr, qp uint32) uint64 {
	a := mix(binary.LittleEndian.Uint64(src[:]), binary.LittleEndian.Uint64(src[8:])+uint64(qp))
	return mix(mix(a, binary.LittleEndian.Uint64(dst[:])), binary.LittleEndian.Uint64(dst[8:]))
}

// psnAhead returns how far a is ahead of b, negative behind.
func psnAhead(a, b uint32) int32 { return int32((a-b)<<8) >> 8 }

// pair finds or makes the state of what goes to a queue pair.
func (t *roceTracker) pair(s *Sight) (uint32, *queuePair) {
	src, dst, qp := s.IP.Src, s.IP.Dst, s.Frame.BTH.DestQP
	h := roceHash(&src, &dst, qp)
	n := t.index.find(h, func(i uint32) bool {
		o := t.pairs.at(i)
		return o.qp == qp && o.src == src && o.dst == dst
	})
	if n != 0 {
		return n, t.pairs.at(n)
	}
	if t.pairs.n >= maxQueuePairs {
		return 0, nil
	}
	n, o := t.pairs.add()
	o.src, o.dst, o.qp, o.first, o.number = src, dst, qp, s.Time, s.number
	t.index.put(h, n, 0, func(i uint32) uint64 {
		o := t.pairs.at(i)
		return roceHash(&o.src, &o.dst, o.qp)
	})
	between := func(i uint32) uint64 {
		o := t.pairs.at(i)
		return roceHash(&o.src, &o.dst, 1<<31)
	}
	o.older = t.between(&src, &dst)
	t.hosts.put(between(n), n, o.older, between)
	return n, o
}

// between returns the newest queue pair from src to dst.
func (t *roceTracker) between(src, dst *frames.Addr) uint32 {
	return t.hosts.find(roceHash(src, dst, 1<<31), func(i uint32) bool {
		o := t.pairs.at(i)
		return o.src == *src && o.dst == *dst
	})
}

// track looks at a RoCE packet.
func (t *roceTracker) track(s *Sight) {
	b := &s.Frame.BTH
	if s.IP == nil {
		return
	}
	t.packets++
	t.answered = 0
	n, q := t.pair(s)
	if q == nil {
		return
	}
	q.packets++
	q.last = s.Time
	switch s.Frame.ICRC() {
	case frames.CRCBad:
		q.ICRCBad++
		t.all.ICRCBad++
		t.all.ICRCChecked++
		if b.PSN != q.next && b.PSN != q.nextAnswer {
			return // what it says may be what was changed
		}
	case frames.CRCGood:
		t.all.ICRCChecked++
	}
	if s.IP.CE() {
		q.CE++
		t.all.CE++
	}
	switch transport, op := b.Transport(), b.Operation(); {
	case transport == frames.CNP:
		q.CNP++
		t.all.CNP++
		return
	case transport == frames.UD || transport == frames.RD:
		q.flags |= qpDatagrams
	case op == frames.Acknowledge || op == frames.AtomicAcknowledge:
		t.answer(n, q, b)
	case op >= frames.ReadFirst && op <= frames.ReadOnly:
		t.response(n, q, b)
	default:
		t.request(s, q, b)
		q.lastTime = s.Time
	}
}

// request follows the sequence numbers of requests.
func (t *roceTracker) request(s *Sight, q *queuePair, b *frames.BTH) {
	op := b.Operation()
	if b.Payload > int(q.mtu) && b.Payload <= 4096 {
		q.mtu = pathMTU(b.Payload)
	}
	if q.asked == 0 && (b.AckReq || op == frames.ReadRequest) && (q.flags&qpNext == 0 || psnAhead(b.PSN, q.next) >= 0) {
		q.asked, q.askedPSN = s.Time, b.PSN
	}
	if q.flags&qpNext == 0 {
		q.flags |= qpNext
		q.base = b.PSN
		q.next = (b.PSN + t.takes(q, b)) & psnMask
		q.lastOp = op
		return
	}
	ahead := psnAhead(b.PSN, q.next)
	stalled := s.Time-q.lastTime >= minLocalTimeout
	switch {
	case ahead == 0:
		q.flags &^= qpAgain
		if stalled && inside(q.lastOp) {
			// The rest of a message after a silence as long as a timeout: what came before was lost before it could be captured.
			t.timeout(q)
			t.again(q)
		}
	case ahead > 0:
		q.flags &^= qpAgain
		if q.flags&qpElastic != 0 && ahead < 1<<16 {
			break
		}
		t.gap(q, q.next, uint32(ahead))
	default:
		t.goBack(q, b.PSN, stalled)
	}
	if ahead >= 0 {
		q.flags &^= qpElastic
		q.next = (b.PSN + t.takes(q, b)) & psnMask
	}
	q.lastOp = op
}

// goBack counts a request whose sequence number was passed before.
func (t *roceTracker) goBack(q *queuePair, psn uint32, stalled bool) {
	q.asked = 0 // which of the two is answered cannot be told
	filled := q.fill(psn) || t.before(q, psn)
	t.again(q)
	if q.flags&qpAgain == 0 {
		q.GoBack++
		t.all.GoBack++
		if q.flags&qpNotRdy == 0 {
			if stalled {
				t.timeout(q)
			}
			if !filled {
				t.noted = true
				q.LostAfter++
				t.all.LostAfter++
			}
		}
		q.flags &^= qpNotRdy
	}
	q.flags |= qpAgain
}

// before says whether a sequence number lies before all that were captured, though the capture had begun when they were sent. What
// is missing there is a gap that shows only now.
func (t *roceTracker) before(q *queuePair, psn uint32) bool {
	n := psnAhead(q.base, psn)
	if n <= 0 || n >= 1<<16 || q.first-t.began < settling {
		return false
	}
	t.gap(q, psn, uint32(n))
	q.base = psn
	q.fill(psn)
	return true
}

func (t *roceTracker) again(q *queuePair) {
	q.Retransmitted++
	t.all.Retransmitted++
}

func (t *roceTracker) timeout(q *queuePair) {
	q.Timeouts++
	t.all.Timeouts++
}

// gap notes n sequence numbers from lo on that were not captured.
func (t *roceTracker) gap(q *queuePair, lo, n uint32) {
	t.noted = true
	q.Gaps++
	t.all.Gaps++
	q.GapPackets += n
	t.all.GapPackets += n
	copy(q.holes[1:], q.holes[:])
	q.holes[0] = psnHole{lo, n}
}

// fill takes a sequence number out of the holes, and says whether it lay in one.
func (q *queuePair) fill(psn uint32) bool {
	for i := range q.holes {
		h := &q.holes[i]
		if d := psnAhead(psn, h.lo); h.n > 0 && d >= 0 && uint32(d) < h.n {
			// Go-back-N fills a hole from its beginning.
			h.lo, h.n = (psn+1)&psnMask, h.n-uint32(d)-1
			return true
		}
	}
	return false
}

// takes returns how many sequence numbers a request takes: a read as many as its answer has packets.
func (t *roceTracker) takes(q *queuePair, b *frames.BTH) uint32 {
	if b.Operation() != frames.ReadRequest || !b.HasRETH {
		return 1
	}
	mtu := uint32(q.mtu)
	if q.peer != 0 {
		mtu = max(mtu, uint32(t.pairs.at(q.peer).mtu))
	}
	if mtu == 0 {
		if b.DMALen > 256 {
			q.flags |= qpElastic
		}
		return 1
	}
	return min(max(1, (b.DMALen+mtu-1)/mtu), 1<<23-1)
}

// response follows the packets of an answer to a read: within a message they follow each other.
func (t *roceTracker) response(n uint32, q *queuePair, b *frames.BTH) {
	if b.HasAETH {
		t.pairUp(n, q, b.PSN)
		t.answers(q, b.PSN)
	}
	op := b.Operation()
	if op == frames.ReadFirst || op == frames.ReadMiddle {
		if b.Payload > int(q.mtu) && b.Payload <= 4096 {
			q.mtu = pathMTU(b.Payload)
		}
	}
	if q.flags&qpAnswer == 0 {
		q.flags |= qpAnswer
		q.nextAnswer, q.answerOp = b.PSN, op
	}
	ahead := psnAhead(b.PSN, q.nextAnswer)
	switch lost := missingAnswers(q.answerOp, op, uint32(max(ahead, 0))); {
	case lost > 0:
		t.noted = true
		q.Gaps++
		t.all.Gaps++
		q.GapPackets += lost
		t.all.GapPackets += lost
	case ahead < 0:
		t.again(q)
	}
	if ahead >= 0 {
		q.nextAnswer = (b.PSN + 1) & psnMask
	}
	q.answerOp = op
}

// missingAnswers returns how many packets of answers to reads are missing between two that follow each other, with so many numbers between them. Within a message that
// is all of them; where one has no end or no beginning it is one at least, for the others may be those of requests that are no reads.
func missingAnswers(before, op uint8, between uint32) uint32 {
	open := before == frames.ReadFirst || before == frames.ReadMiddle
	goesOn := op == frames.ReadMiddle || op == frames.ReadLast
	switch {
	case between == 0 || open == goesOn && !open:
		return 0
	case open && goesOn:
		return between
	}
	return 1
}

// answer reads an acknowledgement, which may say that the receiver missed something or was not ready.
func (t *roceTracker) answer(n uint32, q *queuePair, b *frames.BTH) {
	if !b.HasAETH {
		return
	}
	t.pairUp(n, q, b.PSN)
	switch b.Syndrome >> 5 & 3 {
	case 0:
		t.answers(q, b.PSN)
	case 1:
		q.RNR++
		t.all.RNR++
		if q.peer != 0 {
			t.pairs.at(q.peer).flags |= qpNotRdy
		}
	case 3:
		if b.Syndrome&0x1f == 0 {
			q.NAK++
			t.all.NAK++
		} else {
			q.OtherNAK++
			t.all.OtherNAK++
		}
	}
}

// answers times an answer that goes to a queue pair, if it is for the request that is timed or a later one.
func (t *roceTracker) answers(q *queuePair, psn uint32) {
	if q.peer == 0 {
		return
	}
	if o := t.pairs.at(q.peer); o.asked != 0 && psnAhead(psn, o.askedPSN) >= 0 {
		t.answered, t.took = q.peer, q.last-o.asked
		o.asked = 0
	}
}

// pairUp finds the requests that an acknowledgement belongs to: those in the opposite direction of which it names one of late.
func (t *roceTracker) pairUp(n uint32, q *queuePair, psn uint32) {
	if q.peer != 0 {
		return
	}
	var best uint32
	var newest int64
	for i, steps := t.between(&q.dst, &q.src), 0; i != 0 && steps < maxSearch; steps++ {
		o := t.pairs.at(i)
		if ahead := psnAhead(o.next, psn); o.flags&qpNext != 0 && o.peer == 0 && ahead >= 0 && ahead < 1<<16 && (best == 0 || o.lastTime > newest) {
			best, newest = i, o.lastTime
		}
		i = o.older
	}
	if best != 0 {
		q.peer = best
		t.pairs.at(best).peer = n
	}
}

// inside reports whether an operation leaves its message unfinished.
func inside(op uint8) bool {
	switch op {
	case frames.SendFirst, frames.SendMiddle, frames.WriteFirst, frames.WriteMiddle:
		return true
	}
	return false
}

// pathMTU returns the InfiniBand path MTU that a payload of n bytes needs: a power of two from 256 to 4096.
func pathMTU(n int) uint16 {
	mtu := uint16(256)
	for int(mtu) < n {
		mtu *= 2
	}
	return mtu
}
