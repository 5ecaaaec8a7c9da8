package captures

import (
	"encoding/binary"
	"fmt"

	"whichlink/captures/frames"
)

// The states of BFD (RFC 5880 section 4.1).
const (
	bfdAdminDown = iota
	bfdDown
	bfdInit
	bfdUp
)

var bfdStates = [4]string{"AdminDown", "Down", "Init", "Up"}

// bfdCauses are the diagnostic codes (RFC 5880 section 4.1).
var bfdCauses = []string{
	"no diagnostic", "control detection time expired", "echo function failed", "neighbor signaled session down", "forwarding plane reset",
	"path down", "concatenated path down", "administratively down", "reverse concatenated path down",
}

// A bfdKey is one end of a session, which sends. Sessions of the members of a bundle differ in the discriminator.
type bfdKey struct {
	src, dst      frames.Addr
	discriminator uint32
	port          uint16
}

// A bfdEnd is what one end of a session said.
type bfdEnd struct {
	bfdKey
	pulse
	state, diag         uint8
	wasUp               bool
	downs, packets      int64
	firstDown, lastDown int64
	first               int64
}

// A bfdFinder follows sessions of BFD: when they go down and why, and silences that a session did not survive by right.
type bfdFinder struct {
	a       *Analyzer
	ends    roll[bfdKey, bfdEnd]
	receive map[[2]frames.Addr]uint32 // by receiver and sender: the interval that the receiver asks for, in us
}

func newBFDFinder(a *Analyzer) finder {
	return &bfdFinder{a: a, ends: roll[bfdKey, bfdEnd]{most: maxTold}, receive: map[[2]frames.Addr]uint32{}}
}

func (f *bfdFinder) see(s *Sight) {
	switch s.IP.DstPort {
	case 3784, 4784, 6784: // one hop, several (RFC 5883), members of a bundle (RFC 7130)
	default:
		return
	}
	at := s.Frame.L4 + 8
	if at+24 > len(s.Data) {
		return
	}
	b := s.Data[at : at+24]
	if b[0]>>5 != 1 || b[3] < 24 {
		return
	}
	k := bfdKey{s.IP.Src, s.IP.Dst, binary.BigEndian.Uint32(b[4:]), s.IP.DstPort}
	e, fresh := f.ends.of(k)
	if e == nil {
		return
	}
	if fresh {
		*e = bfdEnd{bfdKey: k, first: s.Time}
	}
	f.receive[[2]frames.Addr{k.src, k.dst}] = binary.BigEndian.Uint32(b[16:])
	interval := max(binary.BigEndian.Uint32(b[12:]), f.receive[[2]frames.Addr{k.dst, k.src}])
	e.take(s.Time, b[1]>>6, b[0]&31, int64(b[2])*int64(interval)*1000)
}

// take follows a control packet. Detection is after which silence the other end must take the session for down.
func (e *bfdEnd) take(now int64, state, diag uint8, detection int64) {
	e.hear(now, detection, e.packets > 0 && e.state == bfdUp && state == bfdUp)
	if e.state == bfdUp && state != bfdUp && e.packets > 0 {
		if e.downs == 0 {
			e.firstDown = now
		}
		e.downs++
		e.lastDown, e.diag = now, diag
	}
	e.packets++
	e.wasUp = e.wasUp || state == bfdUp
	e.state = state
	if e.downs == 0 {
		e.diag = diag
	}
}

func (f *bfdFinder) report(r *Report) {
	down, silent, never := ranking{most: f.a.cfg.MaxFindings}, ranking{most: f.a.cfg.MaxFindings}, ranking{most: f.a.cfg.MaxFindings}
	for i := range f.ends.all {
		e := &f.ends.all[i]
		switch {
		case e.downs > 0:
			down.add(candidate{e.downs, e.firstDown, e.lastDown, uint32(i), 0})
		case !e.wasUp:
			never.add(candidate{e.packets, e.first, e.last, uint32(i), 0})
		}
		e.silence(&silent, i)
	}
	down.tell(r, func(c candidate) Finding {
		e := &f.ends.all[c.number]
		return Finding{
			Finding: "bfd-down", Severity: Critical, Subject: e.name(), about: choosePair(e.src, e.dst), Filter: e.filter() + " && bfd.sta != 3", like: "bfd.sta != 3",
			Text: fmt.Sprintf("the session left Up %s, last because: %s; %s when last seen", plural(e.downs, "time"), e.cause(), bfdStates[e.state]),
			Rule: "the state of BFD control packets goes from Up to another (RFC 5880)",
		}
	})
	silent.tell(r, func(c candidate) Finding {
		e := &f.ends.all[c.number]
		return Finding{
			Finding: "bfd-gap", Severity: Critical, Subject: e.name(), about: choosePair(e.src, e.dst), Filter: e.filter(), like: "bfd",
			Text: e.gap("control packets", "the detection time"),
			Rule: "a silence longer than the multiplier times the slower of the sender's and the receiver's interval, Up before and after",
		}
	})
	never.tell(r, func(c candidate) Finding {
		e := &f.ends.all[c.number]
		return Finding{
			Finding: "bfd-not-up", Severity: Warning, Subject: e.name(), about: choosePair(e.src, e.dst), Filter: e.filter(), like: "bfd",
			Text: fmt.Sprintf("the session was never Up, %s when last seen: %s", bfdStates[e.state], e.cause()), Rule: "no BFD control packet of state Up (RFC 5880)",
		}
	})
}

func (e *bfdEnd) cause() string {
	if int(e.diag) < len(bfdCauses) {
		return bfdCauses[e.diag]
	}
	return fmt.Sprintf("diagnostic %d", e.diag)
}

func (e *bfdEnd) name() string {
	return fmt.Sprintf("bfd %s>%s discriminator 0x%08x", e.src.Netip(), e.dst.Netip(), e.discriminator)
}

func (e *bfdEnd) filter() string {
	return fmt.Sprintf("%s && bfd.my_discriminator == 0x%08x", pairFilter(e.src, e.dst), e.discriminator)
}
