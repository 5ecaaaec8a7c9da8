package diagnose

import (
	"fmt"
	"slices"

	"whichlink/graphs"
	"whichlink/pathfind/localize"
)

// A queue that is full drops packets in bursts, those of one sender more than those of another, so that what stands before or behind it seems to lose some, too.
const (
	// shaded is how likely a suspect is at most that loses nothing where no such queue is on the way.
	shaded = 0.3
	// beyondQueues is the share of its loss that a suspect must show there, in probes that would show one loss at least, to be one by itself.
	beyondQueues = 0.2
)

// shade lowers suspects whose losses are all of packets that crossed queues which are told to drop, by the ports' own counts, and which are suspects themselves.
func (s *Store) shade(d *Diagnosis, causes map[string]localize.Cause, seen *observer, c *counted) {
	var queues []localize.Cause
	drops := func(x *Suspect) bool {
		cause, ok := causes[x.ID]
		if !ok || cause.Kind != localize.Arc || x.Probability < Named {
			return false
		}
		t := c.out[s.fabric.TailPort(graphs.ArcID(cause.ID))]
		return t != nil && t.discards > 0 && t.discards > t.packets/200
	}
	for i := range d.Suspects {
		if drops(&d.Suspects[i]) {
			queues = append(queues, causes[d.Suspects[i].ID])
		}
	}
	if len(queues) == 0 {
		return
	}
	for i := range d.Suspects {
		x := &d.Suspects[i]
		cause, ok := causes[x.ID]
		if !ok || drops(x) || x.Loss == nil || x.Symptom != Loss && x.Symptom != Flap || s.countsErrors(c, cause) {
			continue
		}
		if sent, lost := seen.without(cause, queues); float64(lost) <= beyondQueues**x.Loss*sent {
			x.Probability = min(x.Probability, shaded)
			x.Against = fmt.Sprintf("what it loses is of packets that cross queues which drop; of %s others it loses %d; %s", thousands(int(sent)), lost, x.Against)
		}
	}
}

// without counts the packets that crossed a cause and none of some queues, surely or, where that is not known, by their share; and all that their flows lost.
func (o *observer) without(cause localize.Cause, queues []localize.Cause) (sent float64, lost int) {
observations:
	for i := range o.list {
		obs := &o.list[i]
		share := o.share(obs, cause)
		if share == 0 {
			continue
		}
		for _, q := range queues {
			if _, maybe := o.crossing(obs, q); maybe {
				continue observations
			}
		}
		sent, lost = sent+share*float64(obs.Sent), lost+obs.Lost
	}
	return sent, lost
}

// shadeByClass lowers suspects that lose packets and are not told apart from a link that is named for going down: what it loses at the edges of its outages needs no other
// cause.
func shadeByClass(f *graphs.Fabric, d *Diagnosis) {
	linkOf := func(id string) string {
		if a, ok := f.ArcByName(id); ok {
			return f.LinkName(a.Link())
		}
		return id
	}
	for i := range d.Suspects {
		x := &d.Suspects[i]
		if x.Symptom != Loss && x.Symptom != Flap {
			continue
		}
		j := slices.IndexFunc(d.Suspects, func(y Suspect) bool {
			return y.goesDown() && y.Link != x.Link && y.Probability > x.Probability &&
				slices.ContainsFunc(x.Class, func(id string) bool { return linkOf(id) == y.Link })
		})
		if j >= 0 {
			x.Probability = min(x.Probability, shaded)
			x.Against = fmt.Sprintf("%s, which is named for going down, may have lost these; %s", d.Suspects[j].Link, x.Against)
		}
	}
}

// goesDown reports whether a suspect is a link, and named for going down, for good or now and then.
func (x *Suspect) goesDown() bool {
	return x.Link != "" && x.Probability >= Named && (x.Symptom == Down || x.Symptom == Flap)
}
