package captures

import (
	"whichlink/captures/frames"
	"whichlink/internal/evidence"
)

const (
	// vanishedLeast is how many packets of a direction must be at one tap only for it to have vanished: a program that gets no answer asks again.
	vanishedLeast = 2
	// vanishedLike is how many other flows of the same service between the same hosts must have passed both taps and got an answer, and none passed one only,
	// for all to pass both: of eight equal paths, or of two, one tap would hardly have seen the flows of all.
	vanishedLike = 16
	// vanishedOneWay is how many must have passed both where none is ever answered and the paths are known, more than twice as many as passed one only: a tap
	// that draws flows by lot would have left out half of them at least.
	vanishedOneWay = 8
	// maxVanished bounds the services that are looked at.
	maxVanished = 4096
)

// A Passage says whether all packets of a flow that pass one tap, the first of a pair or the second, pass the other one after it: what only a fabric tells.
type Passage func(flow evidence.Flow, first int) bool

// A service is what goes from one host to another by a protocol, to or from one port, and passes one tap first. A filter of packets that
// leaves out one of its flows leaves out all, mostly.
type service struct {
	src, dst frames.Addr
	proto    uint8
	port     uint16
	first    int
}

// A witness is what the flows of a service tell: how many passed both taps, and of these are answered; how many passed one only, and of these are answered all
// the same, as those are that take another way, or that the other tap draws by lot.
type witness struct{ both, answered, lone, astray int }

// serviceOf names the service of a direction that passes a tap first.
func (k *flowKey) serviceOf(dir, first int) service {
	const roce = 4791 // beside it stands any other
	v := service{k.a, k.b, k.proto, min(k.aPort, k.bPort), first}
	if k.proto == frames.ProtoUDP && (k.aPort == roce || k.bPort == roce) {
		v.port = roce
	}
	if dir == 1 {
		v.src, v.dst = v.dst, v.src
	}
	return v
}

// lone returns the tap that alone has packets of a direction, -1 if both have or none.
func (h *tapHalf) lone() int {
	switch {
	case h.packets[0] > 0 && h.packets[1] == 0:
		return 0
	case h.packets[1] > 0 && h.packets[0] == 0:
		return 1
	}
	return -1
}

// vanish finds the directions of flows of which one tap has all and the other nothing, though they must have passed it: all other flows of the same
// service passed both and are answered, and this one is not; or the fabric has no way around. Which way a flow takes that nobody answers, and nothing else
// like it, is not known: nothing is said of it.
func (p *pairing) vanish(passage Passage) {
	witnesses := map[service]*witness{}
	p.eachHalf(func(s *tapFlowState, dir int) {
		if first := s.halves[dir].vanishable(); first >= 0 && len(witnesses) < maxVanished {
			witnesses[s.key.serviceOf(dir, first)] = &witness{}
		}
	})
	if len(witnesses) == 0 {
		return
	}
	p.eachHalf(func(s *tapFlowState, dir int) {
		h, back := &s.halves[dir], &s.halves[1-dir]
		first := h.lone()
		if h.met > 0 {
			first = h.first(&p.clock)
		}
		if first < 0 {
			return
		}
		if w := witnesses[s.key.serviceOf(dir, first)]; w != nil {
			w.add(h, back, first)
		}
	})
	p.eachHalf(func(s *tapFlowState, dir int) {
		h, back := &s.halves[dir], &s.halves[1-dir]
		first := h.vanishable()
		if first < 0 {
			return
		}
		w := witnesses[s.key.serviceOf(dir, first)]
		if w == nil || w.astray > 0 {
			return
		}
		unanswered := back.packets == [2]uint32{}
		like := w.answered > 0 || w.both >= vanishedOneWay && 2*w.lone < w.both
		h.vanished = unanswered && w.answered >= vanishedLike ||
			(unanswered || back.met > 0) && like && passage != nil && passage(s.key.evidence(dir), first)
	})
}

// eachHalf calls each for every direction of a flow.
func (p *pairing) eachHalf(each func(s *tapFlowState, dir int)) {
	p.flows.all(func(_ uint32, s *tapFlowState) {
		for dir := range s.halves {
			each(s, dir)
		}
	})
}

// vanishable returns the tap that alone has packets of a direction, enough of them while the other was capturing, -1 if none does.
func (h *tapHalf) vanishable() int {
	if first := h.lone(); first >= 0 && h.only[first] >= vanishedLeast {
		return first
	}
	return -1
}

// add counts a direction that passes a tap first, and what goes back.
func (w *witness) add(h, back *tapHalf, first int) {
	switch {
	case h.met > 0:
		w.both++
		if back.packets != [2]uint32{} {
			w.answered++
		}
	case back.packets[first] > 0 && back.packets[1-first] == 0:
		w.astray++
	default:
		w.lone++
	}
}
