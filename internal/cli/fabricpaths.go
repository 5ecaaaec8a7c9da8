package cli

import (
	"fmt"
	"io"
	"net/netip"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"whichlink/graphs"
	"whichlink/pathfind"
)

// pathSet is what fabric paths prints as JSON.
type pathSet struct {
	Src   string       `json:"src"`
	Dst   string       `json:"dst"`
	Model string       `json:"model"`
	Count float64      `json:"count"`
	Paths []listedPath `json:"paths"`
	// Lengths are the shares of the lengths in links.
	Lengths   map[string]float64 `json:"lengths"`
	Disjoint  int                `json:"disjoint"`
	ArcShares map[string]float64 `json:"arc_shares"`
}

type listedPath struct {
	Nodes []string `json:"nodes"`
	Arcs  []string `json:"arcs"`
	Share float64  `json:"share"`
}

func newFabricPathsCmd(e *env) *cobra.Command {
	var fabric, output, model string
	var limit int
	cmd := &cobra.Command{
		Use:   "paths --fabric FILE SRC DST",
		Short: "The paths that a pair may take, with their shares",
		Long: `Paths lists the paths from SRC to DST, names or addresses of hosts or switches, under a forwarding model, with the share of
flows that take each, and the share that crosses each arc.`,
		Args: args(2, 2),
		RunE: func(cmd *cobra.Command, pair []string) error {
			if err := oneOf(output, "text", "json"); err != nil {
				return err
			}
			if model != "ecmp" {
				return withHint(usagef("no forwarding model is called %q", graphs.Clean(model)), "the models are ecmp")
			}
			if limit < 0 {
				return usagef("--limit is %d: a count cannot be negative", limit)
			}
			f, err := e.openFabric(fabric, nil)
			if err != nil {
				return err
			}
			src, err := findNode(f, pair[0])
			if err != nil {
				return err
			}
			dst, err := findNode(f, pair[1])
			if err != nil {
				return err
			}
			if src == dst {
				return usagef("%s is both ends", f.NodeName(src))
			}
			set := pathsBetween(f, src, dst, model, limit)
			if output == "json" {
				return printJSON(e.stdout, set)
			}
			return printPaths(e.stdout, set)
		},
	}
	fabricFlag(cmd, &fabric)
	outputFlag(cmd, &output, "text", "json")
	cmd.Flags().StringVar(&model, "model", "ecmp", "forwarding `MODEL`: ecmp")
	cmd.Flags().IntVar(&limit, "limit", 1000, "list no more than `N` paths; where there are more, only count them")
	return cmd
}

// findNode finds a node by its name or by one of its addresses.
func findNode(f *graphs.Fabric, name string) (graphs.NodeID, error) {
	if n, ok := f.NodeByName(name); ok {
		return n, nil
	}
	if a, err := netip.ParseAddr(name); err == nil {
		if o, ok := f.Owner(a); ok {
			return o.Node, nil
		}
	}
	return graphs.None, usagef("no node of fabric %s is called %q", f.Name(), graphs.Clean(name))
}

func pathsBetween(f *graphs.Fabric, src, dst graphs.NodeID, model string, limit int) pathSet {
	ecmp := pathfind.NewECMP(f)
	paths, count := ecmp.Paths(src, dst, limit)
	set := pathSet{
		Src: f.NodeName(src), Dst: f.NodeName(dst), Model: model, Count: count,
		Lengths: map[string]float64{}, ArcShares: map[string]float64{}, Disjoint: ecmp.Disjoint(src, dst),
	}
	if d := ecmp.Distance(src, dst); d > 0 {
		set.Lengths[strconv.Itoa(d)] = 1
	}
	if count == 0 {
		set.Paths = []listedPath{}
	}
	for _, p := range paths {
		l := listedPath{Nodes: []string{set.Src}, Share: p.Share}
		for _, a := range p.Arcs {
			l.Nodes = append(l.Nodes, f.NodeName(f.Head(a)))
			l.Arcs = append(l.Arcs, f.ArcName(a))
		}
		set.Paths = append(set.Paths, l)
	}
	for _, s := range ecmp.Shares(src, dst) {
		set.ArcShares[f.ArcName(s.Arc)] = s.Share
	}
	return set
}

func printPaths(w io.Writer, s pathSet) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s to %s, model %s: %.0f paths, %d of them disjoint between switches\n", s.Src, s.Dst, s.Model, s.Count, s.Disjoint)
	if s.Paths == nil {
		fmt.Fprintf(&b, "too many to list; --limit allows more\n")
	}
	for _, p := range s.Paths {
		fmt.Fprintf(&b, "%6.2f %%  %s\n", 100*p.Share, strings.Join(p.Arcs, " "))
	}
	_, err := io.WriteString(w, b.String())
	return err
}
