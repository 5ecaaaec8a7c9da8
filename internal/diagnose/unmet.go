package diagnose

import (
	"fmt"
	"maps"
	"slices"

	"whichlink/graphs"
	"whichlink/pathfind/localize"
)

const (
	// leastUnmet is how many hosts must never have been heard of for that to be no fault of the links of each: agents run on some hosts and not on others.
	leastUnmet = 2
	// unmetProbability is how probable a fault of one of them is at most: it is not suspected before anything else says that an agent runs there.
	unmetProbability = 0.25
)

// meet notes which hosts an echo proves to be there: who sent it, and who answered.
func (s *Store) meet(l *flowLog, e *echo) {
	if l.src != graphs.None {
		s.met[l.src] = true
	}
	if l.dst != graphs.None && e.lost < e.sent {
		s.met[l.dst] = true
	}
}

// leaveOutUnmet takes out of the evidence what was sent to hosts that were never heard of, if these are several, others at the same switches are heard, and no link
// before theirs explains it: most likely no agent runs on them. It notes them in s.unmet.
func (s *Store) leaveOutUnmet() {
	s.unmet = nil
	to := s.toUnmet()
	if len(to) < leastUnmet {
		return
	}
	all := stretch{s.flowing.from, s.flowing.to}
	at := s.lookAt(all, func(l *flowLog) bool { return to[l.dst] != nil })
	maps.DeleteFunc(to, func(h graphs.NodeID, flows []*flowLog) bool {
		met := slices.ContainsFunc(s.fabric.Out(h), func(a graphs.ArcID) bool { return s.meetsAt(s.fabric.Head(a)) })
		return !met || len(flows) < leastUnheardFlows || !s.noLink(flows, all, at)
	})
	if len(to) < leastUnmet {
		return
	}
	s.unmet = slices.Sorted(maps.Keys(to))
	for _, flows := range to {
		for _, l := range flows {
			for i := range l.echoes {
				l.echoes[i].leaveOut()
			}
		}
	}
}

// toUnmet returns the flows to each node that was asked and never heard of.
func (s *Store) toUnmet() map[graphs.NodeID][]*flowLog {
	to := map[graphs.NodeID][]*flowLog{}
	for _, l := range s.order {
		if l.dst != graphs.None && len(l.echoes) > 0 && !s.met[l.dst] {
			to[l.dst] = append(to[l.dst], l)
		}
	}
	return to
}

// meetsAt reports whether a host at a switch was heard of.
func (s *Store) meetsAt(n graphs.NodeID) bool {
	return slices.ContainsFunc(s.fabric.Out(n), func(a graphs.ArcID) bool { return s.met[s.fabric.Head(a)] })
}

// addUnmet lowers suspects that are hosts which were never heard of, or links of theirs, and were not left out, where these are several. It notes them in s.unmet.
func (s *Store) addUnmet(d *Diagnosis, causes map[string]localize.Cause) {
	var which []int
	more, asked := slices.Clone(s.unmet), s.toUnmet()
	for i := range d.Suspects {
		x := &d.Suspects[i]
		if causes[x.ID].Kind == "" || x.Loss == nil || *x.Loss < losesAll {
			continue
		}
		for _, id := range x.Class {
			if h, ok := s.fabric.NodeByName(id); ok && asked[h] != nil {
				which = append(which, i)
				more = append(more, h)
			}
		}
	}
	if len(more) < leastUnmet {
		return
	}
	slices.Sort(more)
	s.unmet = more
	for _, i := range which {
		x := &d.Suspects[i]
		x.Probability = min(x.Probability, unmetProbability)
		x.Against = fmt.Sprintf("%d hosts were never heard of, as where no agent runs; ", len(more)) + x.Against
	}
}

// unmetWords say which hosts were never heard of.
func (s *Store) unmetWords() string {
	var names []string
	for _, h := range s.unmet {
		names = append(names, s.fabric.NodeName(h))
	}
	return fmt.Sprintf("%d hosts sent nothing and answered nobody (%s)", len(names), firstOf(names, 4))
}

// unmetNote tells of hosts that were never heard of, or nothing.
func (s *Store) unmetNote() []string {
	if len(s.unmet) == 0 {
		return nil
	}
	return []string{s.unmetWords() + ": coverage gaps where no agent runs; see that whichlink agent runs on them, and that they are up"}
}
