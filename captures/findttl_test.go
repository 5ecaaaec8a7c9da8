package captures

import (
	"strings"
	"testing"

	"whichlink/captures/frames"
)

func TestTTL(t *testing.T) {
	times := func(n int, ttls ...byte) []byte {
		var all []byte
		for range n {
			all = append(all, ttls...)
		}
		return all
	}
	for _, c := range []struct {
		name       string
		ttls       []byte
		want, text string
		count      int64
	}{
		{"kept", times(40, 61), "", "", 0},
		{"rerouted", append(times(20, 61), times(20, 59)...), "ttl-reroute", "from 61 to 59 and stayed: a path 2 hops longer", 1},
		{"there and back", append(append(times(20, 61), times(20, 62)...), times(20, 61)...), "ttl-flap", "between 61 and 62, 2 changes", 2},
		{"sprayed", times(20, 61, 60), "ttl-spray", "of TTL 60 to 61", 39},
		{"by another", append(times(20, 61), 250), "ttl-other-sender", "between 61 and 250", 1},
	} {
		w := newWire()
		w.open()
		sender := &w.flows.flows.at(1).halves[0]
		sender.ttl, sender.packets = 0, 0 // the handshake counts as another flow's
		for i, ttl := range c.ttls {
			w.ip(1000, false, frames.ProtoTCP, ttl, uint16(100+i), segment(false, frames.ACK, uint32(100+10*i), 500, 10))
		}
		r := w.report(t)
		if got := names(r); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		} else if f := find(r, c.want); f.Count != c.count || !strings.Contains(f.Text, c.text) {
			t.Errorf("%s: %+v", c.name, f)
		}
	}
	w := newWire()
	w.open()
	w.ip(1000, false, frames.ProtoTCP, 250, 99, segment(false, frames.RST, 100, 500, 0))
	if got := names(w.Report()); got != "" {
		t.Errorf("a reset of another TTL: %q", got)
	}
}
