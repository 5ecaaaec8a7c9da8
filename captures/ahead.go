package captures

import (
	"whichlink/captures/files"
	"whichlink/captures/frames"
)

// batch is how many packets are looked at before the first of them is followed. A miss of the processor's cache takes as long as
// hundreds of instructions: the misses of so many packets are waited for together.
const batch = 16

// A preview is what of a packet depends on the packet alone.
type preview struct {
	frame  frames.Frame
	ported bool // it belongs to a flow
	judged bool // its hash for copies counts
	marks  mark // those that the packet alone tells
}

// A sought is what a packet is looked for by.
type sought struct {
	ends       ends
	hash, copy uint64 // of its flow, and of what a copy of it has too
	number     uint32 // of the flow, as far as half of its hash tells; 0 for none
}

// ported says whether an IP header names a flow.
func ported(ip *frames.IP) bool { return ip.SrcPort|ip.DstPort != 0 && !ip.Fragment }

// look decodes packets, and touches what they will be compared with: the slots that tell which flow they are of, the sets of
// packets that passed, and then the flows. Each loop that touches does nothing else: the processor waits for memory together only
// where little stands between.
func (a *Analyzer) look(packets []files.Packet) {
	for i := range packets {
		a.preview(&packets[i], &a.ahead[i%batch], &a.sought[i%batch])
	}
	a.flows.renewed = false
	touched := uint64(0)
	sought := a.sought[:min(len(packets), batch)]
	for i := range sought {
		x := &sought[i]
		x.number = a.flows.index.guess(x.hash)
		touched += a.copies.touch(x.copy)
	}
	for i := range sought {
		touched += a.flows.touch(sought[i].number)
	}
	a.touched += touched
}

// preview decodes a packet. Hashes that do not count stay those of an earlier packet: there is always one to touch.
func (a *Analyzer) preview(p *files.Packet, v *preview, x *sought) {
	f := &v.frame
	f.Decode(p.Link, p.Orig, p.Data)
	v.ported, v.judged, v.marks = false, false, 0
	switch {
	case f.MAC < 0:
		v.marks = markAlone
	case f.Data[f.MAC]&1 != 0 || f.EtherType == typeARP:
		v.marks = markGroup
	}
	ip := f.IP()
	if ip == nil {
		return
	}
	if ip.CE() || f.NumIPs > 1 && f.CE() {
		v.marks |= markCE
	}
	if !ported(ip) {
		return
	}
	if f.Kind == frames.TCPSegment && (ip.DstPort == bgpPort || ip.SrcPort == bgpPort) {
		v.marks |= markBGP
	}
	v.ported = true
	x.ends = endsOf(ip)
	x.hash = x.ends.hash()
	x.copy, v.judged = copyHash(f, ip)
}
