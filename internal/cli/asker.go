package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"whichlink/graphs"
	"whichlink/internal/diagnose"
	"whichlink/internal/evidence"
	"whichlink/probes"
	"whichlink/probes/snmp"
	"whichlink/tui"
)

// An asker measures what somebody at the screens asks for, with the sockets and budgets of a watch.
type asker struct {
	watch *diagnose.Watch
	// hosts are those from which packets can be sent.
	hosts []graphs.NodeID
	rate  float64 // of all hosts together
	// polls asks all switches in rounds anyway; nil if nothing does. Then agent says how one of them is asked; it, too, may be nil.
	polls *snmp.Watch
	agent func(graphs.NodeID) (snmp.WatchConfig, error)

	now     atomic.Pointer[tui.Progress] // of what the watch does not count itself
	polling atomic.Pointer[polled]
}

// A polled is what a switch told while it was polled because somebody asked for it.
type polled struct {
	name string

	mu             sync.Mutex // guards all below
	up             map[string]bool
	errors, events int
}

// see takes a record that was made.
func (a *asker) see(r *evidence.Record) {
	p := a.polling.Load()
	if p == nil || r.Source != evidence.SourceSNMP || r.By != p.name {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch r.Kind {
	case evidence.KindCounters:
		p.up[r.Port] = r.Oper == evidence.Up
		if r.In != nil && r.In.Errors != nil {
			p.errors += int(*r.In.Errors)
		}
	case evidence.KindEvent:
		p.events++
	}
}

const (
	// askFor is how long is probed closer: at the default budget some thousands of packets.
	askFor = 10 * time.Second
	// pollFor is how long a switch is read: its counters three times, so that there is a difference, and another.
	pollFor          = 7 * time.Second
	pollStatusEvery  = time.Second
	pollCountedEvery = 3 * time.Second
)

// Propose implements [tui.Prober].
func (a *asker) Propose(q tui.Inquiry) (tui.Proposal, error) {
	switch q.Kind {
	case tui.Harder:
		return a.harder(q)
	case tui.Trace:
		return a.trace(q)
	}
	return a.poll(q)
}

// budget says what an inquiry costs that a part of all hosts takes part in.
func (a *asker) budget(hosts int) string {
	rate := a.rate * float64(hosts) / float64(len(a.hosts))
	return fmt.Sprintf("up to %.0f of the %.0f packets/s that are sent anyway: not one more, and of any switch no more TTL-expired answers than before",
		probes.PursuitShare*rate, rate)
}

func (a *asker) harder(q tui.Inquiry) (tui.Proposal, error) {
	arcs := (&diagnose.Picture{Fabric: a.watch.Fabric()}).ArcsOf(q.Of)
	if len(arcs) == 0 {
		if p, ok := a.watch.Fabric().PortByName(q.Of); ok && a.watch.Fabric().ArcFrom(p) >= 0 {
			x := a.watch.Fabric().ArcFrom(p)
			arcs = []graphs.ArcID{x, x.Reverse()}
		}
	}
	if len(arcs) == 0 {
		return tui.Proposal{}, fmt.Errorf("%q is no link, arc, port, switch or group of the fabric", graphs.Clean(q.Of))
	}
	return tui.Proposal{
		Inquiry: q, Title: "Probe " + q.Of + " harder", For: askFor, Rate: a.budget(len(a.hosts)),
		Target: fmt.Sprintf("the flows of %s that cross it, and up to %d new ones", plural(len(a.hosts), "host"), diagnose.NewFlows),
		Answer: "the screen of the link, and the suspects of the overview",
		Run: func(ctx context.Context) (string, error) {
			return a.measure(ctx, "probing "+q.Of, diagnose.Ask{Arcs: arcs, For: askFor}, func(x diagnose.Answer) string {
				return fmt.Sprintf("probed %s: %d of %s lost by %s that cross it, %d lossy", q.Of, x.Lost, plural(x.Sent, "packet"), plural(x.Flows, "flow"), x.Lossy)
			})
		},
	}, nil
}

func (a *asker) trace(q tui.Inquiry) (tui.Proposal, error) {
	f := a.watch.Fabric()
	if q.Src == "" {
		q.Src = f.NodeName(a.hosts[0])
	}
	var ends [2]graphs.NodeID
	for i, name := range []string{q.Src, q.Dst} {
		n, ok := f.NodeByName(name)
		if !ok || !f.Node(n).IsHost() {
			return tui.Proposal{}, fmt.Errorf("%q is no host of the fabric", graphs.Clean(name))
		}
		ends[i] = n
	}
	switch {
	case ends[0] == ends[1]:
		return tui.Proposal{}, fmt.Errorf("%s is both ends", q.Src)
	case !slices.Contains(a.hosts, ends[0]):
		return tui.Proposal{}, fmt.Errorf("packets leave from %s alone: on %s run whichlink trace --fabric FILE %s", f.NodeName(a.hosts[0]), q.Src, q.Dst)
	}
	pair := q.Src + " > " + q.Dst
	return tui.Proposal{
		Inquiry: q, Title: "Trace " + pair, For: askFor, Rate: a.budget(1),
		Target: fmt.Sprintf("%d new flows from %s to %s, and those that are there", diagnose.NewFlows, q.Src, q.Dst),
		Answer: "the paths screen, 4",
		Run: func(ctx context.Context) (string, error) {
			return a.measure(ctx, "tracing "+pair, diagnose.Ask{Src: ends[0], Dst: ends[1], For: askFor}, func(x diagnose.Answer) string {
				return fmt.Sprintf("traced %s: %s over %s, %d of %s lost, %d lossy", pair, plural(x.Flows, "flow"), plural(x.Paths, "path"), x.Lost, plural(x.Sent, "packet"), x.Lossy)
			})
		},
	}, nil
}

// measure asks the watch, and says what came of it.
func (a *asker) measure(ctx context.Context, says string, ask diagnose.Ask, words func(diagnose.Answer) string) (string, error) {
	begun := time.Now()
	a.now.Store(&tui.Progress{Says: says, Begun: begun, Until: begun.Add(ask.For)})
	defer a.now.Store(nil)
	x, err := a.watch.Ask(ctx, ask)
	if err != nil && !errors.Is(err, context.Canceled) {
		return "", err
	}
	if x.Sent == 0 {
		return words(x) + "; nothing that this sends crosses it", err
	}
	return words(x), err
}

func (a *asker) poll(q tui.Inquiry) (tui.Proposal, error) {
	f := a.watch.Fabric()
	n, ok := f.NodeByName(q.Of)
	switch {
	case !ok || f.Node(n).IsHost():
		return tui.Proposal{}, fmt.Errorf("%q is no switch of the fabric", graphs.Clean(q.Of))
	case a.polls == nil && a.agent == nil:
		return tui.Proposal{}, errors.New("the switches of this drill have no SNMP agents; those of whichlink --drill --snmp have")
	case !f.Node(n).Management.IsValid():
		return tui.Proposal{}, fmt.Errorf("%s has no management address in the fabric file (mgmt-ipv4)", q.Of)
	}
	p := tui.Proposal{
		Inquiry: q, Title: "Poll " + q.Of, For: pollFor, Answer: "the screens of its links, and the events (5)",
		Target: fmt.Sprintf("the SNMP agent of %s at %s, reading only", q.Of, f.Node(n).Management),
	}
	if a.polls != nil {
		// It is asked anyway, and by two at once it must not be.
		p.Rate = fmt.Sprintf("its counters every %s in place of its next turn, one request in flight, at most a third of its time", pollCountedEvery)
		p.Run = func(ctx context.Context) (string, error) {
			return a.polled(ctx, q.Of, func(ctx context.Context) error { return a.again(ctx, q.Of) })
		}
		return p, nil
	}
	cfg, err := a.agent(n)
	if err != nil {
		return tui.Proposal{}, err
	}
	cfg.Status, cfg.Counters, cfg.Record = pollStatusEvery, pollCountedEvery, a.watch.Take
	watch := snmp.NewWatch(cfg)
	p.Rate = watch.Statement()
	p.Run = func(ctx context.Context) (string, error) {
		says, err := a.polled(ctx, q.Of, watch.Run)
		if _, answering := watch.Stats(); err == nil && answering == 0 {
			return "", fmt.Errorf("the agent of %s does not answer; one that is asked with a wrong community is silent", q.Of)
		}
		return says, err
	}
	return p, nil
}

// again has a switch that is polled anyway read now and again.
func (a *asker) again(ctx context.Context, name string) error {
	tick := time.NewTicker(pollCountedEvery)
	defer tick.Stop()
	for {
		if !a.polls.Now(name) {
			return fmt.Errorf("%s is not polled", name)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// polled lets a poll run, and says what came of it.
func (a *asker) polled(ctx context.Context, name string, poll func(context.Context) error) (string, error) {
	begun := time.Now()
	a.now.Store(&tui.Progress{Says: "polling " + name, Begun: begun, Until: begun.Add(pollFor)})
	defer a.now.Store(nil)
	p := &polled{name: name, up: map[string]bool{}}
	a.polling.Store(p)
	defer a.polling.Store(nil)
	within, cancel := context.WithTimeout(ctx, pollFor)
	defer cancel()
	if err := poll(within); err != nil {
		return "", err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	up := 0
	for _, is := range p.up {
		if is {
			up++
		}
	}
	return fmt.Sprintf("polled %s for %s: %d of %s up, %s, %s", name, time.Since(begun).Round(time.Second), up, plural(len(p.up), "port"),
		plural(p.errors, "input error"), plural(p.events, "event")), ctx.Err()
}

// progress says what is under way, nil if nothing.
func (a *asker) progress() *tui.Progress {
	p := a.now.Load()
	if p == nil {
		return nil
	}
	if x, ok := a.watch.Asked(); ok {
		return &tui.Progress{Says: p.Says, Begun: x.Begun, Until: x.Until, Packets: x.Sent, Lost: x.Lost}
	}
	return p
}
