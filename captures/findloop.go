package captures

import (
	"encoding/binary"
	"fmt"

	"whichlink/captures/frames"
)

const (
	loopSlots  = 1 << 10
	loopWindow = 1_000_000_000
	// falls is how far the TTL of one packet must have fallen, in three passes or more, to be a loop: a mirror of several routers
	// shows a packet a hop or two apart.
	falls = 4
	// repeats is how often a frame must have come again within a tenth of a second, equal to the last byte, to be a loop: a mirror
	// of several ports shows it a few times, and a host asks for an address once a second.
	repeats    = 10
	repeatTime = 100_000_000
)

// A passing is a packet that passed more than once of late.
type passing struct {
	hash        uint64
	first, last int64
	firstTTL    uint8
	ttl         uint8
	passes      uint32
	loop        uint16 // its loop and one, 0 before it is one
}

// A loopKey is who sends what goes round: addresses of IP, else of Ethernet.
type loopKey struct {
	src, dst frames.Addr
	routed   bool
	ip       bool
}

// A loop sums up the packets of one sender and receiver that go round.
type loop struct {
	loopKey
	packets, passes int64
	first, last     int64
	step            uint8 // by how much the TTL falls with each pass
}

// A loopFinder tells packets that pass again and again: with a falling TTL in a forwarding loop, unchanged in a bridging loop.
// Of flows it sees copies only; packets without ports, which are few, it compares itself.
type loopFinder struct {
	a     *Analyzer
	slots []passing
	index map[loopKey]uint16
	loops []loop
}

func newLoopFinder(a *Analyzer) finder {
	return &loopFinder{a: a, slots: make([]passing, loopSlots), index: map[loopKey]uint16{}}
}

// see takes copies of flows, and all other packets.
func (f *loopFinder) see(s *Sight) {
	if s.Copy {
		h, _ := copyHash(s.Frame, s.IP)
		f.pass(s, h, s.IP.TTL, 2)
		return
	}
	h, ttl := frameHash(s)
	f.pass(s, h, ttl, 1)
}

// frameHash sums up what a loop does not change, and the TTL. Routers change Ethernet's addresses, the TTL and the checksum.
func frameHash(s *Sight) (uint64, uint8) {
	at, ttl := 0, uint8(0)
	h := uint64(s.Orig)
	if s.IP != nil {
		ttl = s.IP.TTL
		at = s.IP.Off + s.IP.HeaderLen
		h = mix(h^uint64(s.IP.ID)<<32^uint64(s.IP.Proto)<<24, endHash(&s.IP.Src, 0, 0)^3*endHash(&s.IP.Dst, 0, 0))
	}
	b := s.Data[min(at, len(s.Data)):]
	b = b[:min(len(b), 128)]
	for ; len(b) >= 8; b = b[8:] {
		h = mix(h, binary.LittleEndian.Uint64(b))
	}
	for _, c := range b {
		h = mix(h, uint64(c))
	}
	return h, ttl
}

// pass notes a packet that passed so many times at least. Each file and interface stands for itself: several points of capture
// see one packet on its way.
func (f *loopFinder) pass(s *Sight, hash uint64, ttl uint8, passes uint32) {
	hash = mix(hash, uint64(s.File)<<32|uint64(s.Interface)) | 1
	p := &f.slots[hash>>32%loopSlots]
	if p.hash != hash || s.Time-p.last > loopWindow || s.Time < p.last {
		*p = passing{hash: hash, first: s.Time, firstTTL: ttl, last: s.Time, ttl: ttl, passes: passes}
		return
	}
	step := p.ttl - ttl
	routed := s.IP != nil && ttl < p.ttl && p.firstTTL-ttl >= falls
	p.passes++
	p.last, p.ttl = s.Time, ttl
	switch {
	case p.loop != 0:
		l := &f.loops[p.loop-1]
		l.passes++
		l.last = s.Time
	case routed && p.passes >= 3, ttl == p.firstTTL && p.passes >= repeats && s.Time-p.first <= repeatTime:
		p.loop = f.loop(s, routed, step, p.first)
		if p.loop != 0 {
			l := &f.loops[p.loop-1]
			l.packets++
			l.passes += int64(p.passes)
			l.last = s.Time
		}
	}
}

// loop finds or makes the loop that a packet belongs to. It returns its number and one, 0 if there are too many.
func (f *loopFinder) loop(s *Sight, routed bool, step uint8, first int64) uint16 {
	k := loopKey{routed: routed, ip: s.IP != nil}
	switch src := s.Frame.SrcMAC(); {
	case k.ip:
		k.src, k.dst = s.IP.Src, s.IP.Dst
	case src != nil:
		copy(k.src[:], src)
		copy(k.dst[:], s.Frame.DstMAC())
	}
	n := f.index[k]
	if n == 0 && len(f.loops) < maxTold {
		f.loops = append(f.loops, loop{loopKey: k, first: first, step: step})
		n = uint16(len(f.loops))
		f.index[k] = n
	}
	return n
}

func (f *loopFinder) report(r *Report) {
	forwarding, bridging := ranking{most: f.a.cfg.MaxFindings}, ranking{most: f.a.cfg.MaxFindings}
	for i := range f.loops {
		l := &f.loops[i]
		c := candidate{l.passes, l.first, l.last, uint32(i), 0}
		if l.routed {
			forwarding.add(c)
		} else {
			bridging.add(c)
		}
	}
	forwarding.tell(r, func(c candidate) Finding {
		l := &f.loops[c.number]
		return Finding{
			Finding: "forwarding-loop", Severity: Critical, Subject: l.name(), about: l.choice(), Filter: l.filter(),
			Text: fmt.Sprintf("%s passed %s, the TTL %d less each time: routers send them round a loop of %s",
				plural(l.packets, "packet"), plural(l.passes, "time"), l.step, plural(int64(l.step), "hop")),
			Rule: fmt.Sprintf("the same packet three times or more within 1 s, its TTL %d or more lower in the end", falls),
		}
	})
	bridging.tell(r, func(c candidate) Finding {
		l := &f.loops[c.number]
		return Finding{
			Finding: "bridging-loop", Severity: Critical, Subject: l.name(), about: l.choice(), Filter: l.filter(),
			Text: fmt.Sprintf("%s passed %s unchanged: they go round a loop of bridges, or a sender repeats itself",
				plural(l.packets, "frame"), plural(l.passes, "time")),
			Rule: fmt.Sprintf("the same frame %d times or more within 100 ms, its TTL unchanged", repeats),
		}
	})
}

func (l *loop) name() string {
	if l.ip {
		return l.src.Netip().String() + ">" + l.dst.Netip().String()
	}
	return macName(l.src[:6]) + ">" + macName(l.dst[:6])
}

func (l *loop) filter() string {
	if !l.ip {
		return fmt.Sprintf("eth.src == %s && eth.dst == %s", macName(l.src[:6]), macName(l.dst[:6]))
	}
	return pairFilter(l.src, l.dst)
}

func (l *loop) choice() Choice {
	if l.ip {
		return choosePair(l.src, l.dst)
	}
	return chooseMAC(l.src[:6])
}
