package diagnose

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"whichlink/graphs"
	"whichlink/graphs/generate"
	"whichlink/internal/evidence"
)

// In TestStrain, busy is the host that is too busy, and still another whose machine stands still.
const busy, still = "h2-1", "h3-1"

// strain says that a host was too busy from one moment to another, in milliseconds since the beginning; count 0 is none.
func (p *play) strain(by, node string, what evidence.Strain, from, to, count int) {
	r := &evidence.Record{V: 1, Time: p.start.Add(time.Duration(to) * time.Millisecond), Source: evidence.SourceProbe, By: by, Kind: evidence.KindStrain,
		Node: node, Strain: what, WindowMS: to - from}
	if count > 0 {
		r.Count = evidence.Int(count)
	}
	p.store.Add(r)
}

// to is the host to which a flow goes.
func (p *play) to(fl *playFlow) string { return p.f.NodeName(p.f.Head(fl.path[len(fl.path)-1])) }

// probers are the hosts from which flows go to another.
func (p *play) probers(dst string) []string {
	var list []string
	for i := range p.flows {
		if fl := &p.flows[i]; p.to(fl) == dst && !slices.Contains(list, fl.by) {
			list = append(list, fl.by)
		}
	}
	return list
}

// starved are the windows and probes of TestStrain in which hosts are too busy: 300 ms in two windows.
func starved(window, probe int) bool { return (window == 5 || window == 9) && probe >= 2 && probe < 8 }

// often are the probes in whose time a host stands still that does so often.
func often(window, probe int) bool { return window%2 == 0 && probe >= 1 && probe < 9 }

// TestStrain plays hosts that lose probes themselves for moments, with what they say of it: these losses are nobody's fault, and all others are found.
func TestStrain(t *testing.T) {
	const sick, link = "leaf1:swp2>spine2:swp1", "leaf1:swp2--spine2:swp1"
	const toBusy, fromBusy, busyLink = "leaf2:swp5>h2-1:eth1", "h2-1:eth1>leaf2:swp5", "h2-1:eth1--leaf2:swp5"
	each := func(say func(from, to int)) {
		for _, w := range []int{5, 9} {
			say(500*w+100, 500*w+360)
		}
	}
	none := func(graphs.ArcID, int) float64 { return 0 }
	loses := func(rate float64, arc string) func(p *play) func(graphs.ArcID, int) float64 {
		return func(p *play) func(graphs.ArcID, int) float64 {
			a, ok := p.f.ArcByName(arc)
			if !ok {
				t.Fatalf("no arc %s", arc)
			}
			return func(b graphs.ArcID, _ int) float64 { return rate * is(a == b) }
		}
	}
	atReflector := func(p *play) func(fl *playFlow, w, k int) (bool, bool) {
		return func(fl *playFlow, w, k int) (bool, bool) { return starved(w, k) && p.to(fl) == busy, false }
	}
	overflows := func(p *play) {
		each(func(from, to int) {
			for _, by := range p.probers(busy) {
				p.strain(by, busy, evidence.Overflow, from, to, 100)
			}
		})
	}
	for _, c := range []struct {
		name string
		host func(p *play) func(fl *playFlow, w, k int) (there, home bool)
		lose func(p *play) func(graphs.ArcID, int) float64
		say  func(p *play)
		want string // of the first suspect: kind id symptom; or the verdict
		note string
	}{
		{"no room at the reflector", atReflector, nil, overflows, "healthy", busy + " was too busy and had no room for 200 packets"},
		{"kept waiting", atReflector, nil, func(p *play) {
			each(func(from, to int) {
				for _, by := range p.probers(busy) {
					p.strain(by, busy, evidence.Overdue, from, to, 60)
				}
			})
		}, "healthy", "waiting for too long"},
		{"answered too late, nobody knows why", atReflector, nil, func(p *play) {
			each(func(from, to int) {
				for _, by := range p.probers(busy) {
					p.strain(by, busy, evidence.Late, from, to, 60)
				}
			})
		}, "healthy", busy + " answered 480 after they had been given up"},
		{"both ends keep waiting", func(p *play) func(fl *playFlow, w, k int) (bool, bool) {
			return func(fl *playFlow, w, k int) (bool, bool) {
				return starved(w, k) && fl.by == busy, starved(w, k) && p.to(fl) == busy
			}
		}, nil, func(p *play) {
			each(func(from, to int) {
				p.strain(busy, busy, evidence.Overdue, from, to, 48)
				for i := range p.flows {
					if fl := &p.flows[i]; fl.by == busy {
						p.strain(busy, p.to(fl), evidence.Overdue, from, to, 3)
					} else if p.to(fl) == busy {
						p.strain(fl.by, busy, evidence.Overdue, from, to, 3)
						p.strain(fl.by, fl.by, evidence.Overdue, from, to, 3)
					}
				}
			})
		}, "healthy", "waiting for too long"},
		{"no room at the prober", func(p *play) func(fl *playFlow, w, k int) (bool, bool) {
			return func(fl *playFlow, w, k int) (bool, bool) { return false, starved(w, k) && fl.by == busy }
		}, nil, func(p *play) {
			each(func(from, to int) { p.strain(busy, busy, evidence.Overflow, from, to, 150) })
		}, "healthy", busy + " was too busy and had no room for 300 packets"},
		{"no room at the prober, which counts two in five", func(p *play) func(fl *playFlow, w, k int) (bool, bool) {
			return func(fl *playFlow, w, k int) (bool, bool) { return false, starved(w, k) && fl.by == busy }
		}, nil, func(p *play) {
			each(func(from, to int) { p.strain(busy, busy, evidence.Overflow, from, to, 19) })
		}, "healthy", busy + " was too busy and had no room for 38 packets"},
		{"no room at the prober, which counts two in five, and waits in vain for none", func(p *play) func(fl *playFlow, w, k int) (bool, bool) {
			return func(fl *playFlow, w, k int) (bool, bool) { return false, starved(w, k) && fl.by == busy }
		}, nil, func(p *play) {
			each(func(from, to int) {
				p.strain(busy, busy, evidence.Overflow, from, to, 19)
				p.strain(busy, busy, evidence.Overdue, from+1000, to+1000, 19)
				p.strain(busy, busy, evidence.Overdue, from+5000, to+5000, 19)
			})
		}, "healthy", busy + " was too busy and had no room for 38 packets"},
		{"no room at the prober, once while another machine stands still", func(p *play) func(fl *playFlow, w, k int) (bool, bool) {
			return func(fl *playFlow, w, k int) (bool, bool) {
				stopped := w == 5 && starved(w, k)
				return stopped && p.to(fl) == still, stopped && fl.by == still || starved(w, k) && k == 4 && fl.by == busy && p.to(fl) != still
			}
		}, nil, func(p *play) {
			each(func(from, to int) { p.strain(busy, busy, evidence.Overflow, from, to, 8) })
			p.strain(still, still, evidence.Pause, 2600, 2860, 0)
		}, "healthy", busy + " was too busy and had no room for 16 packets"},
		{"machine stands still, once not quite", func(p *play) func(fl *playFlow, w, k int) (bool, bool) {
			return func(fl *playFlow, w, k int) (bool, bool) {
				return starved(w, k) && p.to(fl) == busy && (w == 5 || k%2 > 0), false
			}
		}, nil, func(p *play) {
			each(func(from, to int) { p.strain(busy, busy, evidence.Pause, from, to, 0) })
		}, "healthy", busy + " was too busy and stood still 2 times, for 520ms in all"},
		{"machine stands still", func(p *play) func(fl *playFlow, w, k int) (bool, bool) {
			return func(fl *playFlow, w, k int) (bool, bool) {
				return starved(w, k) && p.to(fl) == busy, starved(w, k) && fl.by == busy
			}
		}, nil, func(p *play) {
			each(func(from, to int) { p.strain(busy, busy, evidence.Pause, from, to, 0) })
		}, "healthy", busy + " was too busy and stood still 2 times, for 520ms in all"},
		{"stands still often, and the link to it loses", func(p *play) func(fl *playFlow, w, k int) (bool, bool) {
			return func(fl *playFlow, w, k int) (bool, bool) {
				return often(w, k) && p.to(fl) == busy, often(w, k) && fl.by == busy
			}
		}, loses(0.3, toBusy), func(p *play) {
			for w := 0; w < 24; w += 2 {
				p.strain(busy, busy, evidence.Pause, 500*w+45, 500*w+455, 0)
			}
		}, "arc " + toBusy + " loss", busy + " was too busy and stood still"},
		{"all machines stand still", func(p *play) func(fl *playFlow, w, k int) (bool, bool) {
			return func(fl *playFlow, w, k int) (bool, bool) { return starved(w, k) && k%2 == 0, starved(w, k) }
		}, nil, func(p *play) {
			for _, h := range p.f.Hosts() {
				each(func(from, to int) { p.strain(p.f.NodeName(h), p.f.NodeName(h), evidence.Pause, from, to, 0) })
			}
		}, "healthy", "h1-1 was too busy and stood still"},
		{"a link elsewhere loses", atReflector, loses(0.05, sick), overflows, "arc " + sick + " loss", busy + " was too busy"},
		{"the link to it loses", atReflector, loses(0.05, toBusy), overflows, "arc " + toBusy + " loss", busy + " was too busy"},
		{"the link from it loses", atReflector, loses(0.05, fromBusy), overflows, "arc " + fromBusy + " loss", busy + " was too busy"},
		{"keeps some waiting, and the link to it loses most", func(p *play) func(fl *playFlow, w, k int) (bool, bool) {
			return func(fl *playFlow, w, k int) (bool, bool) { return starved(w, k) && k%4 == 2 && p.to(fl) == busy, false }
		}, loses(0.8, toBusy), func(p *play) {
			each(func(from, to int) {
				for _, by := range p.probers(busy) {
					p.strain(by, busy, evidence.Overdue, from, to, 2)
				}
			})
		}, "arc " + toBusy + " loss", busy + " was too busy and kept"},
		{"always a little, and the link to it loses", nil, loses(0.05, toBusy), steady, "arc " + toBusy + " loss", ""},
		{"always a little, and the link from it loses", nil, loses(0.05, fromBusy), steady, "arc " + fromBusy + " loss", ""},
		{"always a little, and a link elsewhere loses", nil, loses(0.05, sick), steady, "arc " + sick + " loss", ""},
		{"its own queue drops", nil, loses(0.03, fromBusy), refuses(100), "host " + busy + " loss", busy + " says that its own queues or filters dropped 300 packets"},
		{"its own queue drops a little, and the link behind it more", nil, loses(0.05, fromBusy), refuses(5), "arc " + fromBusy + " loss", ""},
		{"its own queue drops, and a link elsewhere", nil, loses(0.05, sick), refuses(100), "arc " + sick + " loss", ""},
		{"the link to it goes down", nil, func(p *play) func(graphs.ArcID, int) float64 {
			l, _ := p.f.LinkByName(busyLink)
			return func(a graphs.ArcID, w int) float64 { return is(a.Link() == l && (w == 5 || w == 9)) }
		}, func(p *play) {
			each(func(from, to int) {
				for _, by := range p.probers(busy) {
					p.strain(by, busy, evidence.Overflow, from, to, 2)
				}
			})
		}, "link " + busyLink + " flap", ""},
		{"stands still all the time, and a link goes down", nil, func(p *play) func(graphs.ArcID, int) float64 {
			l, _ := p.f.LinkByName(link)
			return func(a graphs.ArcID, w int) float64 { return is(a.Link() == l && w%6 == 2) }
		}, func(p *play) {
			for _, h := range p.f.Hosts() {
				for w := range 24 {
					p.strain(p.f.NodeName(h), p.f.NodeName(h), evidence.Pause, 500*w, 500*w+400, 0)
				}
			}
		}, "link " + link + " flap", "h1-1 stood still for most of the time"},
		{"stands still all the time, and hears nothing for moments", nil, func(p *play) func(graphs.ArcID, int) float64 {
			l, _ := p.f.LinkByName(busyLink)
			return func(a graphs.ArcID, w int) float64 { return is(a.Link() == l && (w == 5 || w == 9)) }
		}, func(p *play) {
			for w := range 24 {
				p.strain(busy, busy, evidence.Pause, 500*w, 500*w+400, 0)
			}
		}, "inconclusive", "hosts were too busy for their probes, and may have lost these packets themselves"},
		{"stands still all the time, and hears little now and then", nil, func(p *play) func(graphs.ArcID, int) float64 {
			to, _ := p.f.ArcByName(toBusy)
			return func(a graphs.ArcID, w int) float64 { return 0.4 * is(a == to && w%6 == 2) }
		}, func(p *play) {
			for w := range 24 {
				p.strain(busy, busy, evidence.Pause, 500*w, 500*w+400, 0)
			}
		}, "inconclusive", "hosts were too busy for their probes, and may have lost these packets themselves"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, silent := range []bool{false, true} {
				if silent && c.want != "healthy" {
					continue
				}
				p := newPlay(t, 128)
				if c.host != nil {
					p.host = c.host(p)
				}
				lose := none
				if c.lose != nil {
					lose = c.lose(p)
				}
				if !silent {
					c.say(p)
				}
				p.run(24, lose)
				d := p.store.Diagnose()
				if again := p.store.Diagnose(); again.Text() != d.Text() {
					t.Errorf("another look says\n%s\nnot\n%s", again.Text(), d.Text())
				}
				switch {
				case !silent:
					holdStrain(t, d, c.want, c.note)
				case d.Verdict == Healthy && !strings.Contains(d.Text(), "no link lost these"):
					t.Error("healthy even if nobody says why: this proves nothing")
				}
			}
		})
	}
}

// steady has a host lose a probe of each of its probers now and then, all the time.
func steady(p *play) {
	for w := range 24 {
		for _, by := range p.probers(busy) {
			p.strain(by, busy, evidence.Overflow, 500*w+240, 500*w+260, 1)
		}
		p.strain(busy, busy, evidence.Overflow, 500*w+90, 500*w+110, 1)
	}
}

// holdStrain holds a diagnosis against the suspect and the note that it should have.
func holdStrain(t *testing.T, d *Diagnosis, want, note string) {
	t.Helper()
	got := string(d.Verdict)
	if len(d.Suspects) > 0 && d.Suspects[0].Probability >= Named {
		got = fmt.Sprintf("%s %s %s", d.Suspects[0].Kind, d.Suspects[0].ID, d.Suspects[0].Symptom)
	}
	if got != want {
		t.Errorf("got %q, want %q\n%s", got, want, d.Text())
	}
	for _, x := range d.Suspects[min(1, len(d.Suspects)):] {
		if x.Probability >= Named {
			t.Errorf("%s is named too\n%s", x.ID, d.Text())
		}
	}
	text, err := json.Marshal(d)
	if err != nil || !strings.Contains(d.Text(), note) || !strings.Contains(string(text), note) {
		t.Errorf("%v; %q is not in\n%s\n%s", err, note, d.Text(), text)
	}
}

// TestStrainDoubts: what a host did to probes itself is said of each suspect there, and what the fabric does not know, or later versions say, does no harm.
func TestStrainDoubts(t *testing.T) {
	p := newPlay(t, 128)
	p.host = func(fl *playFlow, w, k int) (bool, bool) { return starved(w, k) && p.to(fl) == busy, false }
	for _, by := range p.probers(busy) {
		p.strain(by, busy, evidence.Overflow, 2500, 2900, 100)
		p.strain(by, busy, "gravity", 0, 1e6, 100)
		p.strain(by, busy, evidence.Pause, 0, 1e6, 0) // only the host itself knows
	}
	p.strain("x", "h9-\x1b[2J", evidence.Pause, 0, 1000, 0)
	p.run(24, func(a graphs.ArcID, _ int) float64 { return 0.05 * is(p.f.ArcName(a) == "leaf2:swp5>h2-1:eth1") })
	d := p.store.Diagnose()
	if len(d.Suspects) == 0 || len(d.Suspects[0].Doubts) != 1 || !strings.HasPrefix(d.Suspects[0].Doubts[0].Text, busy+" was too busy") {
		t.Errorf("no doubt in\n%s", d.Text())
	}
	if text := d.Text(); !strings.Contains(text, "left out: strains of hosts that the fabric does not have") || strings.ContainsRune(text, '\x1b') {
		t.Errorf("got\n%s", text)
	}
}

// FuzzStrain has hosts say whatever of themselves and each other: what is left of the evidence is part of what was measured, and the order in which
// it was told does not matter.
func FuzzStrain(f *testing.F) {
	f.Add([]byte{0, 1, 40, 9, 0, 0, 1, 20, 9, 3, 1, 2, 2, 60, 40, 0, 3, 3, 2, 61, 3, 0, 3, 3, 1, 20, 200, 100, 0, 0})
	f.Fuzz(func(t *testing.T, say []byte) {
		var list []*evidence.Record
		p := newPlay(t, 16)
		hosts := p.f.Hosts()
		for ; len(say) >= 6; say = say[6:] {
			what := []evidence.Strain{evidence.Overflow, evidence.Overdue, evidence.Pause, evidence.Refused, evidence.Late, "other"}[say[0]%6]
			by, node := p.f.NodeName(hosts[int(say[4])%len(hosts)]), p.f.NodeName(hosts[int(say[5])%len(hosts)])
			r := &evidence.Record{V: 1, Time: p.start.Add(time.Duration(say[1]) * 10 * time.Millisecond), Source: evidence.SourceProbe, By: by,
				Kind: evidence.KindStrain, Node: node, Strain: what, WindowMS: int(say[2])}
			if say[3] > 0 {
				r.Count = evidence.Int(int(say[3]))
			}
			list = append(list, r)
		}
		lose := func(a graphs.ArcID, _ int) float64 { return 0.2 * is(a%5 == 0) }
		p.run(5, lose)
		for _, r := range list {
			p.store.Add(r)
		}
		backwards := newPlay(t, 16)
		slices.Reverse(list)
		for _, r := range list {
			backwards.store.Add(r)
		}
		backwards.run(5, lose)
		p.store.leaveOut()
		backwards.store.leaveOut()
		if a, b := p.store.strainNotes(), backwards.store.strainNotes(); !slices.Equal(a, b) {
			t.Errorf("told in another order it is\n%q\nnot\n%q", b, a)
		}
		for k, l := range p.store.order {
			for i := range l.echoes {
				e, m, o := &l.echoes[i], l.echoes[i].measured(), &backwards.store.order[k].echoes[i]
				if e.sent != o.sent || e.lost != o.lost || e.lostForward != o.lostForward || e.lostBack != o.lostBack {
					t.Errorf("told in another order, left is %+v, not %+v", o, e)
				}
				if e.lost < 0 || e.lost > m.lost || e.sent < e.lost || e.sent > m.sent || e.lostForward < 0 || e.lostBack < 0 ||
					e.lostForward > m.lostForward || e.lostBack > m.lostBack || e.lostForward+e.lostBack > e.lost || len(e.lostAt) != e.lost {
					t.Errorf("left is %+v of %+v", e, m)
				}
			}
		}
	})
}

// TestMoment: what is lost at one moment, of one burst, is no link that went down and came up within a millisecond.
func TestMoment(t *testing.T) {
	p := newPlay(t, 128)
	p.host = func(fl *playFlow, w, k int) (bool, bool) { return w == 5 && k == 4 && fl.by == busy, false }
	p.run(24, func(graphs.ArcID, int) float64 { return 0 })
	if d := p.store.Diagnose(); d.Verdict == Suspects {
		t.Errorf("named is\n%s", d.Text())
	}
}

// BenchmarkStandsStill: a prober that hardly runs, for half an hour. Its pauses follow each other without a gap.
func BenchmarkStandsStill(b *testing.B) {
	f, err := generate.RandomRegular(generate.RandomRegularConfig{Switches: 16, Degree: 4, Hosts: 1, Seed: 2})
	if err != nil {
		b.Fatal(err)
	}
	s, hosts, start := NewStore(f, Config{}), f.Hosts(), time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
	by := f.NodeName(hosts[0])
	for i := range 1800 {
		at := start.Add(time.Duration(i) * time.Second)
		for k := range 5 {
			s.Add(&evidence.Record{V: 1, Time: at.Add(time.Duration(k+1) * 200 * time.Millisecond), Source: evidence.SourceProbe, By: by, Kind: evidence.KindStrain, Node: by, Strain: evidence.Pause, WindowMS: 198})
		}
		for k := range 64 {
			s.Add(&evidence.Record{
				V: 1, Time: at.Add(time.Second), Source: evidence.SourceProbe, By: by, Kind: evidence.KindEcho,
				Flow: &evidence.Flow{Src: f.Address(hosts[0], false), Dst: f.Address(hosts[1+k%15], false), Proto: "udp", SrcPort: uint16(50000 + k), DstPort: 862},
				Sent: evidence.Int(50), Lost: evidence.Int(0), WindowMS: 1000, RTT: &evidence.Delay{Min: 50, P50: 60, P90: 70, P99: 80, Max: 90},
			})
		}
	}
	for b.Loop() {
		s.Diagnose()
	}
}

// TestStrainBesideDead: what flows lose all the time they lose while a host is too busy, too. It is not for the host to own up to that.
func TestStrainBesideDead(t *testing.T) {
	p := newPlay(t, 256)
	dead := map[*playFlow]bool{}
	for i := range p.flows {
		dead[&p.flows[i]] = p.to(&p.flows[i]) == busy && len(dead)%2 == 0
	}
	lost := map[string]int{}
	p.host = func(fl *playFlow, w, k int) (bool, bool) {
		if starved(w, k) && p.to(fl) == busy && !dead[fl] {
			lost[fl.by]++
			return true, false
		}
		return dead[fl], false
	}
	p.run(24, func(graphs.ArcID, int) float64 { return 0 })
	for _, w := range []int{5, 9} {
		for by, n := range lost {
			p.strain(by, busy, evidence.Overflow, 500*w+100, 500*w+360, n/2)
		}
	}
	d, kept := p.store.Diagnose(), 0
	for i := range p.flows {
		if fl := &p.flows[i]; !dead[fl] {
			for _, e := range p.store.flows[flowKey{flow: fl.flow}].first.echoes {
				kept += e.lost
			}
		}
	}
	if kept > 0 {
		t.Errorf("%d packets count that the host had no room for\n%s", kept, d.Text())
	}
}
