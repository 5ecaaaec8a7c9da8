package diagnose

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"whichlink/graphs"
	"whichlink/internal/evidence"
	"whichlink/pathfind"
	"whichlink/pathfind/plan"
	"whichlink/probes"
)

// WatchConfig says what a [Watch] measures with. Fabric and Hosts are needed.
type WatchConfig struct {
	Fabric *graphs.Fabric
	// FabricFile and Partial are as in [Config].
	FabricFile string
	Partial    bool
	// Hosts are those on which this process may open sockets: the local one, or all of a drill.
	Hosts []WatchHost
	// Rate is the most that each host sends, in packets a second; 0 is [probes.DefaultRate].
	Rate float64
	// SwitchRate is the most TTL-expired probes that any switch is asked for, by all hosts of the plan together, a second;
	// 0 is [probes.DefaultSwitchRate].
	SwitchRate float64
	// Port is where the reflectors listen; 0 is [probes.DefaultPort].
	Port uint16
	// Size is the length of echoes in bytes, from the IP header on; 0 is [probes.DefaultSize].
	Size int
	DSCP uint8 // of the probes
	// Flows are measured in place of the plan's, if there are any.
	Flows []plan.Flow
	// PortsFrom is as in [probes.SessionConfig].
	PortsFrom int
	// Follow spends up to [probes.PursuitShare] of each host's echoes, within its rate, on the flows that tell most of what the last diagnosis left open.
	Follow bool
	// Seed decides which flows the plan chooses.
	Seed uint64
	// Every is the time from one diagnosis to the next; 0 is 250 ms.
	Every time.Duration
	// Horizon is how long evidence counts; 0 is for ever.
	Horizon time.Duration
	// Sources run beside the probes until their context ends, and what they emit is taken in as what probes find is. Their statements say what they send.
	Sources []WatchSource
	// Series is filled with what ports count, if it is not nil.
	Series *PortSeries
	// Pictures also publishes a [Picture] with each diagnosis.
	Pictures bool
	// Record is called with every record as it is made, by one goroutine; it may be nil.
	Record func(*evidence.Record)
	Logger *slog.Logger
}

// A WatchHost is a host on which to measure.
type WatchHost struct {
	Node graphs.NodeID
	// Open calls a function where the host's sockets are to be opened; nil calls it directly.
	Open func(func() error) error
	// Reflect also runs a reflector there.
	Reflect bool
}

// A WatchSource is a source of records beside the probes. Run returns when its context ends, or with an error if it broke.
type WatchSource struct {
	Statement string
	Run       func(ctx context.Context, emit func(*evidence.Record)) error
}

// A Watch measures and diagnoses until it is told to stop.
type Watch struct {
	cfg      WatchConfig
	model    *pathfind.ECMP
	sessions []*probes.Session
	records  chan *evidence.Record
	latest   atomic.Pointer[Diagnosis]
	picture  atomic.Pointer[Picture]
	changed  chan struct{} // holds one token when a new diagnosis waits to be looked at
	dropped  atomic.Int64
	asked    atomic.Pointer[asking]
}

// NewWatch plans a watch. Nothing is sent before Run.
func NewWatch(cfg WatchConfig) (*Watch, error) {
	if cfg.Every == 0 {
		cfg.Every = 250 * time.Millisecond
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	e := pathfind.NewECMP(cfg.Fabric)
	p, err := plan.Make(e, plan.Config{Seed: cfg.Seed})
	if err != nil {
		return nil, fmt.Errorf("plan the probes: %w", err)
	}
	w := &Watch{cfg: cfg, model: e, records: make(chan *evidence.Record, 1<<16), changed: make(chan struct{}, 1)}
	for _, h := range cfg.Hosts {
		s, err := probes.NewSession(probes.SessionConfig{
			ECMP: e, Plan: p, Flows: cfg.Flows, PortsFrom: cfg.PortsFrom, Host: h.Node, Open: h.Open, Port: cfg.Port,
			Rate: cfg.Rate, SwitchRate: cfg.SwitchRate, Size: cfg.Size, DSCP: cfg.DSCP, Emit: w.emit, Logger: cfg.Logger,
		})
		if err != nil {
			return nil, fmt.Errorf("measure from %s: %w", cfg.Fabric.NodeName(h.Node), err)
		}
		w.sessions = append(w.sessions, s)
	}
	return w, nil
}

// Fabric returns the fabric that is measured.
func (w *Watch) Fabric() *graphs.Fabric { return w.cfg.Fabric }

// Hosts returns those on which it measures.
func (w *Watch) Hosts() []graphs.NodeID {
	hosts := make([]graphs.NodeID, len(w.cfg.Hosts))
	for i, h := range w.cfg.Hosts {
		hosts[i] = h.Node
	}
	return hosts
}

// Take adds a record of another source, such as a poller of switches, to what the watch measures itself. It may be called while Run runs.
func (w *Watch) Take(r *evidence.Record) { w.emit(r) }

// emit queues a record. The queue is bounded: a record that finds it full is dropped, and the diagnosis says how many were.
func (w *Watch) emit(r *evidence.Record) {
	select {
	case w.records <- r:
	default:
		w.dropped.Add(1)
	}
}

// Statement says what the watch will send, before it does.
func (w *Watch) Statement() string {
	text := w.sessions[0].Statement()
	if w.cfg.Follow {
		text += fmt.Sprintf("; up to %.0f %% of the packets along flows that the diagnosis asks for", 100*probes.PursuitShare)
	}
	if len(w.sessions) > 1 {
		text = fmt.Sprintf("%d hosts, each: %s", len(w.sessions), text)
	}
	for _, s := range w.cfg.Sources {
		text += "; " + s.Statement
	}
	return text
}

// Latest returns the newest diagnosis, nil before the first.
func (w *Watch) Latest() *Diagnosis { return w.latest.Load() }

// Picture returns the newest picture, nil before the first and where none are asked for.
func (w *Watch) Picture() *Picture { return w.picture.Load() }

// Changed delivers a token after each new diagnosis; tokens that nobody takes are not piled up.
func (w *Watch) Changed() <-chan struct{} { return w.changed }

// Sent returns how many packets were sent so far, by all hosts.
func (w *Watch) Sent() int {
	n := 0
	for _, s := range w.sessions {
		n += s.Sent()
	}
	return n
}

// Run measures until ctx ends, then waits for the last answers and makes a last diagnosis. It returns an error only if
// measuring broke; what the fabric does to the probes is in the diagnosis.
func (w *Watch) Run(ctx context.Context) error {
	reflecting, stopReflecting := context.WithCancel(context.WithoutCancel(ctx))
	defer stopReflecting()
	reflectors, reflecting := errgroup.WithContext(reflecting)
	for _, h := range w.cfg.Hosts {
		if !h.Reflect {
			continue
		}
		r, err := probes.NewReflector(probes.ReflectorConfig{Open: h.Open, Ports: w.sessions[0].Ports(), Logger: w.cfg.Logger})
		if err != nil {
			return fmt.Errorf("answer probes on %s: %w", w.cfg.Fabric.NodeName(h.Node), err)
		}
		reflectors.Go(func() error { return r.Run(reflecting) })
	}
	sessions, measuring := errgroup.WithContext(ctx)
	for _, s := range w.sessions {
		sessions.Go(func() error { return s.Run(measuring) })
	}
	for _, s := range w.cfg.Sources {
		sessions.Go(func() error { return s.Run(measuring, w.emit) })
	}
	var folding sync.WaitGroup
	over := make(chan struct{})
	folding.Go(func() { w.fold(over) })
	err := sessions.Wait()
	close(over)
	folding.Wait()
	stopReflecting()
	if rerr := reflectors.Wait(); err == nil {
		err = rerr
	}
	return err
}

// thinkingShare is the part of a core that a watch may spend on diagnosing: the rest belongs to the probes.
const thinkingShare = 0.2

// fold owns the store: it takes records in and publishes diagnoses.
func (w *Watch) fold(over <-chan struct{}) {
	store := NewStore(w.cfg.Fabric, Config{Horizon: w.cfg.Horizon, Series: w.cfg.Series, FabricFile: w.cfg.FabricFile, Partial: w.cfg.Partial})
	take := func(r *evidence.Record) {
		store.Add(r)
		if a := w.asked.Load(); a != nil {
			a.count(r, w.cfg.Fabric)
		}
		if w.cfg.Record != nil {
			w.cfg.Record(r)
		}
	}
	drain := func() (taken int) {
		for {
			select {
			case r := <-w.records:
				take(r)
				taken++
			default:
				return taken
			}
		}
	}
	var followed time.Time
	publish := func() {
		if n := w.dropped.Swap(0); n > 0 {
			store.Skip(evidence.Skipped{"came faster than they could be read": int(n)})
		}
		d := store.Diagnose()
		if w.cfg.Pictures {
			w.picture.Store(store.Picture(d))
		}
		w.latest.Store(d)
		if now := time.Now(); w.cfg.Follow && w.asked.Load() == nil && now.Sub(followed) >= FollowEvery {
			followed = now
			w.follow(store)
		}
		select {
		case w.changed <- struct{}{}:
		default:
		}
	}
	timer := time.NewTimer(w.cfg.Every)
	defer timer.Stop()
	fresh := false
	for {
		select {
		case r := <-w.records:
			take(r)
			fresh = true
		case <-timer.C:
			took := thinking(func() {
				if drain() > 0 || fresh {
					publish()
					fresh = false
				}
			})
			timer.Reset(max(w.cfg.Every, time.Duration(float64(took)*(1/thinkingShare-1))))
		case <-over:
			drain()
			publish()
			return
		}
	}
}
