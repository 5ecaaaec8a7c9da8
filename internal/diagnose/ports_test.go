package diagnose

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"whichlink/graphs"
	"whichlink/graphs/formats"
	"whichlink/internal/evidence"
	"whichlink/pathfind"
)

var rewrite = flag.Bool("rewrite", false, "write the scenes of testdata/ports and their goldens anew")

const scenes = "../../testdata/ports"

// A scene is what happens in a small fabric, and what probes and ports tell of it. Losses are drawn packet by packet; what ports say is
// written down case by case.
type scene struct {
	t     testing.TB
	f     *graphs.Fabric
	e     *pathfind.ECMP
	rng   *rand.Rand
	start time.Time
	probe []*evidence.Record
	snmp  []*evidence.Record
}

// newScene makes an empty scene in the fabric of testdata/ports.
func newScene(t testing.TB) *scene {
	t.Helper()
	file, err := formats.ReadFile(filepath.Join(scenes, "fabric.clab.yml"))
	if err != nil {
		t.Fatal(err)
	}
	return &scene{t: t, f: file.Fabric, rng: rand.New(rand.NewPCG(1, 5)), start: time.Date(2026, 11, 20, 3, 0, 0, 0, time.UTC)}
}

// A probing is how a scene is probed: so many flows with so many packets each in windows of five seconds, what is lost on each arc in each window,
// and links that routing avoids.
type probing struct {
	flows, packets, windows int
	lose                    func(a graphs.ArcID, window int) float64
	down                    []graphs.LinkID
	untraced                bool
}

func (s *scene) run(p probing) {
	s.e = pathfind.NewECMPWithout(s.f, func(l graphs.LinkID) bool { return slices.Contains(p.down, l) })
	hosts := s.f.Hosts()
	names := func(arcs []graphs.ArcID) (list []string) {
		for _, a := range arcs {
			list = append(list, s.f.ArcName(a))
		}
		return list
	}
	walk := func(src, dst graphs.NodeID) []graphs.ArcID {
		paths, _ := s.e.Paths(src, dst, 100)
		return paths[s.rng.IntN(len(paths))].Arcs
	}
	for i := range p.flows {
		src := hosts[i%len(hosts)]
		dst := hosts[(i+1+2*s.rng.IntN(len(hosts)/2))%len(hosts)]
		flow := evidence.Flow{Src: s.f.Address(src, false), Dst: s.f.Address(dst, false), Proto: "udp", SrcPort: uint16(50000 + i), DstPort: 862}
		there, back := walk(src, dst), walk(dst, src)
		for w := range p.windows {
			r := &evidence.Record{V: 1, Time: s.start.Add(time.Duration(w+1) * 5 * time.Second), Source: evidence.SourceProbe, By: s.f.NodeName(src),
				Kind: evidence.KindEcho, Flow: &flow, WindowMS: 5000}
			if !p.untraced {
				r.Path, r.Back = names(there), names(back)
				seen := *r
				seen.Kind, seen.Time, seen.WindowMS = evidence.KindPath, r.Start(), 0
				s.probe = append(s.probe, &seen)
			}
			survives := func(arcs []graphs.ArcID) bool {
				return !slices.ContainsFunc(arcs, func(a graphs.ArcID) bool { return p.lose != nil && s.rng.Float64() < p.lose(a, w) })
			}
			forward, home := 0, 0
			for range p.packets {
				if !survives(there) {
					forward++
				} else if !survives(back) {
					home++
				}
			}
			r.Sent, r.Lost, r.LostForward, r.LostBack = evidence.Int(p.packets), evidence.Int(forward+home), evidence.Int(forward), evidence.Int(home)
			s.probe = append(s.probe, r)
		}
	}
	slices.SortStableFunc(s.probe, func(a, b *evidence.Record) int { return a.Time.Compare(b.Time) })
}

func (s *scene) link(name string) graphs.LinkID {
	l, ok := s.f.LinkByName(name)
	if !ok {
		s.t.Fatalf("no link %s", name)
	}
	return l
}

// say adds a record of a port, so many seconds after the start.
func (s *scene) say(kind evidence.Kind, port string, second float64, state evidence.PortState) *evidence.Record {
	state.Port = port
	by, _, _ := strings.Cut(port, ":")
	r := &evidence.Record{V: 1, Time: s.start.Add(time.Duration(second * 1e9)), Source: evidence.SourceSNMP, By: by, Kind: kind, PortState: state}
	s.snmp = append(s.snmp, r)
	return r
}

// poll has every port of all switches read once, up and without loss, and lets change alter what single ports say.
func (s *scene) poll(second float64, change func(port string, st *evidence.PortState)) {
	for _, n := range s.f.Switches() {
		for _, p := range s.f.Ports(n) {
			count := func() *evidence.Counters {
				packets := uint64(900_000 + s.rng.IntN(200_000))
				return &evidence.Counters{Octets: evidence.Count(packets * 900), Unicast: evidence.Count(packets), Errors: evidence.Count(0), Discards: evidence.Count(0)}
			}
			st := evidence.PortState{IntervalMS: 10000, Oper: evidence.Up, Admin: evidence.Up, Speed: 100e9, In: count(), Out: count()}
			if change != nil {
				change(s.f.PortName(p), &st)
			}
			s.say(evidence.KindCounters, s.f.PortName(p), second, st)
		}
	}
}

// hear has every port of some switches tell its neighbour as planned, and lets change alter that.
func (s *scene) hear(second float64, change func(port string, st *evidence.PortState)) {
	for _, n := range s.f.Switches() {
		for _, p := range s.f.Ports(n) {
			far := s.f.Port(s.f.HeadPort(s.f.ArcFrom(p)))
			if s.f.Node(far.Node).IsHost() {
				continue
			}
			st := evidence.PortState{RemoteSystem: s.f.NodeName(far.Node) + ".dc1.example", RemotePort: far.Name}
			if change != nil {
				change(s.f.PortName(p), &st)
			}
			s.say(evidence.KindNeighbour, s.f.PortName(p), second, st)
		}
	}
}

// only loses a share of packets on some arcs.
func (s *scene) only(loss float64, arcs ...string) func(graphs.ArcID, int) float64 {
	return func(a graphs.ArcID, _ int) float64 { return loss * is(slices.Contains(arcs, s.f.ArcName(a))) }
}

const sickArc, sickLink, receiving = "leaf1:swp2>spine2:swp1", "leaf1:swp2--spine2:swp1", "spine2:swp1"

var portScenes = []struct {
	name string
	play func(s *scene)
	// What is to be named, first, as one of two at most: kind, id and symptom, or nothing; by probes alone, ports alone, and both. A star: not judged.
	probe, snmp, both string
}{
	{"case2-errors", func(s *scene) {
		s.run(probing{flows: 60, packets: 20, windows: 1, lose: s.only(0.01, sickArc)})
		s.poll(10, func(port string, st *evidence.PortState) {
			switch port {
			case receiving:
				st.In.Errors = evidence.Count(11_000)
			case "spine3:swp2": // counts what is not lost
				st.In.Errors = evidence.Count(80_000)
			}
		})
	}, "", "*", "arc " + sickArc + " loss"},
	{"case3-early", func(s *scene) {
		s.run(probing{flows: 60, packets: 400, windows: 1})
		s.poll(10, func(port string, st *evidence.PortState) {
			if port == receiving {
				st.In.Errors, st.In.FCS = evidence.Count(41), evidence.Count(41)
			}
		})
	}, "", "arc " + sickArc + " corruption", "arc " + sickArc + " corruption"},
	{"case4-flap", func(s *scene) {
		s.run(probing{flows: 60, packets: 10, windows: 4, lose: func(a graphs.ArcID, w int) float64 {
			return 0.2 * is(a.Link() == s.link(sickLink) && w%2 == 1)
		}})
		s.poll(20, nil)
		for i := range 4 {
			for _, port := range []string{"leaf1:swp2", receiving} {
				s.say(evidence.KindEvent, port, 1+4*float64(i), evidence.PortState{Event: evidence.Down})
				s.say(evidence.KindEvent, port, 2+4*float64(i), evidence.PortState{Event: evidence.Up})
			}
		}
	}, "*", "link " + sickLink + " flap", "link " + sickLink + " flap"},
	{"case5-fast-flap", func(s *scene) {
		s.run(probing{flows: 40, packets: 300, windows: 1})
		for i := range 3 {
			s.poll(10*float64(i+1), func(port string, st *evidence.PortState) {
				ago := int64(86_400_000 + 10_000*i)
				if port == receiving {
					ago = int64(3000 + 500*i)
				}
				st.LastChangeAgoMS = &ago
			})
		}
	}, "", "link " + sickLink + " flap", "link " + sickLink + " flap"},
	{"case6-down", func(s *scene) {
		s.run(probing{flows: 120, packets: 100, windows: 1, down: []graphs.LinkID{s.link(sickLink)}})
		s.hear(0, nil)
		s.hear(5, func(port string, st *evidence.PortState) {
			if port == "leaf1:swp2" || port == receiving {
				*st = evidence.PortState{}
			}
		})
		s.poll(10, func(port string, st *evidence.PortState) {
			if port == receiving { // the leaf's agent is busy and says nothing new
				st.Oper, st.In, st.Out = evidence.Down, nil, nil
			}
		})
	}, "*", "link " + sickLink + " down", "link " + sickLink + " down"},
	{"case6-disabled", func(s *scene) {
		s.run(probing{flows: 120, packets: 100, windows: 1, down: []graphs.LinkID{s.link(sickLink)}})
		s.poll(10, func(port string, st *evidence.PortState) {
			switch port {
			case "leaf1:swp2":
				st.Oper, st.Admin, st.In, st.Out = evidence.Down, evidence.Down, nil, nil
			case receiving:
				st.Oper, st.In, st.Out = evidence.Down, nil, nil
			}
		})
	}, "*", "", ""},
	{"case9-group", func(s *scene) {
		lanes := s.f.Group(0).Links
		s.run(probing{flows: 60, packets: 5, windows: 1, lose: func(a graphs.ArcID, _ int) float64 { return 0.03 * is(slices.Contains(lanes, a.Link())) }})
		s.poll(10, func(port string, st *evidence.PortState) {
			p, _ := s.f.PortByName(port)
			if slices.Contains(lanes, s.f.Port(p).Link) {
				st.In.Errors = evidence.Count(uint64(20_000 + s.rng.IntN(9000)))
			}
		})
	}, "", "group cable-1 corruption", "group cable-1 loss"},
	{"case9-group-down", func(s *scene) {
		lanes := s.f.Group(0).Links
		s.run(probing{flows: 60, packets: 8, windows: 1, down: lanes})
		s.poll(10, func(port string, st *evidence.PortState) {
			p, _ := s.f.PortByName(port)
			if slices.Contains(lanes, s.f.Port(p).Link) {
				st.Oper, st.In, st.Out = evidence.Down, nil, nil
			}
		})
	}, "*", "group cable-1 down", "group cable-1 down"},
	{"case18-miswire", func(s *scene) {
		wrong := []graphs.LinkID{s.link(sickLink), s.link("leaf3:swp4--spine4:swp3")}
		s.run(probing{flows: 120, packets: 100, windows: 1, down: wrong})
		s.hear(5, func(port string, st *evidence.PortState) {
			switch port {
			case "leaf1:swp2":
				st.RemoteSystem, st.RemotePort = "spine4", "swp3"
			case "leaf3:swp4":
				st.RemoteSystem, st.RemotePort = "spine2.dc1.example", "swp1"
			case "spine2:swp1":
				st.RemoteSystem, st.RemotePort = "leaf3", "swp4"
			case "spine4:swp3":
				st.RemoteSystem, st.RemotePort = "leaf1", "swp2"
			}
		})
	}, "*", "link " + sickLink + " miswire", "link " + sickLink + " miswire"},
	{"trap1-silent", func(s *scene) {
		s.run(probing{flows: 60, packets: 200, windows: 1, lose: s.only(0.02, sickArc)})
		s.poll(10, nil)
	}, "arc " + sickArc + " loss", "", "arc " + sickArc + " loss"},
	{"trap4-host", func(s *scene) {
		s.run(probing{flows: 60, packets: 6, windows: 1, lose: s.only(0.05, "leaf2:swp5>h2-1:eth1", "h2-1:eth1>leaf2:swp5")})
		s.poll(10, nil)
		n := evidence.Count
		s.say(evidence.KindCounters, "h2-1:eth1", 10, evidence.PortState{IntervalMS: 10000, Oper: evidence.Up,
			In: &evidence.Counters{Unicast: n(500_000), Errors: n(0), Discards: n(24_000)}, Out: &evidence.Counters{Unicast: n(480_000), Errors: n(0), Discards: n(15_000)}})
	}, "*", "*", "host h2-1 loss"},
	{"trap6-resets", func(s *scene) {
		s.run(probing{flows: 60, packets: 100, windows: 1})
		s.poll(10, func(port string, st *evidence.PortState) {
			switch port {
			case receiving: // errors since boot, taken for a difference by whoever began to poll
				st.Reset, st.In.Errors = true, evidence.Count(7_000_000)
			case "spine3:swp2": // a counter that went backwards and was taken for a wrap
				st.In.Errors = evidence.Count(1<<32 - 5_000)
			case "leaf1:swp2": // the agent began anew: its times are counted from there
				ago := int64(3000)
				st.Reset, st.LastChangeAgoMS = true, &ago
			}
		})
	}, "", "", ""},
	{"contradiction", func(s *scene) {
		s.run(probing{flows: 60, packets: 4000, windows: 1})
		s.poll(10, func(port string, st *evidence.PortState) {
			if port == receiving {
				st.In.Errors = evidence.Count(12_000)
			}
		})
	}, "", "arc " + sickArc + " corruption", ""},
}

// TestPorts reads the scenes' evidence: what probes tell alone, ports alone, and both.
func TestPorts(t *testing.T) {
	for i, c := range portScenes {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(scenes, c.name)
			s := newScene(t)
			if *rewrite {
				s.rng = rand.New(rand.NewPCG(uint64(i), 5))
				c.play(s)
				writeRecords(t, path+".probe.jsonl", s.probe)
				writeRecords(t, path+".snmp.jsonl", s.snmp)
			}
			for _, m := range []struct {
				want  string
				files []string
			}{{c.probe, []string{"probe"}}, {c.snmp, []string{"snmp"}}, {c.both, []string{"probe", "snmp"}}} {
				store := NewStore(s.f, Config{})
				for _, name := range m.files {
					readRecords(t, path+"."+name+".jsonl", store)
				}
				d := store.Diagnose()
				got := ""
				if len(d.Suspects) > 0 && d.Suspects[0].Probability >= Named && len(d.Suspects[0].Class) < 3 {
					x := &d.Suspects[0]
					got = x.Kind + " " + x.ID + " " + string(x.Symptom)
				}
				if m.want != "*" && got != m.want {
					t.Errorf("%v: %q, want %q\n%s", m.files, got, m.want, d.Text())
				}
				if len(m.files) < 2 {
					continue
				}
				innocent := func(x Suspect) bool {
					return x.Probability >= Named && !strings.Contains(fmt.Sprint(x.Class), "cable-1") && x.Symptom != Miswire && x.Link != sickLink && x.Kind != "host"
				}
				if j := slices.IndexFunc(d.Suspects, innocent); j >= 0 {
					t.Errorf("innocent: %s", d.Suspects[j].ID)
				}
				golden(t, path+".golden", d.Text())
			}
		})
	}
}

func writeRecords(t *testing.T, path string, records []*evidence.Record) {
	t.Helper()
	var text bytes.Buffer
	for _, r := range records {
		if err := evidence.Write(&text, r); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(path, text.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

func readRecords(t *testing.T, path string, store *Store) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := evidence.Read(file, path, func(r *evidence.Record) bool { store.Add(r); return true }); err != nil {
		t.Fatal(err)
	}
}

func golden(t *testing.T, path, text string) {
	t.Helper()
	if *rewrite {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), text); d != "" {
		t.Error(d)
	}
}
