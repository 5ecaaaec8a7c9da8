package probes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"whichlink/graphs"
	"whichlink/internal/evidence"
	"whichlink/pathfind"
	"whichlink/pathfind/plan"
)

// The budgets of a host, unless it is told otherwise.
const (
	DefaultPort uint16 = Port
	// DefaultRate is the most packets a second that a host sends.
	DefaultRate = 1000
	// DefaultSwitchRate is the most TTL-expired probes a second that any one switch is asked for by all hosts of a plan together.
	DefaultSwitchRate = 50
)

// stampedRate is up to how many packets a second a session has the kernel stamp what it sends. Beyond, that would cost more than about
// one percent of a core, and a host that sends so much looks for losses.
const stampedRate = 5000

// SessionConfig says what a [Session] measures. ECMP, Plan, Host and Emit are needed.
type SessionConfig struct {
	ECMP *pathfind.ECMP
	Plan *plan.Plan
	Host graphs.NodeID
	// Emit takes each record. Calls do not overlap.
	Emit func(*evidence.Record)
	// Open runs the function that opens a socket, for instance inside a network namespace; nil means to call it.
	Open func(func() error) error
	// Flows are measured in place of the plan's, if there are any. One whose SrcPort is 0 gets some port that is not in use.
	Flows []plan.Flow
	// PortsFrom is how many source ports are passed over before the first that a new flow gets: the new flows of two sessions of a host that pass over
	// as many have the same ports, and go the same ways.
	PortsFrom int
	Port      uint16  // of the reflectors; 0 is DefaultPort
	Rate      float64 // packets a second, of whatever kind; 0 is DefaultRate
	// SwitchRate bounds TTL-expired probes a second and switch, by all hosts of the plan together; 0 is DefaultSwitchRate.
	SwitchRate float64
	// Window is the time that an echo record spans; 0 is half a second.
	Window time.Duration
	// Size is the length of echoes in bytes, from the IP header on; 0 is DefaultSize. They are never fragmented.
	Size   int
	DSCP   uint8 // of the probes (RFC 2474); reflectors answer with the same
	Logger *slog.Logger
}

// A Session is one host's part in measuring a fabric. It works in two stages: echoes along many flows, of which the crossing
// tells most without any switch's help; and TTL-limited probes, sparingly, which find the path of each flow, confirm it from
// time to time, and look closer at flows that lose packets.
type Session struct {
	cfg     SessionConfig
	fabric  *graphs.Fabric
	engine  *Engine
	budget  *expiryBudget
	pace    *pace
	vigil   vigil
	planned []plan.Flow
	rng     *rand.Rand // the sender's alone

	active  atomic.Pointer[[]*sessionFlow] // flows that carry echoes
	wanted  atomic.Pointer[[]*sessionFlow] // those that [Session.Pursue] asked for, each as often as its share of the packets
	pursued atomic.Int64                   // echoes sent for that

	mu       sync.Mutex // guards flows and all below, and what is said of it in sessionFlow
	flows    []*sessionFlow
	manners  map[graphs.NodeID]*manner
	epoch    int
	ports    int                      // that were given to flows which name none
	tried    int                      // extra flows that were asked of the plan
	noAgents map[netip.Addr]time.Time // addresses at which nobody answers, and when to try again
	unsent   bool                     // it was told that the kernel takes no probes to somebody
}

// A manner is how a switch answers TTL-limited probes.
type manner struct{ sent, answered float64 }

// A sessionFlow is one flow of a session. The session's mutex guards it.
type sessionFlow struct {
	flow     evidence.Flow
	src, dst graphs.NodeID
	stream   *Stream

	path, back route
	first      time.Time // when the flow began
	confirmed  time.Time // when the path was last seen; zero before the first time
	due        time.Time // when to trace it again
	tracing    bool
	extra      bool // not of the plan, but for arcs that the plan did not reach
	spare      bool // not of the plan, but for [Session.Pursue]: it carries no echoes besides
	wanted     bool // pursued now
	lastLoss   time.Time
	losses     float64     // of late, fading
	lossy      atomic.Bool // losses are worth more echoes; read without the mutex
	lastAnswer time.Time
	nextTTL    int // of the closer look
	traces     int
	forwardLen int
	backLen    int
}

// NewSession prepares a session. It opens no socket and sends nothing before Run.
func NewSession(cfg SessionConfig) (*Session, error) {
	cfg.Port = cmp.Or(cfg.Port, DefaultPort)
	cfg.Rate = cmp.Or(cfg.Rate, DefaultRate)
	cfg.SwitchRate = cmp.Or(cfg.SwitchRate, DefaultSwitchRate)
	cfg.Window = cmp.Or(cfg.Window, 500*time.Millisecond)
	cfg.Size = cmp.Or(cfg.Size, DefaultSize)
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	f := cfg.ECMP.Fabric()
	if len(addressesOf(f, cfg.Host)) == 0 {
		return nil, fmt.Errorf("%s has no address in the fabric file", f.NodeName(cfg.Host))
	}
	e, err := NewEngine(Config{Open: cfg.Open, NoChecksum: true, NoSendStamps: cfg.Rate > stampedRate, Logger: cfg.Logger})
	if err != nil {
		return nil, err
	}
	s := &Session{
		cfg: cfg, fabric: f, engine: e,
		planned: cfg.Flows,
		pace:    newPace(cfg.Rate, time.Now()),
		budget:  newExpiryBudget(cfg.SwitchRate, cfg.Plan.ExpiryShare(cfg.Host), len(cfg.Plan.Hosts()), time.Now(), rand.New(rand.NewPCG(uint64(cfg.Host), 2))),
		rng:     rand.New(rand.NewPCG(uint64(cfg.Host), 1)),
		manners: map[graphs.NodeID]*manner{}, noAgents: map[netip.Addr]time.Time{},
		ports: cfg.PortsFrom,
	}
	if len(cfg.Flows) > 0 {
		s.tried = maxExtra // it is not for these flows to cross what the plan leaves to this host
	} else if s.planned = cfg.Plan.Flows(cfg.Host); len(s.planned) == 0 {
		return nil, errors.New("the plan has no flows for it: no other host can be reached")
	}
	s.wanted.Store(&[]*sessionFlow{})
	return s, nil
}

// addressesOf returns the addresses of a host in the family that the fabric file has: IPv4 where there is one. A host with several
// uplinks has one on each, and where it announces them, each leads to its own uplink.
func addressesOf(f *graphs.Fabric, n graphs.NodeID) []netip.Addr {
	first := f.Address(n, false)
	if !first.IsValid() {
		first = f.Address(n, true)
	}
	if !first.IsValid() {
		return nil
	}
	all := []netip.Addr{first}
	for _, p := range f.Ports(n) {
		for _, x := range f.Port(p).Prefixes {
			if a := x.Addr(); a.Is4() == first.Is4() && !a.IsLinkLocalUnicast() && !slices.Contains(all, a) {
				all = append(all, a)
			}
		}
	}
	return all
}

// Ends returns the addresses between which a [Session] sends a flow. Its port, which is drawn by chance, decides among several.
func Ends(f *graphs.Fabric, p plan.Flow) (src, dst netip.Addr, err error) {
	from, to := addressesOf(f, p.Src), addressesOf(f, p.Dst)
	if len(from) == 0 {
		return src, dst, fmt.Errorf("%s has no address in the fabric file", f.NodeName(p.Src))
	}
	if len(to) == 0 || to[0].Is4() != from[0].Is4() {
		return src, dst, fmt.Errorf("%s has no address of the family of %s in the fabric file", f.NodeName(p.Dst), from[0])
	}
	choice := int(p.SrcPort)
	return from[choice/len(to)%len(from)], to[choice%len(to)], nil
}

// tick is how often the session looks whether there is something to do: a host that may send little wakes up seldom.
func (s *Session) tick() time.Duration {
	return min(max(time.Duration(10/s.cfg.Rate*float64(time.Second)), 4*time.Millisecond), 50*time.Millisecond)
}

// Statement says what the session will send.
func (s *Session) Statement() string {
	dscp := ""
	if s.cfg.DSCP != 0 {
		dscp = fmt.Sprintf(" and DSCP %d", s.cfg.DSCP)
	}
	return fmt.Sprintf("up to %.0f packets/s of %d bytes%s along %d flows (UDP port %d), and of any switch at most %.0f TTL-expired answers/s, by all hosts together",
		s.cfg.Rate, s.cfg.Size, dscp, len(s.planned), s.cfg.Port, s.cfg.SwitchRate)
}

// Ports returns the ports on which the session expects reflectors.
func (s *Session) Ports() []uint16 { return []uint16{s.cfg.Port} }

// Sent returns how many packets were sent so far.
func (s *Session) Sent() int { return int(s.engine.Stats().Sent) }

// Run measures until ctx ends, then waits for the answers that are still under way.
func (s *Session) Run(ctx context.Context) error {
	defer s.engine.Close()
	for _, p := range s.planned {
		if err := s.addPlanned(p); err != nil {
			return err
		}
	}
	var running sync.WaitGroup
	running.Go(func() { s.send(ctx) })
	running.Go(func() { s.learn(ctx) })
	running.Go(func() { s.lookCloser(ctx) })
	tick := time.NewTicker(s.cfg.Window)
	defer tick.Stop()
	for done := false; !done; {
		select {
		case <-tick.C:
			now := time.Now()
			s.beat(now)
			time.Sleep(s.vigil.toCatchUp(now))
			s.report(false)
		case <-ctx.Done():
			done = true
		}
	}
	running.Wait()
	s.linger()
	s.report(true)
	return nil
}

// add begins to probe a flow. An extra flow carries no echoes until it proves useful, a spare one none but those for which it is pursued.
func (s *Session) add(p plan.Flow, extra, spare bool) (*sessionFlow, error) {
	src, dst, err := Ends(s.fabric, p)
	if err != nil {
		return nil, err
	}
	f := evidence.Flow{Src: src, Dst: dst, Proto: "udp", SrcPort: p.SrcPort, DstPort: s.cfg.Port, DSCP: s.cfg.DSCP}
	stream, err := s.engine.Add(f, Options{Size: s.cfg.Size, TraceSize: DefaultSize})
	if err != nil {
		return nil, fmt.Errorf("probe %s from %s: %w", s.fabric.NodeName(p.Dst), s.fabric.NodeName(p.Src), err)
	}
	now := time.Now()
	fl := &sessionFlow{flow: f, src: p.Src, dst: p.Dst, stream: stream, first: now, due: now, extra: extra, spare: spare}
	s.mu.Lock()
	s.flows = append(s.flows, fl)
	// A flow that nobody has traced yet may go anywhere: who judges by paths must know that it is there.
	s.emitPath(fl, false, now)
	s.activate()
	s.mu.Unlock()
	return fl, nil
}

// addPlanned begins a flow of the plan. Where its source port is taken, perhaps by another prober on this host, another does: it
// need only be one that no other flow of this host has. With it the choice among the host's addresses changes, of which one may be gone.
// Of the flows of the configuration, those that name a port mean that one.
func (s *Session) addPlanned(p plan.Flow) error {
	named := len(s.cfg.Flows) > 0 && p.SrcPort != 0
	if p.SrcPort == 0 {
		p.SrcPort = s.freePort()
	}
	_, err := s.add(p, false, false)
	if named && errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("%w: another prober on this host has source port %d", err, p.SrcPort)
	}
	for try := range uint16(8) {
		if !errors.Is(err, syscall.EADDRINUSE) && !errors.Is(err, syscall.EADDRNOTAVAIL) {
			return err
		}
		p.SrcPort = 49152 + (p.SrcPort+577*(try+1))%(plan.FirstPort-49152)
		_, err = s.add(p, false, false)
	}
	return err
}

// drop ends a flow.
func (s *Session) drop(fl *sessionFlow) {
	s.mu.Lock()
	s.flows = slices.DeleteFunc(s.flows, func(o *sessionFlow) bool { return o == fl })
	s.activate()
	s.mu.Unlock()
	_ = s.engine.Remove(fl.stream)
}

// activate publishes which flows carry echoes. The mutex is held.
func (s *Session) activate() {
	var list []*sessionFlow
	now := time.Now()
	for _, fl := range s.flows {
		if !fl.extra && !fl.spare && !s.lacksAgent(fl, now) {
			list = append(list, fl)
		}
	}
	s.active.Store(&list)
}

// round returns the order in which flows get their next echoes: each once, in a new order each time, so that nothing on the way
// falls into step with them. Flows that lost packets of late get more, so that suspicion is soon settled, but never more than
// the others together.
func (s *Session) round() []*sessionFlow {
	active := *s.active.Load()
	round := slices.Clone(active)
	var lossy []*sessionFlow
	for _, fl := range active {
		if fl.lossy.Load() {
			lossy = append(lossy, fl)
		}
	}
	for i := range min(3*len(lossy), len(active)) {
		round = append(round, lossy[i%len(lossy)])
	}
	round = s.withWanted(round)
	s.rng.Shuffle(len(round), func(i, j int) { round[i], round[j] = round[j], round[i] })
	return round
}

// send paces echoes over all active flows.
func (s *Session) send(ctx context.Context) {
	ticker := time.NewTicker(s.sendTick())
	defer ticker.Stop()
	var round []*sessionFlow
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		now := time.Now()
		s.beat(now)
		for ctx.Err() == nil {
			if len(round) == 0 {
				round = s.round()
			}
			if len(round) == 0 || !s.pace.echo(now) {
				break
			}
			round[0].stream.Echo(1)
			round = round[1:]
		}
	}
}
