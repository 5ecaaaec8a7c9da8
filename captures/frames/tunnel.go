package frames

// udpPort looks behind the UDP header at what its destination port announces. What does not look like it stays UDP.
func (f *Frame) udpPort(port uint16, at int) {
	switch port {
	case 4791:
		f.roceV2(at)
	case 4789, 8472:
		if at+8 <= len(f.Data) && f.Data[at]&0x08 != 0 {
			f.Network = f.be32(at+4) >> 8
			f.tunnel(VXLAN)
			f.ethernet(at + 8)
		}
	case 4790:
		f.gpe(at)
	case 6081:
		f.geneve(at)
	case 6635:
		f.tunnel(MPLSUDP)
		f.mpls(at)
	case 4754:
		f.gre(at)
	}
}

// gpe reads the VXLAN generic protocol extension (draft-ietf-nvo3-vxlan-gpe).
func (f *Frame) gpe(at int) {
	if at+8 > len(f.Data) || f.Data[at]&0x04 == 0 {
		return
	}
	f.Network = f.be32(at+4) >> 8
	f.tunnel(VXLANGPE)
	switch f.Data[at+3] {
	case 1:
		f.ipv4(at + 8)
	case 2:
		f.ipv6(at + 8)
	case 3:
		f.ethernet(at + 8)
	case 5:
		f.mpls(at + 8)
	}
}

// geneve reads a Geneve header (RFC 8926), whose options are passed over.
func (f *Frame) geneve(at int) {
	if at+8 > len(f.Data) || f.Data[at]>>6 != 0 {
		return
	}
	f.Network = f.be32(at+4) >> 8
	f.tunnel(Geneve)
	f.bridged(f.be16(at+2), at+8+4*int(f.Data[at]&0x3f))
}

// bridged reads a payload whose protocol is an EtherType, of which one means Ethernet itself.
func (f *Frame) bridged(t uint16, at int) {
	if t == typeBridging {
		f.ethernet(at)
		return
	}
	f.etherType(t, at)
}

// gre reads GRE of version 0 (RFC 2784, RFC 2890) and what it carries: IP, MPLS, Ethernet (NVGRE, RFC 7637) or a mirrored frame.
func (f *Frame) gre(at int) {
	if !f.has(at, 4) || !f.peel() {
		return
	}
	flags, t := f.be16(at), f.be16(at+2)
	if flags&7 != 0 { // PPTP
		return
	}
	n, sequence := 4, flags&0x1000 != 0
	if flags&0xc000 != 0 { // a checksum, or routing, which share a field
		n += 4
	}
	if flags&0x2000 != 0 {
		if f.has(at+n, 4) && t == typeBridging {
			f.Network = f.be32(at+n) >> 8
		}
		n += 4
	}
	if sequence {
		n += 4
	}
	if flags&0x4000 != 0 { // source routes, which nobody sends any more
		return
	}
	switch {
	case t == typeERSPAN && !sequence:
		// Type I has no header of its own.
		f.tunnel(ERSPAN1)
		f.ethernet(at + n)
	case t == typeERSPAN:
		f.erspan2(at + n)
	case t == typeERSPAN3:
		f.erspan3(at + n)
	case t == typeBridging:
		f.tunnel(NVGRE)
		f.ethernet(at + n)
	default:
		f.tunnel(GRE)
		f.etherType(t, at+n)
	}
}

func (f *Frame) erspan2(at int) {
	if f.has(at, 8) {
		f.tunnel(ERSPAN2)
		f.Session = uint32(f.be16(at+2)) & 0x3ff
		f.ethernet(at + 8)
	}
}

// erspan3 reads the header of type III: 12 bytes, 8 more of a platform's own where the last bit says so.
func (f *Frame) erspan3(at int) {
	if !f.has(at, 12) {
		return
	}
	f.tunnel(ERSPAN3)
	f.Session = uint32(f.be16(at+2)) & 0x3ff
	kind, n := f.Data[at+10]>>2&0x1f, 12
	if f.Data[at+11]&1 != 0 {
		n += 8
	}
	if kind == 2 {
		f.ipByNibble(at + n)
		return
	}
	f.ethernet(at + n)
}
