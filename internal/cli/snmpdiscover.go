package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"whichlink/graphs"
	"whichlink/graphs/formats"
	"whichlink/probes/snmp"
)

// discovering is the flags of snmp discover.
type discovering struct {
	output, out, name, credentials string
	within                         []string
	limit                          time.Duration
	crawl                          snmp.CrawlConfig
}

func newSNMPDiscoverCmd(e *env) *cobra.Command {
	var d discovering
	cmd := &cobra.Command{
		Use:   "discover SEED...",
		Short: "The fabric as its switches hear each other by LLDP and CDP",
		Long: `Discover asks the agents of the seeds (HOST or HOST:PORT) who they are, what ports they have, and whom these hear by LLDP, or by CDP where LLDP
hears nobody. Then it asks the neighbours, and so on. What is found is written as a fabric file, with the ports' own names, speeds and IPv4
addresses. Give it to whichlink fabric diff to compare it with the plan.

Neighbours are asked at the addresses at which they say that they are managed, at the port of the agent that told of them; their names are not resolved.
Since a neighbour may tell any address, and SNMPv2c shows its community to whoever is asked, only private addresses and those near a seed
(256 addresses) are asked, or those within the networks of --within.

Whose port a number means is found by the port's identifier, its description, the bridge port or the interface's index, in that order, and by what the
other end says; -v tells for each neighbour which it was. Agents that do not answer, links of which only one end tells, and names that
two systems share are told on standard error.`,
		Example: `  WHICHLINK_SNMP_COMMUNITY=... whichlink snmp discover 10.0.0.1 --out found.clab.yml
  whichlink fabric diff plan.clab.yml found.clab.yml`,
		Args: args(1, -1),
		RunE: func(cmd *cobra.Command, seeds []string) error { return e.discover(cmd.Context(), &d, seeds) },
	}
	f := cmd.Flags()
	outputFlag(cmd, &d.output, "yaml", "json")
	f.StringVar(&d.out, "out", "-", "write the fabric to `FILE`, whole or not at all; - is standard output")
	f.StringVar(&d.name, "name", "discovered", "`NAME` of the fabric")
	f.StringVar(&d.credentials, "credentials", "", "`FILE` with the community or the user of v3, mode 0600 (default: "+snmp.CommunityVariable+")")
	f.StringSliceVar(&d.within, "within", nil, "ask only addresses in these `NETWORKS`, and the seeds")
	f.IntVar(&d.crawl.Agents, "agents", 2000, "ask at most `N` agents")
	f.IntVar(&d.crawl.Depth, "depth", 64, "go at most `N` hops from the seeds")
	f.DurationVar(&d.limit, "for", 10*time.Minute, "take at most this `TIME`; what is known by then is written")
	f.Float64Var(&d.crawl.Rate, "rate", 500, "send at most `N` packets a second")
	return cmd
}

// plan checks the flags and completes the crawl's configuration.
func (d *discovering) plan(seeds []string) error {
	if d.crawl.Agents < 1 || d.crawl.Depth < 1 || d.limit <= 0 || !(d.crawl.Rate > 0) {
		return usagef("--agents, --depth, --for and --rate are more than 0")
	}
	d.crawl.Within = snmp.Near(seeds)
	if len(d.within) > 0 {
		d.crawl.Within = nil
	}
	for _, w := range d.within {
		p, err := netip.ParsePrefix(w)
		if err != nil {
			return usagef("--within %s is no network such as 10.0.0.0/16", graphs.Clean(w))
		}
		d.crawl.Within = append(d.crawl.Within, p.Masked())
	}
	return nil
}

func (e *env) discover(ctx context.Context, d *discovering, seeds []string) error {
	if err := d.plan(seeds); err != nil {
		return err
	}
	c := d.crawl
	var err error
	if c.Credentials, err = credentialsOf(d.credentials); err != nil {
		return err
	}
	c.Log = e.logger()
	e.say("asks %s, then the neighbours that they tell of in %s: names, ports, addresses and neighbours, read only; at most %d agents, %d hops, %g packets/s, %s",
		plural(len(seeds), "seed"), networks(c.Within), c.Agents, c.Depth, c.Rate, d.limit)
	ctx, cancel := context.WithTimeout(ctx, d.limit)
	defer cancel()
	crawled, err := snmp.Crawl(ctx, seeds, c)
	if err != nil {
		return usageError{err}
	}
	notes := append(crawlNotes(crawled), snmp.Resolve(answered(crawled.Systems))...)
	e.sayMappings(crawled.Systems)
	if len(answered(crawled.Systems)) == 0 {
		e.sayAll(notes)
		return withSNMPHint(errors.New("no agent answered"), crawled.Systems[0].Err, c.Credentials)
	}
	file, err := formats.Join(d.name, devices(answered(crawled.Systems)))
	if err != nil {
		return err
	}
	notes = append(notes, file.Notes...)
	for _, l := range file.Loops {
		notes = append(notes, fmt.Sprintf("a cable leads from a system to itself: %s to %s: no link of a fabric", l[0], l[1]))
	}
	e.sayAll(notes)
	if d.output == "yaml" || d.out != "-" {
		if err := e.putFabric(d.out, file.Fabric); err != nil {
			return err
		}
	}
	if d.output == "json" {
		return printJSON(e.stdout, discoveryJSON(crawled, file, notes))
	}
	return nil
}

func (e *env) sayAll(notes []string) {
	for _, n := range notes {
		e.say("%s", n)
	}
}

// networks lists some networks in words.
func networks(of []netip.Prefix) string {
	var words []string
	for _, p := range of {
		words = append(words, p.String())
	}
	return strings.Join(words, ", ")
}

// answered leaves out the systems that said nothing.
func answered(systems []*snmp.System) []*snmp.System {
	return slices.DeleteFunc(slices.Clone(systems), func(s *snmp.System) bool { return !s.Answered() })
}

// crawlNotes say what is not known, and why.
func crawlNotes(c *snmp.Crawled) []string {
	var notes []string
	note := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	for _, s := range c.Systems {
		switch {
		case !s.Answered():
			who := ""
			if s.HeardAs != "" {
				who = " (" + s.HeardAs + " as its neighbours say)"
			}
			note("%s%s: what it hears is not known", graphs.Clean(s.Err.Error()), who)
		case s.Err != nil:
			note("%s was read in part: %s", cmp.Or(s.Name, s.Target), graphs.Clean(s.Err.Error()))
		case s.Deaf && s.Uptime > 0 && s.Uptime < restarted:
			note("%s serves neither LLDP nor CDP, and its agent began %s ago: ask again, its neighbours may come", cmp.Or(s.Name, s.Target), s.Uptime.Round(time.Second))
		case s.Deaf:
			note("%s serves neither LLDP nor CDP", cmp.Or(s.Name, s.Target))
		case len(s.Hears) == 0 && s.Uptime > 0 && s.Uptime < restarted:
			note("%s hears nobody, and its agent began %s ago: ask again, its neighbours may come", s.Name, s.Uptime.Round(time.Second))
		case len(s.Hears) == 0:
			note("%s hears nobody", s.Name)
		}
	}
	if n := len(c.Outside); n > 0 {
		note("not asked, since --within leaves out what neighbours told (%d): %s", n, firstFew(c.Outside))
	}
	if c.Unaddressed > 0 {
		note("not asked, since they tell no address: %s", plural(c.Unaddressed, "neighbour"))
	}
	if c.Cut != "" {
		note("not all was asked: %s", c.Cut)
	}
	return notes
}

// restarted is how long after its beginning an agent may not have heard its neighbours yet: LLDP's usual interval is 30 s, and subagents attach late.
const restarted = time.Minute

func firstFew(of []netip.Addr) string {
	var words []string
	for _, a := range of[:min(len(of), 5)] {
		words = append(words, a.String())
	}
	if len(of) > 5 {
		words = append(words, "...")
	}
	return strings.Join(words, ", ")
}

// sayMappings tells with -v how each port of a neighbour was found.
func (e *env) sayMappings(systems []*snmp.System) {
	if !e.verbose {
		return
	}
	for _, s := range answered(systems) {
		for i := range s.Hears {
			h := &s.Hears[i]
			port := "no port that can be told"
			if h.Port != "" {
				port = fmt.Sprintf("%s, by %s", h.Port, h.Step)
			}
			far := fmt.Sprintf("%s port %s, as it tells", cmp.Or(h.Name, h.Chassis.Text), h.PortID.Text)
			if h.FarPort != "" {
				far = fmt.Sprintf("%s:%s, by %s", answered(systems)[h.Far].Name, h.FarPort, h.FarStep)
			}
			e.say("%s: %s port %d is %s; hears %s", s.Name, h.Protocol, h.Number, port, far)
		}
	}
}
