package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"whichlink/captures"
	"whichlink/captures/files"
	"whichlink/graphs"
	"whichlink/internal/evidence"
)

// isCapture reports whether a file is a capture, as far as its beginning tells. What is compressed is looked into.
func isCapture(name string) bool {
	in, err := os.Open(name)
	if err != nil {
		return false
	}
	defer in.Close()
	if info, err := in.Stat(); err != nil || !info.Mode().IsRegular() {
		return false
	}
	var first [4]byte
	if n, err := io.ReadFull(in, first[:]); err != nil || n > 0 && (first[0] == '{' || first[0] == ' ') {
		return false
	}
	if _, err := in.Seek(0, io.SeekStart); err != nil {
		return false
	}
	f, err := files.Open(name, in, 64<<10)
	if err != nil {
		return false
	}
	f.Close()
	return true
}

// fabricOfFiles reads the fabric. Captures can be looked at without one: then it is one node without links, and not known.
func (e *env) fabricOfFiles(name string, p *packetStore) (f *graphs.Fabric, known bool, err error) {
	if name == "" && len(p.direct) == len(p.named) {
		var b graphs.Builder
		if _, err := b.AddNode(graphs.Node{Name: "capture"}); err != nil {
			return nil, false, err
		}
		f, err := b.Build()
		return f, false, err
	}
	f, err = e.readFabric(name)
	return f, true, err
}

// analyseFiles puts evidence in the place of captures among the files that are opened: it is written to a file of its own, which forget deletes.
func (e *env) analyseFiles(ctx context.Context, f *graphs.Fabric, known bool, names []string, p *packetStore) (all []string, forget func(), err error) {
	forget = func() {}
	if len(p.direct) == 0 {
		return names, forget, nil
	}
	out, err := os.CreateTemp("", "whichlink-*.jsonl") // for its owner's eyes alone
	if err != nil {
		return nil, forget, fmt.Errorf("keep evidence of captures: %w", err)
	}
	forget = func() { _ = os.Remove(out.Name()) }
	defer func() {
		if err != nil {
			forget()
		}
	}()
	buffered := bufio.NewWriterSize(out, 1<<20)
	for _, name := range p.direct {
		a, r, err := e.report(ctx, []string{name})
		if err != nil {
			return nil, forget, errors.Join(err, out.Close())
		}
		for _, x := range r.Files {
			if x.Error != "" {
				e.say("%s: %s", x.File, x.Error)
			}
		}
		p.keep(graphs.Clean(name), []string{name}, r)
		place := fabricPlace{fabric: f}
		if known {
			at, err := place.commonHost(a)
			if err != nil {
				return nil, forget, errors.Join(err, out.Close())
			}
			place.at = []string{at}
		}
		err = place.evidence(a, r, []string{name}, func(x *evidence.Record) error {
			if x.Kind == evidence.KindFlow && !known {
				return nil // no link to put it on
			}
			return evidence.Write(buffered, x)
		})
		if err != nil {
			return nil, forget, fmt.Errorf("keep evidence of captures: %w", errors.Join(err, out.Close()))
		}
	}
	if err := errors.Join(buffered.Flush(), out.Close()); err != nil {
		return nil, forget, fmt.Errorf("keep evidence of captures: %w", err)
	}
	all = slices.DeleteFunc(slices.Clone(names), func(n string) bool { return slices.Contains(p.direct, n) })
	return append(all, out.Name()), forget, nil
}

// report analyses captures. One that breaks off is analysed up to there.
func (e *env) report(ctx context.Context, names []string) (*captures.Analyzer, *captures.Report, error) {
	opened, failed := e.openCaptures(names)
	defer opened.close()
	if len(opened.readable()) == 0 {
		return nil, nil, failed
	}
	a := captures.New(captures.Config{})
	if err := e.analyseAll(ctx, a, opened.merged(), e.newProgress(opened.size(), opened)); err != nil {
		return nil, nil, err
	}
	stats := make([]*files.Stats, len(opened))
	for i, o := range opened {
		stats[i] = o.stats()
	}
	return a, a.Report(stats...), nil
}

// A pipeline runs a program whose output is read in a pager; without a pager it waits for enter. It is a tea.ExecCommand.
type pipeline struct {
	words []string
	pager string // "" for none
	in    io.Reader
	out   io.Writer
}

func (p *pipeline) SetStdin(r io.Reader)  { p.in = r }
func (p *pipeline) SetStdout(w io.Writer) { p.out = w }

// SetStderr does nothing: standard error says nothing as long as there are screens, and the pager's belongs to the terminal.
func (p *pipeline) SetStderr(io.Writer) {}

// Run runs both until the pager ends. That somebody leaves the pager before all was read is no error.
func (p *pipeline) Run() error {
	program := command(p.words)
	var complaint bytes.Buffer
	program.Stderr = &complaint
	if p.pager == "" {
		program.Stdout = p.out
		err := program.Run()
		fmt.Fprint(p.out, "\n", graphs.Clean(complaint.String()), "\nenter goes back ")
		_, _ = bufio.NewReader(p.in).ReadString('\n')
		return err
	}
	pager := command([]string{p.pager, "-S"})
	pager.Stdin, pager.Stdout, pager.Stderr = p.in, p.out, p.out
	pipe, err := program.StdoutPipe()
	if err != nil {
		return err
	}
	pager.Stdin = pipe
	if err := program.Start(); err != nil {
		return fmt.Errorf("run %s: %w", p.words[0], err)
	}
	failed := pager.Run()
	_ = program.Process.Kill() // nobody reads on
	_ = program.Wait()
	if failed == nil && complaint.Len() > 0 {
		if lines := bytes.TrimSpace(complaint.Bytes()); !bytes.HasPrefix(lines, []byte("Running as user")) {
			return fmt.Errorf("%s: %s", p.words[0], graphs.Clean(string(lines)))
		}
	}
	return failed
}
