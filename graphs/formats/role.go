package formats

import (
	"fmt"
	"strings"

	"whichlink/graphs"
)

// roleWords are the words in groups that name a role. Other groups (a rack, a site) say nothing about hosts and switches.
var roleWords = map[string]graphs.Role{
	"host": graphs.RoleHost, "server": graphs.RoleHost, "client": graphs.RoleHost, "srv": graphs.RoleHost, "gpu": graphs.RoleHost,
	"leaf": "leaf", "spine": "spine", "superspine": "superspine", "super-spine": "superspine", "tor": "tor", "rail": "rail",
	"core": "core", "agg": "agg", "aggregation": "agg", "edge": "edge", "access": "access", "border": "border",
	"switch": "switch", "router": "router", "bridge": "bridge",
}

func roleOfGroup(group string) graphs.Role {
	group = strings.ToLower(group)
	if r := roleWords[group]; r != "" {
		return r
	}
	if strings.HasSuffix(group, "leaves") {
		return "leaf"
	}
	return roleWords[strings.TrimSuffix(group, "s")]
}

// takeRoles gives roles to the nodes whose label states none: what their group says. A group that names no role is
// taken for one all the same, but not for the nodes with a single link where no host is known: these may be the hosts.
func (c *clab) takeRoles() {
	hosts := false
	for i := range c.nodes {
		n := &c.nodes[i]
		switch {
		case n.node.Role != "":
		case n.node.Kind == "bridge" || n.node.Kind == "ovs-bridge":
			n.node.Role = "bridge"
		default:
			n.node.Role = roleOfGroup(n.group)
		}
		hosts = hosts || n.node.Role == graphs.RoleHost
	}
	for i := range c.nodes {
		if n := &c.nodes[i]; n.node.Role == "" && (hosts || n.degree > 1) {
			n.node.Role = graphs.Role(n.group)
		}
	}
}

// noteGuesses says whose role was guessed, and which nodes have no link.
func (f *File) noteGuesses() {
	var hosts, switches, alone []string
	for i := range graphs.NodeID(f.Fabric.NumNodes()) {
		n := f.Fabric.Node(i)
		switch {
		case f.Fabric.Degree(i) == 0:
			alone = append(alone, n.Name)
		case n.RoleGuessed && n.IsHost():
			hosts = append(hosts, n.Name)
		case n.RoleGuessed:
			switches = append(switches, n.Name)
		}
	}
	if len(hosts) > 0 {
		f.note("no role given, taken for %s from name or number of links: %s", plural(len(hosts), "a host", "hosts"), few(hosts))
	}
	if len(switches) > 0 {
		f.note("no role given, taken for %s: %s", plural(len(switches), "a switch", "switches"), few(switches))
	}
	if len(alone) > 0 {
		f.note("without a link: %s", few(alone))
	}
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// few lists the first of some names.
func few(names []string) string {
	const most = 5
	if len(names) <= most+1 {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
