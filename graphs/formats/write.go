package formats

import (
	"bytes"
	"fmt"
	"io"
	"net/netip"
	"strings"

	"go.yaml.in/yaml/v3"

	"whichlink/graphs"
)

// WriteFabric writes a fabric as a fabric file, one line a node and two a link. Roles that were guessed are left out, so that reading it
// again guesses them again. A fabric whose file could not be read again, being larger than [MaxSize], is not written at all.
func WriteFabric(w io.Writer, f *graphs.Fabric) error {
	text, err := fabricText(f)
	if err != nil {
		return err
	}
	if _, err := w.Write(text); err != nil {
		return fmt.Errorf("write fabric %s: %w", f.Name(), err)
	}
	return nil
}

// fabricText is the text of a fabric file. It is put together by hand, as a tree of YAML nodes takes a hundred times its room; only words
// that may need quotes are left to the library.
func fabricText(f *graphs.Fabric) ([]byte, error) {
	t := clabText{words: map[string]string{}}
	t.add("name: ", t.word(f.Name()), "\ntopology:\n  nodes:\n")
	for i := range graphs.NodeID(f.NumNodes()) {
		t.add("    ", t.word(f.NodeName(i)), ": ", t.node(f.Node(i)), "\n")
	}
	if f.NumLinks() > 0 {
		t.add("  links:\n")
	}
	for l := range graphs.LinkID(f.NumLinks()) {
		e := f.Link(l).Ends
		t.add("    - endpoints: ", flowSequence([]string{t.quoted(f.PortName(e[0])), t.quoted(f.PortName(e[1]))}), "\n")
		if vars := t.vars(f, f.Link(l)); vars != "" {
			t.add("      vars: ", vars, "\n")
		}
		if len(t.out) > MaxSize {
			t.err = ErrTooLarge
			break
		}
	}
	if t.err != nil {
		return nil, fmt.Errorf("write fabric %s: %w", f.Name(), t.err)
	}
	return t.out, nil
}

// A clabText is a fabric file that is being put together.
type clabText struct {
	out []byte
	// words are those that are not plain at first sight, as they are written.
	words map[string]string
	err   error
}

func (t *clabText) add(parts ...string) {
	for _, p := range parts {
		t.out = append(t.out, p...)
	}
}

func (t *clabText) node(n *graphs.Node) string {
	var out, labels []string
	if n.Kind != "" {
		out = append(out, "kind: "+t.word(n.Kind))
	}
	switch {
	case n.Management.Is4():
		out = append(out, "mgmt-ipv4: "+t.word(n.Management.String()))
	case n.Management.IsValid():
		out = append(out, "mgmt-ipv6: "+t.word(n.Management.String()))
	}
	if n.Role != "" && !n.RoleGuessed {
		labels = append(labels, labelRole+": "+t.word(string(n.Role)))
	}
	if len(n.Loopback) > 0 {
		var addresses []string
		for _, a := range n.Loopback {
			addresses = append(addresses, a.String())
		}
		labels = append(labels, labelLoopback+": "+t.word(strings.Join(addresses, ", ")))
	}
	if n.Model != "" {
		labels = append(labels, labelModel+": "+t.word(n.Model))
	}
	if len(labels) > 0 {
		out = append(out, "labels: "+flowMapping(labels))
	}
	return flowMapping(out)
}

// vars is what stands beside the endpoints of a link, or "".
func (t *clabText) vars(f *graphs.Fabric, l *graphs.Link) string {
	var vars []string
	for _, family := range []string{"ipv4", "ipv6"} {
		if list := addressesOut(f, l, family == "ipv6"); list != "" {
			vars = append(vars, family+": "+list)
		}
	}
	if l.Speed != 0 {
		vars = append(vars, "speed: "+t.word(FormatSpeed(l.Speed)))
	}
	if len(l.Groups) > 0 {
		groups := make([]string, len(l.Groups))
		for i, g := range l.Groups {
			groups[i] = t.word(f.Group(g).Name)
		}
		vars = append(vars, "group: "+flowSequence(groups))
	}
	if len(vars) == 0 {
		return ""
	}
	return flowMapping(vars)
}

// addressesOut lists the first address of a family at both ends, or is "" where neither has one: the file has room for one an end.
func addressesOut(f *graphs.Fabric, l *graphs.Link, ipv6 bool) string {
	var list [2]string
	any := false
	for i, p := range l.Ends {
		var first netip.Prefix
		for _, x := range f.Port(p).Prefixes {
			if x.Addr().Is6() == ipv6 {
				first, any = x, true
				break
			}
		}
		list[i] = `""`
		if first.IsValid() {
			list[i] = `"` + first.String() + `"`
		}
	}
	if !any {
		return ""
	}
	return flowSequence(list[:])
}

func flowMapping(pairs []string) string { return "{" + strings.Join(pairs, ", ") + "}" }

func flowSequence(items []string) string { return "[" + strings.Join(items, ", ") + "]" }

// word is a string; quotes are put around it where it would otherwise be read as a number or something else.
func (t *clabText) word(s string) string {
	if isPlain(s) {
		return s
	}
	written, ok := t.words[s]
	if !ok {
		n := &yaml.Node{}
		n.SetString(s)
		n.Style &^= yaml.LiteralStyle
		written = t.scalar(n)
		t.words[s] = written
	}
	return written
}

// isPlain reports whether a string needs no quotes for sure: letters, digits and some marks, a letter first, and none of YAML's own words.
func isPlain(s string) bool {
	for i := range len(s) {
		c := s[i]
		switch {
		case 'a' <= c|0x20 && c|0x20 <= 'z':
		case i > 0 && ('0' <= c && c <= '9' || c == '-' || c == '_' || c == '.' || c == '/'):
		default:
			return false
		}
	}
	switch strings.ToLower(s) {
	case "", "y", "n", "yes", "no", "on", "off", "true", "false", "null":
		return false
	}
	return true
}

// quoted is a string in double quotes.
func (t *clabText) quoted(s string) string {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return t.scalar(&yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s, Style: yaml.DoubleQuotedStyle})
		}
	}
	return `"` + s + `"`
}

// scalar writes a value as it stands in a list on one line.
func (t *clabText) scalar(n *yaml.Node) string {
	text, err := yaml.Marshal(&yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle, Content: []*yaml.Node{n}})
	if err != nil && t.err == nil {
		t.err = err
	}
	return string(bytes.TrimSuffix(bytes.TrimPrefix(text, []byte("[")), []byte("]\n")))
}
