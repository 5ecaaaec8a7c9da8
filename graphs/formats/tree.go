package formats

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"whichlink/graphs"
)

// at makes an error at the place of a node of the document.
func at(n *yaml.Node, format string, args ...any) error {
	return &Error{Line: n.Line, Err: fmt.Errorf(format, args...)}
}

var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

// parse parses the first document of a YAML text. Aliases stay what they are, so that a small text cannot blow up.
func parse(text []byte) (root *yaml.Node, more bool, err error) {
	dec := yaml.NewDecoder(bytes.NewReader(text))
	var doc yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil, false, errors.New("the file is empty, expected a containerlab topology")
	case err != nil:
		e := &Error{Err: errors.New(graphs.Clean(yamlLine.ReplaceAllString(err.Error(), "not YAML: ")))}
		if before, _, ok := bytes.Cut(text, []byte("{{")); ok {
			// The parser trips over a template wherever it happens to.
			return nil, false, &Error{Line: 1 + bytes.Count(before, []byte("\n")),
				Err: errors.New("{{: a template, which must be rendered first; containerlab does so with its variables when it deploys")}
		}
		if m := yamlLine.FindStringSubmatch(err.Error()); m != nil {
			e.Line, _ = strconv.Atoi(m[1])
		}
		return nil, false, e
	}
	return doc.Content[0], dec.Decode(new(yaml.Node)) == nil, nil
}

// follow returns what an alias stands for.
func follow(n *yaml.Node) *yaml.Node {
	for n != nil && n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

func isNull(n *yaml.Node) bool { return n == nil || n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

// A mapping is a YAML mapping with what "<<" merges into it. A null is an empty mapping.
type mapping struct {
	node   *yaml.Node
	keys   []*yaml.Node
	values []*yaml.Node
	index  map[string]int
	merged int
}

// maxMerges bounds how many mappings are merged into one; YAML lets merges run in circles.
const maxMerges = 100

// asMapping takes a node as a mapping; what is its name in errors.
func asMapping(n *yaml.Node, what string) (mapping, error) {
	m := mapping{node: n, index: map[string]int{}}
	n = follow(n)
	if isNull(n) {
		return m, nil
	}
	err := m.add(n, what)
	return m, err
}

func (m *mapping) add(n *yaml.Node, what string) error {
	if n.Kind != yaml.MappingNode {
		return at(n, "%s is %s, expected a mapping", what, kindOf(n))
	}
	if m.merged++; m.merged > maxMerges {
		return at(n, "%s merges more than %d mappings, or one into itself", what, maxMerges)
	}
	own := len(m.keys)
	var merges []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], follow(n.Content[i+1])
		if k.Kind == yaml.AliasNode {
			k = follow(k)
		}
		if k.Kind != yaml.ScalarNode {
			return at(k, "a key of %s is %s, expected a word", what, kindOf(k))
		}
		if k.Tag == "!!merge" {
			if merges = append(merges, v); v.Kind == yaml.SequenceNode {
				merges = merges[:len(merges)-1]
				for _, x := range v.Content {
					merges = append(merges, follow(x))
				}
			}
			continue
		}
		if j, ok := m.index[k.Value]; ok {
			if j >= own {
				return at(k, "%s has the key %q twice, first in line %d", what, graphs.Clean(k.Value), m.keys[j].Line)
			}
			continue // what was there before a merge wins
		}
		m.index[k.Value] = len(m.keys)
		m.keys = append(m.keys, k)
		m.values = append(m.values, v)
	}
	for _, x := range merges {
		if err := m.add(x, what); err != nil {
			return err
		}
	}
	return nil
}

// get returns the value of the first of the keys that is there and not null, or nil.
func (m *mapping) get(keys ...string) *yaml.Node {
	for _, k := range keys {
		if i, ok := m.index[k]; ok && !isNull(m.values[i]) {
			return m.values[i]
		}
	}
	return nil
}

// word returns the scalar at a key, or "".
func (m *mapping) word(key, what string) (string, error) {
	n := m.get(key)
	if n == nil {
		return "", nil
	}
	return scalar(n, join(what, key))
}

// child takes the value at a key as a mapping.
func (m *mapping) child(key, what string) (mapping, error) {
	return asMapping(m.get(key), join(what, key))
}

// list returns the elements of the sequence at a key.
func (m *mapping) list(key, what string) ([]*yaml.Node, error) {
	n := m.get(key)
	if n == nil {
		return nil, nil
	}
	if n.Kind != yaml.SequenceNode {
		return nil, at(n, "%s is %s, expected a list", join(what, key), kindOf(n))
	}
	items := slices.Clone(n.Content)
	for i := range items {
		items[i] = follow(items[i])
	}
	return items, nil
}

// join names the value at a key of what; "" is the file itself.
func join(what, key string) string {
	if what == "" {
		return key
	}
	return what + "." + key
}

func scalar(n *yaml.Node, what string) (string, error) {
	if isNull(n) {
		return "", nil
	}
	if n.Kind != yaml.ScalarNode {
		return "", at(n, "%s is %s, expected a single value", what, kindOf(n))
	}
	return strings.TrimSpace(n.Value), nil
}

func kindOf(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	return strconv.Quote(graphs.Clean(n.Value))
}
