package snmp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"whichlink/graphs"
	"whichlink/internal/evidence"
)

// WatchConfig says whom to ask, how often, and whom to hear. The zero value of a field means its default.
type WatchConfig struct {
	Agents      []WatchedAgent
	Credentials Credentials
	Limits      Limits
	// Status is the time from one reading of the states of ports to the next, Counters that of what they count: 2.5 s and 10 s. An agent is busy for
	// at most a third of the time: one that takes longer is asked less often.
	Status, Counters time.Duration
	// Rate is the most requests a second to all agents together: 1000.
	Rate float64
	// Traps are heard if there are any. Watch runs them.
	Traps *Traps
	// PortTo names the port of a node behind which the address of a BGP peer is, or returns "". Nil knows none.
	PortTo func(node string, peer netip.Addr) string
	// Record is called with every record, by one goroutine at a time.
	Record func(*evidence.Record)
}

// A WatchedAgent is an agent and the node whose ports it tells of. Traps are its own if they come from one of its addresses.
type WatchedAgent struct {
	// Name is the node; empty is what the agent calls itself.
	Name, Target string
	Addresses    []netip.Addr
	// Optional agents are of a range of addresses: that nothing is there is not told.
	Optional bool
}

// Defaults of a watch.
const (
	DefaultStatus   = 2500 * time.Millisecond
	DefaultCounters = 10 * time.Second
	DefaultRequests = 1000
)

const (
	// agentsAtOnce is how many agents are asked at a time.
	agentsAtOnce = 128
	// longestSilence is the longest pause after which an agent that did not answer is asked again.
	longestSilence = time.Minute
	// leastPause is how far apart readings are that traps ask for, however many come.
	leastPause = time.Second
	// staleStatus is how old a state may be that an agent shows: SONiC's are up to 7 s old.
	staleStatus = 7 * time.Second
)

// A Watch polls agents and hears their traps until it is told to stop.
type Watch struct {
	cfg    WatchConfig
	agents []*watched
	owner  map[netip.Addr]*watched
	slots  chan struct{}

	recording sync.Mutex // serialises Record

	pacing sync.Mutex // guards next
	next   time.Time  // when the rate allows the next request
}

// NewWatch prepares a watch. Nothing is sent before Run.
func NewWatch(cfg WatchConfig) *Watch {
	if cfg.Status <= 0 {
		cfg.Status = DefaultStatus
	}
	if cfg.Counters <= 0 {
		cfg.Counters = DefaultCounters
	}
	if cfg.Rate <= 0 {
		cfg.Rate = DefaultRequests
	}
	w := &Watch{cfg: cfg, owner: map[netip.Addr]*watched{}, slots: make(chan struct{}, agentsAtOnce)}
	for _, a := range cfg.Agents {
		x := newWatched(w, a)
		w.agents = append(w.agents, x)
		for _, addr := range a.Addresses {
			w.owner[addr.Unmap()] = x
		}
	}
	if cfg.Traps != nil && cfg.Traps.cfg.Known == nil {
		cfg.Traps.cfg.Known = func(a netip.Addr) bool { return w.owner[a] != nil }
	}
	return w
}

// Statement says what the watch will send, before it does.
func (w *Watch) Statement() string {
	agents := "agents"
	if len(w.agents) == 1 {
		agents = "agent"
	}
	text := fmt.Sprintf("asking %d %s by SNMP, one request in flight each: states of ports every %s, counters every %s, at most %.0f requests a second in all and a third "+
		"of each agent's time", len(w.agents), agents, w.cfg.Status, w.cfg.Counters, w.cfg.Rate)
	if w.cfg.Traps != nil {
		text += fmt.Sprintf("; hearing traps at %s", w.cfg.Traps.Addr())
	}
	return text
}

// Run watches until ctx ends. It returns an error only if the socket of traps broke: what agents do is in the records.
func (w *Watch) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var running sync.WaitGroup
	for _, a := range w.agents {
		running.Go(func() { a.run(ctx) })
	}
	var failed error
	if w.cfg.Traps != nil {
		running.Go(func() {
			failed = w.cfg.Traps.Run(ctx, w.trap)
			if failed != nil {
				cancel()
			}
		})
		running.Go(func() { w.flushTraps(ctx) })
	}
	running.Wait()
	return failed
}

// Now has the agent of a node read at once, what it counts included, as far as the bounds of how much it is asked allow. It reports whether
// there is one.
func (w *Watch) Now(node string) bool {
	for _, a := range w.agents {
		if a.Name != node {
			continue
		}
		a.wanted.Store(true)
		select {
		case a.kick <- struct{}{}:
		default:
		}
		return true
	}
	return false
}

// Stats are how many requests were sent, and how many agents answer now.
func (w *Watch) Stats() (requests, answering int) {
	for _, a := range w.agents {
		a.mu.Lock()
		requests += a.requests
		if a.failures == 0 && a.answered {
			answering++
		}
		a.mu.Unlock()
	}
	return requests, answering
}

// Err is why an agent does not answer now, the first of those that do not; nil if all do or were not asked yet.
func (w *Watch) Err() error {
	for _, a := range w.agents {
		a.mu.Lock()
		err := a.failed
		a.mu.Unlock()
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *Watch) record(r *evidence.Record) {
	w.recording.Lock()
	defer w.recording.Unlock()
	r.V, r.Source = evidence.Version, evidence.SourceSNMP
	w.cfg.Record(r)
}

// pace waits until the rate allows so many requests.
func (w *Watch) pace(ctx context.Context, requests int) bool {
	w.pacing.Lock()
	now := time.Now()
	if w.next.Before(now) {
		w.next = now
	}
	wait := w.next.Sub(now)
	w.next = w.next.Add(time.Duration(float64(requests) / w.cfg.Rate * float64(time.Second)))
	w.pacing.Unlock()
	return sleep(ctx, wait)
}

// sleep returns false if ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// A watched is an agent that is asked again and again, by one goroutine.
type watched struct {
	WatchedAgent
	watch  *Watch
	kick   chan struct{} // holds one token when a trap asks for a reading
	ports  portReader
	states *stateReader
	last   *States     // the last whole reading
	words  string      // what was said of what it cannot tell
	slow   bool        // it was said that it is asked less often
	wanted atomic.Bool // the next reading is of counters, too

	mu                 sync.Mutex // guards all below
	node               string     // what records call it
	names              map[uint32]string
	turned             map[uint32]*turning
	requests, failures int
	answered           bool
	failed             error // of the latest reading
}

func newWatched(w *Watch, a WatchedAgent) *watched {
	host, _, err := splitTarget(a.Target)
	if err != nil {
		host = a.Target
	}
	return &watched{WatchedAgent: a, node: cmp.Or(a.Name, graphs.Clean(host)), watch: w, kick: make(chan struct{}, 1), turned: map[uint32]*turning{},
		ports: portReader{agent: NewAgent(a.Target, w.cfg.Credentials, w.cfg.Limits), meter: NewMeter(0)}}
}

// run asks the agent until ctx ends.
func (a *watched) run(ctx context.Context) {
	defer a.close()
	h := fnv.New64a()
	_, _ = h.Write([]byte(a.Target))
	// Agents begin at moments of their own, so that not all are asked at once.
	status := time.Now().Add(time.Duration(h.Sum64() % uint64(a.watch.cfg.Status)))
	counters, free := status, status
	for {
		due := status
		if counters.Before(due) {
			due = counters
		}
		if !a.await(ctx, due, free) {
			return
		}
		// The first reading is of names, too, by which all that is told goes.
		count := a.wanted.Swap(false) || a.last == nil || !time.Now().Before(counters)
		began, err := a.ask(ctx, count)
		if ctx.Err() != nil {
			return
		}
		took := time.Since(began)
		free = time.Now().Add(max(2*took, leastPause-took))
		status = began.Add(a.watch.cfg.Status)
		if count {
			counters = began.Add(a.watch.cfg.Counters)
			a.tellSlow(3*took, took)
		}
		if pause := a.heard(err); pause > 0 {
			status = time.Now().Add(pause)
			counters, free = status, status
		}
	}
}

// await waits until a reading is due, or until a trap asks for one and the agent is free.
func (a *watched) await(ctx context.Context, due, free time.Time) bool {
	if due.Before(free) {
		due = free
	}
	t := time.NewTimer(time.Until(due))
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-a.kick:
		return sleep(ctx, time.Until(free))
	case <-ctx.Done():
		return false
	}
}

// ask reads the states of ports, and what they count if that is due or if the agent says that its neighbours changed: what it says of that is older than
// what is read of them. It returns when its turn came.
func (a *watched) ask(ctx context.Context, count bool) (began time.Time, err error) {
	select {
	case a.watch.slots <- struct{}{}:
		defer func() { <-a.watch.slots }()
	case <-ctx.Done():
		return began, ctx.Err()
	}
	if !a.watch.pace(ctx, a.expected(count)) {
		return began, ctx.Err()
	}
	began = time.Now()
	anew, err := a.readStates(ctx)
	if anew {
		a.ports.agent.forgetNeighbours()
	}
	if err == nil && (count || anew) {
		err = a.readPorts(ctx)
	}
	return began, err
}

// readPorts reads what ports count, what they are called and whom they hear.
func (a *watched) readPorts(ctx context.Context) error {
	told, err := a.ports.read(ctx)
	a.mu.Lock()
	if len(told.names) > 0 {
		a.names = told.names
	}
	if a.Name == "" && told.system != "" && !strings.Contains(told.system, ":") {
		a.node = told.system
	}
	a.requests += told.requests
	a.mu.Unlock()
	for _, r := range told.records {
		r.By = a.by()
		r.Port = r.By + ":" + r.Port
		a.watch.record(r)
	}
	for _, port := range told.relearned {
		a.event(time.Now(), a.by()+":"+port, evidence.Flapped, string(ByNeighbour), 1, a.watch.cfg.Status)
	}
	return err
}

// expected is about how many requests a reading takes.
func (a *watched) expected(count bool) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := 2 + len(a.names)*3/varbinds
	if count {
		n += 2 + len(a.names)*13/varbinds
	}
	return n
}

// readStates reads the states of ports and tells what changed. Anew is whether the agent says that its neighbours changed, too.
func (a *watched) readStates(ctx context.Context) (anew bool, err error) {
	if a.states == nil {
		s, err := Dial(ctx, a.Target, a.watch.cfg.Credentials, a.watch.cfg.Limits)
		if err != nil {
			return false, err
		}
		a.states = &stateReader{session: s}
	}
	asked := a.states.session.Requests()
	s, err := a.states.read(ctx)
	a.mu.Lock()
	a.requests += a.states.session.Requests() - asked
	a.mu.Unlock()
	if err != nil {
		return false, err
	}
	if a.last != nil {
		if restarted(a.last, s) {
			a.states.columns = nil // its software may be another
		}
		a.tell(a.last, s)
		anew = moved(a.last.LLDPChange, s.LLDPChange) || moved(a.last.LLDPGone, s.LLDPGone)
	}
	a.last = s
	named := a.Name != "" || a.ports.last != nil
	if words := s.CannotTell(); named && words != a.words {
		if a.words = words; words != "" {
			a.note(s.Time, words)
		}
	}
	return anew, nil
}

func moved(a, b *uint32) bool { return a != nil && b != nil && *a != *b }

// tell records what changed between two readings.
func (a *watched) tell(before, after *States) {
	for _, t := range Turns(before, after) {
		if a.turnIsNews(t, before, after) {
			event := evidence.Down
			if t.Up {
				event = evidence.Up
			}
			a.event(t.At, a.portName(t.Index, ""), event, "status", 0, 0)
		}
	}
	for _, f := range Flaps(before, after) {
		port := ""
		switch {
		case f.Index != 0:
			port = a.portName(f.Index, "")
		case a.watch.cfg.PortTo != nil:
			port = a.watch.cfg.PortTo(a.by(), f.Peer)
		}
		if port == "" {
			a.note(f.At, fmt.Sprintf("its BGP session with %s was established anew %d times; behind which port that is, is not known", f.Peer, f.Outages))
			continue
		}
		a.event(f.At, port, evidence.Flapped, string(f.By), f.Outages, after.Time.Sub(before.Time))
	}
}

func (a *watched) event(at time.Time, port, event, by string, count int, window time.Duration) {
	r := &evidence.Record{Time: at, By: a.by(), Kind: evidence.KindEvent, PortState: evidence.PortState{Port: port, Event: event}, Text: by, WindowMS: int(window.Milliseconds())}
	if count > 0 {
		r.Count = evidence.Int(count)
	}
	a.watch.record(r)
}

// note records what is to be said of the agent.
func (a *watched) note(at time.Time, text string) {
	by := a.by()
	a.watch.record(&evidence.Record{Time: at, By: by, Kind: evidence.KindNote, Text: by + " " + text})
}

// portName is the name of a port as records have it.
func (a *watched) portName(index uint32, otherwise string) string {
	a.mu.Lock()
	name := a.names[index]
	a.mu.Unlock()
	if name == "" {
		name = otherwise
	}
	if name == "" {
		name = fmt.Sprintf("#%d", index)
	}
	return a.by() + ":" + name
}

// by is what records call the agent.
func (a *watched) by() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.node
}

// heard notes whether the agent answered, and returns how long to leave it alone if it did not.
func (a *watched) heard(err error) time.Duration {
	a.mu.Lock()
	before := a.failures
	if err == nil {
		a.failures, a.answered = 0, true
	} else {
		a.failures++
	}
	n, answered := a.failures, a.answered
	a.failed = err
	a.mu.Unlock()
	switch {
	case err == nil && before >= 2:
		a.note(time.Now(), "answers SNMP again")
	case n == 2 && (!a.Optional || answered): // once may be chance
		a.note(time.Now(), "tells nothing by SNMP, which is no fault of its links: "+firstLine(graphs.Clean(err.Error())))
	}
	if err == nil {
		return 0
	}
	if IsSilent(err) || errors.Is(err, ErrCredentials) {
		a.last = nil // what happens meanwhile has no bounds
	}
	return min(longestSilence, a.watch.cfg.Status<<min(n, 8))
}

// tellSlow says once that an agent is asked less often than it should be.
func (a *watched) tellSlow(period, took time.Duration) {
	if !a.slow && period > a.watch.cfg.Counters {
		a.slow = true
		a.note(time.Now(), fmt.Sprintf("takes %s for a reading, so that it is asked every %s", took.Round(time.Millisecond), period.Round(time.Second/10)))
	}
}

func (a *watched) close() {
	if a.states != nil {
		_ = a.states.session.Close()
	}
	_ = a.ports.agent.Close()
}
