package pathfind

import (
	"slices"

	"whichlink/graphs"
)

// Loads adds up what goes between every end and every intermediate switch, and lets both halves flow by ECMP.
func (v *valiant) Loads(d Demand) *Loads {
	h := v.halve(d)
	total := v.forward.flow(d.Ends, v.switches, h.out)
	in := v.forward.flow(v.switches, d.Ends, h.in)
	direct := v.forward.flow(d.Ends, d.Ends, func(src, dst graphs.NodeID) float64 {
		if volume := d.volume(src, dst); volume > 0 && v.choices(h.roots[src], h.roots[dst]) == 0 {
			return volume
		}
		return 0
	})
	in.Offered = 0 // it was counted on its way out
	total.add(in)
	total.add(direct)
	return total
}

// halves knows how much of a demand goes from an end to a switch, and from a switch to an end: what it would be if no switch were left out,
// less what is for ends that the switch is itself, or is linked to.
type halves struct {
	v        *valiant
	d        Demand
	roots    map[graphs.NodeID][]graphs.NodeID   // by end
	sent     map[graphs.NodeID]map[int32]float64 // by end and part: what is sent to each of its switches
	received map[graphs.NodeID]map[int32]float64
	linked   [][]graphs.NodeID // by switch: the ends that it is a root of
}

func (v *valiant) halve(d Demand) *halves {
	h := &halves{
		v: v, d: d, roots: map[graphs.NodeID][]graphs.NodeID{},
		sent: map[graphs.NodeID]map[int32]float64{}, received: map[graphs.NodeID]map[int32]float64{},
		linked: make([][]graphs.NodeID, len(v.host)),
	}
	for _, n := range d.Ends {
		h.roots[n] = v.roots(n)
		h.sent[n], h.received[n] = map[int32]float64{}, map[int32]float64{}
		for _, r := range h.roots[n] {
			h.linked[r] = append(h.linked[r], n)
		}
	}
	for _, src := range d.Ends {
		for _, dst := range d.Ends {
			each := h.each(src, dst)
			if each == 0 {
				continue
			}
			for _, p := range v.commonParts(h.roots[src], h.roots[dst]) {
				h.sent[src][p] += each
				h.received[dst][p] += each
			}
		}
	}
	return h
}

// each returns what of a pair's traffic goes by one intermediate switch.
func (h *halves) each(src, dst graphs.NodeID) float64 {
	volume := h.d.volume(src, dst)
	if volume == 0 {
		return 0
	}
	n := h.v.choices(h.roots[src], h.roots[dst])
	if n == 0 {
		return 0
	}
	return volume / float64(n)
}

func (h *halves) out(src, through graphs.NodeID) float64 {
	return h.half(src, through, h.sent, func(other graphs.NodeID) float64 { return h.each(src, other) })
}

func (h *halves) in(through, dst graphs.NodeID) float64 {
	return h.half(dst, through, h.received, func(other graphs.NodeID) float64 { return h.each(other, dst) })
}

func (h *halves) half(end, through graphs.NodeID, sum map[graphs.NodeID]map[int32]float64, each func(graphs.NodeID) float64) float64 {
	all := sum[end][h.v.part[through]]
	if all == 0 || slices.Contains(h.roots[end], through) {
		return 0
	}
	rest := all
	for _, other := range h.linked[through] {
		rest -= each(other)
	}
	if rest < all*1e-12 {
		return 0 // nothing is left but what rounding made
	}
	return rest
}

// commonParts returns the parts of the fabric that both ends are linked to.
func (v *valiant) commonParts(from, to []graphs.NodeID) []int32 {
	var parts []int32
	for _, r := range from {
		p := v.part[r]
		if !slices.Contains(parts, p) && slices.ContainsFunc(to, func(t graphs.NodeID) bool { return v.part[t] == p }) {
			parts = append(parts, p)
		}
	}
	return parts
}

// choices returns how many intermediate switches a pair has.
func (v *valiant) choices(from, to []graphs.NodeID) int {
	parts := v.commonParts(from, to)
	n := 0
	for _, p := range parts {
		n += int(v.size[p])
	}
	for _, r := range from {
		if slices.Contains(parts, v.part[r]) {
			n--
		}
	}
	for _, r := range to {
		if slices.Contains(parts, v.part[r]) && !slices.Contains(from, r) {
			n--
		}
	}
	return n
}
