package frames

import (
	"encoding/binary"

	"whichlink/captures/files"
)

// radiotap reads the header that drivers put in front of 802.11 frames (radiotap.org): version, padding, length, and words that say which fields follow.
func (f *Frame) radiotap() {
	if !f.has(0, 8) {
		return
	}
	length, fields := int(binary.LittleEndian.Uint16(f.Data[2:])), 8
	present := binary.LittleEndian.Uint32(f.Data[4:])
	for more := present; more>>31 != 0; fields += 4 {
		if fields+4 > length || !f.has(fields, 4) {
			return
		}
		more = binary.LittleEndian.Uint32(f.Data[fields:])
	}
	const timer, flags, padded = 1 << 0, 1 << 1, 0x20
	pad := false
	if present&flags != 0 {
		if present&timer != 0 { // 64 bits, aligned
			fields = (fields+7)&^7 + 8
		}
		pad = fields < length && f.has(fields, 1) && f.Data[fields]&padded != 0
	}
	f.wireless(length, pad)
}

// perPacket reads a header of per-packet information (CACE PPI 1.0.10): version, flags, length and the link type of what follows, in little endian.
func (f *Frame) perPacket() {
	if !f.has(0, 8) {
		return
	}
	at := int(binary.LittleEndian.Uint16(f.Data[2:]))
	if at < 8 {
		f.Malformed = true
		return
	}
	switch link := files.LinkType(binary.LittleEndian.Uint32(f.Data[4:])); link {
	case files.Ethernet:
		f.ethernet(at)
	case files.WiFi:
		f.wireless(at, false)
	case files.Raw, files.IPv4, files.IPv6:
		f.ipByNibble(at)
	}
}

// wireless reads an IEEE 802.11 header; behind that of a data frame that is not encrypted stands an IEEE 802.2 one. With pad it is filled up to a multiple of 4 bytes.
func (f *Frame) wireless(at int, pad bool) {
	if !f.has(at, 24) {
		return
	}
	control, flags := f.Data[at], f.Data[at+1]
	const (
		data, kinds        = 0x08, 0x0c // of control
		empty, quality     = 0x40, 0x80
		toDS, fromDS       = 0x01, 0x02 // of flags
		protected, ordered = 0x40, 0x80
	)
	if control&3 != 0 || control&kinds != data || control&empty != 0 || flags&protected != 0 {
		return
	}
	header := 24
	if flags&(toDS|fromDS) == toDS|fromDS {
		header += 6
	}
	if control&quality != 0 {
		const aggregated = 0x80
		if !f.has(at+header, 2) || f.Data[at+header]&aggregated != 0 {
			return
		}
		header += 2
		if flags&ordered != 0 {
			header += 4
		}
	}
	if pad {
		header = (header + 3) &^ 3
	}
	if f.has(at+header, 8) {
		f.Link = at + header
		f.llc(at + header)
	}
}

// nflog reads what Linux's packet filter logs: the address family, and fields with length and kind in the byte order of the host, one of which is the packet.
func (f *Frame) nflog() {
	if !f.has(0, 4) {
		return
	}
	const inet, inet6, packet = 2, 10, 9
	if family := f.Data[0]; family != inet && family != inet6 {
		return
	}
	for at := 4; at+4 <= len(f.Data) && f.peel(); {
		length, kind := int(binary.LittleEndian.Uint16(f.Data[at:])), binary.LittleEndian.Uint16(f.Data[at+2:])
		if length < 4 {
			f.Malformed = true
			return
		}
		if kind&0x7fff == packet {
			f.ipByNibble(at + 4)
			return
		}
		at += (length + 3) &^ 3
	}
}
