package diagnose_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"whichlink/graphs"
	"whichlink/graphs/generate"
	"whichlink/internal/diagnose"
	"whichlink/internal/evidence"
	"whichlink/pathfind"
	"whichlink/pathfind/heat"
)

// counted is what the ports of a fabric count in ten seconds, when each arc carries a load in bit/s. The ports of hosts have a speed of their own.
func counted(f *graphs.Fabric, load []float64, down graphs.LinkID, hostSpeed uint64) []*evidence.Record {
	const interval = 10 * time.Second
	var out []*evidence.Record
	for p := range graphs.PortID(f.NumPorts()) {
		octets := func(a graphs.ArcID) *evidence.Counters {
			return &evidence.Counters{Octets: evidence.Count(uint64(load[a] / 8 * interval.Seconds()))}
		}
		a := f.ArcFrom(p)
		r := &evidence.Record{
			Time: time.Date(2026, 11, 20, 8, 0, 10, 0, time.UTC), Source: evidence.SourceSNMP, By: f.NodeName(f.Port(p).Node), Kind: evidence.KindCounters,
			PortState: evidence.PortState{
				Port: f.PortName(p), IntervalMS: int(interval.Milliseconds()), Oper: "up", Admin: "up", Speed: uint64(f.Link(a.Link()).Speed),
				Out: octets(a), In: octets(f.ArcInto(p)),
			},
		}
		if f.IsHostArc(a) {
			r.Speed = hostSpeed
		}
		if a.Link() == down {
			r.Oper = "down"
		}
		out = append(out, r)
	}
	return out
}

// TestHotSuspects: hot arcs are named with the reason, by what ports count alone; an arc of a random graph that carries more than its siblings by design is not.
func TestHotSuspects(t *testing.T) {
	leaves, err := generate.LeafSpine(generate.LeafSpineConfig{Leaves: 6, Spines: 4, Hosts: 4})
	if err != nil {
		t.Fatal(err)
	}
	graph, err := generate.RandomRegular(generate.RandomRegularConfig{Switches: 24, Degree: 5, Hosts: 1, Seed: 4})
	if err != nil {
		t.Fatal(err)
	}
	hosts := func(f *graphs.Fabric) pathfind.Demand { return pathfind.Demand{Ends: f.Hosts()} }
	// evenly is what the hosts send evenly, as a matrix that counts bytes for bits.
	evenly := func(f *graphs.Fabric, load []float64) (flows []heat.Flow) {
		n := float64(len(f.Hosts()))
		for _, src := range f.Hosts() {
			for _, dst := range f.Hosts() {
				if src != dst {
					flows = append(flows, heat.Flow{Src: src, Dst: dst, Rate: load[f.Out(src)[0]] / (n - 1) / 8})
				}
			}
		}
		return flows
	}
	// full scales loads so that the fullest arc between switches is as full as asked for.
	full := func(f *graphs.Fabric, load []float64, use float64) {
		most := 0.0
		for a, x := range load {
			if l := f.Link(graphs.ArcID(a).Link()); !f.IsHostArc(graphs.ArcID(a)) {
				most = max(most, x/float64(l.Speed))
			}
		}
		for a := range load {
			load[a] *= use / most
		}
	}
	none := graphs.LinkID(graphs.None)
	up := leaves.Out(leaves.Switches()[0])
	var first graphs.ArcID // the first leaf's first uplink
	for _, a := range up {
		if !leaves.IsHostArc(a) {
			first = a
			break
		}
	}
	var flow []graphs.ArcID // one of the paths of a pair that has several, longer than others
	for _, dst := range graph.Hosts()[1:] {
		if paths, _ := pathfind.NewECMP(graph).Paths(graph.Hosts()[0], dst, 10); len(paths) > 1 && len(paths[0].Arcs) > len(flow) {
			flow = paths[0].Arcs
		}
	}
	for _, c := range []struct {
		name string
		f    *graphs.Fabric
		down graphs.LinkID
		load func(f *graphs.Fabric) []float64
		// traffic is what was measured; nil for nothing.
		traffic func(f *graphs.Fabric, load []float64) []heat.Flow
		id      string // what is named first, empty for nothing
		says    []string
		denies  string // what is not to be said
	}{
		{name: "T12", f: graph, down: none, load: func(f *graphs.Fabric) []float64 {
			load := pathfind.NewECMP(f).Loads(hosts(f)).Arcs
			full(f, load, 0.85)
			return load
		}},
		{name: "high everywhere", f: leaves, down: none, load: func(f *graphs.Fabric) []float64 {
			load := pathfind.NewECMP(f).Loads(hosts(f)).Arcs
			full(f, load, 0.95)
			return load
		}, says: []string{"load is high everywhere", "and none is the culprit"}},
		{name: "collision", f: leaves, down: none, load: func(f *graphs.Fabric) []float64 {
			load := pathfind.NewECMP(f).Loads(hosts(f)).Arcs
			full(f, load, 0.2)
			// Three flows of 25 Gbit/s from the first leaf to the second over one spine.
			second := graphs.ArcID(graphs.None)
			for _, a := range f.Out(f.Head(first)) {
				if f.Head(a) == f.Switches()[1] {
					second = a
				}
			}
			load[first] += 75e9
			load[second] += 75e9
			for i := range 3 {
				load[f.Out(f.Hosts()[i])[0]] += 25e9
				load[f.Out(f.Hosts()[4+i])[0].Reverse()] += 25e9
			}
			return load
		}, id: leaves.ArcName(first), says: []string{"collision"}},
		{name: "lost capacity", f: leaves, down: first.Link(), load: func(f *graphs.Fabric) []float64 {
			load := pathfind.NewECMPWithout(f, func(l graphs.LinkID) bool { return l == first.Link() }).Loads(hosts(f)).Arcs
			full(f, load, 0.93)
			return load
		}, says: []string{"lost capacity", "capacity was lost with " + leaves.LinkName(first.Link()), "load is high everywhere"}, denies: "none is the culprit"},
		// Too little for what it does not have to do with: with all links up they would be two thirds full.
		{name: "lost capacity, not full", f: leaves, down: first.Link(), load: func(f *graphs.Fabric) []float64 {
			load := pathfind.NewECMPWithout(f, func(l graphs.LinkID) bool { return l == first.Link() }).Loads(hosts(f)).Arcs
			full(f, load, 0.85)
			return load
		}, id: leaves.ArcName(up[1]), says: []string{"lost capacity", "capacity was lost with " + leaves.LinkName(first.Link())}},
		{name: "incast", f: leaves, down: none, load: func(f *graphs.Fabric) []float64 {
			load := pathfind.NewECMP(f).Loads(hosts(f)).Arcs
			full(f, load, 0.02)
			to := f.Hosts()[0]
			for _, src := range f.Hosts()[4:] {
				for _, x := range pathfind.NewECMP(f).Shares(src, to) {
					load[x.Arc] += 1.1e9 * x.Share
				}
			}
			return load
		}, id: leaves.ArcName(leaves.Out(leaves.Hosts()[0])[0].Reverse()), says: []string{"demand, incast", "most of it, by the matrix: "}},
		{name: "measured", f: graph, down: none, load: func(f *graphs.Fabric) []float64 {
			load := pathfind.NewECMP(f).Loads(hosts(f)).Arcs
			full(f, load, 0.2)
			load[f.Out(f.Switches()[3])[0]] = 90e9
			return load
		}, traffic: evenly, id: graph.ArcName(graph.Out(graph.Switches()[3])[0]), says: []string{"collision", "the traffic matrix is measured, and was multiplied by 8 "}},
		{name: "the matrix lacks a host's", f: leaves, down: none, load: func(f *graphs.Fabric) []float64 {
			load := pathfind.NewECMP(f).Loads(hosts(f)).Arcs
			full(f, load, 0.02)
			load[f.Out(f.Hosts()[0])[0].Reverse()] = 24e9
			return load
		}, traffic: evenly, id: leaves.ArcName(leaves.Out(leaves.Hosts()[0])[0].Reverse()), says: []string{"demand: ", "the matrix lacks some of it", "see who sends what the matrix lacks"}},
		// A flow of a pair that has several paths fills one of them.
		{name: "a great flow", f: graph, down: none, load: func(f *graphs.Fabric) []float64 {
			load := pathfind.NewECMP(f).Loads(hosts(f)).Arcs
			full(f, load, 0.2)
			for _, a := range flow {
				load[a] += 70e9
			}
			return load
		}, says: []string{"collision: ", "look for the few that are large"}, denies: "add a link"},
		// What fills an arc comes from a host before it and goes to one behind it.
		{name: "guessed", f: graph, down: none, load: func(f *graphs.Fabric) []float64 {
			load := pathfind.NewECMP(f).Loads(hosts(f)).Arcs
			full(f, load, 0.2)
			there := slices.IndexFunc(f.Out(f.Head(flow[1])), f.IsHostArc)
			for _, a := range []graphs.ArcID{flow[0], flow[1], f.Out(f.Head(flow[1]))[there]} {
				load[a] += 70e9
			}
			return load
		}, id: graph.ArcName(flow[1]), says: []string{"single path or collision: ", "before a link is added there"}, denies: "add a link"},
	} {
		load := c.load(c.f)
		var cfg diagnose.Config
		if c.traffic != nil {
			cfg.Traffic = c.traffic(c.f, load)
		}
		store := diagnose.NewStore(c.f, cfg)
		hostSpeed := uint64(1600e9)
		if c.name == "incast" || c.name == "the matrix lacks a host's" {
			hostSpeed = 25e9
		}
		for _, r := range counted(c.f, load, c.down, hostSpeed) {
			store.Add(r)
		}
		d := store.Diagnose()
		var hot []string
		for _, x := range d.Suspects {
			if x.Symptom == diagnose.Hot && x.Probability >= diagnose.Named {
				hot = append(hot, x.ID)
			}
		}
		text := d.Text()
		ok := c.id == "" || len(hot) > 0 && hot[0] == c.id
		for _, say := range c.says {
			ok = ok && strings.Contains(text, say)
		}
		ok = ok && (c.denies == "" || !strings.Contains(text, c.denies))
		if !ok || c.name == "T12" && len(hot) > 0 || c.name == "high everywhere" && len(hot) > 0 {
			t.Errorf("%s: %v is hot, expected %q, and the words %q:\n%s", c.name, hot, c.id, c.says, text)
		}
	}
}

// TestIncastQueue: what many send to one host waits in the queue of the last arc, which probes cannot tell from the host. That is one suspect, the arc, and what the queue
// drops is no other's either.
func TestIncastQueue(t *testing.T) {
	f, err := generate.RandomRegular(generate.RandomRegularConfig{Switches: 16, Degree: 4, Hosts: 1, Seed: 2})
	if err != nil {
		t.Fatal(err)
	}
	const hostSpeed = 25e9
	host := f.Hosts()[3]
	last := f.Out(host)[0].Reverse()
	load := make([]float64, f.NumArcs())
	for _, src := range f.Hosts() {
		for _, dst := range f.Hosts() {
			rate := 0.2e9
			if dst == host {
				rate = 0.97 * hostSpeed / float64(len(f.Hosts())-1)
			}
			for _, x := range pathfind.NewECMP(f).Shares(src, dst) {
				load[x.Arc] += rate * x.Share
			}
		}
	}
	for _, drops := range []bool{false, true} {
		d := &delayed{f: f, rng: rand.New(rand.NewPCG(1, 5)), adds: func(a graphs.ArcID, _ int) (float64, float64) { return 400 * is(a == last), 600 * is(a == last) }}
		store := diagnose.NewStore(f, diagnose.Config{})
		for _, r := range d.records(12) {
			if there := slices.Contains(r.Path, f.ArcName(last)); drops && d.rng.IntN(2) == 0 && (there || slices.Contains(r.Back, f.ArcName(last))) {
				r.Lost, r.LostForward, r.LostBack = evidence.Int(1), evidence.Int(int(is(there))), evidence.Int(int(is(!there)))
			}
			store.Add(r)
		}
		for _, r := range counted(f, load, graphs.LinkID(graphs.None), hostSpeed) {
			if drops && r.Port == f.PortName(f.TailPort(last)) {
				r.Out.Discards = evidence.Count(40000)
			}
			store.Add(r)
		}
		diagnosis := store.Diagnose()
		var named []diagnose.Suspect
		for _, x := range diagnosis.Suspects {
			if x.Probability >= diagnose.Named {
				named = append(named, x)
			}
		}
		if len(named) != 1 || named[0].ID != f.ArcName(last) || named[0].Symptom != diagnose.Hot || named[0].Delay == nil || drops != (named[0].Loss != nil) ||
			!strings.HasPrefix(named[0].For, "demand, incast: ") {
			t.Errorf("drops %v:\n%s", drops, diagnosis.Text())
		}
	}
}

// TestSlowerThanPlanned: an arc is hot because its link has lost most of its speed, not because of who sends over it, and however well it fits its place. While there is room left that is told
// beside that all is well.
func TestSlowerThanPlanned(t *testing.T) {
	f, err := generate.LeafSpine(generate.LeafSpineConfig{Leaves: 6, Spines: 4, Hosts: 4})
	if err != nil {
		t.Fatal(err)
	}
	even := pathfind.NewECMP(f).Loads(pathfind.Demand{Ends: f.Hosts()}).Arcs
	up := f.Out(f.Switches()[0])[0]
	says := f.PortName(f.TailPort(up)) + " runs at 10 Gbit/s, planned are 100"
	for _, use := range []float64{0.2, 0.75, 0.95} {
		load := make([]float64, len(even))
		for a := range load {
			load[a] = even[a] * use * 10e9 / even[up]
		}
		store := diagnose.NewStore(f, diagnose.Config{})
		for _, r := range (&delayed{f: f, rng: rand.New(rand.NewPCG(1, 5)), adds: func(graphs.ArcID, int) (float64, float64) { return 0, 0 }}).records(12) {
			store.Add(r)
		}
		for _, r := range counted(f, load, graphs.LinkID(graphs.None), 400e9) {
			if r.Port == f.PortName(f.TailPort(up)) || r.Port == f.PortName(f.HeadPort(up)) {
				r.Speed = 10e9
			}
			store.Add(r)
		}
		d := store.Diagnose()
		if use < 0.4 {
			if d.Verdict != diagnose.Healthy || !strings.HasSuffix(d.Summary, ", but "+says) {
				t.Errorf("%.0f %% full: %s", 100*use, d.Text())
			}
			continue
		}
		hot := 0
		for _, x := range d.Suspects {
			ok := x.Link == f.LinkName(up.Link()) && x.Symptom == diagnose.Hot && x.Probability >= diagnose.Named && strings.HasPrefix(x.For, "lost capacity: ") &&
				strings.Contains(x.For, fmt.Sprintf("%s: at that it would be %.0f %% full", says, 10*use)) && x.Next[0].Do == "bring back the speed of "+x.Link
			hot += int(is(ok))
		}
		if hot != 2 || len(d.Suspects) != 2 {
			t.Errorf("%.0f %% full: %s", 100*use, d.Text())
		}
	}
}

// crowded is a fabric in which the first uplink of the first leaf is half full of three flows that collide, and what each arc carries.
func crowded(t *testing.T) (f *graphs.Fabric, load []float64, up graphs.ArcID) {
	t.Helper()
	f, err := generate.LeafSpine(generate.LeafSpineConfig{Leaves: 6, Spines: 4, Hosts: 4})
	if err != nil {
		t.Fatal(err)
	}
	load = pathfind.NewECMP(f).Loads(pathfind.Demand{Ends: f.Hosts()}).Arcs
	for _, a := range f.Out(f.Switches()[0]) {
		if !f.IsHostArc(a) {
			up = a
			break
		}
	}
	most := load[up]
	for a := range load {
		load[a] *= 0.08 * float64(f.Link(up.Link()).Speed) / most
	}
	for i, src := range f.Hosts()[:3] { // each sends to a host of the next leaf, all over one spine
		dst := f.Hosts()[4+i]
		for _, a := range []graphs.ArcID{f.Out(src)[0], up, f.Out(dst)[0].Reverse()} {
			load[a] += 0.14 * float64(f.Link(up.Link()).Speed)
		}
		for _, a := range f.Out(f.Head(up)) {
			if f.Head(a) == f.Switches()[1] {
				load[a] += 0.14 * float64(f.Link(up.Link()).Speed)
			}
		}
	}
	return f, load, up
}

// TestHalfFull: an arc that carries far more than it should and is half full is hot if its port drops packets, may be if nobody counts them, and is not named if none
// are dropped, which is said.
func TestHalfFull(t *testing.T) {
	f, load, up := crowded(t)
	port := f.PortName(f.TailPort(up))
	for _, c := range []struct {
		discards *uint64
		low, up  float64
		say      string
	}{{nil, 0.5, 0.8, "is not measured"}, {evidence.Count(0), 0.05, 0.45, "its port discarded nothing in 10s"}, {evidence.Count(4000), 0.9, 1, "discarded on the way out"}} {
		store := diagnose.NewStore(f, diagnose.Config{})
		for _, r := range counted(f, load, graphs.LinkID(graphs.None), 1600e9) {
			if r.Port == port {
				r.Out.Discards = c.discards
			}
			store.Add(r)
		}
		found := false
		for _, x := range store.Diagnose().Suspects {
			if x.ID != f.ArcName(up) || x.Symptom != diagnose.Hot {
				continue
			}
			found = true
			said := x.For + x.Against
			for _, d := range x.Doubts {
				said += d.Text
			}
			if x.Probability < c.low || x.Probability > c.up || !strings.Contains(said, c.say) {
				t.Errorf("p %.2f, expected %.2f to %.2f and the words %q: %s", x.Probability, c.low, c.up, c.say, said)
			}
		}
		if !found {
			t.Errorf("%s is not listed", f.ArcName(up))
		}
	}
}

// TestHotBesideWrongClock: a prober whose clock is ahead does not make the readings of ports old.
func TestHotBesideWrongClock(t *testing.T) {
	f, load, up := crowded(t)
	store := diagnose.NewStore(f, diagnose.Config{})
	for _, r := range counted(f, load, graphs.LinkID(graphs.None), 1600e9) {
		store.Add(r)
	}
	hosts := f.Hosts()
	store.Add(&evidence.Record{Time: time.Date(2026, 11, 20, 8, 20, 0, 0, time.UTC), Source: evidence.SourceProbe, By: f.NodeName(hosts[0]), Kind: evidence.KindEcho,
		Flow: &evidence.Flow{Src: f.Address(hosts[0], false), Dst: f.Address(hosts[9], false), Proto: "udp"}, Sent: evidence.Int(100), Lost: evidence.Int(0)})
	if d := store.Diagnose(); len(d.Suspects) == 0 || d.Suspects[0].ID != f.ArcName(up) || d.Suspects[0].Symptom != diagnose.Hot {
		t.Errorf("%s", d.Text())
	}
}
