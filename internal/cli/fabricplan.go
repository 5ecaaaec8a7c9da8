package cli

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"whichlink/graphs"
	"whichlink/pathfind"
	"whichlink/pathfind/plan"
	"whichlink/probes"
)

// planSummary is what fabric plan prints as JSON.
type planSummary struct {
	Flows int `json:"flows"`
	Arcs  int `json:"arcs"`
	// Covered is how many arcs are expected to be crossed as often as they should be, Coverage the same as a share of all.
	Covered   int            `json:"covered"`
	Coverage  float64        `json:"coverage"`
	Crossings int            `json:"crossings"`
	PerHost   map[string]int `json:"per_host"`
	// Seconds is how long tracing every flow once takes, with the switches asked as sparingly as they are by default.
	Seconds float64 `json:"seconds"`
	// Uncovered names the arcs that more likely than not are crossed too seldom; Unreachable counts those of them that no flow can cross.
	Uncovered   []string `json:"uncovered"`
	Unreachable int      `json:"unreachable"`
	// WithoutAddress names the hosts that have none: their flows cannot be sent.
	WithoutAddress []string `json:"without_address,omitempty"`
}

func newFabricPlanCmd(e *env) *cobra.Command {
	var fabric, output, coverage string
	var cfg plan.Config
	cmd := &cobra.Command{
		Use:   "plan FILE",
		Short: "The probe plan and the coverage it expects",
		Long: `Plan says which flows whichlink probe would send to cover every arc of a fabric. Every host makes the same plan of the same
fabric and seed, so that hosts need not talk to each other. Nobody knows beforehand which path a flow takes, so the coverage
is an expectation over all that the switches may hash.

With --coverage the plan has as few flows as it can for that share of the arcs; without it, every host has some flows
and all arcs are covered.`,
		Args: args(0, 1),
		RunE: func(cmd *cobra.Command, given []string) error {
			if err := planLimits(cmd, &cfg, coverage); err != nil {
				return err
			}
			f, err := e.openFabric(fabric, given)
			if err != nil {
				return err
			}
			p, err := plan.Make(pathfind.NewECMP(f), cfg)
			if err != nil {
				return err
			}
			s := summarizePlan(f, p)
			if n := len(s.WithoutAddress); n > 0 {
				e.say("warning: %s without an address, whose flows cannot be sent: %s", plural(n, "host"), someOf(s.WithoutAddress))
			}
			if output == "json" {
				return printJSON(e.stdout, s)
			}
			return printPlan(e.stdout, s)
		},
	}
	fabricFlag(cmd, &fabric)
	outputFlag(cmd, &output, "text", "json")
	cmd.Flags().IntVar(&cfg.Crossings, "crossings", plan.DefaultCrossings, "how often every arc is to be crossed")
	cmd.Flags().IntVar(&cfg.MaxFlows, "max-flows", plan.DefaultMaxFlows, "flows of a host at most")
	cmd.Flags().StringVar(&coverage, "coverage", "", "plan as few flows as can be for this `SHARE` of the arcs, like 99% or 0.99")
	cmd.Flags().Uint64Var(&cfg.Seed, "seed", 1, "chooses among plans that are equally good")
	return cmd
}

// planLimits checks the flags of fabric plan. The zero of a plan.Config is its default, and here nothing that one may ask for.
func planLimits(cmd *cobra.Command, cfg *plan.Config, coverage string) error {
	switch {
	case cfg.Crossings < 1 || cfg.Crossings > plan.MaxCrossings:
		return usagef("--crossings %d is not one of 1 to %d", cfg.Crossings, plan.MaxCrossings)
	case cfg.MaxFlows < 1 || cfg.MaxFlows > plan.MaxMaxFlows:
		return usagef("--max-flows %d is not one of 1 to %d", cfg.MaxFlows, plan.MaxMaxFlows)
	case !cmd.Flags().Changed("coverage"):
		return nil
	}
	number, percent := strings.CutSuffix(coverage, "%")
	share, err := strconv.ParseFloat(number, 64)
	if percent {
		share /= 100
	}
	if err != nil || !(share > 0 && share <= 1) {
		return usagef("--coverage %q is no share above 0 and up to 100%%", graphs.Clean(coverage))
	}
	cfg.Coverage = share
	return nil
}

func summarizePlan(f *graphs.Fabric, p *plan.Plan) planSummary {
	s := planSummary{
		Flows: p.NumFlows(), Arcs: f.NumArcs(), Covered: int(math.Round(p.Covered())), Coverage: p.Covered() / float64(f.NumArcs()),
		Crossings: p.Crossings(), PerHost: map[string]int{}, Seconds: p.TraceSeconds(probes.DefaultSwitchRate), Uncovered: []string{}, Unreachable: len(p.Unreachable()),
	}
	for _, h := range p.Hosts() {
		s.PerHost[f.NodeName(h)] = len(p.Flows(h))
	}
	for _, h := range f.Hosts() {
		if !f.Address(h, false).IsValid() && !f.Address(h, true).IsValid() {
			s.WithoutAddress = append(s.WithoutAddress, f.NodeName(h))
		}
	}
	for a := range graphs.ArcID(f.NumArcs()) {
		if p.Lacking(a) > 0.5 {
			s.Uncovered = append(s.Uncovered, f.ArcName(a))
		}
	}
	return s
}

func printPlan(w io.Writer, s planSummary) error {
	var b strings.Builder
	counts := slices.Collect(maps.Values(s.PerHost))
	fmt.Fprintf(&b, "%s, %d to %d a host\n", plural(s.Flows, "flow"), slices.Min(counts), slices.Max(counts))
	often := "once or more"
	if s.Crossings > 1 {
		often = fmt.Sprintf("%d times or more", s.Crossings)
	}
	fmt.Fprintf(&b, "%d of %s are expected to be crossed %s (%.2f %%)\n", s.Covered, plural(s.Arcs, "arc"), often, 100*s.Coverage)
	fmt.Fprintf(&b, "tracing all flows once takes %.1f s\n", s.Seconds)
	if n := len(s.Uncovered); n > 0 {
		fmt.Fprintf(&b, "more likely than not crossed too seldom: %s, of which no flow can cross %d\n", plural(n, "arc"), s.Unreachable)
		const most = 10
		for _, a := range s.Uncovered[:min(most, n)] {
			fmt.Fprintf(&b, "  %s\n", a)
		}
		if n > most {
			fmt.Fprintf(&b, "  and %d more\n", n-most)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
