package probes

// The fate of a probe.
const (
	fateNone     = iota // outstanding
	fateAnswered        // answered in time
	fateVoid            // the kernel did not take it
)

// An entry of a ledger is one echo that was sent.
type entry struct {
	sent      int64  // nanoseconds since 1970
	held      uint32 // for how long this host had it then, in nanoseconds; 0 where the kernel did not tell
	reflector uint32 // the reflector's sequence number, once answered
	fate      uint8
	era       uint8 // of the reflector's count
}

// A ledger keeps account of the echoes of one session: what was sent, what came back, and by the reflector's count on which of
// the two ways the rest was lost.
//
// Probes are decided in the order in which they were sent. One is lost when its time has passed, or earlier when at least two
// that were sent after it were answered and it is older than any reordering. To tell the way, the reflector's count before and
// after the loss is needed: lost probes wait for the next answered one (an anchor), at most for the patience's hold. What the
// reflector counted between two anchors but was never seen was lost on the way back, the rest on the way there.
// The zero value is not usable; see newLedger. It is not safe for concurrent use.
type ledger struct {
	entries []entry
	mask    uint64
	next    uint64    // sequence number of the next probe; the low 32 bits are on the wire
	tail    uint64    // the first that is not decided
	top     [2]uint64 // one more than the highest and the second highest that were answered

	stateful bool
	cookie   uint32
	era      uint8  // changes whenever the reflector's count began anew
	blind    uint64 // of losses before this probe the way cannot be told
	anchored bool
	anchor   uint32   // the reflector's number up to which its count is accounted for
	seen     []uint64 // by the reflector's number: number<<2 | mark
	missing  int      // lost since the anchor,
	untold   int      // of them already reported without a direction
	forward  int      // carried over to the next window; below 0 while probes overtake each other
	back     int

	query struct {
		valid bool
		upto  int64 // probes sent until then had arrived when it was answered, or never
		last  uint32
	}
}

// Marks of ledger.seen.
const (
	markSeen = 1
	markLost = 2 // counted as lost on the way back
)

// patience says how long to wait, in nanoseconds.
type patience struct {
	timeout int64 // for an answer
	quick   int64 // for an answer, when later probes were answered
	hold    int64 // beyond timeout for an anchor
}

// tally is what a ledger decided since it was last reported.
type tally struct {
	sent, lost, forward, back int
	split                     bool  // forward and back are known, as far as they sum up to lost
	waiting                   int   // lost probes that wait for an anchor
	first, last               int64 // times of sending, nanoseconds since 1970
	lostAt                    []int64
}

// newLedger makes a ledger for at most size outstanding probes, rounded up to a power of two.
func newLedger(size int) *ledger {
	n := 16
	for n < size {
		n *= 2
	}
	l := &ledger{entries: make([]entry, n), mask: uint64(n - 1), seen: make([]uint64, n)}
	return l
}

// restart begins a new count: the reflector's next number is r. What was lost before probe s cannot be told.
func (l *ledger) restart(cookie, r uint32, s uint64) {
	l.cookie, l.anchor, l.blind = cookie, r-1, s
	l.era++
	l.forward, l.back = 0, 0
	l.untold = l.missing
	clear(l.seen)
	l.query.valid = false
}

// send enters a probe. False if as many as there is room for are outstanding.
func (l *ledger) send(now int64) (seq uint32, ok bool) {
	if l.next-l.tail == uint64(len(l.entries)) {
		return 0, false
	}
	l.entries[l.next&l.mask] = entry{sent: now}
	l.next++
	return uint32(l.next - 1), true
}

// void takes back a probe that the kernel did not send.
func (l *ledger) void(seq uint32) {
	if s, ok := l.whole(seq); ok && s >= l.tail {
		l.entries[s&l.mask].fate = fateVoid
	}
}

// whole is the sequence number of which seq is the low half. False if none was sent.
func (l *ledger) whole(seq uint32) (uint64, bool) {
	behind := uint64(uint32(l.next) - seq) // 1 is the last that was sent
	if behind == 0 || behind > l.next {
		return 0, false
	}
	return l.next - behind, true
}

// What an answer meant.
const (
	answerNew = iota
	answerLate
	answerDuplicate
	answerUnknown
)

// counting is what an answer says of the reflector's count.
type counting struct {
	r       uint32 // its sequence number
	cookie  uint32 // of its count
	counted bool   // it says that r is its own count
	damaged bool   // the answer was changed on the way, so that all of this may be wrong
}

// left notes that a probe left this host at a time that the kernel told, and reports whether that can be. Of one that is given up it tells whether
// it was this host that kept it too long.
func (l *ledger) left(seq uint32, at int64) bool {
	s, ok := l.whole(seq)
	if !ok || l.next-s > uint64(len(l.entries)) {
		return false
	}
	e := &l.entries[s&l.mask]
	held := at - e.sent
	if held < 0 || held > maxHeld || e.fate != fateNone {
		return false
	}
	e.held = uint32(held)
	return true
}

// maxHeld is for how long a host may hold a packet before it leaves, in nanoseconds.
const maxHeld = 1<<32 - 1

// answer enters an answer. It returns the probe, of a late answer only if it is still known.
func (l *ledger) answer(seq uint32, c counting) (probe entry, what int) {
	s, ok := l.whole(seq)
	if !ok {
		return entry{}, answerUnknown
	}
	if s < l.tail {
		if c.counted && c.cookie == l.cookie {
			l.mark(c.r)
		}
		if l.next-s > uint64(len(l.entries)) {
			return entry{}, answerLate // nobody remembers it
		}
		e := &l.entries[s&l.mask]
		if e.fate == fateAnswered {
			return entry{}, answerDuplicate
		}
		e.fate = fateAnswered
		return *e, answerLate
	}
	e := &l.entries[s&l.mask]
	if e.fate != fateNone {
		return entry{}, answerDuplicate
	}
	r := c.r
	e.fate, e.reflector = fateAnswered, r
	if s+1 > l.top[0] {
		l.top[0], l.top[1] = s+1, l.top[0]
	} else if s+1 > l.top[1] {
		l.top[1] = s + 1
	}
	ahead := int32(r - l.anchor)
	if c.damaged {
		// It is no anchor. If its number can be true it is not a lost one.
		e.era = l.era - 1
		if l.anchored && ahead > -overtaking && int(ahead) <= len(l.seen) {
			l.arrived(r)
		}
		return *e, answerNew
	}
	if !c.counted {
		// Another's reflector. While its number equals ours nobody can tell whether it counts or copies.
		if !l.stateful && r == seq {
			return *e, answerNew
		}
		// What it counted before is not known: those answers were not looked at.
		if !l.anchored {
			l.anchored = true
			l.restart(c.cookie, r, s)
		}
	}
	l.stateful = true
	switch {
	case !l.anchored || l.cookie != c.cookie:
		l.begin(c.cookie, r, s)
	case int(ahead) > len(l.seen) || ahead < -overtaking && s+1 == l.top[0]:
		// Numbers that jump like this are of a reflector that began anew without saying so.
		l.restart(c.cookie, r, s)
	}
	e.era = l.era
	l.arrived(r)
	return *e, answerNew
}

// arrived notes the reflector's number of an answer in time. If it was taken for lost on the way back that is taken back: what is
// missing since, in truth was lost on the way there.
func (l *ledger) arrived(r uint32) {
	if l.mark(r) == markLost {
		l.back--
		l.forward++
	}
}

// overtaking is by how many others a probe may be overtaken at most.
const overtaking = 16

// begin finds the first anchor of a count, at the answer numbered r to probe s.
func (l *ledger) begin(cookie, r uint32, s uint64) {
	first := !l.anchored
	l.anchored = true
	if first && uint64(r) <= s && s < uint64(len(l.seen)) {
		// A new session counts from 0, so what was lost before the first answer can be told, too.
		l.restart(cookie, 0, 0)
		return
	}
	l.restart(cookie, r, s)
}

// mark notes that the answer with the reflector's number r was seen, and returns what was known of it.
func (l *ledger) mark(r uint32) uint64 {
	p := &l.seen[uint64(r)&l.mask]
	was := uint64(0)
	if *p>>2 == uint64(r) {
		was = *p & 3
	}
	*p = uint64(r)<<2 | markSeen
	return was
}

// count enters the answer to a question for the reflector's count of this session: it had received so many probes when all
// that were sent until upto had arrived or were lost.
func (l *ledger) count(cookie, received uint32, upto int64) {
	switch {
	case l.anchored && l.cookie != cookie, uint64(received) > l.next:
		return
	case !l.anchored:
		// The session is ours alone, so its count began at 0. A reflector that has not seen it yet has counted nothing.
		l.restart(cookie, 0, 0)
		l.anchored, l.stateful = received > 0, true
	}
	l.query.valid, l.query.upto, l.query.last = true, upto, received-1
}

// settle decides what can be decided and adds it to t.
func (l *ledger) settle(now int64, p patience, t *tally) {
	t.waiting = 0
	for s := l.tail; s < l.next; s++ {
		e := &l.entries[s&l.mask]
		if l.query.valid && e.sent > l.query.upto {
			l.asked(s, t)
		}
		if e.fate == fateVoid {
			continue
		}
		if e.fate == fateAnswered {
			l.commit(s, t)
			if l.anchored && e.era == l.era {
				l.split(e.reflector)
			}
			continue
		}
		age := now - e.sent
		if age <= p.timeout && (age <= p.quick || s+1 >= l.top[1]) {
			return // not decided
		}
		// Lost. It is told with the next anchor, or when none can be hoped for any more.
		if s+1 > l.top[0] && !l.query.valid {
			t.waiting++
			if age > p.timeout+p.hold {
				t.waiting = 0
				l.commit(s, t)
				l.untold = l.missing
			}
		}
	}
	if l.query.valid {
		l.asked(l.next, t)
	}
}

// asked uses the reflector's count as an anchor, now that all probes before s that it covers are decided.
func (l *ledger) asked(s uint64, t *tally) {
	l.query.valid = false
	if s > l.tail {
		l.commit(s-1, t)
	}
	l.split(l.query.last)
}

// commit counts the probes until s.
func (l *ledger) commit(s uint64, t *tally) {
	for ; l.tail <= s; l.tail++ {
		e := &l.entries[l.tail&l.mask]
		if e.fate == fateVoid {
			continue
		}
		if t.sent == 0 {
			t.first = e.sent
		}
		t.last = e.sent
		t.sent++
		if e.fate == fateAnswered {
			continue
		}
		t.lost++
		if len(t.lostAt) < cap(t.lostAt) {
			t.lostAt = append(t.lostAt, e.sent)
		}
		l.missing++
		if l.tail < l.blind {
			l.untold++
		}
	}
}

// split shares what is missing since the last anchor out to the two ways, by the reflector's numbers up to r.
func (l *ledger) split(r uint32) {
	ahead := int32(r - l.anchor)
	if ahead < 0 || int(ahead) > len(l.seen) {
		return
	}
	b := 0
	for x := l.anchor + 1; x != r+1; x++ {
		p := &l.seen[uint64(x)&l.mask]
		if *p>>2 == uint64(x) && *p&markSeen != 0 {
			continue
		}
		*p = uint64(x)<<2 | markLost
		b++
	}
	m, u := l.missing, l.untold
	l.anchor, l.missing, l.untold = r, 0, 0
	switch {
	case u == 0:
		l.forward += m - b
		l.back += b
	case b == 0:
		l.forward += m - u
	case b >= m:
		l.back += m - u
	}
}

// report moves the directions that are known into t.
func (l *ledger) report(t *tally) {
	t.split = l.stateful
	t.forward = min(max(l.forward, 0), t.lost)
	t.back = min(max(l.back, 0), t.lost-t.forward)
	l.forward -= t.forward
	l.back -= t.back
}
