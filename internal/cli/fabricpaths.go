package cli

import (
	"fmt"
	"net/netip"
	"strconv"

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
	Layers    []pathLayer        `json:"layers"`
	Lost      []pathLoss         `json:"lost,omitempty"`
}

type listedPath struct {
	Nodes []string `json:"nodes"`
	Arcs  []string `json:"arcs"`
	Share float64  `json:"share"`
}

type pathLayer struct {
	Name  string   `json:"name"`
	Nodes []string `json:"nodes"`
	Share float64  `json:"share"`
}

type pathLoss struct {
	Node   string  `json:"node"`
	Reason string  `json:"reason"`
	Share  float64 `json:"share"`
}

func newFabricPathsCmd(e *env) *cobra.Command {
	var fabric, output, model string
	var limit int
	cmd := &cobra.Command{
		Use:   "paths --fabric FILE SRC DST",
		Short: "The paths that a pair may take, with their shares",
		Long: `Paths shows where flows from SRC to DST, names or addresses of hosts or switches, may go under a forwarding model: how long their
paths are, the layers of nodes that they pass, the arcs with the share of flows that crosses each, how many paths have no link between
switches in common, and, where there are few, every path with its share. Lengths are in links from end to end. Layers are the levels
of Spraypoint, the tiers of a Clos, or else hops. The form json has all of it; the form dot is a drawing for Graphviz.

Models:
` + pathfind.SpecForms + `

` + pathfind.FIBForm,
		Args:              args(2, 2),
		ValidArgsFunction: fabricNames(nodes, 2),
		RunE: func(cmd *cobra.Command, pair []string) error {
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
			spec, options, err := findModel(f, model)
			if err != nil {
				return err
			}
			m, err := pathfind.New(f, spec, options)
			if err != nil {
				return err
			}
			w := m.Ways(src, dst)
			switch output {
			case "json":
				return printJSON(e.stdout, pathsBetween(m, w, limit))
			case "dot":
				return drawPaths(e.stdout, f, w)
			}
			if !cmd.Flags().Changed("limit") {
				limit = fewPaths
			}
			return printPaths(e.stdout, m, w, limit)
		},
	}
	fabricFlag(cmd, &fabric)
	outputFlag(cmd, &output, "text", "json", "dot")
	modelFlag(cmd, &model)
	cmd.Flags().IntVar(&limit, "limit", 1000,
		"list the paths if they are no more than `N`, or else only count them; 0 lists none. In text, 20 if it is not given")
	return cmd
}

// findNode finds the node of an argument.
func findNode(f *graphs.Fabric, name string) (graphs.NodeID, error) {
	n, err := nodeNamed(f, name)
	if err != nil {
		return n, usageError{err}
	}
	return n, nil
}

// nodeNamed finds a node by its name or by one of its addresses.
func nodeNamed(f *graphs.Fabric, name string) (graphs.NodeID, error) {
	if n, ok := f.NodeByName(name); ok {
		return n, nil
	}
	if a, err := netip.ParseAddr(name); err == nil {
		if o, ok := f.Owner(a); ok {
			return o.Node, nil
		}
	}
	return graphs.None, fmt.Errorf("no node of fabric %s is called %q", f.Name(), graphs.Clean(name))
}

func pathsBetween(m pathfind.Model, w *pathfind.Ways, limit int) pathSet {
	f := m.Fabric()
	src, dst := w.Ends()
	paths, count := w.Paths(limit)
	set := pathSet{
		Src: f.NodeName(src), Dst: f.NodeName(dst), Model: m.String(), Count: count,
		Lengths: map[string]float64{}, ArcShares: map[string]float64{}, Disjoint: w.Disjoint(),
	}
	for _, l := range w.Lengths() {
		set.Lengths[strconv.Itoa(l.Links)] = l.Share
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
	for _, s := range w.Shares() {
		set.ArcShares[f.ArcName(s.Arc)] = s.Share
	}
	for _, l := range w.Layers() {
		set.Layers = append(set.Layers, pathLayer{l.Name, nodeNames(f, l.Nodes), l.Share})
	}
	for _, l := range w.Losses() {
		set.Lost = append(set.Lost, pathLoss{f.NodeName(l.Node), l.Reason.String(), l.Share})
	}
	return set
}

func nodeNames(f *graphs.Fabric, nodes []graphs.NodeID) []string {
	names := make([]string, len(nodes))
	for i, n := range nodes {
		names[i] = f.NodeName(n)
	}
	return names
}
