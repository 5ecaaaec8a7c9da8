package files

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// A got is a packet as tests compare it.
type got struct {
	Time int64
	Link LinkType
	Orig int
	Data string
}

// read reads all packets of a file and what ended it.
func read(t *testing.T, data []byte) ([]got, *File) {
	t.Helper()
	f, err := Open("f", bytes.NewReader(data), 64)
	if err != nil {
		return nil, &File{Stats: Stats{Err: err}}
	}
	defer f.Close()
	var all []got
	for p := (Packet{}); ; {
		if err := f.Next(&p); err != nil {
			if !errors.Is(err, io.EOF) {
				t.Fatalf("Next: %v, want io.EOF at any end", err)
			}
			return all, f
		}
		all = append(all, got{p.Time, p.Link, p.Orig, string(p.Data)})
	}
}

// pcapOf writes a classic file with packets of the given contents, a second apart and 7 fractions.
func pcapOf(order binary.AppendByteOrder, magic uint32, link uint32, packets ...string) []byte {
	b := order.AppendUint32(nil, magic)
	b = order.AppendUint16(b, 2)
	b = order.AppendUint16(b, 4)
	b = append(b, make([]byte, 8)...)
	b = order.AppendUint32(b, 65535)
	b = order.AppendUint32(b, link)
	for i, p := range packets {
		for _, v := range []uint32{uint32(i + 1), 7, uint32(len(p)), uint32(len(p) + i)} {
			b = order.AppendUint32(b, v)
		}
		if magic == magicModified {
			b = append(b, make([]byte, 8)...)
		}
		b = append(b, p...)
	}
	return b
}

// block writes a pcapng block.
func block(order binary.AppendByteOrder, kind uint32, body ...any) []byte {
	var b []byte
	for _, v := range body {
		switch v := v.(type) {
		case uint16:
			b = order.AppendUint16(b, v)
		case uint32:
			b = order.AppendUint32(b, v)
		case uint64:
			b = order.AppendUint64(b, v)
		case string:
			b = append(b, v...)
			for len(b)%4 != 0 {
				b = append(b, 0)
			}
		}
	}
	out := order.AppendUint32(nil, kind)
	out = order.AppendUint32(out, uint32(len(b)+12))
	return order.AppendUint32(append(out, b...), uint32(len(b)+12))
}

func section(order binary.AppendByteOrder) []byte {
	return block(order, blockSection, uint32(0x1a2b3c4d), uint16(1), uint16(0), ^uint64(0))
}

func join(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

func TestPcap(t *testing.T) {
	for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		for magic, unit := range map[uint32]int64{magicMicro: 1000, magicNano: 1, magicModified: 1000} {
			all, f := read(t, pcapOf(order, magic, 0xf4000001, "abc", strings.Repeat("x", 300)))
			want := []got{{1e9 + 7*unit, Ethernet, 3, "abc"}, {2e9 + 7*unit, Ethernet, 301, strings.Repeat("x", 300)}}
			if d := cmp.Diff(want, all); d != "" || f.Err != nil {
				t.Errorf("%v %x: %v %s", order, magic, f.Err, d)
			}
			if f.Packets != 2 || f.Truncated != 1 || f.Bytes != 304 || f.From != 1e9+7*unit {
				t.Errorf("%+v", f.Stats)
			}
		}
	}
}

func TestPcapng(t *testing.T) {
	le, be := binary.LittleEndian, binary.BigEndian
	file := join(
		section(le),
		block(le, blockInterface, uint16(1), uint16(0), uint32(4), uint16(9), uint16(1), "\x09", uint16(8), uint16(8), uint64(25e9), uint32(0)),
		block(le, blockInterface, uint16(276), uint16(0), uint32(0), uint16(9), uint16(1), "\x8a", uint16(14), uint16(8), uint64(100), uint32(0)),
		block(le, blockEnhanced, uint32(0), uint32(0), uint32(5), uint32(3), uint32(9), "abc", uint16(4), uint16(8), uint64(2)),
		block(le, 0xbad, "somebody else's"),
		block(le, blockEnhanced, uint32(1), uint32(0), uint32(1<<10+1<<9), uint32(1), uint32(1), "d"),
		block(le, blockSimple, uint32(6), "abcdef"),
		block(le, blockPacket, uint16(0), uint16(3), uint32(0), uint32(8), uint32(1), uint32(1), "e"),
		block(le, blockStatistics, uint32(0), uint64(0), uint16(5), uint16(8), uint64(40), uint16(7), uint16(8), uint64(2)),
		section(be),
		block(be, blockInterface, uint16(101), uint16(0), uint32(0)),
		block(be, blockEnhanced, uint32(0), uint32(0), uint32(3), uint32(1), uint32(1), "f"),
	)
	want := []got{
		{5, Ethernet, 9, "abc"}, {101_500_000_000, LinuxSLL2, 1, "d"}, {101_500_000_000, Ethernet, 6, "abcd"}, {8, Ethernet, 1, "e"}, {3000, Raw, 1, "f"},
	}
	all, f := read(t, file)
	if d := cmp.Diff(want, all); d != "" || f.Err != nil {
		t.Fatalf("%v %s", f.Err, d)
	}
	if f.Dropped != 2+3+42 || !f.Known {
		t.Errorf("dropped %d", f.Dropped)
	}
}

// TestCut cuts files at every byte: what stands before the cut is kept, and the error names an offset in the file.
func TestCut(t *testing.T) {
	le := binary.LittleEndian
	for name, file := range map[string][]byte{
		"pcap": pcapOf(le, magicNano, 1, "abcd", "efgh"),
		"pcapng": join(section(le), block(le, blockInterface, uint16(1), uint16(0), uint32(0)),
			block(le, blockEnhanced, uint32(0), uint32(0), uint32(1e9+7), uint32(4), uint32(4), "abcd"),
			block(le, blockEnhanced, uint32(0), uint32(0), uint32(2e9+7), uint32(4), uint32(4), "efgh")),
	} {
		whole, _ := read(t, file)
		for n := range file {
			all, f := read(t, file[:n])
			if len(all) > len(whole) || cmp.Diff(whole[:len(all)], append([]got{}, all...)) != "" {
				t.Fatalf("%s cut at %d: %v", name, n, all)
			}
			var at *FormatError
			if f.Err == nil {
				continue // the cut lies between records
			}
			if !errors.As(f.Err, &at) || at.Offset < 0 || at.Offset > int64(n) {
				t.Errorf("%s cut at %d: error %v", name, n, f.Err)
			}
			if f.Packets > 0 && !errors.Is(f.Err, io.ErrUnexpectedEOF) {
				t.Errorf("%s cut at %d: error %v is not io.ErrUnexpectedEOF", name, n, f.Err)
			}
		}
	}
}

// TestRefuses holds files that lie about lengths: each ends with an error, and none is believed.
func TestRefuses(t *testing.T) {
	le := binary.LittleEndian
	head := pcapOf(le, magicMicro, 1)
	iface := join(section(le), block(le, blockInterface, uint16(1), uint16(0), uint32(0)))
	record := func(captured uint32) []byte {
		return join(head, le.AppendUint32(le.AppendUint32(make([]byte, 8), captured), captured))
	}
	wrongEnd := block(le, blockEnhanced, uint32(0), uint32(0), uint32(0), uint32(0), uint32(0))
	wrongEnd[len(wrongEnd)-4]++
	for name, c := range map[string]struct {
		file []byte
		err  string
	}{
		"empty":                  {nil, "empty"},
		"text":                   {[]byte("hello, this is no capture at all"), "not a capture: it begins with 68 65 6c 6c"},
		"short":                  {head[:10], "cut short in the file header"},
		"version":                {join(head[:4], []byte{9, 0}, head[6:]), "pcap of version 9"},
		"2 GiB record":           {record(1 << 31), "offset 24: a packet of 2147483648 bytes"},
		"1 MiB record, not here": {record(1 << 20), "offset 24: cut short in a packet"},
		"EPB of 2 GiB":           {join(iface, block(le, blockEnhanced, uint32(0), uint32(0), uint32(0), uint32(1<<31), uint32(0))), "a packet of 2147483648 bytes in a block"},
		"block of 4 GiB":         {join(iface, le.AppendUint32(le.AppendUint32(nil, 6), 0xfffffffc)), "more than the limit"},
		"unknown block of 4 GiB": {join(iface, le.AppendUint32(le.AppendUint32(nil, 99), 0xfffffffc)), "cut short in a block"},
		"block of 0":             {join(iface, make([]byte, 12)), "a block of 0 bytes"},
		"block of 13":            {join(iface, le.AppendUint32(le.AppendUint32(nil, 6), 13), make([]byte, 8)), "multiple of 4"},
		"end differs":            {join(iface, wrongEnd), "that says"},
		"no interface":           {join(section(le), block(le, blockEnhanced, uint32(7), uint32(0), uint32(0), uint32(0), uint32(0))), "interface 7, but 0 are described"},
		"10^-64 s":               {join(section(le), block(le, blockInterface, uint16(1), uint16(0), uint32(0), uint16(9), uint16(1), "\x40")), "unit of 10^-64 s"},
		"2^-64 s":                {join(section(le), block(le, blockInterface, uint16(1), uint16(0), uint32(0), uint16(9), uint16(1), "\xc0")), "unit of 2^-64 s"},
		"xz":                     {[]byte("\xfd7zXZ\x00\x00\x04\xe6\xd6\xb4\x46\x02\x00\x21\x01\x16\x00\x00\x00\x74\x2f\xe5\xa3"), "otherwise than with gzip or zstd: xz -dc FILE"},
		"joined by cat":          {join(head, head), "offset 24: another capture begins here"},
		"gzip cut":               {compressed(t, "gzip", pcapOf(le, magicNano, 1, strings.Repeat("x", 5000)))[:40], "cut short"},
	} {
		all, f := read(t, c.file)
		if len(all) != 0 || f.Err == nil || !strings.Contains(f.Err.Error(), c.err) {
			t.Errorf("%s: %d packets, error %v, want %q", name, len(all), f.Err, c.err)
		}
	}
}

func compressed(t testing.TB, how string, data []byte) []byte {
	var b bytes.Buffer
	var w io.WriteCloser = gzip.NewWriter(&b)
	if how == "zstd" {
		z, err := zstd.NewWriter(&b)
		if err != nil {
			t.Fatal(err)
		}
		w = z
	}
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestCompressed(t *testing.T) {
	plain := pcapOf(binary.BigEndian, magicNano, 1, "abc", strings.Repeat("y", 4000))
	want, _ := read(t, plain)
	for _, how := range []string{"gzip", "zstd"} {
		all, f := read(t, compressed(t, how, plain))
		if d := cmp.Diff(want, all); d != "" || f.Err != nil {
			t.Errorf("%s: %v %s", how, f.Err, d)
		}
	}
	all, f := read(t, append(compressed(t, "gzip", plain), make([]byte, 512)...))
	if d := cmp.Diff(want, all); d != "" || f.Err == nil || !strings.HasSuffix(f.Err.Error(), "gzip: what follows is not compressed with gzip") {
		t.Errorf("padded: %v %s", f.Err, d)
	}
}

// TestTimes holds the units of pcapng's clocks at their ends.
func TestTimes(t *testing.T) {
	for _, c := range []struct {
		i     captureInterface
		units uint64
		want  int64
	}{
		{captureInterface{exp: 0, scale: 1e9}, 3, 3e9},
		{captureInterface{exp: 6, scale: 1000}, 1_500_000, 1_500_000_000},
		{captureInterface{exp: 12, scale: 1000}, 1_999, 1},
		{captureInterface{exp: 19, scale: 1e10}, 3e10, 3},
		{captureInterface{binary: true, exp: 0}, 4, 4e9},
		{captureInterface{binary: true, exp: 63}, 1 << 62, 500_000_000},
		{captureInterface{exp: 6, scale: 1000, offset: -2}, 1_000_000, -1e9},
		{captureInterface{exp: 0, scale: 1e9}, 1 << 63, 1<<63 - 1},
	} {
		if got := c.i.time(c.units); got != c.want {
			t.Errorf("%+v: %d units are %d ns, want %d", c.i, c.units, got, c.want)
		}
	}
}

func TestMerge(t *testing.T) {
	le := binary.LittleEndian
	var opened []*File
	for i, data := range [][]byte{
		pcapOf(le, magicNano, 1, "a1", "a2", "a3"),
		pcapOf(le, magicMicro, 1, "b1", "b2"),
		pcapOf(le, magicNano, 1),
		pcapOf(le, magicNano, 1, "c1", "c2", "c3")[:24+18+10],
	} {
		f, err := Open(fmt.Sprint(i), bytes.NewReader(data), 32)
		if err != nil {
			t.Fatal(err)
		}
		opened = append(opened, f)
	}
	m := Merge(opened...)
	var order []string
	for p := (Packet{}); m.Next(&p) == nil; {
		order = append(order, fmt.Sprintf("%d%s", p.File, p.Data))
	}
	if got := strings.Join(order, " "); got != "0a1 3c1 1b1 0a2 1b2 0a3" {
		t.Errorf("order %s", got)
	}
	if opened[3].Err == nil {
		t.Error("the cut file has no error")
	}
}

// batches reads all packets of a file several at a time, each compared only once those of its batch are all read.
func batches(t *testing.T, data []byte, buffer int) ([]got, error) {
	t.Helper()
	f, err := Open("f", bytes.NewReader(data), buffer)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var all []got
	var packets [7]Packet
	for {
		n, err := Read(Merge(f), packets[:])
		for _, p := range packets[:n] {
			all = append(all, got{p.Time, p.Link, p.Orig, string(p.Data)})
		}
		if err != nil {
			return all, f.Err
		}
	}
}

// TestRead reads packets in batches: they are those that come one by one, and none is overwritten by a later one of its batch.
func TestRead(t *testing.T) {
	le, be := binary.LittleEndian, binary.BigEndian
	var packets []string
	for i := range 200 {
		packets = append(packets, strings.Repeat(fmt.Sprint(i), 1+i%40))
	}
	ng := join(section(be), block(be, blockInterface, uint16(1), uint16(0), uint32(0)))
	for i, p := range packets {
		padded := p + strings.Repeat("\x00", -len(p)&3)
		ng = join(ng, block(be, blockEnhanced, uint32(0), uint32(0), uint32(i), uint32(len(p)), uint32(len(p)), padded))
		if i%9 == 0 {
			ng = join(ng, block(be, 77, "else"), block(be, blockStatistics, uint32(0), uint32(0), uint32(0)))
		}
	}
	for _, data := range [][]byte{pcapOf(le, magicNano, 1, packets...), pcapOf(be, magicModified, 1, packets...), ng} {
		for _, size := range []int{len(data), len(data) - 3} {
			for _, buffer := range []int{64, 1000, 1 << 16} {
				want, f := read(t, data[:size])
				have, err := batches(t, data[:size], buffer)
				if d := cmp.Diff(want, have); d != "" || len(want) < 199 || fmt.Sprint(err) != fmt.Sprint(f.Err) {
					t.Errorf("%d bytes, buffer of %d: %v, want %v\n%s", size, buffer, err, f.Err, d)
				}
			}
		}
	}
}

func FuzzOpen(f *testing.F) {
	le := binary.LittleEndian
	f.Add(pcapOf(le, magicMicro, 1, "abc"))
	f.Add(join(section(le), block(le, blockInterface, uint16(1), uint16(0), uint32(0), uint16(9), uint16(1), "\x8a"),
		block(le, blockEnhanced, uint32(0), uint32(0), uint32(5), uint32(3), uint32(3), "abc")))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Open("f", bytes.NewReader(data), 128)
		if err != nil {
			return
		}
		defer c.Close()
		for p := (Packet{}); c.Next(&p) == nil; {
			if len(p.Data) > MaxPacket || p.Orig < len(p.Data) {
				t.Fatalf("a packet of %d bytes, %d on the wire", len(p.Data), p.Orig)
			}
		}
		if len(c.in.buf) > 2*(MaxPacket+maxOptions) {
			t.Errorf("a buffer of %d bytes", len(c.in.buf))
		}
		singly, one := read(t, data)
		if together, err := batches(t, data, 128); !cmp.Equal(singly, together) || fmt.Sprint(err) != fmt.Sprint(one.Err) {
			t.Errorf("%d packets and %v, in batches %d and %v", len(singly), one.Err, len(together), err)
		}
	})
}
