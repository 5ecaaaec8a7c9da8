package lab

import (
	"encoding/binary"
	"fmt"
	"syscall"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// batchBytes bounds one write to the kernel, which takes at most the socket's send buffer (208 KiB by default).
const batchBytes = 64 << 10

// An rtnl is a route netlink socket in one namespace. It writes many requests at once and asks for one acknowledgement a batch:
// the kernel works through a batch in order and answers a request that fails in any case. It serves one goroutine at a time.
type rtnl struct {
	fd  int
	seq uint32
	buf []byte
	in  []byte
	// last is where in buf the last request begins.
	last int
	// what describes the requests of the batch for errors, by sequence number from first on.
	first uint32
	what  []string
}

// openRtnl opens a socket in the namespace of the calling thread.
func openRtnl() (*rtnl, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return nil, fmt.Errorf("open netlink socket: %w", err)
	}
	if err := unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("bind netlink socket: %w", err)
	}
	// Best effort: they only make errors shorter to carry and clearer to read.
	_ = unix.SetsockoptInt(fd, unix.SOL_NETLINK, unix.NETLINK_CAP_ACK, 1)
	_ = unix.SetsockoptInt(fd, unix.SOL_NETLINK, unix.NETLINK_EXT_ACK, 1)
	return &rtnl{fd: fd}, nil
}

func (r *rtnl) close() { unix.Close(r.fd) }

// add puts a request into the batch and sends the batch when it is full. The description is for errors.
func (r *rtnl) add(typ, flags int, what string, parts ...nl.NetlinkRequestData) error {
	if len(r.buf) > batchBytes {
		if err := r.flush(); err != nil {
			return err
		}
	}
	if len(r.what) == 0 {
		r.first = r.seq + 1
	}
	r.seq++
	r.what = append(r.what, what)
	r.last = len(r.buf)
	r.buf = append(r.buf, make([]byte, unix.NLMSG_HDRLEN)...)
	for _, p := range parts {
		r.buf = append(r.buf, p.Serialize()...)
	}
	h := r.buf[r.last:]
	binary.NativeEndian.PutUint32(h[0:], uint32(len(h)))
	binary.NativeEndian.PutUint16(h[4:], uint16(typ))
	binary.NativeEndian.PutUint16(h[6:], uint16(flags|unix.NLM_F_REQUEST))
	binary.NativeEndian.PutUint32(h[8:], r.seq)
	for len(r.buf)%unix.NLMSG_ALIGNTO != 0 {
		r.buf = append(r.buf, 0)
	}
	return nil
}

// flush sends the batch and waits until all of it is done. It returns the first error that the kernel reports.
func (r *rtnl) flush() error {
	if len(r.what) == 0 {
		return nil
	}
	defer func() { r.buf, r.what = r.buf[:0], r.what[:0] }()
	flags := r.buf[r.last+6:]
	binary.NativeEndian.PutUint16(flags, binary.NativeEndian.Uint16(flags)|unix.NLM_F_ACK)
	if err := unix.Sendto(r.fd, r.buf, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return fmt.Errorf("write to netlink: %w", err)
	}
	var first error
	err := r.receive(func(m *syscall.NetlinkMessage) bool {
		if m.Header.Type != unix.NLMSG_ERROR {
			return true
		}
		if err := kernelError(m); err != nil && first == nil {
			what := "request"
			if i := int(m.Header.Seq - r.first); i >= 0 && i < len(r.what) {
				what = r.what[i]
			}
			first = fmt.Errorf("%s: %w", what, err)
		}
		return m.Header.Seq != r.seq
	})
	if first != nil {
		return first
	}
	return err
}

// ask sends one request and hands the payload of its answer, a single message of the given type, to the caller.
func (r *rtnl) ask(typ int, what string, parts ...nl.NetlinkRequestData) ([]byte, error) {
	if err := r.flush(); err != nil {
		return nil, err
	}
	if err := r.add(typ, 0, what, parts...); err != nil {
		return nil, err
	}
	defer func() { r.buf, r.what = r.buf[:0], r.what[:0] }()
	if err := unix.Sendto(r.fd, r.buf, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return nil, fmt.Errorf("write to netlink: %w", err)
	}
	var answer []byte
	var fail error
	err := r.receive(func(m *syscall.NetlinkMessage) bool {
		if m.Header.Seq != r.seq {
			return true
		}
		if m.Header.Type == unix.NLMSG_ERROR {
			if err := kernelError(m); err != nil {
				fail = fmt.Errorf("%s: %w", what, err)
			}
			return false
		}
		answer = m.Data
		return false
	})
	if fail != nil {
		return nil, fail
	}
	return answer, err
}

// receive reads messages until one is not wanted any more.
func (r *rtnl) receive(more func(*syscall.NetlinkMessage) bool) error {
	if r.in == nil {
		r.in = make([]byte, 64<<10)
	}
	for {
		n, _, err := unix.Recvfrom(r.fd, r.in, 0)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return fmt.Errorf("read from netlink: %w", err)
		}
		messages, err := syscall.ParseNetlinkMessage(r.in[:n])
		if err != nil {
			return fmt.Errorf("read from netlink: %w", err)
		}
		for i := range messages {
			if !more(&messages[i]) {
				return nil
			}
		}
	}
}

// kernelError reads an acknowledgement: nil for success, else the errno with the kernel's own words where it gives any.
func kernelError(m *syscall.NetlinkMessage) error {
	if len(m.Data) < 4 {
		return fmt.Errorf("short answer from netlink")
	}
	code := int32(binary.NativeEndian.Uint32(m.Data))
	if code == 0 {
		return nil
	}
	err := syscall.Errno(-code)
	const header = 4 + unix.NLMSG_HDRLEN // with NETLINK_CAP_ACK only the header of the request comes back
	if m.Header.Flags&unix.NLM_F_ACK_TLVS != 0 && len(m.Data) > header {
		if attrs, e := nl.ParseRouteAttrAsMap(m.Data[header:]); e == nil {
			if a, ok := attrs[unix.NLMSGERR_ATTR_MSG]; ok {
				return fmt.Errorf("%w (%s)", err, nl.BytesToString(a.Value))
			}
		}
	}
	return err
}
