package captures

import (
	"slices"

	"github.com/google/gopacket"
)

// cold decodes a packet of a protocol that is rare by gopacket, and returns one of its layers, or the zero value where it was not found:
// what comes behind is decoded no further than that protocol itself goes. The library recovers from panics of its decoders, of which some
// can be driven into one; those that ask for gigabytes stand behind ports of UDP, where none of the protocols decoded here lead to.
// The layer refers to data, and no decoder sees what lies behind it in memory.
func cold[L gopacket.Layer](first gopacket.LayerType, data []byte) (layer L) {
	p := gopacket.NewPacket(slices.Clip(data), first, gopacket.DecodeOptions{NoCopy: true})
	for _, l := range p.Layers() {
		if found, ok := l.(L); ok {
			return found
		}
	}
	return layer
}

// whole returns the fields at the beginning of b that are there as a whole, for the library refuses what breaks off, and a capture with a
// snap length breaks it off. Length returns a field's length, of which the first n bytes say it; less than n bytes is no field.
func whole(b []byte, n int, length func([]byte) int) []byte {
	at := 0
	for at+n <= len(b) {
		l := length(b[at:])
		if l < n || at+l > len(b) {
			break
		}
		at += l
	}
	return b[:at:at]
}
