package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// newManCmd is what packages are made with: whichlink man DIR writes a man page for each command.
func newManCmd() *cobra.Command {
	return &cobra.Command{
		Use: "man DIR", Short: "Write the man pages into a directory", Hidden: true, Args: args(1, 1),
		RunE: func(cmd *cobra.Command, dir []string) error {
			if err := os.MkdirAll(dir[0], 0o755); err != nil {
				return err
			}
			return writeManPages(cmd.Root(), dir[0])
		},
	}
}

// writeManPages writes the page of a command and those of the commands below it.
func writeManPages(c *cobra.Command, dir string) error {
	c.InitDefaultHelpFlag()
	if err := os.WriteFile(filepath.Join(dir, manName(c)+".1"), []byte(manPage(c)), 0o644); err != nil {
		return err
	}
	for _, sub := range manCommands(c) {
		if err := writeManPages(sub, dir); err != nil {
			return err
		}
	}
	return nil
}

func manName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// manPage writes a page in the man macros (man(7)). It bears no date, so that the same program has the same pages.
func manPage(c *cobra.Command) string {
	var b strings.Builder
	name := manName(c)
	fmt.Fprintf(&b, ".TH %s 1 \"\" \"whichlink\" \"User Commands\"\n.nh\n.ad l\n.SH NAME\n%s \\- %s\n.SH SYNOPSIS\n.B %s\n", roff(strings.ToUpper(name)), roff(name), roff(c.Short), roff(c.UseLine()))
	b.WriteString(".SH DESCRIPTION\n" + manText(c.Long))
	if c.Long == "" {
		b.WriteString(roff(c.Short) + ".\n")
	}
	if subs := manCommands(c); len(subs) > 0 {
		b.WriteString(".SH COMMANDS\n")
		for _, s := range subs {
			fmt.Fprintf(&b, ".TP\n.BR %s (1)\n%s\n", roff(manName(s)), roff(s.Short))
		}
	}
	manFlags(&b, "OPTIONS", c.NonInheritedFlags())
	manFlags(&b, "OPTIONS OF ALL COMMANDS", c.InheritedFlags())
	b.WriteString(".SH EXIT STATUS\n")
	if c.Name() == "check" {
		b.WriteString("0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN, which is also the answer to wrong usage.\n")
	} else {
		b.WriteString("0 done, 1 failed, 2 wrong usage.\n")
	}
	if c.Example != "" {
		b.WriteString(".SH EXAMPLES\n" + manText(c.Example))
	}
	var also []string
	if c.HasParent() {
		also = append(also, manName(c.Parent()))
		for _, s := range manCommands(c.Parent()) {
			if s != c {
				also = append(also, manName(s))
			}
		}
		slices.Sort(also)
		b.WriteString(".SH SEE ALSO\n")
		for i, s := range also {
			mark := " ,"
			if i == len(also)-1 {
				mark = ""
			}
			fmt.Fprintf(&b, ".BR %s (1)%s\n", roff(s), mark)
		}
	}
	return b.String()
}

func manCommands(c *cobra.Command) []*cobra.Command {
	return slices.DeleteFunc(slices.Clone(c.Commands()), func(s *cobra.Command) bool {
		return !s.IsAvailableCommand() || s.IsAdditionalHelpTopicCommand()
	})
}

// manText writes paragraphs, which are filled, and tables, of indented lines, which stay as they are.
func manText(text string) string {
	var b strings.Builder
	table, gap := false, false
	for _, line := range strings.Split(strings.Trim(strings.ReplaceAll(text, "\t", "  "), "\n"), "\n") {
		indented := strings.HasPrefix(line, " ")
		if table && !indented {
			b.WriteString(".fi\n")
			gap = true
		}
		if line == "" {
			table, gap = false, true
			continue
		}
		if (gap || indented && !table) && b.Len() > 0 {
			b.WriteString(".PP\n")
		}
		if indented && !table {
			b.WriteString(".nf\n")
		}
		table, gap = indented, false
		b.WriteString(roff(line) + "\n")
	}
	if table {
		b.WriteString(".fi\n")
	}
	return b.String()
}

// manFlags writes a section of flags.
func manFlags(b *strings.Builder, title string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	fmt.Fprintf(b, ".SH %s\n", title)
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		b.WriteString(".TP\n")
		if f.Shorthand != "" {
			fmt.Fprintf(b, "\\fB\\-%s\\fR, ", f.Shorthand)
		}
		fmt.Fprintf(b, "\\fB%s\\fR", roff("--"+f.Name))
		if value != "" {
			fmt.Fprintf(b, " \\fI%s\\fR", roff(value))
		}
		switch f.DefValue {
		case "", "0", "0s", "false", "[]":
		default:
			usage += fmt.Sprintf(" (default %s)", strings.Trim(f.DefValue, "[]"))
		}
		fmt.Fprintf(b, "\n%s\n", roff(usage))
	})
}

// roffMarks is what man(7) takes for its own: a dash would become a hyphen, which no shell knows.
var roffMarks = strings.NewReplacer("\\", "\\e", "-", "\\-", "'", "\\(aq", "`", "\\(ga", "^", "\\(ha", "~", "\\(ti")

// roff escapes a line of text.
func roff(s string) string {
	s = roffMarks.Replace(s)
	if strings.HasPrefix(s, ".") {
		s = "\\&" + s
	}
	return s
}
