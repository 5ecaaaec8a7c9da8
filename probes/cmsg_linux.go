package probes

import (
	"encoding/binary"
	"net/netip"

	"golang.org/x/sys/unix"
)

const (
	cmsgHeader = unix.SizeofCmsghdr
	eeSize     = 16 // struct sock_extended_err
)

// parse reads control messages. It allocates nothing.
func (m *meta) parse(oob []byte) {
	*m = meta{}
	for len(oob) >= cmsgHeader {
		n, level, kind := cmsgFields(oob)
		if n < cmsgHeader || n > len(oob) {
			return
		}
		m.one(level, kind, oob[cmsgHeader:n])
		n = cmsgAlign(n)
		if n >= len(oob) {
			return
		}
		oob = oob[n:]
	}
}

func (m *meta) one(level, kind int32, d []byte) {
	switch level {
	case unix.SOL_SOCKET:
		// struct scm_timestamping: software, deprecated, hardware. Size of its fields is the word's.
		if kind == unix.SCM_TIMESTAMPING && len(d) >= 3*sizeofTimespec {
			m.stamp = timespecNano(d)
		} else if kind == unix.SO_RXQ_OVFL && len(d) >= 4 {
			m.dropped = binary.NativeEndian.Uint32(d)
		}
	case unix.SOL_IP:
		switch kind {
		case unix.IP_TTL:
			if len(d) >= 4 {
				m.ttl = uint8(binary.NativeEndian.Uint32(d))
			}
		case unix.IP_TOS:
			if len(d) >= 1 {
				m.tos = d[0]
			}
		case unix.IP_PKTINFO: // struct in_pktinfo: interface, local address, destination of the packet
			if len(d) >= 12 {
				m.reply = netip.AddrFrom4([4]byte(d[4:8]))
				m.local = netip.AddrFrom4([4]byte(d[8:12]))
			}
		case unix.IP_RECVERR:
			if len(d) >= eeSize {
				m.origin, m.icmpType, m.icmpCode = d[4], d[5], d[6]
				m.id = binary.NativeEndian.Uint32(d[12:])
				if a := d[eeSize:]; len(a) >= 8 && binary.NativeEndian.Uint16(a) == unix.AF_INET {
					m.offender = netip.AddrFrom4([4]byte(a[4:8]))
				}
			}
		}
	case unix.SOL_IPV6:
		switch kind {
		case unix.IPV6_HOPLIMIT:
			if len(d) >= 4 {
				m.ttl = uint8(binary.NativeEndian.Uint32(d))
			}
		case unix.IPV6_TCLASS:
			if len(d) >= 4 {
				m.tos = uint8(binary.NativeEndian.Uint32(d))
			}
		case ipv6Flowinfo:
			if len(d) >= 4 {
				m.label = binary.BigEndian.Uint32(d) & 0xfffff
			}
		case unix.IPV6_PKTINFO:
			if len(d) >= 16 {
				m.local = netip.AddrFrom16([16]byte(d[:16]))
				m.reply = m.local
			}
		case unix.IPV6_RECVERR:
			if len(d) >= eeSize {
				m.origin, m.icmpType, m.icmpCode = d[4], d[5], d[6]
				m.id = binary.NativeEndian.Uint32(d[12:])
				if a := d[eeSize:]; len(a) >= 24 && binary.NativeEndian.Uint16(a) == unix.AF_INET6 {
					m.offender = netip.AddrFrom16([16]byte(a[8:24])).Unmap()
				}
			}
		}
	}
}

// cmsgWriter appends control messages to a buffer of fixed size.
type cmsgWriter struct {
	b []byte
	n int
}

func (w *cmsgWriter) put(level, kind int32, size int) []byte {
	at := w.n
	putCmsgFields(w.b[at:], cmsgHeader+size, level, kind)
	w.n += cmsgAlign(cmsgHeader + size)
	return w.b[at+cmsgHeader : at+cmsgHeader+size]
}

func (w *cmsgWriter) int(level, kind int32, v int) {
	binary.NativeEndian.PutUint32(w.put(level, kind, 4), uint32(v))
}

// ttl asks for a TTL or hop limit other than the socket's.
func (w *cmsgWriter) ttl(v6 bool, ttl uint8) {
	if v6 {
		w.int(unix.SOL_IPV6, unix.IPV6_HOPLIMIT, int(ttl))
	} else {
		w.int(unix.SOL_IP, unix.IP_TTL, int(ttl))
	}
}

// tos asks for a traffic class other than the socket's.
func (w *cmsgWriter) tos(v6 bool, tos uint8) {
	if v6 {
		w.int(unix.SOL_IPV6, unix.IPV6_TCLASS, int(tos))
	} else {
		w.int(unix.SOL_IP, unix.IP_TOS, int(tos))
	}
}

// source asks that the packet leaves with this source address.
func (w *cmsgWriter) source(a netip.Addr) {
	if a.Is4() {
		d := w.put(unix.SOL_IP, unix.IP_PKTINFO, 12)
		clear(d)
		v := a.As4()
		copy(d[4:], v[:])
		return
	}
	d := w.put(unix.SOL_IPV6, unix.IPV6_PKTINFO, 20)
	clear(d)
	v := a.As16()
	copy(d, v[:])
}
