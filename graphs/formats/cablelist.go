package formats

import (
	"encoding/csv"
	"fmt"
	"io"
	"net/netip"
	"strings"

	"whichlink/graphs"
)

// cableColumns are those of a cable list: a CSV file with a link a row, for spreadsheets and for those who have no other file. The columns
// a_node and b_node are needed, the others may be there or not. A row without b_node tells of a node that has no link.
var cableColumns = []string{"a_node", "a_port", "a_role", "a_addresses", "b_node", "b_port", "b_role", "b_addresses", "speed", "groups"}

func isCableList(text []byte) bool { return hasColumns(text, "a_node", "b_node") }

func readCableList(f *File, name string, from []source) error {
	s := newSketch()
	err := eachRow(from, func(t *table) error {
		if !t.has("a_node", "b_node") {
			return t.fail("no columns a_node and b_node, expected a cable list: %s", strings.Join(cableColumns, ","))
		}
		return t.readCable(s)
	})
	if err != nil {
		return err
	}
	return s.build(f, name)
}

func (t *table) readCable(s *sketch) error {
	c := cable{file: t.name, line: t.line}
	for i, side := range []string{"a_", "b_"} {
		e := socket{plainCell(t.get(side + "node")), plainCell(t.get(side + "port"))}
		c.ends[i] = e
		if e.node == "" {
			if i == 1 && e.port == "" {
				return nil
			}
			return t.fail("no %snode", side)
		}
		n := s.nodeAt(e.node, place{t.name, t.line})
		if role := plainCell(t.get(side + "role")); role != "" {
			n.Role = graphs.Role(graphs.Clean(role))
		}
		for _, word := range splitList(plainCell(t.get(side + "addresses"))) {
			p, err := netip.ParsePrefix(word)
			if err != nil || p.Addr().Is4In6() {
				return t.fail("%saddresses: %q, expected an address with the length of its subnet such as 10.64.0.0/31", side, graphs.Clean(word))
			}
			c.prefix[i] = append(c.prefix[i], p)
		}
	}
	if word := t.get("speed"); word != "" {
		var err error
		if c.speed, err = ParseSpeed(word); err != nil {
			return t.fail("speed is %w", err)
		}
	}
	c.groups = splitList(plainCell(t.get("groups")))
	return s.add(c)
}

// WriteCSV writes a fabric as a cable list, which [Import] and spreadsheets read. It has no room for the fabric's name and for kind,
// loopback, management address and forwarding model of the nodes.
func WriteCSV(w io.Writer, f *graphs.Fabric) error {
	out := csv.NewWriter(w)
	write := func(cells ...string) {
		for i := range cells {
			cells[i] = safeCell(cells[i])
		}
		out.Write(cells) // an error stays until Flush
	}
	role := func(n *graphs.Node) string {
		if n.RoleGuessed {
			return ""
		}
		return string(n.Role)
	}
	out.Write(cableColumns)
	for l := range graphs.LinkID(f.NumLinks()) {
		var cells []string
		x := f.Link(l)
		for _, e := range x.Ends {
			p := f.Port(e)
			n := f.Node(p.Node)
			cells = append(cells, n.Name, p.Name, role(n), joinPrefixes(p.Prefixes))
		}
		write(append(cells, speedOrNone(x.Speed), joinGroups(f, x))...)
	}
	for i := range graphs.NodeID(f.NumNodes()) {
		if n := f.Node(i); f.Degree(i) == 0 {
			write(n.Name, "", role(n), "", "", "", "", "", "", "")
		}
	}
	out.Flush()
	if err := out.Error(); err != nil {
		return fmt.Errorf("write fabric %s: %w", f.Name(), err)
	}
	return nil
}

// formula are the beginnings by which spreadsheets take a cell for a formula and run it, and the mark that is put before them.
var formula = []string{"=", "+", "-", "@", "＝", "＋", "－", "＠", "'"}

// safeCell puts an apostrophe before what a spreadsheet would take for a formula; plainCell removes it.
func safeCell(s string) string {
	if beginsWith(s, formula) {
		return "'" + s
	}
	return s
}

func plainCell(s string) string {
	if rest, ok := strings.CutPrefix(s, "'"); ok && beginsWith(rest, formula) {
		return rest
	}
	return s
}

func beginsWith(s string, some []string) bool {
	for _, x := range some {
		if strings.HasPrefix(s, x) {
			return true
		}
	}
	return false
}

func speedOrNone(s graphs.BitsPerSecond) string {
	if s == 0 {
		return ""
	}
	return FormatSpeed(s)
}

func joinPrefixes(prefixes []netip.Prefix) string {
	var words []string
	for _, p := range prefixes {
		words = append(words, p.String())
	}
	return joinList(words)
}

func joinGroups(f *graphs.Fabric, l *graphs.Link) string {
	var names []string
	for _, g := range l.Groups {
		names = append(names, f.Group(g).Name)
	}
	return joinList(names)
}

var listEscape = strings.NewReplacer(`\`, `\\`, ";", `\;`)

// joinList writes several words into one cell or attribute, with semicolons between them; a semicolon within a word has a backslash.
func joinList(words []string) string {
	escaped := make([]string, len(words))
	for i, w := range words {
		escaped[i] = listEscape.Replace(w)
	}
	return strings.Join(escaped, ";")
}

// splitList is the inverse of joinList. Empty words are left out.
func splitList(list string) []string {
	var words []string
	var word strings.Builder
	end := func() {
		if w := strings.TrimSpace(word.String()); w != "" {
			words = append(words, w)
		}
		word.Reset()
	}
	escaped := false
	for _, r := range list {
		switch {
		case escaped:
			word.WriteRune(r)
			escaped = false
		case r == '\\':
			escaped = true
		case r == ';':
			end()
		default:
			word.WriteRune(r)
		}
	}
	end()
	return words
}
