package formats

import (
	"bytes"
	"fmt"

	"whichlink/graphs"
)

// A NetworkGraph of NetJSON (https://netjson.org/rfc.html) has nodes and links, and no ports.

func isNetJSON(text []byte) bool {
	return beginsJSON(text) && bytes.Contains(text, []byte(`"NetworkGraph"`))
}

func readNetJSON(f *File, name string) error {
	root, err := parseJSON(source{text: f.text})
	if err != nil {
		return err
	}
	top, err := asMapping(root, "the file")
	if err != nil {
		return err
	}
	if label, err := top.word("label", ""); err != nil {
		return err
	} else if label != "" {
		name = graphs.Clean(label)
	}
	s, left := newSketch(), passed{}
	nodes, err := top.mappings("nodes", "")
	if err != nil {
		return err
	}
	labels, ids := make([]string, len(nodes)), make([]string, len(nodes))
	byID := map[string]int{}
	for i := range nodes {
		if ids[i], err = nodes[i].word("id", "node"); err != nil {
			return err
		}
		if labels[i], err = nodes[i].word("label", "node"); err != nil {
			return err
		}
		if was, twice := byID[ids[i]]; twice || ids[i] == "" {
			return at(nodes[i].node, "nodes[%d] has no id, or that of nodes[%d]", i, was)
		}
		byID[ids[i]] = i
	}
	names := uniqueNames(labels, ids)
	for i, n := range names {
		s.nodeAt(n, place{line: nodes[i].node.Line})
	}
	links, err := top.mappings("links", "")
	if err != nil {
		return err
	}
	oneWay := map[[2]int]int{}
	for i := range links {
		var ends [2]int
		for k, key := range []string{"source", "target"} {
			id, err := links[i].word(key, fmt.Sprintf("links[%d]", i))
			if err != nil {
				return err
			}
			n, known := byID[id]
			if !known {
				return at(links[i].node, "links[%d].%s: no node %q in nodes", i, key, graphs.Clean(id))
			}
			ends[k] = n
		}
		switch {
		case ends[0] == ends[1]:
			left.add("links from a node to itself")
		case returns(oneWay, ends[0], ends[1]):
			s.repeated++
		default:
			c := cable{ends: [2]socket{{node: names[ends[0]]}, {node: names[ends[1]]}}, line: links[i].node.Line}
			if err := s.add(c); err != nil {
				return err
			}
		}
	}
	if err := s.build(f, name); err != nil {
		return err
	}
	if s.repeated > 0 {
		f.note("%d links repeat a link in the other direction", s.repeated)
	}
	left.note(f)
	return nil
}
