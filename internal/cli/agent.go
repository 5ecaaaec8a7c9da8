package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"strings"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"whichlink/graphs"
	"whichlink/internal/diagnose"
	"whichlink/probes"
)

func newAgentCmd(e *env) *cobra.Command {
	var ports []uint
	var allow []string
	var listen, out string
	var m measuring
	cmd := &cobra.Command{
		Use:   "agent",
		Short: "Answer probes on a host",
		Long: `Agent answers the probes of other hosts (a STAMP reflector, RFC 8762) until it is stopped, on the ports that it is told to and on
no others. Its answers are never longer than what it got, and it answers no answers. With --fabric it also sends this host's
share of the probe plan, as whichlink probe does, and adds evidence to the end of --out: what was written before it was restarted stays.
That file may be rotated by copying and emptying it (copytruncate of logrotate).`,
		Args: args(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := agentConfig(ports, allow, listen)
			if err != nil {
				return err
			}
			f, err := e.optionalFabric(m.fabric)
			if err != nil {
				return err
			}
			cfg.Logger, cfg.NoChecksum = e.logger(), true
			r, err := probes.NewReflector(cfg)
			if errors.Is(err, fs.ErrPermission) {
				return withHint(err, "allow it with: sudo setcap cap_net_bind_service=+ep %s, or: sudo sysctl net.ipv4.ip_unprivileged_port_start=%d; or use --port above 1023 here and where it is probed from",
					executable(), lowest(cfg.Ports))
			}
			if errors.Is(err, syscall.EADDRINUSE) {
				return withHint(err, "an agent or another STAMP reflector runs here already; --port answers on another port")
			}
			if err != nil {
				return err
			}
			var where []string
			for _, a := range r.Addrs() {
				where = append(where, a.String())
			}
			e.say("answering on UDP %s", strings.Join(where, ", "))
			if f == nil {
				err = r.Run(cmd.Context())
			} else {
				m.port = cfg.Ports[0]
				err = e.runAgentAndProbe(cmd.Context(), r, f, &m, out)
			}
			s := r.Stats()
			e.say("%d packets came, %d answered", s.Received, s.Answered)
			if s.Crowded > 0 {
				e.say("%d more found no room, as this host was too busy to read them", s.Crowded)
			}
			return err
		},
	}
	f := cmd.Flags()
	f.UintSliceVar(&ports, "port", []uint{probes.Port}, "UDP `PORT` to answer on; may be given several times")
	f.StringSliceVar(&allow, "allow", nil, "answer only senders of this `PREFIX`; may be given several times")
	f.StringVar(&listen, "listen", "", "answer only on this local `ADDRESS` (default: all, IPv4 and IPv6)")
	fabricFlag(cmd, &m.fabric)
	f.StringVar(&m.from, "from", "", "with --fabric, the fabric's `HOST` that this machine is (default: found by its addresses)")
	nameFlag(cmd, "from", hosts)
	f.Float64Var(&m.rate, "rate", probes.DefaultRate, "with --fabric, most packets a second sent by this host beside answers")
	f.Float64Var(&m.switchRate, "switch-rate", probes.DefaultSwitchRate, "with --fabric, most TTL-expired probes a second asked of any one switch, by all hosts together")
	f.Uint64Var(&m.seed, "seed", 1, "with --fabric, seed of the probe plan; the same on all hosts")
	f.StringVar(&out, "out", "-", "with --fabric, add evidence to the end of `FILE`")
	return cmd
}

// agentConfig reads the flags of the reflector.
func agentConfig(ports []uint, allow []string, listen string) (probes.ReflectorConfig, error) {
	var cfg probes.ReflectorConfig
	for _, p := range ports {
		if p < 1 || p > 65535 {
			return cfg, usagef("port %d is not one of 1 to 65535", p)
		}
		cfg.Ports = append(cfg.Ports, uint16(p))
	}
	for _, s := range allow {
		p, err := netip.ParsePrefix(s)
		if a, aerr := netip.ParseAddr(s); err != nil && aerr == nil {
			p, err = netip.PrefixFrom(a, a.BitLen()), nil
		}
		if err != nil {
			return cfg, usagef("--allow %q is no prefix like 10.0.0.0/8", graphs.Clean(s))
		}
		cfg.Allow = append(cfg.Allow, p.Masked())
	}
	if listen != "" {
		a, err := netip.ParseAddr(listen)
		if err != nil {
			return cfg, usagef("--listen %q is no address", graphs.Clean(listen))
		}
		cfg.Address = a
	}
	return cfg, nil
}

// runAgentAndProbe answers and sends until ctx ends or one of the two fails.
func (e *env) runAgentAndProbe(ctx context.Context, r *probes.Reflector, f *graphs.Fabric, m *measuring, out string) error {
	w, closeOut, err := e.evidenceOut(out, lengthen)
	if err != nil {
		return errors.Join(err, r.Close())
	}
	watch, err := m.watch(e, f, diagnose.WatchConfig{Record: w.record, Every: seldom, Horizon: liveHorizon})
	if err != nil {
		return errors.Join(err, r.Close(), closeOut())
	}
	e.say("%s", watch.Statement())
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var wg sync.WaitGroup
	var answering error
	wg.Go(func() {
		answering = r.Run(ctx)
		cancel()
	})
	sending := watch.Run(ctx)
	cancel()
	wg.Wait()
	return errors.Join(answering, sending, closeOut())
}

// executable is this program's file, for hints.
func executable() string {
	if name, err := os.Executable(); err == nil {
		return name
	}
	return fmt.Sprintf("$(command -v %s)", "whichlink")
}

func lowest(ports []uint16) uint16 {
	low := ports[0]
	for _, p := range ports {
		low = min(low, p)
	}
	return low
}
