package diagnose

import (
	"slices"
	"strings"
	"testing"
	"time"

	"whichlink/graphs"
	"whichlink/internal/evidence"
)

// TestMended: flows that take other paths after a fault was mended cross it clean then. It was there all the same.
func TestMended(t *testing.T) {
	s := newScene(t)
	s.run(probing{flows: 60, packets: 100, windows: 12, lose: s.only(0.05, sickArc)})
	start := s.start
	s.start = start.Add(time.Minute)
	s.run(probing{flows: 60, packets: 100, windows: 24})
	d := s.diagnosed()
	if len(d.Suspects) != 1 || d.Suspects[0].ID != sickArc || d.Suspects[0].Symptom != Loss || d.Suspects[0].Probability < 0.9 {
		t.Fatalf("of a fault that was mended it is said\n%s", d.Text())
	}
	x := &d.Suspects[0]
	if !strings.Contains(x.For, "bad until some moment") || *x.LossLow > 0.05 || *x.LossHigh < 0.05 || *x.LossHigh > 0.07 {
		t.Errorf("it is said\n%s", d.Text())
	}
	if x.Until == nil || x.Until.Sub(start.Add(time.Minute)).Abs() > time.Second {
		t.Errorf("until when it was bad is told as %v", x.Until)
	}
	if !strings.HasPrefix(d.Summary, sickArc+" drops 5.") || !strings.Contains(d.Summary, " % of packets until 03:01:00Z (p ") {
		t.Errorf("the summary is %q", d.Summary)
	}
	if !strings.Contains(strings.Join(d.Notes, "\n"), "judged by what was measured then, 03:00:00Z to 03:01:00Z") {
		t.Errorf("notes are %q", d.Notes)
	}
	// What is lost for no reason at moments of its own names nobody.
	s = newScene(t)
	s.run(probing{flows: 60, packets: 100, windows: 12, lose: func(_ graphs.ArcID, window int) float64 { return 0.01 * is(window == 3 || window == 7) }})
	if d = s.diagnosed(); d.Verdict == Suspects {
		t.Errorf("of losses everywhere at two moments it is said\n%s", d.Text())
	}
}

// TestMute: where nothing answers anywhere, it is not three switches that lose everything; of one host it may be its link.
func TestMute(t *testing.T) {
	s := newScene(t)
	s.run(probing{flows: 60, packets: 100, windows: 4, lose: func(graphs.ArcID, int) float64 { return 1 }})
	d := s.diagnosed()
	if d.Verdict != Inconclusive || !strings.HasPrefix(d.Summary, "no probe was answered") || !strings.Contains(strings.Join(d.Notes, "\n"), "see that reflectors run") {
		t.Errorf("of silence everywhere it is said\n%s", d.Text())
	}
	s = newScene(t)
	s.run(probing{flows: 60, packets: 100, windows: 4, lose: s.only(1, "h1-1:eth1>leaf1:swp5")})
	s.probe = slices.DeleteFunc(s.probe, func(r *evidence.Record) bool { return r.By != "h1-1" })
	if d = s.diagnosed(); d.Verdict != Suspects || !slices.Contains(d.Suspects[0].Class, "h1-1:eth1>leaf1:swp5") {
		t.Errorf("of one host that hears nothing it is said\n%s", d.Text())
	}
}
