package diagnose

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"whichlink/graphs"
	"whichlink/internal/evidence"
)

// TestLinkStates plays what ports may say of links, by itself and against what packets say.
func TestLinkStates(t *testing.T) {
	up := evidence.PortState{Oper: evidence.Up, Admin: evidence.Up, IntervalMS: 10000}
	down := evidence.PortState{Oper: evidence.Down, Admin: evidence.Up, IntervalMS: 10000}
	ago := func(ms int64) *int64 { return &ms }
	swapped := func(port string, st *evidence.PortState) {
		switch port {
		case "leaf1:swp2":
			st.RemoteSystem, st.RemotePort = "spine4", "swp3"
		case "leaf3:swp4":
			st.RemoteSystem, st.RemotePort = "spine2", "swp1"
		case "spine2:swp1":
			st.RemoteSystem, st.RemotePort = "leaf3", "swp4"
		case "spine4:swp3":
			st.RemoteSystem, st.RemotePort = "leaf1", "swp2"
		}
	}
	for _, c := range []struct {
		name string
		play func(s *scene)
		// want is the first suspect; low and high bound its probability. Without it none is named.
		want      string
		low, high float64
		against   string
	}{
		{"one end down, the other silent", func(s *scene) {
			s.say(evidence.KindCounters, receiving, 10, down)
		}, "link " + sickLink + " down", 0.9, 0.98, ""},
		{"one end down, the other up", func(s *scene) {
			s.say(evidence.KindCounters, receiving, 10, down)
			s.say(evidence.KindCounters, "leaf1:swp2", 10, up)
		}, "link " + sickLink + " down", 0.5, 0.8, "leaf1:swp2 reads up"},
		{"down, but packets cross it later", func(s *scene) {
			s.say(evidence.KindCounters, receiving, -10, down)
			s.run(probing{flows: 60, packets: 10, windows: 1})
		}, "", 0, 0, ""},
		{"down when packets crossed it, and since", func(s *scene) {
			s.run(probing{flows: 60, packets: 10, windows: 1})
			s.say(evidence.KindCounters, receiving, 10, down)
		}, "link " + sickLink + " down", 0.9, 0.98, ""},
		{"both ends down, and much later packets cross it: it came back", func(s *scene) {
			s.say(evidence.KindCounters, receiving, -30, down)
			s.say(evidence.KindCounters, "leaf1:swp2", -30, down)
			s.say(evidence.KindCounters, receiving, -20, down)
			s.run(probing{flows: 60, packets: 10, windows: 2})
		}, "link " + sickLink + " flap", 0.9, 0.98, "nothing"},
		{"both ends down, and packets cross it at the same time", func(s *scene) {
			for second := -20.0; second < 60; second += 10 {
				s.say(evidence.KindCounters, receiving, second, down)
				s.say(evidence.KindCounters, "leaf1:swp2", second, down)
			}
			s.run(probing{flows: 60, packets: 10, windows: 10})
		}, "", 0, 0, ""},
		{"both ends down, and a black hole for the flows that stay on it", func(s *scene) {
			s.say(evidence.KindCounters, receiving, -20, down)
			s.say(evidence.KindCounters, "leaf1:swp2", -20, down)
			s.run(probing{flows: 60, packets: 10, windows: 1, lose: func(a graphs.ArcID, _ int) float64 { return is(a.Link() == s.link(sickLink)) }})
		}, "link " + sickLink + " down", 0.98, 1, "nothing"},
		{"both ends down, and one host whose clock is an hour ahead crossed it before", func(s *scene) {
			s.say(evidence.KindCounters, receiving, 30, down)
			s.say(evidence.KindCounters, "leaf1:swp2", 30, down)
			s.run(probing{flows: 60, packets: 10, windows: 4})
			for _, r := range s.probe {
				if r.By == "h1-2" {
					r.Time = r.Time.Add(time.Hour)
				}
			}
		}, "link " + sickLink + " down", 0.98, 1, "packets crossed it later"},
		{"polls read down, then up, and tell of no change", func(s *scene) {
			s.say(evidence.KindCounters, receiving, 10, up)
			s.say(evidence.KindCounters, receiving, 20, down)
			s.say(evidence.KindCounters, receiving, 30, up)
		}, "link " + sickLink + " flap", 0.6, 0.8, ""},
		{"one end read up long before the other read down", func(s *scene) {
			s.say(evidence.KindCounters, "leaf1:swp2", 0, up)
			s.say(evidence.KindCounters, receiving, 0, up)
			s.say(evidence.KindCounters, receiving, 20, down)
		}, "link " + sickLink + " down", 0.9, 0.98, "nothing"},
		{"the port to a host is down, and all that goes there is lost", func(s *scene) {
			s.run(probing{flows: 60, packets: 20, windows: 1, lose: s.only(1, "h2-1:eth1>leaf2:swp5", "leaf2:swp5>h2-1:eth1")})
			s.say(evidence.KindCounters, "leaf2:swp5", 3, down)
		}, "link h2-1:eth1--leaf2:swp5 down", 0.9, 1, "nothing"},
		{"a switch restarts: its neighbours say so, its own agent is silent meanwhile, and packets are lost", func(s *scene) {
			leaf := func(port string) bool { return strings.HasPrefix(port, "leaf2:") }
			s.run(probing{flows: 60, packets: 20, windows: 12, lose: func(a graphs.ArcID, window int) float64 {
				return is(strings.Contains(s.f.ArcName(a), "leaf2:swp") && (window == 4 || window == 5))
			}})
			for second := 10.0; second < 60; second += 10 {
				dead := second == 30
				s.poll(second, func(port string, st *evidence.PortState) {
					p, _ := s.f.PortByName(port)
					if far := s.f.PortName(s.f.HeadPort(s.f.ArcFrom(p))); leaf(far) && dead {
						st.Oper, st.In, st.Out = evidence.Down, nil, nil
					}
				})
				s.snmp = slices.DeleteFunc(s.snmp, func(r *evidence.Record) bool {
					return leaf(r.Port) && dead && r.Time.Equal(s.start.Add(30*time.Second))
				})
			}
		}, "node leaf2 flap", 0.95, 1, ""},
		{"told to be down at one end for a while", func(s *scene) {
			s.drain(up, down, 20, 40)
		}, "", 0, 0, ""},
		{"told to be down, returned, and down and up again after that", func(s *scene) {
			s.drain(up, down, 20, 40)
			s.say(evidence.KindEvent, receiving, 80, evidence.PortState{Event: evidence.Down})
			s.say(evidence.KindEvent, receiving, 82, evidence.PortState{Event: evidence.Up})
		}, "link " + sickLink + " flap", 0.6, 0.8, ""},
		{"a trap says down, a later one up", func(s *scene) {
			s.say(evidence.KindEvent, receiving, 1, evidence.PortState{Event: evidence.Down})
			s.say(evidence.KindEvent, receiving, 1.01, evidence.PortState{Event: evidence.Down}) // told twice
			s.say(evidence.KindEvent, receiving, 3, evidence.PortState{Event: evidence.Up})
		}, "link " + sickLink + " flap", 0.6, 0.8, ""},
		{"one end counts changes of its carrier between two polls that read up, and nobody knows when", func(s *scene) {
			s.say(evidence.KindCounters, receiving, 10, up)
			s.say(evidence.KindCounters, receiving, 20, up)
			s.flapped(receiving, 20, 12, "carrier transitions")
			s.flapped(receiving, 20, 9, "BGP session established anew")
		}, "link " + sickLink + " flap every 0 ms", 0.95, 1, ""},
		{"one end counts changes of its carrier, and packets tell when", func(s *scene) {
			s.run(probing{flows: 60, packets: 10, windows: 13, lose: func(a graphs.ArcID, w int) float64 { return is(a.Link() == s.link(sickLink) && w%4 == 1) }})
			s.flapped(receiving, 10, 2, "carrier transitions")
			s.flapped(receiving, 30, 2, "carrier transitions")
		}, "link " + sickLink + " flap every 20000 ms", 0.95, 1, ""},
		{"a session began anew, as one end has it", func(s *scene) {
			s.flapped(receiving, 20, 1, "BGP session established anew")
		}, "", 0, 0, ""},
		{"a session began anew, as both ends have it", func(s *scene) {
			s.flapped(receiving, 20, 1, "BGP session established anew")
			s.flapped("leaf1:swp2", 21, 1, "BGP session established anew")
		}, "link " + sickLink + " flap", 0.9, 1, ""},
		{"a neighbour is gone", func(s *scene) {
			s.hear(0, nil)
			s.hear(10, func(port string, st *evidence.PortState) {
				if port == receiving || port == "leaf1:swp2" {
					*st = evidence.PortState{}
				}
			})
		}, "link " + sickLink + " down", 0.7, 0.95, ""},
		{"all neighbours are gone: LLDP began anew", func(s *scene) {
			s.hear(0, nil)
			s.hear(10, func(_ string, st *evidence.PortState) { *st = evidence.PortState{} })
		}, "", 0, 0, ""},
		{"a state that never changed since boot", func(s *scene) {
			still := up
			still.LastChangeAgoMS = ago(5 * 86_400_000)
			s.say(evidence.KindCounters, receiving, 10, still)
			s.say(evidence.KindCounters, receiving, 20, still)
		}, "", 0, 0, ""},
		{"all ports of a switch changed at once: it began anew", func(s *scene) {
			n, _ := s.f.NodeByName("spine2")
			s.poll(20, func(port string, st *evidence.PortState) {
				st.LastChangeAgoMS = ago(86_400_000)
				p, _ := s.f.PortByName(port)
				if a := s.f.ArcFrom(p); s.f.Tail(a) == n || s.f.Head(a) == n {
					st.LastChangeAgoMS = ago(int64(4000 + s.rng.IntN(2000)))
				}
			})
		}, "node spine2 flap", 0.9, 1, ""},
		{"a cable heard wrong from one end, and by nobody else", func(s *scene) {
			s.say(evidence.KindNeighbour, "leaf1:swp2", 5, evidence.PortState{RemoteSystem: "Spine4", RemotePort: "swp3"})
		}, "link " + sickLink + " miswire", 0.6, 0.9, ""},
		{"heard wrong, but packets cross it as planned", func(s *scene) {
			s.say(evidence.KindNeighbour, "leaf1:swp2", -5, evidence.PortState{RemoteSystem: "spine4", RemotePort: "swp3"})
			s.run(probing{flows: 60, packets: 10, windows: 1})
		}, "", 0, 0, ""},
		{"a swap heard from all four ports, and flows taken to cross it as planned meanwhile", func(s *scene) {
			s.hear(-20, swapped)
			s.run(probing{flows: 60, packets: 10, windows: 2})
		}, "link leaf3:swp4--spine4:swp3 miswire", 0.6, 0.85, "flows crossed it as planned"},
		{"a swap heard from all four ports long before flows crossed it as planned", func(s *scene) {
			s.hear(-200, swapped)
			s.run(probing{flows: 60, packets: 10, windows: 1})
		}, "", 0, 0, ""},
		{"ports by names of another system", func(s *scene) {
			s.hear(0, func(_ string, st *evidence.PortState) { st.RemotePort = "xe-0/0/" + st.RemotePort[3:] })
		}, "", 0, 0, ""},
		{"one cable in a spare port of the right switch", func(s *scene) {
			s.hear(0, func(port string, st *evidence.PortState) {
				if port == "leaf1:swp2" {
					st.RemotePort = "swp30"
				} else if port == receiving {
					*st = evidence.PortState{}
				}
			})
		}, "link " + sickLink + " miswire", 0.6, 0.9, "nothing"},
		{"one port hears an unknown switch, the other end what was planned", func(s *scene) {
			s.hear(0, func(port string, st *evidence.PortState) {
				if port == "leaf1:swp2" {
					st.RemoteSystem = "spine9"
				}
			})
		}, "link " + sickLink + " miswire", 0.2, 0.3, "spine2:swp1 hears leaf1:swp2, as planned"},
		{"a neighbour by an unknown name", func(s *scene) {
			s.say(evidence.KindNeighbour, "leaf1:swp2", 5, evidence.PortState{RemoteSystem: "old\x1b[2Jswitch", RemotePort: "eth>1"})
		}, "link " + sickLink + " miswire", 0.6, 0.9, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScene(t)
			c.play(s)
			d := s.diagnosed()
			if len(d.Suspects) == 0 || d.Suspects[0].Probability < Named && (c.want == "" || c.low >= Named) {
				if c.want != "" {
					t.Errorf("nothing is named: %s", d.Text())
				}
				return
			}
			x := &d.Suspects[0]
			got := x.Kind + " " + x.ID + " " + string(x.Symptom)
			if strings.HasSuffix(c.want, " ms") {
				got += fmt.Sprintf(" every %d ms", x.PeriodMS)
			}
			if strings.Contains(c.name, "came back") && (len(x.Episodes) != 1 || !strings.Contains(d.Summary, "is up again")) {
				t.Errorf("the outage is not told as over: %s", d.Text())
			}
			if len(d.Suspects) > 1 && d.Suspects[1].Probability >= Named && x.Symptom != Miswire {
				t.Errorf("one fault is told as two: %s", d.Text())
			}
			if got != c.want || x.Probability < c.low || x.Probability > c.high || !strings.Contains(x.Against, c.against) {
				t.Errorf("%s", d.Text())
			}
			if strings.ContainsRune(d.Text(), 0x1b) {
				t.Errorf("%q", d.Text())
			}
		})
	}
}

// drain polls both ends of a link every ten seconds, while one is told to be down from one second to another.
func (s *scene) drain(up, down evidence.PortState, from, to float64) {
	for second := 0.0; second < 100; second += 10 {
		near, far := up, up
		if second >= from && second < to {
			near, far = down, down
			near.Admin = evidence.Down
		}
		s.say(evidence.KindCounters, "leaf1:swp2", second, near)
		s.say(evidence.KindCounters, receiving, second, far)
	}
}

// TestPortsInAnyOrder gives the same records in another order.
func TestPortsInAnyOrder(t *testing.T) {
	for _, c := range portScenes {
		s := newScene(t)
		c.play(s)
		want := s.diagnosed().Text()
		rand.New(rand.NewPCG(3, 3)).Shuffle(len(s.snmp), func(i, j int) { s.snmp[i], s.snmp[j] = s.snmp[j], s.snmp[i] })
		if got := s.diagnosed().Text(); got != want {
			t.Errorf("%s\n%s\nin another order\n%s", c.name, want, got)
		}
	}
}

// FuzzPorts gives whatever lines to a store: no panic, and a diagnosis that can be written.
func FuzzPorts(f *testing.F) {
	fabric := newScene(f).f
	for _, c := range portScenes {
		s := newScene(f)
		c.play(s)
		var text bytes.Buffer
		for i, r := range s.snmp {
			// What is alike everywhere teaches the fuzzer little.
			if i%17 == 0 || strings.Contains(r.Port, "spine2:swp1") {
				if err := evidence.Write(&text, r); err != nil {
					f.Fatal(err)
				}
			}
		}
		f.Add(text.Bytes())
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		store := NewStore(fabric, Config{Horizon: time.Hour})
		_, _ = evidence.Read(bytes.NewReader(text), "f", func(r *evidence.Record) bool { store.Add(r); return true })
		if _, err := json.Marshal(store.Diagnose()); err != nil {
			t.Error(err)
		}
	})
}

// flapped has a port say that it went down and up again so many times in ten seconds.
func (s *scene) flapped(port string, second float64, count int, by string) {
	r := s.say(evidence.KindEvent, port, second, evidence.PortState{Event: evidence.Flapped})
	r.Count, r.WindowMS, r.Text = &count, 10_000, by
}

// TestDownNow: what went down and up and is down again flaps, which makes it no less sure, unless it has been down for longer than the way it came and went lets one expect.
func TestDownNow(t *testing.T) {
	for _, c := range []struct {
		falls int
		since float64 // seconds of the last word that has it down
		want  Symptom
	}{{1, 300, Down}, {2, 25, Flap}, {2, 300, Down}, {3, 300, Flap}} {
		s := newScene(t)
		for i := range c.falls {
			for _, port := range []string{receiving, "leaf1:swp2"} {
				if i > 0 {
					s.say(evidence.KindEvent, port, float64(20*i-10), evidence.PortState{Event: evidence.Up})
				}
				s.say(evidence.KindEvent, port, float64(20*i), evidence.PortState{Event: evidence.Down})
			}
		}
		s.say(evidence.KindCounters, receiving, c.since, evidence.PortState{Oper: evidence.Down, Admin: evidence.Up, IntervalMS: 10000})
		d := s.diagnosed()
		if len(d.Suspects) != 1 || d.Suspects[0].Symptom != c.want || d.Suspects[0].Probability < 0.95 || !strings.Contains(d.Text(), "capacity lost") ||
			c.want == Flap && !strings.Contains(d.Summary, "is down now") {
			t.Errorf("down %d times, and at %v s: %s", c.falls, c.since, d.Text())
		}
	}
}
