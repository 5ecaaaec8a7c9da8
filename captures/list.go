package captures

import (
	"fmt"
	"net"
	"strings"
	"time"

	"whichlink/captures/files"
	"whichlink/captures/frames"
)

// A Line is one packet as lists of packets show it.
type Line struct {
	// Number counts the packets of its file from 1, as Wireshark does; File is its index among the files that are read.
	Number int64
	File   int
	Time   time.Time
	// Src and Dst are the innermost IP addresses, or Ethernet addresses where there are none; empty where neither is known.
	Src, Dst string
	Proto    string
	Len      int    // on the wire, in bytes
	Info     string // what its headers say
}

// A List takes down chosen packets, the first so many, and counts all of them. Payload is never part of it.
type List struct {
	Lines []Line
	// Total counts the chosen packets, also those that there was no room for.
	Total  int64
	choice Choice
	most   int
	number []int64 // of packets read, by file
	frame  frames.Frame
}

// NewList makes a list of at most so many of the packets that a choice chooses.
func NewList(choice Choice, most int) *List { return &List{choice: choice, most: most} }

// Add takes a packet down if it is chosen and there is room.
func (l *List) Add(p *files.Packet) {
	for len(l.number) <= p.File {
		l.number = append(l.number, 0)
	}
	l.number[p.File]++
	l.frame.Decode(p.Link, p.Orig, p.Data)
	if !l.choice.Has(p, &l.frame) {
		return
	}
	l.Total++
	if len(l.Lines) < l.most {
		l.Lines = append(l.Lines, line(p, &l.frame, l.number[p.File]))
	}
}

// line says what the headers of a packet say.
func line(p *files.Packet, f *frames.Frame, number int64) Line {
	x := Line{Number: number, File: p.File, Time: *instant(p.Time), Len: max(p.Orig, len(p.Data))}
	ip := f.IP()
	switch {
	case ip != nil:
		x.Src, x.Dst = ip.Src.Netip().String(), ip.Dst.Netip().String()
	case f.MAC >= 0:
		x.Src, x.Dst = macName(f.SrcMAC()), macName(f.DstMAC())
	}
	x.Proto, x.Info = protocol(f)
	if f.CE() {
		x.Info += "  CE"
	}
	if t := f.Tunnels[max(0, f.NumIPs-1)]; t != frames.NoTunnel {
		x.Info += "  tunnelled"
	}
	if f.Malformed {
		x.Info += "  malformed"
	}
	x.Info = strings.TrimSpace(x.Info)
	return x
}

// protocol names what the innermost header is, and says what stands in it.
func protocol(f *frames.Frame) (name, info string) {
	ip := f.IP()
	switch f.Kind {
	case frames.TCPSegment:
		t := &f.TCP
		info = fmt.Sprintf("%d > %d [%s] seq %d", ip.SrcPort, ip.DstPort, flagNames(t.Flags), t.Seq)
		if t.Flags&frames.ACK != 0 {
			info += fmt.Sprintf(" ack %d", t.Ack)
		}
		info += fmt.Sprintf(" win %d len %d", t.Window, t.Len)
		for i := range min(int(t.Blocks), len(t.SACK)) {
			info += fmt.Sprintf(" sack %d-%d", t.SACK[i].Left, t.SACK[i].Right)
		}
		return "TCP", info
	case frames.UDPPacket:
		return "UDP", fmt.Sprintf("%d > %d payload %d", ip.SrcPort, ip.DstPort, max(0, ip.Len-8))
	case frames.ICMPPacket:
		m := &f.ICMP
		info = fmt.Sprintf("type %d code %d", m.Type, m.Code)
		if m.HasQuoted {
			q := &m.Quoted
			info += fmt.Sprintf(" about %s", net.JoinHostPort(q.Src.Netip().String(), fmt.Sprint(q.SrcPort)))
			info += ">" + net.JoinHostPort(q.Dst.Netip().String(), fmt.Sprint(q.DstPort))
		} else {
			info += fmt.Sprintf(" id %d seq %d", m.ID, m.Seq)
		}
		return "ICMP", info
	case frames.RoCEPacket:
		b := &f.BTH
		info = fmt.Sprintf("opcode %d qp 0x%06x psn %d payload %d", b.Opcode, b.DestQP, b.PSN, b.Payload)
		if b.HasAETH {
			info += fmt.Sprintf(" syndrome 0x%02x", b.Syndrome)
		}
		return "RoCE", info
	case frames.MACControl:
		return "PAUSE", pauseWords(&f.Pause)
	case frames.Fragment:
		return "IP", fmt.Sprintf("fragment of 0x%04x, protocol %d", ip.ID, ip.Proto)
	case frames.IPOther:
		return "IP", fmt.Sprintf("protocol %d", ip.Proto)
	}
	return fmt.Sprintf("0x%04x", f.EtherType), ""
}

// pauseWords says for how long which classes are told to pause.
func pauseWords(p *frames.Pause) string {
	var words []string
	for c, quanta := range p.Quanta {
		switch {
		case p.Classes&(1<<c) == 0:
		case quanta == 0:
			words = append(words, fmt.Sprintf("class %d resumes", c))
		default:
			words = append(words, fmt.Sprintf("class %d pauses for %d quanta", c, quanta))
		}
	}
	return strings.Join(words, ", ")
}

func flagNames(flags uint16) string {
	var names []string
	for i, n := range []string{"FIN", "SYN", "RST", "PSH", "ACK", "URG", "ECE", "CWR", "AE"} {
		if flags&(1<<i) != 0 {
			names = append(names, n)
		}
	}
	return strings.Join(names, " ")
}
