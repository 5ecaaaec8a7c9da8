package snmp

import (
	"cmp"
	"context"
	"hash/fnv"
	"slices"
	"sync"
	"time"
)

// A PollerConfig says whom to ask and how. The zero value of a field means its default.
type PollerConfig struct {
	// Targets are the agents: host, host:port or [host]:port.
	Targets     []string
	Credentials Credentials
	Limits      Limits
	// Workers is how many agents are asked at a time: 256. Each has one request in flight.
	Workers int
	// Rate is the most packets a second to all agents together; 0 sets no bound but [MostRequests] to each. Where it is low fewer agents are asked at a
	// time, so that a reading is not all waiting.
	Rate float64
	// Spread is the time over which the agents' starts are strewn, so that they do not answer all at once: 20 ms.
	Spread time.Duration
}

// A Poller reads many agents, again and again. It is not safe for concurrent use. If there are more agents than workers their sessions, which take
// 64 KiB each, last for one reading.
type Poller struct {
	agents  []*Agent // in the order in which they are begun
	starts  []time.Duration
	order   []int // index into the targets
	workers int
}

// NewPoller returns a poller. No packet is sent yet.
func NewPoller(c PollerConfig) *Poller {
	if c.Workers <= 0 {
		c.Workers = 256
	}
	if c.Spread <= 0 {
		c.Spread = 20 * time.Millisecond
	}
	var wait func(context.Context)
	if c.Rate > 0 {
		wait = (&turn{every: time.Duration(float64(time.Second) / c.Rate)}).wait
		c.Workers = min(c.Workers, max(1, int(c.Rate/ratePerWorker)))
	}
	p := &Poller{workers: min(c.Workers, len(c.Targets))}
	start := make([]time.Duration, len(c.Targets))
	for i, t := range c.Targets {
		h := fnv.New64a()
		_, _ = h.Write([]byte(t))
		start[i] = time.Duration(h.Sum64() % uint64(c.Spread))
		p.order = append(p.order, i)
	}
	slices.SortFunc(p.order, func(a, b int) int { return cmp.Or(cmp.Compare(start[a], start[b]), cmp.Compare(a, b)) })
	for _, i := range p.order {
		a := NewAgent(c.Targets[i], c.Credentials, c.Limits)
		a.wait = wait
		p.agents = append(p.agents, a)
		p.starts = append(p.starts, start[i])
	}
	return p
}

// ratePerWorker is the least part of a rate for one that is asked, in packets a second: a reading of some ten to a hundred takes seconds then.
const ratePerWorker = 10

// Workers is how many agents are asked at a time.
func (p *Poller) Workers() int { return p.workers }

// Poll reads all agents once and returns their readings in the order of the targets. It ends early with ctx: what was not read then has an error.
func (p *Poller) Poll(ctx context.Context) []*Reading {
	readings := make([]*Reading, len(p.agents))
	began := time.Now()
	next := make(chan int)
	var workers sync.WaitGroup
	for range p.workers {
		workers.Go(func() {
			for i := range next {
				if wait := p.starts[i] - time.Since(began); wait > 0 {
					select {
					case <-time.After(wait):
					case <-ctx.Done():
					}
				}
				readings[p.order[i]] = p.agents[i].Read(ctx)
				if len(p.agents) > p.workers {
					_ = p.agents[i].Close()
				}
			}
		})
	}
	for i := range p.agents {
		next <- i
	}
	close(next)
	workers.Wait()
	return readings
}

// Close ends all sessions.
func (p *Poller) Close() {
	for _, a := range p.agents {
		_ = a.Close()
	}
}
