package cli

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"whichlink/graphs"
	"whichlink/graphs/generate"
)

// The shapes without tiers, or with tiers only within their groups; the others are with shapeCmds.

func xpanderCmd(use shapeUse) *cobra.Command {
	var c generate.XpanderConfig
	cmd := shapeCmd(use, "xpander", "random lift: meta-nodes of switches, a perfect matching between every two", &c, &c.IPv6, generate.Xpander)
	cmd.Flags().IntVar(&c.Degree, "degree", 4, "links of a switch to other switches; there is one meta-node more")
	cmd.Flags().IntVar(&c.Lift, "lift", 4, "switches of a meta-node")
	cmd.Flags().IntVar(&c.Hosts, "hosts", 1, "hosts a switch")
	shapeSeed(cmd, &c.Seed)
	return cmd
}

func dringCmd(use shapeUse) *cobra.Command {
	var c generate.DRingConfig
	cmd := shapeCmd(use, "dring", "ring of supernodes: every switch linked to those one and two supernodes away", &c, &c.IPv6, generate.DRing)
	cmd.Flags().IntVar(&c.Supernodes, "supernodes", 6, "how many supernodes")
	cmd.Flags().IntVar(&c.Switches, "switches", 12, "switches in all, spread over the supernodes")
	cmd.Flags().IntVar(&c.Hosts, "hosts", 1, "hosts a switch")
	return cmd
}

func slimFlyCmd(use shapeUse) *cobra.Command {
	var c generate.SlimFlyConfig
	cmd := shapeCmd(use, "slimfly", "Slim Fly: 2q² switches, no two more than two links apart", &c, &c.IPv6, generate.SlimFly)
	cmd.Flags().IntVar(&c.Q, "q", 5, "a power of a prime, but 2: 3, 4, 5, 7, 8, 9, 11, ...")
	cmd.Flags().IntVar(&c.Hosts, "hosts", 1, "hosts a switch")
	return cmd
}

func polarFlyCmd(use shapeUse) *cobra.Command {
	var c generate.PolarFlyConfig
	cmd := shapeCmd(use, "polarfly", "PolarFly: q²+q+1 switches, no two more than two links apart", &c, &c.IPv6, generate.PolarFly)
	cmd.Flags().IntVar(&c.Q, "q", 5, "a power of a prime: 2, 3, 4, 5, 7, 8, 9, 11, ...")
	cmd.Flags().IntVar(&c.Hosts, "hosts", 1, "hosts a switch")
	return cmd
}

func dragonflyCmd(use shapeUse) *cobra.Command {
	var c generate.DragonflyConfig
	cmd := shapeCmd(use, "dragonfly", "groups of switches, all linked within, and global links between every two groups", &c, &c.IPv6, generate.Dragonfly)
	cmd.Flags().IntVar(&c.Groups, "groups", 0, "how many groups; 0 is the most that the global links can join")
	cmd.Flags().IntVar(&c.Switches, "switches", 4, "switches of a group")
	cmd.Flags().IntVar(&c.GlobalLinks, "global-links", 2, "links of a switch to other groups")
	cmd.Flags().IntVar(&c.Hosts, "hosts", 1, "hosts a switch")
	return cmd
}

func dragonflyPlusCmd(use shapeUse) *cobra.Command {
	var c generate.DragonflyPlusConfig
	cmd := shapeCmd(use, "dragonflyplus", "a dragonfly whose groups are leaf-spine fabrics", &c, &c.IPv6, generate.DragonflyPlus)
	cmd.Flags().IntVar(&c.Groups, "groups", 0, "how many groups; 0 is the most that the global links can join")
	cmd.Flags().IntVar(&c.Leaves, "leaves", 2, "leaves of a group")
	cmd.Flags().IntVar(&c.Spines, "spines", 2, "spines of a group")
	cmd.Flags().IntVar(&c.GlobalLinks, "global-links", 2, "links of a spine to other groups")
	cmd.Flags().IntVar(&c.Hosts, "hosts", 1, "hosts a leaf")
	return cmd
}

func torusCmd(use shapeUse) *cobra.Command {
	var c generate.TorusConfig
	size := "4x4"
	cmd := shapeCmd(use, "torus", "2D or 3D torus: every switch linked to the next in each dimension", &c, &c.IPv6,
		func(c generate.TorusConfig) (*graphs.Fabric, error) {
			var err error
			if c.Dimensions, err = parseSize(size); err != nil {
				return nil, err
			}
			return generate.Torus(c)
		})
	cmd.Flags().StringVar(&size, "size", size, "switches in each dimension, such as 4x4 or 4x4x4; where that is 2, one link joins the two")
	cmd.Flags().IntVar(&c.Hosts, "hosts", 1, "hosts a switch")
	return cmd
}

// parseSize reads numbers with an x between them.
func parseSize(size string) ([]int, error) {
	var numbers []int
	for word := range strings.SplitSeq(size, "x") {
		n, err := strconv.Atoi(word)
		if err != nil {
			return nil, fmt.Errorf("--size %q, expected numbers such as 4x4 or 4x4x4", graphs.Clean(size))
		}
		numbers = append(numbers, n)
	}
	return numbers, nil
}

func meshCmd(use shapeUse) *cobra.Command {
	var c generate.MeshConfig
	cmd := shapeCmd(use, "mesh", "aggregation blocks, directly joined through optical circuit switches", &c, &c.IPv6, generate.Mesh)
	cmd.Flags().IntVar(&c.Blocks, "blocks", 5, "how many aggregation blocks, each a node")
	cmd.Flags().IntVar(&c.Uplinks, "uplinks", 8, "links of a block to others, a multiple of their number")
	cmd.Flags().IntVar(&c.OCSes, "ocs", 4, "optical circuit switches, over which a block's uplinks are spread equally")
	cmd.Flags().IntVar(&c.Hosts, "hosts", 2, "hosts a block")
	return cmd
}
