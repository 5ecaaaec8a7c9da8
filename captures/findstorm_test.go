package captures

import (
	"encoding/binary"
	"strings"
	"testing"

	"whichlink/captures/files"
	"whichlink/captures/frames"
)

// frame sends an Ethernet frame.
func (w *wire) frame(after int64, b []byte) {
	w.now += after
	w.Add(&files.Packet{Time: w.now, Link: files.Ethernet, Orig: len(b), Data: b})
}

// arp asks for an address.
func (w *wire) arp(after int64, sender, target byte) {
	b := []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0, sender, 8, 6, 0, 1, 8, 0, 6, 4, 0, 1}
	b = append(b, 2, 0, 0, 0, 0, sender, 10, 0, 0, sender, 0, 0, 0, 0, 0, 0, 10, 0, 0, target)
	w.frame(after, append(b, make([]byte, 18)...))
}

// unicast sends a frame of an unknown protocol.
func (w *wire) unicast(after int64, from, to, content byte) {
	w.id++
	w.frame(after, append([]byte{2, 0, 0, 0, 0, to, 2, 0, 0, 0, 0, from, 0x88, 0xb5, content, byte(w.id), byte(w.id >> 8)}, make([]byte, 46)...))
}

func TestStorms(t *testing.T) {
	for _, c := range []struct {
		name, want, text string
		play             func(w *wire)
	}{
		{"one scans", "arp-storm", "most from 02:00:00:00:00:07, for many addresses: a scan", func(w *wire) {
			for i := range 2000 {
				w.arp(100_000, 7, byte(i))
			}
		}},
		{"a dead gateway", "arp-storm", "most for 10.0.0.254: many ask", func(w *wire) {
			for i := range 2000 {
				w.arp(100_000, byte(i%200), 254)
			}
		}},
		{"a host asks once a second", "", "", func(w *wire) {
			for range 100 {
				w.arp(1_000_000_000, 7, 9)
			}
		}},
		{"a station that is not heard", "unknown-unicast", "up to 5000 a second for a station from which nothing was captured, in 2 bins of 100 ms", func(w *wire) {
			for i := range 2000 {
				w.unicast(100_000, 1, byte(2+i%2), byte(i)) // half of them to one that answers
				if i%2 == 0 {
					w.unicast(0, 2, 1, byte(i))
				}
			}
		}},
		{"a mirror of one direction", "", "", func(w *wire) {
			for i := range 2000 {
				w.unicast(100_000, 1, byte(2+i%2), byte(i))
			}
		}},
		{"one question goes round", "bridging-loop", "1 frame passed 50 times unchanged", func(w *wire) {
			for range 50 {
				w.arp(20_000, 7, 9)
			}
		}},
		{"a ping goes round between two routers", "forwarding-loop", "1 packet passed 31 times, the TTL 2 less each time", func(w *wire) {
			for ttl := byte(63); ttl >= 3; ttl -= 2 {
				w.ip(20_000, false, 1, ttl, 77, []byte{8, 0, 0, 0, 0, 1, 0, 2})
			}
		}},
		{"a segment goes round", "forwarding-loop", "1 packet passed 20 times, the TTL 3 less each time", func(w *wire) {
			w.open()
			for i := range 20 {
				w.ip(20_000, false, frames.ProtoTCP, byte(64-3*i), 77, segment(false, frames.ACK, 100, 500, 10))
			}
		}},
		{"a mirror of three hops", "", "", func(w *wire) {
			for i := range 20 {
				for hop := range 3 {
					w.ip(20_000, false, 1, byte(64-hop), uint16(77+i), []byte{8, 0, 0, 0, 0, 1, 0, byte(i)})
				}
			}
		}},
	} {
		w := newWire()
		c.play(w)
		r := w.report(t)
		if c.want == "" && names(r) != "" {
			t.Errorf("%s: %+v", c.name, r.Findings)
		}
		if f := find(r, c.want); c.want != "" && !strings.Contains(f.Text, c.text) {
			t.Errorf("%s: %+v", c.name, r.Findings)
		}
	}
	w := newWire()
	for i := range uint32(2000) {
		b := append([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0, 1, 8, 0, 0x45, 0, 0, 28, 0, 0, 0, 0, 9, 17}, make([]byte, 36)...)
		binary.BigEndian.PutUint32(b[26:], i)
		binary.BigEndian.PutUint16(b[34:], 68)
		w.frame(40_000, b)
	}
	if f := find(w.report(t), "broadcast-storm"); f.Count != 2000 {
		t.Errorf("broadcasts: %+v", f)
	}
}
