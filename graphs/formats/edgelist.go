package formats

import (
	"bufio"
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"whichlink/graphs"
)

// isEdgeList tells an edge list from YAML by its first line that is neither blank, nor a comment, nor a property (netbench's
// |V|=320). An edge is "u->v" or two words of which none ends in a colon or begins like JSON or a YAML list.
func isEdgeList(text []byte) bool {
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		line := lines.Text()
		if nothing(line) {
			continue
		}
		u, v, ok := cutEdge(line)
		return ok && !strings.HasSuffix(u, ":") && !strings.ContainsAny(u[:1]+v[:1], "{[-&!%\"'")
	}
	return false
}

// nothing reports whether a line of an edge list holds no edge.
func nothing(line string) bool {
	line = strings.TrimSpace(line)
	return line == "" || line[0] == '#' || strings.Contains(line, "=")
}

func cutEdge(line string) (u, v string, ok bool) {
	if a, b, ok := strings.Cut(line, "->"); ok {
		u, v = strings.TrimSpace(a), strings.TrimSpace(b)
		return u, v, u != "" && v != "" && !strings.ContainsAny(u+v, " \t>")
	}
	words := strings.Fields(line)
	if len(words) != 2 {
		return "", "", false
	}
	return words[0], words[1], true
}

// readEdgeList reads a link a line. Some writers list a link once, some once for each direction: the links between two nodes are as many
// as the lines of the direction that has more of them. Ports are numbered in the order of the lines.
func readEdgeList(f *File, name string) error {
	b := &graphs.Builder{Name: name}
	type pair struct{ u, v graphs.NodeID }
	lines := map[pair]int{}
	ports := map[graphs.NodeID]int{}
	properties, reversed := 0, 0

	node := func(word string) (graphs.NodeID, error) {
		if n, ok := b.NodeByName(word); ok {
			return n, nil
		}
		return b.AddNode(graphs.Node{Name: word})
	}
	end := func(n graphs.NodeID) graphs.End {
		ports[n]++
		return graphs.End{Node: n, Port: "p" + strconv.Itoa(ports[n])}
	}
	edge := func(line string) error {
		a, z, ok := cutEdge(line)
		if !ok {
			return fmt.Errorf("%q, expected two nodes: u v, or u->v", graphs.Clean(strings.TrimSpace(line)))
		}
		u, err := node(a)
		if err != nil {
			return err
		}
		v, err := node(z)
		if err != nil {
			return err
		}
		lines[pair{u, v}]++
		if lines[pair{u, v}] <= lines[pair{v, u}] && u != v {
			reversed++
			return nil
		}
		_, err = b.AddLink(end(u), end(v), 0)
		return err
	}

	number := 0
	for line := range bytes.Lines(f.text) {
		number++
		text := string(line)
		if nothing(text) {
			if strings.Contains(text, "=") && !strings.HasPrefix(strings.TrimSpace(text), "#") {
				properties++
			}
			continue
		}
		if err := edge(text); err != nil {
			return &Error{Line: number, Err: err}
		}
	}
	fabric, err := b.Build()
	if err != nil {
		return err
	}
	f.Fabric, f.Numbered = fabric, fabric.NumPorts()
	f.note("an edge list names no ports: they were numbered p1, p2, ... in the order of the lines")
	if reversed > 0 {
		f.note("%d lines repeat a link in the other direction", reversed)
	}
	if properties > 0 {
		f.note("%d lines with properties (key=value) were passed over", properties)
	}
	f.noteGuesses()
	return nil
}
