package captures

// How many packets in a row must be at one tap only, while the other has nothing of anything, for that to be a hole in the other's
// capture: with proof a few, of which one passed the other tap first and so must have been there, without proof more than chance
// loses one after the other.
const (
	silentProven = 4
	silentLong   = 8
)

// A lonely packet was seen at one tap only.
type lonely struct {
	flow uint32
	dir  uint8
	at   int64
}

// A silence is a stretch in which one tap captured nothing at all, and what the other has meanwhile. A capture that cannot keep up
// drops packets in a row, of all flows and both directions; a network that loses packets leaves others between them, or at least
// those that go the other way.
type silence struct {
	id     uint32 // how many packets the tap had captured before it
	n      int
	first  [silentLong]lonely // the first of n
	proven bool               // one of them passed the silent tap first
}

// lone judges a packet that one tap has and the other should have. It is held back until it is known how many stand with it.
func (p *pairing) lone(tap int, id uint32, x lonely) {
	q := &p.silences[tap]
	if q.n > 0 && q.id != id {
		p.endSilence(tap)
	}
	if q.n == 0 {
		*q = silence{id: id}
	}
	h := &p.flows.at(x.flow).halves[x.dir]
	q.proven = q.proven || h.first(&p.clock) == 1-tap
	if q.n < len(q.first) {
		q.first[q.n] = x
	} else {
		p.silent(tap, x)
	}
	q.n++
}

// endSilence judges those that were held back.
func (p *pairing) endSilence(tap int) {
	q := &p.silences[tap]
	dropped := q.n >= silentLong || q.proven && q.n >= silentProven
	for _, x := range q.first[:min(q.n, len(q.first))] {
		if dropped {
			p.silent(tap, x)
			continue
		}
		h := &p.flows.at(x.flow).halves[x.dir]
		h.only[tap]++
		h.note(x.at)
	}
	q.n = 0
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
