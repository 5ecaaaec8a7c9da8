package cli

import (
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// newManCmd is what packages are made with: whichlink man DIR writes a man page for each command.
func newManCmd() *cobra.Command {
	return &cobra.Command{
		Use: "man DIR", Short: "Write the man pages into a directory", Hidden: true, Args: args(1, 1),
		RunE: func(cmd *cobra.Command, dir []string) error {
			if err := os.MkdirAll(dir[0], 0o755); err != nil {
				return err
			}
			root := cmd.Root()
			root.DisableAutoGenTag = true // no date, so that the same program has the same pages
			epoch := time.Unix(0, 0)
			return doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "whichlink", Manual: "whichlink", Date: &epoch}, dir[0])
		},
	}
}
