package captures

import "whichlink/captures/frames"

// A span is sequence numbers [lo, hi).
type span struct{ lo, hi uint32 }

// maxAgain is how many segments of a direction that came again are remembered until the receiver says of them that it had them.
const maxAgain = 8

// duplicateSACK returns what an acknowledgement says arrived twice (RFC 2883): its first block lies below what it acknowledges, or within
// its second block.
func duplicateSACK(seg *frames.TCP) (span, bool) {
	if seg.Blocks == 0 {
		return span{}, false
	}
	d := span{seg.SACK[0].Left, seg.SACK[0].Right}
	if !after(d.hi, d.lo) {
		return span{}, false
	}
	outer := seg.SACK[1]
	below := !after(d.hi, seg.Ack)
	within := seg.Blocks > 1 && !after(outer.Left, d.lo) && !after(d.hi, outer.Right)
	return d, below || within
}

// unneeded takes back that segments were lost behind the point of capture where the receiver says that they arrived twice: the one that was
// seen first did not get lost.
func (t *tcpTracker) unneeded(x *troubles, d span) {
	kept := x.again[:0]
	for _, s := range x.again[:x.agains] {
		if !after(d.hi, s.lo) || !after(s.hi, d.lo) {
			kept = append(kept, s)
			continue
		}
		x.lostAfter--
		x.unneeded++
		t.counts.lostAfter--
		t.counts.unneeded++
	}
	x.agains = uint8(len(kept))
	t.noted = true
}

// cameAgain remembers a segment that was counted as lost behind the point of capture.
func (x *troubles) cameAgain(s span) {
	if x.agains == maxAgain {
		copy(x.again[:], x.again[1:])
		x.agains--
	}
	x.again[x.agains] = s
	x.agains++
}
