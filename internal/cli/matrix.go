package cli

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"whichlink/graphs"
	"whichlink/graphs/formats"
	"whichlink/pathfind/whatif"
)

// matrixForms says, a line each, how traffic matrices are named.
const matrixForms = `  uniform              every switch that has hosts sends what their links carry, evenly to all others
  alltoall[:HOSTS]     every host sends what its links carry, evenly to all others
  ring[:HOSTS]         every host sends what its links carry to the next, the last to the first
  permutation[:SEED]   every host sends what its links carry to one other, all in a ring drawn by SEED
  csv:FILE             lines of src,dst,rate: names or addresses of nodes, bit/s such as 2.5G; or flows as whichlink pcap -o csv writes them
  none                 no traffic
HOSTS are names with commas between them, or @FILE with one a line; without, all hosts, or all switches where there are none.`

var matrixExamples = []string{"uniform", "alltoall", "ring", "permutation:1", "csv:FILE", "none"}

// maxMatrix bounds a file of hosts or of flows, in bytes.
const maxMatrix = 64 << 20

// matrixFlag adds --matrix to a command.
func matrixFlag(cmd *cobra.Command, to *string) {
	cmd.Flags().StringVar(to, "matrix", "uniform", "the traffic `MATRIX` whose load is told")
	_ = cmd.RegisterFlagCompletionFunc("matrix", cobra.FixedCompletions(matrixExamples, cobra.ShellCompDirectiveNoSpace))
}

// findMatrix makes the matrix that --matrix names; nil for none.
func findMatrix(f *graphs.Fabric, text string, seed uint64) (*whatif.Matrix, error) {
	kind, rest, more := strings.Cut(text, ":")
	bare := kind == "uniform" || kind == "none"
	if more && (rest == "" || bare) || kind == "csv" && !more {
		return nil, withHint(usagef("matrix %q", graphs.Clean(text)), "the matrices are %s", strings.Join(matrixExamples, ", "))
	}
	switch kind {
	case "none":
		return nil, nil
	case "uniform":
		return whatif.Uniform(f), nil
	case "csv":
		return fromFile(rest, func(r io.Reader) (*whatif.Matrix, error) { return readMatrix(r, rest, f) })
	case "permutation":
		if more {
			var err error
			if seed, err = strconv.ParseUint(rest, 10, 64); err != nil {
				return nil, usagef("matrix %q: the seed is not a number of 64 bits", graphs.Clean(text))
			}
		}
		rest = ""
	case "alltoall", "ring":
	default:
		return nil, withHint(usagef("no matrix is called %q", graphs.Clean(text)), "the matrices are %s", strings.Join(matrixExamples, ", "))
	}
	hosts, err := matrixHosts(f, rest)
	switch {
	case err != nil:
		return nil, err
	case len(hosts) < 2:
		return nil, usagef("matrix %q: traffic needs two hosts, and there is %d", graphs.Clean(text), len(hosts))
	case kind == "alltoall":
		return whatif.AllToAll(f, hosts), nil
	case kind == "ring":
		return whatif.Ring(f, hosts), nil
	}
	return whatif.Permutation(f, hosts, seed), nil
}

// fromFile reads a file of no more than maxMatrix bytes.
func fromFile[T any](name string, read func(io.Reader) (T, error)) (T, error) {
	var none T
	file, err := os.Open(name)
	if err != nil {
		return none, openError("traffic matrix", err)
	}
	defer file.Close()
	limited := &io.LimitedReader{R: file, N: maxMatrix + 1}
	got, err := read(limited)
	if limited.N == 0 {
		return none, fmt.Errorf("%s: longer than %d MiB", graphs.Clean(name), maxMatrix>>20)
	}
	return got, err
}

// matrixHosts finds the hosts of a list, or those that @FILE lists, or all.
func matrixHosts(f *graphs.Fabric, list string) ([]graphs.NodeID, error) {
	if list == "" {
		if hosts := f.Hosts(); hosts != nil {
			return hosts, nil
		}
		return f.Switches(), nil
	}
	file, inFile := strings.CutPrefix(list, "@")
	if !inFile {
		return listHosts(f, strings.Split(list, ","), func(_ int, err error) error { return usageError{err} })
	}
	text, err := fromFile(file, io.ReadAll)
	if err != nil {
		return nil, err
	}
	lines := strings.Split(string(text), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "#") {
			lines[i] = ""
		}
	}
	return listHosts(f, lines, func(i int, err error) error { return fmt.Errorf("%s:%d: %w", graphs.Clean(file), i+1, err) })
}

// listHosts finds nodes by their names, none twice, and leaves out empty ones. An error is told by fail.
func listHosts(f *graphs.Fabric, names []string, fail func(i int, err error) error) ([]graphs.NodeID, error) {
	var hosts []graphs.NodeID
	seen := map[graphs.NodeID]bool{}
	for i, name := range names {
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		n, err := nodeNamed(f, name)
		switch {
		case err != nil:
			return nil, fail(i, err)
		case seen[n]:
			return nil, fail(i, fmt.Errorf("%s is there twice", f.NodeName(n)))
		}
		seen[n] = true
		hosts = append(hosts, n)
	}
	return hosts, nil
}

// readMatrix reads lines of src,dst,rate, or those that a first line tells to be flows of captures. A first line that says so is skipped, as are empty
// ones and those that begin with #.
func readMatrix(r io.Reader, name string, f *graphs.Fabric) (*whatif.Matrix, error) {
	lines := csv.NewReader(r)
	lines.Comment, lines.TrimLeadingSpace, lines.ReuseRecord, lines.FieldsPerRecord = '#', true, true, -1
	var flows []whatif.Flow
	for first := true; ; first = false {
		fields, err := lines.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, atLine(name, err)
		}
		if t := asCaptured(fields); first && t != nil {
			if err := t.read(lines, f); err != nil {
				return nil, atLine(name, err)
			}
			if flows, err = t.flows(); err != nil {
				return nil, fmt.Errorf("%s: %w", graphs.Clean(name), err)
			}
			break
		}
		if first && slices.Equal(fields, []string{"src", "dst", "rate"}) {
			continue
		}
		flow, err := parseFlow(f, fields)
		if err != nil {
			line, _ := lines.FieldPos(0)
			return nil, fmt.Errorf("%s:%d: %w", graphs.Clean(name), line, err)
		}
		flows = append(flows, flow)
	}
	if len(flows) == 0 {
		return nil, fmt.Errorf("%s: no flows", graphs.Clean(name))
	}
	return whatif.Flows(graphs.Clean(name), flows), nil
}

// atLine says in which line of a file an error is, if that is known.
func atLine(name string, err error) error {
	var syntax *csv.ParseError
	if errors.As(err, &syntax) {
		return fmt.Errorf("%s:%d: %w", graphs.Clean(name), syntax.Line, syntax.Err)
	}
	return err
}

func parseFlow(f *graphs.Fabric, fields []string) (w whatif.Flow, err error) {
	if len(fields) != 3 {
		return w, fmt.Errorf("%d fields, expected src,dst,rate", len(fields))
	}
	for i, end := range []*graphs.NodeID{&w.Src, &w.Dst} {
		if *end, err = nodeNamed(f, strings.TrimSpace(fields[i])); err != nil {
			return w, err
		}
	}
	if w.Src == w.Dst {
		return w, fmt.Errorf("%s sends to itself", f.NodeName(w.Src))
	}
	rate, err := formats.ParseSpeed(strings.TrimSpace(fields[2]))
	w.Rate = float64(rate)
	return w, err
}
