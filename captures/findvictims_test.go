package captures

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"whichlink/captures/frames"
)

// pauseFrom sends a pause of class 3 by a port.
func (w *wire) pauseFrom(after int64, port byte, quanta uint16) {
	b := append([]byte{1, 0x80, 0xc2, 0, 0, 1, 2, 0, 0, 0, 0, port, 0x88, 0x08, 1, 1, 0, 8}, make([]byte, 42)...)
	binary.BigEndian.PutUint16(b[18+6:], quanta)
	w.frame(after, b)
}

// datagram sends one of class 3 from a port to another, of a flow to a host.
func (w *wire) datagram(after int64, from, to, flow, host, ttl byte) {
	w.id++
	ip := []byte{0x45, 26 << 2, 0, 60, byte(w.id >> 8), byte(w.id), 0, 0, ttl, frames.ProtoUDP, 0, 0, 10, 0, 0, 100 + flow, 10, 0, 0, host, 0x10, flow, 0x20, 0, 0, 40, 0, 0}
	head := []byte{2, 0, 0, 0, 0, to, 2, 0, 0, 0, 0, from, 8, 0}
	w.frame(after, append(append(head, ip...), make([]byte, 32)...))
}

// heldUp sends two flows to hosts by a port, which pauses them for 300 us after 100 us, and then lets them go on.
func (w *wire) heldUp(from, to, host, other byte) {
	const us = 1000
	for range 10 {
		w.datagram(5*us, from, to, 1, host, 62)
		w.datagram(5*us, from, to, 2, other, 62)
	}
	w.pauseFrom(0, to, 0xffff)
	w.pauseFrom(300*us, to, 0)
}

func TestPauseVictims(t *testing.T) {
	const us = 1000
	for _, c := range []struct {
		name, want string
		texts      []string
		play       func(w *wire)
	}{
		{"a slow host", "pfc-pause pfc-victims", []string{"", "2 flows stopped with its pauses and went on after them, 18 times of 310µs on average: it is the host 10.0.0.107, to which they go"}, func(w *wire) {
			w.pauseFrom(0, 7, 0)
			w.datagram(0, 7, 2, 7, 99, 64)
			for range 10 {
				w.heldUp(2, 7, 107, 107)
			}
		}},
		{"a switch before a slow host", "pfc-pause pfc-victims", []string{"", "on average: to 10.0.0.107 (2)"}, func(w *wire) {
			w.pauseFrom(0, 7, 0)
			w.datagram(0, 7, 2, 7, 99, 63)
			for range 10 {
				w.heldUp(2, 7, 107, 107)
			}
		}},
		{"a storm of a host", "pfc-storm", []string{"host 10.0.0.107: class 3 was paused without break for up to 209.7ms"}, func(w *wire) {
			w.pauseFrom(0, 7, 0)
			w.datagram(0, 7, 2, 7, 99, 64)
			for range 700 {
				w.pauseFrom(300*us, 7, 0xffff)
			}
		}},
		{"a switch that holds up others", "pfc-pause pfc-victims", []string{"", "to 10.0.0.7 (1), 10.0.0.8 (1); at most one of these receives too slowly"}, func(w *wire) {
			for range 10 {
				w.heldUp(2, 7, 7, 8)
			}
		}},
		{"a flow that goes on", "pfc-pause", nil, func(w *wire) {
			for range 10 {
				w.pauseFrom(0, 7, 0xffff)
				for range 60 {
					w.datagram(10*us, 2, 7, 1, 7, 62)
				}
			}
		}},
		{"pauses that spread", "pfc-pause pfc-pause pfc-spread", []string{"", "", "pauses began here and spread; 02:00:00:00:00:02, which it pauses, sent pauses 400µs later"}, func(w *wire) {
			for range 10 {
				w.heldUp(2, 7, 7, 8)
				w.heldUp(3, 2, 7, 8)
			}
		}},
	} {
		w := newWire()
		w.cfg.LinkSpeed = 100e9
		c.play(w)
		r := w.report(t)
		slices.SortStableFunc(r.Findings, func(a, b Finding) int { return strings.Compare(a.Finding, b.Finding) })
		if got := names(r); got != c.want {
			t.Errorf("%s: %q, want %q: %+v", c.name, got, c.want, r.Findings)
			continue
		}
		for i, text := range c.texts {
			if got := r.Findings[i].Text; !strings.Contains("host "+r.Findings[i].Address+": "+got, text) {
				t.Errorf("%s: %q of %q, want %q", c.name, got, r.Findings[i].Address, text)
			}
		}
	}
}
