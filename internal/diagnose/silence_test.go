package diagnose

import (
	"slices"
	"strings"
	"testing"
	"time"

	"whichlink/graphs"
)

// TestSilence plays agents and filters of hosts that keep silent for a while or from some moment on, and hosts on which no agent runs: none of these is a fault of a link, and what is
// stays in sight.
func TestSilence(t *testing.T) {
	for name, c := range map[string]struct {
		// silent tells whether a flow loses all in a window of half a second.
		silent func(src, dst string, w int) bool
		unmet  bool // who is silent does not probe either
		loss   float64
		want   Verdict
		note   string
	}{
		"an agent restarts":               {func(_, dst string, w int) bool { return dst == "h2-2" && w >= 8 && w < 12 }, false, 0, Healthy, "h2-2 answered none of"},
		"an agent dies":                   {func(_, dst string, w int) bool { return dst == "h2-2" && w >= 12 }, false, 0, Inconclusive, "h2-2 answers none of"},
		"a filter before a prober":        {func(src, _ string, w int) bool { return src == "h2-2" }, false, 0, Inconclusive, "h2-2 hears no answer to"},
		"a filter, and a link loses":      {func(src, _ string, w int) bool { return src == "h2-2" }, false, 0.05, Suspects, "h2-2 hears no answer to"},
		"agents die, and a link loses":    {func(_, dst string, w int) bool { return (dst == "h2-2" || dst == "h4-1") && w >= 12 }, false, 0.05, Suspects, "h4-1 answers none of"},
		"no agents here and there":        {func(_, dst string, _ int) bool { return dst == "h2-2" || dst == "h4-1" }, true, 0, Inconclusive, "2 hosts sent nothing and answered nobody (h2-2, h4-1)"},
		"no agents, and a link loses":     {func(_, dst string, _ int) bool { return dst == "h2-2" || dst == "h4-1" }, true, 0.05, Suspects, "2 hosts sent nothing and answered nobody"},
		"a host goes, and its own probes": {func(src, dst string, w int) bool { return (src == "h2-2" || dst == "h2-2") && w >= 12 }, false, 0, Suspects, ""},
	} {
		p := newPlay(t, 240)
		sick := p.f.Out(p.f.Switches()[0])[0]
		end := func(fl *playFlow) (src, dst string) {
			a, _ := p.f.Owner(fl.flow.Src)
			b, _ := p.f.Owner(fl.flow.Dst)
			return p.f.NodeName(a.Node), p.f.NodeName(b.Node)
		}
		if c.unmet {
			kept := p.flows[:0]
			for _, fl := range p.flows {
				if src, _ := end(&fl); src != "h2-2" && src != "h4-1" {
					kept = append(kept, fl)
				}
			}
			p.flows = kept
		}
		p.host = func(fl *playFlow, w, _ int) (there, home bool) {
			src, dst := end(fl)
			return c.silent(src, dst, w), false
		}
		p.run(24, func(a graphs.ArcID, _ int) float64 {
			if a == sick {
				return c.loss
			}
			return 0
		})
		d := p.store.Diagnose()
		if again := p.store.Diagnose(); again.Text() != d.Text() {
			t.Errorf("%s: another look says\n%s\nnot\n%s", name, again.Text(), d.Text())
		}
		if d.Verdict != c.want || !strings.Contains(d.Text(), c.note) {
			t.Errorf("%s: told is %s", name, d.Text())
		}
		for _, x := range d.Suspects {
			innocent := c.loss == 0 && c.want != Suspects || c.loss > 0 && x.ID != p.f.ArcName(sick)
			if x.Probability >= Doubted && innocent {
				t.Errorf("%s: %s is suspected, p %.2f", name, x.ID, x.Probability)
			}
		}
	}
}

// TestUnanswered: probers send unevenly, and a window in which all was lost from some moment on is one silence to its end.
func TestUnanswered(t *testing.T) {
	start := time.Date(2026, 11, 26, 3, 0, 0, 0, time.UTC)
	at := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
	for name, c := range map[string]struct {
		sent   int
		lostAt []int
		want   []stretch
	}{
		"all, unevenly":          {6, []int{0, 13, 40, 93, 133, 473}, []stretch{{at(0), at(500)}}},
		"from some moment on":    {20, []int{203, 216, 290, 301, 380, 395, 460}, []stretch{{at(203), at(500)}}},
		"two far from another":   {50, []int{100, 400}, []stretch{{at(100), at(110)}, {at(400), at(410)}}},
		"for a while in between": {50, []int{100, 112, 150, 161}, []stretch{{at(100), at(171)}}},
	} {
		e := echo{start: start, end: at(500), sent: c.sent, lost: len(c.lostAt), lostAt: c.lostAt}
		if got := e.unanswered(); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v", name, got)
		}
	}
}
