//go:build !linux

package snmp

import "net"

// truncated is no flag here: what is longer than the buffer is an error, or is found to be malformed.
const truncated = 0

// growBuffer asks for a large receive buffer. What the kernel gave is not told.
func growBuffer(conn *net.UDPConn, bytes int) (given int, err error) {
	for ; bytes >= 256<<10; bytes /= 2 {
		if err = conn.SetReadBuffer(bytes); err == nil {
			return bytes, nil
		}
	}
	return 0, err
}

// overflow is not told here.
func overflow([]byte) (dropped uint32, ok bool) { return 0, false }
