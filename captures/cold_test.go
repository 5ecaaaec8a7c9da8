package captures

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/google/gopacket/layers"

	"whichlink/captures/files"
)

// vrrp sends an advertisement each second of version 2, or of version 3 with an interval of 100 hundredths.
func (w *wire) vrrp(after int64, back bool, version, priority byte) {
	w.id++
	b := []byte{version<<4 | 1, 7, priority, 1, 0, 1, 0, 0, 10, 0, 0, 254}
	if version == 3 {
		b[5] = 100
	}
	w.ip(after, back, protoVRRP, 255, w.id, b)
}

func TestVRRP(t *testing.T) {
	const second = 1_000_000_000
	for _, c := range []struct {
		name, want, text string
		play             func(w *wire)
	}{
		{"one master", "", "", func(w *wire) {
			for range 5 {
				w.vrrp(second, false, 3, 100)
			}
		}},
		{"resigned", "vrrp-master-change", "1 time, last 10.0.0.2 in the place of 10.0.0.1, the one before resigned", func(w *wire) {
			w.vrrp(second, false, 2, 100)
			w.vrrp(second, false, 2, 0)
			w.vrrp(second/10, true, 2, 90)
		}},
		{"silent", "vrrp-master-change", "the one before was silent for 3.6s, longer than 3 intervals", func(w *wire) {
			w.vrrp(second, false, 3, 100)
			w.vrrp(36*second/10, true, 3, 90)
		}},
		{"preempted, with one advertisement on the way", "vrrp-master-change", "with priority 200 over 100", func(w *wire) {
			w.vrrp(second, false, 2, 100)
			w.vrrp(second, true, 2, 200)
			w.vrrp(1000, false, 2, 100)
			w.vrrp(second, true, 2, 200)
			w.vrrp(second, true, 2, 200)
		}},
		{"two masters", "vrrp-two-masters", "are master at once, 6 advertisements in turn", func(w *wire) {
			for range 4 {
				w.vrrp(second/2, true, 3, 90)
				w.vrrp(second/2, false, 3, 100)
			}
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

// bpdu sends one by the port of a bridge: of a root's priority and the flag of a topology change, or a notification where root is 0.
func (w *wire) bpdu(after int64, port, root byte, changing bool) {
	b := []byte{1, 0x80, 0xc2, 0, 0, 0, 2, 0, 0, 0, 0, port, 0, 38, 0x42, 0x42, 3, 0, 0}
	if root == 0 {
		w.frame(after, append(b, 0, bpduChange))
		return
	}
	b = append(b, 2, bpduRapid, 0)
	if changing {
		b[len(b)-1] = 1
	}
	id := []byte{root, 10, 2, 0, 0, 0, 0, root}
	b = append(append(append(b, id...), 0, 0, 0, 0), id...)
	w.frame(after, append(b, 0x80, port, 0, 0, 20, 0, 2, 0, 15, 0))
}

func TestSTP(t *testing.T) {
	const second = 1_000_000_000
	for _, c := range []struct {
		name, want, text string
		play             func(w *wire)
	}{
		{"calm", "", "", func(w *wire) {
			for range 5 {
				w.bpdu(2*second, 1, 0x10, false)
			}
		}},
		{"changes", "stp-topology-change", "2 topology changes told of", func(w *wire) {
			for i := range 8 {
				w.bpdu(2*second, 1, 0x10, i == 2 || i == 3 || i == 6)
			}
		}},
		{"notified, repeated each second", "stp-topology-change", "1 topology change told of", func(w *wire) {
			w.bpdu(second, 1, 0, false)
			w.bpdu(second, 1, 0, false)
		}},
		{"a bridge starts", "", "", func(w *wire) {
			w.bpdu(2*second, 1, 0x10, false)
			w.bpdu(second, 2, 0x80, false)
			w.bpdu(second, 1, 0x10, false)
		}},
		{"a better root", "stp-root-change", "changed 1 time, last from bridge 32778/02:00:00:00:00:80 to 4106/02:00:00:00:00:10", func(w *wire) {
			w.bpdu(2*second, 1, 0x80, false)
			w.bpdu(2*second, 1, 0x10, false)
			w.bpdu(2*second, 1, 0x10, false)
		}},
		{"the root died", "stp-root-change", "to 32778/02:00:00:00:00:80", func(w *wire) {
			w.bpdu(2*second, 1, 0x10, false)
			w.bpdu(20*second, 2, 0x80, false)
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

// TestColdCut decodes what a snap length broke off: nothing that lies behind the end in memory is looked at.
func TestColdCut(t *testing.T) {
	lldp := []byte{2, 7, 4, 2, 0, 0, 0, 0, 1, 4, 5, 5, 's', 'w', 'p', '1', 6, 2, 0, 120, 10, 4, 'l', 'e', 'a', 'f'}
	ethernet := append([]byte{1, 0x80, 0xc2, 0, 0, 14, 2, 0, 0, 0, 0, 1, 0x88, 0xcc}, lldp...)
	a := New(Config{})
	a.Add(&files.Packet{Time: 1, Link: files.Ethernet, Orig: 200, Data: ethernet[:len(ethernet)-2]})
	if r := a.Report(); len(r.Findings) != 1 || r.Findings[0].Subject != "02:00:00:00:00:01 swp1" {
		t.Errorf("%+v", r.Findings)
	}
	hello := binary.BigEndian.AppendUint16([]byte{2, 1}, 44)
	hello = append(hello, make([]byte, 60)...)
	if got := cold[*layers.OSPFv2](layers.LayerTypeOSPF, hello[:30]); got != nil {
		t.Errorf("a hello of 30 bytes was read: %+v", got)
	}
}
