package frames

import (
	"encoding/binary"

	"whichlink/captures/files"
)

// plainLen is how much of a plain frame must have been captured: Ethernet, IPv4 and TCP without options.
const plainLen = 14 + 20 + 20

// Decode reads the headers of a packet. The frame refers to data until the next call.
//
// Most are plain: TCP or UDP in whole IPv4 packets without options, right behind Ethernet. There every header has its place, and one look
// at the length is enough. All others, and those that contradict themselves, go by the way that takes any packet; of plain ones it tells
// the same.
func (f *Frame) Decode(link files.LinkType, orig int, data []byte) {
	if link != files.Ethernet || len(data) < plainLen {
		f.any(link, orig, data)
		return
	}
	h := (*[plainLen]byte)(data)
	orig = max(orig, len(data))
	total, proto := int(binary.BigEndian.Uint16(h[16:])), h[23]
	size, header := min(total, orig-14)-20, int(h[46]>>4)*4
	ipv4 := binary.LittleEndian.Uint32(h[12:])&0xffffff == 0x450008 && binary.LittleEndian.Uint16(h[20:])&0xff3f == 0 && total >= 40
	if !ipv4 || proto != ProtoUDP && (proto != ProtoTCP || header < 20 || header > size) {
		f.any(link, orig, data)
		return
	}
	f.Data, f.Orig = data, orig
	f.Malformed, f.MAC, f.EtherType, f.Link = false, 0, typeIPv4, 14
	f.NumVLANs, f.NumLabels, f.NumIPs, f.peeled = 0, 0, 1, 1
	f.Tunnels[0], f.Tunnels[1] = NoTunnel, NoTunnel
	f.Session, f.Network = 0, 0
	f.L4, f.End = 34, 34+size
	ip := &f.IPs[0]
	ip.Src.map4(binary.LittleEndian.Uint32(h[26:]))
	ip.Dst.map4(binary.LittleEndian.Uint32(h[30:]))
	ip.SrcPort, ip.DstPort = binary.BigEndian.Uint16(h[34:]), binary.BigEndian.Uint16(h[36:])
	ip.Off, ip.HeaderLen, ip.Len = 14, 20, size
	ip.ID, ip.Label = uint32(binary.BigEndian.Uint16(h[18:])), 0
	ip.Version, ip.TOS, ip.TTL, ip.Proto = 4, h[15], h[22], proto
	ip.More, ip.Fragment = false, false
	if proto == ProtoUDP {
		f.udp(ip, 34)
		return
	}
	f.Kind = TCPSegment
	f.TCP.fields((*[20]byte)(h[34:]), size-header)
	if header > 20 && (header != 32 || len(data) < plainLen+12 || !f.TCP.stamped((*[12]byte)(data[plainLen:]))) {
		f.tcpOptions(34, header)
	}
}
