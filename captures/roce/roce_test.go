package roce

import (
	"bytes"
	"errors"
	"io"
	"os"
	"testing"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"whichlink/captures/files"
	"whichlink/captures/frames"
)

// TestAsFrames decodes each RoCE packet of captures by gopacket too: both say the same.
func TestAsFrames(t *testing.T) {
	Register()
	for _, c := range []struct {
		name  string
		least int
	}{
		{"../../testdata/captures/generated.pcap.gz", 1000},
		{"../../../shared/data/captures/roce__roce.pcap", 105},
		{"../../../shared/data/captures/scapy__roce-vectors.pcap", 3},
	} {
		in, err := os.Open(c.name)
		if errors.Is(err, os.ErrNotExist) {
			t.Logf("%s is not beside the repository", c.name)
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		f, err := files.Open(c.name, in, 0)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		var frame frames.Frame
		for p := (files.Packet{}); f.Next(&p) != io.EOF; {
			if frame.Decode(p.Link, p.Orig, p.Data); frame.Kind == frames.RoCEPacket {
				n++
				same(t, &frame, gopacket.NewPacket(p.Data, layers.LinkTypeEthernet, gopacket.NoCopy))
			}
		}
		if n < c.least {
			t.Errorf("%s: %d RoCE packets, want at least %d", c.name, n, c.least)
		}
	}
}

func same(t *testing.T, f *frames.Frame, p gopacket.Packet) {
	t.Helper()
	want := &f.BTH
	b, ok := p.Layer(LayerTypeBTH).(*BTH)
	if !ok {
		t.Fatalf("no base transport header in %v", p)
	}
	if b.Opcode != want.Opcode || b.DestQP != want.DestQP || b.PSN != want.PSN || b.Pad != want.Pad || b.AckReq != want.AckReq ||
		b.FECN != want.FECN || b.BECN != want.BECN {
		t.Errorf("%+v, want %+v", b, want)
	}
	a, has := p.Layer(LayerTypeAETH).(*AETH)
	if has != want.HasAETH || has && (a.Syndrome != want.Syndrome || a.MSN != want.MSN) {
		t.Errorf("%+v, want %+v", a, want)
	}
	r, has := p.Layer(LayerTypeRETH).(*RETH)
	if has != want.HasRETH || has && r.DMALen != want.DMALen {
		t.Errorf("%+v, want %+v", r, want)
	}
	if d, has := p.Layer(LayerTypeDETH).(*DETH); has && d.SrcQP != want.SrcQP {
		t.Errorf("%+v, want %+v", d, want)
	}
	if f.End <= len(f.Data) && want.Transport() != frames.CNP {
		const crc = 4
		if got := len(p.ApplicationLayer().Payload()) - crc - int(b.Pad); got != want.Payload {
			t.Errorf("%d bytes of payload, want %d: %+v", got, want.Payload, b)
		}
	}
}

// TestExtensions holds each operation's headers to the lengths that captures/frames takes off.
func TestExtensions(t *testing.T) {
	Register()
	for opcode := range 256 {
		head := []byte{byte(opcode), 0, 0xff, 0xff, 0, 0, 0, 5, 0, 0, 0, 1}
		data := append(head, bytes.Repeat([]byte{0}, 100)...)
		udp := append([]byte{0x45, 0, 0, 140, 0, 1, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0xc0, 0, 0x12, 0xb7, 0, 120, 0, 0}, data...)
		var f frames.Frame
		if f.Decode(files.Raw, len(udp), udp); f.Kind != frames.RoCEPacket {
			continue
		}
		p := gopacket.NewPacket(udp, layers.LayerTypeIPv4, gopacket.Default)
		if f.BTH.Transport() == frames.CNP {
			if p.Layer(LayerTypeBTH) == nil || len(p.ApplicationLayer().Payload()) != 100 {
				t.Errorf("opcode %#x: %v", opcode, p)
			}
			continue
		}
		if got := len(p.ApplicationLayer().Payload()) - 4; got != f.BTH.Payload {
			t.Errorf("opcode %#x: %d bytes of payload, frames has %d", opcode, got, f.BTH.Payload)
		}
	}
}

// TestRiskyPorts sends what made the library ask for gigabytes.
func TestRiskyPorts(t *testing.T) {
	Register()
	for _, port := range risky {
		if got := port.LayerType(); got != gopacket.LayerTypePayload {
			t.Errorf("port %d: %v", port, got)
		}
	}
}

func FuzzBTH(f *testing.F) {
	f.Add([]byte{0x0b, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		p := gopacket.NewPacket(data, LayerTypeBTH, gopacket.DecodeOptions{SkipDecodeRecovery: true})
		_ = p.String()
		gopacket.NewPacket(data, LayerTypeGRH, gopacket.DecodeOptions{SkipDecodeRecovery: true})
	})
}
