package captures

// maxWaiting bounds a waiting room, which then takes 17 MiB. At four million packets a second that are 65 ms, far more than a
// packet takes through a fabric.
const maxWaiting = 1 << 18

// A waiting packet was seen at least at one of two taps. Times are those of tap A's clock.
type waiting struct {
	key   uint64
	what  uint64   // tells what it carries, 0 where nothing does
	since int64    // when it began to wait
	times [2]int64 // when it was last seen at A and at B
	flow  uint32
	taken uint32 // how many packets the other tap had captured then
	dir   uint8
	seen  [2]uint8 // how often, copies aside; no more than 255 are counted
	ttl   [2]uint8
	ce    [2]bool
}

// A waitingRoom is a line of packets in the order in which they began to wait, that are found by their key.
type waitingRoom struct {
	ring       []waiting // its length is a power of two, and so is that of slots
	slots      []uint32  // by the key's hash a place in the ring and one, open addressing; 0 is free
	head, used uint32    // the oldest, and how many wait
}

func (r *waitingRoom) full() bool       { return r.used == maxWaiting }
func (r *waitingRoom) oldest() *waiting { return &r.ring[r.head] }

// slot is where the search for a key begins.
func (r *waitingRoom) slot(key uint64) uint32 { return uint32(mix(key, 0)) & uint32(len(r.slots)-1) }

// find returns the packet of a key, nil if none waits. It stays where it is until the next push or remove.
func (r *waitingRoom) find(key uint64) *waiting {
	if r.used == 0 {
		return nil
	}
	mask := uint32(len(r.slots) - 1)
	for i := r.slot(key); r.slots[i] != 0; i = (i + 1) & mask {
		if w := &r.ring[r.slots[i]-1]; w.key == key {
			return w
		}
	}
	return nil
}

// push adds a packet, whose key must not wait already, at the end of the line. The room must not be full.
func (r *waitingRoom) push(w waiting) *waiting {
	if int(r.used) == len(r.ring) {
		was, head := r.ring, r.head
		r.ring = make([]waiting, max(1024, 2*len(was)))
		r.slots = make([]uint32, 2*len(r.ring))
		r.head = 0
		for i := range r.used {
			r.ring[i] = was[(head+i)&uint32(len(was)-1)]
			r.enter(i)
		}
	}
	at := (r.head + r.used) & uint32(len(r.ring)-1)
	r.ring[at] = w
	r.used++
	r.enter(at)
	return &r.ring[at]
}

func (r *waitingRoom) enter(at uint32) {
	mask := uint32(len(r.slots) - 1)
	i := r.slot(r.ring[at].key)
	for r.slots[i] != 0 {
		i = (i + 1) & mask
	}
	r.slots[i] = at + 1
}

// remove takes out the oldest.
func (r *waitingRoom) remove() waiting {
	w := r.ring[r.head]
	mask := uint32(len(r.slots) - 1)
	i := r.slot(w.key)
	for r.slots[i] != r.head+1 {
		i = (i + 1) & mask
	}
	// What stands behind moves up if its search begins before or at the place that becomes free.
	for j := (i + 1) & mask; r.slots[j] != 0; j = (j + 1) & mask {
		if from := r.slot(r.ring[r.slots[j]-1].key); (j-from)&mask >= (j-i)&mask {
			r.slots[i] = r.slots[j]
			i = j
		}
	}
	r.slots[i] = 0
	r.head = (r.head + 1) & uint32(len(r.ring)-1)
	r.used--
	return w
}
