package diagnose

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestSelective: a link that drops all packets of a third of the flows that cross it is told with that share, and not that it loses a third of all packets. One that did so for a while,
// so that flows which were measured then suffer and later ones do not, is no such fault.
func TestSelective(t *testing.T) {
	for _, later := range []time.Duration{0, time.Minute} {
		q := newInquest(t)
		sport := uint16(50000)
		for round := range 2 {
			for src := range 8 {
				for dst := range 8 {
					if src/2 == dst/2 {
						continue
					}
					for spine := 1; spine <= 4; spine++ {
						lost := 0
						sport++
						if hit := (src+dst+round)%3 == 0 || later > 0; src < 2 && spine == 2 && hit && (round == 0 || later == 0) {
							lost = 100
						}
						q.later = time.Duration(round) * later
						q.flow(host(src), host(dst), sport, spine, 100, lost, false)
					}
				}
			}
		}
		d := q.store.Diagnose()
		switch {
		case later == 0:
			if len(d.Suspects) == 0 || d.Suspects[0].ID != "leaf1:swp2>spine2:swp1" || d.Suspects[0].Hit == nil || d.Suspects[0].Probability < 0.9 ||
				*d.Suspects[0].Hit < 0.1 || *d.Suspects[0].Hit > 0.4 || // answers may cross it, too, and none of these is lost
				!strings.Contains(d.Summary, "drops 100 % of the packets of some flows") {
				t.Error(d.Text())
			}
		default:
			for _, x := range d.Suspects {
				if x.Hit != nil {
					t.Error(d.Text())
				}
			}
		}
	}
}

func host(i int) string { return fmt.Sprintf("h%d-%d", i/2+1, i%2+1) }
