package captures

import (
	"encoding/binary"

	"whichlink/captures/frames"
)

// tapHash sums up what no hop changes in a packet: addresses, identification, and of the transport header what names the packet
// within its flow. TTL, ToS, the checksums (hosts leave them to the network card), MAC addresses, VLANs and outer tunnels are left
// out. Payload counts only without an identification, and only its beginning: captures cut packets at different lengths. It reports
// false for packets that nothing tells from the next one of the same flow.
func tapHash(f *frames.Frame, ip *frames.IP) (uint64, bool) {
	if ip == nil || ip.Fragment {
		return 0, false
	}
	h := fold(binary.LittleEndian.Uint64(ip.Src[:])^uint64(ip.ID)<<32^uint64(uint32(ip.Len)), binary.LittleEndian.Uint64(ip.Src[8:]))
	h = fold(h^binary.LittleEndian.Uint64(ip.Dst[:]), binary.LittleEndian.Uint64(ip.Dst[8:]))
	h = fold(h, uint64(ip.SrcPort)<<24|uint64(ip.DstPort)<<8|uint64(ip.Proto))
	switch f.Kind {
	case frames.TCPSegment:
		t := &f.TCP
		h = fold(h^uint64(t.Window), uint64(t.Seq)<<32|uint64(t.Ack))
		h = fold(h, uint64(t.Flags))
		if ip.ID == 0 && t.HasStamp {
			h = fold(h, uint64(t.Stamp)<<32|uint64(t.Echo))
		}
		return h, true
	case frames.RoCEPacket:
		t := &f.BTH
		return fold(h^uint64(t.DestQP), uint64(t.PSN)<<32|uint64(t.Opcode)<<24|uint64(t.Syndrome)), true
	case frames.UDPPacket, frames.ICMPPacket:
		const header, most = 8, 24
		if f.Kind == frames.ICMPPacket {
			h = fold(h, uint64(f.ICMP.Type)<<48|uint64(f.ICMP.Code)<<32|uint64(f.ICMP.ID)<<16|uint64(f.ICMP.Seq))
		}
		if ip.ID != 0 || f.ICMP.ID|f.ICMP.Seq != 0 && f.Kind == frames.ICMPPacket {
			return h, true
		}
		if f.L4+most > len(f.Data) {
			return 0, false
		}
		b := f.Data[f.L4+header:]
		return fold(h^binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])), true
	}
	return 0, false
}

// carries tells what data a packet of a flow carries, equal when they are sent again; 0 where it carries none that are numbered.
func carries(f *frames.Frame, flow uint32, dir uint8) uint64 {
	n := uint64(0)
	switch {
	case f.Kind == frames.TCPSegment && (f.TCP.Len > 0 || f.TCP.Flags&frames.SYN != 0):
		n = uint64(f.TCP.Seq)<<32 | uint64(uint32(f.TCP.Len))
	case f.Kind == frames.RoCEPacket:
		n = uint64(f.BTH.DestQP)<<40 | uint64(f.BTH.PSN)<<8 | uint64(f.BTH.Opcode)
	default:
		return 0
	}
	return max(1, fold(n, uint64(flow)<<8|uint64(dir)))
}

// tapFlow names the flow of a packet by a hash that is the same for both directions, and says which of them it goes.
func tapFlow(ip *frames.IP) (hash uint64, dir int) {
	a := fold(binary.LittleEndian.Uint64(ip.Src[:]), binary.LittleEndian.Uint64(ip.Src[8:])+uint64(ip.SrcPort)<<16)
	b := fold(binary.LittleEndian.Uint64(ip.Dst[:]), binary.LittleEndian.Uint64(ip.Dst[8:])+uint64(ip.DstPort)<<16)
	if a > b {
		dir = 1
	}
	return fold(a+b, a^b^uint64(ip.Proto)<<56), dir
}
