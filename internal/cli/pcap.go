package cli

import (
	"bufio"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"whichlink/captures"
	"whichlink/captures/files"
	"whichlink/graphs"
	"whichlink/graphs/formats"
	"whichlink/internal/evidence"
)

// readingGC lets memory grow further between two collections: what is kept of flows has no pointers, and next to nothing is thrown away
// that a collection could find.
const readingGC = 800

func newPcapCmd(e *env) *cobra.Command {
	var speed, fabric string
	var at []string
	var taps bool
	var how pcapOptions
	cmd := &cobra.Command{
		Use:   "pcap FILE...",
		Short: "Say what packet captures prove: loss before or behind the point of capture, congestion, pauses, corruption",
		Long: `Pcap reads captures (pcap or pcapng, also compressed with gzip or zstd; several are merged by time; - is standard input) and tells
what they prove, the worst first: each finding with the rule that it follows and a Wireshark display filter that shows its packets.
Packets that were captured twice are told apart first and kept out of all else. A file that breaks off is analysed up to there.
The form jsonl is evidence, csv is a table of the flows.
With --write the packets of a finding (--finding N, as the report numbers them) or of a flow (--flow "tcp 10.0.0.1:1000>10.0.0.2:2000",
or "10.0.0.1>10.0.0.2") become a capture of their own: of both directions, and of a finding with a second before and after.
With --taps each file is one point of capture of the same traffic, in the order of the path, and is compared with the next: what was
lost between them, how long packets took, how their clocks differ. All else that is told is then of the first file.
With --fabric the losses of flows between its hosts become evidence on arcs, and suspects are ranked. --at says where the capture was
taken, and so which part of a path lies before it; with --taps it is given once for each file, in their order, and what was lost between
two of them is evidence on the arcs between those places.`,
		Args: args(1, -1),
		RunE: func(cmd *cobra.Command, names []string) error {
			if speed != "" {
				bits, err := formats.ParseSpeed(speed)
				if err != nil || bits <= 0 {
					return usagef("--speed %q is not a speed such as 100G", graphs.Clean(speed))
				}
				how.cfg.LinkSpeed = uint64(bits)
			}
			if err := how.slice.check(names, taps); err != nil {
				return err
			}
			place, err := e.readPlace(fabric, at)
			if err != nil {
				return err
			}
			how.place, how.cfg.Series = place, how.page != ""
			if most := len(names); len(at) > 1 && (!taps || len(at) != most) {
				return usagef("--at is given %d times: once, or with --taps once for each of the %d files", len(at), most)
			}
			defer debug.SetGCPercent(debug.SetGCPercent(readingGC)) // until all is told: a collection before that finds nothing either
			if taps {
				if len(names) < 2 || slices.Contains(names, "-") {
					return usagef("--taps compares two files or more, which are read twice: standard input cannot be one")
				}
				return e.analyseTaps(cmd.Context(), names, &how)
			}
			return e.analyse(cmd.Context(), names, &how)
		},
	}
	outputFlag(cmd, &how.output, "text", "json", "jsonl", "csv")
	cmd.Flags().StringVar(&speed, "speed", "", "`SPEED` of the links that pause frames were captured on, such as 100G (default: what pcapng says)")
	cmd.Flags().BoolVar(&taps, "taps", false, "compare the files as points of capture of the same traffic")
	fabricFlag(cmd, &fabric)
	cmd.Flags().StringVar(&how.page, "html", "", "also write the report as one page of HTML to `FILE`, with drawings over time")
	cmd.Flags().StringVar(&how.slice.file, "write", "", "also write packets to `FILE` in the form pcapng")
	cmd.Flags().IntVar(&how.slice.finding, "finding", 0, "write the packets of the report's finding `N`")
	cmd.Flags().StringVar(&how.slice.flow, "flow", "", "write the packets of a `FLOW`")
	cmd.Flags().StringArrayVar(&at, "at", nil, "the `NODE` or port of the fabric where the capture was taken; with --taps once for each file")
	nameFlag(cmd, "at", nodes|ports)
	return cmd
}

// pcapOptions says how to judge captures, and what to tell.
type pcapOptions struct {
	cfg    captures.Config
	output string
	place  *fabricPlace
	page   string // the file of --html, or ""
	slice  slicing
}

// analyse reads captures and prints what they tell. A file that cannot be read is told in the report and makes the command fail.
func (e *env) analyse(ctx context.Context, names []string, how *pcapOptions) error {
	opened, failed := e.openCaptures(names)
	defer opened.close()
	a := captures.New(how.cfg)
	stop := e.analyseAll(ctx, a, opened.merged(), e.newProgress(opened.size(), opened))
	stats := make([]*files.Stats, len(opened))
	for i, o := range opened {
		stats[i] = o.stats()
		if s := stats[i]; s.Err != nil && s.Packets == 0 && failed == nil {
			failed = fmt.Errorf("read capture %s: %w", graphs.Clean(s.Name), s.Err)
		}
	}
	if stop != nil {
		return stop
	}
	r := a.Report(stats...)
	if err := e.tellCaptures(a, r, names, how, failed); err != nil {
		return err
	}
	if how.slice.file != "" {
		failed = errors.Join(failed, e.writeSlice(ctx, r, names, &how.slice))
	}
	return failed
}

// tellCaptures prints a report, and on the side what was wrong with files where the form has no place that is read, but for what
// the command fails with.
func (e *env) tellCaptures(a *captures.Analyzer, r *captures.Report, names []string, how *pcapOptions, failed error) error {
	if err := e.printCaptures(a, r, names, how); err != nil {
		return err
	}
	if how.output != "text" {
		for _, f := range r.Files {
			if f.Error != "" && (failed == nil || f.Packets > 0 || len(r.Files) > 1) {
				e.say("%s: %s", f.File, f.Error)
			}
		}
	}
	return nil
}

// A capture is one file of the command line.
type capture struct {
	name   string
	file   *files.File // nil if it could not be opened
	err    error
	closed []func()
	size   int64 // 0 where it is not known
	seek   func() int64
}

func (c *capture) close() {
	for _, f := range c.closed {
		f()
	}
}

func (c *capture) stats() *files.Stats {
	if c.file == nil {
		return &files.Stats{Name: c.name, Err: c.err}
	}
	return &c.file.Stats
}

// captureList are the files of a command line. Some may not have been opened.
type captureList []*capture

func (l captureList) close() {
	for _, c := range l {
		c.close()
	}
}

// readable returns those that were opened.
func (l captureList) readable() captureList {
	return slices.DeleteFunc(slices.Clone(l), func(c *capture) bool { return c.file == nil })
}

// merged reads those that were opened as one.
func (l captureList) merged() files.Source {
	var all []*files.File
	for _, c := range l.readable() {
		all = append(all, c.file)
	}
	return files.Merge(all...)
}

// size is that of all together.
func (l captureList) size() int64 {
	total := int64(0)
	for _, c := range l {
		total += c.size
	}
	return total
}

// totalBuffer is what the buffers of all files together may take.
const totalBuffer = 16 << 20

// openCaptures opens all files. The first error of one that cannot be opened or is no capture is returned beside the others.
func (e *env) openCaptures(names []string) (captureList, error) {
	buffer := min(files.DefaultBuffer, max(64<<10, totalBuffer/len(names)))
	var opened captureList
	var first error
	for _, name := range names {
		c := &capture{name: name}
		opened = append(opened, c)
		in := e.stdin
		if name == "-" {
			c.name = "standard input"
		} else if in = c.open(name); in == nil {
			if first == nil {
				first = openError("capture", c.err)
			}
			c.err = graphs.Reason(c.err)
			continue
		}
		f, err := files.Open(c.name, in, buffer)
		if err != nil {
			c.err = graphs.Reason(err)
			if first == nil {
				first = fmt.Errorf("read capture %s: %w", graphs.Clean(c.name), c.err)
			}
			continue
		}
		c.file = f
		c.closed = append([]func(){f.Close}, c.closed...)
	}
	return opened, first
}

// open opens a file, or returns nil.
func (c *capture) open(name string) io.Reader {
	file, err := os.Open(name)
	if err != nil {
		c.err = err
		return nil
	}
	c.closed = append(c.closed, func() { _ = file.Close() })
	if info, err := file.Stat(); err == nil && info.Mode().IsRegular() {
		c.size = info.Size()
		c.seek = func() int64 {
			at, err := file.Seek(0, io.SeekCurrent)
			if err != nil {
				return 0
			}
			return at
		}
	}
	return file
}

// analyseAll feeds the analyzer.
func (e *env) analyseAll(ctx context.Context, a *captures.Analyzer, source files.Source, bar *progress) error {
	return e.eachPacket(ctx, source, bar, func(packets []files.Packet) error {
		a.AddAll(packets)
		return nil
	})
}

// eachPacket reads all packets, some at a time, looks now and then whether it should stop, and shows how far it is.
func (e *env) eachPacket(ctx context.Context, source files.Source, bar *progress, each func([]files.Packet) error) error {
	const often = 1 << 10 // reads of up to 64 packets
	defer bar.clear()
	var packets [64]files.Packet
	for reads := 1; ; reads++ {
		n, err := files.Read(source, packets[:])
		if err != nil {
			return nil
		}
		if err := each(packets[:n]); err != nil {
			return err
		}
		if reads%often == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			bar.show()
		}
	}
}

// A progress is a bar on the terminal. Without a terminal, or when all is read in a moment, nothing is drawn.
type progress struct {
	out    io.Writer
	opened captureList
	done   int64 // bytes of captures that were read and closed
	total  int64
	begun  time.Time
	drawn  time.Time
	ascii  bool
}

// newProgress is a bar for total bytes, of which opened captures are being read.
func (e *env) newProgress(total int64, opened captureList) *progress {
	p := &progress{opened: opened, total: total, begun: time.Now(), ascii: e.ascii}
	if out, ok := e.stderr.(*os.File); ok && !e.quiet && p.total > 0 && term.IsTerminal(out.Fd()) && os.Getenv("TERM") != "dumb" {
		p.out = out
	}
	return p
}

func (p *progress) show() {
	const width = 40
	now := time.Now()
	if p.out == nil || now.Sub(p.begun) < time.Second || now.Sub(p.drawn) < 200*time.Millisecond {
		return
	}
	p.drawn = now
	done := p.done
	for _, c := range p.opened {
		if c.seek != nil {
			done += c.seek()
		}
	}
	share := min(1, float64(done)/float64(p.total))
	full, empty := "█", "░"
	if p.ascii {
		full, empty = "#", "."
	}
	filled := int(share * width)
	left := time.Duration(float64(now.Sub(p.begun)) * (1 - share) / max(share, 1e-6)).Round(time.Second)
	fmt.Fprintf(p.out, "\r%s%s %3.0f %%  %s left \x1b[K", strings.Repeat(full, filled), strings.Repeat(empty, width-filled), 100*share, left)
}

func (p *progress) clear() {
	if !p.drawn.IsZero() {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}

// printCaptures prints a report in one of its forms.
func (e *env) printCaptures(a *captures.Analyzer, r *captures.Report, names []string, how *pcapOptions) error {
	full := diagnosed{Report: r}
	if how.place.fabric != nil {
		d, err := how.place.diagnose(a, r, names)
		if err != nil {
			return err
		}
		full.Diagnosis = d
	}
	r.Placed = full.Diagnosis != nil
	if how.page != "" {
		if err := e.writePage(a, &full, how.page); err != nil {
			return err
		}
	}
	switch how.output {
	case "jsonl":
		out := bufio.NewWriter(e.stdout)
		err := how.place.evidence(a, r, names, func(rec *evidence.Record) error { return evidence.Write(out, rec) })
		return errors.Join(err, out.Flush())
	case "csv":
		return printFlows(e.stdout, a)
	case "json":
		return printJSON(e.stdout, full)
	}
	text := r.Text()
	if full.Diagnosis != nil {
		text += "\n" + full.Diagnosis.Text()
	}
	_, err := io.WriteString(e.stdout, text)
	return err
}

// printFlows writes a line for each direction of a flow. What was not measured is empty.
func printFlows(w io.Writer, a *captures.Analyzer) error {
	out := csv.NewWriter(w)
	if err := out.Write([]string{"src", "dst", "proto", "sport", "dport", "dscp", "packets", "bytes", "first", "last", "lost_before", "lost_after",
		"retransmitted", "out_of_order", "ce", "rtt_min_us", "rtt_p50_us", "rtt_p99_us"}); err != nil {
		return err
	}
	number := func(n *int) string {
		if n == nil {
			return ""
		}
		return strconv.Itoa(*n)
	}
	err := a.EachFlow(func(f *captures.FlowReport) error {
		line := []string{
			f.Flow.Src.String(), f.Flow.Dst.String(), f.Flow.Proto, strconv.Itoa(int(f.Flow.SrcPort)), strconv.Itoa(int(f.Flow.DstPort)),
			strconv.Itoa(int(f.Flow.DSCP)), strconv.Itoa(f.Packets), strconv.FormatUint(f.Bytes, 10), f.First.Format(time.RFC3339Nano),
			f.Last.Format(time.RFC3339Nano), number(f.LostBefore), number(f.LostAfter), number(f.Retransmitted), number(f.OutOfOrder), number(f.CE),
			"", "", "",
		}
		if d := f.RTT; d != nil {
			for i, us := range []float64{d.Min, d.P50, d.P99} {
				line[len(line)-3+i] = strconv.FormatFloat(us, 'f', 1, 64)
			}
		}
		return out.Write(line)
	})
	out.Flush()
	return errors.Join(err, out.Error())
}
