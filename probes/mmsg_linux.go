package probes

import (
	"encoding/binary"
	"net/netip"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// mmsghdr is struct mmsghdr of recvmmsg(2).
type mmsghdr struct {
	hdr unix.Msghdr
	n   uint32
}

// A batch is a set of messages that are received or sent with one system call. Its memory is allocated once.
type batch struct {
	hdrs  []mmsghdr
	iovs  []unix.Iovec
	names []unix.RawSockaddrInet6 // room for an IPv4 address, too
	bufs  [][]byte
	oobs  [][]byte
	used  int // headers which the kernel has written to
}

// newBatch makes a batch of n messages of at most size bytes, with oob bytes of control messages.
func newBatch(n, size, oob int) *batch {
	b := &batch{
		hdrs: make([]mmsghdr, n), iovs: make([]unix.Iovec, n), names: make([]unix.RawSockaddrInet6, n),
		bufs: make([][]byte, n), oobs: make([][]byte, n), used: n,
	}
	data, ctl := make([]byte, n*size), make([]byte, n*oob)
	for i := range n {
		b.bufs[i] = data[i*size : (i+1)*size : (i+1)*size]
		b.oobs[i] = ctl[i*oob : (i+1)*oob : (i+1)*oob]
		b.iovs[i].Base = &b.bufs[i][0]
		h := &b.hdrs[i].hdr
		h.Iov = &b.iovs[i]
		h.SetIovlen(1)
		h.Name = (*byte)(unsafe.Pointer(&b.names[i]))
		if oob > 0 {
			h.Control = &b.oobs[i][0]
		}
	}
	return b
}

// receive reads up to the batch's number of messages without blocking and returns how many came.
func (b *batch) receive(fd uintptr, flags int) (int, syscall.Errno) {
	for i := range b.used {
		h := &b.hdrs[i].hdr
		h.Namelen = unix.SizeofSockaddrInet6
		h.SetControllen(len(b.oobs[i]))
		h.Flags = 0
		b.iovs[i].SetLen(len(b.bufs[i]))
	}
	b.used = 0
	n, _, errno := unix.Syscall6(unix.SYS_RECVMMSG, fd, uintptr(unsafe.Pointer(&b.hdrs[0])), uintptr(len(b.hdrs)),
		uintptr(flags|unix.MSG_DONTWAIT), 0, 0)
	if errno != 0 {
		return 0, errno
	}
	b.used = int(n)
	return int(n), 0
}

// data returns the payload of a received message.
func (b *batch) data(i int) []byte { return b.bufs[i][:min(int(b.hdrs[i].n), len(b.bufs[i]))] }

// truncated tells whether a received message was longer than its buffer.
func (b *batch) truncated(i int) bool { return b.hdrs[i].hdr.Flags&unix.MSG_TRUNC != 0 }

// control returns the control messages of a received message.
func (b *batch) control(i int) []byte { return b.oobs[i][:b.hdrs[i].hdr.Controllen] }

// peer returns the address of a received message: whence it came, or on the error queue whither the probe went.
func (b *batch) peer(i int) netip.AddrPort { return sockaddrOf(&b.names[i]) }

// send sends the messages from through to-1 and returns how many were taken. An error is of the first that was not.
func (b *batch) send(fd uintptr, from, to int) (int, syscall.Errno) {
	n, _, errno := unix.Syscall6(unix.SYS_SENDMMSG, fd, uintptr(unsafe.Pointer(&b.hdrs[from])), uintptr(to-from), unix.MSG_DONTWAIT, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), 0
}

// set prepares message i for sending: its length, its address and its control messages are in place.
func (b *batch) set(i, size, nameLen, oobLen int) {
	b.iovs[i].SetLen(size)
	h := &b.hdrs[i].hdr
	h.Namelen = uint32(nameLen)
	h.SetControllen(oobLen)
	h.Flags = 0
}

// putSockaddr writes an address in the kernel's form and returns its length. Label is the IPv6 flow label.
func putSockaddr(s *unix.RawSockaddrInet6, a netip.AddrPort, label uint32) int {
	*s = unix.RawSockaddrInet6{}
	binary.BigEndian.PutUint16((*[2]byte)(unsafe.Pointer(&s.Port))[:], a.Port())
	if a.Addr().Is4() {
		p := (*unix.RawSockaddrInet4)(unsafe.Pointer(s))
		p.Family, p.Addr = unix.AF_INET, a.Addr().As4()
		return unix.SizeofSockaddrInet4
	}
	s.Family, s.Addr = unix.AF_INET6, a.Addr().As16()
	setLabel(s, label)
	return unix.SizeofSockaddrInet6
}

// sockaddrOf reads an address in the kernel's form.
func sockaddrOf(s *unix.RawSockaddrInet6) netip.AddrPort {
	port := binary.BigEndian.Uint16((*[2]byte)(unsafe.Pointer(&s.Port))[:])
	switch s.Family {
	case unix.AF_INET:
		return netip.AddrPortFrom(netip.AddrFrom4((*unix.RawSockaddrInet4)(unsafe.Pointer(s)).Addr), port)
	case unix.AF_INET6:
		return netip.AddrPortFrom(netip.AddrFrom16(s.Addr).Unmap(), port)
	}
	return netip.AddrPort{}
}

// setLabel puts a flow label into an IPv6 address that goes back to the kernel.
func setLabel(s *unix.RawSockaddrInet6, label uint32) {
	binary.BigEndian.PutUint32((*[4]byte)(unsafe.Pointer(&s.Flowinfo))[:], label)
}
