package cli

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// A playedCapture is a pcap file of segments that a host sends and receives.
type playedCapture struct{ bytes.Buffer }

// begin writes the header of a file of raw IP.
func (c *playedCapture) begin() {
	c.Write([]byte{0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 101, 0, 0, 0})
}

// segment writes a TCP segment; at is in microseconds.
func (c *playedCapture) segment(at int64, id uint16, ttl, src, dst byte, sport, dport uint16, seq, ack uint32, payload int) {
	const headers = 40
	b := binary.LittleEndian.AppendUint32(nil, uint32(1_790_000_000+at/1_000_000))
	b = binary.LittleEndian.AppendUint32(b, uint32(at%1_000_000))
	b = binary.LittleEndian.AppendUint32(b, headers)
	b = binary.LittleEndian.AppendUint32(b, uint32(headers+payload))
	ip := []byte{0x45, 0, 0, 0, 0, 0, 0x40, 0, ttl, 6, 0, 0, 10, 32, 0, src, 10, 32, 0, dst}
	binary.BigEndian.PutUint16(ip[2:], uint16(headers+payload))
	binary.BigEndian.PutUint16(ip[4:], id)
	b = append(b, ip...)
	b = binary.BigEndian.AppendUint16(b, sport)
	b = binary.BigEndian.AppendUint16(b, dport)
	b = binary.BigEndian.AppendUint32(b, seq)
	b = binary.BigEndian.AppendUint32(b, ack)
	b = append(b, 0x50, 0x10, 0x40, 0, 0, 0, 0, 0)
	c.Write(b)
}

// runMain runs the program and returns what it prints.
func runMain(t *testing.T, arguments ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	if code := Main(context.Background(), arguments, bytes.NewReader(nil), &out, &errs, os.DirFS("../..")); code != 0 {
		t.Fatalf("%q ends with %d: %s", arguments, code, errs.String())
	}
	return out.String()
}

// TestPcapFlap captures at a port of a leaf whose link to a spine is down for a second each 15 s: from the evidence of the capture alone localize names
// that link, that it flaps, and how often. One that loses a packet now and then all the time does not flap. While it is down a flow sends its first segment again, after 200, 400 and 800 ms. Taken at the host, where half
// of the flows go over it and nobody knows which, the capture tells as much of the rhythm, and names it beside those that it cannot be told from.
func TestPcapFlap(t *testing.T) {
	dir := t.TempDir()
	fabric, file, behind, found := filepath.Join(dir, "f.clab.yml"), filepath.Join(dir, "h.pcap"), filepath.Join(dir, "s.pcap"), filepath.Join(dir, "found.jsonl")
	runMain(t, "fabric", "new", "leafspine", "--leaves", "4", "--spines", "2", "--hosts", "1", "--out", fabric)
	const link = "leaf1:swp1--spine1:swp1"
	for _, c := range []struct {
		at                  string
		taps, all, steadily bool
		symptom             string
		shortest, most      int // period in ms
	}{
		{"leaf1:swp1", false, false, false, "flap", 14_500, 15_500},
		{"leaf1:swp1", true, false, false, "flap", 14_500, 15_500},
		{"h1-1", false, true, false, "flap", 14_500, 15_500},
		{"leaf1:swp1", false, false, true, "loss", 0, 0},
	} {
		near, far := playFlap(c.all, c.steadily)
		for name, content := range map[string][]byte{file: near, behind: far} {
			if err := os.WriteFile(name, content, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		command := []string{"pcap", file, "-o", "jsonl", "--fabric", fabric, "--at", c.at}
		if c.taps {
			command = append(command, "--taps", behind, "--at", "spine1:swp1")
		}
		if err := os.WriteFile(found, []byte(runMain(t, command...)), 0o644); err != nil {
			t.Fatal(err)
		}
		text := runMain(t, "localize", "--fabric", fabric, found, "-o", "json")
		var d struct {
			Suspects []struct {
				Link, Symptom string
				Class         []string
				Period        int `json:"period_ms"`
				Probability   float64
			}
		}
		if err := json.Unmarshal([]byte(text), &d); err != nil {
			t.Fatal(err)
		}
		if len(d.Suspects) == 0 {
			t.Fatal(text)
		}
		x := d.Suspects[0]
		right := x.Link == link && x.Probability > 0.9
		if c.all {
			right = slices.Contains(x.Class, link)
		}
		if !right || x.Symptom != c.symptom || x.Period < c.shortest || x.Period > c.most {
			t.Errorf("%+v: %s", c, text)
		}
	}
}

// playFlap makes a capture of two minutes of flows to three hosts, of which those over the link lose what they send in the eighth second of each 15, or
// with steadily one of a hundred segments; with all, also of as many that do not go over it. Near is
// what is captured in front of the link, far what is behind it.
func playFlap(all, steadily bool) (near, far []byte) {
	const second, tick = 1_000_000, 50_000
	type sender struct {
		seq         uint32
		again, wait int64 // when the segment that is lost is sent again; 0 where none is
	}
	var c, behind playedCapture
	c.begin()
	behind.begin()
	id := uint16(0)
	senders := make([]sender, 60)
	chance := rand.New(rand.NewPCG(5, 15))
	for now := int64(0); now < 120*second; now += tick {
		for i := range senders {
			s, at, over := &senders[i], now+int64(i)*100, i/3%2 == 0
			if s.again > at || !over && !all {
				continue
			}
			dst, port := []byte{3, 5, 7}[i%3], uint16(20_000+i)
			id = max(id+2, 2)
			c.segment(at, id, 64, 1, dst, port, 80, s.seq, 1, 1000)
			phase := at % (15 * second)
			lost := over && phase >= 7*second && phase < 8*second
			if steadily {
				lost = chance.IntN(100) == 0
			}
			if lost {
				s.wait = max(200_000, 2*s.wait)
				s.again = at + s.wait
				continue
			}
			s.again, s.wait = 0, 0
			if over {
				behind.segment(at+5, id, 63, 1, dst, port, 80, s.seq, 1, 1000)
				behind.segment(at+50, id+1, 64, dst, 1, 80, port, 1, s.seq+1000, 0)
			}
			s.seq += 1000
			c.segment(at+60, id+1, 63, dst, 1, 80, port, 1, s.seq, 0)
		}
	}
	return c.Bytes(), behind.Bytes()
}
