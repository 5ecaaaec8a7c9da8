package diagnose

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"whichlink/graphs"
	"whichlink/graphs/generate"
	"whichlink/internal/evidence"
	"whichlink/pathfind"
)

// exchanged is a fabric with the far ends of two links exchanged; ports keep their names.
func exchanged(t *testing.T, plan *graphs.Fabric, one, other graphs.LinkID) *graphs.Fabric {
	t.Helper()
	var b graphs.Builder
	for n := range graphs.NodeID(plan.NumNodes()) {
		node := *plan.Node(n)
		if _, err := b.AddNode(node); err != nil {
			t.Fatal(err)
		}
	}
	for l := range graphs.LinkID(plan.NumLinks()) {
		ends := plan.Link(l).Ends
		switch l {
		case one:
			ends[1] = plan.Link(other).Ends[1]
		case other:
			ends[1] = plan.Link(one).Ends[1]
		}
		end := func(p graphs.PortID) graphs.End { return graphs.End{Node: plan.Port(p).Node, Port: plan.Port(p).Name} }
		if _, err := b.AddLink(end(ends[0]), end(ends[1]), 0); err != nil {
			t.Fatal(err)
		}
	}
	f, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// A tracing is flows over a fabric that is cabled otherwise than planned, each traced hop by hop again and again, the way that it takes from the plan where that has one.
type tracing struct {
	plan  *graphs.Fabric
	store *Store
	start time.Time
	rng   *rand.Rand
	// untold leaves out whose answers told the paths.
	untold bool
	// outward has one of so many switches answer from the port by which the answer leaves (RFC 1812, 4.3.2.4), not from that at which the probe came in; 0 has none.
	outward int
	spread  int // by how much the ways of these answers differ from flow to flow
	probers int // how many hosts probe, or 0 for all
}

// run traces each flow so many times, two seconds apart. Of what arcs of the real fabric lose, probes of ten a second are lost.
func (x *tracing) run(real *graphs.Fabric, flows, rounds int, from time.Duration, lose func(a graphs.ArcID) float64) {
	e, planned := pathfind.NewECMP(real), pathfind.NewECMP(x.plan)
	hosts := x.plan.Hosts()
	for i := range flows {
		prober := i % cmp.Or(x.probers, len(hosts))
		src, dst := hosts[prober], hosts[(prober+1+x.rng.IntN(len(hosts)-1))%len(hosts)]
		flow := evidence.Flow{Src: x.plan.Address(src, false), Dst: x.plan.Address(dst, false), Proto: "udp", SrcPort: uint16(50000 + i), DstPort: 862}
		walk := func(a, b graphs.NodeID) ([]graphs.ArcID, []pathfind.Hop, []string) {
			paths, _ := e.Paths(a, b, 100)
			arcs := paths[x.rng.IntN(len(paths))].Arcs
			hops := make([]pathfind.Hop, len(arcs))
			for i, a := range arcs {
				p, _ := x.plan.PortByName(real.PortName(real.HeadPort(a)))
				if x.outward > 0 && int(real.Head(a))%x.outward == 0 && real.Head(a) != b {
					ways, _ := e.Paths(real.Head(a), src, 100)
					way := ways[(int(real.Head(a)+src)+i*x.spread)%len(ways)]
					p, _ = x.plan.PortByName(real.PortName(real.TailPort(way.Arcs[0])))
				}
				hops[i] = pathfind.Hop{Answered: true, Node: real.Head(a), Port: p}
			}
			var names []string
			if found := pathfind.Resolve(planned, a, b, hops, 2); len(found) == 1 {
				for _, a := range found[0].Arcs {
					names = append(names, x.plan.ArcName(a))
				}
			}
			return arcs, hops, names
		}
		there, hops, path := walk(src, dst)
		home, _, back := walk(dst, src)
		record := func(kind evidence.Kind, at time.Duration) *evidence.Record {
			return &evidence.Record{V: 1, Time: x.start.Add(from + at), Source: evidence.SourceProbe, By: x.plan.NodeName(src), Kind: kind, Flow: &flow}
		}
		for round := range rounds {
			at := time.Duration(round)*2*time.Second + 100*time.Millisecond
			for ttl := 2; ttl < len(hops) && !x.untold; ttl++ {
				r := record(evidence.KindHop, at+time.Duration(ttl)*10*time.Millisecond)
				r.TTL, r.Node, r.Address = ttl, x.plan.NodeName(hops[ttl-1].Node), x.plan.Port(hops[ttl-1].Port).Prefixes[0].Addr().String()
				r.Sent, r.Answered = evidence.Int(1), evidence.Int(1)
				x.store.Add(r)
			}
			r := record(evidence.KindPath, at+200*time.Millisecond)
			r.Path, r.Back = path, back
			x.store.Add(r)
			lost := [2]int{}
			for range 20 {
				for k, arcs := range [][]graphs.ArcID{there, home} {
					if slices.ContainsFunc(arcs, func(a graphs.ArcID) bool { return lose != nil && x.rng.Float64() < lose(a) }) {
						lost[k]++
						break
					}
				}
			}
			r = record(evidence.KindEcho, at+2*time.Second)
			r.Path, r.Back, r.WindowMS = path, back, 1700
			r.Sent, r.Lost, r.LostForward, r.LostBack = evidence.Int(20), evidence.Int(lost[0]+lost[1]), evidence.Int(lost[0]), evidence.Int(lost[1])
			x.store.Add(r)
		}
	}
}

func newTracing(t *testing.T, seed uint64) *tracing {
	t.Helper()
	plan, err := generate.RandomRegular(generate.RandomRegularConfig{Switches: 16, Degree: 4, Hosts: 1, Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	return tracingOf(plan, seed)
}

func tracingOf(plan *graphs.Fabric, seed uint64) *tracing {
	return &tracing{plan: plan, store: NewStore(plan, Config{}), start: time.Date(2026, 11, 20, 3, 0, 0, 0, time.UTC), rng: rand.New(rand.NewPCG(seed, 3))}
}

// noneNamedBut fails where something is named that has another symptom.
func (x *tracing) noneNamedBut(t *testing.T, symptom Symptom) {
	t.Helper()
	d := x.store.Diagnose()
	for _, y := range d.Suspects {
		if y.Probability >= Named && y.Symptom != symptom {
			t.Errorf("%s: %s %s %s at %.2f\n%s", x.plan.Name(), y.Kind, y.ID, y.Symptom, y.Probability, d.Text())
		}
	}
}

// pick draws two links between four switches.
func (x *tracing) pick() (one, other graphs.LinkID) {
	nodes := func(l graphs.LinkID) [2]graphs.NodeID {
		return [2]graphs.NodeID{x.plan.Tail(l.Forward()), x.plan.Head(l.Forward())}
	}
	for {
		one, other = graphs.LinkID(x.rng.IntN(x.plan.NumLinks())), graphs.LinkID(x.rng.IntN(x.plan.NumLinks()))
		a, b := nodes(one), nodes(other)
		if x.plan.IsHostArc(one.Forward()) || x.plan.IsHostArc(other.Forward()) || slices.Contains(b[:], a[0]) || slices.Contains(b[:], a[1]) {
			continue
		}
		return one, other
	}
}

// On a random graph two cables that are exchanged are told by nothing but answers from behind other switches than planned. They were two links that are down, or nothing.
func TestExchangedCables(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			x := newTracing(t, seed)
			one, other := x.pick()
			real := exchanged(t, x.plan, one, other)
			sick := graphs.LinkID(0)
			for sick == one || sick == other || real.IsHostArc(sick.Forward()) {
				sick++
			}
			x.run(real, 192, 5, 0, func(a graphs.ArcID) float64 {
				if a == sick.Forward() {
					return 0.05
				}
				return 0
			})
			want := map[string]Symptom{x.plan.LinkName(one): Miswire, x.plan.LinkName(other): Miswire, x.plan.LinkName(sick): Loss}
			d := x.store.Diagnose()
			for _, y := range d.Suspects {
				if y.Probability < Named {
					continue
				}
				if want[y.Link] != y.Symptom {
					t.Errorf("%s %s %s at %.2f\n%s", y.Kind, y.ID, y.Symptom, y.Probability, d.Text())
				}
				if y.Symptom == Miswire && !strings.Contains(y.Next[len(y.Next)-1].Do, "exchange the plugs") {
					t.Errorf("%s: next %v", y.ID, y.Next)
				}
				delete(want, y.Link)
			}
			if len(want) > 0 {
				t.Errorf("not told: %v\n%s", want, d.Text())
			}
		})
	}
}

// Cables that were put right again are not told, nor those that are where the plan has them while paths change.
func TestStraysOver(t *testing.T) {
	x := newTracing(t, 4)
	one, other := x.pick()
	x.run(exchanged(t, x.plan, one, other), 128, 4, 0, nil)
	if n := len(x.store.strays()); n == 0 {
		t.Fatal("no stray while cables are exchanged")
	}
	x.run(x.plan, 128, 4, time.Minute, nil)
	x.store.arrange()
	if list := x.store.strays(); len(list) > 0 {
		t.Errorf("strays after cables were put right: %+v", list)
	}
}

// What a cable loses that is not where the plan has it is no fault of a planned one: neither of that in whose place it is, nor of one between the same switches.
func TestExchangedAndLossy(t *testing.T) {
	for seed := range uint64(20) {
		x := newTracing(t, seed)
		if seed%2 == 1 {
			plan, err := generate.LeafSpine(generate.LeafSpineConfig{Leaves: 4, Spines: 4, Hosts: 2})
			if err != nil {
				t.Fatal(err)
			}
			x = tracingOf(plan, seed)
		}
		one, other := x.pick()
		x.run(exchanged(t, x.plan, one, other), 128, 5, 0, func(a graphs.ArcID) float64 { return 0.1 * is(a == one.Forward()) })
		x.noneNamedBut(t, Miswire)
	}
}

// Where ports tell of wrong cables, flows that went by them convict no planned one either.
func TestExchangedAsHeard(t *testing.T) {
	for seed := range uint64(12) {
		x := newTracing(t, seed)
		x.untold = true
		one, other := x.pick()
		real := exchanged(t, x.plan, one, other)
		for _, l := range []graphs.LinkID{one, other} {
			for side, p := range real.Link(l).Ends {
				near, far := real.PortName(p), real.Link(l).Ends[1-side]
				r := &evidence.Record{V: 1, Time: x.start.Add(9 * time.Second), Source: evidence.SourceSNMP, By: "poll", Kind: evidence.KindNeighbour}
				r.Port, r.RemoteSystem, r.RemotePort = near, real.NodeName(real.Port(far).Node), real.Port(far).Name
				x.store.Add(r)
			}
		}
		x.run(real, 128, 5, 0, func(a graphs.ArcID) float64 { return 0.1 * is(a == one.Forward()) })
		x.noneNamedBut(t, Miswire)
	}
}

// Switches that answer from the port by which the answer leaves, as Linux does by itself, all or some, are not cabled otherwise than planned.
func TestOutwardAnswers(t *testing.T) {
	for seed := range uint64(90) {
		x := newTracing(t, seed)
		if seed%3 == 1 {
			plan, err := generate.LeafSpine(generate.LeafSpineConfig{Leaves: 4, Spines: 4, Hosts: 2})
			if err != nil {
				t.Fatal(err)
			}
			x = tracingOf(plan, seed)
		}
		x.spread = int(seed) / 30 % 2
		x.outward, x.probers = 1+int(seed)/60, []int{0, 1, 2, 4}[seed%4]
		x.run(x.plan, []int{16, 128}[seed/4%2], 5, 0, nil)
		x.noneNamedBut(t, "")
	}
}
