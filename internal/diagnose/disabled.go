package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"whichlink/internal/evidence"
)

// switchedOff begins why a link is cleared that is down on purpose.
const switchedOff = "is down because "

// sentThere takes back that a link is down on purpose, and no fault, where packets are still sent there and all of them are lost: whoever told the port to be
// down did not tell routing.
func (s *Store) sentThere(d *Diagnosis) {
	for i := range d.Suspects {
		x := &d.Suspects[i]
		if x.Link == "" || x.Loss == nil || *x.Loss < 0.9 || x.Probability < Named || x.Until != nil {
			continue
		}
		at := slices.IndexFunc(d.Cleared, func(c Cleared) bool { return c.ID == x.Link && strings.HasPrefix(c.Why, switchedOff) })
		if at < 0 {
			continue
		}
		says := fmt.Sprintf("%s %s, yet packets are sent there", x.Link, d.Cleared[at].Why)
		d.Cleared = slices.Delete(d.Cleared, at, at+1)
		x.For = string(evidence.SourceSNMP) + ": " + says + "; " + x.For
		x.Evidence = append([]Evidence{{string(evidence.SourceSNMP), says}}, x.Evidence...)
		x.Next = []Step{{Why: "it is switched off, and no cable or optic is at fault", Do: "see why routing at the other end still sends packets there: a static route, or a session that outlives the link"}}
	}
}
