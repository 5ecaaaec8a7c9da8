// Package roce holds layers of RDMA over Converged Ethernet for gopacket, which knows none: after [Register], a packet of RoCEv2 (UDP port
// 4791) or RoCEv1 (EtherType 0x8915) that gopacket.NewPacket decodes has a [BTH] and the extended headers that its operation has.
//
// It is for programs built on gopacket. Package captures itself decodes RoCE in captures/frames, without allocation.
package roce

import (
	"encoding/binary"
	"errors"
	"sync"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
)

// The types of the layers, of which gopacket leaves the numbers from 1000 to 1999 to others.
var (
	LayerTypeGRH          = register(1791, "GRH", gopacket.DecodeFunc(decodeGRH))
	LayerTypeBTH          = register(1792, "BTH", gopacket.DecodeFunc(decodeBTH))
	LayerTypeRDETH        = register(1793, "RDETH", gopacket.DecodePayload)
	LayerTypeDETH         = register(1794, "DETH", gopacket.DecodePayload)
	LayerTypeXRCETH       = register(1795, "XRCETH", gopacket.DecodePayload)
	LayerTypeRETH         = register(1796, "RETH", gopacket.DecodePayload)
	LayerTypeAtomicETH    = register(1797, "AtomicETH", gopacket.DecodePayload)
	LayerTypeAETH         = register(1798, "AETH", gopacket.DecodePayload)
	LayerTypeAtomicAckETH = register(1799, "AtomicAckETH", gopacket.DecodePayload)
	LayerTypeImmDt        = register(1800, "ImmDt", gopacket.DecodePayload)
	LayerTypeIETH         = register(1801, "IETH", gopacket.DecodePayload)
)

func register(number int, name string, d gopacket.Decoder) gopacket.LayerType {
	return gopacket.RegisterLayerType(number, gopacket.LayerTypeMetadata{Name: name, Decoder: d})
}

const (
	// Port is the UDP destination port of RoCEv2, EtherType that of RoCEv1.
	Port      = 4791
	EtherType = 0x8915
)

// risky are the UDP ports behind which gopacket 1.1.19 asks for gigabytes (sFlow) or panics on packets made for it (GHSA-g6v3-7xmc-w563,
// GHSA-8mcr-459q-5mx2). What stands there is payload after Register.
var risky = []layers.UDPPort{53, 67, 68, 123, 546, 547, 623, 1812, 2152, 5060, 6343}

var once sync.Once

// Register makes gopacket decode RoCE, and not those protocols on UDP that it cannot decode safely. It changes gopacket for the whole
// program and belongs to its beginning, before any packet is decoded; further calls do nothing.
func Register() {
	once.Do(func() {
		layers.RegisterUDPPortLayerType(Port, LayerTypeBTH)
		layers.EthernetTypeMetadata[EtherType] = layers.EnumMetadata{DecodeWith: LayerTypeGRH, Name: "RoCE", LayerType: LayerTypeGRH}
		for _, port := range risky {
			layers.RegisterUDPPortLayerType(port, gopacket.LayerTypePayload)
		}
	})
}

// A GRH is a global route header of RoCEv1, which has the form of IPv6.
type GRH struct {
	layers.BaseLayer
	TrafficClass         uint8
	FlowLabel            uint32
	Length               uint16
	NextHeader, HopLimit uint8
	Source, Destination  [16]byte
}

// LayerType returns LayerTypeGRH.
func (*GRH) LayerType() gopacket.LayerType { return LayerTypeGRH }

func decodeGRH(b []byte, p gopacket.PacketBuilder) error {
	const size, bth = 40, 0x1b
	if len(b) < size {
		p.SetTruncated()
		return errors.New("global route header cut short")
	}
	v := binary.BigEndian.Uint32(b)
	g := &GRH{
		BaseLayer: layers.BaseLayer{Contents: b[:size], Payload: b[size:]}, TrafficClass: uint8(v >> 20), FlowLabel: v & 0xfffff,
		Length: binary.BigEndian.Uint16(b[4:]), NextHeader: b[6], HopLimit: b[7], Source: [16]byte(b[8:]), Destination: [16]byte(b[24:]),
	}
	p.AddLayer(g)
	// What Ethernet fills a short frame up with is no part of the packet.
	if n := int(g.Length); n < len(g.Payload) {
		g.Payload = g.Payload[:n]
	}
	if g.NextHeader != bth {
		return p.NextDecoder(gopacket.LayerTypePayload)
	}
	return p.NextDecoder(LayerTypeBTH)
}

// A BTH is an InfiniBand base transport header (InfiniBand Architecture volume 1, 9.2). Behind its extended headers stand the
// payload, Pad bytes, and the invariant CRC of four, as far as they were captured.
type BTH struct {
	layers.BaseLayer
	Opcode               uint8 // transport in the upper three bits, operation in the lower five; 0x81 is a congestion notification
	Solicited, Migration bool
	Pad, Version         uint8
	PartitionKey         uint16
	FECN, BECN           bool
	DestQP               uint32 // 24 bits
	AckReq               bool
	PSN                  uint32 // 24 bits
}

// LayerType returns LayerTypeBTH.
func (*BTH) LayerType() gopacket.LayerType { return LayerTypeBTH }

// CanDecode returns LayerTypeBTH.
func (*BTH) CanDecode() gopacket.LayerClass { return LayerTypeBTH }

// NextLayerType returns the first extended header, for gopacket's DecodingLayerParser.
func (b *BTH) NextLayerType() gopacket.LayerType {
	if next := extensions(b.Opcode); len(next) > 0 {
		return next[0]
	}
	return gopacket.LayerTypePayload
}

// DecodeFromBytes reads the header.
func (b *BTH) DecodeFromBytes(data []byte, df gopacket.DecodeFeedback) error {
	const size = 12
	if len(data) < size {
		df.SetTruncated()
		return errors.New("base transport header cut short")
	}
	*b = BTH{
		BaseLayer: layers.BaseLayer{Contents: data[:size], Payload: data[size:]}, Opcode: data[0], Solicited: data[1]&0x80 != 0,
		Migration: data[1]&0x40 != 0, Pad: data[1] >> 4 & 3, Version: data[1] & 0xf, PartitionKey: binary.BigEndian.Uint16(data[2:]),
		FECN: data[4]&0x80 != 0, BECN: data[4]&0x40 != 0, DestQP: binary.BigEndian.Uint32(data[4:]) & 0xffffff,
		AckReq: data[8]&0x80 != 0, PSN: binary.BigEndian.Uint32(data[8:]) & 0xffffff,
	}
	return nil
}

// decodeBTH reads the header and those that its operation says follow it, which only it can tell.
func decodeBTH(data []byte, p gopacket.PacketBuilder) error {
	b := &BTH{}
	if err := b.DecodeFromBytes(data, p); err != nil {
		return err
	}
	p.AddLayer(b)
	rest := b.Payload
	for _, kind := range extensions(b.Opcode) {
		n := sizes[kind]
		if len(rest) < n {
			p.SetTruncated()
			return errors.New(kind.String() + " cut short")
		}
		p.AddLayer(extension(kind, layers.BaseLayer{Contents: rest[:n], Payload: rest[n:]}))
		rest = rest[n:]
	}
	if len(rest) == 0 {
		return nil
	}
	payload := gopacket.Payload(rest)
	p.AddLayer(&payload)
	p.SetApplicationLayer(&payload)
	return nil
}
