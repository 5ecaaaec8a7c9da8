package diagnose

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"whichlink/graphs"
	"whichlink/internal/evidence"
)

// joined is what is said of a scene by probes and ports together.
func (s *scene) joined() *Diagnosis {
	store := NewStore(s.f, Config{})
	for _, r := range slices.Concat(s.probe, s.snmp) {
		store.Add(r)
	}
	return store.Diagnose()
}

// TestUntracedPorts: where no path is known, ports do not make less of a fault than probes do: what is lost to one that counts a few errors is loss, and a queue that
// drops elsewhere shades nobody whose flows mostly do not cross it.
func TestUntracedPorts(t *testing.T) {
	const queue = "spine3:swp4>leaf4:swp3"
	for _, errors := range []uint64{0, 7} {
		s := newScene(t)
		s.rng = rand.New(rand.NewPCG(1, 5))
		s.run(probing{flows: 160, packets: 60, windows: 4, untraced: true, lose: func(a graphs.ArcID, w int) float64 {
			return s.only(0.02, sickArc)(a, w) + s.only(0.03, queue)(a, w)
		}})
		s.poll(20, func(port string, st *evidence.PortState) {
			switch port {
			case "spine3:swp4":
				st.Out.Discards = evidence.Count(30_000)
			case receiving:
				st.In.Errors = evidence.Count(errors)
			}
		})
		d := s.joined()
		for _, want := range []string{sickArc, queue} {
			i := slices.IndexFunc(d.Suspects, func(x Suspect) bool { return slices.Contains(x.Class, want) })
			if i < 0 || d.Suspects[i].Symptom != Loss || d.Suspects[i].Probability < 0.9 || *d.Suspects[i].Loss < 0.01 {
				t.Errorf("with %d errors %s is not told to lose packets:\n%s", errors, want, d.Text())
			}
		}
	}
}

// TestUntracedBesideMiswire: where a swap that ports hear may have changed ways, flows count on those that there are with the wrong cables and without, as those of a host do whose link loses
// packets. Where one port alone hears it, what may have gone by the wrong cable is left out.
func TestUntracedBesideMiswire(t *testing.T) {
	const sick, host = "leaf2:swp1>spine1:swp2", "h1-1:eth1>leaf1:swp5"
	s := newScene(t)
	s.rng = rand.New(rand.NewPCG(1, 5))
	wrong := []graphs.LinkID{s.link(sickLink), s.link("leaf3:swp4--spine4:swp3")}
	s.run(probing{flows: 300, packets: 60, windows: 4, untraced: true, down: wrong, lose: func(a graphs.ArcID, w int) float64 {
		return s.only(0.03, sick)(a, w) + s.only(0.05, host)(a, w)
	}})
	others := map[string][2]string{"leaf1:swp2": {"spine4", "swp3"}, "leaf3:swp4": {"spine2", "swp1"}, "spine2:swp1": {"leaf3", "swp4"}, "spine4:swp3": {"leaf1", "swp2"}}
	s.hear(5, func(port string, st *evidence.PortState) {
		if far, ok := others[port]; ok {
			st.RemoteSystem, st.RemotePort = far[0], far[1]
		}
	})
	d := s.joined()
	for _, want := range []string{sick, host} {
		i := slices.IndexFunc(d.Suspects, func(x Suspect) bool { return slices.Contains(x.Class, want) })
		if i < 0 || d.Suspects[i].Symptom != Loss || d.Suspects[i].Probability < 0.9 || d.Suspects[0].Symptom != Miswire {
			t.Errorf("%s: %s", want, d.Text())
		}
	}
	src, _ := s.f.NodeByName("h1-1")
	dst, _ := s.f.NodeByName("h4-1")
	heard := s.snmp
	s.snmp = append(slices.DeleteFunc(slices.Clone(heard), func(r *evidence.Record) bool { return r.Port != "leaf1:swp2" }), &evidence.Record{V: 1, Time: s.start, Source: evidence.SourcePcap, By: "a.pcap",
		Kind: evidence.KindFlow, Packets: evidence.Int(1_000_000), LostBefore: evidence.Int(0), LostAfter: evidence.Int(50_000),
		Flow: &evidence.Flow{Src: s.f.Address(src, false), Dst: s.f.Address(dst, false), Proto: "tcp", SrcPort: 4000, DstPort: 5001}})
	if d := s.joined(); !slices.ContainsFunc(d.Notes, func(n string) bool { return strings.HasPrefix(n, "1,") && strings.Contains(n, "cables seem not to be") }) {
		t.Errorf("a captured flow that may have gone by a wrong cable is not left out where one port tells of that:\n%s", d.Text())
	}
	store := NewStore(s.f, Config{})
	store.misplaced = map[graphs.LinkID]bool{wrong[0]: true, wrong[1]: true}
	for _, r := range heard {
		store.Add(r)
	}
	store.rewire(&Diagnosis{}, nil)
	for _, c := range []struct {
		src, dst string
		want     bool
	}{{"h2-1", "h4-1", false}, {"h1-1", "h4-1", true}, {"h1-1", "h1-2", false}, {"h2-1", "h3-1", true}} {
		src, _ := s.f.NodeByName(c.src)
		dst, _ := s.f.NodeByName(c.dst)
		if got := store.asPlanned(trip{src: src, dst: dst, out: graphs.None, in: graphs.None}); got == c.want {
			t.Errorf("%s to %s: as planned %v", c.src, c.dst, got)
		}
	}
}

// TestUntracedBesideDown: what one port says is down explains what flows lost that may have crossed it, and is the surer for that; no other link is named, nor is another fault doubted.
func TestUntracedBesideDown(t *testing.T) {
	const sick = "leaf1:swp3>spine3:swp1"
	for seed := range uint64(4) {
		s := newScene(t)
		s.rng = rand.New(rand.NewPCG(seed, 5))
		s.run(probing{flows: 160, packets: 20, windows: 4, untraced: true, lose: func(a graphs.ArcID, w int) float64 {
			return s.only(0.1, sick)(a, w) + is(a.Link() == s.link(sickLink))
		}})
		s.poll(20, func(port string, st *evidence.PortState) {
			if port == receiving {
				st.Oper, st.In, st.Out = evidence.Down, nil, nil
			}
		})
		d := s.joined()
		named := slices.DeleteFunc(slices.Clone(d.Suspects), func(x Suspect) bool { return x.Probability < Named })
		slices.SortFunc(named, func(a, b Suspect) int { return strings.Compare(string(a.Symptom), string(b.Symptom)) })
		if len(named) != 2 || named[0].ID != sickLink || named[0].Symptom != Down || !slices.Contains(named[1].Class, sick) || min(named[0].Probability, named[1].Probability) < 0.9 {
			t.Errorf("seed %d:\n%s", seed, d.Text())
		}
	}
}
