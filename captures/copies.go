package captures

import (
	"encoding/binary"

	"whichlink/captures/frames"
)

// How long after a packet another one that is equal in all that a path keeps is a copy of it. With an IPv4 identification a
// second is safe: a sender numbers a retransmission anew. Without one only what lies close together is: a segment's checksum
// covers a time stamp of milliseconds, and a queue pair repeats a packet bit by bit, though never sooner than a round trip.
const (
	copyWindow     = 1_000_000_000
	copyWindowNoID = 1_000_000
	copyWindowRoCE = 2_000
)

// A seen is a packet that passed: all but the lowest byte of its hash, its TTL, and when.
type seen struct {
	key  uint64
	time int64
}

// A copyTable remembers packets that passed of late: sets of four that lie in one line of the processor's cache. It grows while
// it has to forget what is young, up to a limit.
type copyTable struct {
	sets   [][4]seen
	limit  int // of sets
	forgot int // entries that were younger than the window when they had to go, since it grew
}

const (
	minCopySets = 1 << 11 // 128 KiB
	maxCopySets = 1 << 14 // 1 MiB, which the cache of one core holds beside the flows
	// and where copies were found, it is worth more
	maxCopySetsMirror = 1 << 17 // 8 MiB
)

func newCopyTable() copyTable {
	return copyTable{sets: make([][4]seen, minCopySets), limit: maxCopySets}
}

// set returns where a hash is looked for.
func (c *copyTable) set(hash uint64) *[4]seen { return &c.sets[hash>>32&uint64(len(c.sets)-1)] }

// touch fetches that.
func (c *copyTable) touch(hash uint64) uint64 { return c.set(hash)[0].key }

// look says whether an equal packet passed within the window, and remembers this one. Gap is the time since, ttl what it had then.
// A set is kept in the order of arrival, so that nothing but what is found decides where the processor goes on.
func (c *copyTable) look(hash uint64, ttl uint8, now int64) (found bool, gap int64, before uint8) {
	set, key := c.set(hash), hash&^0xff
	s := &set[0]
	switch key {
	case set[0].key &^ 0xff:
	case set[1].key &^ 0xff:
		s = &set[1]
	case set[2].key &^ 0xff:
		s = &set[2]
	case set[3].key &^ 0xff:
		s = &set[3]
	default:
		last := set[3]
		set[3], set[2], set[1], set[0] = set[2], set[1], set[0], seen{key | uint64(ttl), now}
		if last.key != 0 && now-last.time < copyWindow && len(c.sets) < c.limit {
			if c.forgot++; c.forgot > len(c.sets)/64 {
				c.grow()
			}
		}
		return false, 0, 0
	}
	gap, before = now-s.time, uint8(s.key)
	if gap >= -copyWindow && gap <= copyWindow {
		return true, max(gap, -gap), before
	}
	s.key, s.time = key|uint64(ttl), now
	return false, 0, 0
}

func (c *copyTable) grow() {
	was := c.sets
	c.sets, c.forgot = make([][4]seen, 2*len(was)), 0
	for _, set := range was {
		for _, s := range set {
			if s.key == 0 {
				continue
			}
			to := &c.sets[s.key>>32&uint64(len(c.sets)-1)]
			for i := range to {
				if to[i].key == 0 {
					to[i] = s
					break
				}
			}
		}
	}
}

// copyHash sums up what a path does not change in a packet of a flow. It reports false for packets that are not judged.
func copyHash(f *frames.Frame, ip *frames.IP) (uint64, bool) {
	h := uint64(binary.LittleEndian.Uint32(ip.Src[12:]))<<32 | uint64(binary.LittleEndian.Uint32(ip.Dst[12:]))
	if ip.Version == 6 {
		h = fold(h, binary.LittleEndian.Uint64(ip.Src[:])) ^ fold(uint64(ip.ID), binary.LittleEndian.Uint64(ip.Dst[:]))
		h = fold(h^uint64(binary.LittleEndian.Uint32(ip.Src[8:])), uint64(binary.LittleEndian.Uint32(ip.Dst[8:])))
	}
	h = fold(h, uint64(ip.SrcPort)<<48|uint64(ip.DstPort)<<32|uint64(uint16(ip.ID))<<16|uint64(uint16(ip.Len)))
	switch f.Kind {
	case frames.TCPSegment:
		t := &f.TCP
		return fold(h^(uint64(t.Seq)<<32|uint64(t.Ack)), uint64(t.Checksum)<<32|uint64(t.Flags)<<16|uint64(t.Window)), true
	case frames.RoCEPacket:
		t := &f.BTH
		crc := uint32(0)
		if f.End <= len(f.Data) && f.End >= t.Off+16 {
			crc = binary.LittleEndian.Uint32(f.Data[f.End-4:])
		}
		return fold(h^(uint64(t.PSN)<<32|uint64(t.Opcode)<<24|uint64(t.Syndrome)), uint64(crc)<<32|uint64(t.DestQP)), true
	case frames.UDPPacket:
		if ip.ID == 0 || f.L4+8 > len(f.Data) {
			return 0, false
		}
		return fold(h, uint64(binary.BigEndian.Uint32(f.Data[f.L4+4:]))), true
	}
	return 0, false
}

// isCopy says whether a packet of a flow that is equal to one a while before it, which had a certain TTL, is a copy of that, and not sent
// again.
func (a *Analyzer) isCopy(s *Sight, gap int64, ttl uint8) bool {
	f, ip := s.Frame, s.IP
	if ip.ID == 0 {
		switch {
		case gap > copyWindowNoID:
			return false
		case ttl != ip.TTL:
		case f.Kind == frames.RoCEPacket:
			return gap <= copyWindowRoCE
		case f.Kind == frames.TCPSegment && a.likelySentAgain(s):
			return false
		}
	}
	return true
}

// likelySentAgain says that an equal segment without identification was sent twice: a duplicate acknowledgement repeats itself,
// and a fast retransmission answers three of those.
func (a *Analyzer) likelySentAgain(s *Sight) bool {
	t, peer := &s.Frame.TCP, &s.flow.halves[1-s.Dir]
	if t.Len == 0 && t.Flags&(frames.SYN|frames.FIN|frames.RST) == 0 {
		return s.flow.state&sawCopy == 0
	}
	return peer.dups >= 2 && peer.ack == t.Seq
}
