package formats

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"whichlink/graphs"
)

// markInName replaces the marks that a node's name must not hold, since names of ports and arcs are made of them.
var markInName = strings.NewReplacer(":", "_", ">", "_")

// uniqueNames makes names of nodes from labels, which may repeat, be empty or hold anything, with the help of ids, of which no two are the
// same. A label that is fit for a name and that only one node has stays as it is.
func uniqueNames(labels, ids []string) []string {
	names := make([]string, len(labels))
	count := map[string]int{}
	for i, s := range labels {
		if s = strings.TrimSpace(s); s == "" {
			s = ids[i]
		}
		names[i] = markInName.Replace(graphs.Clean(s))
		count[names[i]]++
	}
	taken := map[string]bool{}
	for s, n := range count {
		taken[s] = n == 1
	}
	for i, s := range names {
		if count[s] == 1 {
			continue
		}
		s = markInName.Replace(graphs.Clean(s + "/" + ids[i]))
		for taken[s] {
			s += "/" + strconv.Itoa(i)
		}
		taken[s] = true
		names[i] = s
	}
	return names
}

// noteRepeated says that names were made unique.
func (f *File) noteRepeated(labels []string) {
	labels = slices.Clone(labels)
	slices.Sort(labels)
	all := len(labels)
	var repeated []string
	for len(labels) > 0 {
		n := 1
		for n < len(labels) && labels[n] == labels[0] {
			n++
		}
		if n > 1 && labels[0] != "" {
			repeated = append(repeated, fmt.Sprintf("%q (%d nodes)", graphs.Clean(labels[0]), n))
		}
		labels = labels[n:]
	}
	if len(repeated) > 0 {
		f.note("names that repeat among the %d nodes were completed by what identifies the node: %s", all, few(repeated))
	}
}

// setSwitch says that a node is a switch. Which tier it is of may be guessed from its name.
func setSwitch(n *graphs.Node) {
	if r := graphs.RoleOfName(n.Name); n.Role == "" && (r == "" || r == graphs.RoleHost) {
		n.Role = "switch"
	}
}
