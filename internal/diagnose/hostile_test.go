package diagnose

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"whichlink/graphs"
	"whichlink/internal/evidence"
)

// played is a store with evidence of one lossy arc, a flow that does not cross it, and a way to add another record of that flow.
func played(t *testing.T) (*play, *playFlow, func(change func(*evidence.Record))) {
	p := newPlay(t, 96)
	bad := p.store.arcs["leaf2:swp3>spine3:swp2"]
	p.run(8, func(a graphs.ArcID, _ int) float64 {
		if a == bad {
			return 0.2
		}
		return 0
	})
	fl := &p.flows[slices.IndexFunc(p.flows, func(fl playFlow) bool {
		return len(fl.path) == 4 && !slices.Contains(fl.path, bad) && !slices.Contains(fl.back, bad)
	})]
	return p, fl, func(change func(*evidence.Record)) {
		r := &evidence.Record{V: 1, Time: p.start.Add(2 * time.Second), Source: evidence.SourceProbe, By: fl.by, Kind: evidence.KindEcho, Flow: &fl.flow,
			Sent: evidence.Int(100), Lost: evidence.Int(0), LostForward: evidence.Int(0), LostBack: evidence.Int(0), WindowMS: 1000,
			Path: p.names(fl.path), Back: p.names(fl.back)}
		change(r)
		p.store.Add(r)
	}
}

// TestImpossiblePaths: what no packet takes that arrives is left out, and said.
func TestImpossiblePaths(t *testing.T) {
	there, back := "leaf2:swp3>spine3:swp2", "spine3:swp2>leaf2:swp3"
	for _, c := range []struct {
		name, note string
		change     func(p *play, r *evidence.Record)
	}{
		{"an arc that is crossed again and again", "1 record left out: paths that cross an arc twice", func(p *play, r *evidence.Record) {
			for range 10 {
				r.Path = append(r.Path[:0:0], append([]string{there, back}, r.Path...)...)
			}
		}},
		{"more arcs than there are", "1 record left out: paths that cross an arc twice", func(p *play, r *evidence.Record) {
			r.Path = slices.Repeat([]string{there, back}, 100)
		}},
		{"a path of another flow", "1 record left out: paths that do not lead from one end of their flow to the other", func(p *play, r *evidence.Record) {
			r.Path = []string{there}
		}},
		{"there for back", "1 record left out: paths that do not lead from one end of their flow to the other", func(p *play, r *evidence.Record) {
			r.Path, r.Back = r.Back, r.Path
		}},
		{"a candidate of no arcs", "1 record left out: paths without arcs", func(p *play, r *evidence.Record) {
			r.Candidates, r.Path = [][]string{r.Path, {}}, nil
		}},
		{"an empty path is one that is not known", "", func(p *play, r *evidence.Record) { r.Path, r.Back = []string{}, []string{} }},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, _, add := played(t)
			add(func(r *evidence.Record) { c.change(p, r) })
			d := p.store.Diagnose()
			if len(d.Suspects) != 1 || d.Suspects[0].ID != there {
				t.Errorf("named is\n%s", d.Text())
			}
			var left []string
			for _, n := range d.Notes {
				if strings.Contains(n, "left out") {
					left = append(left, n)
				}
			}
			if got := strings.Join(left, "; "); got != c.note {
				t.Errorf("noted is %q, want %q", got, c.note)
			}
		})
	}
}

// TestEmptyPath: a flow of a path that is said to have no arcs lost packets on the network, and not in its hosts.
func TestEmptyPath(t *testing.T) {
	p, fl, _ := played(t)
	f := p.store.fabric
	p.store = NewStore(f, Config{})
	r := &evidence.Record{V: 1, Time: p.start, Source: evidence.SourceProbe, By: fl.by, Kind: evidence.KindEcho, Flow: &fl.flow,
		Sent: evidence.Int(100), Lost: evidence.Int(9), Path: []string{}, Back: []string{}}
	p.store.Add(r)
	for _, o := range p.store.observe(nil, time.Time{}).list {
		if len(o.Path) == 0 && len(o.Alternatives) == 0 && o.From == o.To {
			t.Errorf("%d packets are known to have crossed nothing", o.Sent)
		}
	}
}

// TestCandidatesTwice: a path that is named twice among candidates is no likelier, and one that is alone is known.
func TestCandidatesTwice(t *testing.T) {
	p, _, add := played(t)
	add(func(r *evidence.Record) {
		r.Candidates = [][]string{r.Path, r.Path, r.Path}
		r.Path = nil
	})
	for _, l := range p.store.order {
		if e := l.echoes[len(l.echoes)-1]; !e.path.certain() {
			t.Errorf("a path is one of %d", len(e.path.alternatives))
		}
	}
}

// TestManyLosses: times of a few losses say nothing of a billion others, and cost no memory for each.
func TestManyLosses(t *testing.T) {
	p, _, add := played(t)
	add(func(r *evidence.Record) {
		many := int(min(int64(1e12), math.MaxInt))
		*r.Sent, *r.Lost, *r.LostForward = many, many, many
		r.LostAtMS = []int{1}
	})
	if d := p.store.Diagnose(); d.Verdict != Suspects {
		t.Errorf("named is\n%s", d.Text())
	}
}

// TestImpossibleTimes: times at which nothing of a record can have been lost do not tell when it was.
func TestImpossibleTimes(t *testing.T) {
	for _, c := range []struct {
		at   []int
		kept bool
	}{{[]int{0, 400, 400, 1000}, true}, {[]int{-1}, false}, {[]int{0, 1001}, false}, {[]int{7, 3}, false}, {[]int{1, 2, 3, 4, 5}, false}} {
		p, _, add := played(t)
		add(func(r *evidence.Record) { *r.Lost, *r.LostForward, r.LostAtMS = 4, 4, c.at })
		known := slices.ContainsFunc(p.store.order, func(l *flowLog) bool {
			return slices.ContainsFunc(l.echoes, func(e echo) bool { return slices.Equal(e.lostAt, c.at) })
		})
		if known != c.kept {
			t.Errorf("%v is %v", c.at, known)
		}
	}
}
