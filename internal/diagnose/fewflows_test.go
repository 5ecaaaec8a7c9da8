package diagnose

import (
	"slices"
	"strings"
	"testing"

	"whichlink/internal/evidence"
)

// TestFewFlows: what one of many flows loses, of which nobody can say where, is told with it and how to see where it ends; what many flows lose a little of is not.
func TestFewFlows(t *testing.T) {
	for name, c := range map[string]struct {
		lost func(flow, window int) int // of 20
		want []string
	}{
		"one lost all": {func(flow, _ int) int { return 20 * int(is(flow == 7)) },
			[]string{"all packets lost are of 1 of 60 flows: ", " lost all of 80 on the way there", "see where it ends, on ", " --sport 50007 --flows 1 --fabric FILE"}},
		"one lost all since": {func(flow, window int) int { return 20 * int(is(flow == 7 && window > 1)) }, []string{" lost 40 of 80 on the way there, all since "}},
		"one, and another one packet": {func(flow, window int) int { return 20*int(is(flow == 7)) + int(is(flow == 30 && window == 0)) },
			[]string{"80 of the 81 packets lost are of 1 of 60 flows: "}},
		"many": {func(flow, _ int) int { return int(is(flow%10 == 0)) }, nil},
	} {
		s := newScene(t)
		s.run(probing{flows: 60, packets: 20, windows: 4, untraced: true})
		window := map[uint16]int{}
		for _, r := range s.probe {
			if r.Kind != evidence.KindEcho {
				continue
			}
			lost := c.lost(int(r.Flow.SrcPort-50000), window[r.Flow.SrcPort])
			window[r.Flow.SrcPort]++
			r.Lost, r.LostForward, r.LostBack = evidence.Int(lost), evidence.Int(lost), evidence.Int(0)
		}
		d := s.diagnosed()
		notes := strings.Join(d.Notes, "\n")
		if missing := slices.IndexFunc(c.want, func(text string) bool { return !strings.Contains(notes, text) }); missing >= 0 || c.want == nil && strings.Contains(notes, "see where it ends") {
			t.Errorf("%s: it is said\n%s", name, d.Text())
		}
	}
}

// TestOddFlow: a flow that loses all is told beside a link that is named, which does not explain it; what one lost that is heard of again is not.
func TestOddFlow(t *testing.T) {
	for _, c := range []struct {
		windows int
		want    bool
	}{{4, true}, {3, false}} {
		s := newScene(t)
		s.run(probing{flows: 60, packets: 20, windows: 4, lose: s.only(0.05, sickArc)})
		window := 0
		for _, r := range s.probe {
			if r.Kind == evidence.KindEcho && r.Flow.SrcPort == 50007 {
				if window < c.windows {
					r.Lost, r.LostForward, r.LostBack = r.Sent, r.Sent, evidence.Int(0)
				}
				window++
			}
		}
		d := s.diagnosed()
		if len(d.Suspects) == 0 || d.Suspects[0].ID != sickArc || strings.Contains(strings.Join(d.Notes, "\n"), "nothing that is named explains what 1 of 60 flows lost: ") != c.want {
			t.Errorf("all lost in %d windows of 4: it is said\n%s", c.windows, d.Text())
		}
	}
}
