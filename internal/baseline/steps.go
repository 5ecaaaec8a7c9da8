package baseline

import (
	"cmp"
	"slices"
	"time"

	"whichlink/internal/evidence"
	"whichlink/pathfind/rhythm"
)

// A Step is a rise of the round trip that comes back by a timer.
type Step struct {
	Pair string
	// Period is the time from one to the next, Phase when the first began after a whole number of periods since 1970, UTC.
	Period, Phase time.Duration
	// Height is how much it adds to the round trip of the median late window, in microseconds; 95 % of them lie between Low and High.
	Height, Low, High float64
	Duty              float64 // share of the time
	Episodes          []Span
	Jitter            float64 // by how much a single one is off at most, as a share of the period
	Bayes             float64 // logarithm: how much better episodes explain it than chance
}

// A Span is a stretch of time.
type Span struct{ From, To time.Time }

const (
	// leastEpisodes is how many a period has at least: two show one distance, and any one is a distance.
	leastEpisodes = 3
	// overSpread is by how many times their usual spread windows are late.
	overSpread = 6
	// leastRise is the least step that is worth a name, in microseconds.
	leastRise = 15
	// stray is the share of windows that are late for a reason of their own.
	stray = 0.05
	// joined is the distance up to which late windows are one episode.
	joined = 500 * time.Millisecond
	// mostOff is by how much an episode may be off the period, as a share of it.
	mostOff = 0.2
)

// Steps finds steps that come back by a timer. Each flow is held against its own median, so that paths of several lengths make no step; each window is
// one witness, however many probes it sums up.
func (m *Meter) Steps() []Step {
	byPair := map[string][]window{}
	for _, k := range m.sorted() {
		byPair[k.Pair] = append(byPair[k.Pair], m.keys[k]...)
	}
	var pairs []string
	for p := range byPair {
		pairs = append(pairs, p)
	}
	slices.Sort(pairs)
	var out []Step
	for _, p := range pairs {
		if s, ok := step(byPair[p]); ok {
			s.Pair = p
			out = append(out, s)
		}
	}
	return out
}

func step(windows []window) (Step, bool) {
	start := windows[0].from
	flows := map[evidence.Flow][]float64{}
	for i := range windows {
		w := &windows[i]
		flows[w.flow] = append(flows[w.flow], w.rtt.P50)
		if w.from.Before(start) {
			start = w.from
		}
	}
	levels := map[evidence.Flow]Level{}
	for f, v := range flows {
		levels[f] = level(v)
	}
	counts := make([]rhythm.Count, len(windows))
	var over []float64
	for i := range windows {
		w := &windows[i]
		l := levels[w.flow]
		c := rhythm.Count{From: ms(w.from.Sub(start)), To: ms(w.to.Sub(start)), Sent: 1, Outlier: stray}
		if rise := w.rtt.P50 - l.At; rise > max(overSpread*l.Spread, leastRise, leastShare*l.At) {
			c.Lost = 1
			over = append(over, rise)
		}
		counts[i] = c
	}
	if len(over) < leastEpisodes {
		return Step{}, false
	}
	r := rhythm.Find(counts, ms(joined))
	if r.Kind != rhythm.Flapping || len(r.Episodes) < leastEpisodes || r.Period == 0 || r.Jitter > mostOff {
		return Step{}, false
	}
	s := Step{Period: span(r.Period), Duty: r.Duty, Jitter: r.Jitter, Bayes: r.Bayes, Height: median(over)}
	s.Low, s.High = over[len(over)/40], over[len(over)-1-len(over)/40] // sorted by now
	for _, e := range r.Episodes {
		s.Episodes = append(s.Episodes, Span{start.Add(span(e.From)), start.Add(span(e.To))})
	}
	slices.SortFunc(s.Episodes, func(a, b Span) int { return cmp.Compare(a.From.UnixNano(), b.From.UnixNano()) })
	s.Phase = time.Duration(s.Episodes[0].From.UnixNano() % int64(s.Period))
	return s, true
}

func ms(d time.Duration) float64    { return float64(d) / float64(time.Millisecond) }
func span(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }
