package captures

import (
	"encoding/binary"
	"fmt"
	"strings"
)

const (
	typeSlow = 0x8809 // the slow protocols (IEEE 802.3 annex 57A), of which LACP is subtype 1
	// The bits of a port's state (IEEE 802.1AX).
	lacpSync         = 1 << 3
	lacpCollecting   = 1 << 4
	lacpDistributing = 1 << 5
	lacpDefaulted    = 1 << 6
	lacpExpired      = 1 << 7
	lacpUp           = lacpSync | lacpCollecting | lacpDistributing
)

// A lacpKey is a port of a system.
type lacpKey struct {
	system [6]byte
	port   uint16
}

// A lacpPort is what a port said of itself.
type lacpPort struct {
	lacpKey
	mac                        [6]byte // that its frames come from
	partner                    lacpKey
	state, worst               uint8 // worst is the state that it went to last when it left the bundle
	wasUp                      bool
	frames, first, last        int64
	downs, firstDown, lastDown int64
}

// A lacpFinder follows the state of ports in bundles.
type lacpFinder struct {
	a     *Analyzer
	ports roll[lacpKey, lacpPort]
}

func newLACPFinder(a *Analyzer) finder {
	return &lacpFinder{a: a, ports: roll[lacpKey, lacpPort]{most: maxTold}}
}

func (f *lacpFinder) see(s *Sight) {
	at := s.Frame.Link
	if s.Frame.EtherType != typeSlow || at+39 > len(s.Data) {
		return
	}
	// Subtype and version, then the actor's and the partner's information, each with type and length.
	b := s.Data[at : at+39]
	if b[0] != 1 || b[2] != 1 || b[3] != 20 || b[22] != 2 {
		return
	}
	k := lacpKey{[6]byte(b[6:12]), binary.BigEndian.Uint16(b[16:])}
	p, fresh := f.ports.of(k)
	if p == nil {
		return
	}
	if fresh {
		p.lacpKey, p.first = k, s.Time
		copy(p.mac[:], s.Frame.SrcMAC())
	}
	state := b[18]
	if p.state&lacpUp == lacpUp && state&lacpUp != lacpUp {
		if p.downs == 0 {
			p.firstDown = s.Time
		}
		p.downs++
		p.lastDown, p.worst = s.Time, state
	}
	if partner := (lacpKey{[6]byte(b[26:32]), binary.BigEndian.Uint16(b[36:])}); partner.system != [6]byte{} {
		p.partner = partner
	}
	p.frames++
	p.last, p.state, p.wasUp = s.Time, state, p.wasUp || state&lacpUp == lacpUp
}

func (f *lacpFinder) report(r *Report) {
	down, never := ranking{most: f.a.cfg.MaxFindings}, ranking{most: f.a.cfg.MaxFindings}
	for i := range f.ports.all {
		p := &f.ports.all[i]
		switch {
		case p.downs > 0:
			down.add(candidate{p.downs, p.firstDown, p.lastDown, uint32(i), 0})
		case !p.wasUp:
			never.add(candidate{p.frames, p.first, p.last, uint32(i), 0})
		}
	}
	down.tell(r, func(c candidate) Finding {
		p := &f.ports.all[c.number]
		return Finding{
			Finding: "lacp-down", Severity: Critical, Subject: p.name(), about: chooseMAC(p.mac[:]), Filter: p.filter(), like: "lacp",
			Text: fmt.Sprintf("the port left its bundle %s, last with %s%s; %s when last seen", plural(p.downs, "time"), lacpWords(p.worst), p.other(), lacpWords(p.state)),
			Rule: "synchronization, collecting and distributing were all set, and then one of them was not (IEEE 802.1AX)",
		}
	})
	never.tell(r, func(c candidate) Finding {
		p := &f.ports.all[c.number]
		return Finding{
			Finding: "lacp-not-up", Severity: Warning, Subject: p.name(), about: chooseMAC(p.mac[:]), Filter: p.filter(), like: "lacp",
			Text: "the port never carried packets of its bundle: " + lacpWords(p.state) + p.other(),
			Rule: "synchronization, collecting and distributing were never all set (IEEE 802.1AX)",
		}
	})
}

// lacpWords says what a state means for packets and why.
func lacpWords(state uint8) string {
	var words []string
	for _, w := range []struct {
		bit   uint8
		wants bool
		text  string
	}{
		{lacpExpired, true, "expired: the partner's LACPDUs stopped arriving"},
		{lacpDefaulted, true, "defaulted: no partner was heard"},
		{lacpSync, false, "not in sync"},
		{lacpCollecting, false, "not collecting"},
		{lacpDistributing, false, "not distributing"},
	} {
		if (state&w.bit != 0) == w.wants {
			words = append(words, w.text)
		}
	}
	if len(words) == 0 {
		return "in the bundle"
	}
	return strings.Join(words, ", ")
}

func (p *lacpPort) name() string { return fmt.Sprintf("lacp %s port %d", macName(p.system[:]), p.port) }

// other names the partner that was heard last.
func (p *lacpPort) other() string {
	if p.partner == (lacpKey{}) {
		return ""
	}
	return fmt.Sprintf(" (partner %s port %d)", macName(p.partner.system[:]), p.partner.port)
}

func (p *lacpPort) filter() string {
	return fmt.Sprintf("lacp.actor.sysid == %s && lacp.actor.port == %d", macName(p.system[:]), p.port)
}
