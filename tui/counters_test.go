package tui

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"whichlink/internal/diagnose"
	"whichlink/internal/evidence"
)

// counting is the sick drill, whose ports at both ends of the sick link were read every ten seconds for five minutes. The receiving end counts errors
// for the last of them; one reading is missing. What
// it receives grew dark before; light is read once a minute.
func counting(tb testing.TB) *Snapshot {
	s := *sick(tb)
	s.Ports = diagnose.NewPortSeries(0)
	store := diagnose.NewStore(s.Fabric, diagnose.Config{Series: s.Ports})
	for i := range 30 {
		at := noon.Add(time.Duration(i-29)*10*time.Second - 4*time.Second)
		if i == 12 {
			continue
		}
		errors := uint64(0)
		if i >= 24 {
			errors = uint64(180 + 20*i)
		}
		for _, port := range []string{"leaf1:swp3", "spine3:swp1"} {
			here := evidence.Counters{Octets: evidence.Count(uint64(38e9) + uint64(i)*1e8), Errors: evidence.Count(0), Discards: evidence.Count(0)}
			there := here
			tx, rx := -1.2, -2.4
			if port == "spine3:swp1" {
				there.Errors = evidence.Count(errors)
				rx -= 0.4 * float64(max(i-10, 0))
			}
			var light []evidence.Lane
			if i%6 == 5 {
				light = []evidence.Lane{{Rx: &rx, Tx: &tx}}
			}
			store.Add(&evidence.Record{Time: at, Source: evidence.SourceSNMP, By: "poller", Kind: evidence.KindCounters,
				PortState: evidence.PortState{Port: port, IntervalMS: 10_000, Speed: 100e9, Optics: light, In: &there, Out: &here}})
		}
	}
	return &s
}

func TestCounters(t *testing.T) {
	s := newStage(t, counting(t), 120, 45)
	s.press("enter", "tab")
	s.sees(t, "A leaf1:swp3  100G  29 readings, the newest 4 s ago")
	s.sees(t, "errors  in       76/s")
	s.sees(t, "never: errors in, errors out, discard in, discard out")
	s.sees(t, "expected in 28.0 %, out 28.0 %")
	s.sees(t, "light   rx  -10.0 dBm")
	s.sees(t, "7.6 dB less than at 14:28:03Z")
	s.sees(t, "8.8 dB of light between what A sends and B receives")
	s.sees(t, "1.2 dB of light between what B sends and A receives")
	s.press("tab")
	s.hides(t, "Counters of the ports")
	// Of a moment in the past nothing shows that was counted after it.
	past := *s.source.s
	past.Now = noon.Add(-70 * time.Second)
	s = newStage(t, &past, 120, 45)
	s.press("enter", "tab")
	s.sees(t, "22 readings, the newest 4 s ago")
	s.hides(t, "errors  in ")
	// A tall terminal has room for both.
	s = newStage(t, counting(t), 200, 60)
	s.press("enter")
	s.sees(t, "Counters of the ports")
	s.sees(t, "10.32.0.1:50002>10.32.2.1:862")
	// Ports that nobody asked are unknown, which is not zero.
	s = newStage(t, sick(t), 120, 45)
	s.press("enter", "tab")
	s.sees(t, "? none: no switch told what its port counted")
}

// A reading stands in all columns of its interval; where none was made there is a gap.
func TestReadingsInColumns(t *testing.T) {
	at := func(s int) time.Time { return noon.Add(time.Duration(s) * time.Second) }
	list := []diagnose.PortPoint{{At: at(10), Over: 10 * time.Second, Speed: 3}, {At: at(40), Over: 10 * time.Second, Speed: 5}}
	got := readingsIn(list, func(p *diagnose.PortPoint) float64 { return p.Speed }, at(0), at(40), 8)
	for i, want := range []float64{3, 3, 3, math.NaN(), math.NaN(), math.NaN(), 5, 5} {
		if got[i] != want && !(math.IsNaN(got[i]) && math.IsNaN(want)) {
			t.Errorf("column %d holds %v, want %v in %v", i, got[i], want, got)
		}
	}
}

// Of several lanes each is drawn, and the darkest is told; a lane that tells no light any more is not what it was last.
func TestLightByLane(t *testing.T) {
	s := sick(t)
	dbm := func(v float64) *float64 { return &v }
	point := func(after int, lanes ...evidence.Lane) diagnose.PortPoint {
		return diagnose.PortPoint{At: noon.Add(time.Duration(after) * time.Minute), Over: 10 * time.Second, Optics: lanes}
	}
	limits := &evidence.LightLimits{LowAlarm: dbm(-5), LowWarning: dbm(-2.8), HighWarning: dbm(1)}
	list := []diagnose.PortPoint{
		point(0, evidence.Lane{Lane: 1, Rx: dbm(-2)}, evidence.Lane{Lane: 2, Rx: dbm(-2.5), Tx: dbm(0.5)}),
		{At: noon.Add(30 * time.Second), Over: 10 * time.Second},
		point(1, evidence.Lane{Lane: 1}, evidence.Lane{Lane: 2, Rx: dbm(-3), Tx: dbm(0.6), RxLimits: limits, TxLimits: limits}),
	}
	var got strings.Builder
	for _, l := range lightLines(list, noon.Add(-10*time.Second), noon.Add(time.Minute), 14, s) {
		fmt.Fprintln(&got, strings.TrimRight(bare(themeOf("", false).paint([]line{l})), " \n"))
	}
	const want = `lane 1  rx       none  ▃▃▃              -5 to 5
              -2.0 dBm at 14:32:07Z, none told since
lane 2  rx   -3.0 dBm  ▃▃▂▂▂▂▂▂▂▂▂▂▂▂   -5 to 5
              below the low warning of -2.8 dBm
lane 2  tx    0.6 dBm  ▅▅▅▅▅▅▅▅▅▅▅▅▅▅   -5 to 5
`
	if got.String() != want {
		t.Errorf("%s\nwant\n%s", got.String(), want)
	}
	if got, want := lightWords([2][]diagnose.PortPoint{list, nil}, s), "A rx none in lane 1, the darkest (-2.0 dBm at 14:32:07Z, none told since), tx 0.6 dBm"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := fades([2][]diagnose.PortPoint{list, list}); got[0] != "3.6 dB of light between what A sends and B receives" {
		t.Errorf("%q", got)
	}
}
