// Package files reads capture files: pcap and pcapng, plain or compressed with gzip or zstd, one or several merged by time.
//
// [Open] reads one file, [Merge] several; both are a [Source], whose Next yields one packet after another in a buffer that is
// used again. Captures come from strangers: every length is checked against a limit before memory is asked for, nothing is
// mapped, and a file that breaks off or contradicts itself ends with an error that names the offset, after every packet that
// stands before it was handed over.
package files

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
)

const (
	// MaxPacket is the longest packet that is read, in bytes: twice what Linux lets a BIG TCP super-segment grow to.
	MaxPacket = 1 << 20
	// maxOptions bounds the options of one pcapng block that is kept in memory.
	maxOptions = 1 << 20
	// maxInterfaces bounds the interfaces of a section.
	maxInterfaces = 1 << 16
	// DefaultBuffer is how much of a file is read at once: so little that the processor's cache still holds it when it is looked at.
	DefaultBuffer = 1 << 17
)

// A Packet is one packet as it was captured.
type Packet struct {
	// Time is when it was captured, in nanoseconds since 1970 UTC.
	Time int64
	// Link says how Data begins.
	Link LinkType
	// Orig is the packet's length on the wire, at least len(Data).
	Orig int
	// File is the index of the file it came from, Interface the index of the pcapng interface within the section.
	File, Interface int
	// Speed is that of the interface in bits per second, 0 where the file does not state it.
	Speed uint64
	// Data is what was captured of it, and lasts until the next call of Next.
	Data []byte
}

// A Source yields packets.
type Source interface {
	// Next fills in the next packet. At the end the error is io.EOF.
	Next(p *Packet) error
}

// Stats is what a file held, as far as it was read.
type Stats struct {
	Name      string
	Packets   int64
	Bytes     int64 // on the wire
	Captured  int64
	Truncated int64 // packets of which less was captured than was on the wire
	// From and To are the earliest and the latest time of a packet, in nanoseconds since 1970 UTC.
	From, To int64
	Links    []LinkType
	// Dropped counts packets that the capture says it dropped itself, Known whether it says anything.
	Dropped uint64
	Known   bool
	// Err is why reading ended before the end of the file.
	Err error
}

// count adds packets to the statistics.
func (s *Stats) count(packets []Packet) {
	if len(packets) == 0 {
		return
	}
	if s.Packets == 0 {
		s.From, s.To = packets[0].Time, packets[0].Time
	}
	s.Packets += int64(len(packets))
	onWire, captured, truncated, from, to, link := int64(0), int64(0), int64(0), s.From, s.To, packets[0].Link
	s.link(link)
	for i := range packets {
		p := &packets[i]
		onWire += int64(p.Orig)
		captured += int64(len(p.Data))
		if len(p.Data) < p.Orig {
			truncated++
		}
		from, to = min(from, p.Time), max(to, p.Time)
		if p.Link != link {
			s.link(p.Link)
		}
	}
	s.Bytes += onWire
	s.Captured += captured
	s.Truncated += truncated
	s.From, s.To = from, to
}

// link notes a link type.
func (s *Stats) link(l LinkType) {
	if len(s.Links) < 64 && !slices.Contains(s.Links, l) {
		s.Links = append(s.Links, l)
	}
}

// A FormatError is a place in a file where it contradicts its format or breaks off. Offset counts the bytes of the capture
// itself: of the decompressed ones where it is compressed.
type FormatError struct {
	Offset int64
	Err    error
}

func (e *FormatError) Error() string { return fmt.Sprintf("offset %d: %v", e.Offset, e.Err) }
func (e *FormatError) Unwrap() error { return e.Err }

// format is a file format: it yields packets and is never called again after an error.
type format interface {
	next(p *Packet) error
	// more fills in packets that lie whole in what was read already, so that those before them stay where they are. It returns how
	// many; what is not a packet, or not a right one, it leaves to next.
	more(packets []Packet) (int, error)
}

// A File is one capture file. It is a [Source].
type File struct {
	Stats
	in     *input
	format format
	ended  bool
	closed func()
}

// Open begins to read a capture file. The name is for errors only. A file whose beginning is no capture is an error. Buffer is
// how much is read at once, DefaultBuffer if 0. Close releases what decompression holds; it does not close in.
func Open(name string, in io.Reader, buffer int) (*File, error) {
	if buffer <= 0 {
		buffer = DefaultBuffer
	}
	f := &File{Stats: Stats{Name: name}, closed: func() {}}
	plain, closed, err := decompressed(in, buffer)
	if err != nil {
		return nil, err
	}
	f.in, f.closed = &input{in: plain, buf: make([]byte, buffer)}, closed
	if f.format, err = recognize(f.in, &f.Stats); err != nil {
		closed()
		return nil, err
	}
	return f, nil
}

// Next fills in the next packet. After an error of the file it returns io.EOF, and Err says what was wrong.
func (f *File) Next(p *Packet) error {
	if err := f.next(p); err != nil {
		return err
	}
	f.count([]Packet{*p})
	return nil
}

// next is Next, but does not count the packet.
func (f *File) next(p *Packet) error {
	if f.ended {
		return io.EOF
	}
	if err := f.format.next(p); err != nil {
		f.end(err)
		return io.EOF
	}
	return nil
}

// end notes why reading ended.
func (f *File) end(err error) {
	f.ended = true
	if err != io.EOF {
		f.Err = err
	}
}

// Read fills in as many packets as are at hand, one at least, and returns how many. Unlike with Next they last together until the
// next call. At the end the error is io.EOF. Of several files that are merged it yields one at a time.
func Read(from Source, packets []Packet) (int, error) {
	if m, ok := from.(*Merged); ok && len(m.files) == 1 {
		from = m.files[0]
	}
	f, ok := from.(*File)
	if !ok {
		if err := from.Next(&packets[0]); err != nil {
			return 0, err
		}
		return 1, nil
	}
	if err := f.next(&packets[0]); err != nil {
		return 0, err
	}
	n, err := f.format.more(packets[1:])
	f.count(packets[:1+n])
	if err != nil {
		f.end(err)
	}
	return 1 + n, nil
}

// Offset returns how many bytes of the capture, decompressed, were consumed.
func (f *File) Offset() int64 { return f.in.offset() }

// Close releases what decompression holds.
func (f *File) Close() { f.closed() }

// recognize tells the format of a file by its first four bytes.
func recognize(in *input, stats *Stats) (format, error) {
	head, err := in.peek(4)
	if err != nil {
		if err == io.EOF {
			err = errors.New("the file is empty")
		} else if errors.Is(err, io.ErrUnexpectedEOF) {
			err = fmt.Errorf("cut short in the file header: %w", err)
		}
		return nil, &FormatError{0, err}
	}
	if [4]byte(head) == [4]byte{0x0a, 0x0d, 0x0d, 0x0a} {
		f := &pcapng{in: in, stats: stats}
		return f, f.section()
	}
	f, err := openPcap(in)
	if f == nil {
		return nil, err
	}
	return f, err
}

// nanoseconds joins seconds and nanoseconds since 1970 UTC without overflow: times that int64 cannot hold become the last it can.
func nanoseconds(sec int64, nanos int64) int64 {
	switch {
	case sec > math.MaxInt64/1_000_000_000-2:
		return math.MaxInt64
	case sec < math.MinInt64/1_000_000_000+2:
		return math.MinInt64
	}
	return sec*1_000_000_000 + nanos
}
