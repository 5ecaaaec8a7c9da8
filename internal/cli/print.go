package cli

import (
	"encoding/json"
	"fmt"
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

// A form is the form of a command's output: one of those that it has.
type form struct {
	is    *string
	known []string
}

func (f form) String() string { return *f.is }

// Type is what help and completion know it as.
func (f form) Type() string { return "string" }

// Set refuses a form that the command does not have.
func (f form) Set(got string) error {
	if !slices.Contains(f.known, got) {
		return usagef("output form %q is not one of %s", got, strings.Join(f.known, ", "))
	}
	*f.is = got
	return nil
}

// outputFlag adds -o to a command; the first form is the default.
func outputFlag(cmd *cobra.Command, to *string, forms ...string) {
	*to = forms[0]
	cmd.Flags().VarP(form{to, forms}, "output", "o", "output `FORM`: "+strings.Join(forms, ", "))
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(forms, cobra.ShellCompDirectiveNoFileComp))
}

// printJSON writes a value as indented JSON.
func printJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// list is an empty list where there is none, which JSON tells from null.
func list[T any](all []T) []T {
	if all == nil {
		return []T{}
	}
	return all
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

// optionalFabric reads the fabric of --fabric if one is given.
func (e *env) optionalFabric(name string) (*graphs.Fabric, error) {
	if name == "" {
		return nil, nil
	}
	return e.readFabric(name)
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	if strings.HasSuffix(what, "ch") {
		what += "e" // switches
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// someOf lists the first of some names.
func someOf(names []string) string {
	const most = 5
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
