package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"whichlink/graphs"
	"whichlink/internal/diagnose"
	"whichlink/internal/evidence"
	"whichlink/pathfind/heat"
)

func newLocalizeCmd(e *env) *cobra.Command {
	var fabric, output, format, matrix string
	var trace flockFlags
	cmd := &cobra.Command{
		Use:   "localize --fabric FILE EVIDENCE...",
		Short: "Rank suspects from evidence files",
		Long: `Localize reads evidence (JSON Lines, as whichlink probe writes it) and says which links, switches or hosts explain it.
A file named - is standard input. Lines that are no records, as a crash leaves them, are told and left out.

What ports carry is held against what the forwarding model makes of a traffic matrix: one that is estimated from the loads, or --matrix, such as
csv:FILE with lines of src,dst,rate or with the flows of whichlink pcap -o csv.

With --format flock it reads one trace in the text form of the fault localizer Flock in place of evidence, and its --topology in place of a
fabric. --evidence says what of it may be looked at: int (the paths of all flows), a1 (probes only), a1_p (probes, and other flows whose path
is one of the equal-cost ones), a1_a2_p (the same, but the paths of flows that lost packets are known), a2 (only flows that lost packets), p (no
probes, no paths). Where the trace tells the delays of flows (a last field of SS that is not zero), what adds delay is looked for, too: each flow
against flows whose paths are as long.`,
		Args: args(1, -1),
		RunE: func(cmd *cobra.Command, files []string) error {
			switch format {
			case "jsonl":
				if err := without(cmd, "goes with --format flock", "topology", "evidence", "ecmp", "stats"); err != nil {
					return err
				}
			case "flock":
				if err := without(cmd, "goes with evidence files, not with --format flock", "fabric", "matrix"); err != nil {
					return err
				}
				endedBySignals()
				return e.localizeFlock(&trace, files, output)
			default:
				return usagef("evidence format %q is not one of jsonl, flock", graphs.Clean(format))
			}
			f, err := e.readFabric(fabric)
			if err != nil {
				return err
			}
			traffic, err := measuredTraffic(f, matrix)
			if err != nil {
				return err
			}
			store := diagnose.NewStore(f, diagnose.Config{Traffic: traffic, FabricFile: fabric})
			failed := e.readEvidence(cmd.Context(), store, files, nil)
			if failed != nil && store.Records() == 0 {
				return failed
			}
			endedBySignals()
			if err := e.printDiagnosis(store.Diagnose(), output); err != nil {
				return err
			}
			return failed
		},
	}
	fabricFlag(cmd, &fabric)
	outputFlag(cmd, &output, "text", "json")
	cmd.Flags().StringVar(&format, "format", "jsonl", "what the files hold, `FORM`: jsonl, flock")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{"jsonl", "flock"}, cobra.ShellCompDirectiveNoFileComp))
	cmd.Flags().StringVar(&matrix, "matrix", "", "the traffic `MATRIX` that loads are held against, as fabric whatif takes it (default: estimated from the loads themselves)")
	_ = cmd.RegisterFlagCompletionFunc("matrix", cobra.FixedCompletions(matrixExamples, cobra.ShellCompDirectiveNoSpace))
	trace.add(cmd)
	return cmd
}

// without refuses flags that would be passed over.
func without(cmd *cobra.Command, why string, flags ...string) error {
	for _, name := range flags {
		if cmd.Flags().Changed(name) {
			return usagef("--%s %s", name, why)
		}
	}
	return nil
}

// mostTraffic bounds the pairs of a matrix that loads are held against.
const mostTraffic = 1 << 20

// measuredTraffic makes the traffic that --matrix names; nil for none.
func measuredTraffic(f *graphs.Fabric, name string) ([]heat.Flow, error) {
	if name == "" {
		return nil, nil
	}
	m, err := findMatrix(f, name, 1)
	if m == nil || err != nil {
		return nil, err
	}
	flows, ok := m.Traffic(mostTraffic)
	if !ok {
		return nil, usagef("matrix %q: more than %d pairs", graphs.Clean(name), mostTraffic)
	}
	traffic := make([]heat.Flow, len(flows))
	for i, w := range flows {
		traffic[i] = heat.Flow(w)
	}
	return traffic, nil
}

// readEvidence adds evidence files to a store and hands each record to also, if that is not nil. What can be
// read of a file with errors is kept; the errors are returned.
func (e *env) readEvidence(ctx context.Context, store *diagnose.Store, files []string, also func(*evidence.Record)) error {
	var failed error
	var seen []os.FileInfo
	var named []string
	for _, name := range files {
		err := func() error {
			if name == "-" {
				return e.readRecords(store, "standard input", within{ctx, e.stdin}, also)
			}
			file, err := os.Open(name)
			if err != nil {
				return openError("evidence", err)
			}
			defer file.Close()
			if info, err := file.Stat(); err == nil {
				if info.IsDir() {
					return fmt.Errorf("read evidence %s: it is a directory", graphs.Clean(name))
				}
				if slices.ContainsFunc(seen, func(o os.FileInfo) bool { return os.SameFile(o, info) }) {
					e.say("%s is named twice and read once", graphs.Clean(name))
					return nil
				}
				for i, o := range seen {
					if o.Size() == info.Size() && o.Mode().IsRegular() && info.Mode().IsRegular() && sameContent(named[i], name) {
						e.say("%s is a copy of %s and not read again", graphs.Clean(name), graphs.Clean(named[i]))
						return nil
					}
				}
				seen, named = append(seen, info), append(named, name)
			}
			return e.readRecords(store, name, within{ctx, file}, also)
		}()
		failed = errors.Join(failed, err)
	}
	return failed
}

// sameContent reports whether two files hold the same, and something. What is told twice is no more evidence.
func sameContent(a, b string) bool {
	var text [2][]byte
	for i, name := range []string{a, b} {
		var err error
		if text[i], err = os.ReadFile(name); err != nil || len(text[i]) == 0 {
			return false
		}
	}
	return bytes.Equal(text[0], text[1])
}

func (e *env) readRecords(store *diagnose.Store, name string, in io.Reader, also func(*evidence.Record)) error {
	records := 0
	skipped, err := evidence.Read(in, name, func(r *evidence.Record) bool {
		records++
		store.Add(r)
		if also != nil {
			also(r)
		}
		return true
	})
	store.Skip(skipped)
	if err == nil && records == 0 && len(skipped) == 0 {
		e.say("%s holds no records", graphs.Clean(name))
	}
	return err
}

// openError says why a file cannot be opened without the operation's name, which says nothing to its reader.
func openError(what string, err error) error {
	var path *os.PathError
	if errors.As(err, &path) {
		return fmt.Errorf("read %s %s: %w", what, path.Path, path.Err)
	}
	return fmt.Errorf("read %s: %w", what, err)
}
