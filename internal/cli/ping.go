package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"sync"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"whichlink/graphs"
	"whichlink/internal/evidence"
	"whichlink/probes"
)

// A pingFlow is one flow in ping's JSON.
type pingFlow struct {
	Flow evidence.Flow `json:"flow"`
	*flowCounts
	// Bad tells that it loses significantly more than the other flows to the destination.
	Bad bool `json:"bad,omitempty"`
}

// A pingTarget is one destination in ping's JSON.
type pingTarget struct {
	Name   string     `json:"name"`
	Src    netip.Addr `json:"src"`
	Dst    netip.Addr `json:"dst"`
	Node   string     `json:"node,omitempty"`
	Method string     `json:"method,omitempty"`
	Why    string     `json:"why,omitempty"` // of a method other than stamp, or of long echoes that are lost
	Sent   int        `json:"sent"`
	Lost   int        `json:"lost"`
	Flows  []pingFlow `json:"flows"`
	Bad    int        `json:"bad"`

	streams []*probes.Stream
	silent  bool // no reflector has answered
}

// A pingResult is ping's JSON.
type pingResult struct {
	Targets []*pingTarget `json:"targets"`
	Sent    int           `json:"sent"`
}

// pinging is the flags of ping.
type pinging struct {
	flowing
	count    int
	duration time.Duration
	size     int
}

// leastSize is the shortest echo that IPv6 can carry, in bytes: its header, that of UDP, and a STAMP packet with what asks for the way back.
const leastSize = 124

// mostSize is the longest echo that may be asked for, in bytes.
const mostSize = 9000

func newPingCmd(e *env) *cobra.Command {
	var p pinging
	cmd := &cobra.Command{
		Use:   "ping DST...",
		Short: "Echo over many flows; loss and delay by flow",
		Long: `Ping sends echoes along many flows, which take different paths, and tells which of them lose packets, on which way, and how long
they take. It wants whichlink agent at the destinations; without it, it sends TCP SYNs and says so. DST is an address, a node
of --fabric or a host name. No privilege is needed. The exit code is 0 whatever was lost.`,
		Args:              args(1, -1),
		ValidArgsFunction: fabricNames(nodes, -1),
		RunE: func(cmd *cobra.Command, names []string) error {
			if err := p.check(); err != nil {
				return err
			}
			if p.count < 1 || p.duration < 0 || p.size < leastSize || p.size > mostSize {
				return usagef("--count is at least 1, --for not negative, --size %d to %d", leastSize, mostSize)
			}
			if p.duration > 0 {
				p.count = 0
			}
			f, err := e.optionalFabric(p.fabric)
			if err != nil {
				return err
			}
			r, err := p.run(cmd.Context(), e, f, names)
			if err != nil {
				return err
			}
			if p.output == "json" {
				return printJSON(e.stdout, r)
			}
			return r.print(e.stdout)
		},
	}
	p.flags(cmd)
	fl := cmd.Flags()
	fl.IntVarP(&p.count, "count", "c", 50, "echoes a flow")
	fl.DurationVar(&p.duration, "for", 0, "how long to send, in place of --count")
	fl.IntVar(&p.size, "size", probes.DefaultSize, "length of the echoes in bytes, from the IP header on; at least 124; they are never fragmented")
	return cmd
}

func (p *pinging) run(ctx context.Context, e *env, f *graphs.Fabric, names []string) (*pingResult, error) {
	r := &pingResult{Targets: []*pingTarget{}}
	for _, name := range names {
		src, dst, err := p.pair(ctx, f, name)
		if err != nil {
			return nil, err
		}
		for _, other := range r.Targets {
			if other.Dst == dst {
				return nil, usagef("%s and %s are one destination", other.Name, graphs.Clean(name))
			}
		}
		t := &pingTarget{Name: graphs.Clean(name), Src: src, Dst: dst}
		if f != nil {
			if o, ok := f.Owner(dst); ok {
				t.Node = f.NodeName(o.Node)
			}
		}
		r.Targets = append(r.Targets, t)
	}
	engine, err := probes.NewEngine(probes.Config{NoChecksum: true, Logger: e.logger()})
	if err != nil {
		return nil, err
	}
	defer engine.Close()
	howMuch := fmt.Sprintf("%d packets", p.count*p.flows*len(r.Targets))
	if p.count == 0 {
		howMuch = "for " + p.duration.String()
	}
	e.say("%s to %s: at most %.0f packets/s, %s", plural(p.flows, "flow"), plural(len(r.Targets), "destination"), p.rate, howMuch)
	pacer := newPacer(p.rate, probes.DefaultSwitchRate, time.Now())
	var streams []*probes.Stream
	for _, t := range r.Targets {
		if p.tcp {
			t.Method, t.Why = probes.MethodTCPSYN, "asked for with --tcp"
			continue
		}
		if t.streams, err = p.open(engine, t.Src, t.Dst, probes.Options{Size: p.size}); err != nil {
			return nil, err
		}
		if err := t.choose(ctx, pacer); err != nil {
			return nil, err
		}
		if err := p.shorter(ctx, e, pacer, t); err != nil {
			return nil, err
		}
		if t.Method == probes.MethodSTAMP {
			streams = append(streams, t.streams...)
		}
	}
	counts := echo(ctx, streams, pacer, p.count, p.duration)
	for _, t := range r.Targets {
		if t.Method == probes.MethodSTAMP {
			for i, s := range t.streams {
				t.Flows = append(t.Flows, pingFlow{Flow: s.Flow(), flowCounts: counts[i]})
			}
			counts = counts[len(t.streams):]
		} else if err := p.syn(ctx, engine, pacer, t); err != nil {
			return nil, err
		}
		t.judge()
	}
	r.Sent = int(engine.Stats().Sent)
	return r, nil
}

// choose finds out by which method a destination answers: a few flows ask, for at most half a second.
func (t *pingTarget) choose(ctx context.Context, p *pacer) error {
	some := t.streams[:min(4, len(t.streams))]
	for try := range 10 {
		for _, s := range some {
			if try%5 == 0 {
				if err := p.wait(ctx); err != nil {
					return fmt.Errorf("ping: %w", context.Cause(ctx))
				}
				if !s.Reach() && errors.Is(s.Take().Err, syscall.EMSGSIZE) {
					return withHint(fmt.Errorf("ping %s: echoes of this --size are longer than the link of %s carries, and they are never fragmented", t.Name, t.Src), "choose a smaller --size")
				}
			}
		}
		time.Sleep(min(10*time.Millisecond<<try, 60*time.Millisecond))
		for _, s := range some {
			switch s.Method() {
			case probes.MethodSTAMP:
				t.Method, t.Why = probes.MethodSTAMP, ""
				return nil
			case probes.MethodPortUnreachable:
				t.Method, t.Why = probes.MethodTCPSYN, fmt.Sprintf("no reflector (whichlink agent) at UDP port %d: port unreachable, which hosts limit too much to count", s.Flow().DstPort)
				return nil
			}
		}
	}
	t.Method, t.Why = probes.MethodTCPSYN, fmt.Sprintf("nothing answers at UDP port %d", t.streams[0].Flow().DstPort)
	t.silent = true
	return nil
}

// shorter asks a destination that answers no long echo with short ones: if those are answered, the long ones are lost on the way, and are what is to be counted.
func (p *pinging) shorter(ctx context.Context, e *env, pacer *pacer, t *pingTarget) error {
	if !t.silent || p.size <= probes.DefaultSize {
		return nil
	}
	engine, err := probes.NewEngine(probes.Config{NoChecksum: true, Logger: e.logger()})
	if err != nil {
		return err
	}
	defer engine.Close()
	few := p.flowing
	few.flows = 4
	short := pingTarget{Name: t.Name, Src: t.Src, Dst: t.Dst}
	if short.streams, err = few.open(engine, t.Src, t.Dst, probes.Options{}); err != nil {
		return err
	}
	if err := short.choose(ctx, pacer); err != nil || short.Method != probes.MethodSTAMP {
		return err
	}
	t.Method, t.Why = short.Method, fmt.Sprintf("echoes of %d bytes are answered, and the first ones of %d were not: look at the MTU on the way", probes.DefaultSize, p.size)
	return nil
}

// syn pings with TCP SYNs: the flows side by side, one SYN of each at a time.
func (p *pinging) syn(ctx context.Context, engine *probes.Engine, pacer *pacer, t *pingTarget) error {
	end := time.Now().Add(p.duration)
	flows := make([]synFlow, p.flows)
	for i := range flows {
		flows[i].flow = p.flow(t.Src, t.Dst, "tcp", p.sport+uint16(i))
	}
	for n := 0; p.count > 0 && n < p.count || p.count == 0 && time.Now().Before(end); n++ {
		var wg sync.WaitGroup
		for i := range flows {
			if err := pacer.wait(ctx); err != nil {
				break
			}
			wg.Go(func() { flows[i].send(ctx, engine) })
		}
		wg.Wait()
		if ctx.Err() != nil {
			break
		}
	}
	answered := 0
	for i := range flows {
		x := &flows[i]
		if x.err != nil {
			return x.err
		}
		answered += x.Sent - x.Lost
		x.RTT = x.delay.Delay()
		t.Flows = append(t.Flows, pingFlow{Flow: x.flow, flowCounts: &x.flowCounts})
	}
	if answered == 0 {
		t.Method = ""
		t.Why += fmt.Sprintf("; TCP SYNs to port %d are not answered either", p.port)
	}
	return nil
}

// A synFlow counts the SYNs of one flow.
type synFlow struct {
	flowCounts
	flow  evidence.Flow
	delay probes.Delays
	err   error
}

func (x *synFlow) send(ctx context.Context, engine *probes.Engine) {
	a, err := engine.SYN(ctx, x.flow, 0, 0)
	switch {
	case errors.Is(err, syscall.EADDRINUSE), ctx.Err() != nil:
		return // not sent, or not waited for
	case err != nil:
		x.err = err
		return
	}
	x.Sent++
	if a.Reached {
		x.delay.Add(a.RTT)
	} else {
		x.Lost++
	}
}

// judge sums up and marks the flows that lose more than the rest: from the cleanest on, each is held against those before it that are not marked, for
// where many are bad the rest is bad, too.
func (t *pingTarget) judge() {
	order := make([]*pingFlow, len(t.Flows))
	for i := range t.Flows {
		order[i] = &t.Flows[i]
	}
	share := func(f *pingFlow) float64 { return float64(f.Lost) / float64(max(1, f.Sent)) }
	slices.SortStableFunc(order, func(a, b *pingFlow) int { return cmp.Compare(share(a), share(b)) })
	lost, sent := 0, 0
	for _, f := range order {
		t.Sent += f.Sent
		t.Lost += f.Lost
		if f.Bad = probes.Worse(f.Lost, f.Sent, lost, sent); f.Bad {
			t.Bad++
			continue
		}
		sent += f.Sent
		lost += f.Lost
	}
}

// print writes the result for people: a line a destination, and the flows that are odd.
func (r *pingResult) print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	for _, t := range r.Targets {
		name := t.Name
		if name != t.Dst.String() {
			name += " (" + t.Dst.String() + ")"
		}
		fmt.Fprintf(w, "%s: %s, %d of %d lost", name, plural(len(t.Flows), "flow"), t.Lost, t.Sent)
		if t.Bad > 0 {
			fmt.Fprintf(w, ", %s worse than the rest", plural(t.Bad, "flow"))
		}
		fmt.Fprintln(w)
		switch {
		case t.Why != "" && t.Method != "":
			fmt.Fprintf(w, "  method %s: %s\n", t.Method, t.Why)
		case t.Why != "":
			fmt.Fprintf(w, "  %s\n", t.Why)
		}
		fmt.Fprintln(w, "  flow\tlost/sent\trtt min/p50/p99/max us\t")
		for _, f := range t.Flows {
			rtt, remark := "-", ""
			if d := f.RTT; d != nil {
				rtt = fmt.Sprintf("%.0f/%.0f/%.0f/%.0f", d.Min, d.P50, d.P99, d.Max)
			}
			if f.Lost > 0 || f.CorruptForward+f.CorruptBack > 0 {
				remark = f.words()
			}
			if f.Bad {
				remark += "; worse than the rest"
			}
			fmt.Fprintf(w, "  %d\t%d/%d\t%s\t%s\n", f.Flow.SrcPort, f.Lost, f.Sent, rtt, remark)
		}
	}
	return w.Flush()
}
