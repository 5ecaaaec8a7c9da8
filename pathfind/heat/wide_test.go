package heat_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"whichlink/graphs"
	"whichlink/graphs/generate"
	"whichlink/pathfind"
	"whichlink/pathfind/heat"
)

// gravity is traffic between hosts, some of which send and receive far more than others, and the loads that it makes.
func gravity(m pathfind.Model, rng *rand.Rand, use float64) []float64 {
	f := m.Fabric()
	weight := map[graphs.NodeID]float64{}
	d := pathfind.Uniform(f)
	for _, n := range d.Ends {
		weight[n] = 0.25 + 1.5*rng.Float64()
	}
	d.Volume = func(src, dst graphs.NodeID) float64 { return weight[src] * weight[dst] }
	load := m.Loads(d).Arcs
	total, most, speeds := 0.0, 0.0, pathfind.Speeds(f)
	for _, w := range weight {
		total += w
	}
	for a, x := range load {
		most = max(most, x/speeds[graphs.ArcID(a).Link()])
	}
	for _, n := range d.Ends {
		hosts := 0.0
		for _, a := range f.Out(n) {
			if f.IsHostArc(a) {
				hosts++
			}
		}
		for _, a := range f.Out(n) {
			if f.IsHostArc(a) {
				load[a], load[a.Reverse()] = weight[n]*(total-weight[n])/hosts, weight[n]*(total-weight[n])/hosts
			}
		}
	}
	for a := range load {
		load[a] *= use / most
	}
	return load
}

// fastHosts are the speeds of links where it is not the hosts' own that are full.
func fastHosts(f *graphs.Fabric) []float64 {
	speeds := pathfind.Speeds(f)
	for l := range speeds {
		if f.IsHostArc(graphs.LinkID(l).Forward()) {
			speeds[l] = 100 * speed
		}
	}
	return speeds
}

// TestWide: fabrics of more switches than pairs are kept for have an expectation, too. Uneven demand alone heats nothing; what two neighbours say to each
// other does, and they are named; what no demand explains collides.
func TestWide(t *testing.T) {
	f, err := generate.RandomRegular(generate.RandomRegularConfig{Switches: 200, Degree: 8, Hosts: 1, Seed: 2})
	if err != nil {
		t.Fatal(err)
	}
	m := pathfind.NewECMP(f)
	rng := rand.New(rand.NewPCG(5, 5))
	load := gravity(m, rng, 0.6)
	if r := heat.Solve(heat.Input{Model: m, Load: load, Speed: fastHosts(f)}); len(r.Hot) > 0 || !r.Estimated {
		t.Errorf("uneven demand heats: %+v", r.Hot)
	}
	hot := graphs.ArcID(graphs.None) // between two switches with hosts, as all have
	for a := range graphs.ArcID(f.NumArcs()) {
		if !f.IsHostArc(a) && load[a] < 0.3*speed {
			hot = a
			break
		}
	}
	host := func(n graphs.NodeID) graphs.ArcID {
		for _, a := range f.Out(n) {
			if f.IsHostArc(a) {
				return a
			}
		}
		return graphs.None
	}
	talk := append([]float64(nil), load...)
	for _, a := range []graphs.ArcID{hot, host(f.Tail(hot)).Reverse(), host(f.Head(hot))} {
		talk[a] += 0.65 * speed
	}
	r := heat.Solve(heat.Input{Model: m, Load: talk, Speed: fastHosts(f)})
	if len(r.Hot) == 0 || r.Hot[0].Arc != hot || r.Hot[0].Verdict != heat.SinglePath || r.Hot[0].Pairs[0].Src != f.Tail(hot) || r.Hot[0].Pairs[0].Dst != f.Head(hot) {
		t.Errorf("neighbours talk: %+v", r.Hot)
	}
	// The same load with the demand measured that does not contain it. Hosts are ends then, and pairs are many.
	var flows []heat.Flow
	hosts := f.Hosts()
	for _, src := range hosts {
		for _, dst := range hosts {
			if src != dst {
				flows = append(flows, heat.Flow{Src: src, Dst: dst, Rate: 0.3 * speed / float64(len(hosts))})
			}
		}
	}
	even := m.Loads(pathfind.Demand{Ends: hosts, Volume: func(graphs.NodeID, graphs.NodeID) float64 { return flows[0].Rate }}).Arcs
	even[hot] += 0.6 * speed
	for i := range flows {
		flows[i].Rate /= 8 // bytes for bits
	}
	r = heat.Solve(heat.Input{Model: m, Load: even, Matrix: flows, Speed: fastHosts(f)})
	if len(r.Hot) != 1 || r.Hot[0].Arc != hot || r.Hot[0].Verdict != heat.Collision || len(r.Hot[0].Pairs) == 0 || r.Estimated || math.Abs(r.Scaled/8-1) > 0.1 {
		t.Errorf("nobody talks: scaled by %g: %+v", r.Scaled, r.Hot)
	}
}
