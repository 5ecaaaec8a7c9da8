package captures

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"whichlink/captures/files"
	"whichlink/captures/frames"
)

// slice writes what a choice takes of captures.
func slice(t *testing.T, c Choice, names ...string) ([]byte, int64) {
	t.Helper()
	var out bytes.Buffer
	s := NewSlice(&out, c, names)
	var opened []*files.File
	for _, name := range names {
		in, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		f, err := files.Open(name, in, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		opened = append(opened, f)
	}
	merged := files.Merge(opened...)
	for p := (files.Packet{}); merged.Next(&p) != io.EOF; {
		if err := s.Add(&p); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), s.Packets
}

// TestSliceWhole writes whole captures of many kinds: what is read again is the same packets.
func TestSliceWhole(t *testing.T) {
	for _, names := range [][]string{
		{"ppp__sll2.pcap"}, {"ppp__nanosecs_big_endian.pcap"}, {"zeek__linuxsll-arp.pcap"}, {"ngtest__test101.pcapng"},
		{"generated.pcap.gz"}, {"zeek__retransmit-fast009.pcap"}, {"ppp__sll2.pcap", "zeek__reassembly.pcap", "ppp__null_loopback.pcap"},
	} {
		paths := make([]string, len(names))
		for i, n := range names {
			paths[i] = filepath.Join(permitted, n)
		}
		data, n := slice(t, Choice{}, paths...)
		f, err := files.Open("slice", bytes.NewReader(data), 0)
		if err != nil {
			t.Fatalf("%v: %v", names, err)
		}
		var opened []*files.File
		for _, p := range paths {
			in, _ := os.Open(p)
			defer in.Close()
			o, err := files.Open(p, in, 0)
			if err != nil {
				t.Fatal(err)
			}
			opened = append(opened, o)
		}
		want := files.Merge(opened...)
		count := int64(0)
		var got, was files.Packet
		for want.Next(&was) == nil {
			if err := f.Next(&got); err != nil {
				t.Fatalf("%v: packet %d: %v %v", names, count, err, f.Err)
			}
			count++
			if got.Time != was.Time || got.Link != was.Link || got.Orig != was.Orig || !bytes.Equal(got.Data, was.Data) {
				t.Fatalf("%v: packet %d differs: %d %v %d, want %d %v %d", names, count, got.Time, got.Link, got.Orig, was.Time, was.Link, was.Orig)
			}
		}
		if f.Next(&got) != io.EOF || f.Err != nil || count != n {
			t.Errorf("%v: %d packets written, %d read, %v", names, n, count, f.Err)
		}
		opens(t, data, n)
	}
}

// opens holds that tshark, where it is, reads as many packets.
func opens(t *testing.T, data []byte, n int64) {
	t.Helper()
	tshark, err := exec.LookPath("tshark")
	if err != nil {
		t.Log("no tshark: only our own reader has read it")
		return
	}
	name := filepath.Join(t.TempDir(), "slice.pcapng")
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(tshark, "-r", name, "-T", "fields", "-e", "frame.number").Output()
	if got := int64(strings.Count(string(out), "\n")); err != nil || got != n {
		t.Errorf("tshark reads %d packets of %d: %v", got, n, err)
	}
}

// TestSliceOfFinding analyses the slice of a finding: the finding is in it too, as bad as it was, and most of the capture is not.
func TestSliceOfFinding(t *testing.T) {
	name := permitted + "/generated.pcap.gz"
	_, r := analyse(t, Config{}, name)
	tried := map[string]bool{}
	for i := range r.Findings {
		f := &r.Findings[i]
		if tried[f.Finding] || !f.about.hosts || f.about.proto == 0 {
			continue
		}
		tried[f.Finding] = true
		data, n := slice(t, f.Choice(), name)
		found := false
		for _, again := range analyseBytes(data).Findings {
			found = found || again.Finding == f.Finding && again.Subject == f.Subject && again.Count == f.Count
		}
		if !found || n == 0 || n > r.Packets/4 {
			t.Errorf("%s of %s: %d packets of %d, found %t", f.Finding, f.Subject, n, r.Packets, found)
		}
	}
	if len(tried) < 3 {
		t.Errorf("only %d kinds of findings", len(tried))
	}
}

func TestParseFlow(t *testing.T) {
	for text, ok := range map[string]bool{
		"tcp 10.0.0.1:1000>10.0.0.2:2000": true, "udp [fe80::1]:1>[fe80::2]:2": true, "10.0.0.1>10.0.0.2": true,
		"": false, "tcp 10.0.0.1>10.0.0.2": false, "sctp 10.0.0.1:1>10.0.0.2:2": false, "10.0.0.1:1>10.0.0.2:2": false,
	} {
		if _, err := ParseFlow(text); (err == nil) != ok {
			t.Errorf("%q: %v", text, err)
		}
	}
	c, err := ParseFlow("tcp 10.0.0.2:2000>10.0.0.1:1000")
	if err != nil {
		t.Fatal(err)
	}
	w := newWire()
	for _, seg := range [][]byte{segment(false, frames.ACK, 1, 1, 5), segment(true, frames.ACK, 1, 1, 5)} {
		w.ip(0, len(seg) > 0 && seg[0] == 2000>>8, frames.ProtoTCP, 0, 1, seg)
		if !c.Has(&files.Packet{Time: w.now}, &w.Analyzer.ahead[0].frame) {
			t.Errorf("% x is not of the flow", seg[:4])
		}
	}
	if w.ip(0, false, frames.ProtoUDP, 0, 1, []byte{3, 0xe8, 7, 0xd0, 0, 8, 0, 0}); c.Has(&files.Packet{}, &w.Analyzer.ahead[0].frame) {
		t.Error("a packet of UDP is of a flow of TCP")
	}
}
