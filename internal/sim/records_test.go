package sim

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"whichlink/graphs"
	"whichlink/graphs/generate"
	"whichlink/internal/diagnose"
	"whichlink/internal/evidence"
	"whichlink/pathfind"
	"whichlink/pathfind/localize"
)

// diagnosed is what the program says of records, and what of the time of the processors and of memory that took.
func diagnosed(t testing.TB, m *Measurement, until ...time.Duration) *diagnose.Diagnosis {
	store := diagnose.NewStore(m.f, diagnose.Config{})
	m.Record(time.Unix(1e9, 0), func(r *evidence.Record) { store.Add(r) })
	for _, u := range until {
		m.Run(u)
	}
	stop, peak := make(chan struct{}), make(chan uint64)
	go watchHeap(stop, peak)
	cpu := cpuTime()
	d := store.Diagnose()
	cpu = cpuTime() - cpu
	close(stop)
	t.Logf("%d records of %d flows: %.1f s of CPU, %d MiB", store.Records(), len(m.flows), cpu.Seconds(), <-peak>>20)
	return d
}

// TestManyPaths: where no path is known and pairs have many, the program names what is faulty, and that is cheap.
func TestManyPaths(t *testing.T) {
	f, err := generate.FatTree(generate.FatTreeConfig{K: 10})
	if err != nil {
		t.Fatal(err)
	}
	cfg := noise
	cfg.SwitchRate = -1
	cfg.Faults = arcFaults(1, 0.03, 0.03)(f, rand.New(rand.NewPCG(4, 3)))
	m := Route(pathfind.NewECMP(f), meshed(f), 3).Measure(cfg)
	d := diagnosed(t, m, 4*time.Second)
	want := f.ArcName(graphs.ArcID(cfg.Faults[0].ID))
	if len(d.Suspects) == 0 || !slices.Contains(d.Suspects[0].Class, want) || d.Suspects[0].Probability < 0.9 {
		t.Errorf("suspects %+v, want %s", d.Suspects, want)
	}
}

// TestBeginsMidway: of what fails while it is measured, the time before acquits nothing, and nobody else is named for it.
func TestBeginsMidway(t *testing.T) {
	p, err := generate.RNG(generate.RNGConfig{Routers: 96, Degree: 24, Rooms: 4, Hosts: 1, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	f := p.Fabric()
	r := Route(pathfind.NewECMP(f), meshed(f), 1)
	cfg := noise
	cfg.SwitchRate = 1e4
	cfg.Faults = cableFault(1, 12*time.Second)(f, rand.New(rand.NewPCG(0, 'F')))
	named, innocent := 0, 0
	for _, x := range diagnosed(t, r.Measure(cfg), 18*time.Second).Suspects {
		switch {
		case x.Probability < diagnose.Named:
		case slices.Contains(x.Class, f.Group(graphs.GroupID(cfg.Faults[0].ID)).Name):
			named++
		default:
			innocent++
			t.Logf("%s %s %.2f %v %s %s %v", x.Kind, x.ID, x.Probability, x.Class, x.Symptom, x.For, x.Evidence)
		}
	}
	if named != 1 || innocent > 0 {
		t.Errorf("the cable is named %d times, %d others are", named, innocent)
	}
}

// TestTooManyPaths: where no path is known and all of a pair are too many to be of use, the program accuses nobody, and says why and what helps.
func TestTooManyPaths(t *testing.T) {
	p, err := generate.RNG(generate.RNGConfig{Routers: 600, Degree: 56, Rooms: 6, Hosts: 1, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	f := forwarding(t, p.Fabric(), "spraypoint")
	cfg := noise
	cfg.SwitchRate = -1
	cfg.Faults = arcFaults(1, 0.03, 0.03)(f, rand.New(rand.NewPCG(0, 'F')))
	d := diagnosed(t, Route(pathfind.NewSpraypoint(f, nil, pathfind.SpraypointConfig{}), meshed(f)[:1500], 1).Measure(cfg), 2*time.Second)
	told := slices.ContainsFunc(d.Notes, func(n string) bool { return strings.Contains(n, "too many for a loss to accuse one") })
	if len(d.Suspects) > 0 && d.Suspects[0].Probability >= diagnose.Named || d.Verdict != diagnose.Inconclusive || !told || !strings.HasPrefix(d.Summary, "nothing can be said of most") || !slices.ContainsFunc(d.Notes, func(n string) bool { return strings.Contains(n, "TTL-expired") }) {
		t.Errorf("%s: %s; suspects %+v; notes %q", d.Verdict, d.Summary, d.Suspects, d.Notes)
	}
}

// forwarding returns a fabric without its groups, whose switches name a forwarding model.
func forwarding(t testing.TB, f *graphs.Fabric, model string) *graphs.Fabric {
	var b graphs.Builder
	for id := range graphs.NodeID(f.NumNodes()) {
		n := *f.Node(id)
		if !n.IsHost() {
			n.Model = model
		}
		if _, err := b.AddNode(n); err != nil {
			t.Fatal(err)
		}
	}
	for id := range graphs.LinkID(f.NumLinks()) {
		l := f.Link(id)
		var ends [2]graphs.End
		for i, p := range l.Ends {
			ends[i] = graphs.End{Node: f.Port(p).Node, Port: f.Port(p).Name, Prefixes: f.Port(p).Prefixes}
		}
		if _, err := b.AddLink(ends[0], ends[1], l.Speed); err != nil {
			t.Fatal(err)
		}
	}
	with, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return with
}

// TestListedHeals: where of each path only is known which few it may be, what healed midway is told to have lost packets until then, and as large a share of them
// as it did: what passed over it is not taken to have gone elsewhere.
func TestListedHeals(t *testing.T) {
	f, err := generate.FatTree(generate.FatTreeConfig{K: 4})
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(4) {
		cfg := noise
		cfg.Rate, cfg.SwitchRate, cfg.Seed = 150, -1, seed
		cfg.Faults = arcFaults(1, 0.03, 0.03)(f, rand.New(rand.NewPCG(seed, 'F')))
		cfg.Faults[0].Period, cfg.Faults[0].Down = time.Hour, 10*time.Second
		store := diagnose.NewStore(f, diagnose.Config{})
		m := Route(pathfind.NewECMP(f), planned(t, f), seed).Measure(cfg)
		m.Record(time.Unix(1e9, 0), func(r *evidence.Record) {
			x := *r
			x.Candidates, x.CandidatesBack = m.listed(r.Flow.Src, r.Flow.Dst), m.listed(r.Flow.Dst, r.Flow.Src)
			store.Add(&x)
		})
		m.Run(20 * time.Second)
		d := store.Diagnose()
		x := d.Suspects[0]
		if lost := lostIn(t, &x); !slices.Contains(x.Class, f.ArcName(graphs.ArcID(cfg.Faults[0].ID))) || !strings.Contains(x.For, "bad until some moment") || lost < 2 || lost > 4 {
			t.Errorf("seed %d: %s: %s", seed, d.Summary, x.For)
		}
	}
}

// listed returns the paths from the host of one address to that of another, by the names of their arcs.
func (m *Measurement) listed(from, to netip.Addr) [][]string {
	src, _ := m.f.Owner(from)
	dst, _ := m.f.Owner(to)
	paths, _ := pathfind.NewECMP(m.f).Paths(src.Node, dst.Node, 64)
	var list [][]string
	for _, p := range paths {
		list = append(list, m.names(p.Arcs))
	}
	return list
}

// lostIn is the share that a suspect is told to have lost while it was bad, in percent.
func lostIn(t *testing.T, x *diagnose.Suspect) (percent float64) {
	if _, after, ok := strings.Cut(x.For, "in which "); ok {
		if _, err := fmt.Sscanf(after, "%g %%", &percent); err != nil {
			t.Fatal(err)
		}
	}
	return percent
}

// TestOutagesAreWhole: what is dead for a while in each period is told to lose nearly all of what crosses it then. What its flows were answered was sent before and after.
func TestOutagesAreWhole(t *testing.T) {
	f, err := generate.FatTree(generate.FatTreeConfig{K: 4})
	if err != nil {
		t.Fatal(err)
	}
	stormy := 0
	for seed := range uint64(3) {
		cfg := noise
		cfg.Rate, cfg.SwitchRate, cfg.Seed = 300, 1e6, seed
		cfg.Faults = arcFaults(1, 1, 1)(f, rand.New(rand.NewPCG(seed, 'F')))
		cfg.Faults[0].From, cfg.Faults[0].Period, cfg.Faults[0].Down = 1700*time.Millisecond, 4*time.Second, 200*time.Millisecond
		d := diagnosed(t, Route(pathfind.NewECMP(f), planned(t, f), seed).Measure(cfg), 20*time.Second)
		x := &d.Suspects[0]
		if x.Symptom != diagnose.Flap || lostIn(t, x) < 90 {
			t.Errorf("seed %d: %s: %s", seed, d.Summary, x.For)
		}
		if strings.Contains(x.For, "in its outages") { // the calm between them tells nothing of a link that flaps
			stormy++
		}
	}
	if stormy == 0 {
		t.Error("what crossed it in its outages is not told")
	}
}

// TestHostLinkFlaps: where the link of a host goes down for moments, which nothing tells from the host, the link is told to flap.
func TestHostLinkFlaps(t *testing.T) {
	f, err := generate.FatTree(generate.FatTreeConfig{K: 4})
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(3) {
		access := f.Out(f.Hosts()[seed])[0].Link()
		cfg := noise
		cfg.Rate, cfg.SwitchRate, cfg.Seed = 300, 1e6, seed
		cfg.Faults = []Fault{{Cause: localize.Cause{Kind: localize.Link, ID: int32(access)}, Loss: 1, From: 1700 * time.Millisecond, Period: 4 * time.Second, Down: 300 * time.Millisecond}}
		d := diagnosed(t, Route(pathfind.NewECMP(f), planned(t, f), seed).Measure(cfg), 20*time.Second)
		if x := &d.Suspects[0]; x.Link != f.LinkName(access) || x.Symptom != diagnose.Flap || x.Probability < diagnose.Named {
			t.Errorf("seed %d: %s: %v", seed, d.Summary, x.Class)
		}
	}
}

// TestFlapBesideLarger: a link that goes down for a tenth of a second, at times of its own, is told to flap beside one that goes down for a second.
func TestFlapBesideLarger(t *testing.T) {
	f, err := generate.FatTree(generate.FatTreeConfig{K: 4})
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(4) {
		cfg := noise
		cfg.Rate, cfg.SwitchRate, cfg.Seed = 300, 1e6, seed
		cfg.Faults = arcFaults(2, 1, 1)(f, rand.New(rand.NewPCG(seed, 'F')))
		for i := range cfg.Faults {
			x := &cfg.Faults[i]
			x.Cause = localize.Cause{Kind: localize.Link, ID: int32(graphs.ArcID(x.Cause.ID).Link())}
			x.From, x.Period, x.Down = 1700*time.Millisecond, 4*time.Second, time.Second
			if i > 0 {
				x.From, x.Period, x.Down = 3100*time.Millisecond, 7*time.Second, 100*time.Millisecond
			}
		}
		d := diagnosed(t, Route(pathfind.NewECMP(f), planned(t, f), seed).Measure(cfg), 20*time.Second)
		for _, x := range cfg.Faults {
			if !slices.ContainsFunc(d.Suspects, func(s diagnose.Suspect) bool {
				return s.Link == f.LinkName(graphs.LinkID(x.Cause.ID)) && s.Symptom == diagnose.Flap && s.Probability >= diagnose.Named
			}) {
				t.Errorf("seed %d: %s: %s is not told to flap", seed, d.Summary, f.LinkName(graphs.LinkID(x.Cause.ID)))
			}
		}
		for _, s := range d.Suspects {
			if s.Probability >= diagnose.Named && !slices.ContainsFunc(cfg.Faults, func(x Fault) bool { return s.Link == f.LinkName(graphs.LinkID(x.Cause.ID)) }) {
				t.Errorf("seed %d: %s is named", seed, s.ID)
			}
		}
	}
}

// TestFlapBesideDead: a link that flaps is found beside one of the same switch that is dead all the time, though in its outages nothing gets through the switch at all. Neither is
// told from what flows cross before or behind both.
func TestFlapBesideDead(t *testing.T) {
	f, err := generate.FatTree(generate.FatTreeConfig{K: 4})
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(4) {
		rng := rand.New(rand.NewPCG(seed, 'F'))
		edge := f.Head(f.Out(f.Hosts()[rng.IntN(len(f.Hosts()))])[0])
		var up []graphs.LinkID
		for _, a := range f.Out(edge) {
			if !f.IsHostArc(a) {
				up = append(up, a.Link())
			}
		}
		cfg := noise
		cfg.Rate, cfg.SwitchRate, cfg.Seed = 300, 1e6, seed
		for i := range 2 {
			cfg.Faults = append(cfg.Faults, Fault{Cause: localize.Cause{Kind: localize.Link, ID: int32(up[i])}, Loss: 1})
		}
		cfg.Faults[0].From, cfg.Faults[0].Period, cfg.Faults[0].Down = 1700*time.Millisecond, 4*time.Second, 1*time.Second
		d := diagnosed(t, Route(pathfind.NewECMP(f), planned(t, f), seed).Measure(cfg), 20*time.Second)
		for i, x := range d.Suspects {
			if x.Probability >= diagnose.Named && x.Link != f.LinkName(up[0]) && x.Link != f.LinkName(up[1]) {
				t.Errorf("seed %d: %d. %s %s %.2f; what flaps is %s", seed, i+1, x.ID, x.Symptom, x.Probability, f.LinkName(up[0]))
			}
		}
		if !slices.ContainsFunc(d.Suspects, func(x diagnose.Suspect) bool {
			return x.Link == f.LinkName(up[0]) && x.Symptom == diagnose.Flap && x.Probability >= diagnose.Named
		}) {
			t.Errorf("seed %d: %s: %s is not told to flap", seed, d.Summary, f.LinkName(up[0]))
		}
	}
}

// TestHostsOfManyLinks: what is sent to an address comes in by the link that has it, so that addresses tell by which leaf switch flows went whose ways nobody knows.
func TestHostsOfManyLinks(t *testing.T) {
	f, err := generate.Rail(generate.RailConfig{GPUs: 64, Rails: 4, Ports: 16})
	if err != nil {
		t.Fatal(err)
	}
	leaf, ok := f.NodeByName("leaf4-2")
	if !ok {
		t.Fatal("no such leaf")
	}
	m := Route(pathfind.NewECMP(f), planned(t, f), 1).Measure(Config{Seed: 1, SwitchRate: -1, Faults: []Fault{{Cause: localize.Cause{Kind: localize.Node, ID: int32(leaf)}, Loss: 0.02}}})
	d := diagnosed(t, m, 8*time.Second)
	if len(d.Suspects) != 1 || !slices.Contains(d.Suspects[0].Class, "leaf4-2") || d.Suspects[0].Probability < 0.9 {
		t.Error(d.Text())
	}
}
