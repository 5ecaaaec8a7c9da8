package cli

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"whichlink/internal/evidence"
	"whichlink/probes"
)

// A pacer keeps the budgets of trace and ping: packets a second, and TTL-expired probes a second and switch. Where the fabric is
// not known, those at one distance from the source are taken to meet one switch. It is not safe for concurrent use.
type pacer struct {
	all        tokens
	switchRate float64
	distance   map[int]*tokens
}

// tokens are a bucket of them: rate a second, at most burst at once.
type tokens struct {
	rate, burst, have float64
	at                time.Time
}

// take takes one token, or says how long to wait for it.
func (t *tokens) take(now time.Time) time.Duration {
	t.have = min(t.burst, t.have+now.Sub(t.at).Seconds()*t.rate)
	t.at = now
	if t.have >= 1 {
		t.have--
		return 0
	}
	return max(time.Microsecond, time.Duration((1-t.have)/t.rate*float64(time.Second)))
}

func newPacer(rate, switchRate float64, now time.Time) *pacer {
	burst := max(1, rate/20)
	return &pacer{all: tokens{rate: rate, burst: burst, have: burst, at: now}, switchRate: switchRate, distance: map[int]*tokens{}}
}

// allow is probes.TraceOptions.Allow. A burst and the refill of a second together are not more than the switch's rate.
func (p *pacer) allow(now time.Time, ttl int, back bool, l probes.Lengths) time.Duration {
	if ttl > 0 {
		d := ttl
		if back {
			d = l.Back - ttl
		}
		t := p.distance[d]
		if t == nil {
			burst := max(1, 0.4*p.switchRate)
			t = &tokens{rate: max(p.switchRate-burst, 0.1), burst: burst, have: burst, at: now}
			p.distance[d] = t
		}
		if wait := t.take(now); wait > 0 {
			return wait
		}
		if wait := p.all.take(now); wait > 0 {
			t.have++
			return wait
		}
		return 0
	}
	return p.all.take(now)
}

// wait waits until one packet more may be sent.
func (p *pacer) wait(ctx context.Context) error {
	for {
		d := p.all.take(time.Now())
		if d == 0 {
			return ctx.Err()
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(d):
		}
	}
}

// echo sends echoes along streams, a number of them along each or, if that is 0, for a time, and returns what became of
// them. If ctx ends it stops sooner.
func echo(ctx context.Context, streams []*probes.Stream, p *pacer, count int, duration time.Duration) []*flowCounts {
	end := time.Now().Add(duration)
	order := slices.Clone(streams)
	for i := 0; (count > 0 && i < count || count == 0 && time.Now().Before(end)) && ctx.Err() == nil; i++ {
		// Always another order, so that the probes have no rhythm.
		rand.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		for _, s := range order {
			if p.wait(ctx) != nil {
				break
			}
			s.Echo(1)
		}
	}
	settle(streams, p)
	counts := make([]*flowCounts, len(streams))
	for i, s := range streams {
		counts[i] = countsOf(s.Take())
	}
	return counts
}

// settleFor is how long answers are waited for after the last echo: twice the engine's timeout, and a little.
const settleFor = 2200 * time.Millisecond

// settle waits until the fate of all echoes is decided. Of flows whose last echoes were lost it asks the reflector, along another
// flow to the same destination, how many it got.
func settle(streams []*probes.Stream, p *pacer) {
	asked := map[*probes.Stream]bool{}
	for end := time.Now().Add(settleFor); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		all := 0
		for _, s := range streams {
			undecided, waiting := s.Pending()
			all += undecided
			if waiting == 0 || asked[s] {
				continue
			}
			asked[s] = true
			for _, other := range streams {
				if other == s || other.Flow().Dst != s.Flow().Dst {
					continue
				}
				if _, w := other.Pending(); w == 0 {
					_ = p.wait(context.Background())
					other.AskCount(s)
					break
				}
			}
		}
		if all == 0 {
			return
		}
	}
}

// flowCounts is what ping and trace tell of the echoes of one flow.
type flowCounts struct {
	Sent int `json:"sent"`
	Lost int `json:"lost"`
	// LostForward and LostBack are absent where the destination does not count; what is missing to Lost could not be told.
	LostForward    *int            `json:"lost_forward,omitempty"`
	LostBack       *int            `json:"lost_back,omitempty"`
	CorruptForward int             `json:"corrupt_forward,omitempty"`
	CorruptBack    int             `json:"corrupt_back,omitempty"`
	Late           int             `json:"late,omitempty"`
	RTT            *evidence.Delay `json:"rtt_us,omitempty"`
	LostAt         []time.Time     `json:"lost_at,omitempty"`
	ForwardLen     int             `json:"forward_len,omitempty"`
	BackLen        int             `json:"back_len,omitempty"`
}

func countsOf(w probes.Window) *flowCounts {
	c := &flowCounts{
		Sent: w.Sent, Lost: w.Lost, CorruptForward: w.CorruptForward, CorruptBack: w.CorruptBack, Late: w.Late,
		RTT: w.RTT, LostAt: w.LostAt, ForwardLen: w.ForwardLen, BackLen: w.BackLen,
	}
	if w.Split {
		c.LostForward, c.LostBack = &w.LostForward, &w.LostBack
	}
	return c
}

// words says what was lost.
func (c *flowCounts) words() string {
	s := fmt.Sprintf("%d of %d lost", c.Lost, c.Sent)
	if c.LostForward != nil && c.Lost > 0 {
		s += fmt.Sprintf(" (%d on the way there, %d on the way back", *c.LostForward, *c.LostBack)
		if rest := c.Lost - *c.LostForward - *c.LostBack; rest > 0 {
			s += fmt.Sprintf(", %d not told", rest)
		}
		s += ")"
	}
	if c.CorruptForward+c.CorruptBack > 0 {
		s += fmt.Sprintf(", %d changed on the way there, %d on the way back", c.CorruptForward, c.CorruptBack)
	}
	return s
}
