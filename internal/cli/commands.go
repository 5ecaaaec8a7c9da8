package cli

import (
	"runtime/debug"

	"github.com/spf13/cobra"
)

func newRootCmd(e *env) *cobra.Command {
	root := &cobra.Command{
		Use:           "whichlink [FILE...]",
		Short:         "Which link is it? Localizes flapping links, silent loss and hot spots in data-centre fabrics.",
		Version:       version(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	f := root.PersistentFlags()
	f.BoolVar(&e.noColor, "no-color", false, "no colours (as does any non-empty NO_COLOR)")
	f.BoolVar(&e.ascii, "ascii", false, "draw with ASCII only")
	f.BoolVarP(&e.quiet, "quiet", "q", false, "print data and errors only")
	f.BoolVarP(&e.verbose, "verbose", "v", false, "log what is being done to standard error")
	return root
}

func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
