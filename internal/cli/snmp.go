package cli

import "github.com/spf13/cobra"

func newSNMPCmd(e *env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "snmp",
		Short: "Ask switches what they count and whom they hear",
		Long: `The commands of snmp ask agents by SNMPv2c or v3. They only read. The community is that of WHICHLINK_SNMP_COMMUNITY or stands, as do the users and
passwords of v3, in a file that nobody else may read: secrets are no arguments.`,
		Args: cobra.ArbitraryArgs,
		RunE: needsCommand,
	}
	cmd.AddCommand(newSNMPPollCmd(e), newSNMPWatchCmd(e), newSNMPDiscoverCmd(e))
	return cmd
}
