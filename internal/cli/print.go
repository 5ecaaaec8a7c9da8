package cli

import (
	"encoding/json"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"whichlink/graphs"
	"whichlink/graphs/formats"
	"whichlink/internal/diagnose"
)

// fabricFlag adds --fabric to a command.
func fabricFlag(cmd *cobra.Command, to *string) {
	cmd.Flags().StringVar(to, "fabric", "", "the fabric `FILE` (containerlab topology)")
	_ = cmd.MarkFlagFilename("fabric", "yml", "yaml")
}

// outputFlag adds -o to a command; the first form is the default.
func outputFlag(cmd *cobra.Command, to *string, forms ...string) {
	cmd.Flags().StringVarP(to, "output", "o", forms[0], "output `FORM`: "+strings.Join(forms, ", "))
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(forms, cobra.ShellCompDirectiveNoFileComp))
}

// oneOf refuses an output form that a command does not have.
func oneOf(got string, forms ...string) error {
	if slices.Contains(forms, got) {
		return nil
	}
	return usagef("output form %q is not one of %s", got, strings.Join(forms, ", "))
}

// printJSON writes a value as indented JSON.
func printJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

func (e *env) printDiagnosis(d *diagnose.Diagnosis, output string) error {
	if output == "json" {
		return printJSON(e.stdout, d)
	}
	_, err := io.WriteString(e.stdout, d.Text())
	return err
}

// readFabric reads a fabric file and passes on the reader's remarks.
func (e *env) readFabric(name string) (*graphs.Fabric, error) {
	if name == "" {
		return nil, withHint(usagef("no fabric given"), "use --fabric FILE; whichlink fabric new makes one")
	}
	file, err := formats.ReadFile(name)
	if err != nil {
		return nil, err
	}
	if e.verbose {
		for _, n := range file.Notes {
			e.say("%s: %s", name, n)
		}
	}
	return file.Fabric, nil
}
