package next_test

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"whichlink/graphs"
	"whichlink/graphs/generate"
	"whichlink/pathfind"
	"whichlink/pathfind/localize"
	"whichlink/pathfind/next"
	"whichlink/pathfind/plan"
)

func leafSpine(t *testing.T) *graphs.Fabric {
	t.Helper()
	f, err := generate.LeafSpine(generate.LeafSpineConfig{Leaves: 3, Spines: 3, Hosts: 2})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// arcs turns a walk by names of nodes into arcs.
func arcs(t *testing.T, f *graphs.Fabric, nodes ...string) []graphs.ArcID {
	t.Helper()
	var path []graphs.ArcID
	for i := range len(nodes) - 1 {
		tail, _ := f.NodeByName(nodes[i])
		at := slices.IndexFunc(f.Out(tail), func(a graphs.ArcID) bool { return f.NodeName(f.Head(a)) == nodes[i+1] })
		if at < 0 {
			t.Fatalf("no arc from %s to %s", nodes[i], nodes[i+1])
		}
		path = append(path, f.Out(tail)[at])
	}
	return path
}

func known(t *testing.T, f *graphs.Fabric, port uint16, nodes ...string) next.Known {
	back := slices.Clone(nodes)
	slices.Reverse(back)
	back[2] = "spine3" // answers go their own way
	k := next.Known{Path: arcs(t, f, nodes...), Back: arcs(t, f, back...)}
	k.SrcPort = port
	k.Src, k.Dst = f.Tail(k.Path[0]), f.Head(k.Path[len(k.Path)-1])
	return k
}

func cause(a graphs.ArcID, weight float64) next.Cause {
	return next.Cause{Cause: localize.Cause{Kind: localize.Arc, ID: int32(a)}, Weight: weight, Loss: 0.01, Low: 0.005, High: 0.02}
}

// TestChoose: of flows at hand that is chosen which splits what is open, and a new one only where none at hand does.
func TestChoose(t *testing.T) {
	f := leafSpine(t)
	up := arcs(t, f, "leaf1", "spine1")[0]
	down := arcs(t, f, "spine1", "leaf2")[0]
	neither := known(t, f, 1, "h1-1", "leaf1", "spine2", "leaf2", "h2-1")
	both := known(t, f, 2, "h1-1", "leaf1", "spine1", "leaf2", "h2-1")
	first := known(t, f, 3, "h1-1", "leaf1", "spine1", "leaf3", "h3-1")
	second := known(t, f, 4, "h3-1", "leaf3", "spine1", "leaf2", "h2-1")
	open := []next.Question{{cause(up, 0.5), cause(down, 0.5)}}
	for _, c := range []struct {
		name    string
		ask     []next.Question
		known   []next.Known
		sources []graphs.NodeID
		packets int      // 0 means 500
		want    []uint16 // source ports
		fresh   bool
	}{
		{name: "splits", ask: open, known: []next.Known{neither, both, first}, want: []uint16{3}},
		{name: "either splits", ask: open, known: []next.Known{both, second, neither}, want: []uint16{4}},
		{name: "not from another host", ask: open, known: []next.Known{both, second}, sources: []graphs.NodeID{both.Src}, fresh: true},
		{name: "none splits", ask: open, known: []next.Known{neither}, fresh: true},
		{name: "is it true at all", ask: []next.Question{{cause(up, 0.5)}}, known: []next.Known{neither, first}, want: []uint16{3}},
		{name: "nothing is open", ask: nil, known: []next.Known{first}},
		{name: "no fabric has it", ask: []next.Question{{cause(graphs.ArcID(f.NumArcs()), 0.5), cause(-1, 0.3)}}, known: []next.Known{first}},
		{name: "a small budget", ask: open, known: []next.Known{first}, packets: 71, want: []uint16{3}},
		{name: "too little for a trace", ask: open, known: []next.Known{neither}, packets: next.TraceCost - 1},
		{name: "two are open", ask: []next.Question{{cause(up, 0.5)}, {cause(down, 0.5)}}, known: []next.Known{neither, first, second}, want: []uint16{3, 4}},
		{name: "rounded", ask: []next.Question{{cause(up, 0.5), cause(down, 0.5+1e-12)}}, known: []next.Known{first}, want: []uint16{3}},
		{name: "no fabric has them", ask: open, known: []next.Known{{Flow: plan.Flow{Src: 9999, Dst: graphs.None}}, first}, sources: []graphs.NodeID{9999, first.Src}, want: []uint16{3}},
		{name: "weights that are none", ask: []next.Question{{cause(up, math.NaN()), cause(down, math.Inf(1)), cause(up, -1)}}, known: []next.Known{first}},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := pathfind.NewECMP(f)
			cfg := next.Config{Known: c.known, Sources: c.sources, Packets: 500, Traces: map[bool]int{false: -1}[c.fresh], Background: -1}
			if c.packets > 0 {
				cfg.Packets, cfg.Traces = c.packets, 0
			}
			chosen := next.NewPlanner(e).Choose(c.ask, cfg)
			var ports []uint16
			fresh, packets := false, 0
			for _, x := range chosen {
				packets += x.Packets
				if x.SrcPort == 0 {
					fresh = true
					packets += next.TraceCost
				} else if x.Packets > 0 && !slices.Contains(ports, x.SrcPort) {
					ports = append(ports, x.SrcPort)
				}
				if !(x.Nats > 0) || math.IsInf(x.Nats, 0) {
					t.Errorf("%+v tells nothing that can be", x)
				}
			}
			if !c.fresh && !slices.Equal(ports, c.want) || fresh != c.fresh || packets > cfg.Packets {
				t.Errorf("chosen %+v, want ports %v, new ones %v, at most %d packets", chosen, c.want, c.fresh, cfg.Packets)
			}
			slices.Reverse(c.ask)
			for _, q := range c.ask {
				slices.Reverse(q)
			}
			slices.Reverse(c.known)
			if d := cmp.Diff(chosen, next.NewPlanner(e).Choose(c.ask, cfg)); d != "" {
				t.Errorf("depends on the order of flows or questions:\n%s", d)
			}
		})
	}
}

// TestTogether: flows that tell the same are not both chosen before one that tells something else.
func TestTogether(t *testing.T) {
	f := leafSpine(t)
	q := next.Question{
		cause(arcs(t, f, "leaf1", "spine1")[0], 0.3), cause(arcs(t, f, "leaf1", "spine2")[0], 0.3), cause(arcs(t, f, "leaf1", "spine3")[0], 0.3),
	}
	flows := []next.Known{
		known(t, f, 1, "h1-1", "leaf1", "spine1", "leaf2", "h2-1"), known(t, f, 2, "h1-1", "leaf1", "spine1", "leaf3", "h3-1"),
		known(t, f, 3, "h1-2", "leaf1", "spine2", "leaf2", "h2-1"), known(t, f, 4, "h1-2", "leaf1", "spine3", "leaf2", "h2-1"),
	}
	crossed := map[graphs.ArcID]int{}
	for _, c := range next.NewPlanner(pathfind.NewECMP(f)).Choose([]next.Question{q}, next.Config{Known: flows, Packets: 420, Traces: -1}) {
		i := slices.IndexFunc(flows, func(k next.Known) bool { return k.Flow == plan.Flow(c.Flow) })
		crossed[flows[i].Path[1]] += c.Packets
	}
	for _, c := range q {
		if n := crossed[graphs.ArcID(c.ID)]; n < 70 || n > 210 {
			t.Errorf("%d of 420 packets cross %s", n, f.ArcName(graphs.ArcID(c.ID)))
		}
	}
}

// TestDecided: what is as good as known is not asked about, nor what all flows cross alike, however many packets they could carry.
func TestDecided(t *testing.T) {
	f := leafSpine(t)
	up, down := arcs(t, f, "leaf1", "spine1")[0], arcs(t, f, "spine1", "leaf2")[0]
	flows := []next.Known{
		known(t, f, 1, "h1-1", "leaf1", "spine1", "leaf2", "h2-1"), known(t, f, 2, "h1-1", "leaf1", "spine1", "leaf3", "h3-1"),
	}
	arc := func(a graphs.ArcID) localize.Cause { return localize.Cause{Kind: localize.Arc, ID: int32(a)} }
	suspect := func(p float64, class ...localize.Cause) localize.Suspect {
		return localize.Suspect{Cause: class[0], Probability: p, Class: class, Loss: 0.048, Low: 0.045, High: 0.051}
	}
	port := f.Out(flows[0].Src)[0]
	host, link := localize.Cause{Kind: localize.Host, ID: int32(flows[0].Src)}, localize.Cause{Kind: localize.Link, ID: int32(port.Link())}
	for _, c := range []struct {
		name          string
		suspects      []localize.Suspect
		known         []next.Known
		decided, asks bool
	}{
		{name: "nothing", decided: true},
		{name: "certain", suspects: []localize.Suspect{suspect(0.995, arc(up))}, decided: true},
		{name: "certain, and a rest", suspects: []localize.Suspect{suspect(0.995, arc(up)), suspect(0.011, arc(down), arc(port))}, decided: true},
		{name: "ruled out", suspects: []localize.Suspect{suspect(0.03, arc(up))}, decided: true},
		{name: "many that are faint", suspects: []localize.Suspect{suspect(0.04, arc(up)), suspect(0.03, arc(down))}, asks: true},
		{name: "likely", suspects: []localize.Suspect{suspect(0.9, arc(up))}, asks: true},
		{name: "one of two", suspects: []localize.Suspect{suspect(1, arc(up), arc(down))}, asks: true},
		{name: "one of two that cross alike", suspects: []localize.Suspect{suspect(1, arc(up), arc(down))}, known: flows[:1]},
		{name: "a host or its link", suspects: []localize.Suspect{suspect(0.997, host, link)}},
		{name: "no number", suspects: []localize.Suspect{suspect(math.NaN(), arc(up))}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &localize.Result{Suspects: c.suspects}
			if got := next.Decided(r, 0.99); got != c.decided {
				t.Errorf("decided: %v", got)
			}
			cfg := next.Config{Known: flows}
			if c.known != nil {
				cfg.Known, cfg.Traces = c.known, -1
			}
			if got := next.NewPlanner(pathfind.NewECMP(f)).Choose(next.Ask(r), cfg); len(got) > 0 != c.asks {
				t.Errorf("asks for %v", got)
			}
		})
	}
}

// TestAskNothing: of no result nothing is asked.
func TestAskNothing(t *testing.T) {
	if q := next.Ask(nil); q != nil || !next.Decided(nil, 0.99) {
		t.Errorf("%v is open", q)
	}
}

// TestToldAll: a flow that lost packets may have troubles of its own, which more of its packets do not rule out; another is asked for that crosses the same.
func TestToldAll(t *testing.T) {
	f := leafSpine(t)
	up := arcs(t, f, "leaf1", "spine1")[0]
	one := known(t, f, 1, "h1-1", "leaf1", "spine1", "leaf2", "h2-1")
	other := known(t, f, 2, "h1-2", "leaf1", "spine1", "leaf2", "h2-1")
	for _, c := range []struct {
		name    string
		loss    float64
		before  next.Count
		unsplit bool
	}{
		{name: "dead", loss: 1, before: next.Count{Sent: 100, Lost: 100}},
		{name: "dead, unsplit", loss: 1, before: next.Count{Sent: 100, Lost: 100}, unsplit: true},
		{name: "gray", loss: 0.05, before: next.Count{Sent: 200, Lost: 11}},
		{name: "counts that cannot be", loss: 1, before: next.Count{Sent: 10, Lost: 1 << 40}},
		{name: "very many", loss: 0.05, before: next.Count{Sent: 1 << 40, Lost: 1 << 36}},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := cause(up, 0.94)
			x.Loss, x.Low, x.High = c.loss, 0.8*c.loss, min(1, 1.2*c.loss)
			cfg := next.Config{Packets: next.Enough(c.loss), Traces: -1, Unsplit: c.unsplit, Background: 1e-5, Known: []next.Known{one, other}}
			cfg.Known[0].There = c.before
			got := next.NewPlanner(pathfind.NewECMP(f)).Choose([]next.Question{{x}}, cfg)
			if len(got) != 1 || got[0].SrcPort != 2 || !(got[0].Nats > 0.01) {
				t.Errorf("of a flow that lost packets and one without: %+v", got)
			}
			cfg.Known = cfg.Known[:1]
			if again := next.NewPlanner(pathfind.NewECMP(f)).Choose([]next.Question{{x}}, cfg); len(again) > 0 && again[0].Nats > got[0].Nats/4 {
				t.Errorf("one that lost packets: %+v, another: %+v", again, got)
			}
		})
	}
}

// TestBeside: where one host is to split a suspect, what flows lose at others is no sign of it; one that is alone is told from what excludes it.
func TestBeside(t *testing.T) {
	f := leafSpine(t)
	up, down, away := arcs(t, f, "leaf1", "spine1")[0], arcs(t, f, "spine1", "leaf2")[0], arcs(t, f, "spine1", "leaf3")[0]
	dead := func(p float64, class ...localize.Cause) localize.Suspect {
		return localize.Suspect{Cause: class[0], Probability: p, Class: class, Loss: 1, Low: 0.99, High: 1}
	}
	arc := func(a graphs.ArcID) localize.Cause { return localize.Cause{Kind: localize.Arc, ID: int32(a)} }
	flows := []next.Known{
		known(t, f, 1, "h1-1", "leaf1", "spine1", "leaf2", "h2-1"), known(t, f, 2, "h3-1", "leaf3", "spine1", "leaf2", "h2-1"),
		known(t, f, 3, "h3-1", "leaf3", "spine1", "leaf1", "h1-1"),
	}
	for _, c := range []struct {
		name string
		ask  []localize.Suspect // about the first
		want uint16
	}{
		{"behind what is dead", []localize.Suspect{dead(1, arc(down), arc(away)), dead(1, arc(up))}, 2},
		{"an arc or its link", []localize.Suspect{dead(0.94, arc(up)), dead(0.065, localize.Cause{Kind: localize.Link, ID: int32(up.Link())})}, 3},
	} {
		run, ok := next.NewPlanner(pathfind.NewECMP(f)).Split(&c.ask[0], c.ask, next.Config{Known: flows})
		if !ok || len(run.Choices) == 0 || run.Choices[0].SrcPort != c.want {
			t.Errorf("%s: %v, %+v", c.name, ok, run)
		}
	}
}

// TestDirections: an arc is told from its link on a random graph, where all that the hosts next to it send across it comes back across it. Nothing comes back
// of what a dead link swallowed, so that there the other host is to send.
func TestDirections(t *testing.T) {
	f, err := generate.RandomRegular(generate.RandomRegularConfig{Switches: 20, Degree: 5, Hosts: 2, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	e := pathfind.NewECMP(f)
	p := next.NewPlanner(e)
	share := func(src, dst graphs.NodeID, a graphs.ArcID) float64 {
		for _, x := range e.Shares(src, dst) {
			if x.Arc == a {
				return x.Share
			}
		}
		return 0
	}
	for _, c := range []struct {
		name    string
		loss    float64
		unsplit bool
		tells   func(src, dst graphs.NodeID, a graphs.ArcID) bool
	}{
		{"gray", 0.02, true, func(src, dst graphs.NodeID, a graphs.ArcID) bool {
			return share(src, dst, a.Reverse()) > 0 && share(dst, src, a) < 1 || share(dst, src, a.Reverse()) > 0 && share(src, dst, a) < 1
		}},
		{"dead", 1, false, func(src, dst graphs.NodeID, a graphs.ArcID) bool { return share(src, dst, a.Reverse()) > 0 }},
	} {
		none, asked := 0, 0
		for a := range graphs.ArcID(f.NumArcs()) {
			if f.IsHostArc(a) {
				continue
			}
			q := next.Question{cause(a, 0.5), {Cause: localize.Cause{Kind: localize.Link, ID: int32(a.Link())}, Weight: 0.5}}
			for i := range q {
				q[i].Loss, q[i].Low, q[i].High = c.loss, 0.9*c.loss, c.loss
			}
			chosen := p.Choose([]next.Question{q}, next.Config{Unsplit: c.unsplit})
			if asked++; !slices.ContainsFunc(chosen, func(x next.Choice) bool { return c.tells(x.Src, x.Dst, a) }) {
				none++
			}
		}
		if none > 0 {
			t.Errorf("%s: of %d of %d arcs nothing tells whether it is the link", c.name, none, asked)
		}
	}
}

// TestHosts: flows are asked for of hosts that can send, to hosts that answer, however far these are from what is open; and where no trace finds the ways of
// a pair, none is asked for there.
func TestHosts(t *testing.T) {
	f, err := generate.FatTree(generate.FatTreeConfig{K: 4})
	if err != nil {
		t.Fatal(err)
	}
	host := func(name string) graphs.NodeID { n, _ := f.NodeByName(name); return n }
	q := next.Question{}
	for _, n := range [][2]string{{"core1", "agg1-1"}, {"core2", "agg1-1"}, {"core3", "agg1-2"}, {"core4", "agg1-2"}} {
		q = append(q, cause(arcs(t, f, n[0], n[1])[0], 0.25))
	}
	few := func(names ...string) (nodes []graphs.NodeID) {
		for _, n := range names {
			nodes = append(nodes, host(n))
		}
		return nodes
	}
	inside := func(src, dst graphs.NodeID) bool {
		return f.NodeName(src)[1] == f.NodeName(dst)[1]
	}
	for _, c := range []struct {
		name             string
		sources, targets []graphs.NodeID
		blind            func(src, dst graphs.NodeID) bool
		none             bool
	}{
		{name: "all"},
		{name: "one sends", sources: few("h2-1-1")},
		{name: "one answers", targets: few("h1-2-2")},
		{name: "one of each", sources: few("h1-1-2"), targets: few("h4-2-1")},
		{name: "none that crosses it", sources: few("h2-1-1"), targets: few("h3-1-1"), none: true},
		{name: "blind", blind: func(src, dst graphs.NodeID) bool { return true }, none: true},
		{name: "blind within pods", blind: inside},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := pathfind.NewECMP(f)
			// What the planner remembers of one question is not for other hosts.
			p := next.NewPlanner(e)
			p.Choose([]next.Question{q}, next.Config{})
			got := p.Choose([]next.Question{q}, next.Config{Sources: c.sources, Targets: c.targets, Blind: c.blind})
			nats := 0.0
			for _, x := range got {
				if c.sources != nil && !slices.Contains(c.sources, x.Src) || c.targets != nil && !slices.Contains(c.targets, x.Dst) {
					t.Errorf("%s to %s", f.NodeName(x.Src), f.NodeName(x.Dst))
				}
				nats += x.Nats
			}
			if (nats < 0.1) != c.none {
				t.Errorf("%d flows that tell %.3f nats", len(got), nats)
			}
		})
	}
}
