package casebook_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"whichlink/graphs"
	"whichlink/graphs/generate"
	"whichlink/internal/diagnose"
	"whichlink/internal/lab"
)

// A shape is a fabric of the casebook.
type shape struct {
	name string
	make func(seed uint64) (*graphs.Fabric, error)
	// fast is a budget of 10,000 packets a second and host, and of 4,000 TTL-expired probes a second and switch: what a prototype of
	// this tool was measured with.
	fast bool
}

func leafSpine(leaves, spines, hosts int) func(uint64) (*graphs.Fabric, error) {
	return func(uint64) (*graphs.Fabric, error) {
		return generate.LeafSpine(generate.LeafSpineConfig{Leaves: leaves, Spines: spines, Hosts: hosts})
	}
}

func fatTree(k int) func(uint64) (*graphs.Fabric, error) {
	return func(uint64) (*graphs.Fabric, error) { return generate.FatTree(generate.FatTreeConfig{K: k}) }
}

func random(switches, degree int) func(uint64) (*graphs.Fabric, error) {
	return func(seed uint64) (*graphs.Fabric, error) {
		return generate.RandomRegular(generate.RandomRegularConfig{Switches: switches, Degree: degree, Hosts: 1, Seed: seed})
	}
}

func dring(supernodes, switches int) func(uint64) (*graphs.Fabric, error) {
	return func(uint64) (*graphs.Fabric, error) {
		return generate.DRing(generate.DRingConfig{Supernodes: supernodes, Switches: switches, Hosts: 1})
	}
}

func resilient(routers, degree int) func(uint64) (*graphs.Fabric, error) {
	return func(seed uint64) (*graphs.Fabric, error) {
		p, err := generate.RNG(generate.RNGConfig{Routers: routers, Degree: degree, Breakout: 2, Hosts: 1, Seed: seed})
		if err != nil {
			return nil, err
		}
		return p.Fabric(), nil
	}
}

var shapes = []shape{
	{name: "leaf-spine 4x4", make: leafSpine(4, 4, 2)},
	{name: "fat-tree k=4", make: fatTree(4)},
	{name: "fat-tree k=8", make: fatTree(8)},
	{name: "random 16x4", make: random(16, 4)},
	{name: "random 40x6", make: random(40, 6)},
	{name: "random 100x8", make: random(100, 8)},
	{name: "dring 12", make: dring(6, 12)},
	{name: "rng 16x4", make: resilient(16, 4)},
	{name: "leaf-spine 2x4, 10,000/s", make: leafSpine(2, 4, 1), fast: true},
}

// A stage is where a case is played.
type stage struct {
	t   *testing.T
	f   *graphs.Fabric
	lab *lab.Lab
	rng *rand.Rand

	used    []graphs.LinkID
	broken  string   // the arc that was broken last
	policed []string // switches that answer little or nothing

	endings []func() // what ends with the play

	heardHostile atomic.Bool // a hostile name came in
}

// A want is one suspect that a case calls for.
type want struct {
	id       string
	symptoms []diagnose.Symptom
	// touching are the links and nodes of which a suspect is not innocent, the fault's own.
	touching []string
}

// A casebookCase is one entry of the casebook.
type casebookCase struct {
	name string
	// prepare, if set, changes the fabric before it is built, or what the tool is told of it.
	prepare func(*stage, *graphs.Fabric) (built, told *graphs.Fabric)
	// set breaks things and returns what is to be found; nothing where all is well.
	set func(*stage) []want
	// later, if set, is called two seconds after the measuring began.
	later func(*stage)
	// also judges more of the diagnosis; it returns what is wrong.
	also func(*stage, *diagnose.Diagnosis) string
	// most is how long to measure; a healthy case is measured for as long.
	most time.Duration
	// snmp cases have agents in the switches, which are polled beside the probes.
	snmp bool
	// fast cases are for the fast shape, all others for the others.
	fast bool
}

func lossCase(rate string, backward, fast bool) casebookCase {
	direction := "up"
	if backward {
		direction = "down"
	}
	return casebookCase{
		name: fmt.Sprintf("1 loss %s %s", rate, direction), most: 15 * time.Second, fast: fast,
		set: func(s *stage) []want {
			a := s.fabricLink().Forward()
			if backward {
				a = a.Reverse()
			}
			return []want{s.lossy(a, rate)}
		},
	}
}

var casebook = slices.Concat(probeCases, snmpCases)

var probeCases = []casebookCase{
	lossCase("0.5%", false, false), lossCase("0.5%", true, false), lossCase("1%", false, false), lossCase("1%", true, false),
	lossCase("5%", false, false), lossCase("5%", true, false),
	lossCase("5%", false, true), lossCase("5%", true, true), lossCase("1%", false, true), lossCase("1%", true, true),
	lossCase("0.1%", false, true), lossCase("0.1%", true, true),
	{name: "T1 healthy", most: 4 * time.Second, fast: true},
	{name: "1 loss 5% with every switch policed to 20/s", most: 15 * time.Second, fast: true, set: func(s *stage) []want {
		for _, n := range s.f.Switches() {
			s.breakIt("police", s.f.NodeName(n), lab.FaultOptions{Rate: "20"})
		}
		a := s.fabricLink().Forward()
		w := s.lossy(a, "5%")
		// The two arcs of a path over one spine are crossed by the same flows: without the switches' help either may be it.
		l := s.f.Link(a.Link())
		spine := s.f.Port(l.Ends[1]).Node
		for _, out := range s.f.Out(spine) {
			w.touching = append(w.touching, s.f.LinkName(out.Link()))
		}
		return []want{w}
	}},
	{name: "4 flap", most: 16 * time.Second, set: func(s *stage) []want {
		l := s.fabricLink()
		s.breakIt("flap", s.f.LinkName(l), lab.FaultOptions{Period: 4 * time.Second, Down: time.Second})
		return []want{s.sickLink(l, diagnose.Flap)}
	}},
	{name: "6 down", most: 15 * time.Second, set: func(s *stage) []want {
		l := s.fabricLink()
		s.breakIt("down", s.f.LinkName(l), lab.FaultOptions{})
		return []want{s.sickLink(l, diagnose.Down)}
	}},
	{name: "7 black hole", most: 15 * time.Second, set: func(s *stage) []want {
		l := s.fabricLink()
		s.breakIt("silent", s.f.LinkName(l), lab.FaultOptions{})
		return []want{s.sickLink(l, diagnose.Loss)}
	}},
	{name: "7 black hole of half of the flows", most: 15 * time.Second, set: func(s *stage) []want {
		a := s.fabricLink().Forward()
		s.broken = s.f.ArcName(a)
		return []want{{id: s.broken, symptoms: []diagnose.Symptom{diagnose.Loss}, touching: []string{s.f.LinkName(a.Link())}}}
	}, later: func(s *stage) { // when paths are known: what is dead from the first cannot be traced, and is one of several uplinks for long
		s.breakIt("loss", s.broken, lab.FaultOptions{Rate: "100%", Of: "50%"})
	}},
	{name: "8 switch", most: 15 * time.Second, set: func(s *stage) []want {
		switches := s.f.Switches()
		n := switches[s.rng.IntN(len(switches))]
		name := s.f.NodeName(n)
		s.breakIt("node", name, lab.FaultOptions{Rate: "1%"})
		return []want{{id: name, symptoms: []diagnose.Symptom{diagnose.Loss}, touching: []string{name}}}
	}},
	{name: "10 two faults", most: 20 * time.Second, set: func(s *stage) []want { return s.several(2) }},
	{name: "10 three faults", most: 20 * time.Second, set: func(s *stage) []want { return s.several(3) }},
	{name: "T1 healthy", most: 4 * time.Second},
	{name: "T1 loaded", most: 4 * time.Second, set: func(s *stage) []want {
		hosts := s.f.Hosts()
		for range 2 {
			from := s.rng.IntN(len(hosts))
			to := (from + 1 + s.rng.IntN(len(hosts)-1)) % len(hosts)
			s.breakIt("load", s.f.NodeName(hosts[from])+" "+s.f.NodeName(hosts[to]), lab.FaultOptions{Rate: "20Mbit"})
		}
		return nil
	}},
	{name: "T2 policed and silent", most: 6 * time.Second, set: func(s *stage) []want {
		s.policed = s.someSwitches(2)
		s.breakIt("police", s.policed[0], lab.FaultOptions{Rate: "5"})
		s.breakIt("police", s.policed[1], lab.FaultOptions{Rate: "0"})
		return nil
	}, also: func(s *stage, d *diagnose.Diagnosis) string {
		for _, truth := range s.lab.Truth() {
			// A switch that was hardly asked needs no clearing: the tool asks those whose answer tells most.
			if truth.Subjects[0] == s.policed[1] && truth.Hit < 20 {
				return ""
			}
		}
		for _, c := range d.Cleared {
			if c.ID == s.policed[1] {
				return ""
			}
		}
		return "the silent switch is not cleared"
	}},
	{name: "T3 loss on the way back", most: 15 * time.Second, set: func(s *stage) []want {
		a := s.fabricLink().Backward()
		return []want{s.lossy(a, "2%")}
	}, also: func(s *stage, d *diagnose.Diagnosis) string {
		for _, x := range d.Suspects {
			if x.Kind == "arc" && x.Probability >= diagnose.Named && reversed(x.ID) == s.broken {
				return "the forward arc is named, too"
			}
		}
		return ""
	}},
	{name: "T4 host", most: 15 * time.Second, set: func(s *stage) []want {
		hosts := s.f.Hosts()
		h := hosts[s.rng.IntN(len(hosts))]
		name := s.f.NodeName(h)
		s.breakIt("node", name, lab.FaultOptions{Rate: "2%"})
		return []want{{id: name, symptoms: []diagnose.Symptom{diagnose.Loss}, touching: []string{name}}}
	}},
	{name: "T5 paths change", most: 7 * time.Second, later: func(s *stage) {
		if err := s.lab.Reseed(s.rng.Uint64()); err != nil {
			s.t.Errorf("reseed: %v", err)
		}
	}},
	{name: "T11 many paths", most: 6 * time.Second, also: func(_ *stage, d *diagnose.Diagnosis) string {
		for _, x := range d.Suspects {
			if x.Symptom == diagnose.Flap || x.Symptom == diagnose.Loop {
				return fmt.Sprintf("%s is taken for a %s", x.ID, x.Symptom)
			}
		}
		return ""
	}},
	{name: "T14 unknown addresses", most: 15 * time.Second, prepare: func(s *stage, f *graphs.Fabric) (built, told *graphs.Fabric) {
		return f, withoutAddresses(s.t, f, s.someSwitchOf(f))
	}, set: func(s *stage) []want { return []want{s.lossy(s.fabricLink().Forward(), "2%")} }},
	{name: "T15 unnumbered", most: 15 * time.Second, prepare: func(s *stage, f *graphs.Fabric) (built, told *graphs.Fabric) {
		u, err := lab.Unnumbered(f)
		if err != nil {
			s.t.Fatal(err)
		}
		return u, u
	}, set: func(s *stage) []want { return []want{s.lossy(s.fabricLink().Forward(), "2%")} }},
}

// fabricLink chooses a link between switches.
func (s *stage) fabricLink() graphs.LinkID {
	for {
		if l := graphs.LinkID(s.rng.IntN(s.f.NumLinks())); !s.f.IsHostArc(l.Forward()) && !slices.Contains(s.used, l) {
			s.used = append(s.used, l)
			return l
		}
	}
}

func (s *stage) someSwitchOf(f *graphs.Fabric) graphs.NodeID {
	switches := f.Switches()
	return switches[s.rng.IntN(len(switches))]
}

func (s *stage) someSwitches(n int) []string {
	var names []string
	for _, i := range s.rng.Perm(len(s.f.Switches()))[:n] {
		names = append(names, s.f.NodeName(s.f.Switches()[i]))
	}
	return names
}

// breakIt sets a fault in the words of lab break.
func (s *stage) breakIt(kind, subjects string, o lab.FaultOptions) {
	s.t.Helper()
	fault, err := lab.ParseFault(s.f, kind, strings.Fields(subjects), o)
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := s.lab.Break(fault); err != nil {
		s.t.Fatal(err)
	}
}

func (s *stage) lossy(a graphs.ArcID, rate string) want {
	s.t.Helper()
	s.broken = s.f.ArcName(a)
	s.breakIt("loss", s.broken, lab.FaultOptions{Rate: rate})
	return want{id: s.broken, symptoms: []diagnose.Symptom{diagnose.Loss}, touching: []string{s.f.LinkName(a.Link())}}
}

func (s *stage) sickLink(l graphs.LinkID, symptoms ...diagnose.Symptom) want {
	return want{id: s.f.LinkName(l), symptoms: symptoms, touching: []string{s.f.LinkName(l)}}
}

func (s *stage) several(n int) []want {
	var all []want
	for range n {
		a := s.fabricLink().Forward()
		if s.rng.IntN(2) == 1 {
			a = a.Reverse()
		}
		all = append(all, s.lossy(a, []string{"1%", "2%", "5%"}[s.rng.IntN(3)]))
	}
	return all
}

func reversed(arc string) string {
	tail, head, _ := strings.Cut(arc, ">")
	return head + ">" + tail
}

// withoutAddresses is the fabric as a file tells it that lacks all addresses of a switch.
func withoutAddresses(t *testing.T, f *graphs.Fabric, blank graphs.NodeID) *graphs.Fabric {
	t.Helper()
	b := graphs.Builder{Name: f.Name()}
	for i := range graphs.NodeID(f.NumNodes()) {
		n := *f.Node(i)
		if i == blank {
			n.Loopback = nil
		}
		if _, err := b.AddNode(n); err != nil {
			t.Fatal(err)
		}
	}
	for l := range graphs.LinkID(f.NumLinks()) {
		var ends [2]graphs.End
		for i, p := range f.Link(l).Ends {
			port := f.Port(p)
			ends[i] = graphs.End{Node: port.Node, Port: port.Name, Prefixes: port.Prefixes}
			if port.Node == blank {
				ends[i].Prefixes = []netip.Prefix{}
			}
		}
		if _, err := b.AddLink(ends[0], ends[1], f.Link(l).Speed); err != nil {
			t.Fatal(err)
		}
	}
	stripped, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return stripped
}
