package casebook_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

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
	{name: "11 hot by elephants", snmp: true, most: 30 * time.Second, prepare: func(s *stage, f *graphs.Fabric) (built, told *graphs.Fabric) {
		slow := s.rebuilt(f, func(l graphs.LinkID) (graphs.BitsPerSecond, []string) {
			if f.IsHostArc(l.Forward()) {
				return hostSpeed, nil
			}
			return smallSpeed, nil
		})
		return slow, slow
	}, set: func(s *stage) []want {
		a := s.elephants()
		name := s.f.ArcName(a)
		// The senders and their own links are innocent, and so is everything before and behind the queue.
		return []want{{id: name, symptoms: []diagnose.Symptom{diagnose.Hot}, touching: []string{s.f.LinkName(a.Link())}}}
	}, also: func(s *stage, d *diagnose.Diagnosis) string {
		// On a random graph most pairs have one shortest path, so that loads alone do not tell who could have gone elsewhere; that is said.
		if len(d.Suspects) == 0 || !strings.HasPrefix(d.Suspects[0].For, "collision") && !strings.Contains(d.Suspects[0].Against, "several paths") {
			return "that large flows collide is not said"
		}
		return saysOf("snmp", "discarded on the way out")(s, d)
	}},
	{name: "14 hot by lost capacity", snmp: true, most: 25 * time.Second, set: func(s *stage) []want {
		// The uplinks of a switch carry its hosts' traffic, until one goes down.
		a, from := s.loaded("40Mbit")
		up := s.f.Tail(a)
		w := s.sickLink(a.Link(), diagnose.Down)
		w.touching = append(w.touching, from)
		uplinks := s.uplinks(up)
		for _, b := range uplinks {
			if b != a {
				s.breakIt("slow", s.f.ArcName(b), lab.FaultOptions{Rate: fmt.Sprintf("%dkbit", 42_000/len(uplinks))})
				w.touching = append(w.touching, s.f.LinkName(b.Link()))
			}
		}
		s.breakIt("down", s.f.LinkName(a.Link()), lab.FaultOptions{})
		return []want{w}
	}, also: func(s *stage, d *diagnose.Diagnosis) string {
		text := d.Text()
		if !strings.Contains(text, "discarded on the way out") {
			return "the queues are not told of"
		}
		return saysOf("snmp", " is down")(s, d)
	}},
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
	{name: "T6 agents begin anew", snmp: true, most: 14 * time.Second, set: func(s *stage) []want {
		// Errors that were counted before anybody looked say nothing, whatever comes after.
		s.counted(s.fabricLink().Forward(), "50%")
		time.Sleep(time.Second)
		if err := s.lab.HealAll(); err != nil {
			s.t.Fatal(err)
		}
		return nil
	}, later: func(s *stage) {
		// Agents begin anew: their clocks at nothing, their ports' counters where they were.
		for _, name := range s.someSwitches(2) {
			n, _ := s.f.NodeByName(name)
			if err := s.lab.RestartAgent(n); err != nil {
				s.t.Error(err)
			}
		}
	}},
	{name: "T10 dead agents", snmp: true, most: 14 * time.Second, set: func(s *stage) []want {
		for _, name := range s.someSwitches(2) {
			s.breakIt("mute", name, lab.FaultOptions{})
		}
		return nil
	}, also: func(s *stage, d *diagnose.Diagnosis) string {
		for _, truth := range s.lab.Truth() {
			told := slices.ContainsFunc(d.Notes, func(n string) bool {
				return strings.Contains(n, truth.Subjects[0]) && strings.Contains(n, "tells nothing by SNMP, which is no fault of its links")
			})
			if !told {
				return "it is not told that an agent is mute: " + truth.Subjects[0]
			}
		}
		return ""
	}},
	{name: "T13 hostile names", snmp: true, most: 8 * time.Second, set: func(s *stage) []want {
		host := s.f.Hosts()[s.rng.IntN(len(s.f.Hosts()))]
		a := s.f.Out(host)[0]
		s.announce(host, s.f.TailPort(a), hostile+strings.Repeat("x", 60))
		return nil // packets cross the link: nobody minds what its far end calls itself
	}, also: func(s *stage, d *diagnose.Diagnosis) string {
		text, err := json.Marshal(d)
		if err != nil {
			return err.Error()
		}
		for _, shown := range []string{d.Text(), string(text)} {
			if !utf8.ValidString(shown) || strings.ContainsFunc(shown, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }) {
				return fmt.Sprintf("the name is shown as it came: %q", shown)
			}
		}
		if !s.heardHostile.Load() {
			return "the name did not come through the agents"
		}
		return ""
	}},
}

// hostile is a name that a terminal must not see.
const hostile = "evil\x1b[2J\x07\r\n\xff\u202e"

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

// uplinks are the arcs from a switch to other switches.
func (s *stage) uplinks(n graphs.NodeID) (arcs []graphs.ArcID) {
	for _, a := range s.f.Out(n) {
		if !s.f.IsHostArc(a) {
			arcs = append(arcs, a)
		}
	}
	return arcs
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
	return s.rebuilt(f, func(l graphs.LinkID) (graphs.BitsPerSecond, []string) {
		if l == one || l == other {
			return f.Link(l).Speed, []string{trunk}
		}
		return f.Link(l).Speed, nil
	})
}

// rebuilt is a fabric whose links have other speeds and groups.
func (s *stage) rebuilt(f *graphs.Fabric, link func(graphs.LinkID) (graphs.BitsPerSecond, []string)) *graphs.Fabric {
	s.t.Helper()
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
		speed, groups := link(l)
		if _, err := b.AddLink(ends[0], ends[1], speed, groups...); err != nil {
			s.t.Fatal(err)
		}
	}
	changed, err := b.Build()
	if err != nil {
		s.t.Fatal(err)
	}
	return changed
}
