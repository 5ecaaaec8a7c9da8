package cli

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"whichlink/graphs"
)

// fabricShape is what fabric show prints as JSON.
type fabricShape struct {
	Name     string              `json:"name"`
	Nodes    int                 `json:"nodes"`
	Hosts    int                 `json:"hosts"`
	Switches int                 `json:"switches"`
	Ports    int                 `json:"ports"`
	Links    int                 `json:"links"`
	Arcs     int                 `json:"arcs"`
	Degree   span                `json:"degree"`
	Diameter int                 `json:"diameter"`
	MeanPath float64             `json:"mean_path_length"`
	Parts    int                 `json:"parts"`
	Roles    map[graphs.Role]int `json:"roles"`
	Groups   int                 `json:"groups"`
	// Triangles counts the sets of three switches that are all linked with each other.
	Triangles int `json:"triangles"`
	// Spectral is null where the switches are not connected.
	Spectral  *spectral  `json:"spectral"`
	Bisection *bisection `json:"bisection"`
	Diversity diversity  `json:"diversity"`
}

type span struct {
	Min  int     `json:"min"`
	Max  int     `json:"max"`
	Mean float64 `json:"mean"`
}

type spectral struct {
	Lambda1 float64 `json:"lambda1"`
	Lambda2 float64 `json:"lambda2"`
	// Gap is of the adjacency matrix, LaplacianGap of the normalised Laplacian.
	Gap          float64 `json:"gap"`
	LaplacianGap float64 `json:"laplacian_gap"`
}

type bisection struct {
	// Of is what is halved: hosts or switches.
	Of    string `json:"of"`
	Sides [2]int `json:"sides"`
	// Links are those of the best cut found; every cut has AtLeast so many.
	Links   int `json:"links"`
	AtLeast int `json:"at_least"`
}

// diversity is of pairs of switches that have hosts.
type diversity struct {
	Pairs         int     `json:"pairs"`
	ShortestPaths float64 `json:"shortest_paths"`
	// Single is the share of pairs with a single shortest path.
	Single float64 `json:"single"`
	// Disjoint counts paths of any length that share no link, of a sample of pairs.
	Disjoint struct {
		Pairs int `json:"pairs"`
		span
	} `json:"disjoint"`
}

func describeShape(f *graphs.Fabric) fabricShape {
	s := f.Shape()
	d := fabricShape{
		Name: f.Name(), Nodes: s.Nodes, Hosts: s.Hosts, Switches: s.Switches, Ports: s.Ports, Links: s.Links, Arcs: s.Arcs, Degree: span(s.Degree),
		Diameter: s.Diameter, MeanPath: s.MeanPath, Parts: s.Parts, Roles: s.Roles, Groups: f.NumGroups(), Triangles: s.Triangles,
		Diversity: diversity{Pairs: s.Diversity.Pairs, ShortestPaths: s.Diversity.Mean, Single: s.Diversity.Single},
	}
	if x, ok := f.Spectrum(); ok {
		d.Spectral = &spectral{Lambda1: x.Lambda1, Lambda2: x.Lambda2, Gap: x.Gap, LaplacianGap: x.Laplacian}
	}
	if x, ok := f.Bisection(); ok {
		d.Bisection = &bisection{Of: "switches", Sides: x.Sides, Links: x.Cut, AtLeast: int(math.Ceil(x.Bound - 1e-6))}
		if x.ByHosts {
			d.Bisection.Of = "hosts"
		}
	}
	x := f.Disjoint()
	d.Diversity.Disjoint.Pairs, d.Diversity.Disjoint.span = x.Pairs, span(x.Paths)
	return d
}

func printShape(w io.Writer, s fabricShape) error {
	var roles []string
	for _, r := range slices.Sorted(maps.Keys(s.Roles)) {
		if r != graphs.RoleHost {
			roles = append(roles, fmt.Sprintf("%d %s", s.Roles[r], r))
		}
	}
	var b strings.Builder
	b.WriteString(s.Name + ": " + plural(s.Switches, "switch"))
	if len(roles) > 0 {
		fmt.Fprintf(&b, " (%s)", strings.Join(roles, ", "))
	}
	fmt.Fprintf(&b, ", %s, %s, %s\n", plural(s.Hosts, "host"), plural(s.Links, "link"), plural(s.Ports, "port"))
	fmt.Fprintf(&b, "links of a switch to others: %d to %d, mean %.2f\n", s.Degree.Min, s.Degree.Max, s.Degree.Mean)
	fmt.Fprintf(&b, "paths between switches: at most %s, mean %.4f\n", plural(s.Diameter, "link"), s.MeanPath)
	if d := s.Diversity; d.Pairs > 0 {
		fmt.Fprintf(&b, "shortest paths of a pair: mean %.2f; %.1f %% of pairs have a single one\n", d.ShortestPaths, 100*d.Single)
		fmt.Fprintf(&b, "disjoint paths of a pair, of any length: %d to %d, mean %.2f (%s looked at)\n",
			d.Disjoint.Min, d.Disjoint.Max, d.Disjoint.Mean, plural(d.Disjoint.Pairs, "pair"))
	}
	if x := s.Spectral; x != nil && s.Degree.Max-s.Degree.Min <= 1 {
		fmt.Fprintf(&b, "spectral gap: %.4f (largest eigenvalue %.4f, second in magnitude %.4f)\n", x.Gap, x.Lambda1, x.Lambda2)
	} else if x != nil {
		fmt.Fprintf(&b, "spectral gap: %.4f, of the normalised Laplacian\n", x.LaplacianGap)
	}
	if x := s.Bisection; x != nil && x.AtLeast == x.Links {
		fmt.Fprintf(&b, "bisection: %s between halves of the %s\n", plural(x.Links, "link"), x.Of)
	} else if x != nil {
		fmt.Fprintf(&b, "bisection: %d to %d links between halves of the %s\n", x.AtLeast, x.Links, x.Of)
	}
	if s.Triangles > 0 {
		fmt.Fprintf(&b, "triangles: %d\n", s.Triangles)
	}
	if s.Parts > 1 {
		fmt.Fprintf(&b, "the switches fall into %d parts which are not connected\n", s.Parts)
	}
	if s.Groups > 0 {
		fmt.Fprintf(&b, "shared-risk groups: %d\n", s.Groups)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
