package cli

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"whichlink/graphs"
	"whichlink/graphs/cabling"
	"whichlink/graphs/formats"
)

func newFabricDiffCmd(e *env) *cobra.Command {
	var output, dark string
	cmd := &cobra.Command{
		Use:   "diff PLAN OBSERVED...",
		Short: "The cabling that was found against the plan, port by port, and the plugs to move",
		Long: `Diff compares the fabric that was planned with the one that was observed, most often by LLDP: files of any form that fabric import reads;
several files of one form, a switch each, are one observation. Names that differ in case, domain or spelling (Eth1/1, Ethernet1/1) are the
same; those that may mean two things are told and not guessed.

Two-way and longer exchanges of plugs are recognised, and the fewest plugs to move are listed that make the cabling what was planned.
--dark lists ports, nodes or links, one a line, of which no link is expected to be seen.

The exit code is 0 whether or not there are differences.`,
		Args: args(2, -1),
		RunE: func(cmd *cobra.Command, given []string) error {
			var config cabling.Config
			if dark != "" {
				var err error
				if config.Dark, err = readDark(dark); err != nil {
					return err
				}
			}
			plan, observed, err := e.readPlanAndObserved(given[0], given[1:])
			if err != nil {
				return err
			}
			d := fabricDiff{plan: plan.Fabric, observed: observed.Fabric}
			config.PlanNumbered, config.ObservedNumbered, config.Loops = numbered(plan), numbered(observed), observed.Loops
			d.Comparison = cabling.Compare(plan.Fabric, observed.Fabric, config)
			if len(d.Unknown) > 0 {
				e.say("%s: neither fabric knows %s", graphs.Clean(dark), strings.Join(d.Unknown, ", "))
			}
			if config.PlanNumbered || config.ObservedNumbered {
				e.say("not both files name ports: the nodes that are joined are compared, and the ports are such as would do")
			}
			if 2*d.Right < d.Planned && d.Observed > 0 {
				e.say("only %d of %d planned links are there: are these the plan and the observation of one fabric?", d.Right, d.Planned)
			}
			switch output {
			case "json":
				return printJSON(e.stdout, d.json())
			case "md":
				return d.print(e.stdout, diffForm{"# %s\n", "\n## %s\n\n", "- %s\n", "%d. %s\n"})
			}
			return d.print(e.stdout, diffForm{"%s\n", "\n%s\n", "  %s\n", "  %d. %s\n"})
		},
	}
	outputFlag(cmd, &output, "text", "json", "md")
	cmd.Flags().StringVar(&dark, "dark", "", "`FILE` of ports, nodes or links, one a line, that are expected to be dark")
	return cmd
}

// numbered reports whether no port has a name in the file.
func numbered(f *formats.File) bool { return f.Numbered > 0 && f.Numbered == f.Fabric.NumPorts() }

// readPlanAndObserved reads both at the same time, as they may be large.
func (e *env) readPlanAndObserved(plan string, observed []string) (p, o *formats.File, err error) {
	if plan == "-" && slices.Contains(observed, "-") {
		return nil, nil, usagef("standard input cannot be both the plan and what was observed")
	}
	var reading sync.WaitGroup
	var failed error
	reading.Go(func() { p, failed = e.readFabricFile(plan) })
	o, err = formats.Observe(e.stdin, observed...)
	reading.Wait()
	if failed != nil {
		return nil, nil, failed
	}
	if err != nil {
		return nil, nil, err
	}
	e.sayNotes(plan, p)
	e.sayNotes(observed[0], o)
	return p, o, nil
}

// readDark reads a list of ports, nodes and links, one a line; a # at the beginning or behind a blank begins a comment.
func readDark(path string) ([]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, openError("what is expected to be dark", err)
	}
	defer f.Close()
	var names []string
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		name, _, _ := strings.Cut(" "+strings.ReplaceAll(lines.Text(), "\t", " "), " #")
		if name = strings.TrimSpace(name); name != "" {
			names = append(names, name)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read %s: %w", graphs.Clean(path), err)
	}
	return names, nil
}

// A fabricDiff is a comparison to be printed.
type fabricDiff struct {
	*cabling.Comparison
	plan, observed *graphs.Fabric
}

// A diffForm is how the parts of a comparison are written: text or Markdown.
type diffForm struct{ title, section, line, step string }

// print writes the comparison: one line that sums it up, then sections of lines.
func (d *fabricDiff) print(w io.Writer, form diffForm) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, form.title, fmt.Sprintf("%s (%d links) against %s (%d links): %d right, %d wrong, %d missing, %d unexpected, %d dark as expected",
		d.observed.Name(), d.Observed, d.plan.Name(), d.Planned, d.Right, d.WrongLinks, len(d.Missing), len(d.Unexpected), d.DarkLinks))
	write := func(heading string, lines []string) {
		if len(lines) == 0 {
			return
		}
		fmt.Fprintf(b, form.section, heading)
		for _, l := range lines {
			fmt.Fprintf(b, form.line, l)
		}
	}
	write("how it was seen", d.remarks())
	if len(d.Mends) > 0 {
		fmt.Fprintf(b, form.section, "to mend it, move "+plural(d.Moves(), "plug"))
	}
	for i := range d.Mends {
		fmt.Fprintf(b, form.step, i+1, d.Mends[i].Text())
	}
	var wrong []string
	for _, x := range d.Wrong {
		wrong = append(wrong, fmt.Sprintf("%s: planned to %s, found at %s", x.Port, x.Planned, x.Found))
	}
	write("wrong ports", wrong)
	write("missing links, seen from neither end", d.Missing)
	write("unexpected links, between ports that are not in the plan", d.Unexpected)
	write("dark, as expected", d.Dark)
	write("expected to be dark, but with a link", d.Lit)
	write("unclear links: the name of an end may mean several things, or is none", d.Unclear)
	write("rules that the plan suggests", d.rules())
	return b.Flush()
}

// remarks say what bounds the comparison.
func (d *fabricDiff) remarks() []string {
	var lines []string
	for _, u := range d.Unseen {
		lines = append(lines, fmt.Sprintf("nothing is known of %s: its %s cannot be judged", u.Node, plural(u.Links, "planned link")))
	}
	if d.HostLinks > 0 {
		lines = append(lines, fmt.Sprintf("no host was observed: the %s to hosts cannot be judged", plural(d.HostLinks, "planned link")))
	}
	if d.HalfNamed > 0 {
		lines = append(lines, fmt.Sprintf("of the right links, %d join the planned nodes, and the port at one end gives no name to compare", d.HalfNamed))
	}
	lines = append(lines, d.Ambiguous...)
	if d.UnclearLinks > 0 {
		lines = append(lines, fmt.Sprintf("%s cannot be judged as the names found are unclear", plural(d.UnclearLinks, "planned link")))
	}
	if d.Unmended > 0 {
		lines = append(lines, fmt.Sprintf("%s of wrong links cannot be mended from here, as a port has no clear name", plural(d.Unmended, "group")))
	}
	return lines
}

func (d *fabricDiff) rules() []string {
	var lines []string
	for _, r := range d.Rules {
		if len(r.Plan)+len(r.Observed) == 0 {
			lines = append(lines, "kept: "+r.Says)
			continue
		}
		lines = append(lines, "broken: "+r.Says)
		for _, x := range r.Plan {
			lines = append(lines, "broken by the plan itself: "+x)
		}
		for _, x := range r.Observed {
			lines = append(lines, "broken by what was found: "+x)
		}
	}
	return lines
}
