package pathfind

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"whichlink/graphs"
)

// A Spec names a forwarding model and its parameters. It is made by ParseSpec.
type Spec struct {
	// Kind is ecmp, wcmp, su, ksp, vlb, spraypoint or fib.
	Kind string
	// K is the number of links up to which su takes all paths, or the number of paths of ksp.
	K int
	// Spraypoint are the parameters of spraypoint.
	Spraypoint SpraypointConfig
	// File is where the routes of fib are to be read from.
	File string
}

// SpecForms says, a line each, how models are named.
const SpecForms = `  ecmp                 all shortest paths, links shared evenly
  wcmp                 all shortest paths, links shared by the capacity behind them
  su:K                 Shortest-Union(K): all shortest paths and all of K links or less
  ksp:K                the K shortest paths without loops, shared evenly
  vlb                  Valiant: by ECMP to a random switch, then by ECMP to the end
  spraypoint:p=4,h=2   spray over all links, then point along waypoints; also levels=1, key=0
  fib:FILE             the routes of every node, as JSON`

// SpecExamples returns a name of every kind of model.
func SpecExamples() []string {
	return []string{"ecmp", "wcmp", "su:2", "ksp:8", "vlb", "spraypoint:p=4,h=2", "fib:FILE"}
}

// Bounds of parameters. More than maxK paths or links is a slip of the pen.
const (
	maxUnion = 6
	maxK     = 1024
	maxPicks = 1024
)

// ParseSpec reads the name of a model: ecmp, wcmp, su:2, ksp:8, vlb, spraypoint:p=4,h=2 or fib:FILE.
func ParseSpec(text string) (Spec, error) {
	kind, rest, more := strings.Cut(text, ":")
	s := Spec{Kind: kind}
	fail := func(format string, args ...any) (Spec, error) {
		return Spec{}, fmt.Errorf("forwarding model %q: %w", graphs.Clean(text), fmt.Errorf(format, args...))
	}
	switch kind {
	case "ecmp", "wcmp", "vlb":
		if more {
			return fail("%s has no parameters", kind)
		}
	case "su", "ksp":
		most := maxUnion
		if kind == "ksp" {
			most = maxK
		}
		k, err := strconv.Atoi(rest)
		if err != nil || k < 1 || k > most {
			return fail("expected %s:K with a K between 1 and %d", kind, most)
		}
		s.K = k
	case "spraypoint":
		c, err := parseSpraypoint(rest)
		if err != nil {
			return fail("%w", err)
		}
		s.Spraypoint = c
	case "fib":
		if rest == "" {
			return fail("expected fib:FILE")
		}
		s.File = rest
	default:
		return Spec{}, fmt.Errorf("no forwarding model is called %q", graphs.Clean(text))
	}
	return s, nil
}

func parseSpraypoint(text string) (SpraypointConfig, error) {
	var c SpraypointConfig
	seen := map[string]bool{}
	for word := range strings.SplitSeq(text, ",") {
		if text == "" {
			break
		}
		name, value, _ := strings.Cut(word, "=")
		if seen[name] {
			return c, fmt.Errorf("%s is there twice", graphs.Clean(name))
		}
		seen[name] = true
		if name == "key" {
			key, err := strconv.ParseUint(value, 0, 64)
			if err != nil {
				return c, fmt.Errorf("key %q is not a number of 64 bits", graphs.Clean(value))
			}
			c.Key = key
			continue
		}
		field := map[string]*int{"p": &c.P, "h": &c.H, "levels": &c.Levels}[name]
		if field == nil {
			return c, fmt.Errorf("no parameter %q; there are p, h, levels and key", graphs.Clean(name))
		}
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 || n > maxPicks {
			return c, fmt.Errorf("%s must be between 1 and %d", name, maxPicks)
		}
		*field = n
	}
	return c, nil
}

// String names the model as ParseSpec takes it.
func (s Spec) String() string {
	switch s.Kind {
	case "su", "ksp":
		return fmt.Sprintf("%s:%d", s.Kind, s.K)
	case "spraypoint":
		return s.Spraypoint.String()
	case "fib":
		return "fib:" + s.File
	}
	return s.Kind
}

// SpecOf returns the model that the switches of a fabric name, or ecmp where none does. It is an error if they disagree.
func SpecOf(f *graphs.Fabric) (Spec, error) {
	first := graphs.NodeID(graphs.None)
	for _, n := range f.Switches() {
		switch {
		case f.Node(n).Model == "":
		case first == graphs.None:
			first = n
		case f.Node(n).Model != f.Node(first).Model:
			return Spec{}, fmt.Errorf("switches disagree on the forwarding model: %s has %q, %s has %q",
				f.NodeName(first), f.Node(first).Model, f.NodeName(n), f.Node(n).Model)
		}
	}
	if first == graphs.None {
		return Spec{Kind: "ecmp"}, nil
	}
	s, err := ParseSpec(f.Node(first).Model)
	if err != nil {
		return s, fmt.Errorf("node %s: %w", f.NodeName(first), err)
	}
	return s, nil
}

// Options are what a model needs besides its Spec.
type Options struct {
	// Down reports the links that are taken away; nil for none.
	Down func(graphs.LinkID) bool
	// FIB holds the routes of a fib model.
	FIB *FIB
}

// New makes the model that a Spec names.
func New(f *graphs.Fabric, s Spec, o Options) (Model, error) {
	switch s.Kind {
	case "ecmp":
		return NewECMPWithout(f, o.Down), nil
	case "wcmp":
		return newWCMP(f, o.Down), nil
	case "su":
		return newUnion(f, o.Down, s.K), nil
	case "ksp":
		return newKShortest(f, o.Down, s.K), nil
	case "vlb":
		return newValiant(f, o.Down), nil
	case "spraypoint":
		return NewSpraypoint(f, o.Down, s.Spraypoint), nil
	case "fib":
		if o.FIB == nil {
			return nil, errors.New("a fib model needs routes")
		}
		return newRouted(f, o.Down, o.FIB, s.String()), nil
	}
	return nil, fmt.Errorf("no forwarding model is called %q", graphs.Clean(s.Kind))
}
