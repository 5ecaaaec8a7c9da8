package formats

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"whichlink/graphs"
)

// isAir recognises a topology of NVIDIA Air: {"format": ..., "content": ...}, or its content alone.
func isAir(text []byte) bool {
	keys := topLevel(text)
	_, content := keys["content"]
	_, format := keys["format"]
	_, links := keys["links"]
	return content && format || keys["nodes"] == '{' && links
}

// readAir reads nodes and links. The end of a link that is a word ("unconnected", "exit") leads to no node.
func readAir(f *File, name string) error {
	values, err := parseValues(f.text, 0)
	if err != nil {
		return err
	}
	if len(values) != 1 {
		return fmt.Errorf("%d JSON values, expected one", len(values))
	}
	top := &values[0]
	if title := top.get("title").word(); title != "" {
		name = graphs.Clean(title)
	}
	content := top
	if c := top.get("content"); c != nil {
		content = c
	}
	if content.kind == '"' {
		// The older form carries topology.dot as a string.
		if err := readDotText(f, name, []byte(content.text)); err != nil {
			return &Error{Line: content.line, Err: fmt.Errorf("content: %w", err)}
		}
		return nil
	}
	s := newSketch()
	nodes, err := content.get("nodes").as('{', "nodes")
	if err != nil {
		return err
	}
	for i, key := range nodes.keys {
		n := s.node(key)
		v := &nodes.items[i]
		n.Role = roleOfMachine(v.get("function").word(), v.get("os").word())
		if a, err := netip.ParseAddr(v.get("mgmt_ip").word()); err == nil {
			n.Management = a.Unmap()
		}
	}
	links, err := content.get("links").as('[', "links")
	if err != nil {
		return err
	}
	loose := 0
	for i := range links.items {
		l := &links.items[i]
		ends := l.list()
		if l.kind != '[' || len(ends) != 2 {
			return &Error{Line: l.line, Err: fmt.Errorf("links[%d] is no list of two ends", i)}
		}
		c := cable{line: l.line}
		open := false
		for k := range ends {
			if ends[k].kind == '"' {
				open = true
				continue
			}
			c.ends[k] = socket{ends[k].get("node").word(), ends[k].get("interface").word()}
			if _, ok := s.byName[c.ends[k].node]; !ok {
				return &Error{Line: ends[k].line, Err: fmt.Errorf("links[%d]: no node %q in nodes", i, graphs.Clean(c.ends[k].node))}
			}
		}
		if open {
			loose++
			continue
		}
		if err := s.add(c); err != nil {
			return err
		}
	}
	if loose > 0 {
		f.note("%d ports are without a link in the file (such as \"unconnected\"): passed over", loose)
	}
	return s.build(f, name)
}

// serverSystems are parts of the names of images, as the os of a node states them, that only servers run.
var serverSystems = []string{"ubuntu", "debian", "centos", "rhel", "rocky", "fedora", "oob_server", "netq-ts"}

// roleOfMachine takes what a node is for, as topology_converter and Air state it, for its role. Where they do not, the system on it tells
// servers: Air's hosts have several links, by which they would pass for switches.
func roleOfMachine(function, system string) graphs.Role {
	function, system = strings.ToLower(function), strings.ToLower(system)
	switch r := roleOfGroup(function); {
	case r != "":
		return r
	case strings.Contains(function, "server"):
		return graphs.RoleHost
	case function != "":
		return graphs.Role(graphs.Clean(strings.TrimSpace(function)))
	case slices.ContainsFunc(serverSystems, func(s string) bool { return strings.Contains(system, s) }):
		return graphs.RoleHost
	}
	return ""
}
