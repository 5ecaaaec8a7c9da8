package diagnose

import (
	"math"
	"testing"
	"time"

	"whichlink/internal/evidence"
)

// A steady flow of 5.6 Mbit/s that an agent counts every three seconds, read every two: single points are far off, half a minute is not. What began anew
// leaves a gap, what is told twice is told once, and no more is kept than there is room for.
func TestPortSeries(t *testing.T) {
	s := newScene(t)
	series := NewPortSeries(20)
	store, whole := NewStore(s.f, Config{Series: series, Horizon: time.Second}), NewStore(s.f, Config{})
	counted := func(second int) uint64 { return uint64(second / 3 * 3 * 700_000) }
	for at := 2; at <= 80; at += 2 {
		st := evidence.PortState{IntervalMS: 2000, Speed: 10e6, Oper: evidence.Up, Reset: at == 40,
			In: &evidence.Counters{Octets: evidence.Count(counted(at) - counted(at-2)), Errors: evidence.Count(1), FCS: evidence.Count(1)}, Out: &evidence.Counters{Octets: evidence.Count(0)}}
		if light := -3.25; at == 80 {
			st.Optics = []evidence.Lane{{Lane: 1, Rx: &light}}
		}
		r := s.say(evidence.KindCounters, "LEAF1:swp2", float64(at), st)
		store.Add(r)
		store.Add(r)
		whole.Add(r)
		store.Diagnose()
	}
	p, _ := s.f.PortByName("leaf1:swp2")
	points := series.Port(p)
	if len(points) != 20 || points[19].At.Sub(points[0].At) != 38*time.Second || points[19].In.Errors != 1 {
		t.Errorf("%d points: %+v", len(points), points)
	}
	if light := points[19].Optics; points[18].Optics != nil || len(light) != 1 || light[0].Lane != 1 || *light[0].Rx != -3.25 {
		t.Errorf("light %+v", light)
	}
	readings := whole.portLog(p).readings
	if c := carriedBy(readings, 30*time.Second); math.Abs(c.in-5.6e6) > 0.6e6 || c.out != 0 {
		t.Errorf("%.3g bit/s in, %.3g out, want 5.6e6 and 0", c.in, c.out)
	}
	if one := carriedBy(readings, time.Second); one.in > 4e6 && one.in < 7e6 {
		t.Errorf("the last point alone says %.3g bit/s: the scene has lost its point", one.in)
	}
}
