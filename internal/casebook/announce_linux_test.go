package casebook_test

import (
	"net"

	"golang.org/x/sys/unix"

	"whichlink/graphs"
)

// announce sends LLDP frames from a host that give it a name (IEEE 802.1AB-2016, 8.5): chassis and port of a local kind, two minutes to live, the name.
func (s *stage) announce(host graphs.NodeID, port graphs.PortID, name string) {
	s.t.Helper()
	tlv := func(kind byte, value string) string {
		n := uint16(kind)<<9 | uint16(len(value))
		return string([]byte{byte(n >> 8), byte(n)}) + value
	}
	frame := "\x01\x80\xc2\x00\x00\x0e" + "\x02\x00\x00\x00\x00\x01" + "\x88\xcc" +
		tlv(1, "\x07"+name) + tlv(2, "\x07"+name) + tlv(3, "\x00\x78") + tlv(5, name) + tlv(0, "")
	err := s.lab.Do(host, func() error {
		device, err := net.InterfaceByName(s.lab.Device(port))
		if err != nil {
			return err
		}
		fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return unix.Sendto(fd, []byte(frame), 0, &unix.SockaddrLinklayer{Ifindex: device.Index, Protocol: 0xcc88})
	})
	if err != nil {
		s.t.Fatal(err)
	}
}
