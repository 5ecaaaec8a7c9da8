package formats

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"go.yaml.in/yaml/v3"
)

// Bounds of a JSON text, far beyond what a fabric needs.
const (
	maxJSONDepth  = 100
	maxJSONValues = 5_000_000
)

// beginsJSON reports whether a text begins as JSON objects and lists do.
func beginsJSON(text []byte) bool {
	text = bytes.TrimSpace(text)
	return len(text) > 0 && (text[0] == '{' || text[0] == '[')
}

// parseJSON parses a JSON text into the same tree as YAML, whose nodes know their lines.
func parseJSON(s source) (*yaml.Node, error) {
	p := &jsonParser{dec: json.NewDecoder(bytes.NewReader(s.text)), text: s.text, line: 1}
	p.dec.UseNumber()
	n, err := p.value(0)
	if err == nil {
		if _, err = p.dec.Token(); err == io.EOF {
			return n, nil
		} else if err == nil {
			err = &Error{Line: p.line, Err: fmt.Errorf("more text after the end of the JSON value")}
		}
	}
	if at, ok := err.(*Error); ok {
		at.File = s.name
		return nil, at
	}
	at := jsonError(s.text, err)
	at.File = s.name
	return nil, at
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

type jsonParser struct {
	dec    *json.Decoder
	text   []byte
	done   int // up to where lines are counted
	line   int
	values int
}

func (p *jsonParser) value(depth int) (*yaml.Node, error) {
	token, err := p.dec.Token()
	if err != nil {
		return nil, err
	}
	offset := int(p.dec.InputOffset())
	p.line += bytes.Count(p.text[p.done:offset], []byte("\n"))
	p.done = offset
	if p.values++; p.values > maxJSONValues {
		return nil, &Error{Line: p.line, Err: fmt.Errorf("more than %d values, which no fabric has", maxJSONValues)}
	}
	n := &yaml.Node{Kind: yaml.ScalarNode, Line: p.line}
	switch x := token.(type) {
	case json.Delim:
		if depth++; depth > maxJSONDepth {
			return nil, &Error{Line: p.line, Err: fmt.Errorf("nested more than %d levels deep", maxJSONDepth)}
		}
		n.Kind = yaml.MappingNode
		if x == '[' {
			n.Kind = yaml.SequenceNode
		}
		for p.dec.More() {
			child, err := p.value(depth)
			if err != nil {
				return nil, err
			}
			n.Content = append(n.Content, child)
		}
		_, err = p.dec.Token() // the closing bracket
	case string:
		n.Tag, n.Value = "!!str", x
	case json.Number:
		n.Value = x.String()
	case bool:
		n.Value = fmt.Sprint(x)
	case nil:
		n.Tag = "!!null"
	}
	return n, err
}
