package localize

import (
	"cmp"
	"slices"

	"whichlink/graphs"
)

// mostSent is the greatest count of packets in one plain observation, so that sums of counts are exact whatever their order.
const mostSent = 1 << 36

// A sieve remembers the flows that lost packets, roughly: it may take another flow for one of them, but never misses one.
type sieve struct {
	bits []uint64
	mask uint64
}

func newSieve(obs []Observation) sieve {
	lossy := 0
	for i := range obs {
		if obs[i].Lost > 0 {
			lossy++
		}
	}
	size := 64
	for size < 16*lossy {
		size *= 2
	}
	s := sieve{make([]uint64, size/64), uint64(size - 1)}
	for i := range obs {
		if obs[i].Lost > 0 {
			x := scramble(uint64(obs[i].Flow)) & s.mask
			s.bits[x/64] |= 1 << (x % 64)
		}
	}
	return s
}

func (s sieve) has(flow int) bool {
	x := scramble(uint64(flow)) & s.mask
	return s.bits[x/64]>>(x%64)&1 != 0
}

// sift drops what cannot be used and counts plain observations: measured from end to end, no loss, one path. Of those only the exposure of
// components matters, so that the bulk of all flows is neither copied nor sorted. What needs more thought goes to obs.
func (ev *evidence) sift(ix *index) {
	lossy := newSieve(ev.all)
	count := make([]int, ix.links)        // packets by arc
	through := make([]int, len(ix.host))  // by switch that they were forwarded through
	atHost := make([]int, len(ix.host)+1) // by host that sent or received them; one more for none
	for i := range ev.all {
		o := &ev.all[i]
		if o.Sent <= 0 || !ix.known(o) {
			ev.ignored++
			continue
		}
		if !ix.plain(o) || lossy.has(o.Flow) {
			if !ix.clean(o) {
				o = ix.cleaned(o)
			}
			ev.obs = append(ev.obs, merged{o, o.Sent, min(max(o.Lost, 0), o.Sent), max(o.Bursts, 0)})
			continue
		}
		n := min(o.Sent, mostSent)
		last := graphs.NodeID(graphs.None)
		for j, a := range o.Path {
			count[a] += n
			if j > 0 {
				through[last] += n
				if t := ix.tail[a]; t != last {
					through[t] += n
				}
			}
			last = ix.head[a]
		}
		if last == o.Src {
			n *= 2 // there and back: both hosts sent and received
		}
		atHost[o.Src+1] += n
		atHost[o.Dst+1] += n
	}
	for a, n := range count {
		ev.sent[a] = n
		x := float64(n)
		l := graphs.ArcID(a).Link()
		ev.exposure[a] += x
		ev.exposure[ix.link(l)] += x
		for _, g := range ix.f.Link(l).Groups {
			ev.exposure[ix.inGroup(g)] += x
		}
		ev.linear += x
	}
	for i := range ix.host {
		if n := graphs.NodeID(i); !ix.host[n] {
			ev.exposure[ix.node(n)] += float64(through[n])
		}
		ev.exposure[ix.nodes+int32(i)] += float64(atHost[i+1])
	}
	ev.crossings = ev.linear
}

// plain reports whether all that an observation tells is that its packets arrived.
func (ix *index) plain(o *Observation) bool {
	return o.Lost <= 0 && o.Responder == graphs.None && len(o.Alternatives) == 0 && len(o.Path) > 0 &&
		(o.Src == graphs.None || ix.isNode(o.Src)) && (o.Dst == graphs.None || ix.isNode(o.Dst))
}

// A crossing is what one flow had to do with a suspect.
type crossing struct{ suspect, flow, sent, lost int }

// count fills in the flows that cross each suspect.
func (ix *index) count(suspects []Suspect, comps []int32, obs []Observation) {
	// Most observations cross no suspect: they are told by a look at their arcs and hosts.
	arcs, nodes := make([]bool, ix.links), make([]bool, len(ix.host))
	for _, c := range comps {
		for _, a := range ix.parts(nil, c) {
			arcs[a] = true
		}
		if k := ix.kindOf(c); k == 2 || k == 3 {
			nodes[c-ix.nodes] = true
		}
	}
	marked := func(n graphs.NodeID) bool { return ix.isNode(n) && nodes[n] }
	var found []crossing
	for i := range obs {
		o := &obs[i]
		if o.Sent <= 0 || ix.isNode(o.Responder) || !ix.known(o) {
			continue
		}
		if !marked(o.Src) && !marked(o.Dst) && !slices.ContainsFunc(o.Path, func(a graphs.ArcID) bool { return arcs[a] }) {
			continue
		}
		for j, c := range comps {
			if ix.crosses(o, c) {
				found = append(found, crossing{j, o.Flow, o.Sent, min(max(o.Lost, 0), o.Sent)})
			}
		}
	}
	slices.SortFunc(found, func(a, b crossing) int {
		return cmp.Or(cmp.Compare(a.suspect, b.suspect), cmp.Compare(a.flow, b.flow))
	})
	for i := 0; i < len(found); {
		first, sent, lost := found[i], 0, 0
		for ; i < len(found) && found[i].suspect == first.suspect && found[i].flow == first.flow; i++ {
			sent, lost = addSaturating(sent, found[i].sent), addSaturating(lost, found[i].lost)
		}
		x := &suspects[first.suspect]
		if lost > 0 {
			x.LossyFlows++
		} else {
			x.CleanFlows++
			x.Against.CleanSent = addSaturating(x.Against.CleanSent, sent)
		}
		x.Sent, x.Lost = addSaturating(x.Sent, sent), addSaturating(x.Lost, lost)
	}
	for i := range suspects {
		suspects[i].Against.Expected = float64(suspects[i].Against.CleanSent) * suspects[i].Loss
	}
}
