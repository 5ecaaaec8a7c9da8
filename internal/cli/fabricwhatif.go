package cli

import (
	"github.com/spf13/cobra"

	"whichlink/graphs"
	"whichlink/pathfind"
	"whichlink/pathfind/whatif"
)

func newFabricWhatIfCmd(e *env) *cobra.Command {
	var fabric, output, model, matrix, neighbours string
	var fail, drain []string
	var c whatif.Config
	cmd := &cobra.Command{
		Use:   "whatif --fabric FILE (--fail NAME | --drain NAME)...",
		Short: "What is lost when nodes, links, groups or cables fail or are drained",
		Long: `Whatif says what a fabric loses, the worst first: links, capacity and neighbours of switches, links of hosts, and what pairs of
switches lose. Of a pair it tells

  usable     what it may send, alone, until the first of its links is full, its flows being shared out by the forwarding model
  disjoint   how many of its paths have no link between switches in common
  max-flow   the capacity between the two switches, however it would have to be routed
  at first   the share of its flows that is lost until routes change: those that cross what fails. Nothing is lost by draining

Then the load that a traffic matrix puts on the links between switches, before and after. Pairs are of switches that have hosts; where
there are more than --pairs, those that are likely to lose most are looked at, and others drawn by --seed.

A NAME is a node, a link (a:p--b:q, or a--b if it is the only one), or a shared-risk group, which may be a cable of many lanes; where a
name may be two of these, node=, link= or group= before it says which. What is drained goes before anything fails. It is
a rule of maintenance that no two neighbours of a ToR are out at once: --neighbours changes how many may be.

Models:
` + pathfind.SpecForms + `

Matrices:
` + matrixForms,
		Example: `  whichlink fabric whatif --fabric f.clab.yml --fail leaf1:swp1--spine1:swp1
  whichlink fabric whatif --fabric rng.clab.yml --drain sw0117 --drain sw0509 --fail 'group=trunk 3/4' --matrix permutation:7
  whichlink fabric whatif --fabric f.clab.yml --drain spine2 --matrix 'alltoall:h1-1,h2-1,h3-1' -o json`,
		Args: args(0, 1),
		RunE: func(cmd *cobra.Command, given []string) error {
			if len(fail)+len(drain) == 0 {
				return withHint(usagef("nothing is to fail or to be drained"), "use --fail NAME or --drain NAME: a node, a link or a shared-risk group")
			}
			if c.Pairs < 1 {
				return usagef("--pairs is %d: at least 1 is needed", c.Pairs)
			}
			var err error
			if c.Neighbours, err = whatif.ParseLimit(neighbours); err != nil {
				return usagef("--neighbours: %w", err)
			}
			if c.Fabric, err = e.openFabric(fabric, given); err != nil {
				return err
			}
			if c.Fail, err = findThings(c.Fabric, fail); err != nil {
				return err
			}
			if c.Drain, err = findThings(c.Fabric, drain); err != nil {
				return err
			}
			if c.Matrix, err = findMatrix(c.Fabric, matrix, c.Seed); err != nil {
				return err
			}
			if err := e.forwardWhatIf(&c, model); err != nil {
				return err
			}
			a, err := whatif.Ask(c)
			if err != nil {
				return err
			}
			if output == "json" {
				return printJSON(e.stdout, whatIfJSON(&c, a))
			}
			return printWhatIf(e.stdout, &c, a)
		},
	}
	fabricFlag(cmd, &fabric)
	outputFlag(cmd, &output, "text", "json")
	modelFlag(cmd, &model)
	matrixFlag(cmd, &matrix)
	flags := cmd.Flags()
	flags.StringArrayVar(&fail, "fail", nil, "`NAME` fails without warning; may be repeated")
	flags.StringArrayVar(&drain, "drain", nil, "`NAME` is drained before anything fails; may be repeated")
	nameFlag(cmd, "fail", nodes|links|groups)
	nameFlag(cmd, "drain", nodes|links|groups)
	flags.StringVar(&neighbours, "neighbours", "1", "how many neighbours of a ToR may go at once: a `NUMBER`, or a share such as 5%")
	flags.IntVar(&c.Pairs, "pairs", whatif.DefaultPairs, "look at `N` pairs at most")
	flags.Uint64Var(&c.Seed, "seed", 1, "draws pairs, and a permutation that names no seed")
	return cmd
}

func findThings(f *graphs.Fabric, names []string) ([]whatif.Thing, error) {
	var things []whatif.Thing
	for _, name := range names {
		t, err := whatif.Find(f, name)
		if err != nil {
			return nil, usageError{err}
		}
		things = append(things, t)
	}
	return things, nil
}

// manySwitches is where loads that are computed pair by pair begin to take minutes.
const manySwitches = 300

// forwardWhatIf sets how the question's fabric forwards.
func (e *env) forwardWhatIf(c *whatif.Config, model string) error {
	spec, options, err := findModel(c.Fabric, model)
	if err != nil {
		return err
	}
	c.ByHost = spec.Kind == "fib"
	c.Model = func(down func(graphs.LinkID) bool) (pathfind.Model, error) {
		options.Down = down
		return pathfind.New(c.Fabric, spec, options)
	}
	slow := spec.Kind == "ksp" || spec.Kind == "su" && spec.K > 2
	if n := len(c.Fabric.Switches()); slow && c.Matrix != nil && n > manySwitches {
		e.say("the load of %d switches under %s is computed pair by pair, and may take long; --matrix none leaves it out", n, spec)
	}
	return nil
}

// nameThings lists things by kind and name.
func nameThings(things []whatif.Thing) []string {
	names := make([]string, len(things))
	for i, t := range things {
		names[i] = string(t.Kind) + " " + t.Name
		if i < len(things)-1 {
			names[i] += ","
		}
	}
	return names
}
