package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"whichlink/graphs/generate"
)

// rngCmd makes a fabric of Resilient Network Graphs and says on standard error what its cabling came to.
func rngCmd(use shapeUse) *cobra.Command {
	var c generate.RNGConfig
	cmd := &cobra.Command{
		Use: "rng", Short: "resilient network graph: routers cabled by ShuffleBoxes into a quasi-random graph", Args: args(0, 0),
		Long: `Rng makes a fabric of AWS's Resilient Network Graphs, with its cabling: transceivers on ShuffleBoxes, trunks between boxes of different
rooms, ShuffleBacks on what is left. The shared-risk groups of a link are all that its light passes.`,
		Example: "  whichlink fabric new rng --routers 1000 --degree 64 --out rng.clab.yml",
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := generate.RNG(c)
			if err != nil {
				return usageError{err}
			}
			if quiet, _ := cmd.Flags().GetBool("quiet"); !quiet {
				for _, n := range p.Notes() {
					fmt.Fprintf(cmd.ErrOrStderr(), "whichlink: %s: %s\n", p.Fabric().Name(), n)
				}
			}
			return use(cmd, p.Fabric())
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&c.Routers, "routers", 32, "how many routers, all of them ToRs")
	flags.IntVar(&c.Degree, "degree", 8, "fabric uplinks of a router, each a lane of a transceiver")
	flags.IntVar(&c.Breakout, "breakout", 4, "lanes of a transceiver, and c-ports of a ShuffleBox")
	flags.IntVar(&c.RPorts, "rports", 32, "r-ports of a ShuffleBox")
	flags.IntVar(&c.Rooms, "rooms", 0, "how many rooms; 0 is one for every 100 routers, 10 at most")
	flags.IntVar(&c.Boxes, "boxes", 0, "ShuffleBoxes in a room's panel; 0 is as many as are needed")
	flags.IntVar(&c.Hosts, "hosts", 1, "hosts a router")
	shapeSeed(cmd, &c.Seed)
	flags.BoolVar(&c.IPv6, "ipv6", false, "IPv6 addresses too")
	return cmd
}
