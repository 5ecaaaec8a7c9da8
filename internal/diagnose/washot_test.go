package diagnose_test

import (
	"strings"
	"testing"
	"time"

	"whichlink/graphs"
	"whichlink/internal/diagnose"
	"whichlink/internal/evidence"
)

// TestWasHot: what was hot for a while and is no more is told with its times, if readings show it clearly; and of what is hot by readings that are old, of when these are.
func TestWasHot(t *testing.T) {
	f, half, up := crowded(t)
	for _, c := range []struct {
		name string
		use  []float64 // how full the arc was in intervals of ten seconds
		down bool      // the other uplinks of its leaf were down while it was full
		also time.Duration
		hot  bool
		says []string
	}{
		{name: "over", use: []float64{0.1, 0.8, 0.8, 0.8, 0.1, 0.1, 0.1}, hot: true,
			says: []string{"was hot from 08:00:10Z to 08:00:40Z: collision: it was 80 % full (p ", "; the traffic matrix put ", "it is 10 % full now", "name the flows"}},
		{name: "twice", use: []float64{0.8, 0.8, 0.1, 0.1, 0.8, 0.8, 0.1, 0.1, 0.1}, hot: true, says: []string{"was hot 2 times from 08:00:00Z to 08:01:00Z"}},
		{name: "lost capacity", use: []float64{0.8, 0.8, 0.8, 0.1, 0.1, 0.1}, down: true, hot: true, says: []string{"lost capacity: it was 80 % full", "bring back"}},
		{name: "one reading", use: []float64{0.1, 0.8, 0.1, 0.1, 0.1}},
		{name: "figures that are shown late", use: []float64{0.5, 0, 0.75, 0.75, 0, 0.4, 0.4, 0.4}},
		{name: "not much less now", use: []float64{0.74, 0.74, 0.74, 0.6, 0.6, 0.6}, hot: true, says: []string{" is hot: collision: it is 60 % full"}},
		{name: "still", use: []float64{0.8, 0.8, 0.8}, hot: true, says: []string{" is hot: collision: it is 80 % full"}},
		{name: "old", use: []float64{0.8, 0.8, 0.8}, also: 8 * time.Minute, hot: true, says: []string{" is hot: ", "its load was read last at 08:00:30Z, 8m0s before probes ended: it may have changed since"}},
	} {
		store := diagnose.NewStore(f, diagnose.Config{})
		for i, use := range c.use {
			load := make([]float64, len(half))
			for a := range load {
				load[a] = half[a] * use / 0.5
			}
			down := map[graphs.LinkID]bool{}
			if c.down && use > 0.5 {
				for _, a := range f.Out(f.Tail(up))[1:4] {
					down[a.Link()], load[a], load[a.Reverse()] = true, 0, 0
				}
			}
			for _, r := range counted(f, load, graphs.LinkID(graphs.None), 1600e9) {
				r.Time = r.Time.Add(time.Duration(i) * 10 * time.Second)
				if p, _ := f.PortByName(r.Port); down[f.Port(p).Link] {
					r.Oper = evidence.Down
				}
				store.Add(r)
			}
		}
		ended := time.Date(2026, 11, 20, 8, 0, 10*len(c.use), 0, time.UTC).Add(c.also)
		src, dst := f.Hosts()[0], f.Hosts()[9]
		store.Add(&evidence.Record{Time: ended, Source: evidence.SourceProbe, By: f.NodeName(src), Kind: evidence.KindEcho,
			Flow: &evidence.Flow{Src: f.Address(src, false), Dst: f.Address(dst, false), Proto: "udp"}, Sent: evidence.Int(100), Lost: evidence.Int(0)})
		d := store.Diagnose()
		text, hot := d.Text(), false
		for _, x := range d.Suspects {
			if x.ID == f.ArcName(up) && x.Symptom == diagnose.Hot && x.Probability >= diagnose.Named {
				hot = (x.Until != nil) == (x.Episodes != nil) && (x.Until != nil) == (c.use[len(c.use)-1] < 0.5)
			}
		}
		ok := hot == c.hot
		for _, say := range c.says {
			ok = ok && strings.Contains(text, say)
		}
		if !ok {
			t.Errorf("%s: %s hot %v, expected %v and the words %q:\n%s", c.name, f.ArcName(up), hot, c.hot, c.says, text)
		}
	}
}
