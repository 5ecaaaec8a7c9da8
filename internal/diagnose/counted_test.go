package diagnose

import (
	"strings"
	"testing"

	"whichlink/internal/evidence"
)

// TestErrorsSince: when errors began or ended is told where as many would have shown at other times, too.
func TestErrorsSince(t *testing.T) {
	for _, c := range []struct {
		name   string
		counts [4]uint64
		want   string // "" where they may have come all the time
	}{
		{"began", [4]uint64{0, 0, 40, 50}, ": 0.0045 % of those since 03:00:20Z, none at other times"},
		{"ended", [4]uint64{60, 50, 0, 0}, ": 0.0055 % of those until 03:00:20Z, none at other times"},
		{"for a while", [4]uint64{0, 60, 50, 0}, ": 0.0055 % of those since 03:00:10Z until 03:00:30Z, none at other times"},
		{"once", [4]uint64{0, 60, 0, 0}, "counted 60 errors in one of 4 readings, from 03:00:10Z to 03:00:20Z, and none since: a disturbance that is over"},
		{"all the time", [4]uint64{40, 50, 45, 41}, ""},
		{"too few to tell", [4]uint64{0, 0, 0, 3}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScene(t)
			for i, n := range c.counts {
				s.poll(10*float64(i+1), func(port string, st *evidence.PortState) {
					st.In.Unicast = evidence.Count(1_000_000)
					if port == receiving {
						st.In.Errors = evidence.Count(n)
					}
				})
			}
			text := s.diagnosed().Text()
			if c.want == "" && strings.Contains(text, "at other times") || !strings.Contains(text, c.want) {
				t.Error(text)
			}
		})
	}
}

// TestShareOfOwn: what a port counts is a share of what it counts itself, however much longer the port at the other end was read.
func TestShareOfOwn(t *testing.T) {
	s := newScene(t)
	for i := range 4 {
		s.poll(10*float64(i+1), func(port string, st *evidence.PortState) {
			if port == receiving {
				st.In.Unicast, st.In.Errors, st.Reset = evidence.Count(990_000), evidence.Count(10_000), i > 1
			}
		})
	}
	if x := s.diagnosed().Suspects[0]; x.ID != sickArc || *x.LossLow > 0.01 || *x.LossHigh < 0.01 {
		t.Errorf("%s loses %.4f (%.4f to %.4f)", x.ID, *x.Loss, *x.LossLow, *x.LossHigh)
	}
}
