package tui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"whichlink/graphs"
	"whichlink/internal/diagnose"
)

const (
	// together is how far apart events of one burst may be: polls and probes tell of the same fall within seconds of each other.
	together = 3 * time.Second
	// mostGroups is how many groups are shown.
	mostGroups = 3
)

// A group is one link that several sources saw something of at the same times: what sources agree on, without having heard of each other, is worth more
// than what one of them says often.
type group struct {
	link   graphs.LinkID
	lanes  []string
	bursts int           // in which at least two lanes agree
	lag    time.Duration // the longest of a burst
	first  int           // its first event, by index
	note   int           // the note nearest before it, -1 if none
	events map[int]bool
}

// groupsOf finds what belongs together among events, which stand in the order of time. Flows that move to other paths say nothing of a link by
// themselves, but belong to a burst in which they move.
func groupsOf(f *graphs.Fabric, list []diagnose.Event) []group {
	if f == nil {
		return nil
	}
	byLink := map[graphs.LinkID][]int{}
	var moves []int
	for i := range list {
		x := &list[i]
		switch id, ok := linkOfName(f, x.About); {
		case x.Lane == diagnose.LaneVerdict || x.Lane == "note":
		case ok:
			byLink[id] = append(byLink[id], i)
		case strings.HasSuffix(x.About, " flows"):
			moves = append(moves, i)
		}
	}
	var out []group
	for id, own := range byLink {
		if g := groupOf(id, own, moves, list); g.bursts > 0 {
			out = append(out, g)
		}
	}
	slices.SortFunc(out, func(a, b group) int {
		return cmp.Or(cmp.Compare(len(b.lanes), len(a.lanes)), cmp.Compare(b.bursts, a.bursts), cmp.Compare(a.link, b.link))
	})
	return out[:min(len(out), mostGroups)]
}

// groupOf puts the events of one link together in bursts.
func groupOf(id graphs.LinkID, own, moves []int, list []diagnose.Event) group {
	g := group{link: id, first: -1, note: -1, events: map[int]bool{}}
	lanes := map[string]bool{}
	for i := 0; i < len(own); {
		end := i + 1
		for end < len(own) && list[own[end]].At.Sub(list[own[end-1]].At) <= together {
			end++
		}
		burst := slices.Clone(own[i:end])
		from, to := list[own[i]].At.Add(-together), list[own[end-1]].At.Add(together)
		for _, m := range moves {
			if at := list[m].At; !at.Before(from) && !at.After(to) {
				burst = append(burst, m)
			}
		}
		slices.Sort(burst)
		i = end
		said := map[string]bool{}
		for _, b := range burst {
			said[list[b].Lane] = true
		}
		if len(said) < 2 {
			continue
		}
		g.bursts++
		g.lag = max(g.lag, list[burst[len(burst)-1]].At.Sub(list[burst[0]].At))
		if g.first < 0 {
			g.first = burst[0]
		}
		for _, b := range burst {
			g.events[b] = true
			lanes[list[b].Lane] = true
		}
	}
	for i := g.first - 1; i >= 0; i-- {
		if list[i].Lane == "note" {
			g.note = i
			break
		}
	}
	for l := range lanes {
		g.lanes = append(g.lanes, l)
	}
	slices.Sort(g.lanes)
	return g
}

// linkOfName finds the link of a name: of a link, an arc or a port.
func linkOfName(f *graphs.Fabric, name string) (graphs.LinkID, bool) {
	if l, ok := f.LinkByName(name); ok {
		return l, true
	}
	if a, ok := f.ArcByName(name); ok {
		return a.Link(), true
	}
	if p, ok := f.PortByName(name); ok {
		if a := f.ArcFrom(p); a >= 0 {
			return a.Link(), true
		}
	}
	return graphs.None, false
}

// words says what a group is.
func (g *group) words(s *Snapshot) string {
	f, list := s.Picture.Fabric, s.Picture.Events
	first := &list[g.first]
	text := fmt.Sprintf("%s agree on %s, %s within %.1f s; first at %s: %s", strings.Join(g.lanes, " and "), f.LinkName(g.link),
		counted(g.bursts, "time", "times"), g.lag.Seconds(), s.at(first.At, s.dated(seconds)), first.What)
	if g.note >= 0 {
		n := &list[g.note]
		text += fmt.Sprintf(", %s after the note %q", span5(first.At.Sub(n.At)), n.What)
	}
	return text
}

// groupLines say which sources agree on what.
func (e *eventsScreen) groupLines(w int, s *Snapshot) []line {
	var out []line
	for i := range e.groups {
		out = append(out, labelled(fmt.Sprintf("group %d", i+1), 9, plain, e.groups[i].words(s), w)...)
	}
	return out
}

// groupMark is the number of the group that an event is in, or nothing.
func (e *eventsScreen) groupMark(i int) string {
	for n := range e.groups {
		if e.groups[n].events[i] {
			return fmt.Sprintf("#%d", n+1)
		}
	}
	return ""
}
