package cli

import (
	"github.com/spf13/cobra"

	"whichlink/graphs"
	"whichlink/graphs/generate"
)

// A shapeUse does something with the fabric that a shape's command made.
type shapeUse func(cmd *cobra.Command, f *graphs.Fabric) error

// shapes are the commands that make a fabric from parameters, one a shape.
var shapes = []func(shapeUse) *cobra.Command{
	leafSpineCmd, fatTreeCmd, threeTierCmd, railCmd, randomCmd, xpanderCmd, dringCmd, slimFlyCmd, polarFlyCmd, dragonflyCmd,
	dragonflyPlusCmd, torusCmd, meshCmd, rngCmd,
}

func shapeCmds(use shapeUse) []*cobra.Command {
	var cmds []*cobra.Command
	for _, shape := range shapes {
		cmds = append(cmds, shape(use))
	}
	return cmds
}

// shapeCmd is the command of one shape, still without flags but for IPv6. Parameters that make no fabric are wrong usage.
func shapeCmd[C any](use shapeUse, name, short string, c *C, ipv6 *bool, build func(C) (*graphs.Fabric, error)) *cobra.Command {
	cmd := &cobra.Command{
		Use: name, Short: short, Args: args(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			f, err := build(*c)
			if err != nil {
				return usageError{err}
			}
			return use(cmd, f)
		},
	}
	cmd.Flags().BoolVar(ipv6, "ipv6", false, "IPv6 addresses too")
	return cmd
}

func leafSpineCmd(use shapeUse) *cobra.Command {
	var c generate.LeafSpineConfig
	cmd := shapeCmd(use, "leafspine", "two tiers: every leaf has a link to every spine", &c, &c.IPv6, generate.LeafSpine)
	cmd.Flags().IntVar(&c.Leaves, "leaves", 4, "how many leaves")
	cmd.Flags().IntVar(&c.Spines, "spines", 4, "how many spines")
	cmd.Flags().IntVar(&c.Hosts, "hosts", 2, "hosts a leaf")
	return cmd
}

func fatTreeCmd(use shapeUse) *cobra.Command {
	var c generate.FatTreeConfig
	cmd := shapeCmd(use, "fattree", "three tiers of switches with k ports each", &c, &c.IPv6, generate.FatTree)
	cmd.Flags().IntVar(&c.K, "k", 4, "ports of a switch, even")
	return cmd
}

func threeTierCmd(use shapeUse) *cobra.Command {
	var c generate.ThreeTierConfig
	cmd := shapeCmd(use, "threetier", "AI zones: rack, cluster and aggregation switches, oversubscribed at the top", &c, &c.IPv6, generate.ThreeTier)
	cmd.Long = `Threetier makes zones in which every rack switch has a link to every cluster switch, and every cluster switch one to every
aggregation switch above the zones. All links have the same speed, so a cluster switch is oversubscribed by racks to aggregation
switches, and a rack by hosts times network cards to cluster switches.

The 32k-GPU cluster of the example has 8 zones of 252 racks with 16 GPUs each. Its cluster switches have 252 ports down and 36 up,
which is 7 to 1; its racks have 16 down and 18 up.`
	cmd.Example = "  whichlink fabric new threetier --zones 8 --racks 252 --cluster-switches 18 --aggregation 36 --hosts 2 --nics 8"
	cmd.Flags().IntVar(&c.Zones, "zones", 2, "how many zones")
	cmd.Flags().IntVar(&c.Racks, "racks", 4, "racks, and rack switches, a zone")
	cmd.Flags().IntVar(&c.ClusterSwitches, "cluster-switches", 2, "cluster switches a zone")
	cmd.Flags().IntVar(&c.Aggregation, "aggregation", 2, "aggregation switches above all zones")
	cmd.Flags().IntVar(&c.Hosts, "hosts", 1, "hosts a rack")
	cmd.Flags().IntVar(&c.NICs, "nics", 1, "links of a host to its rack switch, one a GPU")
	return cmd
}

func railCmd(use shapeUse) *cobra.Command {
	var c generate.RailConfig
	cmd := shapeCmd(use, "rail", "rail-optimised: each GPU of a host on a leaf of its own rail, no blocking above", &c, &c.IPv6, generate.Rail)
	cmd.Example = "  whichlink fabric new rail --gpus 512 --rails 8"
	cmd.Flags().IntVar(&c.GPUs, "gpus", 512, "how many GPUs, a multiple of the rails")
	cmd.Flags().IntVar(&c.Rails, "rails", 8, "rails: GPUs, and network cards, of a host")
	cmd.Flags().IntVar(&c.Ports, "ports", 64, "ports of a switch; a leaf has half of them down at most")
	return cmd
}

func randomCmd(use shapeUse) *cobra.Command {
	var c generate.RandomRegularConfig
	cmd := shapeCmd(use, "random", "random graph: every switch has the same number of links to others", &c, &c.IPv6, generate.RandomRegular)
	cmd.Flags().IntVar(&c.Switches, "switches", 16, "how many switches")
	cmd.Flags().IntVar(&c.Degree, "degree", 4, "links of a switch to other switches")
	cmd.Flags().IntVar(&c.Hosts, "hosts", 1, "hosts a switch")
	shapeSeed(cmd, &c.Seed)
	return cmd
}

// shapeSeed adds the seed of a shape that is left to chance.
func shapeSeed(cmd *cobra.Command, seed *uint64) {
	cmd.Flags().Uint64Var(seed, "seed", 1, "decides the graph; the same seed gives the same fabric")
}
