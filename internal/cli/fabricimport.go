package cli

import (
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"whichlink/graphs"
	"whichlink/graphs/formats"
)

func newFabricImportCmd(e *env) *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "import [FORMAT] FILE...",
		Short: "Make a fabric file from files of other tools",
		Long: `Import reads files of other tools and writes a fabric file. What was guessed and what was passed over is told on standard error.

The formats are ` + strings.Join(formats.Names(), ", ") + `. A format that is not
named is recognised. Several files make one fabric: the neighbours that each device lists, or cables and devices. Where LLDP's
output does not tell whose it is, the name of the file does: leaf1.json is that of leaf1. A file packed by gzip is unpacked.
A FILE of - is standard input.`,
		Example: `  whichlink fabric import lldp leaf*.json spine*.json --out fabric.clab.yml
  whichlink fabric import topology.dot --out fabric.clab.yml`,
		Args: args(1, -1),
		RunE: func(cmd *cobra.Command, given []string) error {
			format, paths := "", given
			if slices.Contains(formats.Names(), given[0]) {
				format, paths = given[0], given[1:]
			}
			file, err := e.importFabric(format, paths)
			if err != nil {
				return err
			}
			for _, n := range file.Notes {
				e.say("%s", n)
			}
			return e.putFabric(out, file.Fabric)
		},
	}
	cmd.Flags().StringVar(&out, "out", "-", "write to `FILE`, whole or not at all; - is standard output")
	return cmd
}

// importFabric reads files of a format, which is recognised if it is not named.
func (e *env) importFabric(format string, paths []string) (*formats.File, error) {
	switch {
	case len(paths) == 0:
		return nil, usagef("no file given that is to be read as %s", format)
	case slices.Equal(paths, []string{"-"}):
		return formats.ReadAs(format, e.stdin, "standard input")
	case slices.Contains(paths, "-"):
		return nil, usagef("standard input is one file: no other can be imported with it")
	}
	file, err := formats.Import(format, paths...)
	if errors.Is(err, fs.ErrNotExist) && format == "" && len(paths) > 1 && !strings.ContainsAny(paths[0], "./") {
		return nil, withHint(err, "if %s is to be a format: they are %s", graphs.Clean(paths[0]), strings.Join(formats.Names(), ", "))
	}
	return file, err
}
