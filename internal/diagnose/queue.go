package diagnose

import (
	"fmt"
	"slices"

	"whichlink/graphs"
	"whichlink/pathfind/localize"
)

// oneQueue tells of what loses packets and adds delay once: a queue that is full does both, until it is no more. Where it loses packets still and added delay only before, its load varies, and what it loses is told. Where
// ports count that its packets arrive broken, or count what queues drop and there was nothing, the loss has a reason of its own.
func (s *Store) oneQueue(d *Diagnosis, causes map[string]localize.Cause, c *counted) {
	for i := 0; i < len(d.Suspects); i++ {
		x := d.Suspects[i]
		at := slices.IndexFunc(d.Suspects, func(y Suspect) bool { return y.Symptom == Slow && y.Kind == x.Kind && y.ID == x.ID })
		if x.Symptom != Loss || at < 0 {
			continue
		}
		y := &d.Suspects[at]
		queue := x.Probability >= Named && y.Probability >= Named && !s.countsErrors(c, causes[x.ID]) && !s.dropsNothing(c, causes[x.ID])
		if !queue || (x.Until == nil) != (y.Until == nil) {
			d.Suspects[i].Evidence = append(x.Evidence, Evidence{s.instrument(), fmt.Sprintf("it %s as well", y.delays())})
			if queue && y.Until != nil {
				if a, ok := s.fabric.ArcByName(x.ID); ok {
					s.askQueue(&d.Suspects[i], a)
				}
				d.Suspects = slices.Delete(d.Suspects, at, at+1)
				if at < i {
					i--
				}
			}
			continue
		}
		y.Loss, y.LossLow, y.LossHigh = x.Loss, x.LossLow, x.LossHigh
		y.Probability = max(x.Probability, y.Probability)
		y.Class = slices.DeleteFunc(slices.Clone(y.Class), func(id string) bool { return !slices.Contains(x.Class, id) })
		y.For += "; " + x.For
		y.Against += "; " + x.Against
		y.Evidence = append(append(y.Evidence, x.Evidence...), Evidence{s.instrument(), "what is late and what is lost have one cause: a queue that is full"})
		y.Doubts = append(y.Doubts, x.Doubts...)
		y.Next = slices.DeleteFunc(y.Next, func(step Step) bool { return step.Why == tellQueue })
		if a, ok := s.fabric.ArcByName(y.ID); ok {
			y.Next = append(y.Next, s.queueStep(s.fabric.TailPort(a)))
		}
		for _, step := range x.Next {
			if step.Why != tellEnds && step.Why != fillsQueue { // no optic is in question
				y.Next = append(y.Next, step)
			}
		}
		d.Suspects = slices.Delete(d.Suspects, i, i+1)
		i--
	}
}

// fullArcs are the arcs that are named for losing packets of which their ports count that their queues dropped some: where there are several at one switch, the flows of its hosts are late whichever of them they cross,
// as they would be if the switch or its hosts were slow.
func (s *Store) fullArcs(d *Diagnosis, causes map[string]localize.Cause, c *counted) (list []graphs.ArcID) {
	for i := range d.Suspects {
		x := &d.Suspects[i]
		cause := causes[x.ID]
		if x.Symptom != Loss || x.Probability < Named || x.Until != nil || cause.Kind != localize.Arc || s.countsErrors(c, cause) {
			continue
		}
		a := graphs.ArcID(cause.ID)
		if t := c.out[s.fabric.TailPort(a)]; t != nil && t.discards > 0 && !s.fabric.Node(s.fabric.Tail(a)).IsHost() {
			list = append(list, a)
		}
	}
	return list
}

// fillsQueue is why to look at what a port sends.
const fillsQueue = "see what fills the queue"

// askQueue puts what to do about a full queue into the place of what tells the ends of an arc apart.
func (s *Store) askQueue(x *Suspect, a graphs.ArcID) {
	if i := slices.IndexFunc(x.Next, func(step Step) bool { return step.Why == tellEnds }); i >= 0 {
		x.Next[i] = s.queueStep(s.fabric.TailPort(a))
	}
}

// queueStep says what to do about a queue that is full.
func (s *Store) queueStep(port graphs.PortID) Step {
	return Step{Why: fillsQueue, Do: fmt.Sprintf("read the output rate, the discards and the speed of %s, and sample what it sends (sFlow)", s.fabric.PortName(port))}
}

// dropsNothing reports whether all sending ports of a cause count what their queues drop, and dropped nothing.
func (s *Store) dropsNothing(c *counted, cause localize.Cause) bool {
	arcs := s.arcsOf(cause)
	for _, a := range arcs {
		if t := c.out[s.fabric.TailPort(a)]; t == nil || !t.hasDiscards || t.discards > 0 || t.span < leastLoad {
			return false
		}
	}
	return len(arcs) > 0
}
