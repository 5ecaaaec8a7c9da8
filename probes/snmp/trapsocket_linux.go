package snmp

import (
	"encoding/binary"
	"net"

	"golang.org/x/sys/unix"
)

const truncated = unix.MSG_TRUNC

// growBuffer asks for a receive buffer beyond net.core.rmem_max, which needs CAP_NET_ADMIN, else for as much as that allows. It returns what the kernel
// gave, which counts its own overhead, too (socket(7)). The kernel is asked to count what it drops.
func growBuffer(conn *net.UDPConn, bytes int) (given int, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, err
	}
	cerr := raw.Control(func(fd uintptr) {
		if unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, bytes) != nil {
			_ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF, bytes)
		}
		_ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RXQ_OVFL, 1)
		given, err = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF)
	})
	if cerr != nil {
		return 0, cerr
	}
	return given, err
}

// overflow reads how many messages the kernel has dropped since the socket was opened, if it says so with the one that was read.
func overflow(control []byte) (dropped uint32, ok bool) {
	if len(control) == 0 {
		return 0, false
	}
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return 0, false
	}
	for _, m := range messages {
		if m.Header.Level == unix.SOL_SOCKET && m.Header.Type == unix.SO_RXQ_OVFL && len(m.Data) >= 4 {
			return binary.NativeEndian.Uint32(m.Data), true
		}
	}
	return 0, false
}
