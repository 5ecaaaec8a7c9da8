package diagnose

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"whichlink/graphs"
	"whichlink/pathfind/localize"
)

// sparesProbes is by how many nats a fault is less likely that packets of captures suffer from and probes do not.
const sparesProbes = 3

const (
	// leastSpared is how many probes were to be lost, of those that surely cross a suspect, for their being clean to tell that it spares them.
	leastSpared = 3
	// mostSuffer is the share of those that may be lost all the same, as on any link.
	mostSuffer = 0.1
	// beyondOthers is how many times more a suspect that spares probes must lose than captured flows do that cross nothing of the kind.
	beyondOthers = 5
)

// sparing looks, where neither what is named nor chance explains what packets of captures lost, for what explains it by these packets alone: probes are small and of one class, so that
// a fault may spare them, and that they are clean does not acquit. Where captured flows lose nearly as much that cross nothing of the kind, they lose it by themselves.
func (s *Store) sparing(seen *observer, solved *localize.Result, cfg localize.Config) {
	s.spared = map[localize.Cause]bool{}
	spares := func(x localize.Suspect) bool { return seen.hear(x.Cause).sparesProbes() }
	both := slices.DeleteFunc(slices.Clone(solved.Suspects), spares)
	captures, probed := seen.onlyCaptures(both)
	if sent, lost := seen.elsewhere(captures, nil); !probed || len(both) == len(solved.Suspects) && !Unexplained(sent, lost, solved.Background) {
		return
	}
	solved.Suspects = both
	again := localize.Solve(s.laid(), captures, cfg).Suspects
	sent, lost := seen.elsewhere(captures, again)
	for _, x := range again {
		odds := min(math.Log(x.Probability)-math.Log1p(-x.Probability), -math.Log1p(-surest)+sparesProbes)
		probability := 1 / (1 + math.Exp(sparesProbes-odds))
		if x.Loss*float64(sent) < beyondOthers*float64(lost) {
			probability = min(probability, shaded)
		}
		if probability >= leastListed && spares(x) {
			solved.Suspects = append(solved.Suspects, x.Believed(probability))
			s.spared[x.Cause] = true
		}
	}
	slices.SortStableFunc(solved.Suspects, func(a, b localize.Suspect) int { return -cmp.Compare(a.Probability, b.Probability) })
}

// onlyCaptures are the observations of captures that may not cross what is named, and whether there are any of probes.
func (o *observer) onlyCaptures(suspects []localize.Suspect) (list []localize.Observation, probed bool) {
	for i := range o.list {
		if obs := &o.list[i]; !o.flow(obs).onlyCaptured() {
			probed = true
		} else if !o.mayCross(obs, suspects) {
			list = append(list, *obs)
		}
	}
	return list, probed
}

// elsewhere counts the packets of observations that may not cross what is named.
func (o *observer) elsewhere(list []localize.Observation, suspects []localize.Suspect) (sent, lost int) {
	for i := range list {
		if !o.mayCross(&list[i], suspects) {
			sent, lost = sent+list[i].Sent, lost+list[i].Lost
		}
	}
	return sent, lost
}

// mayCross reports whether packets may cross one of the suspects that are named.
func (o *observer) mayCross(obs *localize.Observation, suspects []localize.Suspect) bool {
	return slices.ContainsFunc(suspects, func(x localize.Suspect) bool {
		_, maybe := o.crossing(obs, x.Cause)
		return x.Probability >= Named && maybe
	})
}

// sparesProbes reports whether packets of captures are lost at a suspect and next to none of probes, of which as large a share would be some.
func (w *witnesses) sparesProbes() bool {
	caught, of := float64(w.captures.lost+w.unsureCaptures.lost), float64(w.captures.sent+w.unsureCaptures.sent)
	expected := float64(w.probes.sent) * caught / max(of, 1)
	return expected >= leastSpared && float64(w.probes.lost+w.unsureProbes.lost) <= mostSuffer*expected
}

// tellSpared says of a suspect of which only packets of captures suffer what that may mean, and how to see it.
func (s *Store) tellSpared(out *Suspect, cause localize.Cause, seen *observer) {
	out.spares = true
	out.Against += "; it spares probes, which are small: larger packets suffer, or those of another class or time, or their hosts drop them"
	var flow *flowLog
	for i := range seen.list {
		obs := &seen.list[i]
		l := seen.flow(obs)
		surely, maybe := seen.crossing(obs, cause)
		if maybe && obs.Lost > 0 && len(l.captured) > 0 && l.src != graphs.None && l.dst != graphs.None && (flow == nil || surely) {
			if flow = l; surely {
				break
			}
		}
	}
	if flow == nil {
		return
	}
	dscp := ""
	if flow.flow.DSCP != 0 {
		dscp = fmt.Sprintf(" --dscp %d", flow.flow.DSCP)
	}
	out.Next = slices.Insert(out.Next, 0, Step{Why: "see whether larger packets suffer", On: s.fabric.NodeName(flow.src),
		Do: fmt.Sprintf("whichlink ping --fabric %s %s --flows 32 --size 1500%s", s.fabricFile(), shellWord(s.fabric.NodeName(flow.dst)), dscp)})
}
