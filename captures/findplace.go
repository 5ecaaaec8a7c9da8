package captures

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"

	"whichlink/graphs"
)

const typeLLDP = 0x88cc

// maxPlaces bounds the neighbours that are told: a link has one, a trunk of mirrors a few.
const maxPlaces = 64

// cdpSNAP begins a frame of the Cisco Discovery Protocol.
var cdpSNAP = []byte{0xaa, 0xaa, 0x03, 0x00, 0x00, 0x0c, 0x20, 0x00}

// A place is a system and port that announced themselves: the capture was taken on the port's link or on a mirror of it.
type place struct {
	protocol, system, port, description string
	mac                                 [6]byte
	n, first, last                      int64
}

// A placeFinder says where the capture was taken, by LLDP and CDP, which bridges do not pass on.
type placeFinder struct {
	a      *Analyzer
	index  map[uint64]int // by hash of sender and payload, so that what is known is not read again
	places []place
}

func newPlaceFinder(a *Analyzer) finder { return &placeFinder{a: a, index: map[uint64]int{}} }

func (f *placeFinder) see(s *Sight) {
	fr := s.Frame
	src := fr.SrcMAC()
	if src == nil || fr.Link > len(s.Data) {
		return
	}
	b, lldp := s.Data[fr.Link:], fr.EtherType == typeLLDP
	if !lldp && (fr.EtherType != 0 || !bytes.HasPrefix(b, cdpSNAP)) {
		return
	}
	hash, _ := frameHash(s)
	if i, known := f.index[hash]; known {
		f.places[i].n++
		f.places[i].last = s.Time
		return
	}
	p := place{mac: [6]byte(src), n: 1, first: s.Time, last: s.Time}
	if lldp {
		p.readLLDP(b)
	} else {
		p.readCDP(b[len(cdpSNAP):])
	}
	if p.port == "" || len(f.index) == maxTold {
		return
	}
	for i := range f.places {
		if o := &f.places[i]; o.protocol == p.protocol && o.system == p.system && o.port == p.port && o.mac == p.mac {
			o.n++
			o.last = s.Time
			f.index[hash] = i
			return
		}
	}
	if len(f.places) < maxPlaces {
		f.index[hash] = len(f.places)
		f.places = append(f.places, p)
	}
}

// readLLDP reads the fields of an LLDP frame (IEEE 802.1AB): seven bits of type, nine of length.
func (p *place) readLLDP(b []byte) {
	p.protocol = "lldp"
	chassis := ""
	for len(b) >= 2 {
		kind, n := b[0]>>1, int(b[0]&1)<<8|int(b[1])
		if kind == 0 || 2+n > len(b) {
			break
		}
		v := b[2 : 2+n]
		b = b[2+n:]
		switch {
		case kind == 1 && n > 1:
			chassis = lldpID(v, 4, 5)
		case kind == 2 && n > 1:
			p.port = lldpID(v, 3, 4)
		case kind == 4:
			p.description = graphs.Clean(string(v))
		case kind == 5:
			p.system = graphs.Clean(string(v))
		}
	}
	if p.system == "" {
		p.system = chassis
	}
}

// lldpID reads an identifier, whose first byte says what it is: a MAC address, a network address, or text.
func lldpID(v []byte, mac, network byte) string {
	switch kind, v := v[0], v[1:]; {
	case kind == mac && len(v) == 6:
		return macName(v)
	case kind == network && len(v) >= 5:
		if a, ok := netip.AddrFromSlice(v[1:]); ok {
			return a.String()
		}
		return net.HardwareAddr(v).String()
	default:
		return graphs.Clean(string(v))
	}
}

// readCDP reads version, time to live and checksum, and then fields of type and length with four bytes of header.
func (p *place) readCDP(b []byte) {
	p.protocol = "cdp"
	if len(b) < 4 {
		return
	}
	for b = b[4:]; len(b) >= 4; {
		kind, n := binary.BigEndian.Uint16(b), int(binary.BigEndian.Uint16(b[2:]))
		if n < 4 || n > len(b) {
			break
		}
		v := b[4:n]
		b = b[n:]
		switch kind {
		case 1:
			p.system = graphs.Clean(string(v))
		case 3:
			p.port = graphs.Clean(string(v))
		}
	}
}

func (f *placeFinder) report(r *Report) {
	for i := range f.places {
		p := &f.places[i]
		text := fmt.Sprintf("captured on the link of %s port %s, or on a mirror of it", p.system, p.port)
		if p.description != "" && p.description != p.port {
			text += ": " + p.description
		}
		r.Findings = append(r.Findings, Finding{
			Finding: "capture-place", Severity: Info, Subject: p.system + " " + p.port, Count: p.n, From: instant(p.first), To: instant(p.last), Text: text,
			Rule:   "LLDP and CDP frames, which go no further than one link",
			Filter: p.protocol + " && eth.src == " + macName(p.mac[:]),
		})
	}
}
