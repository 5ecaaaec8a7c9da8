package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"whichlink/graphs"
	"whichlink/probes/snmp"
)

// polling is the flags of snmp poll.
type polling struct {
	targets                     []string
	fabric, credentials, output string
	interval                    time.Duration
	rate                        float64
}

func newSNMPPollCmd(e *env) *cobra.Command {
	var p polling
	cmd := &cobra.Command{
		Use:   "poll [TARGET...]",
		Short: "Read the ports of switches once: states, speeds, counters, light, neighbours",
		Long: `Poll reads each agent once: the state and speed of its ports, what they count, pause frames and drops by priority where these are served, the
light of transceivers, and whom the ports hear. A target is HOST, HOST:PORT or NETWORK/BITS; with --fabric it is every switch of the
fabric that has a management address. Of a network those that do not answer are counted and left out.

Totals say little: most ports of most devices have errors since they were switched on. With --interval agents are read twice, and what was counted in
between is told, too; counters that wrapped or began anew are not taken for traffic or errors.

It exits 1 if an agent that was named fails, after all that was read is printed.`,
		Example: `  WHICHLINK_SNMP_COMMUNITY=... whichlink snmp poll --target 10.0.0.1 --interval 10s
  whichlink snmp poll --fabric fabric.clab.yml --credentials snmp.conf -o json`,
		Args: args(0, -1),
		RunE: func(cmd *cobra.Command, words []string) error {
			if p.interval < 0 {
				return usagef("--interval is not negative")
			}
			if !(p.rate >= 0) {
				return usagef("--rate is not negative")
			}
			p.targets = append(p.targets, words...)
			return e.poll(cmd.Context(), &p)
		},
	}
	f := cmd.Flags()
	f.StringSliceVar(&p.targets, "target", nil, "ask `HOST[:PORT]`, or all of NETWORK/BITS; may be repeated")
	fabricFlag(cmd, &p.fabric)
	f.StringVar(&p.credentials, "credentials", "", "`FILE` with the community or the user of v3, mode 0600 (default: "+snmp.CommunityVariable+")")
	f.Float64Var(&p.rate, "rate", 0, "most packets a second, to all agents together (default: no bound but that to each)")
	f.DurationVar(&p.interval, "interval", 0, "read twice, so `LONG` apart, and tell what was counted in between")
	outputFlag(cmd, &p.output, "text", "json")
	return cmd
}

// agents are whom to ask: targets that were named, and those that are of a network, of which not all need to be there.
type agents struct {
	targets []string
	// names are the fabric's names for targets.
	names   map[string]string
	scanned map[string]bool
}

// agents resolves the flags; f may be nil.
func (p *polling) agents(f *graphs.Fabric) (*agents, error) {
	a := &agents{names: map[string]string{}, scanned: map[string]bool{}}
	seen := map[string]bool{}
	add := func(targets ...string) {
		for _, t := range targets {
			if !seen[t] {
				seen[t] = true
				a.targets = append(a.targets, t)
			}
		}
	}
	for _, word := range p.targets {
		of, err := snmp.Targets(word)
		if err != nil {
			return nil, usageError{errors.New(graphs.Clean(err.Error()))}
		}
		for _, t := range of {
			a.scanned[t] = t != word
		}
		add(of...)
	}
	if f != nil {
		for i := range f.NumNodes() {
			if n := f.Node(graphs.NodeID(i)); n.Management.IsValid() && !n.IsHost() {
				a.names[n.Management.String()] = n.Name
				add(n.Management.String())
			}
		}
		if len(a.targets) == 0 {
			return nil, fmt.Errorf("no switch of %s has a management address", graphs.Clean(p.fabric))
		}
	}
	if len(a.targets) == 0 {
		return nil, withHint(usagef("nobody to ask"), "name agents with --target, or a fabric with --fabric")
	}
	if len(a.targets) > snmp.MostAddresses {
		return nil, usagef("%d targets are more than %d", len(a.targets), snmp.MostAddresses)
	}
	return a, nil
}

// poll reads agents and prints what they say.
func (e *env) poll(ctx context.Context, p *polling) error {
	f, err := e.optionalFabric(p.fabric)
	if err != nil {
		return err
	}
	a, err := p.agents(f)
	if err != nil {
		return err
	}
	c, err := credentialsOf(p.credentials)
	if err != nil {
		return err
	}
	poller := snmp.NewPoller(snmp.PollerConfig{Targets: a.targets, Credentials: c, Rate: p.rate})
	defer poller.Close()
	all := ""
	if p.rate > 0 {
		all = fmt.Sprintf(" and %g to all", p.rate)
	}
	e.say("asks %s with %s, reading only: one request in flight to each, at most %d packets/s to any one%s, and at most %d of them at a time",
		plural(len(a.targets), "agent"), c, snmp.MostRequests, all, poller.Workers())
	first := poller.Poll(ctx)
	last := first
	if p.interval > 0 {
		select {
		case <-time.After(p.interval):
		case <-ctx.Done():
			return ctx.Err()
		}
		last = poller.Poll(ctx)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	result := pollResult{Agents: []agentJSON{}}
	silent, failed := 0, 0
	var why error // why the first of them failed
	for i, r := range last {
		if r.Err != nil && a.scanned[r.Target] && snmp.IsSilent(r.Err) {
			silent++
			continue
		}
		if r.Err != nil {
			failed++
			why = cmp.Or(why, r.Err)
		}
		var before *snmp.Reading
		if p.interval > 0 {
			before = first[i]
		}
		result.Agents = append(result.Agents, agentOf(r, before, a.names[r.Target]))
	}
	if silent > 0 {
		e.say("%d of %d addresses did not answer", silent, len(last))
	}
	if err := e.printPoll(&result, p.output); err != nil {
		return err
	}
	switch {
	case failed > 0:
		return withSNMPHint(fmt.Errorf("%d of %s failed: %s", failed, plural(len(result.Agents), "agent"), result.failures()), why, c)
	case silent == len(last):
		return withSNMPHint(errors.New("nobody answered"), snmp.ErrNoAnswer, c)
	}
	return nil
}

// credentialsOf reads the credentials of a file, or those of the environment if none is named, and says where they may be set if that fails.
func credentialsOf(file string) (snmp.Credentials, error) {
	c, err := snmp.LoadCredentials(file)
	if err != nil {
		return c, withHint(err, "community NAME, or user, auth and priv, stand in a file of mode 0600 that --credentials names")
	}
	return c, nil
}

// withSNMPHint adds to an error what to look at where that is why agents failed.
func withSNMPHint(err, why error, c snmp.Credentials) error {
	hint := ""
	switch {
	case errors.Is(why, snmp.ErrNoAnswer) && c.User != "":
		hint = "an agent is silent if the priv password or protocol is wrong, if it does not serve this host, or if it is not there"
	case errors.Is(why, snmp.ErrNoAnswer):
		hint = "an agent is silent if the community is wrong, if it does not serve this host, or if it is not there"
	case errors.Is(why, snmp.ErrRefused):
		hint = "the host is there; HOST:PORT names another port than 161"
	case errors.Is(why, snmp.ErrUnreachable):
		hint = "ask from a machine that has a way into the management network"
	case errors.Is(why, snmp.ErrName):
		hint = "name agents by their addresses, or all switches of a fabric with --fabric"
	case errors.Is(why, snmp.ErrCredentials):
		hint = "compare user, auth and priv of the credentials with those that the agent knows"
	default:
		return err
	}
	return withHint(err, "%s", hint)
}

// failures lists the agents that failed, by what their errors say.
func (r *pollResult) failures() string {
	who := map[string][]string{}
	for i := range r.Agents {
		if a := &r.Agents[i]; a.Error != "" {
			who[a.reason()] = append(who[a.reason()], a.who())
		}
	}
	var all []string
	for _, why := range slices.Sorted(maps.Keys(who)) {
		all = append(all, someOf(who[why])+": "+why)
	}
	return strings.Join(all, "; ")
}
