package diagnose

import (
	"flag"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"whichlink/graphs"
	"whichlink/internal/evidence"
	"whichlink/pathfind/rhythm"
)

// TestOnset: when losses began is found, whether it is told when packets were lost or not, and what is lost since is told by what was measured since. That nothing is lost any more
// when nothing is sent is no end of it.
func TestOnset(t *testing.T) {
	for _, plain := range []bool{false, true} {
		for _, rate := range []float64{0.1, 0.5, 1} {
			p := newPlay(t, 160)
			p.plain = plain
			sick, _ := p.f.LinkByName("leaf1:swp2--spine2:swp1")
			p.run(30, func(a graphs.ArcID, w int) float64 { return rate * is(a.Link() == sick && w >= 15) })
			for i := range p.flows { // those of others go on for a moment, and what switches answered is told later still
				fl := &p.flows[i]
				if slices.ContainsFunc(slices.Concat(fl.path, fl.back), func(a graphs.ArcID) bool { return a.Link() == sick }) {
					continue
				}
				r := evidence.Record{Time: p.start.Add(15*time.Second + quiet/3), Source: evidence.SourceProbe, By: fl.by, Kind: evidence.KindEcho, Flow: &fl.flow,
					Path: p.names(fl.path), Back: p.names(fl.back), Sent: evidence.Int(2), Lost: evidence.Int(0), WindowMS: 100}
				hop := r
				hop.Time, hop.Kind, hop.Path, hop.Back = r.Time.Add(quiet), evidence.KindHop, nil, nil
				hop.TTL, hop.Answered, hop.Lost, hop.WindowMS = 2, evidence.Int(2), nil, 500
				p.store.Add(&r)
				p.store.Add(&hop)
			}
			d := p.store.Diagnose()
			if bad, kind := p.store.failing(); kind != rhythm.Since || bad.from.Sub(p.start.Add(7500*time.Millisecond)).Abs() > 500*time.Millisecond {
				t.Errorf("plain %v, rate %g: kind %d since %v", plain, rate, kind, bad.from.Sub(p.start))
			}
			if !slices.ContainsFunc(d.Suspects, func(x Suspect) bool {
				return x.Link == p.f.LinkName(sick) && x.Probability >= Named && math.Abs(*x.Loss-rate) < 0.15*rate
			}) {
				t.Errorf("plain %v, rate %g:\n%s", plain, rate, d.Text())
			}
		}
	}
}

// TestAfter: of a window in which something died no packet was answered that was sent later, and where a part is lost, as many were as that leaves.
func TestAfter(t *testing.T) {
	start := time.Date(2026, 11, 20, 3, 0, 0, 0, time.UTC)
	from := func(ms, every, n int) (at []int) {
		for i := range n {
			at = append(at, ms+i*every)
		}
		return at
	}
	for _, c := range []struct {
		name             string
		lost             int
		at               []int
		since, sent, has int
	}{
		{"dead from 1 s on", 400, from(1000, 10, 400), 1100, 390, 390},
		{"dead from 1 s on, times of some", 400, from(1000, 10, 128), 1100, 390, 390},
		{"dead from 1 s on, no times", 400, nil, 1100, 400, 400},
		{"a tenth from 1 s on", 40, from(1000, 100, 40), 1100, 390, 39},
		{"nothing lost", 0, nil, 1000, 400, 0},
		{"dead before", 50, from(0, 10, 50), 1000, 360, 0},
	} {
		e := echo{start: start, end: start.Add(5 * time.Second), sent: 500, lost: c.lost, lostAt: c.at}
		got := e.after(start.Add(time.Duration(c.since) * time.Millisecond))
		if math.Abs(float64(got.sent-c.sent)) > 1 || math.Abs(float64(got.lost-c.has)) > 1 {
			t.Errorf("%s: %d of %d lost, want %d of %d", c.name, got.lost, got.sent, c.has, c.sent)
		}
	}
}

// TestLossOfItsTime: of what begins, ends or does both, beside what loses all the time, the loss told is that while it was there, and its interval holds it.
func TestLossOfItsTime(t *testing.T) {
	for _, phase := range []struct {
		name     string
		from, to int // windows of half a second
	}{{"since", 24, 40}, {"until", 0, 14}, {"once", 12, 26}} {
		told, held, off := 0, 0, 0.0
		for seed := range uint64(*phased) {
			p := newPlay(t, 256)
			p.rng = rand.New(rand.NewPCG(seed, 'L'))
			var sick, other graphs.ArcID
			for p.f.IsHostArc(sick) || p.f.IsHostArc(other) || sick.Link() == other.Link() {
				sick, other = graphs.ArcID(p.rng.IntN(p.f.NumArcs())), graphs.ArcID(p.rng.IntN(p.f.NumArcs()))
			}
			loss := 0.01 * math.Pow(20, p.rng.Float64())
			p.run(40, func(a graphs.ArcID, w int) float64 {
				switch {
				case a == sick && w >= phase.from && w < phase.to:
					return loss
				case a == other:
					return 0.03
				}
				return 1e-5
			})
			for _, x := range p.store.Diagnose().Suspects {
				if x.Probability < Named || x.Symptom != Loss || x.ID != p.f.ArcName(sick) || len(x.Episodes) != 1 {
					continue
				}
				if told++; *x.LossLow <= loss && loss <= *x.LossHigh {
					held++
				}
				off += math.Log(*x.Loss / loss)
			}
		}
		t.Logf("%s: told %d of %d, interval holds the loss of %d, off by %.2f in the mean", phase.name, told, *phased, held, off/float64(told))
		if 4*told < 3**phased || 4*held < 3*told || math.Abs(off) > 0.1*float64(told) {
			t.Errorf("%s: told %d of %d, the interval holds the loss of %d, which is off by a factor of %.2f in the mean", phase.name, told, *phased, held, math.Exp(off/float64(told)))
		}
	}
}

var phased = flag.Int("phased", 12, "worlds of each phase in which the loss of what begins and ends is asked for")

// TestRestart: a switch that is gone for some seconds and comes back is told with its times, as one that was down and is up again.
func TestRestart(t *testing.T) {
	p := newPlay(t, 256)
	spine, _ := p.f.NodeByName("spine2")
	p.run(60, func(a graphs.ArcID, w int) float64 {
		if (p.f.Tail(a) == spine || p.f.Head(a) == spine) && w >= 20 && w < 36 {
			return 1
		}
		return 1e-5
	})
	d := p.store.Diagnose()
	if len(d.Suspects) == 0 || d.Suspects[0].ID != "spine2" {
		t.Fatalf("told is %s", d.Text())
	}
	x := d.Suspects[0]
	if x.Symptom != Flap || x.Until == nil || len(x.Episodes) != 1 || math.Abs(milliseconds(x.Episodes[0].To-x.Episodes[0].From)-8000) > 200 || *x.LossLow < 0.99 ||
		!strings.Contains(d.Text(), "spine2 was down from") {
		t.Errorf("told is %s", d.Text())
	}
}

// TestArcBesideItsLink: where a link loses packets both ways, and one way more, both of its arcs are told, each with all that it loses.
func TestArcBesideItsLink(t *testing.T) {
	p := newPlay(t, 256)
	arc := p.flows[0].path[1]
	p.run(60, func(a graphs.ArcID, w int) float64 {
		switch a {
		case arc:
			return 0.1
		case arc.Reverse():
			return 0.02
		}
		return 1e-5
	})
	d := p.store.Diagnose()
	for a, loss := range map[graphs.ArcID]float64{arc: 0.1, arc.Reverse(): 0.02} {
		if !slices.ContainsFunc(d.Suspects, func(x Suspect) bool {
			return x.ID == p.f.ArcName(a) && x.Probability >= 0.9 && *x.LossLow < loss && loss < *x.LossHigh
		}) {
			t.Errorf("%s is not told:\n%s", p.f.ArcName(a), d.Text())
		}
	}
}

// TestFlapIsOver: a link that went down regularly and has been well for long since is told as one that did, behind what loses packets now, however little that is.
func TestFlapIsOver(t *testing.T) {
	p := newPlay(t, 256)
	link, now := p.flows[0].path[1].Link(), p.flows[0].path[2]
	p.run(400, func(a graphs.ArcID, w int) float64 {
		switch {
		case a.Link() == link && w >= 20 && w < 60 && w%8 < 2:
			return 1
		case a == now && w > 360:
			return 0.03
		}
		return 1e-5
	})
	d := p.store.Diagnose()
	if len(d.Suspects) < 2 || d.Suspects[0].ID != p.f.ArcName(now) || d.Suspects[0].Until != nil || d.Suspects[1].ID != p.f.LinkName(link) || d.Suspects[1].Until == nil ||
		!strings.HasPrefix(d.Suspects[1].Sentence(), p.f.LinkName(link)+" flapped every 4.0 s, 5 times from 03:00:12Z to 03:00:28Z, and does no more") {
		t.Fatalf("told is %s", d.Text())
	}
	if strings.Contains(d.Text(), "drain "+p.f.LinkName(link)) {
		t.Errorf("what is over is to be drained: %s", d.Text())
	}
}

// TestTooEarly: probes that cross a link right after it went down may be told to by a path that is not theirs any more, and prove that it is up again only later.
func TestTooEarly(t *testing.T) {
	for windows, want := range map[int]string{46: "it is too early to tell whether it is up again", 60: "and is up again"} {
		p := newPlay(t, 256)
		link := p.flows[0].path[1].Link()
		p.run(windows, func(a graphs.ArcID, w int) float64 {
			if a.Link() == link && (w == 40 || w == 41) {
				return 1
			}
			return 1e-5
		})
		d := p.store.Diagnose()
		if len(d.Suspects) == 0 || d.Suspects[0].ID != p.f.LinkName(link) || d.Suspects[0].Symptom != Flap || !strings.Contains(d.Suspects[0].Sentence(), want) || (d.Suspects[0].Until == nil) != (windows == 46) {
			t.Errorf("%d windows: told is %s", windows, d.Text())
		}
	}
}
