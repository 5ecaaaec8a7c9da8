package cli

import (
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"whichlink/graphs"
	"whichlink/tui"
)

func newRootCmd(e *env) *cobra.Command {
	var m measuring
	var onDrill bool
	var fault string
	root := &cobra.Command{
		Use:           "whichlink [FILE...]",
		Short:         "Which link is it? Localizes flapping links, silent loss and hot spots in data-centre fabrics.",
		Version:       version(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Long: `Which link is it? Whichlink measures a data-centre fabric with real packets and names the link, the direction, the symptom,
a probability, the proof and the next step. Without arguments it opens the terminal UI on a drill: a practice fabric in network
namespaces, with a fault to find. With --fabric it measures from this host, and with evidence files it shows what they say, and moves in them.

What is measured on screens is recorded to $XDG_STATE_HOME/whichlink (~/.local/state/whichlink), at most 64 MiB a session and 256 MiB in all;
whichlink FILE shows such a recording again. How the links are sorted, and which columns they have, is remembered beside it (screens.json).
Keys, themes and the bell are set in $XDG_CONFIG_HOME/whichlink/config.toml (~/.config/whichlink/config.toml).`,
		Args: func(_ *cobra.Command, files []string) error {
			for _, f := range files {
				if _, err := os.Stat(f); err != nil && f != "-" && !strings.ContainsAny(f, "./") {
					return withHint(usagef("no command and no file is called %q", graphs.Clean(f)), "whichlink --help lists the commands")
				}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, files []string) error {
			if e.settings, e.settled, e.unsettled = readSettings(); e.unsettled != nil {
				e.settings = tui.Settings{}
				e.say("ignored: %v", e.unsettled)
			}
			if names := e.settings.ThemeNames(); e.theme != "" && !slices.Contains(names, e.theme) {
				return usagef("--theme %q is not one of %s", graphs.Clean(e.theme), strings.Join(names, ", "))
			}
			if !cmd.Flags().Changed("ascii") {
				e.ascii = asciiAlone(os.Getenv)
			}
			return e.openMain(cmd, &m, files, onDrill, fault)
		},
	}
	m.flags(root)
	m.snmpFlags(root)
	root.Flags().BoolVar(&onDrill, "drill", false, "practise on the fabric of --fabric, in network namespaces")
	root.Flags().StringVar(&fault, "fault", "", "the drill's fault in the words of lab break, or none (default: one chosen by --seed)")
	root.Flags().BoolVar(&e.plain, "plain", false, "tell what changes line by line, for screen readers and logs, in place of screens")
	root.Flags().BoolVar(&e.mask, "mask", false, "pseudonyms in place of names and addresses, for shared screens and pictures")
	root.Flags().StringVar(&e.theme, "theme", "", "colours, `NAME`: "+strings.Join(tui.ThemeNames(), ", ")+", or one of the settings (default: theirs, else terminal)")
	_ = root.RegisterFlagCompletionFunc("theme", cobra.FixedCompletions(tui.ThemeNames(), cobra.ShellCompDirectiveNoFileComp))
	root.AddCommand(newWatchmanCmd(e), newCheckCmd(e), newProbeCmd(e), newLocalizeCmd(e), newDoctorCmd(e), newTraceCmd(e), newPingCmd(e), newAgentCmd(e),
		newFabricCmd(e), newLabCmd(e), newPcapCmd(e), newSNMPCmd(e), newReportCmd(e), newManCmd())
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{flagError(err)} })
	f := root.PersistentFlags()
	f.BoolVar(&e.noColor, "no-color", false, "no colours (as does any non-empty NO_COLOR)")
	f.BoolVar(&e.ascii, "ascii", false, "draw with ASCII only, as is done where the locale or the terminal knows no more")
	f.BoolVarP(&e.quiet, "quiet", "q", false, "print data and errors only")
	f.BoolVarP(&e.verbose, "verbose", "v", false, "log what is being done to standard error")
	return root
}

// release is the version that a release is built as; the linker sets it. Other builds know theirs from the module.
var release string

func version() string {
	if release != "" {
		return release
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
