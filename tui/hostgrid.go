package tui

import (
	"fmt"

	"whichlink/graphs"
)

// hostGrid lays the links of hosts out: a row a switch that has any, a column for each of them in the order of its ports. Links between two hosts have
// no place in it.
func (l *layout) hostGrid() grid {
	g := l.empty("Hosts by switch")
	f := l.fabric
	most := 0
	for _, n := range f.Switches() {
		at := 0
		for _, a := range f.Out(n) {
			if !f.Node(f.Head(a)).IsHost() {
				continue
			}
			g.rowOf[a.Link()], g.colOf[a.Link()] = int32(len(g.rows)), int32(at)
			at++
		}
		if at > 0 {
			g.rows = append(g.rows, f.NodeName(n))
			most = max(most, at)
		}
	}
	for i := range most {
		g.cols = append(g.cols, fmt.Sprintf("host %d", i+1))
	}
	return g
}

// showHosts turns to the links of hosts, or back to those between switches.
func (m *mapScreen) showHosts(on bool) {
	m.hosts, m.pane, m.from = on, 0, nil
	if on && m.layout.hosts.rowOf == nil {
		m.layout.hosts = m.layout.hostGrid()
	}
}

// ofHost reports whether a link leads to a host.
func (m *mapScreen) ofHost(id graphs.LinkID) bool {
	return m.layout != nil && id != graphs.None && m.layout.fabric.IsHostArc(id.Forward())
}
