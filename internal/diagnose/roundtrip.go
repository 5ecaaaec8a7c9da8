package diagnose

import (
	"math/rand/v2"
	"slices"

	"whichlink/graphs"
)

// markUnsplit notes which echoes are of a flow that lost packets of which it is not told which way, in the same epoch.
func (l *flowLog) markUnsplit() {
	var lossy []string // epochs, hardly ever any
	for i := range l.echoes {
		if e := &l.echoes[i]; !e.split && e.lost > 0 && !slices.Contains(lossy, e.epoch) {
			lossy = append(lossy, e.epoch)
		}
	}
	for i := range l.echoes {
		e := &l.echoes[i]
		e.unsplit = slices.Contains(lossy, e.epoch)
	}
}

// join makes one way of the way there and the way back, for losses whose direction is not known.
func (o *observer) join(l *flowLog, path, back way) way {
	if !path.known() {
		path = o.modelled(l.src, l.dst)
	}
	if !back.known() {
		back = o.modelled(l.dst, l.src)
	}
	n, m := len(path.alternatives), len(back.alternatives)
	if n*m > maxAlternatives {
		return paired(l, path, back)
	}
	var out way
	for i := range n {
		for j := range m {
			out.add(path, i, back, j, path.share(i)*back.share(j))
		}
	}
	return out
}

// paired is what join makes of two ways that have too many pairs for all to be listed: as many pairs that each alternative has its share among them, there and back. So
// what is faulty one way is weighed as if all were listed. Which go together is drawn for each flow by itself, so that what is faulty both ways is met on both about as
// often as it should be.
func paired(l *flowLog, path, back way) (out way) {
	fields := uint64(l.flow.SrcPort)<<32 | uint64(l.flow.DstPort)<<16 | uint64(l.flow.Label)
	order := rand.New(rand.NewPCG(fields, uint64(l.src)<<32|uint64(l.dst))).Perm(len(back.alternatives))
	const least = 1e-9 // what rounding leaves
	i, j := 0, 0
	there, home := path.share(0), back.share(order[0])
	for {
		share := min(there, home)
		out.add(path, i, back, order[j], share)
		if there -= share; there < least {
			if i++; i == len(path.alternatives) {
				return out
			}
			there = path.share(i)
		}
		if home -= share; home < least {
			if j++; j == len(order) {
				return out
			}
			home = back.share(order[j])
		}
	}
}

// add adds an alternative that goes there by one and back by another.
func (w *way) add(path way, i int, back way, j int, share float64) {
	there := path.alternatives[i]
	w.alternatives = append(w.alternatives, append(there[:len(there):len(there)], back.alternatives[j]...))
	w.shares = append(w.shares, share)
}

// modelled returns the ways that the forwarding model allows between two nodes.
func (o *observer) modelled(src, dst graphs.NodeID) way {
	var w way
	for _, a := range o.set(src, dst) {
		w.alternatives, w.shares = append(w.alternatives, a.Arcs), append(w.shares, a.Share)
	}
	return w
}
