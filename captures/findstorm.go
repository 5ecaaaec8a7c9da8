package captures

import (
	"bytes"
	"fmt"

	"whichlink/captures/frames"
)

const (
	// stormBin is the time over which frames are counted, stormFrames how many of them in it make a storm: 1000 a second. Switches'
	// storm control begins at rates of this order.
	stormBin    = 100_000_000
	stormFrames = 100

	typeARP = 0x0806
)

// A favourite finds the value that the most of many have, if it is more than half of them (Boyer and Moore's vote).
type favourite struct {
	value [6]byte
	votes int64
}

func (f *favourite) vote(v []byte) {
	switch {
	case f.votes == 0:
		f.value, f.votes = [6]byte{}, 1
		copy(f.value[:], v)
	case bytes.Equal(f.value[:len(v)], v):
		f.votes++
	default:
		f.votes--
	}
}

// A storm counts frames of one sort by bins of time.
type storm struct {
	bin         int64 // the running bin
	inBin       int64
	frames      int64 // in bins that were storms
	bins        int64
	first, last int64
	peak        int64
	sender      favourite
	target      favourite
	asked       favourite // what the running bin asks for, to be kept if it becomes a storm
	sent        favourite
}

// The sorts of frames that storm.
const (
	stormARP = iota
	stormBroadcast
	stormMulticast
	stormND
	numStorms
)

var stormKinds = [numStorms]struct {
	name, what, filter string
}{
	{"arp-storm", "ARP frame", "arp"},
	{"broadcast-storm", "broadcast frame", "eth.dst == ff:ff:ff:ff:ff:ff && !arp"},
	{"multicast-storm", "multicast frame without IP", "eth.dst[0] & 1 && eth.dst != ff:ff:ff:ff:ff:ff"},
	{"nd-storm", "neighbour solicitation", "icmpv6.type == 135"},
}

// A stormFinder counts what bridges flood: ARP, neighbour discovery, broadcasts, and multicasts without IP.
type stormFinder struct {
	a      *Analyzer
	storms [numStorms]storm
}

func newStormFinder(a *Analyzer) finder { return &stormFinder{a: a} }

func (f *stormFinder) see(s *Sight) {
	fr := s.Frame
	kind, target := stormBroadcast, []byte(nil)
	switch {
	case fr.EtherType == typeARP:
		kind = stormARP
		if at := fr.Link + 24; at+4 <= len(fr.Data) {
			target = fr.Data[at : at+4]
		}
	case fr.Kind == frames.ICMPPacket && s.IP.Version == 6 && fr.ICMP.Type == 135:
		kind = stormND
		if at := fr.L4 + 20; at+4 <= len(fr.Data) {
			target = fr.Data[at : at+4] // the last bytes tell neighbours apart
		}
	case *(*[6]byte)(fr.DstMAC()) != [6]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}:
		if s.IP != nil || fr.Kind == frames.MACControl {
			return // multicast of IP is wanted, and pauses have a finder of their own
		}
		kind = stormMulticast
	}
	f.storms[kind].take(s.Time, fr.SrcMAC(), target)
}

// take counts a frame.
func (t *storm) take(now int64, sender, target []byte) {
	if bin := now / stormBin; bin != t.bin {
		t.bin, t.inBin, t.sent, t.asked = bin, 0, favourite{}, favourite{}
	}
	t.inBin++
	switch {
	case t.inBin < stormFrames:
		t.sent.vote(sender)
		t.asked.vote(target)
		return
	case t.inBin == stormFrames:
		t.bins++
		t.frames += stormFrames - 1
		if t.first == 0 {
			t.first = t.bin * stormBin
			t.sender, t.target = t.sent, t.asked
		}
	}
	t.frames++
	t.last = now
	t.peak = max(t.peak, t.inBin)
	t.sender.vote(sender)
	t.target.vote(target)
}

func (f *stormFinder) report(r *Report) {
	for i := range f.storms {
		t, kind := &f.storms[i], &stormKinds[i]
		if t.frames == 0 {
			continue
		}
		text := fmt.Sprintf("up to %d a second, in %s of 100 ms", t.peak*10, plural(t.bins, "bin"))
		one, same := 2*t.sender.votes > t.frames, 2*t.target.votes > t.frames
		filter := kind.filter
		if one {
			text += ", most from " + macName(t.sender.value[:])
			filter += " && eth.src == " + macName(t.sender.value[:])
		}
		if i == stormARP {
			target := fmt.Sprintf("%d.%d.%d.%d", t.target.value[0], t.target.value[1], t.target.value[2], t.target.value[3])
			switch {
			case same && !one:
				text += fmt.Sprintf(", most for %s: many ask for one that does not answer, or a loop repeats one question", target)
			case same:
				text += ", most for " + target
			case one:
				text += ", for many addresses: a scan"
			}
		}
		r.Findings = append(r.Findings, Finding{
			Finding: kind.name, Severity: Critical, Subject: plural(t.frames, kind.what), Count: t.frames, From: instant(t.first), To: instant(t.last),
			Text: text, Rule: fmt.Sprintf("%d frames or more within 100 ms", stormFrames), Filter: filter,
		})
	}
}
