package captures

import "fmt"

const (
	// periodBins bounds the bins of losses: they begin with a quarter of a second and double when a capture outlasts them.
	periodBins  = 4096
	periodStart = 250_000_000
	// leastCycles is how many periods a capture must hold, leastEvents how many bins with loss, and steady how well the bins must
	// agree with themselves a period later.
	leastCycles = 4
	leastEvents = 5
	steady      = 0.6
	// crowded is the share of bins near a loss from which on there are no single events to speak of.
	crowded = 0.6
)

// A periodFinder tells when losses come back at equal distances, as they do by a timer: a schedule of satellites each 15 s, a
// flapping link, a job that begins each minute.
type periodFinder struct {
	a      *Analyzer
	losses uint64 // of all kinds up to now
	width  int64
	base   int64
	bins   []uint32
	n      int64
	first  int64
	last   int64
}

func newPeriodFinder(a *Analyzer) finder { return &periodFinder{a: a, width: periodStart} }

// see compares the sum of what was found lost with the sum before.
func (f *periodFinder) see(s *Sight) {
	t, q := &f.a.tcp.counts, &f.a.roce.all
	sum := uint64(t.lostBefore) + uint64(t.lostAfter) + uint64(t.unseen) + uint64(q.GapPackets) + uint64(q.LostAfter)
	if sum <= f.losses {
		f.losses = sum // a receiver may say that what came again was not lost
		return
	}
	fresh := sum - f.losses
	f.losses = sum
	if f.n == 0 {
		// The grid begins with the first loss, half a bin in, so that what comes at equal distances falls into the middle of bins.
		f.first, f.base = s.Time, s.Time-f.width/2
		f.bins = make([]uint32, periodBins)
	}
	f.n += int64(fresh)
	f.last = max(f.last, s.Time)
	i := (s.Time - f.base) / f.width
	if i < 0 {
		return
	}
	for ; i >= periodBins; i /= 2 {
		f.fold()
	}
	f.bins[i] += uint32(fresh)
}

// fold doubles the width of the bins.
func (f *periodFinder) fold() {
	for i := range periodBins / 2 {
		f.bins[i] = f.bins[2*i] + f.bins[2*i+1]
	}
	clear(f.bins[periodBins/2:])
	f.width *= 2
}

func (f *periodFinder) report(r *Report) {
	if f.n == 0 {
		return
	}
	period, agreement := f.period()
	if period == 0 {
		return
	}
	r.Findings = append(r.Findings, Finding{
		Finding: "periodic-loss", Severity: Warning, Subject: plural(f.n, "loss event"), Count: f.n, From: instant(f.first), To: instant(f.last),
		Text: fmt.Sprintf("losses come back every %s, give or take %s: something that runs by a timer is their cause", duration(period), duration(f.width)),
		Rule: fmt.Sprintf("autocorrelation of losses in bins of %s is %.2f at this distance, %.1f or more", duration(f.width), agreement, steady),
		// A loss shows where its bytes come again.
		Filter: "tcp.analysis.retransmission || tcp.analysis.lost_segment || infiniband.aeth.syndrome == 0x60",
	})
}

// period returns the shortest distance at which the losses agree with themselves, 0 if there is none. How many were lost in a bin
// does not count, so that one great loss does not hide the others, and events may lie one bin beside the grid.
func (f *periodFinder) period() (int64, float64) {
	span := int((f.last-f.base)/f.width) + 1
	if span > periodBins {
		return 0, 0
	}
	events := make([]float64, span)
	mean, count := 0.0, 0
	for i := range events {
		if f.bins[i] > 0 && (i == 0 || f.bins[i-1] == 0) {
			count++
			for _, j := range []int{i - 1, i, i + 1} {
				if j >= 0 && j < span {
					events[j] = 1
				}
			}
		}
	}
	for _, e := range events {
		mean += e / float64(span)
	}
	variance := mean * (1 - mean)
	if count < leastEvents || mean > crowded {
		return 0, 0
	}
	lags := make([]float64, span/(leastCycles-1)+1)
	best := 0.0
	for lag := leastCycles; lag < len(lags); lag++ {
		sum := 0.0
		for i := 0; i+lag < span; i++ {
			if events[i] != 0 && events[i+lag] != 0 {
				sum++
			}
		}
		lags[lag] = (sum/float64(span-lag) - mean*mean) / variance
		best = max(best, lags[lag])
	}
	if best < steady {
		return 0, 0
	}
	// Multiples of the period agree as well, by chance even better: the first that is nearly as good is the period.
	for lag := leastCycles; lag < len(lags); lag++ {
		if lags[lag] >= max(steady, 0.75*best) && (lag+1 == len(lags) || lags[lag] >= lags[lag+1]) {
			return int64(lag) * f.width, lags[lag]
		}
	}
	return 0, 0
}
