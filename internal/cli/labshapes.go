package cli

import (
	"github.com/spf13/cobra"

	"whichlink/graphs"
	"whichlink/graphs/generate"
)

// shapeCmds are the commands that make a fabric from parameters, one a shape; use gets the fabric.
func shapeCmds(use func(cmd *cobra.Command, f *graphs.Fabric) error) []*cobra.Command {
	var ls generate.LeafSpineConfig
	leafspine := &cobra.Command{
		Use: "leafspine", Short: "two tiers: every leaf has a link to every spine", Args: args(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return useShape(cmd, use)(generate.LeafSpine(ls)) },
	}
	leafspine.Flags().IntVar(&ls.Leaves, "leaves", 4, "how many leaves")
	leafspine.Flags().IntVar(&ls.Spines, "spines", 4, "how many spines")
	leafspine.Flags().IntVar(&ls.Hosts, "hosts", 2, "hosts a leaf")
	leafspine.Flags().BoolVar(&ls.IPv6, "ipv6", false, "IPv6 addresses too")

	var ft generate.FatTreeConfig
	fattree := &cobra.Command{
		Use: "fattree", Short: "three tiers of switches with k ports each", Args: args(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return useShape(cmd, use)(generate.FatTree(ft)) },
	}
	fattree.Flags().IntVar(&ft.K, "k", 4, "ports of a switch, even")
	fattree.Flags().BoolVar(&ft.IPv6, "ipv6", false, "IPv6 addresses too")

	var rr generate.RandomRegularConfig
	random := &cobra.Command{
		Use: "random", Short: "random graph: every switch has the same number of links to others", Args: args(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return useShape(cmd, use)(generate.RandomRegular(rr)) },
	}
	random.Flags().IntVar(&rr.Switches, "switches", 16, "how many switches")
	random.Flags().IntVar(&rr.Degree, "degree", 4, "links of a switch to other switches")
	random.Flags().IntVar(&rr.Hosts, "hosts", 1, "hosts a switch")
	random.Flags().Uint64Var(&rr.Seed, "seed", 1, "decides the graph; the same seed gives the same fabric")
	random.Flags().BoolVar(&rr.IPv6, "ipv6", false, "IPv6 addresses too")
	return []*cobra.Command{leafspine, fattree, random}
}

// useShape hands a fabric on. Parameters that make none are wrong usage.
func useShape(cmd *cobra.Command, use func(*cobra.Command, *graphs.Fabric) error) func(*graphs.Fabric, error) error {
	return func(f *graphs.Fabric, err error) error {
		if err != nil {
			return usageError{err}
		}
		return use(cmd, f)
	}
}
