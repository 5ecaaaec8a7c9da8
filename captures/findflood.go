package captures

import (
	"encoding/binary"
	"fmt"
)

const (
	// maxStations bounds the addresses of Ethernet that are followed, pairSlots is how many pairs of them are found without a search.
	maxStations = 4096
	pairSlots   = 1 << 12
	// bothWays is the share of unicast frames that must go to stations that are heard, for the point of capture to see both directions.
	bothWays = 0.1
)

// A station is an Ethernet address: whether frames came from it, and those that went to it and nobody answered, by bins as a storm's.
type station struct {
	mac              [6]byte
	sends            bool
	received         int64
	bin, inBin, peak int64
	frames, bins     int64 // in bins that were storms
	first, last      int64
	file, iface      int
}

// A stationKey is an address on one interface of a file, for each point of capture has its own neighbours.
type stationKey struct {
	mac         [6]byte
	file, iface int
}

// A pairSlot is the pair of addresses, destination first, of an interface that was seen last in its place.
type pairSlot struct {
	key    [12]byte
	iface  int
	file   int
	target int32 // index of the destination and one
}

// A floodFinder tells unicast frames that switches flood, because the address that they go to is not heard from, or was forgotten: many
// frames for a station that sends nothing, at a point that otherwise sees both directions.
type floodFinder struct {
	a        *Analyzer
	stations roll[stationKey, station]
	slots    []pairSlot
}

func newFloodFinder(a *Analyzer) finder {
	return &floodFinder{a: a, stations: roll[stationKey, station]{most: maxStations}, slots: make([]pairSlot, pairSlots)}
}

// see takes frames that nobody answered up to now, and of the others the first of each direction of a flow, from which the sender is known.
func (f *floodFinder) see(s *Sight) {
	fr := s.Frame
	tap := f.a.points.last
	if tap == nil {
		return
	}
	if fr.MAC < 0 {
		tap.apart++
		return
	}
	key := (*[12]byte)(fr.Data[fr.MAC:])
	if key[0]&1 != 0 {
		tap.apart++
		f.hear(s, key)
		return
	}
	// A gateway that several routers share answers by their own addresses: what is answered was not flooded.
	if s.flow != nil && s.flow.halves[1-s.Dir].packets > 0 {
		f.hear(s, key)
		return
	}
	tap.alone++
	h := fold(binary.LittleEndian.Uint64(key[:]), uint64(binary.LittleEndian.Uint32(key[8:])))
	slot := &f.slots[h%pairSlots]
	if slot.target == 0 || slot.key != *key || slot.iface != s.Interface || slot.file != s.File {
		if !f.meet(s, key, slot) {
			return
		}
	}
	f.stations.all[slot.target-1].take(s.Time)
}

// meet finds the stations of a frame and puts them into a slot. It reports false where there is no room for more.
func (f *floodFinder) meet(s *Sight, key *[12]byte, slot *pairSlot) bool {
	f.hear(s, key)
	k := stationKey{[6]byte(key[:]), s.File, s.Interface}
	to, _ := f.stations.of(k)
	if to == nil {
		return false
	}
	to.mac, to.file, to.iface = k.mac, k.file, k.iface
	*slot = pairSlot{*key, s.Interface, s.File, int32(f.stations.index[k] + 1)}
	return true
}

// hear notes the station that a frame comes from.
func (f *floodFinder) hear(s *Sight, key *[12]byte) {
	k := stationKey{[6]byte(key[6:]), s.File, s.Interface}
	if from, _ := f.stations.of(k); from != nil {
		from.mac, from.file, from.iface, from.sends = k.mac, k.file, k.iface, true
	}
}

// take counts a frame that goes to a station and may be flooded.
func (t *station) take(now int64) {
	t.received++
	if bin := now / stormBin; bin != t.bin {
		t.bin, t.inBin = bin, 0
	}
	t.inBin++
	switch {
	case t.inBin < stormFrames:
		return
	case t.inBin == stormFrames:
		t.bins++
		t.frames += stormFrames - 1
		if t.bins == 1 {
			t.first = t.bin * stormBin
		}
	}
	t.frames++
	t.peak, t.last = max(t.peak, t.inBin), now
}

func (f *floodFinder) report(r *Report) {
	all, heard := map[pointKey]int64{}, map[pointKey]int64{}
	for i := range f.a.points.all {
		p := &f.a.points.all[i]
		all[p.pointKey] = p.frames + p.loads[0].frames - p.apart
		heard[p.pointKey] = all[p.pointKey] - p.alone
	}
	for i := range f.stations.all {
		if t := &f.stations.all[i]; t.sends {
			heard[pointKey{t.file, t.iface}] += t.received
		}
	}
	list := ranking{most: f.a.cfg.MaxFindings}
	for i := range f.stations.all {
		t := &f.stations.all[i]
		at := pointKey{t.file, t.iface}
		if !t.sends && t.frames > 0 && float64(heard[at]) >= bothWays*float64(all[at]) {
			list.add(candidate{t.frames, t.first, t.last, uint32(i), 0})
		}
	}
	list.tell(r, func(c candidate) Finding {
		t := &f.stations.all[c.number]
		return Finding{
			Finding: "unknown-unicast", Severity: Warning, Subject: "frames to " + macName(t.mac[:]), about: chooseMAC(t.mac[:]),
			Text: fmt.Sprintf("up to %d a second for a station from which nothing was captured, in %s of 100 ms: switches flood them, as they do not hear it or have forgotten it",
				t.peak*10, plural(t.bins, "bin")),
			Rule:   fmt.Sprintf("%d unicast frames or more within 100 ms that nobody answered, to an address that sends none, where a tenth of all unicast frames or more go to addresses that do", stormFrames),
			Filter: "eth.dst == " + macName(t.mac[:]),
		}
	})
}
