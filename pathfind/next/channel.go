package next

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"whichlink/graphs"
	"whichlink/pathfind"
	"whichlink/pathfind/localize"
)

// A crossing is a cause on a way of a flow (0 there, 1 back), and how probable it is that the flow crosses it.
type crossing struct {
	cause int32
	leg   int8
	share float64
}

// outcomes are the probabilities of what may become of a flow's packets: all arrive both ways, some are lost on the way there, on the way back,
// on both. Where directions cannot be told apart the first two are all there are.
type outcomes [4]float64

// A channel is what a flow tells, by question.
type channel struct {
	crosses []crossing
	parts   []part
	version int // of the worth
	worth   float64
}

// A part is the outcomes of a flow given each cause of one question that it crosses, and given any other (base).
type part struct {
	causes    []int32 // by their number in the question
	given     []outcomes
	entropies []float64
	base      outcomes
	entropy   float64
}

// index numbers the causes of all questions and notes which arcs and hosts they are made of.
func (b *batch) index() {
	b.byArc, b.byHost = map[graphs.ArcID][]int32{}, map[graphs.NodeID][]int32{}
	f := b.p.f
	add := func(l graphs.LinkID, c int32) {
		b.byArc[l.Forward()] = append(b.byArc[l.Forward()], c)
		b.byArc[l.Backward()] = append(b.byArc[l.Backward()], c)
	}
	for _, s := range b.states {
		for i := range s.causes {
			c := int32(b.number)
			b.number++
			switch id := s.causes[i].ID; s.causes[i].Kind {
			case localize.Arc:
				b.byArc[graphs.ArcID(id)] = append(b.byArc[graphs.ArcID(id)], c)
			case localize.Link:
				add(graphs.LinkID(id), c)
			case localize.Group:
				for _, l := range f.Group(graphs.GroupID(id)).Links {
					add(l, c)
				}
			case localize.Node:
				// A switch is crossed where it is entered.
				for _, a := range f.Out(graphs.NodeID(id)) {
					b.byArc[a.Reverse()] = append(b.byArc[a.Reverse()], c)
				}
			case localize.Host:
				b.byHost[graphs.NodeID(id)] = append(b.byHost[graphs.NodeID(id)], c)
			}
		}
	}
	b.missed = make([]float64, b.number)
	for i := range b.missed {
		b.missed[i] = 1
	}
}

// across returns which causes a way crosses: surely, if its path is known, else by the forwarding model's shares.
func (b *batch) across(src, dst graphs.NodeID, leg int8, path []graphs.ArcID) []crossing {
	share := map[int32]float64{}
	for _, h := range [2]graphs.NodeID{src, dst} {
		for _, c := range b.byHost[h] {
			share[c] = 1
		}
	}
	for _, a := range path {
		for _, c := range b.byArc[a] {
			share[c] = 1
		}
	}
	if len(path) == 0 {
		for _, x := range b.p.set(src, dst).shares {
			for _, c := range b.byArc[x.Arc] {
				share[c] = min(1, share[c]+x.Share)
			}
		}
	}
	return sorted(share, leg)
}

// sorted lists causes with shares in their order.
func sorted(share map[int32]float64, leg int8) []crossing {
	list := make([]crossing, 0, len(share))
	for c, s := range share {
		list = append(list, crossing{c, leg, s})
	}
	slices.SortFunc(list, func(x, y crossing) int { return cmp.Compare(x.cause, y.cause) })
	return list
}

// signature returns the number of the channel that flows have which cross the same, and lost as much before: nothing, or the same number of as many.
func (b *batch) signature(crosses []crossing, before [2]Count) int {
	var key []byte
	if before[0].Lost+before[1].Lost > 0 {
		key = fmt.Append(key, before)
	}
	for _, x := range crosses {
		key = append(binary.LittleEndian.AppendUint32(key, uint32(x.cause)), byte(x.leg))
		key = binary.LittleEndian.AppendUint16(key, uint16(math.Round(x.share*65535)))
	}
	if i, ok := b.signatures[string(key)]; ok {
		return i
	}
	i := len(b.channels)
	b.signatures[string(key)] = i
	b.channels = append(b.channels, b.channel(crosses, before))
	return i
}

// usualLength is how many good arcs a way is taken to have.
const usualLength = 5

// channel works out what packets along a flow would tell.
func (b *batch) channel(crosses []crossing, before [2]Count) channel {
	ch := channel{crosses: crosses, parts: make([]part, len(b.states))}
	// What the other questions are expected to lose on each way is background to a question.
	expected := make([][2]float64, len(b.states))
	var sum [2]float64
	first := int32(0)
	for q, s := range b.states {
		for _, x := range crosses {
			if i := x.cause - first; i >= 0 && int(i) < len(s.causes) {
				expected[q][x.leg] += s.causes[i].Weight * x.share * s.causes[i].Loss
			}
		}
		for leg, loss := range expected[q] {
			expected[q][leg] = -math.Log1p(-min(loss, 1-1e-6)) // as a hazard
			sum[leg] += expected[q][leg]
		}
		first += int32(len(s.causes))
	}
	first = 0
	for q, s := range b.states {
		p := &ch.parts[q]
		var others [2]float64
		for leg := range others {
			others[leg] = usualLength*b.cfg.Background + max(0, sum[leg]-expected[q][leg])
		}
		p.base = b.outcomes(others, nil, [2]float64{}, before)
		p.entropy = entropyOf(p.base)
		shares := map[int32][2]float64{}
		for _, x := range crosses {
			i := x.cause - first
			if i < 0 || int(i) >= len(s.causes) {
				continue
			}
			share, ok := shares[i]
			if !ok {
				p.causes = append(p.causes, i)
			}
			share[x.leg] = x.share
			shares[i] = share
		}
		for _, i := range p.causes {
			g := b.outcomes(others, &s.causes[i], shares[i], before)
			p.given = append(p.given, g)
			p.entropies = append(p.entropies, entropyOf(g))
		}
		first += int32(len(s.causes))
	}
	return ch
}

// outcomes returns what may become of a quantum of packets of a flow if a cause is true that each way crosses with a probability, or none is (nil). others is
// the hazard of everything else on each way. Of what is lost on the way there nothing is there to be lost on the way back.
func (b *batch) outcomes(others [2]float64, c *Cause, share [2]float64, before [2]Count) outcomes {
	n := float64(b.quantum)
	if b.cfg.Unsplit {
		one := share[0] + share[1] - 2*share[0]*share[1]
		crossed := [3]float64{(1 - share[0]) * (1 - share[1]), one, share[0] * share[1]}
		all := passed(n, others[0]+others[1], c, crossed, Count{before[0].Sent, before[0].Lost + before[1].Lost})
		return outcomes{all, 1 - all}
	}
	pass := func(leg int, n float64) float64 {
		return passed(n, others[leg], c, [3]float64{1 - share[leg], share[leg]}, before[leg])
	}
	turn := n * pass(0, 1) // how many are to come back where some were lost
	there, back, rest := pass(0, n), pass(1, n), pass(1, turn)
	return outcomes{there * back, (1 - there) * rest, there * (1 - back), (1 - there) * (1 - rest)}
}

// A pathSet is what the forwarding model says of a pair.
type pathSet struct {
	shares []pathfind.ArcShare
	listed bool            // paths were asked for
	paths  []pathfind.Path // nil where there are too many to list
}

const (
	mostPaths = 256
	mostSets  = 4096 // of which this many are remembered
)

// set returns the shares of a pair.
func (p *Planner) set(src, dst graphs.NodeID) *pathSet {
	k := [2]graphs.NodeID{src, dst}
	if s, ok := p.pairs[k]; ok {
		return s
	}
	if len(p.pairs) >= mostSets {
		clear(p.pairs)
	}
	s := &pathSet{}
	if e, ok := p.model.(*pathfind.ECMP); ok {
		s.shares = e.Shares(src, dst)
	} else {
		s.shares = p.model.Ways(src, dst).Shares()
	}
	p.pairs[k] = s
	return s
}

// list returns the paths of a pair, nil where there are too many.
func (p *Planner) list(src, dst graphs.NodeID) []pathfind.Path {
	s := p.set(src, dst)
	if s.listed {
		return s.paths
	}
	s.listed = true
	if e, ok := p.model.(*pathfind.ECMP); ok {
		s.paths, _ = e.Paths(src, dst, mostPaths)
	} else {
		s.paths, _ = p.model.Ways(src, dst).Paths(mostPaths)
	}
	return s.paths
}
