package captures

import (
	"testing"

	"whichlink/captures/files"
)

// FuzzRare hands the decoders of rare protocols whatever comes, twice, as what follows depends on what was seen before.
func FuzzRare(f *testing.F) {
	ethernet := func(kind ...byte) []byte {
		return append(append([]byte{1, 0x80, 0xc2, 0, 0, 2, 2, 0, 0, 0, 0, 1}, kind...), make([]byte, 100)...)
	}
	f.Add(true, ethernet(0x88, 0x09, 1, 1, 1, 20))
	f.Add(true, ethernet(0x88, 0xcc, 2, 7, 4, 2, 0, 0, 0, 0, 1, 4, 3, 5, 'a', 'b', 10, 2, 'x', 'y'))
	f.Add(true, ethernet(0, 60, 0xaa, 0xaa, 3, 0, 0, 0x0c, 0x20, 0, 2, 180, 0, 0, 0, 1, 0, 6, 'a', 'b', 0, 3, 0, 5, 'c'))
	ip := func(proto byte, payload ...byte) []byte {
		return append([]byte{0x45, 0, 0, byte(20 + len(payload)), 0, 1, 0, 0, 9, proto, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2}, payload...)
	}
	f.Add(false, ip(protoOSPF, append([]byte{2, 1, 0, 48, 1, 1, 1, 1}, make([]byte, 40)...)...))
	f.Add(true, ethernet(0, 38, 0x42, 0x42, 3, 0, 0, 2, 2, 1))
	f.Add(true, ethernet(0, 38, 0xaa, 0xaa, 3, 0, 0, 0x0c, 1, 0x0b, 0, 0, 0, 0x80))
	f.Add(false, ip(protoVRRP, 0x31, 7, 100, 1, 0, 100, 0, 0, 10, 0, 0, 254))
	f.Add(false, ip(17, append([]byte{0xc0, 0, 0x0e, 0xc8, 0, 32, 0, 0, 0x20, 0xc0, 3, 24}, make([]byte, 20)...)...))
	f.Add(false, ip(6, append(segment(false, 16, 1, 1, 0), append(append([]byte{}, bgpMarker...), 0, 21, 3, 6, 2)...)...))
	f.Add(false, ip(1, append([]byte{5, 1, 0, 0, 10, 0, 0, 9}, ip(17, 1, 2, 3, 4, 0, 8, 0, 0)...)...))
	f.Fuzz(func(t *testing.T, frame bool, data []byte) {
		a, link := New(Config{}), files.Raw
		if frame {
			link = files.Ethernet
		}
		for i := range 3 {
			a.Add(&files.Packet{Time: 1e18 + int64(i)*1e9, Link: link, Orig: len(data), Data: data})
			if len(data) > 0 {
				data = append([]byte{}, data...)
				data[len(data)*i/3]++
			}
		}
		_ = a.Report().Text()
	})
}
