package cli

import (
	"bytes"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"whichlink/graphs"
	"whichlink/graphs/formats"
)

func newFabricCmd(e *env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "fabric",
		Short: "Make and describe fabrics: shape, paths of a pair, probe plan, cabling against its plan, what is lost when parts fail",
		Args:  cobra.ArbitraryArgs,
		// These commands only compute. Files are written whole or not at all.
		PersistentPreRun: func(*cobra.Command, []string) { endedBySignals() },
		RunE:             needsCommand,
	}
	cmd.AddCommand(newFabricNewCmd(e), newFabricImportCmd(e), newFabricShowCmd(e), newFabricPathsCmd(e), newFabricPlanCmd(e),
		newFabricDiffCmd(e), newFabricWhatIfCmd(e))
	return cmd
}

func newFabricNewCmd(e *env) *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "new",
		Short: "Make a fabric file from a few parameters",
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, kind []string) error {
			err := usagef("fabric new needs a kind")
			if len(kind) > 0 {
				err = usagef("no kind of fabric is called %q", graphs.Clean(kind[0]))
			}
			return withHint(err, "the kinds are %s", commandNames(cmd))
		},
	}
	cmd.PersistentFlags().StringVar(&out, "out", "-", "write to `FILE`, whole or not at all; - is standard output")
	for _, c := range shapeCmds(func(_ *cobra.Command, f *graphs.Fabric) error { return e.putFabric(out, f) }) {
		cmd.AddCommand(c)
	}
	return cmd
}

// putFabric writes a fabric file, or its text to standard output where out is "-".
func (e *env) putFabric(out string, f *graphs.Fabric) error {
	if out == "-" {
		return formats.WriteFabric(e.stdout, f)
	}
	var text bytes.Buffer
	if err := formats.WriteFabric(&text, f); err != nil {
		return err
	}
	if err := writeWhole(out, text.Bytes()); err != nil {
		return err
	}
	e.say("wrote %s: %s", out, f)
	return nil
}

// commandNames lists the commands of a command.
func commandNames(cmd *cobra.Command) string {
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	return strings.Join(names, ", ")
}

// needsCommand is what a command does that only holds others.
func needsCommand(cmd *cobra.Command, got []string) error {
	err := usagef("%s needs a command", cmd.Name())
	if len(got) > 0 {
		err = usagef("%s has no command %q", cmd.Name(), graphs.Clean(got[0]))
	}
	return withHint(err, "the commands are %s; %s --help tells of each", commandNames(cmd), cmd.CommandPath())
}

// openFabric reads the fabric that a command was given, as its only argument or with --fabric, and says what had to be guessed.
func (e *env) openFabric(flag string, given []string) (*graphs.Fabric, error) {
	name := flag
	switch {
	case len(given) > 0 && flag != "":
		return nil, usagef("two fabrics given: %s and %s", graphs.Clean(flag), graphs.Clean(given[0]))
	case len(given) > 0:
		name = given[0]
	case name == "":
		return nil, withHint(usagef("no fabric given"), "use --fabric FILE; whichlink fabric new makes one")
	}
	file, err := e.readFabricFile(name)
	if err != nil {
		return nil, err
	}
	e.sayNotes(name, file)
	return file.Fabric, nil
}

// readFabricFile reads the fabric in a file, or on standard input where the name is -.
func (e *env) readFabricFile(name string) (*formats.File, error) {
	if name == "-" {
		return formats.Read(e.stdin, "standard input")
	}
	return formats.ReadFile(name)
}

// sayNotes says what had to be guessed when a fabric was read.
func (e *env) sayNotes(name string, f *formats.File) {
	for _, n := range f.Notes {
		e.say("%s: %s", graphs.Clean(name), n)
	}
}

// fabricWriters write a whole fabric, by the names of the output forms.
var fabricWriters = map[string]func(io.Writer, *graphs.Fabric) error{
	"dot": formats.WriteDOT, "containerlab": formats.WriteFabric, "graphml": formats.WriteGraphML,
	"csv": formats.WriteCSV, "md": formats.WriteMarkdown,
}

func newFabricShowCmd(e *env) *cobra.Command {
	var fabric, output string
	forms := append([]string{"text", "json"}, slices.Sorted(maps.Keys(fabricWriters))...)
	cmd := &cobra.Command{
		Use:   "show FILE",
		Short: "Describe a fabric in numbers, draw it, or write it in another format",
		Long: `Show describes a fabric. Degrees and path lengths are of the graph that the switches form: links to hosts do not count.
Pairs are pairs of switches that have hosts. The spectral gap is that of the adjacency matrix; where the degrees of
switches differ, that of the normalised Laplacian. The bisection is a number of links between two halves of the hosts:
no cut has fewer than the lower one, which the spectrum gives, and a search has found a cut with the upper one.
The form dot is a drawing for Graphviz, containerlab the fabric file, graphml the same for other programs, csv a list of cables for
spreadsheets, md a table of the links for tickets. What containerlab, graphml and csv hold can be read again.`,
		Args: args(0, 1),
		RunE: func(cmd *cobra.Command, given []string) error {
			f, err := e.openFabric(fabric, given)
			if err != nil {
				return err
			}
			if write := fabricWriters[output]; write != nil {
				return write(e.stdout, f)
			}
			s := describeShape(f)
			if output == "text" {
				return printShape(e.stdout, s)
			}
			return printJSON(e.stdout, s)
		},
	}
	fabricFlag(cmd, &fabric)
	outputFlag(cmd, &output, forms...)
	return cmd
}
