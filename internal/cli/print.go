package cli

import (
	"encoding/json"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"whichlink/graphs"
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

// readFabric reads the fabric of --fabric.
func (e *env) readFabric(name string) (*graphs.Fabric, error) { return e.openFabric(name, nil) }
