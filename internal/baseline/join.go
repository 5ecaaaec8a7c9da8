package baseline

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"whichlink/internal/diagnose"
)

// mostPairs is how many slow pairs become suspects; the notes say how many more there are.
const mostPairs = 20

// Join returns a diagnosis with what the baseline and the rhythm of round trips add: pairs as suspects, and a verdict that names them. The one that
// it gets is not changed. Either may be nil or empty.
func Join(d *diagnose.Diagnosis, c *Comparison, steps []Step) *diagnose.Diagnosis {
	out := *d
	out.Suspects, out.Notes = slices.Clone(d.Suspects), slices.Clone(d.Notes)
	var pairs []diagnose.Suspect
	for _, s := range steps {
		pairs = append(pairs, s.suspect())
	}
	if c != nil {
		for i := range c.Regressions {
			pairs = append(pairs, c.Regressions[i].suspect())
		}
		out.Notes = append(out.Notes, c.note())
	}
	slices.SortStableFunc(pairs, func(a, b diagnose.Suspect) int { return -cmp.Compare(a.Probability, b.Probability) })
	named := 0
	for i := range pairs {
		if pairs[i].Probability >= diagnose.Named {
			named++
		}
	}
	if n := len(pairs) - mostPairs; n > 0 {
		out.Notes = append(out.Notes, fmt.Sprintf("%d more pairs are slower than the baseline", n))
		pairs = pairs[:mostPairs]
	}
	out.Suspects = append(out.Suspects, pairs...)
	slices.SortStableFunc(out.Suspects, func(a, b diagnose.Suspect) int { return -cmp.Compare(a.Probability, b.Probability) })
	for i := range out.Suspects {
		out.Suspects[i].Rank = i + 1
	}
	if named > 0 {
		conclude(&out, d, pairs, named)
	}
	return &out
}

// conclude rewrites verdict and summary: what is wrong with a link explains pairs, and so stands first.
func conclude(out, d *diagnose.Diagnosis, pairs []diagnose.Suspect, named int) {
	pair := fmt.Sprintf("%s %s (p %.2f)", pairs[0].ID, strings.SplitN(pairs[0].For, ";", 2)[0], pairs[0].Probability)
	if d.Verdict == diagnose.Suspects {
		out.Summary = d.Summary + "; and " + pair
	} else {
		out.Verdict, out.Summary = diagnose.Suspects, pair
	}
	if named > 1 {
		out.Summary += fmt.Sprintf(", and %d more pairs", named-1)
	}
}

func (c *Comparison) note() string {
	s := fmt.Sprintf("held against the baseline: %d pairs and path lengths", c.Compared)
	if c.Unknown > 0 {
		s += fmt.Sprintf("; %d more are not in it: --learn adds them", c.Unknown)
	}
	return s
}

// words says what it means that a part rose.
var words = map[string]string{
	"floor":  "the floor rose: also what meets no queue takes longer, by a longer way, another speed, or error correction",
	"median": "the median rose and the floor less surely: queues, or hosts that wake up late",
	"tail":   "only the slowest tenth rose: queues that are there now and then",
}

// suspect puts a regression into words.
func (x *Regression) suspect() diagnose.Suspect {
	delay, low, high := x.Now-x.Before, x.Low, x.High
	when := "since before this check, after " + x.Learned.UTC().Format("2006-01-02 15:04:05Z")
	if !x.Since.IsZero() {
		when = "since " + x.Since.UTC().Format("2006-01-02 15:04:05.000Z")
	}
	s := diagnose.Suspect{
		Kind: "pair", ID: x.Pair, Class: []string{x.Pair}, Symptom: diagnose.Slow, Probability: x.Probability, Delay: &delay, DelayLow: &low, DelayHigh: &high,
		For: fmt.Sprintf("takes %s (%s) in place of %s, %s; %s", diagnose.Micros(x.Now), x.Part, diagnose.Micros(x.Before), when, words[x.Part]),
	}
	if x.Arcs > 0 {
		s.For += fmt.Sprintf("; paths of %d arcs there and back", x.Arcs)
	}
	if x.Load != "" {
		s.For += "; load " + x.Load
	}
	s.Against = fmt.Sprintf("it is held against %d run%s only", x.Runs, plural(x.Runs))
	if x.Runs >= 5 {
		s.Against = fmt.Sprintf("%d runs were learned, and this one has %d windows", x.Runs, x.Windows)
	}
	s.Evidence = []diagnose.Evidence{{Source: "baseline", Text: s.For}}
	_, dst, _ := strings.Cut(x.Pair, ">")
	s.Next = []diagnose.Step{{Why: "see at which hop it grows", Do: "whichlink trace --fabric FILE " + dst}}
	return s
}

// suspect puts a periodic step into words.
func (x *Step) suspect() diagnose.Suspect {
	height := x.Height
	s := diagnose.Suspect{
		Kind: "pair", ID: x.Pair, Class: []string{x.Pair}, Symptom: diagnose.Slow, Probability: surest, Delay: &height,
		PeriodMS: int(x.Period.Milliseconds()), Duty: x.Duty,
		For: fmt.Sprintf("takes %s more every %s (phase %s), %s of the time; %d times, none off by more than %s", diagnose.Micros(x.Height),
			x.Period.Round(10*time.Millisecond), x.Phase.Round(10*time.Millisecond), diagnose.Percent(x.Duty), len(x.Episodes), diagnose.Percent(max(x.Jitter, 0.01))),
		Against: fmt.Sprintf("windows that are late by chance are 10^%.0f times less likely to lie so", x.Bayes/math.Ln10),
		Next:    []diagnose.Step{{Why: "find what runs by this timer", Do: "compare with cron jobs, schedulers and pollers at this period and phase"}},
	}
	low, high := x.Low, x.High
	s.DelayLow, s.DelayHigh = &low, &high
	for _, e := range x.Episodes {
		s.Episodes = append(s.Episodes, diagnose.Episode{Start: x.Episodes[0].From, From: e.From.Sub(x.Episodes[0].From), To: e.To.Sub(x.Episodes[0].From)})
	}
	s.Evidence = []diagnose.Evidence{{Source: "probe", Text: s.For}}
	return s
}

func plural(n int) string {
	if n == 1 {
		return ""
	}
	return "s"
}
