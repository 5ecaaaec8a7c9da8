package snmp

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"os"
	"testing"
	"time"

	"whichlink/probes/snmp/ber"
)

// A scripted is a connection that answers each request with the next piece of what a fuzzer made up, and with nothing at the end.
type scripted struct {
	net.Conn // nil: nothing else is called
	pieces   []piece
	asked    int
	id       []byte // of the latest request
}

// A piece is an answer: a message as a whole, or the bindings of one.
type piece struct {
	text   []byte
	whole  bool
	status byte
}

func (s *scripted) Write(b []byte) (int, error) {
	s.asked++
	c := ber.Cursor{Rest: b}
	c.Rest = c.In(ber.Sequence)
	c.Number()
	c.In(ber.OctetString)
	_, c.Rest = c.Next()
	s.id = c.In(ber.Integer)
	return len(b), nil
}

func (s *scripted) Read(b []byte) (int, error) {
	if len(s.pieces) == 0 {
		return 0, os.ErrDeadlineExceeded
	}
	p := s.pieces[0]
	if s.pieces = s.pieces[1:]; !p.whole {
		p.text = answer(s.id, p.status, p.text)
	}
	return copy(b, p.text), nil
}

func (s *scripted) SetDeadline(time.Time) error { return nil }
func (s *scripted) Close() error                { return nil }

// answer makes a response to a request whose error and bindings are as given.
func answer(id []byte, status byte, bindings []byte) []byte {
	tlv := func(tag byte, content []byte) []byte {
		head := []byte{tag, 0x82, 0, 0}
		binary.BigEndian.PutUint16(head[2:], uint16(len(content)))
		return append(head, content...)
	}
	pdu := append(append([]byte{2, byte(len(id))}, id...), 2, 1, status, 2, 1, 0)
	pdu = append(pdu, tlv(0x30, bindings)...)
	return tlv(0x30, append([]byte{2, 1, 1, 4, 0}, tlv(0xa2, pdu)...))
}

// FuzzResponse: whatever an agent answers, a reading ends, holds no more than it may, and says why it is not whole in one line.
// The input is responses, each of two bytes of length (the upper bit: the message as a whole and not its bindings), one of status, and its bytes.
func FuzzResponse(f *testing.F) {
	binding := func(oid, value []byte) []byte {
		name := append([]byte{6, byte(len(oid))}, oid...)
		return append([]byte{0x30, byte(len(name) + len(value))}, append(name, value...)...)
	}
	up := binding([]byte{0x2b, 6, 1, 2, 1, 1, 3, 0}, []byte{0x43, 2, 9, 9})
	state := binding([]byte{0x2b, 6, 1, 2, 1, 2, 2, 1, 8, 1}, []byte{2, 1, 1})
	one := append([]byte{0, byte(len(up)), 0}, up...)
	f.Add(append(one, append([]byte{0, byte(len(up) + len(state)), 0}, append(up, state...)...)...))
	f.Add([]byte{0, 0, 5, 0, 0, 1, 0, 0, 0})
	f.Fuzz(func(t *testing.T, in []byte) {
		if len(in) > 8<<10 {
			return
		}
		c := &scripted{}
		for len(in) >= 3 {
			n := int(binary.BigEndian.Uint16(in))
			p := piece{status: in[2] % 20, whole: n&0x8000 != 0}
			n = min(n&0x7fff, len(in)-3)
			p.text, in = in[3:3+n], in[3+n:]
			c.pieces = append(c.pieces, p)
		}
		a := NewAgent("127.0.0.1:9", Credentials{}, Limits{Retries: 1, Rows: 100, Bytes: 1 << 20, Time: 5 * time.Second})
		s, err := Dial(context.Background(), a.target, a.credentials, a.limits)
		if err != nil {
			t.Skip(err) // this machine is busy with other things
		}
		_ = s.Close()
		s.client, a.session = newCommunityClient(c, "", s.limits), s
		r := a.Read(context.Background())
		if r.Err == nil && len(c.pieces) == 0 && c.asked < 3 {
			t.Errorf("a whole reading from %d requests", c.asked)
		}
		if r.Err != nil && errors.Is(r.Err, context.DeadlineExceeded) {
			t.Errorf("it hangs: %v", r.Err)
		}
		for i := range r.Ports {
			if i > 0 && r.Ports[i].Index <= r.Ports[i-1].Index {
				t.Errorf("ports are out of order: %d, %d", r.Ports[i-1].Index, r.Ports[i].Index)
			}
		}
		if len(r.Ports) > 100*(len(basicColumns)+len(extraColumns)+len(narrowColumns)) {
			t.Errorf("%d ports", len(r.Ports))
		}
		_ = Between(r, r)
	})
}
