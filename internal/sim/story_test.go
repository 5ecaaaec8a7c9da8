package sim

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"whichlink/graphs"
	"whichlink/graphs/generate"
	"whichlink/internal/diagnose"
	"whichlink/internal/evidence"
	"whichlink/pathfind"
	"whichlink/pathfind/plan"
)

// A story is evidence of which no path is known, and what becomes of it when the commands that the diagnosis names are run, one after the other.
type story struct {
	testing.TB
	f      *graphs.Fabric
	model  pathfind.Model
	plan   *plan.Plan
	ways   map[plan.Flow]routed // a flow goes the same way in every run
	faults []Fault
	rate   float64 // of what switches answer; below 0 nothing is traced
	store  *diagnose.Store
	now    time.Duration
	runs   int
	sent   int // in runs
}

func newStory(t testing.TB, f *graphs.Fabric, faults []Fault) *story {
	t.Helper()
	model := pathfind.NewECMP(f)
	p, err := plan.Make(model, plan.Config{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	s := &story{TB: t, f: f, model: model, plan: p, ways: map[plan.Flow]routed{}, faults: faults, store: diagnose.NewStore(f, diagnose.Config{})}
	few := slices.DeleteFunc(meshed(f), func(fl plan.Flow) bool { return fl.SrcPort >= plan.FirstPort+8 })
	s.measure(few, -1, 5*time.Second, func(r *evidence.Record) {
		if r.Kind == evidence.KindEcho { // nobody has tried to trace them
			s.store.Add(r)
		}
	})
	return s
}

// measure measures along flows for a while.
func (s *story) measure(flows []plan.Flow, rate float64, d time.Duration, add func(*evidence.Record)) {
	r := &Routes{f: s.f, model: s.model}
	for _, fl := range flows {
		if _, known := s.ways[fl]; !known {
			s.ways[fl] = Route(s.model, []plan.Flow{fl}, uint64(fl.Src)<<40|uint64(fl.Dst)<<20|uint64(fl.SrcPort)).flows[0]
		}
		r.flows = append(r.flows, s.ways[fl])
	}
	cfg := noise
	cfg.Seed, cfg.SwitchRate, cfg.Faults = uint64(s.now), rate, s.faults
	s.now += time.Minute
	m := r.Measure(cfg)
	m.Record(time.Unix(1e9, 0).Add(s.now), add)
	m.Run(d)
	s.now += d
	if rate < 0 { // whoever is asked keeps silent
		for i := range m.flows {
			e := &m.journal.flows[i]
			r := m.journal.record(evidence.KindHop, e, d)
			r.TTL, r.Sent, r.Answered = 2, evidence.Int(2), evidence.Int(0)
			add(r)
		}
	}
}

// run does what whichlink probe --to would.
func (s *story) run(step diagnose.Step) {
	s.Helper()
	do := step.Do
	src, ok := s.f.NodeByName(step.On)
	command, _, typed := strings.Cut(strings.TrimPrefix(do, "whichlink probe --fabric FILE "), " --out ")
	if !ok || !typed {
		s.Fatalf("not to be typed: %s", do)
	}
	s.runs++
	var flows []plan.Flow
	var d time.Duration
	fresh := 1000 * s.runs // the ports that new flows of a run get
	words := strings.Fields(command)
	each := diagnose.NewFlows
	if i := slices.Index(words, "--flows"); i >= 0 {
		each, _ = strconv.Atoi(words[i+1])
		words = slices.Delete(words, i, i+2)
	}
	for i := 0; i+1 < len(words); i += 2 {
		name, port, named := strings.Cut(words[i+1], ":")
		dst, isNode := s.f.NodeByName(name)
		switch {
		case words[i] == "--for":
			d, _ = time.ParseDuration(words[i+1])
		case words[i] != "--to" || !isNode || !s.f.Node(dst).IsHost() || dst == src:
			s.Fatalf("%s %s: %s", words[i], words[i+1], do)
		case named:
			n, _ := strconv.Atoi(port)
			flows = append(flows, plan.Flow{Src: src, Dst: dst, SrcPort: uint16(n)})
		default:
			for range each {
				fresh++
				flows = append(flows, plan.Flow{Src: src, Dst: dst, SrcPort: s.plan.Port(src, fresh)})
			}
		}
	}
	if d < time.Second || len(flows) == 0 {
		s.Fatalf("nothing to be measured: %s", do)
	}
	s.measure(flows, s.rate, d, func(r *evidence.Record) {
		if r.Sent != nil {
			s.sent += *r.Sent
		}
		s.store.Add(r)
	})
}

// end follows what is to be done next about suspects that are likely, until nothing is, and returns the last diagnosis and what it still wants.
func (s *story) end(most int) (d *diagnose.Diagnosis, last diagnose.Step) {
	s.Helper()
	for {
		d, last = s.store.Diagnose(), diagnose.Step{}
		for _, x := range d.Suspects {
			i := slices.IndexFunc(x.Next, func(n diagnose.Step) bool {
				return strings.Contains(n.Why, "apart") || strings.Contains(n.Why, "make sure")
			})
			if i >= 0 && x.Probability > diagnose.Doubted && (x.Next[i].Why != "tell transmitter, cable and receiver apart") {
				last = x.Next[i]
				break
			}
		}
		if last.On == "" || s.runs >= most {
			return d, last
		}
		s.run(last)
	}
}

// TestStory: who types what the diagnosis says is next is led to the one arc, in a few runs; and where no path can be traced, is told so, and sent no more.
func TestStory(t *testing.T) {
	tree := func(k int) *graphs.Fabric {
		f, err := generate.FatTree(generate.FatTreeConfig{K: k})
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	random, err := generate.RandomRegular(generate.RandomRegularConfig{Switches: 64, Degree: 8, Hosts: 1, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		f      *graphs.Fabric
		faults int
		loss   float64
		runs   int
	}{
		{"fat-tree k=4", tree(4), 1, 0.01, 2},
		{"fat-tree k=8", tree(8), 1, 0.01, 3},
		{"fat-tree k=4, two", tree(4), 2, 0.02, 5},
		{"random 64x8", random, 1, 0.01, 2},
	} {
		for seed := range uint64(2 / c.faults) {
			faults := arcFaults(c.faults, c.loss, c.loss)(c.f, rand.New(rand.NewPCG(seed, 'F')))
			s := newStory(t, c.f, faults)
			d, last := s.end(c.runs)
			alone := 0
			for _, x := range d.Suspects {
				if len(x.Class) == 1 && x.Probability >= 0.95 && slices.ContainsFunc(faults, func(f Fault) bool { return x.ID == c.f.ArcName(graphs.ArcID(f.ID)) }) {
					alone++
				}
			}
			t.Logf("%s, seed %d: %d runs, %d packets: %s", c.name, seed, s.runs, s.sent, d.Summary)
			if alone != c.faults || last.Do != "" {
				t.Errorf("%s, seed %d: %d of %d found after %d runs, then %q", c.name, seed, alone, c.faults, s.runs, last)
			}
		}
	}

	s := newStory(t, tree(8), arcFaults(1, 0.01, 0.01)(tree(8), rand.New(rand.NewPCG(3, 'F'))))
	s.rate = -1
	if _, last := s.end(3); s.runs != 1 || !strings.Contains(last.Do, "TTL-expired") {
		t.Errorf("nothing is traced: %d runs, then %+v", s.runs, last)
	}
}

// TestStoppedStory: where what lost packets has stopped before anybody looked closer, nothing is named for it that the flows since did not happen to cross. It
// is said that it has stopped, and all that it may have been.
func TestStoppedStory(t *testing.T) {
	f, err := generate.FatTree(generate.FatTreeConfig{K: 4})
	if err != nil {
		t.Fatal(err)
	}
	random, err := generate.RandomRegular(generate.RandomRegularConfig{Switches: 64, Degree: 8, Hosts: 1, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	stopped := 0
	for seed := range uint64(8) {
		f := []*graphs.Fabric{f, random}[seed%2]
		faults := arcFaults(1, 0.01, 0.01)(f, rand.New(rand.NewPCG(seed, 'F')))
		s := newStory(t, f, faults)
		s.faults = nil
		d, last := s.end(5)
		truth := f.ArcName(graphs.ArcID(faults[0].ID))
		for _, x := range d.Suspects {
			switch held := slices.Contains(x.Class, truth); {
			case x.Probability >= diagnose.Named && !held:
				t.Errorf("seed %d: innocent: %s (%.2f of %d), after %s", seed, x.ID, x.Probability, len(x.Class), truth)
			case held && s.runs > 0 && (x.Until == nil || !strings.Contains(x.Against, "it has probably stopped")):
				t.Errorf("seed %d: %s: not said to have stopped: %v", seed, d.Summary, x.Doubts)
			case held && s.runs > 0:
				stopped++
			}
		}
		if last.On != "" {
			t.Errorf("seed %d: it goes on after %d runs: %s", seed, s.runs, last.Do)
		}
	}
	if stopped < 3 {
		t.Errorf("%d have stopped", stopped)
	}
}

// TestLivingStory: what loses few packets and goes on is not said to have stopped, be it that by chance none of them was lost for a while, or that others were while this was asked of
// another suspect.
func TestLivingStory(t *testing.T) {
	f, err := generate.FatTree(generate.FatTreeConfig{K: 4})
	if err != nil {
		t.Fatal(err)
	}
	for _, seed := range []uint64{3, 7, 9, 10} {
		s := newStory(t, f, arcFaults(1, 0.003, 0.003)(f, rand.New(rand.NewPCG(seed, 'F'))))
		d, _ := s.end(5)
		for _, x := range d.Suspects {
			if x.Until != nil {
				t.Errorf("seed %d: %s: %s", seed, d.Summary, x.Against)
			}
		}
	}
}
