package roce

import (
	"encoding/binary"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
)

// A RDETH is the extended header of a reliable datagram.
type RDETH struct {
	layers.BaseLayer
	EEContext uint32
}

// A DETH is the extended header of a datagram.
type DETH struct {
	layers.BaseLayer
	QKey, SrcQP uint32
}

// An XRCETH names the receive queue of an extended reliable connection.
type XRCETH struct {
	layers.BaseLayer
	SharedReceiveQueue uint32
}

// A RETH is the extended header of an RDMA request.
type RETH struct {
	layers.BaseLayer
	Address      uint64
	RKey, DMALen uint32
}

// An AtomicETH is the extended header of an atomic request.
type AtomicETH struct {
	layers.BaseLayer
	Address       uint64
	RKey          uint32
	Swap, Compare uint64 // of a fetch-and-add Swap is what is added
}

// An AETH is the extended header of an acknowledgement: syndrome 0x00-0x1f is one, 0x20-0x3f says that the receiver is not ready, 0x60
// and on that it refuses, 0x60 itself because packets are missing.
type AETH struct {
	layers.BaseLayer
	Syndrome uint8
	MSN      uint32 // message sequence number
}

// An AtomicAckETH holds what was in memory before an atomic operation.
type AtomicAckETH struct {
	layers.BaseLayer
	Original uint64
}

// An ImmDt is immediate data.
type ImmDt struct {
	layers.BaseLayer
	Data uint32
}

// An IETH names the memory key that a message invalidates.
type IETH struct {
	layers.BaseLayer
	RKey uint32
}

// LayerType returns LayerTypeRDETH.
func (*RDETH) LayerType() gopacket.LayerType { return LayerTypeRDETH }

// LayerType returns LayerTypeDETH.
func (*DETH) LayerType() gopacket.LayerType { return LayerTypeDETH }

// LayerType returns LayerTypeXRCETH.
func (*XRCETH) LayerType() gopacket.LayerType { return LayerTypeXRCETH }

// LayerType returns LayerTypeRETH.
func (*RETH) LayerType() gopacket.LayerType { return LayerTypeRETH }

// LayerType returns LayerTypeAtomicETH.
func (*AtomicETH) LayerType() gopacket.LayerType { return LayerTypeAtomicETH }

// LayerType returns LayerTypeAETH.
func (*AETH) LayerType() gopacket.LayerType { return LayerTypeAETH }

// LayerType returns LayerTypeAtomicAckETH.
func (*AtomicAckETH) LayerType() gopacket.LayerType { return LayerTypeAtomicAckETH }

// LayerType returns LayerTypeImmDt.
func (*ImmDt) LayerType() gopacket.LayerType { return LayerTypeImmDt }

// LayerType returns LayerTypeIETH.
func (*IETH) LayerType() gopacket.LayerType { return LayerTypeIETH }

// sizes are the lengths of the extended headers in bytes.
var sizes = map[gopacket.LayerType]int{
	LayerTypeRDETH: 4, LayerTypeDETH: 8, LayerTypeXRCETH: 4, LayerTypeRETH: 16, LayerTypeAtomicETH: 28, LayerTypeAETH: 4,
	LayerTypeAtomicAckETH: 8, LayerTypeImmDt: 4, LayerTypeIETH: 4,
}

// The transports, which have an extended header of their own.
const (
	reliableDatagram = 2
	datagram         = 3
	congestion       = 4
	extendedReliable = 5
)

// The operations that answers have: read responses, acknowledgements.
const (
	firstAnswer = 0x0d
	lastAnswer  = 0x12
)

// byOperation are the extended headers of the operations (InfiniBand Architecture volume 1, table 39).
var byOperation = [32][]gopacket.LayerType{
	0x03: {LayerTypeImmDt},                       // SEND last with immediate
	0x05: {LayerTypeImmDt},                       // SEND only with immediate
	0x06: {LayerTypeRETH},                        // RDMA WRITE first
	0x09: {LayerTypeImmDt},                       // RDMA WRITE last with immediate
	0x0a: {LayerTypeRETH},                        // RDMA WRITE only
	0x0b: {LayerTypeRETH, LayerTypeImmDt},        // RDMA WRITE only with immediate
	0x0c: {LayerTypeRETH},                        // RDMA READ request
	0x0d: {LayerTypeAETH},                        // RDMA READ response first
	0x0f: {LayerTypeAETH},                        // RDMA READ response last
	0x10: {LayerTypeAETH},                        // RDMA READ response only
	0x11: {LayerTypeAETH},                        // acknowledge
	0x12: {LayerTypeAETH, LayerTypeAtomicAckETH}, // atomic acknowledge
	0x13: {LayerTypeAtomicETH},                   // compare and swap
	0x14: {LayerTypeAtomicETH},                   // fetch and add
	0x16: {LayerTypeIETH},                        // SEND last with invalidate
	0x17: {LayerTypeIETH},                        // SEND only with invalidate
}

// extensions are the extended headers behind a base transport header, in their order.
func extensions(opcode uint8) []gopacket.LayerType {
	operation := opcode & 0x1f
	var own []gopacket.LayerType
	switch opcode >> 5 {
	case congestion:
		return nil
	case reliableDatagram:
		own = []gopacket.LayerType{LayerTypeRDETH}
		if operation < firstAnswer || operation > lastAnswer {
			own = append(own, LayerTypeDETH)
		}
	case datagram:
		own = []gopacket.LayerType{LayerTypeDETH}
	case extendedReliable:
		if operation < firstAnswer || operation > lastAnswer {
			own = []gopacket.LayerType{LayerTypeXRCETH}
		}
	}
	return append(own, byOperation[operation]...)
}

// extension reads an extended header of its whole length.
func extension(kind gopacket.LayerType, base layers.BaseLayer) gopacket.Layer {
	const low24 = 0xffffff
	b := base.Contents
	word := func(at int) uint32 { return binary.BigEndian.Uint32(b[at:]) }
	double := func(at int) uint64 { return binary.BigEndian.Uint64(b[at:]) }
	switch kind {
	case LayerTypeRDETH:
		return &RDETH{base, word(0) & low24}
	case LayerTypeDETH:
		return &DETH{base, word(0), word(4) & low24}
	case LayerTypeXRCETH:
		return &XRCETH{base, word(0) & low24}
	case LayerTypeRETH:
		return &RETH{base, double(0), word(8), word(12)}
	case LayerTypeAtomicETH:
		return &AtomicETH{base, double(0), word(8), double(12), double(20)}
	case LayerTypeAETH:
		return &AETH{base, b[0], word(0) & low24}
	case LayerTypeAtomicAckETH:
		return &AtomicAckETH{base, double(0)}
	case LayerTypeImmDt:
		return &ImmDt{base, word(0)}
	}
	return &IETH{base, word(0)}
}
