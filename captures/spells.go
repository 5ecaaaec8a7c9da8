package captures

import "slices"

const (
	// maxSpells bounds the spells of one direction of a flow, maxAllSpells those of all together.
	maxSpells    = 64
	maxAllSpells = 1 << 16
)

// A spell is a stretch of time in which a direction of a flow lost packets: from the first loss that was found to the last.
type spell struct {
	from, to       int64
	passed, behind uint32 // packets of the direction that had passed when it began, the first that tells of a loss left out, and when it ended
	before, after  uint32 // lost in it, before and behind the point of capture
}

// spells are those of one direction, in the order of time. Losses closer than apart are of one spell; where there are too many, it grows.
type spells struct {
	apart int64
	list  []spell
}

// add notes losses. It reports whether they began a spell.
func (l *spells) add(x spell) bool {
	if n := len(l.list); n > 0 && x.from-l.list[n-1].to < l.apart {
		l.list[n-1].join(&x)
		return false
	}
	l.list = append(l.list, x)
	return true
}

// thin makes spells that lie close together one, until there are no more than a number.
func (l *spells) thin(most int) {
	for len(l.list) > most {
		l.apart *= 2
		kept := l.list[:1]
		for i := range l.list[1:] {
			x := &l.list[1+i]
			if last := &kept[len(kept)-1]; x.from-last.to < l.apart {
				last.join(x)
			} else {
				kept = append(kept, *x)
			}
		}
		l.list = kept
	}
}

// join adds a spell that begins later.
func (s *spell) join(o *spell) {
	s.from, s.to = min(s.from, o.from), max(s.to, o.to)
	s.behind = max(s.behind, o.behind)
	s.before += o.before
	s.after += o.after
}

// A flowHalf is one direction of a flow, by the number of the flow.
type flowHalf struct {
	number uint32
	dir    int
}

// A spellBook holds the spells of flows. What loses packets all the time loses the distance between spells, and when all are given out,
// what begins to lose packets then is told without.
type spellBook struct {
	halves map[flowHalf]*spells
	n      int
}

// add notes losses of a direction.
func (b *spellBook) add(h flowHalf, x spell) {
	l := b.halves[h]
	if l == nil {
		if b.n >= maxAllSpells {
			return
		}
		if b.halves == nil {
			b.halves = map[flowHalf]*spells{}
		}
		l = &spells{apart: apartLosses}
		b.halves[h] = l
	}
	b.n -= len(l.list)
	l.add(x)
	most := maxSpells
	if b.n+len(l.list) > maxAllSpells {
		most = max(1, len(l.list)-1)
	}
	l.thin(most)
	b.n += len(l.list)
}

// of returns the spells of a direction that lost so many packets in all. Of what a receiver said later was not lost, the last spells are freed.
func (b *spellBook) of(h flowHalf, before, after int) []spell {
	l := b.halves[h]
	if l == nil {
		return nil
	}
	list := slices.Clone(l.list)
	for _, x := range list {
		before -= int(x.before)
		after -= int(x.after)
	}
	for i := len(list) - 1; i >= 0 && (before < 0 || after < 0); i-- {
		x := &list[i]
		less := func(n *uint32, sum *int) {
			d := min(int(*n), max(0, -*sum))
			*n -= uint32(d)
			*sum += d
		}
		less(&x.before, &before)
		less(&x.after, &after)
	}
	if before > 0 || after > 0 {
		return nil // some were not noted: when is not known of all
	}
	return slices.DeleteFunc(list, func(x spell) bool { return x.before+x.after == 0 })
}

// A lossFinder notes when flows lose packets, for evidence in windows.
type lossFinder struct {
	a             *Analyzer
	before, after uint64 // of all flows up to now
}

func newLossFinder(a *Analyzer) finder { return &lossFinder{a: a} }

// see compares the sums of what was found lost with the sums before: what was added is of this packet's direction.
func (f *lossFinder) see(s *Sight) {
	t, q := &f.a.tcp.counts, &f.a.roce.all
	before, after := uint64(t.lostBefore)+uint64(q.GapPackets), uint64(t.lostAfter)+uint64(q.LostAfter)
	x := spell{from: s.Time, to: s.Time}
	if before > f.before {
		x.before = uint32(before - f.before)
	}
	if after > f.after {
		x.after = uint32(after - f.after)
	}
	f.before, f.after = before, after
	if s.flow == nil || x.before+x.after == 0 {
		return
	}
	x.behind = s.flow.halves[s.Dir].packets
	x.passed = x.behind - 1
	f.a.spells.add(flowHalf{s.number, s.Dir}, x)
}

func (f *lossFinder) report(*Report) {}

// A stretch is a part of the time in which a direction of a flow was captured, with or without losses.
type stretch struct {
	from, to              int64
	packets, data         int
	lostBefore, lostAfter int
}

// stretches cuts what was captured of a direction into spells with losses and what lies between them without. Spells between which nothing passed are one: that
// nothing was lost meanwhile says nothing.
func stretches(first, last int64, packets, data int, list []spell) []stretch {
	var out []stretch
	passed := 0
	cut := func(from, to int64, behind int) stretch {
		behind = min(max(behind, passed), packets)
		// Data are spread evenly: only their sum is known.
		s := stretch{from: from, to: max(from, to), packets: behind - passed, data: share(data, behind, packets) - share(data, passed, packets)}
		passed = behind
		return s
	}
	for i := range list {
		x := &list[i]
		if clean := cut(first, x.from, int(x.passed)); clean.packets > 0 {
			out = append(out, clean)
		}
		s := cut(x.from, x.to, int(x.behind))
		if n := len(out); n > 0 && out[n-1].lossy() {
			s.packets, s.data, s.from = s.packets+out[n-1].packets, s.data+out[n-1].data, out[n-1].from
			s.lostBefore, s.lostAfter = out[n-1].lostBefore, out[n-1].lostAfter
			out = out[:n-1]
		}
		s.lostBefore += int(x.before)
		s.lostAfter += int(x.after)
		out = append(out, s)
		first = x.to
	}
	if clean := cut(first, last, packets); clean.packets > 0 {
		out = append(out, clean)
	}
	return out
}

func (s *stretch) lossy() bool { return s.lostBefore+s.lostAfter > 0 }

// share returns n times a of b.
func share(n, a, b int) int {
	if b == 0 {
		return 0
	}
	return int(int64(n) * int64(a) / int64(b))
}
