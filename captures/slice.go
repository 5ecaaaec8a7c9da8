package captures

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"time"

	"github.com/google/gopacket"
	"github.com/google/gopacket/pcapgo"

	"whichlink/captures/files"
	"whichlink/captures/frames"
)

// A Slice writes chosen packets into a pcapng file, whole as they were captured, with their times and the interfaces that they came from.
type Slice struct {
	// Packets counts what was written.
	Packets int64
	choice  Choice
	names   []string
	out     linkWriter
	w       *pcapgo.NgWriter // nil before the first packet
	ids     map[sliceInterface]int
	frame   frames.Frame
}

// A sliceInterface is what must differ for packets to be of different interfaces of the file that is written.
type sliceInterface struct {
	file, iface int
	link        files.LinkType
}

// NewSlice begins a file. Names are those of the files that packets come from, by files.Packet.File.
func NewSlice(out io.Writer, choice Choice, names []string) *Slice {
	return &Slice{choice: choice, names: names, out: linkWriter{out: out}, ids: map[sliceInterface]int{}}
}

// Add writes a packet if it is chosen.
func (s *Slice) Add(p *files.Packet) error {
	s.frame.Decode(p.Link, p.Orig, p.Data)
	if !s.choice.Has(p, &s.frame) {
		return nil
	}
	id, err := s.iface(p)
	if err != nil {
		return err
	}
	s.Packets++
	return s.w.WritePacket(gopacket.CaptureInfo{
		Timestamp: time.Unix(0, max(0, p.Time)), CaptureLength: len(p.Data), Length: max(p.Orig, len(p.Data)), InterfaceIndex: id,
	}, p.Data)
}

// Close writes what is still held. Nothing is written of a file without packets.
func (s *Slice) Close() error {
	if s.w == nil {
		return nil
	}
	return s.w.Flush()
}

// iface finds the interface of a packet in the file that is written, and describes it there when it is new.
func (s *Slice) iface(p *files.Packet) (int, error) {
	const longestName = 255
	k := sliceInterface{p.File, p.Interface, p.Link}
	id, known := s.ids[k]
	if known {
		return id, nil
	}
	name := fmt.Sprintf("interface %d", p.Interface)
	if p.File < len(s.names) {
		name = s.names[p.File] + " " + name
	}
	description := pcapgo.NgInterface{Name: name[max(0, len(name)-longestName):], TimestampResolution: 9}
	var err error
	if s.w == nil {
		s.out.link, s.out.describes = p.Link, true
		options := pcapgo.NgWriterOptions{SectionInfo: pcapgo.NgSectionInfo{Application: "whichlink"}}
		s.w, err = pcapgo.NewNgWriterInterface(&s.out, description, options)
	} else if err = s.w.Flush(); err == nil {
		s.out.link, s.out.describes = p.Link, true
		id, err = s.w.AddInterface(description)
	}
	if err == nil {
		err = s.w.Flush()
	}
	s.ids[k] = id
	return id, err
}

// A linkWriter puts link types into interface descriptions, of which the library writes the lowest eight bits only: Linux's cooked
// captures would become Token Ring.
type linkWriter struct {
	out       io.Writer
	link      files.LinkType
	describes bool // what is written next ends with an interface description
}

// Write writes whole blocks where one of them describes an interface, and puts its link type into that.
func (w *linkWriter) Write(b []byte) (int, error) {
	const descriptionBlock, linkAt, header = 1, 8, 12
	if !w.describes {
		return w.out.Write(b)
	}
	w.describes = false
	b = bytes.Clone(b)
	for at := 0; at+header <= len(b); {
		if binary.LittleEndian.Uint32(b[at:]) == descriptionBlock {
			binary.LittleEndian.PutUint16(b[at+linkAt:], uint16(w.link))
		}
		at += int(max(header, binary.LittleEndian.Uint32(b[at+4:])))
	}
	return w.out.Write(b)
}
