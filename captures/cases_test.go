package captures

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"whichlink/captures/files"
	"whichlink/captures/frames"
)

// A wire makes packets between two hosts and hands them to an analyzer.
type wire struct {
	*Analyzer
	sent []files.Packet
	now  int64
	id   uint16
	// wrong makes RoCE packets carry a wrong invariant CRC; else it is left to the card.
	wrong bool
}

func newWire() *wire { return &wire{Analyzer: New(Config{}), now: 1e18} }

// ip sends an IPv4 packet: from a to b, or back. After is how long after the packet before, in ns; a TTL of 0 stands for 64.
func (w *wire) ip(after int64, back bool, proto, ttl byte, id uint16, payload []byte) {
	b := []byte{0x45, 2, 0, 0, byte(id >> 8), byte(id), 0x40, 0, max(ttl, 1), proto, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2}
	if ttl == 0 {
		b[8] = 64
	}
	if back {
		b[15], b[19] = 2, 1
	}
	binary.BigEndian.PutUint16(b[2:], uint16(20+len(payload)))
	w.now += after
	b = append(b, payload...)
	w.Add(&files.Packet{Time: w.now, Link: files.Raw, Orig: len(b), Data: b})
}

// tcp sends a segment.
func (w *wire) tcp(after int64, back bool, flags byte, seq, ack uint32, n int) {
	w.id++
	w.ip(after, back, frames.ProtoTCP, 0, w.id, segment(back, flags, seq, ack, n))
}

func segment(back bool, flags byte, seq, ack uint32, n int) []byte {
	from, to := uint16(1000), uint16(2000)
	if back {
		from, to = to, from
	}
	b := binary.BigEndian.AppendUint16(nil, from)
	b = binary.BigEndian.AppendUint16(b, to)
	b = binary.BigEndian.AppendUint32(b, seq)
	b = binary.BigEndian.AppendUint32(b, ack)
	b = append(b, 5<<4, flags, 2, 0, byte(seq), byte(ack), 0, 0)
	return append(b, make([]byte, n)...)
}

// open plays a handshake of 40 us. Sequence numbers begin with 100 and 500.
func (w *wire) open() {
	w.tcp(0, false, frames.SYN, 99, 0, 0)
	w.tcp(20_000, true, frames.SYN|frames.ACK, 499, 100, 0)
	w.tcp(20_000, false, frames.ACK, 100, 500, 0)
}

func (w *wire) data(after int64, seq uint32) { w.tcp(after, false, frames.ACK, seq, 500, 10) }
func (w *wire) ack(after int64, ack uint32)  { w.tcp(after, true, frames.ACK, 500, ack, 0) }

// sack acknowledges with one block of SACK.
func (w *wire) sack(after int64, ack, left, right uint32) {
	w.id++
	b := segment(true, frames.ACK, 500, ack, 0)
	b[12] = 8 << 4
	b = binary.BigEndian.AppendUint32(append(b, 1, 1, 5, 10), left)
	w.ip(after, true, frames.ProtoTCP, 0, w.id, binary.BigEndian.AppendUint32(b, right))
}

// names lists the findings, the worst first.
func names(r *Report) string {
	var all []string
	for _, f := range r.Findings {
		all = append(all, f.Finding)
	}
	return strings.Join(all, " ")
}

// TestWhereLost plays what each place of a loss looks like to one point of capture.
func TestWhereLost(t *testing.T) {
	for _, c := range []struct {
		name, want string
		play       func(w *wire)
	}{
		{"healthy", "", func(w *wire) {
			w.data(0, 100)
			w.data(1000, 110)
			w.ack(1000, 120)
		}},
		{"lost before, sent again fast", "tcp-loss-before", func(w *wire) {
			for _, seq := range []uint32{100, 120, 130, 140} {
				w.data(1000, seq)
				w.ack(1000, 110)
			}
			w.data(50_000, 110)
			w.ack(1000, 150)
		}},
		{"lost behind, sent again after a timeout", "tcp-loss-after", func(w *wire) {
			w.data(0, 100)
			w.data(250_000_000, 100)
			w.ack(1000, 110)
		}},
		{"overtaken", "tcp-reordering", func(w *wire) {
			w.data(0, 100)
			w.data(1000, 120)
			w.data(1000, 110)
			w.ack(1000, 130)
		}},
		{"acknowledged before", "tcp-spurious", func(w *wire) {
			w.data(0, 100)
			w.ack(1000, 110)
			w.data(250_000_000, 100)
		}},
		{"sent again though it had arrived, as the receiver says", "tcp-spurious", func(w *wire) {
			w.data(0, 100)
			w.data(250_000_000, 100)
			w.sack(1000, 110, 100, 110)
		}},
		{"of two sent again, one had arrived", "tcp-loss-after tcp-spurious", func(w *wire) {
			w.data(0, 100)
			w.data(1000, 110)
			w.data(250_000_000, 100)
			w.data(250_000_000, 110)
			w.sack(1000, 120, 110, 120)
		}},
		{"selective acknowledgement of what was lost behind", "tcp-loss-after", func(w *wire) {
			w.data(0, 100)
			w.data(1000, 110)
			w.sack(1000, 100, 110, 120)
			w.data(250_000_000, 100)
			w.ack(1000, 120)
		}},
		{"the end of a burst lost before", "tcp-timeout-unseen", func(w *wire) {
			w.data(0, 100)
			w.data(1000, 110)
			w.data(1000, 120)
			w.ack(1000, 130)
			w.data(201_000_000, 130)
			w.ack(1000, 140)
		}},
		{"the program was silent", "", func(w *wire) {
			w.data(0, 100)
			w.data(1000, 110)
			w.ack(1000, 120)
			w.data(201_000_000, 120)
			w.data(1000, 130)
			w.ack(1000, 140)
		}},
		// T8: what the receiver acknowledged was not lost.
		{"missed by the capture", "capture-missed", func(w *wire) {
			w.data(0, 100)
			w.data(1000, 120)
			w.ack(1000, 130)
		}},
		// T7: both sides of a router.
		{"seen twice", "capture-copies", func(w *wire) {
			for i := range uint32(5) {
				s := segment(false, frames.ACK, 100+10*i, 500, 10)
				w.ip(1000, false, frames.ProtoTCP, 64, uint16(900+i), s)
				w.ip(500, false, frames.ProtoTCP, 63, uint16(900+i), s)
			}
		}},
		{"ports used again", "", func(w *wire) {
			w.data(0, 100)
			w.tcp(1000, false, frames.SYN, 7000, 0, 0)
			w.tcp(1000, false, frames.ACK, 7001, 500, 10)
		}},
		{"closed window", "tcp-zero-window", func(w *wire) {
			w.data(0, 100)
			s := segment(true, frames.ACK, 500, 110, 0)
			s[14], s[15] = 0, 0
			w.ip(1000, true, frames.ProtoTCP, 0, 99, s)
		}},
	} {
		w := newWire()
		w.open()
		c.play(w)
		r := w.report(t)
		if got := names(r); got != c.want {
			t.Errorf("%s: %q, want %q: %+v", c.name, got, c.want, r.TCP)
		}
	}
}

// roce sends a packet to a queue pair.
func (w *wire) roce(after int64, back bool, op byte, psn uint32, extension []byte, payload int) {
	w.id++
	b := []byte{0xc0, 0, 0x12, 0xb7, 0, 0, 0, 0, op, 0, 0xff, 0xff, 0, 0, 0, 0x11, 0, 0, 0, 0}
	if back {
		b[15] = 0x22
	}
	binary.BigEndian.PutUint32(b[16:], psn&psnMask)
	b = append(append(b, extension...), make([]byte, payload+4)...)
	if w.wrong {
		b[len(b)-1] = 1
	}
	binary.BigEndian.PutUint16(b[4:], uint16(len(b)))
	w.ip(after, back, frames.ProtoUDP, 0, w.id, b)
}

func reth(n uint32) []byte { return binary.BigEndian.AppendUint32(make([]byte, 12), n) }

func TestRoCE(t *testing.T) {
	const write, middle, last = frames.WriteFirst, frames.WriteMiddle, frames.WriteLast
	message := func(w *wire, psn uint32, skip ...uint32) {
		for i, op := range []byte{write, middle, middle, last} {
			var ext []byte
			if op == write {
				ext = reth(4096)
			}
			if p := psn + uint32(i); !slices.Contains(skip, p) {
				w.roce(1000, false, op, p, ext, 1024)
			}
		}
	}
	for _, c := range []struct {
		name, want string
		play       func(w *wire)
	}{
		{"healthy, over the end of the numbers", "", func(w *wire) {
			message(w, 1<<24-2)
			message(w, 2)
		}},
		{"lost before", "roce-loss-before roce-nak", func(w *wire) {
			message(w, 0, 1)
			w.roce(1000, true, frames.Acknowledge, 1, []byte{0x60, 0, 0, 0}, 0)
			for i, op := range []byte{middle, middle, last} {
				w.roce(1000, false, op, uint32(1+i), nil, 1024)
			}
		}},
		{"lost behind", "roce-loss-after roce-nak", func(w *wire) {
			message(w, 0)
			w.roce(1000, true, frames.Acknowledge, 2, []byte{0x60, 0, 0, 0}, 0)
			w.roce(1000, false, middle, 2, nil, 1024)
			w.roce(1000, false, last, 3, nil, 1024)
		}},
		{"not ready", "roce-rnr", func(w *wire) {
			message(w, 0)
			w.roce(1000, true, frames.Acknowledge, 0, []byte{0x2e, 0, 0, 0}, 0)
			w.now += 50_000_000
			message(w, 0)
		}},
		{"timeout before the end of a message", "roce-timeout", func(w *wire) {
			message(w, 0, 3)
			w.roce(67_108_864, false, last, 3, nil, 1024)
		}},
		{"idle between messages", "", func(w *wire) {
			message(w, 0)
			w.now += 500_000_000
			message(w, 4)
		}},
		{"reads take as many numbers as their answers have packets", "", func(w *wire) {
			w.roce(0, false, frames.ReadRequest, 10, reth(4096), 0)
			for i, op := range []byte{frames.ReadFirst, frames.ReadMiddle, frames.ReadMiddle, frames.ReadLast} {
				var ext []byte
				if op != frames.ReadMiddle {
					ext = []byte{0, 0, 0, 1}
				}
				w.roce(1000, true, op, uint32(10+i), ext, 1024)
			}
			w.roce(1000, false, frames.ReadRequest, 14, reth(2048), 0)
			w.roce(1000, false, frames.ReadRequest, 16, reth(2048), 0)
		}},
		{"an answer to a read with a gap", "roce-loss-before", func(w *wire) {
			w.roce(0, true, frames.ReadFirst, 10, []byte{0, 0, 0, 1}, 1024)
			w.roce(0, true, frames.ReadMiddle, 12, nil, 1024)
		}},
		{"an answer to a read without its beginning", "roce-loss-before", func(w *wire) {
			w.roce(0, true, frames.ReadOnly, 10, []byte{0, 0, 0, 1}, 1024)
			w.roce(0, true, frames.ReadLast, 14, []byte{0, 0, 0, 2}, 1024)
		}},
		{"an answer to a read without its end", "roce-loss-before", func(w *wire) {
			w.roce(0, true, frames.ReadFirst, 10, []byte{0, 0, 0, 1}, 1024)
			w.roce(0, true, frames.ReadOnly, 12, []byte{0, 0, 0, 2}, 1024)
		}},
		{"answers to reads with writes between them", "", func(w *wire) {
			w.roce(0, true, frames.ReadOnly, 10, []byte{0, 0, 0, 1}, 1024)
			w.roce(0, true, frames.ReadFirst, 13, []byte{0, 0, 0, 2}, 1024)
			w.roce(0, true, frames.ReadLast, 14, []byte{0, 0, 0, 2}, 1024)
			w.roce(0, true, frames.ReadOnly, 19, []byte{0, 0, 0, 3}, 1024)
		}},
		{"changed on the way, and sent again", "roce-corruption roce-loss-after roce-nak", func(w *wire) {
			message(w, 0, 2, 3)
			w.wrong = true
			w.roce(1000, false, middle, 2, nil, 1024)
			w.wrong = false
			w.roce(1000, false, last, 3, nil, 1024)
			w.roce(1000, true, frames.Acknowledge, 2, []byte{0x60, 0, 0, 0}, 0)
			w.roce(1000, false, middle, 2, nil, 1024)
			w.roce(1000, false, last, 3, nil, 1024)
		}},
		{"congestion", "roce-cnp", func(w *wire) { w.roce(0, true, 0x81, 0, make([]byte, 16), 0) }},
	} {
		w := newWire()
		c.play(w)
		r := w.report(t)
		if got := names(r); got != c.want {
			t.Errorf("%s: %q, want %q: %+v", c.name, got, c.want, r.RoCE)
		}
	}
}

// pfc sends a pause of class 3.
func (w *wire) pfc(after int64, quanta uint16) {
	b := append([]byte{1, 0x80, 0xc2, 0, 0, 1, 2, 0xff, 0, 0, 0, 1, 0x88, 0x08, 1, 1, 0, 8}, make([]byte, 42)...)
	binary.BigEndian.PutUint16(b[18+6:], quanta)
	w.now += after
	w.Add(&files.Packet{Time: w.now, Link: files.Ethernet, Orig: len(b), Data: b})
}

func TestPause(t *testing.T) {
	for _, c := range []struct {
		name  string
		speed uint64
		play  func(w *wire)
		want  string
		text  string
	}{
		{"storm", 100e9, func(w *wire) {
			for range 1000 {
				w.pfc(300_000, 0xffff)
			}
		}, "pfc-storm", "class 3 was paused without break for up to 299.7ms"},
		{"resumed", 100e9, func(w *wire) {
			for range 500 {
				w.pfc(200_000, 0xffff)
				w.pfc(100_000, 0)
			}
		}, "pfc-pause", "class 3 was paused for 50ms in all, 33.4 % of the capture, longest 100µs"},
		{"run out between frames", 100e9, func(w *wire) {
			for range 300 {
				w.pfc(1_000_000, 0xffff)
			}
		}, "pfc-pause", "longest 335.54µs"},
		{"of unknown speed", 0, func(w *wire) {
			for range 150 {
				w.pfc(2_000_000, 0xffff)
			}
		}, "pfc-storm", "at most: the link's speed is not known"},
	} {
		w := newWire()
		w.cfg.LinkSpeed = c.speed
		c.play(w)
		r := w.report(t)
		if got := names(r); got != c.want || !strings.Contains(r.Findings[0].Text, c.text) {
			t.Errorf("%s: %s: %+v", c.name, got, r.Findings)
		}
	}
}

// TestFlowsBegun counts connections whose SYN does not come first: as Wireshark does, by the number that what came before says the connection began with.
func TestFlowsBegun(t *testing.T) {
	for _, c := range []struct {
		name  string
		play  func(w *wire)
		flows int
	}{
		{"the SYN behind the first data", func(w *wire) { w.data(0, 100); w.tcp(1000, false, frames.SYN, 99, 0, 0) }, 1},
		{"the SYN behind later data", func(w *wire) { w.data(0, 110); w.tcp(1000, false, frames.SYN, 99, 0, 0) }, 2},
		{"the SYN behind its answer", func(w *wire) {
			w.tcp(0, true, frames.SYN|frames.ACK, 499, 100, 0)
			w.tcp(1000, false, frames.SYN, 99, 0, 0)
		}, 1},
		{"a SYN behind the end of the connection before", func(w *wire) { w.ack(0, 7000); w.open() }, 2},
		{"the same SYN twice", func(w *wire) { w.open(); w.tcp(1000, false, frames.SYN, 99, 0, 0) }, 1},
	} {
		w := newWire()
		c.play(w)
		w.Report()
		if w.flows.tcp != c.flows {
			t.Errorf("%s: %d flows, want %d", c.name, w.flows.tcp, c.flows)
		}
	}
}
