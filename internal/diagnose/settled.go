package diagnose

import (
	"math"

	"whichlink/pathfind/localize"
)

// A passing is a flow as long as its path stays the same, and an unsettled one what it sent and lost where only a share of its ways crosses some arcs.
type passing struct {
	flow  *flowLog
	epoch string
}

type unsettled struct {
	passing
	share, sent, lost float64
}

// sureWay is how sure it may be at most that a flow crosses arcs which only a share of its ways cross: it may have changed its path untraced.
const sureWay = 0.999

// settle finds out which flows cross the arcs, of those that may. A flow takes one way all the time, so that what it lost in all tells which. Were it asked for
// each of its packets, the lost ones would have crossed the arcs and all others not, and whatever crosses them would be lost. How much is lost on the arcs in the
// mean is found together with that (expectation-maximisation).
func (t *timeline) settle() {
	const turns, normal = 10, localize.NormalLoss
	sent, lost, list := t.unsettled()
	t.settled = make(map[passing]float64, len(list))
	for _, x := range list {
		t.settled[x.passing] = x.share
	}
	for range turns {
		n, k := sent, lost
		for _, x := range list {
			n, k = n+t.settled[x.passing]*x.sent, k+t.settled[x.passing]*x.lost
		}
		loss := min(max(k/max(n, 1), 2*normal), 1-normal)
		for _, x := range list {
			odds := x.share / (1 - x.share) * math.Exp(convicts(x.sent, x.lost, loss))
			t.settled[x.passing] = 1 - 1/(1+odds)
		}
	}
	for _, x := range list {
		if x.lost > 0 {
			t.settled[x.passing] = sureWay * math.Round(t.settled[x.passing]) // or what it lost would be believed to have crossed them rather than the rest, after all
		}
	}
}

// unsettled returns what flows sent and lost that surely cross the arcs, and those that may.
func (t *timeline) unsettled() (sent, lost float64, list []unsettled) {
	at := map[passing]int{}
	for _, l := range t.store.order {
		untraced := l.untraced()
		for j := range l.echoes {
			e, there, home := t.shares(l, &l.echoes[j], untraced)
			n, k := float64(e.sent), float64(e.lost)
			switch {
			case e.split && home == 0:
				k = float64(e.lostForward)
			case e.split && there == 0:
				k = float64(e.lostBack)
			}
			switch share := there + home - there*home; share {
			case 0:
			case 1:
				sent, lost = sent+n, lost+k
			default:
				p := passing{l, e.epoch}
				i, ok := at[p]
				if !ok {
					i, at[p] = len(list), len(list)
					list = append(list, unsettled{passing: p, share: share})
				}
				list[i].sent, list[i].lost = list[i].sent+n, list[i].lost+k
			}
		}
	}
	return sent, lost, list
}
