package captures

import (
	"fmt"
	"slices"

	"whichlink/captures/frames"
)

const (
	// maxRTTPairs bounds the pairs of hosts whose round trips are followed over time, maxRTTBins the bins of each, which are doubled in
	// width, from a millisecond or so on, when a capture outlasts them.
	maxRTTPairs   = 128
	maxRTTBins    = 2048
	firstRTTShift = 20
	noRTTPair     = 1<<16 - 1
)

// An rttBin sums up the round trips of one stretch of time, in units of 16 ns as a histogram has them.
type rttBin struct{ least, sum, n uint32 }

// An rttPair is the round trips between the point of capture and one receiver of one sender, over time.
type rttPair struct {
	src, dst frames.Addr
	base     int64
	shift    uint // a bin is 1<<shift ns
	n        int64
	roce     bool
	bins     []rttBin
}

// An rttSeries follows round trips by pairs of hosts.
type rttSeries struct {
	index map[[2]frames.Addr]uint16
	pairs []rttPair
}

// add takes a round trip of data that went in one direction of a flow.
func (t *rttSeries) add(f *flow, dir int, now, d int64) {
	i := f.rttPairs[dir]
	if i == noRTTPair {
		return
	}
	if i == 0 {
		if i = t.pair(f, dir, now); i == noRTTPair {
			return
		}
	}
	t.pairs[i-1].add(now, d)
}

// pair finds or makes the pair of a direction of a flow. It returns its number and one.
func (t *rttSeries) pair(f *flow, dir int, now int64) uint16 {
	k := [2]frames.Addr{f.key.a, f.key.b}
	if dir == 1 {
		k[0], k[1] = k[1], k[0]
	}
	i, known := t.index[k]
	switch {
	case known:
	case len(t.pairs) == maxRTTPairs:
		i = noRTTPair
	default:
		if t.index == nil {
			t.index = map[[2]frames.Addr]uint16{}
		}
		t.pairs = append(t.pairs, rttPair{src: k[0], dst: k[1], base: now, shift: firstRTTShift, roce: f.key.proto != frames.ProtoTCP})
		i = uint16(len(t.pairs))
		t.index[k] = i
	}
	f.rttPairs[dir] = i
	return i
}

func (p *rttPair) add(now, d int64) {
	i := max(0, now-p.base) >> p.shift
	for i >= maxRTTBins && p.shift < 62 {
		p.fold()
		i = max(0, now-p.base) >> p.shift
	}
	if int64(len(p.bins)) <= i {
		p.bins = p.until(int(i) + 1)
	}
	p.n++
	p.bins[i].join(rttBin{least: uint32(min(d>>4, 1<<32-1)), sum: uint32(min(d>>4, 1<<32-1)), n: 1})
}

// until returns n bins. It grows in steps of four, because what is outgrown by append's would be more memory than the bins themselves.
func (p *rttPair) until(n int) []rttBin {
	if n <= cap(p.bins) {
		return p.bins[:n]
	}
	bins := make([]rttBin, n, min(max(n, 4*cap(p.bins), 64), maxRTTBins))
	copy(bins, p.bins)
	return bins
}

// join adds what another bin has.
func (b *rttBin) join(o rttBin) {
	if b.n == 0 || o.n > 0 && o.least < b.least {
		b.least = o.least
	}
	if s := b.sum + o.sum; s >= b.sum { // a bin that is full keeps its mean
		b.sum, b.n = s, b.n+o.n
	}
}

// fold makes bins twice as wide.
func (p *rttPair) fold() {
	for i, b := range p.bins {
		if p.bins[i] = (rttBin{}); i%2 == 0 {
			p.bins[i/2] = b
		} else {
			p.bins[i/2].join(b)
		}
	}
	p.bins = p.bins[:(len(p.bins)+1)/2]
	p.shift++
}

// values returns, of the bins with round trips, their middle in time, the least and the mean, in ns.
func (p *rttPair) values() (at []int64, least, mean []float64) {
	for i, b := range p.bins {
		if b.n > 0 {
			at = append(at, p.base+int64(i)<<p.shift+1<<(p.shift-1))
			least = append(least, 16*float64(b.least))
			mean = append(mean, 16*float64(b.sum)/float64(b.n))
		}
	}
	return at, least, mean
}

// median returns the middle of values, which must be some.
func median(values []float64) float64 {
	v := slices.Sorted(slices.Values(values))
	return v[len(v)/2]
}

// name writes a pair for people.
func (p *rttPair) name() string { return fmt.Sprintf("rtt %s>%s", p.src.Netip(), p.dst.Netip()) }
