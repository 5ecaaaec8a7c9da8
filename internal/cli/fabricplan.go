package cli

import (
	"fmt"
	"io"
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
	// Covered counts the arcs that are expected to be crossed as often as they should be.
	Covered   int            `json:"covered"`
	Crossings int            `json:"crossings"`
	PerHost   map[string]int `json:"per_host"`
	// Seconds is how long tracing every flow once takes, with the switches asked as sparingly as they are by default.
	Seconds float64 `json:"seconds"`
	// Uncovered names the other arcs.
	Uncovered []string `json:"uncovered"`
}

func newFabricPlanCmd(e *env) *cobra.Command {
	var fabric, output string
	var cfg plan.Config
	cmd := &cobra.Command{
		Use:   "plan FILE",
		Short: "The probe plan and the coverage it expects",
		Long: `Plan says which flows whichlink probe would send to cover every arc of a fabric. Every host makes the same plan of the same
fabric and seed, so that hosts need not talk to each other.`,
		Args: args(0, 1),
		RunE: func(cmd *cobra.Command, given []string) error {
			if err := oneOf(output, "text", "json"); err != nil {
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
	cmd.Flags().Uint64Var(&cfg.Seed, "seed", 1, "chooses among plans that are equally good")
	return cmd
}

func summarizePlan(f *graphs.Fabric, p *plan.Plan) planSummary {
	s := planSummary{
		Flows: p.NumFlows(), Arcs: f.NumArcs(), Crossings: p.Crossings(), PerHost: map[string]int{},
		Seconds: p.TraceSeconds(probes.DefaultSwitchRate), Uncovered: []string{},
	}
	for _, h := range p.Hosts() {
		s.PerHost[f.NodeName(h)] = len(p.Flows(h))
	}
	for a := range graphs.ArcID(f.NumArcs()) {
		if p.Expected(a) >= float64(p.Crossings()) {
			s.Covered++
		} else {
			s.Uncovered = append(s.Uncovered, f.ArcName(a))
		}
	}
	return s
}

func printPlan(w io.Writer, s planSummary) error {
	var b strings.Builder
	least, most := 0, 0
	for _, n := range s.PerHost {
		if least == 0 || n < least {
			least = n
		}
		most = max(most, n)
	}
	fmt.Fprintf(&b, "%d flows, %d to %d a host\n", s.Flows, least, most)
	fmt.Fprintf(&b, "%d of %d arcs are expected to be crossed %d times or more\n", s.Covered, s.Arcs, s.Crossings)
	fmt.Fprintf(&b, "tracing all flows once takes %.1f s\n", s.Seconds)
	if len(s.Uncovered) > 0 {
		const most = 10
		fmt.Fprintf(&b, "not covered:\n")
		for _, a := range s.Uncovered[:min(most, len(s.Uncovered))] {
			fmt.Fprintf(&b, "  %s\n", a)
		}
		if n := len(s.Uncovered) - most; n > 0 {
			fmt.Fprintf(&b, "  and %d more\n", n)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
