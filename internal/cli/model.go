package cli

import (
	"os"
	"strings"

	"github.com/spf13/cobra"

	"whichlink/graphs"
	"whichlink/pathfind"
)

// modelFlag adds --model to a command.
func modelFlag(cmd *cobra.Command, to *string) {
	cmd.Flags().StringVar(to, "model", "", "forwarding `MODEL`; by default the one that the fabric's switches name, or else ecmp")
	_ = cmd.RegisterFlagCompletionFunc("model", cobra.FixedCompletions(pathfind.SpecExamples(), cobra.ShellCompDirectiveNoSpace))
}

// findModel returns the model that --model names, or else the fabric, and what it is to be made with.
func findModel(f *graphs.Fabric, flag string) (s pathfind.Spec, o pathfind.Options, err error) {
	if flag == "" {
		s, err = pathfind.SpecOf(f)
		if err != nil {
			return s, o, withHint(err, "--model chooses one")
		}
	} else if s, err = pathfind.ParseSpec(flag); err != nil {
		return s, o, withHint(usageError{err}, "the models are %s", strings.Join(pathfind.SpecExamples(), ", "))
	}
	if s.File == "" {
		return s, o, nil
	}
	file, err := os.Open(s.File)
	if err != nil {
		return s, o, openError("routes", err)
	}
	defer file.Close()
	o.FIB, err = pathfind.ReadFIB(file, s.File, f)
	return s, o, err
}
