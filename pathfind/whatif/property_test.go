package whatif

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"whichlink/graphs"
)

// drawFabric draws a few switches, with links of some speeds between them that may be parallel, and hosts with one link or two.
func drawFabric(t *rapid.T, speeds ...graphs.BitsPerSecond) *graphs.Fabric {
	b := graphs.Builder{Name: "drawn"}
	n := rapid.IntRange(2, 7).Draw(t, "switches")
	for i := range n {
		if _, err := b.AddNode(graphs.Node{Name: fmt.Sprintf("s%d", i), Role: "tor"}); err != nil {
			t.Fatal(err)
		}
	}
	ports := 0
	link := func(x, y int) {
		ports++
		port := fmt.Sprint(ports)
		speed := rapid.SampledFrom(speeds).Draw(t, "speed")
		if _, err := b.AddLink(graphs.End{Node: graphs.NodeID(x), Port: port}, graphs.End{Node: graphs.NodeID(y), Port: port}, speed,
			"group"+fmt.Sprint(ports%3)); err != nil {
			t.Fatal(err)
		}
	}
	for range rapid.IntRange(1, 14).Draw(t, "links") {
		x := rapid.IntRange(0, n-1).Draw(t, "x")
		link(x, (x+rapid.IntRange(1, n-1).Draw(t, "y"))%n)
	}
	for i := range rapid.IntRange(0, 6).Draw(t, "hosts") {
		h, err := b.AddNode(graphs.Node{Name: fmt.Sprintf("h%d", i), Role: graphs.RoleHost})
		if err != nil {
			t.Fatal(err)
		}
		for range rapid.IntRange(1, 2).Draw(t, "uplinks") {
			link(int(h), rapid.IntRange(0, n-1).Draw(t, "switch"))
		}
	}
	f, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// drawThings draws nodes, links and groups.
func drawThings(t *rapid.T, f *graphs.Fabric, label string) []Thing {
	var names []string
	for n := range graphs.NodeID(f.NumNodes()) {
		names = append(names, f.NodeName(n))
	}
	for l := range graphs.LinkID(f.NumLinks()) {
		names = append(names, f.LinkName(l))
	}
	for g := range graphs.GroupID(f.NumGroups()) {
		names = append(names, f.Group(g).Name)
	}
	return find(t, f, rapid.SliceOfN(rapid.SampledFrom(names), 0, 3).Draw(t, label)...)
}

var anyModel = []string{"ecmp", "wcmp", "su:2", "su:3", "ksp:3", "vlb", "spraypoint:p=2,h=2"}

// If nothing goes, nothing changes.
func TestNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawFabric(t, 0, 10e9, 100e9)
		a := ask(t, question(t, f, rapid.SampledFrom(anyModel).Draw(t, "model")))
		if len(a.Switches)+len(a.Hosts)+len(a.Pairs.Hurt)+len(a.Load.Heated)+a.Pairs.CutOff+a.LinksGone > 0 || a.Rule.Worst >= 0 {
			t.Fatalf("something: %+v", a)
		}
		if a.Load.Before != a.Load.After || a.Load.Offered != a.Load.Left || a.Load.BlackHoled > 0 {
			t.Fatalf("load: %+v", a.Load)
		}
	})
}

// What holds of any answer, whatever goes; and if more goes, no more is left.
func TestMoreIsWorse(t *testing.T) {
	const speed = 100e9
	rapid.Check(t, func(t *rapid.T) {
		f := drawFabric(t, speed)
		q := question(t, f, rapid.SampledFrom(anyModel).Draw(t, "model"))
		q.Fail, q.Drain = drawThings(t, f, "fail"), drawThings(t, f, "drain")
		some := ask(t, q)
		q.Fail = append(slices.Clone(q.Fail), drawThings(t, f, "more")...)
		more := ask(t, q)
		if more.LinksGone < some.LinksGone || more.Pairs.All > some.Pairs.All || more.Load.Left > some.Load.Left+1 {
			t.Fatalf("less: %+v, %+v", some, more)
		}
		d := newDamage(&q)
		cut := 0
		flow := newNetwork(d).newFlood()
		left := map[[2]graphs.NodeID]float64{}
		for _, p := range some.Pairs.Hurt {
			left[[2]graphs.NodeID{p.Src, p.Dst}] = p.CapacityLeft
		}
		for _, p := range more.Pairs.Hurt {
			// Disjoint paths and what the model can use are flows, of links that carry one each and of links that carry their speed.
			if float64(p.Disjoint)*speed > p.Capacity || float64(p.DisjointLeft)*speed > p.CapacityLeft ||
				p.Usable > p.Capacity*(1+1e-9) || p.UsableLeft > p.CapacityLeft*(1+1e-9) || p.CapacityLeft > p.Capacity {
				t.Fatalf("%v: %+v", q.Fail, p)
			}
			if was, hurt := left[[2]graphs.NodeID{p.Src, p.Dst}]; hurt && p.CapacityLeft > was {
				t.Fatalf("%g of %g", p.CapacityLeft, was)
			}
			if p.CutOff() {
				cut++
			}
			if before, after := flow.between(p.Dst, p.Src); before != p.Capacity || after != p.CapacityLeft {
				t.Fatalf("there %g and %g, back %g and %g", p.Capacity, p.CapacityLeft, before, after)
			}
		}
		if cut != more.Pairs.CutOff {
			t.Fatalf("%d pairs have no way, %d are cut off", cut, more.Pairs.CutOff)
		}
	})
}

// The maximum flow is the least cut.
func TestMaxFlow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawFabric(t, 1e9, 25e9, 40e9)
		d := newDamage(&Config{Fabric: f, Fail: drawThings(t, f, "fail")})
		switches := f.Switches()
		src := rapid.SampledFrom(switches[1:]).Draw(t, "src")
		before, after := newNetwork(d).newFlood().between(src, switches[0])
		least := [2]float64{math.Inf(1), math.Inf(1)}
		for side := range 1 << len(switches) { // the nodes of a side, which has src and not the first
			if side>>src&1 == 0 || side&1 == 1 {
				continue
			}
			var cut [2]float64
			for l := range graphs.LinkID(f.NumLinks()) {
				x, y := f.Tail(l.Forward()), f.Head(l.Forward())
				if f.IsHostArc(l.Forward()) || side>>x&1 == side>>y&1 {
					continue
				}
				cut[0] += d.speed[l]
				if !d.down[l] {
					cut[1] += d.speed[l]
				}
			}
			least[0], least[1] = min(least[0], cut[0]), min(least[1], cut[1])
		}
		if before != least[0] || after != least[1] {
			t.Fatalf("flows of %g and %g, cuts of %g and %g", before, after, least[0], least[1])
		}
	})
}

// A demand, of which hosts with one link stand for their switches, loads the links between switches as the flows of the hosts do one by one.
func TestDemands(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawFabric(t, 100e9)
		hosts := f.Hosts()
		if len(hosts) < 2 {
			return
		}
		q := question(t, f, rapid.SampledFrom([]string{"ecmp", "su:2", "spraypoint:p=2,h=2"}).Draw(t, "model"))
		q.Fail = drawThings(t, f, "fail")
		d := newDamage(&q)
		ring := Ring(f, hosts)
		all := AllToAll(f, hosts)
		var flows []Flow
		for _, s := range all.senders {
			for _, r := range all.senders {
				if s != r {
					flows = append(flows, Flow{s.node, r.node, s.rate / float64(len(hosts)-1)})
				}
			}
		}
		m, err := newModels(&q, d)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			matrix *Matrix
			flows  []Flow
		}{{all, flows}, {ring, ring.flows}, {Permutation(f, hosts, 1), Permutation(f, hosts, 1).flows}, {Flows("flows", flows), flows}} {
			want := make([]float64, f.NumArcs())
			for _, w := range c.flows {
				if !d.there(w.Src) || !d.there(w.Dst) {
					continue
				}
				for _, s := range m.after.Ways(w.Src, w.Dst).Shares() {
					if !f.IsHostArc(s.Arc) {
						want[s.Arc] += s.Share * w.Rate
					}
				}
			}
			got := m.after.Loads(c.matrix.demand(d.placer(&q), d.there)).Arcs
			for a := range got {
				if f.IsHostArc(graphs.ArcID(a)) {
					got[a] = 0
				}
			}
			if diff := cmp.Diff(want, got, cmpopts.EquateApprox(1e-9, 1)); diff != "" {
				t.Fatal(c.matrix, diff)
			}
		}
	})
}
