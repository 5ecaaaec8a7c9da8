package cli

import (
	"whichlink/graphs"
	"whichlink/pathfind/whatif"
)

// whatIfAnswer is what fabric whatif prints as JSON. Capacities and rates are in bit/s, or in links if unit says so; shares are fractions.
type whatIfAnswer struct {
	Schema       string         `json:"schema"`
	Fabric       string         `json:"fabric"`
	Model        string         `json:"model"`
	Fail         []whatIfThing  `json:"fail"`
	Drain        []whatIfThing  `json:"drain"`
	Unit         string         `json:"unit"`
	LinksGone    int            `json:"links_gone"`
	Links        int            `json:"links"`
	SwitchesGone int            `json:"switches_gone"`
	HostsGone    int            `json:"hosts_gone"`
	Rule         whatIfRule     `json:"neighbour_rule"`
	Switches     []whatIfSwitch `json:"switches"`
	Hosts        []whatIfHost   `json:"hosts"`
	Pairs        whatIfPairs    `json:"pairs"`
	Load         *whatIfLoad    `json:"load,omitempty"`
}

type whatIfThing struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
}

type whatIfRule struct {
	Limit  string          `json:"limit"`
	OK     bool            `json:"ok"`
	Broken []whatIfLoss    `json:"broken"`
	Worst  *whatIfNodeLoss `json:"worst,omitempty"`
}

type whatIfNodeLoss struct {
	Node string `json:"node"`
	Lost int    `json:"lost"`
	Of   int    `json:"of"`
}

type whatIfLoss struct {
	whatIfNodeLoss
	Neighbours []string `json:"neighbours"`
}

type whatIfSwitch struct {
	Node         string  `json:"node"`
	Links        int     `json:"links"`
	LinksLeft    int     `json:"links_left"`
	Capacity     float64 `json:"capacity"`
	CapacityLeft float64 `json:"capacity_left"`
	Neighbours   int     `json:"neighbours"`
	// NeighboursLost are the switches to which no link is left.
	NeighboursLost []string `json:"neighbours_lost"`
	// HostPorts are the ports of hosts that are behind the switch.
	HostPorts    []string `json:"host_ports"`
	HostCapacity float64  `json:"host_capacity"`
	HostsLost    int      `json:"hosts_lost"`
	Rail         int      `json:"rail,omitempty"`
	// These are of the pairs looked at; absent where none begins or ends here.
	WorstLoss     *float64 `json:"worst_usable_lost,omitempty"`
	LeastDisjoint *int     `json:"least_disjoint_left,omitempty"`
}

type whatIfHost struct {
	Node   string   `json:"node"`
	Links  int      `json:"links"`
	Left   int      `json:"links_left"`
	Lost   []string `json:"ports_lost"`
	CutOff bool     `json:"cut_off"`
}

type whatIfPairs struct {
	All    int `json:"all"`
	Gone   int `json:"gone"`
	CutOff int `json:"cut_off"`
	// LookedAt of all were measured. Where these are not all, Near were chosen as likely to lose most, and the others drawn.
	LookedAt      int          `json:"looked_at"`
	Near          int          `json:"near"`
	Seed          uint64       `json:"seed"`
	UsableLost    float64      `json:"mean_usable_lost"`
	BlackHoled    float64      `json:"mean_lost_at_first"`
	LeastDisjoint *int         `json:"least_disjoint_left,omitempty"`
	Hurt          []whatIfPair `json:"hurt"`
}

type whatIfPair struct {
	Src          string  `json:"src"`
	Dst          string  `json:"dst"`
	CutOff       bool    `json:"cut_off"`
	Usable       float64 `json:"usable"`
	UsableLeft   float64 `json:"usable_left"`
	Disjoint     int     `json:"disjoint"`
	DisjointLeft int     `json:"disjoint_left"`
	Capacity     float64 `json:"capacity"`
	CapacityLeft float64 `json:"capacity_left"`
	BlackHoled   float64 `json:"lost_at_first"`
}

type whatIfLoad struct {
	Matrix      string      `json:"matrix"`
	Offered     float64     `json:"offered"`
	OfferedLeft float64     `json:"offered_left"`
	Before      whatIfUse   `json:"before"`
	After       whatIfUse   `json:"after"`
	BlackHoled  float64     `json:"lost_at_first_at_most"`
	Hottest     []whatIfArc `json:"hottest"`
	Heated      []whatIfArc `json:"heated"`
}

type whatIfUse struct {
	Mean    float64 `json:"mean"`
	P50     float64 `json:"p50"`
	P95     float64 `json:"p95"`
	P99     float64 `json:"p99"`
	Max     float64 `json:"max"`
	Hottest string  `json:"hottest,omitempty"`
	Bound   float64 `json:"throughput_bound,omitempty"`
	Lost    float64 `json:"no_way"`
}

type whatIfArc struct {
	Arc    string  `json:"arc"`
	Before float64 `json:"before"`
	After  float64 `json:"after"`
}

func whatIfJSON(c *whatif.Config, a *whatif.Answer) whatIfAnswer {
	f := c.Fabric
	out := whatIfAnswer{
		Schema: "whichlink/whatif/v1", Fabric: f.Name(), Model: a.Model, Fail: thingsJSON(c.Fail), Drain: thingsJSON(c.Drain), Unit: "bit/s",
		LinksGone: a.LinksGone, Links: f.NumLinks(), SwitchesGone: a.SwitchesGone, HostsGone: a.HostsGone,
		Rule: ruleJSON(f, a), Switches: []whatIfSwitch{}, Hosts: []whatIfHost{}, Pairs: pairsJSON(c, &a.Pairs),
	}
	if !a.SpeedKnown {
		out.Unit = "link"
	}
	for i := range a.Switches {
		out.Switches = append(out.Switches, switchJSON(f, &a.Switches[i]))
	}
	for _, h := range a.Hosts {
		out.Hosts = append(out.Hosts, whatIfHost{f.NodeName(h.Node), h.Links, h.Left, portNames(f, h.Lost), h.CutOff})
	}
	if l := a.Load; l != nil {
		out.Load = &whatIfLoad{
			Matrix: l.Matrix, Offered: l.Offered, OfferedLeft: l.Left, Before: useJSON(f, l.Before), After: useJSON(f, l.After),
			BlackHoled: l.BlackHoled, Hottest: arcsJSON(f, l.Hottest), Heated: arcsJSON(f, l.Heated),
		}
	}
	return out
}

func thingsJSON(things []whatif.Thing) []whatIfThing {
	out := make([]whatIfThing, len(things))
	for i, t := range things {
		out[i] = whatIfThing{string(t.Kind), t.Name}
	}
	return out
}

func ruleJSON(f *graphs.Fabric, a *whatif.Answer) whatIfRule {
	loss := func(i int) whatIfNodeLoss {
		s := &a.Switches[i]
		return whatIfNodeLoss{f.NodeName(s.Node), len(s.Lost), s.Neighbours}
	}
	r := whatIfRule{Limit: a.Rule.Limit.String(), OK: len(a.Rule.Broken) == 0, Broken: []whatIfLoss{}}
	for _, i := range a.Rule.Broken {
		r.Broken = append(r.Broken, whatIfLoss{loss(i), nodeNames(f, a.Switches[i].Lost)})
	}
	if a.Rule.Worst >= 0 {
		w := loss(a.Rule.Worst)
		r.Worst = &w
	}
	return r
}

func switchJSON(f *graphs.Fabric, s *whatif.Switch) whatIfSwitch {
	out := whatIfSwitch{
		Node: f.NodeName(s.Node), Links: s.Links, LinksLeft: s.LinksLeft, Capacity: s.Capacity, CapacityLeft: s.CapacityLeft,
		Neighbours: s.Neighbours, NeighboursLost: nodeNames(f, s.Lost), HostPorts: portNames(f, s.Hosts), HostCapacity: s.HostCapacity,
		HostsLost: s.HostsLost, Rail: s.Rail,
	}
	if s.LeastDisjoint >= 0 {
		out.WorstLoss, out.LeastDisjoint = &s.WorstLoss, &s.LeastDisjoint
	}
	return out
}

func pairsJSON(c *whatif.Config, p *whatif.Pairs) whatIfPairs {
	f := c.Fabric
	out := whatIfPairs{
		All: p.All, Gone: p.Gone, CutOff: p.CutOff, LookedAt: p.Looked, Near: p.Near, Seed: c.Seed,
		UsableLost: p.UsableLost, BlackHoled: p.BlackHoled, Hurt: []whatIfPair{},
	}
	if p.LeastDisjoint >= 0 {
		out.LeastDisjoint = &p.LeastDisjoint
	}
	for i := range p.Hurt {
		x := &p.Hurt[i]
		out.Hurt = append(out.Hurt, whatIfPair{
			f.NodeName(x.Src), f.NodeName(x.Dst), x.CutOff(), x.Usable, x.UsableLeft, x.Disjoint, x.DisjointLeft, x.Capacity, x.CapacityLeft,
			x.BlackHoled,
		})
	}
	return out
}

func useJSON(f *graphs.Fabric, u whatif.Use) whatIfUse {
	out := whatIfUse{Mean: u.Mean, P50: u.P50, P95: u.P95, P99: u.P99, Max: u.Max, Bound: u.Bound, Lost: u.Lost}
	if u.Hottest != graphs.None {
		out.Hottest = f.ArcName(u.Hottest)
	}
	return out
}

func arcsJSON(f *graphs.Fabric, arcs []whatif.ArcUse) []whatIfArc {
	out := make([]whatIfArc, len(arcs))
	for i, x := range arcs {
		out[i] = whatIfArc{f.ArcName(x.Arc), x.Before, x.After}
	}
	return out
}

func portNames(f *graphs.Fabric, ports []graphs.PortID) []string {
	names := make([]string, len(ports))
	for i, p := range ports {
		names[i] = f.PortName(p)
	}
	return names
}
