package cli

import (
	"bytes"
	"errors"

	"github.com/spf13/cobra"

	"whichlink/internal/diagnose"
	"whichlink/internal/report"
)

func newReportCmd(e *env) *cobra.Command {
	var fabric, output, out string
	cmd := &cobra.Command{
		Use:   "report --fabric FILE EVIDENCE...",
		Short: "The incident as Markdown or as one page of HTML",
		Long: `Report reads evidence (JSON Lines, as whichlink probe, check and pcap write it) and writes the incident down for people who were not there:
the verdict, the suspects with what speaks for and against them, a timeline, a map of the fabric, the paths across the first suspect, and series
over time. The page of HTML is one file that fetches nothing and runs no script. A file named - is standard input. Lines that are no
records, as a crash leaves them, are told and left out.`,
		Args: args(1, -1),
		RunE: func(cmd *cobra.Command, files []string) error {
			f, err := e.readFabric(fabric)
			if err != nil {
				return err
			}
			store, told := diagnose.NewStore(f, diagnose.Config{FabricFile: fabric}), report.NewCollector(f)
			failed := e.readEvidence(cmd.Context(), store, files, told.Add)
			if failed != nil && store.Records() == 0 {
				return failed
			}
			r := told.Report(store.Diagnose())
			r.ASCII = e.ascii
			write := r.WriteMarkdown
			if output == "html" {
				write = r.WriteHTML
			}
			var b bytes.Buffer
			if err := write(&b); err != nil {
				return err
			}
			if out == "" {
				_, err = e.stdout.Write(b.Bytes())
			} else {
				err = writeWhole(out, b.Bytes())
			}
			return errors.Join(err, failed)
		},
	}
	fabricFlag(cmd, &fabric)
	outputFlag(cmd, &output, "md", "html")
	cmd.Flags().StringVar(&out, "out", "", "write to `FILE` in place of standard output")
	return cmd
}
