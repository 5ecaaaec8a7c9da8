package captures

import "cmp"

// A pointKey is a point of capture: one interface of a file.
type pointKey struct{ file, iface int }

// nearPoints is how many points of capture are found without a search.
const nearPoints = 64

// points holds what is counted at each point of capture, in the order in which they were met.
type points struct {
	roll[pointKey, tapLoad]
	speed uint64              // of all links, if it was told; else each file states it
	last  *tapLoad            // of the packet that is looked at, nil if there are too many; a pointer into all, which moves only when find makes another
	near  [nearPoints]tapSlot // by the lower bits of file and interface
}

// A tapSlot is the point that was last found in its place.
type tapSlot struct {
	pointKey
	number int // its index and one
}

// find returns the point of a packet where that is not last, and makes it if it is new; nil if there are too many. It lasts until the next call.
func (t *points) find(s *Sight) *tapLoad {
	k := pointKey{s.File, s.Interface}
	slot := &t.near[uint(k.file*7+k.iface)%nearPoints]
	if slot.number == 0 || slot.pointKey != k {
		p, fresh := t.roll.of(k)
		if p == nil {
			t.last = nil
			return nil
		}
		if fresh {
			*p = tapLoad{pointKey: k, speed: cmp.Or(t.speed, s.Speed), first: s.Time, last: s.Time}
		}
		*slot = tapSlot{k, t.index[k] + 1}
	}
	t.last = &t.all[slot.number-1]
	return t.last
}
