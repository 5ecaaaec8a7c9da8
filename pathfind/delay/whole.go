package delay

import (
	"slices"

	"whichlink/graphs"
)

// A link may be slow both ways, as after a detour of its fibre, and the links of a group together, as those of one trunk. Each crossing of any of its arcs adds to a flow.

// wholes appends the components that an arc is a part of: its link, but for that of a host, which is told as the host, whose flows cross both of its arcs, and the groups of that.
func (ev *evidence) wholes(a graphs.ArcID, out []int32) []int32 {
	if !ev.f.IsHostArc(a) {
		out = append(out, ev.links+int32(a.Link()))
	}
	for _, g := range ev.f.Link(a.Link()).Groups {
		out = append(out, ev.groups+int32(g))
	}
	return out
}

// arcsOf returns the arcs of a link or a group.
func (ev *evidence) arcsOf(c int32) (list []int32) {
	links := []graphs.LinkID{graphs.LinkID(c - ev.links)}
	if c >= ev.groups {
		links = ev.f.Group(graphs.GroupID(c - ev.groups)).Links
	}
	for _, l := range links {
		list = append(list, int32(2*l), int32(2*l+1))
	}
	return list
}

// crossed reports whether flows may cross a component.
func (ev *evidence) crossed(c int32) bool { return len(ev.through(c)) > 0 || len(ev.members[c]) > 0 }

// told reports whether a component may be suspected: flows may cross it, and of a link or a group more than one part.
func (ev *evidence) told(c int32) bool {
	if c < ev.links || !ev.crossed(c) {
		return ev.crossed(c)
	}
	parts := slices.DeleteFunc(ev.arcsOf(c), func(a int32) bool { return !ev.crossed(a) })
	return len(parts) > 1 && (c < ev.groups || parts[0]/2 != parts[len(parts)-1]/2)
}

// partIn returns the component that stands for another among the equal-cost paths of a leg: of a link the arc that they cross.
func (ev *evidence) partIn(l *leg, c int32) int32 {
	if c < ev.links {
		return c
	}
	a := 2 * (c - ev.links)
	if shareOf(l.shares, a) == 0 {
		a++
	}
	return a
}
