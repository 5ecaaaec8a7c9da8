package diagnose

import (
	"slices"
	"strings"
	"testing"
	"time"

	"whichlink/graphs"
	"whichlink/internal/evidence"
)

// playDrained plays flows that routing takes around a whole spine, as the hosts of some name see it, and what its ports say some time before the end. Plain leaves out
// all records of paths but those of echoes.
func playDrained(t *testing.T, by, oper string, before time.Duration, plain bool) *Suspect {
	t.Helper()
	var down []graphs.LinkID
	f := newPlay(t, 0).f
	spine, _ := f.NodeByName("spine2")
	for _, a := range f.Out(spine) {
		down = append(down, a.Link())
	}
	p := newPlay(t, 600, down...)
	p.plain = plain
	p.flows = slices.DeleteFunc(p.flows, func(fl playFlow) bool { return !strings.HasPrefix(fl.by, by) })
	p.run(8, func(graphs.ArcID, int) float64 { return 0 })
	for _, a := range f.Out(spine) {
		if port := f.PortName(f.TailPort(a)); oper != "" {
			p.store.Add(&evidence.Record{V: 1, Time: p.start.Add(4*time.Second - before), Source: evidence.SourceSNMP, By: "spine2", Kind: evidence.KindCounters,
				PortState: evidence.PortState{Port: port, Oper: oper, Admin: evidence.Up}})
		}
	}
	d := p.store.Diagnose()
	if len(d.Suspects) == 0 {
		t.Fatalf("nothing is suspected: %s", d.Summary)
	}
	return &d.Suspects[0]
}

// TestDrained plays a spine that operators took out of service: to probes it is down or drained, one host knows of no more than one of its links, and where its
// ports are up now, nobody is told that it is down.
func TestDrained(t *testing.T) {
	for _, c := range []struct {
		name, by, oper string
		before         time.Duration
		plain          bool
		id, says       string
		class          []string
	}{
		{"all hosts", "h", "", 0, false, "spine2", "spine2 is down or drained", []string{"spine2"}},
		{"echoes alone tell paths", "h", "", 0, true, "spine2", "spine2 is down or drained", []string{"spine2"}},
		{"one host", "h1-1", "", 0, false, "leaf1:swp2--spine2:swp1", "one of 2: leaf1:swp2--spine2:swp1 or spine2 is down or drained", []string{"leaf1:swp2--spine2:swp1", "spine2"}},
		{"its ports are up", "h", evidence.Up, time.Second, false, "spine2", "spine2 carries nothing, though its ports are up", []string{"spine2"}},
		{"they were up before", "h", evidence.Up, 5 * time.Second, false, "spine2", "spine2 is down or drained", []string{"spine2"}},
		{"its ports are down", "h", evidence.Down, time.Second, false, "spine2", "spine2 is down (", []string{"spine2"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := playDrained(t, c.by, c.oper, c.before, c.plain)
			if x.ID != c.id || x.Symptom != Down || !slices.Equal(x.Class, c.class) || !strings.HasPrefix(x.Sentence(), c.says) {
				t.Errorf("told is %s, class %v", x.Sentence(), x.Class)
			}
		})
	}
}

// TestBurstOfDown: what was lost in the moment that a link went down may have been on any uplink of its switch, for no flow was traced yet. It is the link that is down since, whether
// its ports tell or only that flows go around it, and of some of these nobody traced the answers.
func TestBurstOfDown(t *testing.T) {
	for _, told := range []bool{true, false} {
		link, _ := newPlay(t, 0).f.LinkByName("leaf1:swp2--spine2:swp1")
		p := newPlay(t, 600, link)
		at := p.f.Port(p.f.Link(link).Ends[0]).Node
		hit := map[*playFlow]bool{}
		for i := range p.flows {
			fl := &p.flows[i]
			fl.untraced = true
			hit[fl] = len(fl.path) > 2 && (p.f.Head(fl.path[0]) == at || p.f.Tail(fl.path[3]) == at) && p.rng.IntN(4) == 0
		}
		p.host = func(fl *playFlow, w, probe int) (there, home bool) { return w == 2 && probe < 4 && hit[fl], false }
		p.unsplit = true
		p.run(4, func(graphs.ArcID, int) float64 { return 0 })
		p.start, p.host = p.start.Add(2*time.Second), nil
		for i := range p.flows {
			p.flows[i].untraced = false
			p.flows[i].oneWay = i%3 == 0
		}
		p.run(12, func(graphs.ArcID, int) float64 { return 0 })
		if told {
			for _, end := range p.f.Link(link).Ends {
				p.store.Add(&evidence.Record{V: 1, Time: p.store.to, Source: evidence.SourceSNMP, By: p.f.NodeName(p.f.Port(end).Node), Kind: evidence.KindCounters,
					PortState: evidence.PortState{Port: p.f.PortName(end), Oper: evidence.Down, Admin: evidence.Up}})
			}
		}
		d := p.store.Diagnose()
		if len(d.Suspects) == 0 || d.Suspects[0].Link != p.f.LinkName(link) || d.Suspects[0].Symptom != Down || len(d.Suspects) > 1 && d.Suspects[1].Probability >= Named {
			t.Error(d.Text())
		}
	}
}
