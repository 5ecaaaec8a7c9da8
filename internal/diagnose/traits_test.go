package diagnose

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"whichlink/internal/evidence"
)

// TestTraits: what only flows of a DSCP lose is told so, of a link if one does it, and of no link if all of these flows lose packets. What an arc drops of all flows is not told so, whatever they have in common.
func TestTraits(t *testing.T) {
	const arc = "leaf1:swp2>spine2:swp1"
	for name, c := range map[string]struct {
		dscp     func(flow int) bool
		lose     func(dscp, over bool) float64
		untraced bool
		only     bool
		want     string
		verdict  Verdict
	}{
		"one arc, one class":              {func(flow int) bool { return flow/8%2 == 1 }, func(dscp, over bool) float64 { return 0.3 * is(dscp && over) }, false, true, arc + " drops 28.6 % of packets for DSCP 46 only", Suspects},
		"everywhere, one class":           {func(flow int) bool { return flow/8%2 == 1 }, func(dscp, over bool) float64 { return 0.05 * is(dscp) }, false, true, "all flows of DSCP 46 lose packets", Inconclusive},
		"everywhere, not traced":          {func(flow int) bool { return flow/8%5 == 1 }, func(dscp, over bool) float64 { return is(dscp) }, true, true, "all flows of DSCP 46 lose packets", Inconclusive},
		"one arc, all classes":            {func(flow int) bool { return flow/8%2 == 1 }, func(dscp, over bool) float64 { return 0.05 * is(over) }, false, false, arc + " drops 5", Suspects},
		"one arc, of whose flows most do": {func(flow int) bool { return flow/8%8 != 0 }, func(dscp, over bool) float64 { return 0.05 * is(over) }, false, false, arc + " drops 5", Suspects},
	} {
		s := newScene(t)
		s.run(probing{flows: 400, packets: 50, windows: 3})
		rng := rand.New(rand.NewPCG(2, 9))
		for _, r := range s.probe {
			if c.dscp(int(r.Flow.SrcPort) - 50000) {
				r.Flow.DSCP = 46
			}
			if r.Kind != evidence.KindEcho {
				continue
			}
			there, back := 0, 0
			for range *r.Sent {
				switch {
				case rng.Float64() < c.lose(r.Flow.DSCP != 0, slices.Contains(r.Path, arc)):
					there++
				case rng.Float64() < c.lose(r.Flow.DSCP != 0, slices.Contains(r.Back, arc)):
					back++
				}
			}
			r.Lost, r.LostForward, r.LostBack = evidence.Int(there+back), evidence.Int(there), evidence.Int(back)
		}
		if c.untraced {
			s.probe = slices.DeleteFunc(s.probe, func(r *evidence.Record) bool { r.Path, r.Back = nil, nil; return r.Kind == evidence.KindPath })
		}
		d := s.diagnosed()
		if only := strings.Contains(d.Text(), "only flows of DSCP 46 lose packets"); d.Verdict != c.verdict || !strings.HasPrefix(d.Summary, c.want) || only != c.only {
			t.Errorf("%s: %s", name, d.Text())
		}
	}
}
