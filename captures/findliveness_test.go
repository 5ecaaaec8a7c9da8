package captures

import (
	"encoding/binary"
	"strings"
	"testing"

	"whichlink/captures/frames"
)

// bfd sends a control packet of 3 times 300 ms.
func (w *wire) bfd(after int64, back bool, state, diag byte) {
	w.id++
	b := []byte{0xc0, 0, 0x0e, 0xc8, 0, 32, 0, 0, 1<<5 | diag, state << 6, 3, 24, 0, 0, 0, 1, 0, 0, 0, 2}
	if back {
		b[15], b[19] = 2, 1
	}
	for range 3 {
		b = binary.BigEndian.AppendUint32(b, 300_000)
	}
	w.ip(after, back, frames.ProtoUDP, 255, w.id, b)
}

func TestBFD(t *testing.T) {
	const ms = 1_000_000
	for _, c := range []struct {
		name, want, text string
		play             func(w *wire)
	}{
		{"up", "", "", func(w *wire) {
			for range 20 {
				w.bfd(150*ms, false, bfdUp, 0)
				w.bfd(150*ms, true, bfdUp, 0)
			}
		}},
		{"down by detection", "bfd-down", "left Up 1 time, last because: control detection time expired; Up when last seen", func(w *wire) {
			w.bfd(0, false, bfdUp, 0)
			w.bfd(300*ms, false, bfdDown, 1)
			w.bfd(300*ms, false, bfdInit, 1)
			w.bfd(300*ms, false, bfdUp, 0)
		}},
		{"silence", "bfd-gap", "no control packets for up to 1s, longer than the detection time of 900ms", func(w *wire) {
			w.bfd(0, false, bfdUp, 0)
			w.bfd(1000*ms, false, bfdUp, 0)
		}},
		{"never up", "bfd-not-up", "never Up, Down when last seen", func(w *wire) {
			w.bfd(0, false, bfdDown, 0)
			w.bfd(1000*ms, false, bfdDown, 0)
		}},
	} {
		w := newWire()
		c.play(w)
		r := w.report(t)
		if got := names(r); got != c.want || c.want != "" && !strings.Contains(r.Findings[0].Text, c.text) {
			t.Errorf("%s: %q, want %q: %+v", c.name, got, c.want, r.Findings)
		}
	}
}

// bgp sends a segment to or from port 179 with messages in it.
func (w *wire) bgp(back bool, flags byte, seq, ack uint32, messages ...[]byte) {
	w.id++
	b := segment(back, flags, seq, ack, 0)
	binary.BigEndian.PutUint16(b[2:], 179)
	if back {
		binary.BigEndian.PutUint16(b, 179)
		binary.BigEndian.PutUint16(b[2:], 1000)
	}
	for _, m := range messages {
		b = append(b, bgpMarker...)
		b = binary.BigEndian.AppendUint16(b, uint16(18+len(m)))
		b = append(b, m...)
	}
	w.ip(1000, back, frames.ProtoTCP, 0, w.id, b)
}

func TestBGP(t *testing.T) {
	keepalive := []byte{4}
	open := func(w *wire) {
		w.bgp(false, frames.SYN, 99, 0)
		w.bgp(true, frames.SYN|frames.ACK, 499, 100)
	}
	for _, c := range []struct {
		name, want, text string
		play             func(w *wire)
	}{
		{"alive", "", "", func(w *wire) { w.bgp(false, frames.ACK, 100, 500, keepalive, keepalive) }},
		{"hold timer", "bgp-notification", "hold timer expired", func(w *wire) {
			w.bgp(false, frames.ACK, 100, 500, keepalive, []byte{3, 4, 0})
			w.bgp(false, frames.FIN|frames.ACK, 140, 500)
		}},
		{"shut down with a word", "bgp-notification", "cease, administrative shutdown: maintenance", func(w *wire) {
			w.bgp(false, frames.ACK, 100, 500, append([]byte{3, 6, 2, 11}, "maintenance"...))
		}},
		{"reset", "bgp-closed", "reset without a notification", func(w *wire) {
			w.bgp(false, frames.ACK, 100, 500, keepalive)
			w.bgp(true, frames.RST, 500, 0)
		}},
		{"refused", "bgp-refused", "nobody listens", func(w *wire) { w.bgp(true, frames.RST|frames.ACK, 500, 100) }},
	} {
		w := newWire()
		open(w)
		c.play(w)
		r := w.report(t)
		if got := names(r); got != c.want || c.want != "" && !strings.Contains(r.Findings[0].Text, c.text) {
			t.Errorf("%s: %q, want %q: %+v", c.name, got, c.want, r.Findings)
		}
	}
	_, r := analyse(t, Config{}, permitted+"/tcpdump__bgp-bfd-cease.pcap")
	if f := find(r, "bgp-notification"); !strings.Contains(f.Text, "cease, BFD down") {
		t.Errorf("a shared capture: %+v", r.Findings)
	}
}

// ospf sends a hello of a router with a dead interval of 40 s.
func (w *wire) ospf(after int64, neighbours ...byte) {
	b := []byte{2, 1, 0, byte(44 + 4*len(neighbours)), 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
	b = append(b, 255, 255, 255, 0, 0, 10, 2, 1, 0, 0, 0, 40, 0, 0, 0, 0, 0, 0, 0, 0)
	for _, n := range neighbours {
		b = append(b, n, n, n, n)
	}
	w.id++
	w.ip(after, false, protoOSPF, 1, w.id, b)
}

func TestOSPF(t *testing.T) {
	const second = 1_000_000_000
	for _, c := range []struct {
		name, want, text string
		play             func(w *wire)
	}{
		{"full", "", "", func(w *wire) {
			for range 5 {
				w.ospf(10*second, 2, 3)
			}
		}},
		{"a neighbour lost", "ospf-neighbour-lost", "lost a neighbour 1 time, last 3.3.3.3", func(w *wire) {
			w.ospf(10*second, 2, 3)
			w.ospf(10*second, 2)
		}},
		{"silence", "ospf-gap", "no hello for up to 50s, longer than its dead interval of 40s", func(w *wire) {
			w.ospf(10*second, 2)
			w.ospf(50*second, 2)
		}},
	} {
		w := newWire()
		c.play(w)
		r := w.report(t)
		if got := names(r); got != c.want || c.want != "" && !strings.Contains(r.Findings[0].Text, c.text) {
			t.Errorf("%s: %q, want %q: %+v", c.name, got, c.want, r.Findings)
		}
	}
}

func TestLACP(t *testing.T) {
	for _, c := range []struct {
		name       string
		states     []byte
		want, text string
	}{
		{"in the bundle", []byte{0x3d, 0x3d}, "", ""},
		{"expired and back", []byte{0x3d, 0x85, 0x3d}, "lacp-down", "expired: the partner's LACPDUs stopped arriving, not in sync, not collecting, not distributing (partner 02:00:00:00:00:22 port 9); in the bundle"},
		{"never", []byte{0x45, 0x45}, "lacp-not-up", "defaulted: no partner was heard"},
	} {
		w := newWire()
		for _, state := range c.states {
			b := []byte{1, 0x80, 0xc2, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0x09, 1, 1}
			b = append(b, 1, 20, 0x80, 0, 2, 0, 0, 0, 0, 0x11, 0, 1, 0x80, 0, 0, 7, state, 0, 0, 0)
			b = append(b, 2, 20, 0x80, 0, 2, 0, 0, 0, 0, 0x22, 0, 1, 0x80, 0, 0, 9, 0x3d, 0, 0, 0)
			w.frame(1_000_000_000, append(b, make([]byte, 70)...))
		}
		r := w.report(t)
		if got := names(r); got != c.want || c.want != "" && !strings.Contains(r.Findings[0].Text, c.text) {
			t.Errorf("%s: %q, want %q: %+v", c.name, got, c.want, r.Findings)
		}
	}
}

func TestPlace(t *testing.T) {
	_, r := analyse(t, Config{}, permitted+"/tcpdump__LLDP_and_CDP.pcap")
	var got []string
	for _, f := range r.Findings {
		if f.Finding == "capture-place" {
			got = append(got, f.Subject)
		}
	}
	want := "S1.cisco.com Fa0/13, S2.cisco.com Uplink to S1, S1 FastEthernet0/13, S2 GigabitEthernet0/13"
	if strings.Join(got, ", ") != want {
		t.Errorf("%q, want %s", got, want)
	}
}
