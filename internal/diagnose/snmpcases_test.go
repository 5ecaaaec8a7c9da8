package diagnose_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"whichlink/graphs"
	"whichlink/internal/diagnose"
	"whichlink/internal/evidence"
	"whichlink/internal/lab"
)

// The cases in which switches are polled beside the probes. Where one source alone could say it, the case asks that both have.
var snmpCases = []casebookCase{
	{name: "2 loss 1% counted", snmp: true, most: 20 * time.Second, set: func(s *stage) []want {
		a := s.fabricLink().Forward()
		if s.rng.IntN(2) == 1 {
			a = a.Reverse()
		}
		return []want{s.counted(a, "1%", diagnose.Loss, diagnose.Corruption)}
	}, also: saysOf("snmp", "FCS errors at ")},
	{name: "3 errors 0.02% counted", snmp: true, most: 25 * time.Second, set: func(s *stage) []want {
		a, _ := s.loaded("20Mbit")
		return []want{s.counted(a, "0.02%", diagnose.Corruption, diagnose.Loss)}
	}, also: saysOf("snmp", "FCS errors at ")},
	{name: "4 flap with agents", snmp: true, most: 16 * time.Second, set: func(s *stage) []want {
		l := s.fabricLink()
		s.breakIt("flap", s.f.LinkName(l), lab.FaultOptions{Period: 4 * time.Second, Down: time.Second})
		return []want{s.sickLink(l, diagnose.Flap)}
	}, also: saysOf("snmp", "went down and came up again")},
	{name: "5 flap of 0.1 s", snmp: true, most: 20 * time.Second, set: func(s *stage) []want {
		l := s.fabricLink()
		s.breakIt("flap", s.f.LinkName(l), lab.FaultOptions{Period: 5 * time.Second, Down: 100 * time.Millisecond})
		return []want{s.sickLink(l, diagnose.Flap)}
	}, also: saysOf("snmp", "went down and came up again")},
	{name: "6 down with agents", snmp: true, most: 20 * time.Second, set: func(s *stage) []want {
		l := s.fabricLink()
		s.breakIt("down", s.f.LinkName(l), lab.FaultOptions{})
		return []want{s.sickLink(l, diagnose.Down)}
	}, also: saysOf("snmp", " is down")},
	{name: "9 shared-risk group", snmp: true, most: 20 * time.Second, prepare: func(s *stage, f *graphs.Fabric) (built, told *graphs.Fabric) {
		g := s.withGroup(f)
		return g, g
	}, set: func(s *stage) []want {
		w := want{id: trunk, symptoms: []diagnose.Symptom{diagnose.Down}, touching: []string{trunk}}
		for _, l := range s.f.Group(0).Links {
			s.breakIt("down", s.f.LinkName(l), lab.FaultOptions{})
			w.touching = append(w.touching, s.f.LinkName(l))
		}
		return []want{w}
	}},
	{name: "11 hot by elephants", snmp: true, most: 20 * time.Second, set: func(s *stage) []want {
		a, from := s.loaded("40Mbit")
		name := s.f.ArcName(a)
		s.breakIt("slow", name, lab.FaultOptions{Rate: "8Mbit"})
		// The senders' own link and switch are innocent, and so is everything behind the queue.
		return []want{{id: name, symptoms: []diagnose.Symptom{diagnose.Hot, diagnose.Loss}, touching: []string{s.f.LinkName(a.Link()), from}}}
	}, also: saysOf("snmp", "discarded on the way out")},
	{name: "18 miswire", snmp: true, most: 30 * time.Second, set: func(s *stage) []want {
		one, other := s.swappable()
		s.breakIt("miswire", s.f.LinkName(one)+" "+s.f.LinkName(other), lab.FaultOptions{})
		touching := []string{s.f.LinkName(one), s.f.LinkName(other)}
		return []want{
			{id: touching[0], symptoms: []diagnose.Symptom{diagnose.Miswire}, touching: touching},
			{id: touching[1], symptoms: []diagnose.Symptom{diagnose.Miswire}, touching: touching},
		}
	}},
	{name: "T1 healthy with agents", snmp: true, most: 8 * time.Second},
	{name: "T6 counters begin anew", snmp: true, most: 14 * time.Second, set: func(s *stage) []want {
		// Errors that were counted before anybody looked say nothing, whatever comes after.
		s.counted(s.fabricLink().Forward(), "50%")
		time.Sleep(time.Second)
		if err := s.lab.HealAll(); err != nil {
			s.t.Fatal(err)
		}
		return nil
	}, later: func(s *stage) {
		// Devices are made anew, with counters that begin at nothing, while the agents' clocks run on.
		one, other := s.swappable()
		s.breakIt("miswire", s.f.LinkName(one)+" "+s.f.LinkName(other), lab.FaultOptions{})
		if err := s.lab.HealAll(); err != nil {
			s.t.Error(err)
		}
	}},
	{name: "T10 dead agents", snmp: true, most: 10 * time.Second, set: func(s *stage) []want {
		for _, name := range s.someSwitches(2) {
			s.breakIt("mute", name, lab.FaultOptions{})
		}
		return nil
	}, also: func(s *stage, d *diagnose.Diagnosis) string {
		for _, x := range d.Sources {
			for _, truth := range s.lab.Truth() {
				if x.Source == string(evidence.SourceSNMP) && x.By == truth.Subjects[0] {
					return "a mute agent has spoken: " + x.By
				}
			}
		}
		return ""
	}},
}

// saysOf asks that the first suspect rests on a word of a source.
func saysOf(source, word string) func(*stage, *diagnose.Diagnosis) string {
	return func(_ *stage, d *diagnose.Diagnosis) string {
		if len(d.Suspects) == 0 {
			return "nobody is suspected"
		}
		for _, e := range d.Suspects[0].Evidence {
			if e.Source == source && strings.Contains(e.Text, word) {
				return ""
			}
		}
		return fmt.Sprintf("%s does not say %q of %s", source, word, d.Suspects[0].ID)
	}
}

// counted sets a loss that the receiving port counts.
func (s *stage) counted(a graphs.ArcID, rate string, symptoms ...diagnose.Symptom) want {
	s.t.Helper()
	s.broken = s.f.ArcName(a)
	s.breakIt("loss", s.broken, lab.FaultOptions{Rate: rate, Counted: true})
	return want{id: s.broken, symptoms: symptoms, touching: []string{s.f.LinkName(a.Link())}}
}

// loaded sends traffic between two hosts, and returns the arc between switches that most of its ways cross, and the sender.
func (s *stage) loaded(rate string) (graphs.ArcID, string) {
	s.t.Helper()
	hosts := s.f.Hosts()
	for {
		from, to := hosts[s.rng.IntN(len(hosts))], hosts[s.rng.IntN(len(hosts))]
		crossed := map[graphs.ArcID]int{}
		best := graphs.ArcID(graphs.None)
		for port := range uint16(64) {
			path, err := s.lab.Path(evidence.Flow{Src: s.f.Address(from, false), Dst: s.f.Address(to, false), Proto: "udp", SrcPort: 40000 + port, DstPort: 20001})
			if from == to || err != nil {
				break
			}
			for _, a := range path {
				if crossed[a]++; !s.f.IsHostArc(a) && (best == graphs.None || crossed[a] > crossed[best]) {
					best = a
				}
			}
		}
		if best != graphs.None {
			s.breakIt("load", s.f.NodeName(from)+" "+s.f.NodeName(to), lab.FaultOptions{Rate: rate, Flows: 64})
			return best, s.f.NodeName(from)
		}
	}
}

// swappable chooses two links whose ends belong to four switches, or, in a leaf-spine, to two and two.
func (s *stage) swappable() (one, other graphs.LinkID) {
	nodes := func(l graphs.LinkID) []graphs.NodeID {
		e := s.f.Link(l).Ends
		return []graphs.NodeID{s.f.Port(e[0]).Node, s.f.Port(e[1]).Node}
	}
	for {
		one, other = s.fabricLink(), s.fabricLink()
		a, b := nodes(one), nodes(other)
		if !slices.Contains(a, b[0]) && !slices.Contains(a, b[1]) {
			return one, other
		}
		s.used = nil
	}
}

// trunk is the name of the group that fails.
const trunk = "trunk-7"

// withGroup puts two links without a common switch into a shared-risk group.
func (s *stage) withGroup(f *graphs.Fabric) *graphs.Fabric {
	s.t.Helper()
	was := s.f
	s.f = f
	defer func() { s.f = was }()
	one, other := s.swappable()
	b := graphs.Builder{Name: f.Name()}
	for i := range graphs.NodeID(f.NumNodes()) {
		if _, err := b.AddNode(*f.Node(i)); err != nil {
			s.t.Fatal(err)
		}
	}
	for l := range graphs.LinkID(f.NumLinks()) {
		var ends [2]graphs.End
		for i, p := range f.Link(l).Ends {
			port := f.Port(p)
			ends[i] = graphs.End{Node: port.Node, Port: port.Name, Prefixes: port.Prefixes}
		}
		var groups []string
		if l == one || l == other {
			groups = []string{trunk}
		}
		if _, err := b.AddLink(ends[0], ends[1], f.Link(l).Speed, groups...); err != nil {
			s.t.Fatal(err)
		}
	}
	grouped, err := b.Build()
	if err != nil {
		s.t.Fatal(err)
	}
	return grouped
}
