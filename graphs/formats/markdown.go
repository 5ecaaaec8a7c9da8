package formats

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"whichlink/graphs"
)

// WriteMarkdown writes the links of a fabric as a Markdown table, for tickets. Names stand in code spans, in which nothing is markup.
func WriteMarkdown(w io.Writer, f *graphs.Fabric) error {
	out := bufio.NewWriter(w)
	out.WriteString("| from | to | speed | shared risk |\n| --- | --- | ---: | --- |\n")
	for i := range graphs.LinkID(f.NumLinks()) {
		l := f.Link(i)
		var groups []string
		for _, g := range l.Groups {
			groups = append(groups, codeSpan(f.Group(g).Name))
		}
		fmt.Fprintf(out, "| %s | %s | %s | %s |\n", codeSpan(f.PortName(l.Ends[0])), codeSpan(f.PortName(l.Ends[1])), speedOrNone(l.Speed), strings.Join(groups, " "))
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write fabric %s: %w", f.Name(), err)
	}
	return nil
}

// codeSpan puts a word between more backticks than it has in a row. A bar would end the cell of a table, in a code span too.
func codeSpan(s string) string {
	fence := "`"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") {
		s = " " + s + " "
	}
	return fence + strings.ReplaceAll(s, "|", `\|`) + fence
}
