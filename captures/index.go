package captures

import (
	"hash/maphash"
	"math/bits"
)

// An index finds values of an arena by the hash of their key: open addressing, of which a slot holds half of the hash and the number.
type index struct {
	slots []uint64
	n     int
}

// secret makes hashes that a capture cannot be made to collide in. It does not change what is found, only where it lies.
var secret = maphash.Bytes(maphash.MakeSeed(), []byte("whichlink"))

// mix folds two words into one.
func mix(a, b uint64) uint64 { return fold(a^secret, b) }

// fold is mix without the secret, for where a collision costs nothing but must be the same each time.
func fold(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a^0xa0761d6478bd642f, b^0x9e3779b97f4a7c15)
	return hi ^ lo
}

// find returns the number whose key has a hash and is the same, or 0.
func (x *index) find(hash uint64, same func(uint32) bool) uint32 {
	if len(x.slots) == 0 {
		return 0
	}
	mask := uint64(len(x.slots) - 1)
	for i := hash & mask; ; i = (i + 1) & mask {
		s := x.slots[i]
		if s == 0 {
			return 0
		}
		if s>>32 == hash>>32 && same(uint32(s)) {
			return uint32(s)
		}
	}
}

// guess returns the number whose key has a hash, as far as half of the hash tells, or 0: what find returns but once in billions.
func (x *index) guess(hash uint64) uint32 {
	if len(x.slots) == 0 {
		return 0
	}
	mask := uint64(len(x.slots) - 1)
	for i := hash & mask; ; i = (i + 1) & mask {
		if s := x.slots[i]; s>>32 == hash>>32 || s == 0 {
			return uint32(s)
		}
	}
}

// put adds a number, or replaces old by it where old is not 0. Rehash returns the hash of a number, for when the index grows.
func (x *index) put(hash uint64, number, old uint32, rehash func(uint32) uint64) {
	if old != 0 {
		mask := uint64(len(x.slots) - 1)
		for i := hash & mask; ; i = (i + 1) & mask {
			if uint32(x.slots[i]) == old {
				x.slots[i] = hash>>32<<32 | uint64(number)
				return
			}
		}
	}
	if len(x.slots) <= 2*(x.n+1) {
		was := x.slots
		x.slots = make([]uint64, max(1024, 2*len(was)))
		for _, s := range was {
			if s != 0 {
				x.insert(rehash(uint32(s)), uint32(s))
			}
		}
	}
	x.insert(hash, number)
	x.n++
}

func (x *index) insert(hash uint64, number uint32) {
	mask := uint64(len(x.slots) - 1)
	i := hash & mask
	for x.slots[i] != 0 {
		i = (i + 1) & mask
	}
	x.slots[i] = hash>>32<<32 | uint64(number)
}
