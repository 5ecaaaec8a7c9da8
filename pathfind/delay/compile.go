package delay

import (
	"cmp"
	"math"
	"slices"

	"whichlink/graphs"
)

// evidence is the observations in the form that the search works on. A component is an arc by its number, and after them a node, a link or a group by its number
// among these.
type evidence struct {
	f       *graphs.Fabric
	arcs    int32 // the first node
	links   int32 // the first link
	groups  int32 // the first group
	n       int32 // components
	host    []bool
	flows   []flow
	ignored int
	// The certain components of flow i are comps[flows[i].first:flows[i].last], a switch that a round trip crosses twice being there twice. The
	// flows that are certain to cross component c are crossing[start[c]:start[c+1]], in order and each once, and times says how often they do.
	comps    []int32
	start    []int32
	crossing []int32
	times    []uint8
	sets     []set
	members  [][]member // by component: the sets in which it is
	shares   []float64  // by component: what a tally adds up in
	ordinary []float64  // by flow: 0 if a host of it stands out, else 1
}

// A flow is one observation.
type flow struct {
	delay       float64 // after its own baseline is taken off, if it has one, and what its hosts usually add
	ends        float64 // what its hosts usually add
	length      int     // arcs, or ownLength
	class       int     // of its baseline
	full        bool    // it crosses an arc of Config.Full: it does not tell what hosts add
	own, bin    int     // the shape of its class, and where it lies in the table
	first, last int32
	set         int32 // -1 where the path is certain
}

// ownLength stands for the length of flows that are compared with their own past.
const ownLength = 0

func (ev *evidence) through(c int32) []int32 { return ev.crossing[ev.start[c]:ev.start[c+1]] }

// timesThrough goes with through.
func (ev *evidence) timesThrough(c int32) []uint8 { return ev.times[ev.start[c]:ev.start[c+1]] }

func (ev *evidence) cause(c int32) Cause {
	switch {
	case c < ev.arcs:
		return Cause{Arc, c}
	case c >= ev.groups:
		return Cause{Group, c - ev.groups}
	case c >= ev.links:
		return Cause{Link, c - ev.links}
	case ev.host[c-ev.arcs]:
		return Cause{Host, c - ev.arcs}
	}
	return Cause{Node, c - ev.arcs}
}

// compile indexes the observations. Their order does not matter: they are sorted first.
func compile(f *graphs.Fabric, obs []Observation, cfg Config) *evidence {
	ev := &evidence{f: f, arcs: int32(f.NumArcs()), host: make([]bool, f.NumNodes())}
	ev.links = ev.arcs + int32(f.NumNodes())
	ev.groups = ev.links + int32(f.NumLinks())
	ev.n = ev.groups + int32(f.NumGroups())
	ev.shares = make([]float64, ev.n)
	for n := range ev.host {
		ev.host[n] = f.Node(graphs.NodeID(n)).IsHost()
	}
	order := make([]int32, len(obs))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(a, b int32) int { return compare(&obs[a], &obs[b]) })
	lengths := make([]int, len(obs))
	for i := range obs {
		lengths[i] = ev.length(&obs[i], cfg.Paths)
	}
	sets := ev.newSets(obs, order, lengths, cfg.Paths)
	for _, i := range order {
		o := &obs[i]
		if lengths[i] == 0 || sets[i] == leftOut {
			ev.ignored++
			continue
		}
		x := flow{delay: float64(o.Delay), length: lengths[i], first: int32(len(ev.comps)), set: sets[i]}
		if o.Own > 0 {
			x.delay, x.length = x.delay-float64(o.Own), ownLength
		}
		ev.certain(o)
		x.last = int32(len(ev.comps))
		if x.set >= 0 {
			ev.sets[x.set].flows = append(ev.sets[x.set].flows, int32(len(ev.flows)))
		}
		ev.flows = append(ev.flows, x)
	}
	ev.indexFlows()
	ev.indexSets()
	return ev
}

func compare(a, b *Observation) int {
	return cmp.Or(compareWays(&a.There, &b.There), compareWays(&a.Back, &b.Back), cmp.Compare(a.Src, b.Src), cmp.Compare(a.Dst, b.Dst),
		slices.Compare(a.Path, b.Path), cmp.Compare(a.Delay, b.Delay), cmp.Compare(a.Own, b.Own))
}

func compareWays(a, b *Ways) int {
	return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To),
		slices.CompareFunc(a.Alternatives, b.Alternatives, func(x, y Alternative) int {
			return cmp.Or(slices.Compare(x.Arcs, y.Arcs), cmp.Compare(x.Share, y.Share))
		}))
}

// mostDelay is an hour: nothing takes longer, and levels of delay would be without end.
const mostDelay = 3.6e9

// length returns the number of arcs of an observation's path, 0 if it cannot be used.
func (ev *evidence) length(o *Observation, ps PathSets) int {
	d := float64(o.Delay)
	if !ev.has(o.Path) || !(d >= 0 && d <= mostDelay) || !(o.Own >= 0 && o.Own <= mostDelay) {
		return 0
	}
	there, ok := ev.usual(&o.There, ps)
	back, okBack := ev.usual(&o.Back, ps)
	if !ok || !okBack {
		return 0
	}
	return len(o.Path) + int(math.Round(there+back))
}

// has reports whether all of some arcs are the fabric's.
func (ev *evidence) has(arcs []graphs.ArcID) bool {
	return !slices.ContainsFunc(arcs, func(a graphs.ArcID) bool { return a < 0 || int32(a) >= ev.arcs })
}

// usual returns the mean number of arcs of some ways; ok is false if they cannot be used.
func (ev *evidence) usual(w *Ways, ps PathSets) (arcs float64, ok bool) {
	if w.Certain() {
		return 0, true
	}
	if w.spread() {
		if ps == nil || w.From < 0 || w.To < 0 || int(w.From) >= len(ev.host) || int(w.To) >= len(ev.host) {
			return 0, false
		}
		h := ps.Hops(w.From, w.To)
		return float64(h), h > 0
	}
	sum, share := 0.0, 0.0
	for _, a := range w.Alternatives {
		if !ev.has(a.Arcs) || !(a.Share >= 0) || math.IsInf(a.Share, 1) {
			return 0, false
		}
		sum += a.Share * float64(len(a.Arcs))
		share += a.Share
	}
	return sum / share, share > 0 && !math.IsInf(share, 1) && !math.IsInf(sum, 1)
}

// certain appends the components that an observation is certain to have crossed.
func (ev *evidence) certain(o *Observation) {
	ev.comps = append(ev.comps, ev.componentsOf(o.Path)...)
	for _, n := range [...]graphs.NodeID{o.Src, o.Dst} {
		if n >= 0 && int(n) < len(ev.host) && ev.host[n] {
			ev.comps = append(ev.comps, ev.arcs+int32(n))
		}
	}
	for _, w := range [...]*Ways{&o.There, &o.Back} {
		if !w.spread() {
			continue
		}
		for _, n := range [...]graphs.NodeID{w.From, w.To} {
			if n != o.Src && n != o.Dst {
				ev.comps = append(ev.comps, ev.arcs+int32(n))
			}
		}
	}
}

// componentsOf returns the arcs of a path, their links and groups, and the switches that forward along it, as often as it crosses them.
func (ev *evidence) componentsOf(arcs []graphs.ArcID) []int32 {
	const each = 4 // an arc, its link, a group and the switch before it
	out := make([]int32, 0, each*len(arcs))
	for i, a := range arcs {
		out = ev.wholes(a, append(out, int32(a)))
		if i == 0 {
			continue
		}
		if n := ev.f.Tail(a); !ev.host[n] && ev.f.Head(arcs[i-1]) == n {
			out = append(out, ev.arcs+int32(n))
		}
	}
	slices.Sort(out)
	return out
}

func (ev *evidence) indexFlows() {
	ev.start = make([]int32, ev.n+1)
	each := func(i int, use func(c int32, times uint8)) {
		comps := ev.comps[ev.flows[i].first:ev.flows[i].last]
		slices.Sort(comps)
		for j := 0; j < len(comps); {
			k := j
			for k < len(comps) && comps[k] == comps[j] {
				k++
			}
			use(comps[j], uint8(min(k-j, 255)))
			j = k
		}
	}
	for i := range ev.flows {
		each(i, func(c int32, _ uint8) { ev.start[c+1]++ })
	}
	for c := range ev.n {
		ev.start[c+1] += ev.start[c]
	}
	ev.crossing, ev.times = make([]int32, ev.start[ev.n]), make([]uint8, ev.start[ev.n])
	next := slices.Clone(ev.start)
	for i := range ev.flows {
		each(i, func(c int32, times uint8) {
			ev.crossing[next[c]], ev.times[next[c]] = int32(i), times
			next[c]++
		})
	}
}
