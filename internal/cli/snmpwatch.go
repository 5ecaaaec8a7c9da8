package cli

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"whichlink/graphs"
	"whichlink/internal/diagnose"
	"whichlink/internal/evidence"
	"whichlink/probes/snmp"
)

// watching is the flags of all that listens to agents for a while.
type watching struct {
	polling
	traps            string
	status, counters time.Duration
	requests         float64
}

// flags adds those that say how; whom to ask is the command's.
func (w *watching) flags(cmd *cobra.Command, prefix string) {
	f := cmd.Flags()
	f.StringVar(&w.credentials, "credentials", "", "`FILE` with the community or the user of v3, mode 0600 (default: "+snmp.CommunityVariable+")")
	f.StringVar(&w.traps, "traps", "", "also hear traps at `ADDRESS`:PORT, such as :1162")
	f.DurationVar(&w.status, prefix+"status", snmp.DefaultStatus, "time from one reading of the states of ports to the next")
	f.DurationVar(&w.counters, prefix+"counters", snmp.DefaultCounters, "time from one reading of their counters to the next")
}

func newSNMPWatchCmd(e *env) *cobra.Command {
	var w watching
	var out string
	var duration time.Duration
	cmd := &cobra.Command{
		Use:   "watch [TARGET...]",
		Short: "Poll switches and hear their traps, and write what happens as evidence",
		Long: `Watch asks each agent in rounds: often for the states of its ports and for what counts their changes, less often for what ports count. With --traps it
hears what agents tell unasked, which is also a reason to ask them. It writes evidence as JSON Lines until it is interrupted, or for --for;
whichlink localize reads it, alone or together with that of probes.

No agent is asked for more than a third of the time, or by more than one request at a time: one that is slow is asked less often, and that is told. What
an agent cannot tell of flaps is told, too: its silence is no stability.

Traps are believed if they come from an address of an agent and bear the community, or are authentic by SNMPv3.`,
		Example: `  whichlink snmp watch --fabric fabric.clab.yml --credentials snmp.conf --traps :1162 --out snmp.jsonl
  whichlink localize --fabric fabric.clab.yml snmp.jsonl probes.jsonl`,
		Args: args(0, -1),
		RunE: func(cmd *cobra.Command, words []string) error {
			w.targets = append(w.targets, words...)
			if duration < 0 {
				return usagef("--for is not negative")
			}
			return e.snmpWatch(cmd.Context(), &w, out, duration)
		},
	}
	w.flags(cmd, "")
	f := cmd.Flags()
	f.StringSliceVar(&w.targets, "target", nil, "ask `HOST[:PORT]`, or all of NETWORK/BITS; may be repeated")
	fabricFlag(cmd, &w.fabric)
	f.Float64Var(&w.requests, "rate", snmp.DefaultRequests, "most requests a second, to all agents together")
	f.StringVar(&out, "out", "-", "write evidence to `FILE`")
	f.DurationVar(&duration, "for", 0, "how long to watch (default: until it is interrupted)")
	return cmd
}

func (e *env) snmpWatch(ctx context.Context, w *watching, out string, duration time.Duration) error {
	f, err := e.optionalFabric(w.fabric)
	if err != nil {
		return err
	}
	cfg, err := w.config(ctx, e, f)
	if err != nil {
		return err
	}
	records, closeOut, err := e.evidenceOut(out, overwrite)
	if err != nil {
		return err
	}
	defer closeOut()
	cfg.Record = func(r *evidence.Record) {
		records.record(r)
		if r.Kind == evidence.KindNote {
			e.say("%s", graphs.Clean(r.Text))
		}
	}
	watch := snmp.NewWatch(cfg)
	e.say("%s", watch.Statement())
	if duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, duration)
		defer cancel()
	}
	if err := watch.Run(ctx); err != nil {
		return err
	}
	if err := closeOut(); err != nil {
		return err
	}
	requests, answering := watch.Stats()
	e.say("%d requests, %d records written; %d of %s answer", requests, records.count, answering, plural(len(cfg.Agents), "agent"))
	if cfg.Traps != nil {
		e.sayTraps(cfg.Traps)
	}
	if answering == 0 {
		return withSNMPHint(errors.New("no agent answers"), watch.Err(), cfg.Credentials)
	}
	return nil
}

// config says whom to ask and to hear; f may be nil. The socket for traps is open then.
func (w *watching) config(ctx context.Context, e *env, f *graphs.Fabric) (snmp.WatchConfig, error) {
	if w.status < 0 || w.counters < 0 || w.requests < 0 {
		return snmp.WatchConfig{}, usagef("times and rates are not negative")
	}
	a, err := w.agents(f)
	if err != nil {
		return snmp.WatchConfig{}, err
	}
	c, err := credentialsOf(w.credentials)
	if err != nil {
		return snmp.WatchConfig{}, err
	}
	cfg := snmp.WatchConfig{Credentials: c, Status: w.status, Counters: w.counters, Rate: w.requests}
	for _, t := range a.targets {
		x := snmp.WatchedAgent{Name: a.names[t], Target: t, Optional: a.scanned[t]}
		if f != nil {
			if n, ok := f.NodeByName(x.Name); ok {
				x.Addresses = f.Addresses(n) // its traps may come from any of them
			}
		}
		x.Addresses = append(x.Addresses, addressesAt(ctx, t)...)
		cfg.Agents = append(cfg.Agents, x)
	}
	if f != nil {
		cfg.PortTo = func(node string, peer netip.Addr) string { return portTo(f, node, peer) }
	}
	if w.traps == "" {
		return cfg, nil
	}
	if _, _, err := net.SplitHostPort(w.traps); err != nil {
		return cfg, usagef("--traps %s is not ADDRESS:PORT or :PORT, such as :1162", graphs.Clean(w.traps))
	}
	cfg.Traps, err = snmp.ListenTraps(snmp.TrapConfig{Address: w.traps, Credentials: c})
	if errors.Is(err, syscall.EACCES) {
		err = withHint(err, "ports below 1024 need CAP_NET_BIND_SERVICE; agents may be told to send to another, such as :1162")
	}
	if err != nil {
		return cfg, err
	}
	if bytes, enough := cfg.Traps.Buffer(); !enough {
		e.say("the kernel holds %d KiB of traps, so that great bursts may be lost; sysctl net.core.rmem_max=33554432 allows more", bytes>>10)
	}
	return cfg, nil
}

// source makes a watch of agents a source beside the probes.
func (w *watching) source(e *env, fabric string, f *graphs.Fabric) (diagnose.WatchSource, *snmp.Watch, error) {
	w.fabric = fabric
	cfg, err := w.config(context.Background(), e, f)
	if err != nil {
		return diagnose.WatchSource{}, nil, err
	}
	source, watch := sourceOf(cfg)
	return source, watch, nil
}

// sourceOf makes a watch of agents a source beside the probes.
func sourceOf(cfg snmp.WatchConfig) (diagnose.WatchSource, *snmp.Watch) {
	// Records come from all agents at once, and are emitted as they come.
	var emit func(*evidence.Record)
	cfg.Record = func(r *evidence.Record) { emit(r) }
	watch := snmp.NewWatch(cfg)
	return diagnose.WatchSource{Statement: watch.Statement(), Run: func(ctx context.Context, to func(*evidence.Record)) error {
		emit = to
		return watch.Run(ctx)
	}}, watch
}

// agentOfSwitch is whom to ask about a switch.
func agentOfSwitch(f *graphs.Fabric, n graphs.NodeID) snmp.WatchedAgent {
	return snmp.WatchedAgent{Name: f.NodeName(n), Target: f.Node(n).Management.String(), Addresses: f.Addresses(n)}
}

// sayTraps says what became of the traps.
func (e *env) sayTraps(t *snmp.Traps) {
	s := t.Stats()
	e.say("traps: %d taken, %d of unknown senders, %d with other credentials, %d malformed, %d replayed, %d lost", s.Taken, s.Unknown, s.Denied, s.Malformed, s.Replayed, s.Lost())
	if s.Taken == 0 && s.Unknown == 0 && s.Denied == 0 {
		e.say("no trap came to %s: a switch must be told to send them to this host and port (net-snmp: trap2sink HOST:PORT)", t.Addr())
	}
}

// addressesAt are the addresses of a target.
func addressesAt(ctx context.Context, target string) []netip.Addr {
	host := target
	if h, _, err := net.SplitHostPort(target); err == nil {
		host = h
	}
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a.Unmap().WithZone("")}
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	list, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil // who cannot be asked is told when it is asked
	}
	return list
}

// portTo names the port of a node to which the one with an address is linked; "" if there is none, or if the address is of the node as a whole.
func portTo(f *graphs.Fabric, node string, peer netip.Addr) string {
	o, ok := f.Owner(peer)
	if !ok || o.Port == graphs.None || f.Port(o.Port).Link == graphs.None {
		return ""
	}
	for _, p := range f.Link(f.Port(o.Port).Link).Ends {
		if p != o.Port && f.NodeName(f.Port(p).Node) == node {
			return f.PortName(p)
		}
	}
	return ""
}
