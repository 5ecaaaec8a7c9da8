package diagnose_test

import (
	"cmp"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"whichlink/graphs"
	"whichlink/graphs/generate"
	"whichlink/internal/diagnose"
	"whichlink/internal/evidence"
	"whichlink/pathfind"
)

// delayed is a random graph as probers tell of it, with arcs and hosts that add delay.
type delayed struct {
	f    *graphs.Fabric
	rng  *rand.Rand
	adds func(a graphs.ArcID, at int) (p50, p90 float64)
}

// records are those of so many flows of each host, in 14 windows of a second.
func (d *delayed) records(flows int) []*evidence.Record {
	ecmp := pathfind.NewECMP(d.f)
	start := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
	names := func(path []graphs.ArcID) []string {
		var list []string
		for _, a := range path {
			list = append(list, d.f.ArcName(a))
		}
		return list
	}
	var out []*evidence.Record
	hosts := d.f.Hosts()
	for _, src := range hosts {
		for k := range flows {
			dst := hosts[d.rng.IntN(len(hosts))]
			if dst == src {
				continue
			}
			there, _ := ecmp.Paths(src, dst, 1000)
			home, _ := ecmp.Paths(dst, src, 1000)
			path, back := there[d.rng.IntN(len(there))].Arcs, home[d.rng.IntN(len(home))].Arcs
			for at := range 14 {
				p50, p90 := 0.0, 10.0
				for _, a := range slices.Concat(path, back) {
					x, y := d.adds(a, at)
					p50, p90 = p50+x+4+d.rng.Float64(), p90+y+5+4*d.rng.Float64()
				}
				out = append(out, &evidence.Record{
					Time: start.Add(time.Duration(at+1) * time.Second), Source: evidence.SourceProbe, By: d.f.NodeName(src), Kind: evidence.KindEcho,
					Flow: &evidence.Flow{Src: d.f.Address(src, false), Dst: d.f.Address(dst, false), Proto: "udp", SrcPort: uint16(50000 + k), DstPort: 862},
					Path: names(path), Back: names(back), Sent: evidence.Int(20), Lost: evidence.Int(0), WindowMS: 1000,
					RTT: &evidence.Delay{Min: p50 - 3, P50: p50, P90: max(p50, p90), P99: p90 + 20, Max: p90 + 900},
				})
			}
		}
	}
	return out
}

func TestDelaySuspects(t *testing.T) {
	for seed := range uint64(3) {
		f, err := generate.RandomRegular(generate.RandomRegularConfig{Switches: 16, Degree: 4, Hosts: 1, Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		rng := rand.New(rand.NewPCG(seed, 3))
		bad := graphs.ArcID(rng.IntN(f.NumArcs()))
		for f.IsHostArc(bad) {
			bad = graphs.ArcID(rng.IntN(f.NumArcs()))
		}
		host := f.Hosts()[3]
		long := func(a graphs.ArcID) float64 { return 60 * float64(uint32(a.Link())*2654435761>>28) / 16 } // cables of some kilometres
		for _, c := range []struct {
			name, want string
			adds       func(a graphs.ArcID, at int) (float64, float64)
		}{
			{"healthy", "", func(graphs.ArcID, int) (float64, float64) { return 0, 0 }},
			{"long cables", "", func(a graphs.ArcID, _ int) (float64, float64) { return long(a), long(a) }},
			{"a queue", f.ArcName(bad), func(a graphs.ArcID, _ int) (float64, float64) {
				if a == bad {
					return 150, 300
				}
				return 0, 0
			}},
			{"a queue now and then", f.ArcName(bad), func(a graphs.ArcID, _ int) (float64, float64) {
				if a == bad {
					return 2, 300
				}
				return 0, 0
			}},
			{"slow since, among long cables", f.ArcName(bad), func(a graphs.ArcID, at int) (float64, float64) {
				if a == bad && at >= 9 {
					return long(a) + 120, long(a) + 120
				}
				return long(a), long(a)
			}},
			{"a slow host", f.NodeName(host), func(a graphs.ArcID, _ int) (float64, float64) {
				if f.Tail(a) == host {
					return 200, 250
				}
				return 0, 0
			}},
		} {
			d := delayed{f, rng, c.adds}
			store := diagnose.NewStore(f, diagnose.Config{})
			for _, r := range d.records(10) {
				store.Add(r)
			}
			said := ""
			got := store.Diagnose()
			for _, x := range got.Suspects {
				if x.Probability >= diagnose.Named {
					said += x.ID
					if x.Symptom != diagnose.Slow {
						said += " " + string(x.Symptom)
					}
					for _, step := range x.Next {
						if x.Kind == "host" && strings.Contains(step.Why, "flows that cross only one of them") {
							t.Errorf("seed %d: of %q no flow crosses only one: %q", seed, x.Class, step.Why)
						}
					}
				}
			}
			if said != c.want {
				t.Errorf("%s, seed %d: %q is named, expected %q\n%s", c.name, seed, said, c.want, got.Text())
			}
		}
	}
}

// TestSlowUntraced: where no path is known, flows that may cross a slow link tell of it, and of all that they may cross as well, however many ways they have, and when it was slow if it
// is no more.
func TestSlowUntraced(t *testing.T) {
	for _, c := range []struct {
		spines, flows int
		us            float64
		at            []int // none is at all times
		episodes      int
		crossing      string
	}{
		{4, 24, 0, nil, 0, ""}, {4, 24, 400, nil, 0, "34 are"}, {17, 100, 400, nil, 0, "35 are"}, {4, 24, 400, []int{2, 3, 4, 7, 8, 9}, 2, "34 are"},
		{4, 24, 400, []int{5, 6, 7, 8, 9, 10, 11, 12, 13}, 0, "34 are"}, // from some moment on
	} {
		f, err := generate.LeafSpine(generate.LeafSpineConfig{Leaves: 4, Spines: c.spines, Hosts: 2})
		if err != nil {
			t.Fatal(err)
		}
		slow := graphs.LinkID(0)
		for f.IsHostArc(slow.Forward()) {
			slow++
		}
		d := delayed{f, rand.New(rand.NewPCG(1, 9)), func(a graphs.ArcID, at int) (float64, float64) {
			us := c.us * is(a.Link() == slow && (c.at == nil || slices.Contains(c.at, at)))
			return us, us
		}}
		s := diagnose.NewStore(f, diagnose.Config{})
		for _, r := range d.records(c.flows) {
			r.Path, r.Back = nil, nil
			s.Add(r)
		}
		got := s.Diagnose().Suspects
		if c.us == 0 && len(got) > 0 {
			t.Errorf("nothing is slow: %+v", got)
		}
		if c.us > 0 && (len(got) != 1 || got[0].Kind != "link" || got[0].Probability < 0.9 || len(got[0].Class) != c.spines || !slices.Contains(got[0].Class, f.LinkName(slow)) ||
			!strings.Contains(got[0].For, c.crossing+" expected to cross it") || len(got[0].Episodes) != c.episodes) {
			t.Errorf("%s is slow both ways, and one of %d that nothing tells apart: %+v", f.LinkName(slow), c.spines, got)
		}
	}
}

// What delays flows of one DSCP only is named with that, be they half of all flows or a few; all was told to be well, or it was half as slow. What delays all flows is not of a DSCP, nor is what one is slower by everywhere.
func TestSlowForSome(t *testing.T) {
	f, err := generate.RandomRegular(generate.RandomRegularConfig{Switches: 16, Degree: 4, Hosts: 1, Seed: 2})
	if err != nil {
		t.Fatal(err)
	}
	bad, host := graphs.ArcID(4), f.Hosts()[3]
	const ef = 46
	for _, c := range []struct {
		name string
		dscp []uint8 // of flows, in turn
		adds func(dscp uint8, path []graphs.ArcID) float64
		want string
	}{
		{"half", []uint8{0, ef}, func(d uint8, path []graphs.ArcID) float64 { return 300 * is(d == ef && slices.Contains(path, bad)) }, f.ArcName(bad) + " adds [23].. us of delay for DSCP 46 only "},
		{"most", []uint8{ef, ef, 0, ef}, func(d uint8, path []graphs.ArcID) float64 { return 300 * is(d == ef && slices.Contains(path, bad)) }, f.ArcName(bad) + " adds [23].. us of delay for DSCP 46 only "},
		{"two of three", []uint8{0, ef, 34}, func(d uint8, path []graphs.ArcID) float64 { return 300 * is(d != ef && slices.Contains(path, bad)) }, f.ArcName(bad) + " adds [23].. us of delay for DSCP 0, 34 only "},
		{"all", []uint8{0, ef}, func(_ uint8, path []graphs.ArcID) float64 { return 300 * is(slices.Contains(path, bad)) }, f.ArcName(bad) + " adds [23].. us of delay .p"},
		{"a host", []uint8{0, ef}, func(_ uint8, path []graphs.ArcID) float64 {
			return 300 * is(slices.ContainsFunc(path, func(a graphs.ArcID) bool { return f.Tail(a) == host }))
		}, f.NodeName(host) + " or .* adds [23].. us of delay .p"},
		{"everywhere", []uint8{0, ef}, func(d uint8, _ []graphs.ArcID) float64 { return 300 * is(d == ef) }, "healthy: "},
	} {
		d := delayed{f, rand.New(rand.NewPCG(1, 4)), func(graphs.ArcID, int) (float64, float64) { return 0, 0 }}
		store := diagnose.NewStore(f, diagnose.Config{})
		for i, r := range d.records(30) {
			var path []graphs.ArcID
			for _, name := range slices.Concat(r.Path, r.Back) {
				a, _ := f.ArcByName(name)
				path = append(path, a)
			}
			r.Flow.DSCP = c.dscp[i/14%len(c.dscp)]
			us := c.adds(r.Flow.DSCP, path)
			r.RTT.Min, r.RTT.P50, r.RTT.P90, r.RTT.P99, r.RTT.Max = r.RTT.Min+us, r.RTT.P50+us, r.RTT.P90+us, r.RTT.P99+us, r.RTT.Max+us
			store.Add(r)
		}
		got := store.Diagnose()
		if ok, _ := regexp.MatchString(c.want, got.Summary); !ok {
			t.Errorf("%s: expected %q\n%s", c.name, c.want, got.Text())
		}
	}
}

// Where so many parts are slow that flows which cross none are no measure, or nothing is as long as what is slow, nobody is named, and that is told; it was told that all is well.
func TestManySlow(t *testing.T) {
	many, err := generate.RandomRegular(generate.RandomRegularConfig{Switches: 16, Degree: 4, Hosts: 1, Seed: 2})
	if err != nil {
		t.Fatal(err)
	}
	two, err := generate.RandomRegular(generate.RandomRegularConfig{Switches: 2, Degree: 1, Hosts: 2})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		f    *graphs.Fabric
		slow func(a graphs.ArcID) bool
		note string
	}{
		{"half of all hosts", many, func(a graphs.ArcID) bool {
			n := many.Tail(a)
			return many.Node(n).IsHost() && slices.Index(many.Hosts(), n)%2 == 0
		}, "flows over .* links differ: a tenth of .* no few suspects explain that"},
		{"no host", many, func(graphs.ArcID) bool { return false }, ""},
		{"the only way", two, func(a graphs.ArcID) bool { return !two.IsHostArc(a) }, "flows over 6 links take [34].. us more than those over 4, and all of them cross sw.*>sw.*, sw.*>sw"},
	} {
		d := delayed{c.f, rand.New(rand.NewPCG(1, 4)), func(a graphs.ArcID, _ int) (float64, float64) { return 200 * is(c.slow(a)), 200 * is(c.slow(a)) }}
		store := diagnose.NewStore(c.f, diagnose.Config{})
		for _, r := range d.records(20) {
			store.Add(r)
		}
		got := store.Diagnose()
		told := slices.ContainsFunc(got.Notes, func(n string) bool { return regexp.MustCompile(cmp.Or(c.note, "flows over")).MatchString(n) })
		if told != (c.note != "") || got.Verdict != diagnose.Healthy {
			t.Errorf("%s: expected %q\n%s", c.name, c.note, got.Text())
		}
	}
}

// What was slow for some seconds is told when it is over, with its times; it was told that all is well. What is slow for a moment is not, nor flows that are by themselves.
func TestWasSlow(t *testing.T) {
	f, err := generate.RandomRegular(generate.RandomRegularConfig{Switches: 16, Degree: 4, Hosts: 1, Seed: 2})
	if err != nil {
		t.Fatal(err)
	}
	bad, node, host := graphs.ArcID(4), f.Tail(4), f.Hosts()[3]
	for _, c := range []struct {
		name string
		slow func(a graphs.ArcID, at int) bool
		want string
	}{
		{"an arc", func(a graphs.ArcID, at int) bool { return a == bad && at >= 3 && at < 8 }, f.ArcName(bad) + " added [23].. us of delay from 08:00:03Z to 08:00:08Z "},
		{"an arc, most of the time", func(a graphs.ArcID, at int) bool { return a == bad && at < 9 }, f.ArcName(bad) + " added [23].. us of delay from 08:00:00Z to 08:00:09Z "},
		{"an arc, twice", func(a graphs.ArcID, at int) bool { return a == bad && at%5 < 2 && at < 9 }, f.ArcName(bad) + " added [23].. us of delay 2 times from 08:00:00Z to 08:00:07Z "},
		{"a switch", func(a graphs.ArcID, at int) bool { return f.Tail(a) == node && at >= 3 && at < 8 }, f.NodeName(node) + " added [23].. us of delay from 08:00:03Z to 08:00:08Z "},
		{"a host", func(a graphs.ArcID, at int) bool { return f.Tail(a) == host && at >= 3 && at < 8 }, f.NodeName(host) + " or .* added [23].. us of delay from 08:00:03Z to 08:00:08Z "},
		{"hosts, each for a moment", func(a graphs.ArcID, at int) bool { return f.IsHostArc(a) && at/2 == int(a)%4 }, "healthy: "},
		{"an arc, twice, until a moment ago", func(a graphs.ArcID, at int) bool { return a == bad && at%7 >= 3 && at%7 < 6 }, f.ArcName(bad) + " added [23].. us of delay 2 times from 08:00:03Z to 08:00:13Z "},
		{"now", func(a graphs.ArcID, at int) bool { return a == bad && at >= 8 }, f.ArcName(bad) + " adds [23].. us of delay since 08:00:08Z "},
		{"a switch, now", func(a graphs.ArcID, at int) bool { return f.Tail(a) == node && at >= 8 }, f.NodeName(node) + " adds [23].. us of delay since 08:00:08Z "},
		{"a host, now", func(a graphs.ArcID, at int) bool { return f.Tail(a) == host && at >= 8 }, f.NodeName(host) + " or .* adds [23].. us of delay since 08:00:08Z "},
		{"always", func(a graphs.ArcID, _ int) bool { return a == bad }, f.ArcName(bad) + " adds [23].. us of delay .p"},
	} {
		d := delayed{f, rand.New(rand.NewPCG(1, 4)), func(a graphs.ArcID, at int) (float64, float64) {
			return 300 * is(c.slow(a, at)), 300 * is(c.slow(a, at))
		}}
		store := diagnose.NewStore(f, diagnose.Config{})
		for _, r := range d.records(10) {
			store.Add(r)
		}
		got := store.Diagnose()
		named := 0
		for _, x := range got.Suspects {
			if x.Probability >= diagnose.Named {
				named++
			}
		}
		if ok, _ := regexp.MatchString(c.want, got.Summary); !ok || named > 1 {
			t.Errorf("%s: expected %q\n%s", c.name, c.want, got.Text())
		}
		if over := strings.Contains(c.want, " to "); over && got.Suspects[0].Until == nil {
			t.Errorf("%s: it is not told when it ended", c.name)
		}
	}
}

// A queue that is full delays and drops: that is one thing to mend. It was told as two.
func TestOneQueue(t *testing.T) {
	f, err := generate.RandomRegular(generate.RandomRegularConfig{Switches: 16, Degree: 4, Hosts: 1, Seed: 2})
	if err != nil {
		t.Fatal(err)
	}
	bad, name := graphs.ArcID(4), f.ArcName(4)
	for _, c := range []struct {
		name string
		out  evidence.Counters
		in   evidence.Counters
		late int // windows
		want string
	}{
		{"no counters", evidence.Counters{}, evidence.Counters{}, 100, "delay"},
		{"in time at last", evidence.Counters{Unicast: evidence.Count(50_000), Discards: evidence.Count(900)}, evidence.Counters{}, 8, "loss"},
		{"discards", evidence.Counters{Unicast: evidence.Count(50_000), Discards: evidence.Count(900)}, evidence.Counters{}, 100, "delay"},
		{"discards are counted, and there is none", evidence.Counters{Unicast: evidence.Count(50_000), Discards: evidence.Count(0)}, evidence.Counters{}, 100, "delay loss"},
		{"packets arrive broken", evidence.Counters{}, evidence.Counters{Unicast: evidence.Count(50_000), Errors: evidence.Count(900), FCS: evidence.Count(900)}, 100, "delay loss"},
	} {
		d := delayed{f, rand.New(rand.NewPCG(1, 4)), func(a graphs.ArcID, window int) (float64, float64) {
			if a == bad && window < c.late {
				return 1500, 3000
			}
			return 0, 0
		}}
		store := diagnose.NewStore(f, diagnose.Config{})
		var last time.Time
		for _, r := range d.records(10) {
			lost := []*int{evidence.Int(0), evidence.Int(0)}
			for k, path := range [][]string{r.Path, r.Back} {
				if slices.Contains(path, name) {
					*lost[k] = d.rng.IntN(3)
				}
			}
			r.Lost, r.LostForward, r.LostBack = evidence.Int(*lost[0]+*lost[1]), lost[0], lost[1]
			store.Add(r)
			last = r.Time
		}
		for _, state := range map[graphs.PortID]evidence.PortState{
			f.TailPort(bad): {Port: f.PortName(f.TailPort(bad)), IntervalMS: 14_000, Out: &c.out}, f.HeadPort(bad): {Port: f.PortName(f.HeadPort(bad)), IntervalMS: 14_000, In: &c.in},
		} {
			if c.out.Unicast != nil || c.in.Unicast != nil {
				store.Add(&evidence.Record{V: 1, Time: last, Source: evidence.SourceSNMP, By: "poll", Kind: evidence.KindCounters, PortState: state})
			}
		}
		var said []string
		got := store.Diagnose()
		for _, x := range got.Suspects {
			if x.Probability >= diagnose.Named && x.ID == name {
				said = append(said, string(x.Symptom))
			}
		}
		slices.Sort(said)
		if strings.Join(said, " ") != c.want {
			t.Errorf("%s: told as %v, expected %q\n%s", c.name, said, c.want, got.Text())
		}
		if c.want == "delay" && (got.Suspects[0].Loss == nil || !strings.Contains(got.Summary, "its queue is full") || strings.Contains(got.Summary, "more")) {
			t.Errorf("%s: %s", c.name, got.Summary)
		}
	}
}

// A busy machine makes flows slow that no link does: where hosts stand still, while those that lose packets are probed more, and in what was measured for a moment.
func TestSlowByItself(t *testing.T) {
	f, err := generate.RandomRegular(generate.RandomRegularConfig{Switches: 16, Degree: 4, Hosts: 1, Seed: 2})
	if err != nil {
		t.Fatal(err)
	}
	arc, host := f.ArcName(4), f.Hosts()[3]
	crosses := func(r *evidence.Record) bool { return slices.Contains(r.Path, arc) || slices.Contains(r.Back, arc) }
	for _, c := range []struct {
		name  string
		slows func(r *evidence.Record, at int) (p50, p90 float64)
		also  func(store *diagnose.Store, r *evidence.Record, at int)
		only  func(r *evidence.Record, at int) bool
	}{
		{name: "a host stands still", slows: func(r *evidence.Record, _ int) (p50, p90 float64) {
			if r.Flow.Src == f.Address(host, false) || r.Flow.Dst == f.Address(host, false) {
				return 0, 5000
			}
			return 0, 0
		}, also: func(store *diagnose.Store, r *evidence.Record, _ int) {
			if r.By == f.NodeName(host) {
				store.Add(&evidence.Record{V: 1, Time: r.Time.Add(-100 * time.Millisecond), Source: evidence.SourceProbe, By: r.By, Kind: evidence.KindStrain, Node: r.By, Strain: evidence.Pause, WindowMS: 120})
			}
		}},
		{name: "what loses is probed more while all is slow", slows: func(r *evidence.Record, at int) (p50, p90 float64) {
			if at < 12 {
				return 0, 0
			}
			if crosses(r) {
				r.Sent = evidence.Int(100)
			}
			return 0, 3000
		}},
		{name: "a moment", slows: func(r *evidence.Record, _ int) (p50, p90 float64) {
			r.WindowMS = 400
			if crosses(r) {
				return 3000, 3000
			}
			return 0, 0
		}, only: func(_ *evidence.Record, at int) bool { return at == 13 }},
	} {
		d := delayed{f, rand.New(rand.NewPCG(1, 4)), func(graphs.ArcID, int) (float64, float64) { return 0, 0 }}
		store := diagnose.NewStore(f, diagnose.Config{})
		records := d.records(10)
		for i, r := range records {
			at := i % 14
			if c.only != nil && !c.only(r, at) {
				continue
			}
			if r.Sent = evidence.Int(40); c.also != nil {
				c.also(store, r, at)
			}
			p50, p90 := c.slows(r, at)
			r.RTT.P50, r.RTT.P90 = r.RTT.P50+p50, r.RTT.P90+p90
			r.RTT.P99, r.RTT.Max = r.RTT.P99+p90, r.RTT.Max+p90
			store.Add(r)
		}
		got := store.Diagnose()
		if slices.ContainsFunc(got.Suspects, func(x diagnose.Suspect) bool { return x.Symptom == diagnose.Slow && x.Probability >= 0.2 }) {
			t.Errorf("%s:\n%s", c.name, got.Text())
		}
	}
}

// Where all hosts stand still, most of them as long as any other, delay is found by flows that suffer alike: nothing would be found by windows in which no host does, for there are
// none. A host that stands still for longer than others proves nothing, as before.
func TestSlowAmongBusyHosts(t *testing.T) {
	f, err := generate.RandomRegular(generate.RandomRegularConfig{Switches: 16, Degree: 4, Hosts: 1, Seed: 2})
	if err != nil {
		t.Fatal(err)
	}
	bad, host := graphs.ArcID(4), f.Hosts()[3]
	for _, c := range []struct {
		name, want string
		adds       func(a graphs.ArcID) float64 // to the slowest tenth of probes
		still      int                          // for how long that host stands still in each second, in milliseconds
	}{
		{"healthy", "", func(graphs.ArcID) float64 { return 0 }, 400},
		{"a queue now and then", f.ArcName(bad), func(a graphs.ArcID) float64 { return 3000 * is(a == bad) }, 400},
		{"a slow host", f.NodeName(host), func(a graphs.ArcID) float64 { return 3000 * is(f.Head(a) == host) }, 400},
		{"a host that stands still for longer", "", func(a graphs.ArcID) float64 { return 3000 * is(f.Head(a) == host) }, 700},
	} {
		d := delayed{f, rand.New(rand.NewPCG(1, 4)), func(a graphs.ArcID, _ int) (float64, float64) { return 0, c.adds(a) }}
		store := diagnose.NewStore(f, diagnose.Config{})
		for _, r := range d.records(10) {
			r.Sent = evidence.Int(40)
			pause := 400
			if r.By == f.NodeName(host) {
				pause = c.still
			}
			store.Add(&evidence.Record{V: 1, Time: r.Time.Add(-100 * time.Millisecond), Source: evidence.SourceProbe, By: r.By, Kind: evidence.KindStrain, Node: r.By, Strain: evidence.Pause, WindowMS: pause})
			store.Add(r)
		}
		var said []string
		got := store.Diagnose()
		for _, x := range got.Suspects {
			if x.Probability >= diagnose.Named {
				said = append(said, x.ID)
			}
		}
		if strings.Join(said, " ") != c.want {
			t.Errorf("%s: %q is named, expected %q\n%s", c.name, said, c.want, got.Text())
		}
	}
}

func is(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
