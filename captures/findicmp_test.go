package captures

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"whichlink/captures/files"
)

// sharedCapture names a capture beside the repository, or skips.
func sharedCapture(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join(shared, "data", "captures", name)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		t.Skip("the capture ../shared/data/captures/" + name + " is not beside the repository")
	}
	return path
}

// find returns the finding of a name, the worst of several.
func find(r *Report, name string) Finding {
	for _, f := range r.Findings {
		if f.Finding == name {
			return f
		}
	}
	return Finding{}
}

// icmp sends an ICMP error that quotes a packet from 10.0.0.1 to 10.9.9.9.
func (w *wire) icmp(kind, code byte, word uint32, id uint16) {
	b := binary.BigEndian.AppendUint32([]byte{kind, code, 0, 0}, word)
	quoted := []byte{0x45, 0, 0, 28, 0, 1, 0, 0, 1, 17, 0, 0, 10, 0, 0, 1, 10, 9, 9, 9, 0x30, 0x39, 0x82, 0x9b, 0, 8, 0, 0}
	w.ip(1000, true, 1, 0, id, append(b, quoted...))
}

func TestICMP(t *testing.T) {
	for _, c := range []struct {
		kind, code byte
		word       uint32
		want, text string
	}{
		{3, 1, 0, "icmp-unreachable", "for want of a route or of a neighbour that answers; they went 10.0.0.1>10.9.9.9, the first from udp port 12345 to 33435"},
		{3, 4, 1400, "icmp-frag-needed", "too large for the next link of MTU 1400"},
		{3, 3, 0, "icmp-port-unreachable", "nobody listens"},
		{3, 13, 0, "icmp-prohibited", "refused by a filter"},
		{11, 0, 0, "icmp-time-exceeded", "TTL ran out"},
		{11, 1, 0, "icmp-reassembly", "fragments were lost"},
		{5, 1, 0x0a0000fe, "icmp-redirect", "router 10.0.0.254"},
		{8, 0, 0, "", ""},
	} {
		w := newWire()
		for id := range uint16(3) {
			w.icmp(c.kind, c.code, c.word, 7+id)
			w.icmp(c.kind, c.code, c.word, 7+id) // the mirror's copy
		}
		r := w.report(t)
		if got := names(r); got != c.want {
			t.Errorf("type %d code %d: %q, want %q", c.kind, c.code, got, c.want)
		}
		if f := find(r, c.want); c.want != "" && (f.Count != 3 || !strings.Contains(f.Text, c.text) || f.From.Equal(*f.To)) {
			t.Errorf("type %d code %d: %+v", c.kind, c.code, f)
		}
	}
}

func TestICMPOfCaptures(t *testing.T) {
	for _, c := range []struct{ file, want, filter string }{
		{"ppa__destunreachable.pcap", "icmp-unreachable", "icmp.type == 3"},
		{"cs__icmp_traceroute.pcapng", "icmp-traceroute", "icmp.type == 11"},
	} {
		_, r := analyse(t, Config{}, sharedCapture(t, c.file))
		if f := find(r, c.want); f.Count == 0 || !strings.Contains(f.Filter, c.filter) {
			t.Errorf("%s: %+v", c.file, r.Findings)
		}
	}
}

// TestTraceroute tells a traceroute, of which each router on the way tells, from a loop of two, and from one router that tells most.
func TestTraceroute(t *testing.T) {
	for _, c := range []struct {
		name    string
		routers []byte // that tell, one after the other
		want    string
	}{
		{"three probes a hop", []byte{1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4}, "icmp-traceroute"},
		{"of two hops", []byte{1, 1, 1, 2, 2, 2}, "icmp-time-exceeded icmp-time-exceeded"},
		{"a loop of two", []byte{1, 2, 1, 2, 1, 2, 1, 2, 1, 2}, "icmp-time-exceeded icmp-time-exceeded"},
		{"a loop, seen by a traceroute", []byte{1, 2, 3, 4, 3, 3, 3, 3, 3, 3}, "icmp-time-exceeded icmp-time-exceeded icmp-time-exceeded icmp-time-exceeded"},
	} {
		w := newWire()
		for id, router := range c.routers {
			quoted := []byte{0x45, 0, 0, 28, 0, 1, 0, 0, 1, 17, 0, 0, 10, 0, 0, 2, 10, 9, 9, 9, 0x30, byte(id), 0x82, 0x9b, 0, 8, 0, 0}
			b := append([]byte{0x45, 0, 0, 56, 0, byte(id + 1), 0, 0, 60, 1, 0, 0, 10, 5, 5, router, 10, 0, 0, 2, 11, 0, 0, 0, 0, 0, 0, 0}, quoted...)
			w.now += 1_000_000
			w.Add(&files.Packet{Time: w.now, Link: files.Raw, Orig: len(b), Data: b})
		}
		r := w.report(t)
		if got := names(r); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		if f := find(r, "icmp-traceroute"); f.Finding != "" && f.Count != int64(len(c.routers)) {
			t.Errorf("%s: %+v", c.name, f)
		}
	}
}
