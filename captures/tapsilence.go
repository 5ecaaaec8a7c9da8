package captures

import "slices"

// How many packets in a row must be at one tap only, while the other has nothing of anything, for that to be a hole in the other's
// capture: with proof a few, of which one passed the other tap first and so must have been there, without proof more than chance
// loses one after the other.
const (
	silentProven = 4
	silentLong   = 8
)

// What the sender sends again while the other tap is silent was not received: of so many packets one in againShare, and againLeast at least, show that the network
// lost them, however many stand in a row: the only way to that tap is down.
const (
	againLeast = 2
	againShare = 8
	// silentHeld bounds the packets of a silence that are held back.
	silentHeld = 1 << 12
)

// A lonely packet was seen at one tap only.
type lonely struct {
	flow uint32
	dir  uint8
	at   int64
	what uint64 // tells what it carries, 0 where nothing does
}

// A silence is a stretch in which one tap captured nothing at all, and what the other has meanwhile. A capture that cannot keep up
// drops packets in a row, of all flows and both directions; a network that loses packets leaves others between them, or at least
// those that go the other way, or senders that send them again.
type silence struct {
	id     uint32 // how many packets the tap had captured before it
	n      int
	held   []lonely // the first of n
	proven bool     // one of them passed the silent tap first
	slow   bool     // how those that were held are judged, once there are more
}

// dropped reports whether a silence is the capture's.
func (q *silence) dropped() bool {
	if q.n < silentProven || q.n < silentLong && !q.proven {
		return false
	}
	what := make([]uint64, 0, len(q.held))
	for i := range q.held {
		if w := q.held[i].what; w != 0 {
			what = append(what, w)
		}
	}
	slices.Sort(what)
	again := len(what) - len(slices.Compact(what))
	return again < againLeast || againShare*again < len(q.held)
}

// lone judges a packet that one tap has and the other should have. It is held back until it is known how many stand with it.
func (p *pairing) lone(tap int, id uint32, x lonely) {
	q := &p.silences[tap]
	if q.n > 0 && q.id != id {
		p.endSilence(tap)
	}
	if q.n == 0 {
		*q = silence{id: id, held: q.held[:0]}
	}
	q.n++
	h := &p.flows.at(x.flow).halves[x.dir]
	q.proven = q.proven || h.first(&p.clock) == 1-tap
	if len(q.held) < silentHeld {
		q.held = append(q.held, x)
		return
	}
	if q.n == silentHeld+1 {
		q.slow = q.dropped()
	}
	p.judge(tap, x, q.slow)
}

// endSilence judges those that were held back.
func (p *pairing) endSilence(tap int) {
	q := &p.silences[tap]
	dropped := q.slow
	if q.n <= silentHeld {
		dropped = q.dropped()
	}
	for _, x := range q.held {
		p.judge(tap, x, dropped)
	}
	q.n, q.held = 0, q.held[:0]
}

func (p *pairing) judge(tap int, x lonely, dropped bool) {
	if dropped {
		p.silent(tap, x)
	} else {
		p.only(tap, x, 1)
	}
}

// silent counts a packet that only this tap has for a packet that the other's capture dropped.
func (p *pairing) silent(tap int, x lonely) {
	h := &p.flows.at(x.flow).halves[x.dir]
	h.silent[tap]++
	if s := &p.holes[1-tap]; s.n == 0 || x.at < s.from {
		s.from = x.at
	}
	s := &p.holes[1-tap]
	s.n++
	s.to = max(s.to, x.at)
}

// A captureHole sums up what a tap did not capture while it captured nothing else either.
type captureHole struct{ n, from, to int64 }
