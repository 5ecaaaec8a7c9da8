package formats

import (
	"bytes"
	"errors"
	"fmt"

	"go.yaml.in/yaml/v3"
)

// beginsJSON reports whether a text begins as JSON objects and lists do.
func beginsJSON(text []byte) bool {
	text = bytes.TrimSpace(text)
	return len(text) > 0 && (text[0] == '{' || text[0] == '[')
}

// parseJSON parses a JSON text into the same tree as YAML, whose nodes know their lines.
func parseJSON(s source) (*yaml.Node, error) {
	values, err := parseValues(s.text, 0)
	if err != nil {
		err.(*Error).File = s.name
		return nil, err
	}
	switch len(values) {
	case 0:
		return nil, &Error{s.name, 0, errors.New("not JSON: there is no value")}
	case 1:
		return values[0].tree(), nil
	}
	return nil, &Error{s.name, values[1].line, errors.New("more text after the end of the JSON value")}
}

// tree makes of a value the node that YAML would have for it.
func (v *jsonValue) tree() *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Value: v.text, Line: v.line}
	switch v.kind {
	case '{', '[':
		n.Kind = yaml.MappingNode
		if v.kind == '[' {
			n.Kind = yaml.SequenceNode
		}
		n.Content = make([]*yaml.Node, 0, len(v.keys)+len(v.items))
		for i := range v.items {
			item := v.items[i].tree()
			if v.kind == '{' {
				n.Content = append(n.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: v.keys[i], Line: item.Line})
			}
			n.Content = append(n.Content, item)
		}
	case '"':
		n.Tag = "!!str"
	case 'n':
		n.Tag = "!!null"
	}
	return n
}

// topJSON parses a file that holds one JSON object.
func topJSON(f *File) (mapping, error) {
	root, err := parseJSON(source{text: f.text})
	if err != nil {
		return mapping{}, err
	}
	return asMapping(root, "the file")
}

// mappings returns the elements of a list of mappings.
func (m *mapping) mappings(key, what string) ([]mapping, error) {
	list, err := m.list(key, what)
	if err != nil {
		return nil, err
	}
	all := make([]mapping, len(list))
	for i, n := range list {
		if all[i], err = asMapping(n, fmt.Sprintf("%s[%d]", join(what, key), i)); err != nil {
			return nil, err
		}
	}
	return all, nil
}
