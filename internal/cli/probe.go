package cli

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"time"

	"github.com/spf13/cobra"

	"whichlink/graphs"
	"whichlink/internal/diagnose"
	"whichlink/pathfind/plan"
	"whichlink/probes"
	"whichlink/probes/snmp"
)

// measuring is the flags of every command that probes from a host of the fabric.
type measuring struct {
	fabric     string
	from       string
	rate       float64
	switchRate float64
	port       uint16
	seed       uint64
	// withSNMP asks the switches, too.
	withSNMP bool
	agents   watching
	// polls is the watch of the switches, if there is one.
	polls *snmp.Watch
}

func (m *measuring) flags(cmd *cobra.Command) {
	fabricFlag(cmd, &m.fabric)
	f := cmd.Flags()
	f.StringVar(&m.from, "from", "", "the fabric's `HOST` that this machine is (default: found by its addresses)")
	nameFlag(cmd, "from", hosts)
	f.Float64Var(&m.rate, "rate", probes.DefaultRate, "most packets a second sent by this host")
	f.Float64Var(&m.switchRate, "switch-rate", probes.DefaultSwitchRate, "most TTL-expired probes a second asked of any one switch, by all hosts of the plan together")
	f.Uint16Var(&m.port, "port", probes.DefaultPort, "UDP port of the reflectors (whichlink agent)")
	f.Uint64Var(&m.seed, "seed", 1, "seed of the probe plan; the same on all hosts")
}

// snmpFlags adds those of commands that may ask the switches beside probing.
func (m *measuring) snmpFlags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&m.withSNMP, "snmp", false, "also ask the switches that have a management address by SNMP")
	m.agents.flags(cmd, "snmp-")
}

// maxRate is the most packets a second that may be asked for; no host of ours sends more.
const maxRate = 1e6

// check refuses budgets that are none.
func (m *measuring) check() error {
	if !(m.rate > 0 && m.rate <= maxRate) || !(m.switchRate >= 0 && m.switchRate <= maxRate) {
		return usagef("--rate must be above 0, --switch-rate not below it, and neither above %.0f", maxRate)
	}
	if m.port == 0 {
		return usagef("--port 0 is not one of 1 to 65535")
	}
	return nil
}

// lasting refuses a --for in which nothing can be measured.
func lasting(d time.Duration) error {
	if d <= 0 {
		return usagef("--for %v is no time to measure in", d)
	}
	return nil
}

// liveHorizon is how long evidence counts where a watch goes on for ever.
const liveHorizon = time.Minute

// seldom is how often a watch diagnoses where nobody looks: often enough to forget what is old, and no burden to the host.
const seldom = 30 * time.Second

// watch makes a watch of this host. What cfg says of the fabric's hosts and budgets is overwritten.
func (m *measuring) watch(e *env, f *graphs.Fabric, cfg diagnose.WatchConfig) (*diagnose.Watch, error) {
	if err := m.check(); err != nil {
		return nil, err
	}
	host, err := hostHere(f, m.from)
	if err != nil {
		return nil, err
	}
	cfg.Fabric, cfg.FabricFile, cfg.Hosts = f, m.fabric, []diagnose.WatchHost{{Node: host}}
	cfg.Rate, cfg.SwitchRate, cfg.Port, cfg.Seed = m.rate, m.switchRate, m.port, m.seed
	cfg.Logger = e.logger()
	if m.withSNMP {
		source, polls, err := m.agents.source(e, m.fabric, f)
		if err != nil {
			return nil, err
		}
		m.polls = polls
		cfg.Sources = append(cfg.Sources, source)
	}
	return diagnose.NewWatch(cfg)
}

// hostHere finds out which host of a fabric this machine is.
func hostHere(f *graphs.Fabric, name string) (graphs.NodeID, error) {
	if name != "" {
		n, ok := f.NodeByName(name)
		if !ok {
			return graphs.None, usagef("fabric %s has no node %q", f.Name(), graphs.Clean(name))
		}
		if !f.Node(n).IsHost() {
			return graphs.None, usagef("%s is a %s, not a host", name, f.Node(n).Role)
		}
	}
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return graphs.None, fmt.Errorf("read this machine's addresses: %w", err)
	}
	found := graphs.NodeID(graphs.None)
	for _, a := range addresses {
		p, err := netip.ParsePrefix(a.String())
		if err != nil {
			continue
		}
		if o, ok := f.Owner(p.Addr()); ok && f.Node(o.Node).IsHost() && (name == "" || f.NodeName(o.Node) == name) {
			if found != graphs.None && found != o.Node {
				return graphs.None, withHint(errors.New("this machine has addresses of several hosts of the fabric"), "say which one with --from HOST")
			}
			found = o.Node
		}
	}
	if found == graphs.None && name != "" {
		return graphs.None, withHint(fmt.Errorf("this machine has no address of %s", name), "run it on %s, where the fabric file must have its addresses", name)
	}
	if found == graphs.None {
		return graphs.None, withHint(errors.New("this machine has no address of a host of the fabric"),
			"run it on a host of the fabric, of which the file must have the addresses; from elsewhere switches can be asked, by whichlink snmp watch and localize")
	}
	return found, nil
}

func newProbeCmd(e *env) *cobra.Command {
	var m measuring
	var out string
	var duration time.Duration
	var to []string
	var fresh, size int
	var dscp uint8
	var follow bool
	cmd := &cobra.Command{
		Use:   "probe --fabric FILE",
		Short: "Run this host's share of the probe plan and write evidence",
		Long: `Probe measures from this host: it traces the flows that the plan gives to it, sends echoes along them to the reflectors
(whichlink agent) of other hosts, and writes what it counts as JSON Lines. Run it on many hosts at once; whichlink localize
reads all of their files together. No privilege is needed.

With --follow it diagnoses every second what it has seen itself, and spends up to half of its packets, within --rate, on the flows
whose outcome is expected to tell most of what is open. With --to it measures along the flows that are named, in place of the plan: a diagnosis
names those which would tell more. Run it once more with --size 1500, or what hosts send at most, and localize both files together: so it shows what
passes short packets and drops long ones. With --dscp it shows what befalls one class of packets alone, if it runs beside one without: localize reads both. New flows have other ports in each run, and so may go other ways, but for the same --seed.`,
		Args: args(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if follow && len(to) > 0 {
				return usagef("--follow and --to exclude each other")
			}
			if cmd.Flags().Changed("flows") && len(to) == 0 {
				return usagef("--flows goes with --to")
			}
			if fresh < 1 || fresh > plan.MaxMaxFlows {
				return usagef("--flows is 1 to %d", plan.MaxMaxFlows)
			}
			if size < leastSize || size > mostSize {
				return usagef("--size is %d to %d", leastSize, mostSize)
			}
			if err := checkDSCP(dscp); err != nil {
				return err
			}
			if err := lasting(duration); err != nil {
				return err
			}
			f, err := e.readFabric(m.fabric)
			if err != nil {
				return err
			}
			cfg := diagnose.WatchConfig{Every: seldom, Follow: follow, Size: size, DSCP: dscp}
			if follow {
				cfg.Every = diagnose.FollowEvery
			}
			if cfg.Flows, err = m.flowsTo(f, to, fresh); err != nil {
				return err
			}
			if len(to) > 0 && !cmd.Flags().Changed("seed") {
				cfg.PortsFrom = rand.IntN(plan.MaxMaxFlows)
			}
			w, closeOut, err := e.evidenceOut(out, overwrite)
			if err != nil {
				return err
			}
			defer closeOut()
			cfg.Record = w.record
			watch, err := m.watch(e, f, cfg)
			if err != nil {
				return err
			}
			e.say("%s, for %s", watch.Statement(), duration)
			ctx, cancel := context.WithTimeout(cmd.Context(), duration)
			defer cancel()
			if err := watch.Run(ctx); err != nil {
				return err
			}
			if err := closeOut(); err != nil {
				return err
			}
			if follow {
				e.say(echoesPursued, watch.Pursued())
			}
			e.say("%d packets sent, %d records written; here it looks like this: %s", watch.Sent(), w.count, watch.Latest().Summary)
			return nil
		},
	}
	m.flags(cmd)
	cmd.Flags().StringVar(&out, "out", "-", "write evidence to `FILE`")
	cmd.Flags().DurationVar(&duration, "for", 10*time.Second, "how long to measure")
	cmd.Flags().BoolVar(&follow, "follow", false, "spend up to half of the packets on flows that tell most of what is open")
	cmd.Flags().StringArrayVar(&to, "to", nil, "measure along the flow to `HOST[:PORT]` from this source port, or along new ones; may be repeated")
	cmd.Flags().IntVar(&fresh, "flows", diagnose.NewFlows, "how many new flows to each HOST of --to without a port")
	cmd.Flags().IntVar(&size, "size", probes.DefaultSize, "length of the echoes in bytes, from the IP header on; they are never fragmented")
	cmd.Flags().Uint8Var(&dscp, "dscp", 0, dscpHelp)
	nameFlag(cmd, "to", hosts)
	return cmd
}

// echoesPursued says how far a diagnosis was followed.
const echoesPursued = "%d echoes went along flows that the diagnosis asked for"
