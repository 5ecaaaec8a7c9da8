package captures

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/netip"

	"github.com/google/gopacket/layers"

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

// readLLDP reads an LLDP frame (IEEE 802.1AB).
func (p *place) readLLDP(b []byte) {
	p.protocol = "lldp"
	b = append(whole(b, 2, func(b []byte) int { return 2 + (int(b[0]&1)<<8 | int(b[1])) }), 0, 0) // and the end
	if ids := cold[*layers.LinkLayerDiscovery](layers.LayerTypeLinkLayerDiscovery, b); ids != nil {
		p.system = lldpID(ids.ChassisID.ID, ids.ChassisID.Subtype == layers.LLDPChassisIDSubTypeMACAddr, ids.ChassisID.Subtype == layers.LLDPChassisIDSubTypeNetworkAddr)
		p.port = lldpID(ids.PortID.ID, ids.PortID.Subtype == layers.LLDPPortIDSubtypeMACAddr, ids.PortID.Subtype == layers.LLDPPortIDSubtypeNetworkAddr)
	}
	if more := cold[*layers.LinkLayerDiscoveryInfo](layers.LayerTypeLinkLayerDiscovery, b); more != nil {
		p.description = graphs.Clean(more.PortDescription)
		if more.SysName != "" {
			p.system = graphs.Clean(more.SysName)
		}
	}
}

// lldpID reads an identifier: a MAC address, a network address behind the number of its family, or text.
func lldpID(v []byte, mac, network bool) string {
	switch {
	case mac && len(v) == 6:
		return macName(v)
	case network && len(v) >= 5:
		if a, ok := netip.AddrFromSlice(v[1:]); ok {
			return a.String()
		}
		return macName(v)
	}
	return graphs.Clean(string(v))
}

// readCDP reads a frame of the Cisco Discovery Protocol from behind its SNAP header on.
func (p *place) readCDP(b []byte) {
	p.protocol = "cdp"
	const header = 4 // version, time to live, checksum
	if len(b) < header {
		return
	}
	fields := whole(b[header:], 4, func(b []byte) int { return int(binary.BigEndian.Uint16(b[2:])) })
	b = b[:header+len(fields)]
	if c := cold[*layers.CiscoDiscoveryInfo](layers.LayerTypeCiscoDiscovery, b); c != nil {
		p.system, p.port = graphs.Clean(c.DeviceID), graphs.Clean(c.PortID)
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
			Finding: "capture-place", Severity: Info, about: chooseMAC(p.mac[:]), Subject: p.system + " " + p.port, Count: p.n, From: instant(p.first), To: instant(p.last), Text: text,
			Rule:   "LLDP and CDP frames, which go no further than one link",
			Filter: p.protocol + " && eth.src == " + macName(p.mac[:]),
		})
	}
}
