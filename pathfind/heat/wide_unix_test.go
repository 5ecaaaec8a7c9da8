//go:build unix

package heat_test

import (
	"flag"
	"math/rand/v2"
	"runtime"
	"syscall"
	"testing"
	"time"

	"whichlink/graphs"
	"whichlink/graphs/generate"
	"whichlink/pathfind"
	"whichlink/pathfind/heat"
)

var full = flag.Bool("full", false, "measure fabrics of a thousand switches and more: minutes")

// TestWideFull prints what it costs to hold the loads of the largest fabrics against what is expected.
func TestWideFull(t *testing.T) {
	if !*full {
		t.Skip("takes minutes: -full")
	}
	plant, err := generate.RNG(generate.RNGConfig{Routers: 1000, Degree: 64, Hosts: 1, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	cluster, err := generate.ThreeTier(generate.ThreeTierConfig{Zones: 8, Racks: 252, ClusterSwitches: 18, Aggregation: 36, Hosts: 2, NICs: 8})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []pathfind.Model{pathfind.NewECMP(plant.Fabric()), pathfind.NewSpraypoint(plant.Fabric(), nil, pathfind.SpraypointConfig{}), pathfind.NewECMP(cluster)} {
		f := m.Fabric()
		load := gravity(m, rand.New(rand.NewPCG(1, 1)), 0.6)
		hot := graphs.ArcID(graphs.None)
		for a := range graphs.ArcID(f.NumArcs()) {
			if !f.IsHostArc(a) {
				hot = a
				break
			}
		}
		load[hot] = 0.95 * pathfind.Speeds(f)[hot.Link()]
		runtime.GC()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		start := cpuTime(t)
		r := heat.Solve(heat.Input{Model: m, Load: load, Speed: fastHosts(f)})
		took := cpuTime(t) - start
		runtime.ReadMemStats(&after)
		t.Logf("%s, %s: %d switches with hosts, %d arcs: %.1f s of CPU, %d MiB allocated; %d hot", f, m, len(pathfind.Uniform(f).Ends), f.NumArcs(), took.Seconds(), (after.TotalAlloc-before.TotalAlloc)>>20, len(r.Hot))
		if len(r.Hot) != 1 || r.Hot[0].Arc != hot || len(r.Hot[0].Pairs) == 0 {
			t.Errorf("%s: %d hot, expected %s", m, len(r.Hot), f.ArcName(hot))
		}
	}
}

// cpuTime is the time that processors spent in this program so far.
func cpuTime(t *testing.T) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
