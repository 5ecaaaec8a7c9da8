package flaps

import (
	"math"

	"whichlink/internal/halves"
	"whichlink/pathfind/localize"
)

const (
	// outlier is the chance that a flow loses packets for a reason that no component explains, as in pathfind/localize, where nothing tells otherwise:
	// as many flows as make one such tell about as much.
	outlier = 0.002
	// selectedOutlier is that of flows that lost packets at all, where about as few lose some by chance as by themselves.
	selectedOutlier = 0.2
	// usual is the loss along a good path, at most.
	usual = 5e-4
)

// Troubles are flows that seem to have lost packets for reasons of their own: how many, and what share of all flows does.
type troubles struct{ flows, rate float64 }

// troubles counts them among what nothing else explains yet. Episodes that are not found yet are counted with them, which makes them too many rather than too
// few.
func (s *search) troubles() troubles {
	if s.selected {
		return s.selectedTroubles()
	}
	if s.timed == 0 {
		var timed [2]int
		halves.Do(len(s.spans), func(half, from, to int) {
			n := 0
			for i := from; i < to; i++ {
				if s.spans[i].known() {
					n++
				}
			}
			timed[half] = n
		})
		s.timed = timed[0] + timed[1]
	}
	t := troubles{0, outlier}
	for range 8 {
		sum := 0.0
		for j, i := range s.lossy {
			if !s.taken[i] {
				sum += s.fates[j].troubled(t.rate)
			}
		}
		was := t
		if t = (troubles{sum, (1 + sum) / (1/outlier + float64(s.timed))}); t == was {
			break
		}
	}
	return t
}

// selectedTroubles is troubles where only flows that lost packets are known. How many others there are is not known, but the paths of those that have troubles
// of their own lie anywhere: that one of them crosses an arc, of so many, is as rare as that any flow does. Two of them make an episode each.
func (s *search) selectedTroubles() troubles {
	sum, arcs, flows := 0.0, 0, 0
	for j, i := range s.lossy {
		if o := &s.obs[i]; !s.taken[i] {
			sum += s.fates[j].troubled(selectedOutlier)
			arcs += len(o.Path)
			flows++
		}
	}
	share := float64(arcs) / float64(max(flows, 1)) / float64(s.fabric.NumArcs())
	return troubles{0, min(max(share*sum/2, share, 1e-4), selectedOutlier)}
}

// fewer returns how much less likely the counts are, a logarithm, than where each has a trouble of its own with the same probability, if some of them have none:
// that there are so many troubles is known from them as well.
func (t troubles) fewer(explained float64) float64 {
	m := min(explained, t.flows)
	if m <= 0 {
		return 0
	}
	all, _ := math.Lgamma(1 + t.flows)
	rest, _ := math.Lgamma(1 + t.flows - m)
	return m*math.Log(1+t.flows) - all + rest
}

// A fate is the logarithms of the likelihoods of the packets that a flow lost: by itself, by chance, and at best.
type fate struct {
	odd, chance, best float64
	even              float64 // by chance rather than by itself, a ratio
	tells             bool    // some of them prove something
}

func (s *search) fateOf(o *localize.Observation) fate {
	sent, lost := s.proving(o)
	n, k := float64(sent), float64(lost)
	at := func(loss float64) float64 {
		sum := 0.0
		if lost > 0 {
			sum += k * math.Log(loss)
		}
		if lost < sent {
			sum += (n - k) * math.Log1p(-loss)
		}
		return sum
	}
	odd, chance, best := s.odd(k, n-k), at(min(usual, k/n)), at(k/n) // of very many packets it is told which share is usual
	return fate{odd, chance, best, math.Exp(chance - odd), lost > 0}
}

// troubled returns the probability that a flow lost packets by itself and not by chance.
func (f *fate) troubled(rate float64) float64 {
	return 1 / (1 + f.even*(1-rate)/rate)
}

// proving returns the packets of an observation that prove something. Where only those that lost some are known, the first one lost proves nothing; and of very many
// packets good arcs lose some, each its own share, all the time.
func (s *search) proving(o *localize.Observation) (sent, lost int) {
	sent, lost = o.Sent, o.Lost
	if lost <= 0 {
		return sent, lost
	}
	if s.selected {
		sent, lost = sent-1, lost-1
	}
	return sent, lost - min(lost, int(s.normal*float64(sent)*float64(s.hops(o))))
}

// hops returns how many arcs an observation crossed.
func (s *search) hops(o *localize.Observation) int {
	n := len(o.Path)
	if s.paths != nil && o.OnSet() {
		n += s.paths.Hops(o.From, o.To)
	}
	return n
}
