package formats

import (
	"bytes"
	"fmt"
)

// isBatfish recognises a layer-1 topology for Batfish. (https://batfish.readthedocs.io/, "layer1_topology.json")
func isBatfish(text []byte) bool {
	return topLevel(text)["edges"] == '[' && bytes.Contains(text, []byte(`"node1"`))
}

// readBatfish reads edges, of which a file may tell one or both directions.
func readBatfish(f *File, name string) error {
	values, err := parseValues(f.text, 0)
	if err != nil {
		return err
	}
	if len(values) != 1 {
		return fmt.Errorf("%d JSON values, expected one", len(values))
	}
	edges, err := values[0].get("edges").as('[', "edges")
	if err != nil {
		return err
	}
	s := newSketch()
	for i := range edges.items {
		e := &edges.items[i]
		c := cable{line: e.line}
		for k, end := range []string{"node1", "node2"} {
			n := e.get(end)
			c.ends[k] = socket{n.get("hostname").word(), n.get("interfaceName").word()}
			if c.ends[k].node == "" || c.ends[k].port == "" {
				return &Error{Line: e.line, Err: fmt.Errorf("edges[%d].%s lacks hostname or interfaceName", i, end)}
			}
		}
		if err := s.add(c); err != nil {
			return err
		}
	}
	return s.build(f, name)
}
