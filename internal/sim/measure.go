package sim

import (
	"math"
	"math/rand/v2"
	"time"

	"whichlink/pathfind/localize"
)

// window is how often a prober takes stock of its flows, as in probes.Session.
const window = 500 * time.Millisecond

const (
	// traceShare is the part of a host's packets that trace.
	traceShare = 0.1
	// worthMore is how many losses of late earn a flow more echoes, fadeTime how soon they are forgotten, and more by how much it gets more of them.
	worthMore = 0.6
	fadeTime  = 4.0 // seconds
	more      = 4
	// expected is the part of a switch's answers that is for paths which the plan expects.
	expected = 0.8
)

// A Measurement is a run of probing. One goroutine owns it.
type Measurement struct {
	*Routes
	cfg     Config
	rng     *rand.Rand
	now     time.Duration
	state   []state  // by flow
	hosts   []group  // flows of one host
	queue   []int32  // ways that were not traced yet, a way being twice the flow, and one more for the way back
	spent   []int32  // by node: answers in this window
	lost    []int    // the numbers of the lost among the packets that were just drawn
	journal *journal // nil where nobody wants records
}

// A group is the flows from first to last.
type group struct{ first, last int32 }

// A state is what became of a flow.
type state struct {
	losses float64 // of late, fading
	owed   float64 // packets
	ways   [2]wayState
}

type wayState struct {
	base   float64 // hazard of what is good
	left   float64 // hazard to go until the next loss
	faults []int32 // that lie on the way, as often as it crosses them
	traced bool
	// What was counted while the path was not known, and since.
	unknown, known Count
}

// A Count is packets of one flow in one direction. Runs is how many separate runs of losses there were.
type Count struct{ Sent, Lost, Runs int }

func (c *Count) add(d Count) {
	c.Sent += d.Sent
	c.Lost += d.Lost
	c.Runs += d.Runs
}

// Measure begins to probe all flows.
func (r *Routes) Measure(cfg Config) *Measurement {
	m := &Measurement{Routes: r, cfg: cfg.withDefaults(), rng: rand.New(rand.NewPCG(cfg.Seed, 'm')),
		state: make([]state, len(r.flows)), spent: make([]int32, r.f.NumNodes())}
	good := make([]float64, r.f.NumArcs())
	for a := range good {
		good[a] = min(cfg.Background*math.Exp(cfg.Spread*m.rng.NormFloat64()), localize.NormalLoss)
	}
	at := m.index()
	for i := range r.flows {
		if i == 0 || r.flows[i].Src != r.flows[i-1].Src {
			m.hosts = append(m.hosts, group{int32(i), int32(i)})
		}
		m.hosts[len(m.hosts)-1].last = int32(i + 1)
		for d := range 2 {
			w := &m.state[i].ways[d]
			for _, a := range r.flows[i].ways[d].arcs {
				w.base += good[a]
			}
			if cfg.Outliers > 0 && m.rng.Float64() < cfg.Outliers {
				w.base += cfg.OutlierLoss * m.rng.Float64()
			}
			w.faults, w.left = at.on(&r.flows[i], d), m.rng.ExpFloat64()
			if len(r.flows[i].ways[d].ask) == 0 {
				w.traced = true
			} else {
				m.queue = append(m.queue, int32(2*i+d))
			}
		}
	}
	for _, h := range m.hosts { // it sends along one flow after the other
		for i := h.first; i < h.last; i++ {
			m.state[i].owed = float64(h.last-i) / float64(h.last-h.first+1)
		}
	}
	m.rng.Shuffle(len(m.queue), func(i, j int) { m.queue[i], m.queue[j] = m.queue[j], m.queue[i] })
	return m
}

// Run probes until a time, counted from the beginning of the measurement.
func (m *Measurement) Run(until time.Duration) {
	for m.now < until {
		end := min(m.now-m.now%window+window, until)
		m.trace(end - m.now)
		for m.now < end {
			to := end
			for i := range m.cfg.Faults {
				to = min(to, m.cfg.Faults[i].next(m.now))
			}
			m.send(to - m.now)
			m.now = to
		}
		if m.journal != nil {
			m.closeWindow()
		}
	}
}

// Forget drops what was counted so far. Paths that were traced stay known: it is how a measurement looks that goes on when a fault begins.
func (m *Measurement) Forget() {
	for i := range m.state {
		for d := range m.state[i].ways {
			m.state[i].ways[d].known, m.state[i].ways[d].unknown = Count{}, Count{}
		}
	}
}

// trace finds paths, as far as the switches' budget goes. A trace that lacks one answer tells nothing, and is tried again later.
func (m *Measurement) trace(span time.Duration) {
	if m.cfg.SwitchRate < 0 || len(m.queue) == 0 {
		return
	}
	clear(m.spent)
	until := func(at time.Duration) int32 { return int32(m.cfg.SwitchRate * expected * at.Seconds()) }
	budget := until(m.now+span) - until(m.now) // less than one in a window is one in some
	wait := m.queue[:0]
	for _, x := range m.queue {
		ask := m.flows[x/2].ways[x%2].ask
		free := true
		for _, n := range ask {
			free = free && m.spent[n] < budget
		}
		if !free {
			wait = append(wait, x)
			continue
		}
		for _, n := range ask {
			m.spent[n]++
		}
		m.state[x/2].ways[x%2].traced = true
		if m.journal != nil {
			m.pathKnown(x / 2)
		}
	}
	m.queue = wait
}

// send sends what all hosts may send in a span of time in which no fault comes or goes.
func (m *Measurement) send(span time.Duration) {
	hazard := make([]float64, len(m.cfg.Faults))
	for i := range hazard {
		if f := &m.cfg.Faults[i]; f.active(m.now) {
			hazard[i] = -math.Log1p(-min(f.Loss, 1-1e-12))
		}
	}
	packets := m.cfg.Rate * (1 - traceShare) * span.Seconds()
	keep := math.Exp(-span.Seconds() / fadeTime)
	for _, h := range m.hosts {
		n, lossy := float64(h.last-h.first), 0.0
		for i := h.first; i < h.last; i++ {
			if m.state[i].losses > worthMore {
				lossy++
			}
		}
		extra := min((more-1)*lossy, n) // rounds are never more than doubled
		for i := h.first; i < h.last; i++ {
			s := &m.state[i]
			share := 1.0
			if s.losses > worthMore {
				share += extra / lossy
			}
			due, gain := s.owed, packets*share/(n+extra)
			s.owed += gain
			sent := int(s.owed)
			s.owed -= float64(sent)
			s.losses *= keep
			m.lost = m.lost[:0]
			there := m.cross(&s.ways[0], sent, hazard)
			back := m.cross(&s.ways[1], sent-there.Lost, hazard)
			s.losses += float64(there.Lost + back.Lost)
			if m.journal != nil {
				m.note(i, func(n int) time.Duration { return time.Duration((float64(n+1)-due)/gain*float64(span)) - 1 }, there, back) // all before the span ends
			}
		}
	}
}

// cross sends packets along a way.
func (m *Measurement) cross(w *wayState, packets int, hazard []float64) Count {
	sum := w.base
	for _, i := range w.faults {
		sum += hazard[i]
	}
	c := draw(m.rng, packets, sum, &w.left, &m.lost)
	if w.traced {
		w.known.add(c)
	} else {
		w.unknown.add(c)
	}
	return c
}

// draw decides which of some packets are lost, independently, under a hazard. A packet is lost when the hazard of all that came before it since the
// last loss, and its own, has used up what is left, which is exponentially distributed: so nothing is drawn but at losses, and these are few. It
// appends their numbers, which begin at 0, to lost.
func draw(rng *rand.Rand, packets int, hazard float64, left *float64, lost *[]int) Count {
	c := Count{Sent: packets}
	if hazard <= 0 {
		return c
	}
	for at, last := -1, -2; ; last = at {
		pass := float64(packets - at - 1)
		if *left >= pass*hazard {
			*left -= pass * hazard
			return c
		}
		if at += 1 + min(int(*left/hazard), packets-at-2); at > last+1 {
			c.Runs++
		}
		*left = rng.ExpFloat64()
		c.Lost++
		*lost = append(*lost, at)
	}
}
