package formats

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"whichlink/graphs"
)

// isDot recognises a graph in the DOT language by its first words.
func isDot(text []byte) bool {
	l := dotLexer{text: text, line: 1}
	t, err := l.next()
	if err == nil && strings.EqualFold(t.text, "strict") {
		t, err = l.next()
	}
	if err != nil || t.quoted || !strings.EqualFold(t.text, "graph") && !strings.EqualFold(t.text, "digraph") {
		return false
	}
	t, err = l.next()
	if err == nil && t.id {
		t, err = l.next()
	}
	return err == nil && t.text == "{" && !t.id
}

// A dotReader reads a graph: the topology.dot of Cumulus PTM, topology_converter and NVIDIA Air, whose edges join ports
// ("leaf1":"swp51" -- "spine1":"swp1"), and plain graphs without ports.
type dotReader struct {
	lex    dotLexer
	token  dotToken
	sketch *sketch
	strict bool
	// directed counts the arrows from one node to another that name no ports: a graph with arrows in both directions has half as many links.
	directed map[[2]string]int
	edges    int
}

// maxEdges bounds how many edges a file can tell of: groups in braces multiply.
const maxEdges = 1 << 20

func readDot(f *File, name string) error { return readDotText(f, name, f.text) }

func readDotText(f *File, name string, text []byte) error {
	r := &dotReader{lex: dotLexer{text: text, line: 1}, sketch: newSketch(), directed: map[[2]string]int{}}
	if err := r.advance(); err != nil {
		return err
	}
	if r.keyword("strict") {
		r.strict = true
		if err := r.advance(); err != nil {
			return err
		}
	}
	if !r.keyword("graph") && !r.keyword("digraph") {
		return r.expected("graph { ... }")
	}
	if err := r.advance(); err != nil {
		return err
	}
	if r.token.id {
		if given := strings.TrimSpace(r.token.text); given != "" && given != "G" {
			name = graphs.Clean(given)
		}
		if err := r.advance(); err != nil {
			return err
		}
	}
	if !r.mark("{") {
		return r.expected("{")
	}
	if _, err := r.block(0); err != nil {
		return err
	}
	if r.token.text != "" {
		f.note("what follows the first graph (line %d) was passed over", r.token.line)
	}
	return r.sketch.build(f, name)
}

func (r *dotReader) advance() (err error) {
	r.token, err = r.lex.next()
	return err
}

func (r *dotReader) keyword(word string) bool {
	return r.token.id && !r.token.quoted && strings.EqualFold(r.token.text, word)
}

func (r *dotReader) mark(text string) bool { return !r.token.id && r.token.text == text }

func (r *dotReader) expected(what string) error {
	got := fmt.Sprintf("%q", graphs.Clean(r.token.text))
	if r.token.text == "" && !r.token.id {
		got = "the file ends"
	}
	return &Error{Line: r.token.line, Err: fmt.Errorf("%s, expected %s", got, what)}
}

// block reads statements up to the brace that closes them and returns the nodes that they name.
func (r *dotReader) block(depth int) ([]socket, error) {
	if depth == maxDepth {
		return nil, &Error{Line: r.token.line, Err: fmt.Errorf("nested more than %d levels deep", maxDepth)}
	}
	if err := r.advance(); err != nil {
		return nil, err
	}
	var all []socket
	for !r.mark("}") {
		if r.mark(";") || r.mark(",") {
			if err := r.advance(); err != nil {
				return nil, err
			}
			continue
		}
		named, err := r.statement(depth)
		if err != nil {
			return nil, err
		}
		for _, n := range named {
			all = append(all, socket{node: n.node})
		}
	}
	return all, r.advance()
}

// statement reads a node, a chain of edges, a group, or a setting, and returns the nodes that it names.
func (r *dotReader) statement(depth int) ([]socket, error) {
	line := r.token.line
	if r.keyword("node") || r.keyword("edge") || r.keyword("graph") {
		if err := r.advance(); err != nil {
			return nil, err
		}
		_, err := r.attributes()
		return nil, err
	}
	ends, single, err := r.operand(depth)
	if err != nil {
		return nil, err
	}
	if single && r.mark("=") { // a setting of the graph, or one of PTM's templates
		if err := r.advance(); err != nil {
			return nil, err
		}
		if _, err := r.id("a value"); err != nil {
			return nil, err
		}
		return nil, nil
	}
	all := ends
	chain := [][]socket{ends}
	arrow := false
	for r.mark("--") || r.mark("->") {
		arrow = r.token.text == "->"
		if err := r.advance(); err != nil {
			return nil, err
		}
		next, _, err := r.operand(depth)
		if err != nil {
			return nil, err
		}
		chain = append(chain, next)
		all = append(slices.Clip(all), next...)
	}
	attributes, err := r.attributes()
	if err != nil {
		return nil, err
	}
	if len(chain) == 1 {
		if single {
			r.describe(ends[0], attributes)
		}
		return all, nil
	}
	for i := range chain[1:] {
		if r.edges += len(chain[i]) * len(chain[i+1]); r.edges > maxEdges {
			return nil, &Error{Line: line, Err: fmt.Errorf("more than %d edges", maxEdges)}
		}
		for _, a := range chain[i] {
			for _, b := range chain[i+1] {
				if err := r.edge(a, b, arrow, line); err != nil {
					return nil, err
				}
			}
		}
	}
	return all, nil
}

// operand reads a node with its port, which is single, or a group of nodes in braces.
func (r *dotReader) operand(depth int) (ends []socket, single bool, err error) {
	if r.keyword("subgraph") {
		if err := r.advance(); err != nil {
			return nil, false, err
		}
		if r.token.id {
			if err := r.advance(); err != nil {
				return nil, false, err
			}
		}
		if !r.mark("{") {
			return nil, false, r.expected("{")
		}
	}
	if r.mark("{") {
		ends, err = r.block(depth + 1)
		return ends, false, err
	}
	var s socket
	node := r.token
	if s.node, err = r.id("a node"); err != nil {
		return nil, false, err
	}
	var ports []dotToken
	for r.mark(":") {
		if err := r.advance(); err != nil {
			return nil, false, err
		}
		ports = append(ports, r.token)
		if _, err := r.id("a port"); err != nil {
			return nil, false, err
		}
	}
	if len(ports) > 0 && !(len(ports) == 1 && !ports[0].quoted && compass[ports[0].text]) {
		s.port = ports[0].text
	}
	if len(ports) == 0 && node.quoted {
		s.node, s.port, _ = strings.Cut(s.node, ":") // "leaf1:swp1" between one pair of quotes
	}
	if strings.TrimSpace(s.node) == "" {
		return nil, false, &Error{Line: node.line, Err: errors.New("a node has an empty name")}
	}
	return []socket{s}, true, nil
}

// compass are the sides of a node's shape, which Graphviz takes in the place of a port.
var compass = map[string]bool{"n": true, "ne": true, "e": true, "se": true, "s": true, "sw": true, "w": true, "nw": true, "c": true, "_": true}

// id reads a word; strings that a + joins are one.
func (r *dotReader) id(what string) (string, error) {
	if !r.token.id {
		return "", r.expected(what)
	}
	var b strings.Builder
	b.WriteString(r.token.text)
	if err := r.advance(); err != nil {
		return "", err
	}
	for r.mark("+") {
		if err := r.advance(); err != nil {
			return "", err
		}
		if !r.token.id {
			return "", r.expected("a string")
		}
		b.WriteString(r.token.text)
		if err := r.advance(); err != nil {
			return "", err
		}
	}
	return b.String(), nil
}

// attributes reads the lists in brackets that may follow a statement.
func (r *dotReader) attributes() (map[string]string, error) {
	all := map[string]string{}
	for r.mark("[") {
		if err := r.advance(); err != nil {
			return nil, err
		}
		for !r.mark("]") {
			if r.mark(",") || r.mark(";") {
				if err := r.advance(); err != nil {
					return nil, err
				}
				continue
			}
			key, err := r.id("an attribute or ]")
			if err != nil {
				return nil, err
			}
			if !r.mark("=") {
				all[key] = "true"
				continue
			}
			if err := r.advance(); err != nil {
				return nil, err
			}
			if all[key], err = r.id("a value"); err != nil {
				return nil, err
			}
		}
		if err := r.advance(); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// describe takes from the attributes of a node what this program knows: topology_converter's function, and the class of its own drawings.
func (r *dotReader) describe(s socket, attributes map[string]string) {
	n := r.sketch.node(s.node)
	for _, key := range []string{"function", "role", "class"} {
		if n.Role == "" {
			n.Role = roleOfMachine(attributes[key], attributes["os"])
		}
	}
	if a, err := netip.ParseAddr(attributes["mgmt_ip"]); err == nil && a.Zone() == "" {
		n.Management = a.Unmap()
	}
}

func (r *dotReader) edge(a, b socket, arrow bool, line int) error {
	if a.port == "" && b.port == "" && (arrow || r.strict) {
		there, back := [2]string{a.node, b.node}, [2]string{b.node, a.node}
		r.directed[there]++
		if r.strict && r.directed[there]+r.directed[back] > 1 || r.directed[there] <= r.directed[back] && there != back {
			return nil
		}
	}
	return r.sketch.add(cable{ends: [2]socket{a, b}, line: line})
}
