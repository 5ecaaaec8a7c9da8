package formats

import (
	"fmt"
	"slices"
	"strings"

	"whichlink/graphs"
	"whichlink/graphs/spelling"
)

// A lldpJoin makes links of what the two ends of cables tell of each other. LLDP names its speaker by system name, chassis and address and
// its port by name, number, MAC address or description, so that the ends must first be recognised.
type lldpJoin struct {
	*lldp
	names    []string // of the nodes
	byName   map[string]int
	host     map[string]int // the node of each host
	of       []int          // the node that each neighbour is, or none
	ports    map[int]*portNames
	seen     []sighting
	loops    [][2]string // cables from a device to itself
	nameless int         // neighbours that tell nothing of themselves
}

const none = -1

// An lldpEnd is a port of a node by number.
type lldpEnd struct {
	node int
	port string
}

// A sighting is one end's word on a cable. It is loose while the port of the far end is known from the near end only.
type sighting struct {
	from, to lldpEnd
	told     *neighbour
	loose    bool
	dropped  bool
}

// portNames finds the ports of a device by what others call them.
type portNames struct {
	exact, byID map[string]string
	form        map[string]string // "" where two ports share a form
}

func (l *lldp) build(name string) error {
	j := &lldpJoin{lldp: l, byName: map[string]int{}, host: map[string]int{}, ports: map[int]*portNames{}}
	j.nameNodes()
	j.splitNames()
	j.indexPorts()
	j.look()
	j.reciprocate()
	j.pairLoose()
	j.settle()
	return j.draw(name)
}

func (j *lldpJoin) node(name string) int {
	i, ok := j.byName[name]
	if !ok {
		i = len(j.names)
		j.byName[name] = i
		j.names = append(j.names, plainName(name))
	}
	return i
}

// plainName makes of what the network says a name that a node may have: colons separate nodes from ports. One that anybody's switch may
// say must not keep the fabric from being read.
func plainName(said string) string {
	return strings.NewReplacer(":", "-", ">", "-").Replace(graphs.Clean(said))
}

func plainPort(said string) string { return strings.ReplaceAll(graphs.Clean(said), ">", "-") }

// chassisKey makes chassis identifiers comparable: software writes MAC addresses in three ways.
func chassisKey(id string) string {
	if mac, ok := spelling.MAC(id); ok {
		return mac
	}
	return strings.ToLower(id)
}

// nameNodes finds for every neighbour the node that it is: by its system name, or if it tells none by its chassis, by its address, or by the
// chassis as a name.
func (j *lldpJoin) nameNodes() {
	names := append([]string(nil), j.hosts...)
	for i := range j.neighbours {
		n := &j.neighbours[i]
		if _, mac := spelling.MAC(n.chassis); n.name == "" && !mac {
			n.name = n.chassis // NX-OS prints the system name in its place
		}
		if n.name != "" {
			names = append(names, n.name)
		}
	}
	first, ambiguous := spelling.SameNodes(names)
	for _, set := range ambiguous {
		j.file.note("%s may be any of %s: taken for a node of its own", graphs.Clean(set[0]), few(cleaned(set[1:])))
	}
	for _, h := range j.hosts {
		j.host[h] = j.node(first[h])
	}
	j.of = make([]int, len(j.neighbours))
	known := map[string]int{}
	learn := func(key string, node int) {
		if was, ok := known[key]; ok && was != node {
			node = none
		}
		known[key] = node
	}
	for i := range j.neighbours {
		if n := &j.neighbours[i]; n.name != "" {
			j.of[i] = j.node(first[n.name])
			learn("chassis "+chassisKey(n.chassis), j.of[i])
			learn("address "+n.management.String(), j.of[i])
		}
	}
	for i := range j.neighbours {
		n := &j.neighbours[i]
		if n.name != "" {
			continue
		}
		j.of[i] = none
		if at, ok := known["chassis "+chassisKey(n.chassis)]; ok && n.chassis != "" {
			j.of[i] = at
		} else if at, ok := known["address "+n.management.String()]; ok && n.management.IsValid() {
			j.of[i] = at
		}
		switch {
		case j.of[i] != none:
		case n.chassis != "":
			j.of[i] = j.node(chassisKey(n.chassis))
		case n.management.IsValid():
			j.of[i] = j.node(n.management.String())
		default:
			j.nameless++
		}
	}
}

// splitNames looks for boxes that call themselves by the same name, as new ones do that nobody has named: two cables that end in the same
// port of what has two chassis. They become nodes of their own. (That the chassis differ does not do: NX-OS has one for every port.)
func (j *lldpJoin) splitNames() {
	type place struct {
		node int
		port string
	}
	claimed := map[place]int{}
	twice := map[int]bool{}
	for i := range j.neighbours {
		n := &j.neighbours[i]
		if _, mac := spelling.MAC(n.id); mac || n.id == "" || n.alias || j.of[i] == none || n.chassis == "" {
			continue
		}
		at := place{j.of[i], spelling.Port(n.id)}
		was, ok := claimed[at]
		if !ok {
			claimed[at] = i
			continue
		}
		w := &j.neighbours[was]
		if chassisKey(w.chassis) != chassisKey(n.chassis) && (j.host[w.host] != j.host[n.host] || spelling.Port(w.port) != spelling.Port(n.port)) {
			twice[j.of[i]] = true
		}
	}
	if len(twice) == 0 {
		return
	}
	// A box that reports itself is the one whose neighbours hear it at the port where it hears them.
	type heard struct {
		node int
		port string
		far  int
	}
	reported := map[heard]bool{}
	for i := range j.neighbours {
		n := &j.neighbours[i]
		reported[heard{j.host[n.host], spelling.Port(n.port), j.of[i]}] = true
	}
	own := map[int]map[string]int{}
	chassis := map[int][]string{}
	for i := range j.neighbours {
		n := &j.neighbours[i]
		if j.of[i] == none || !twice[j.of[i]] || n.chassis == "" {
			continue
		}
		if own[j.of[i]] == nil {
			own[j.of[i]] = map[string]int{}
		}
		key := chassisKey(n.chassis)
		if _, ok := own[j.of[i]][key]; !ok {
			own[j.of[i]][key] = 0
			chassis[j.of[i]] = append(chassis[j.of[i]], key)
		}
		if reported[heard{j.of[i], spelling.Port(n.id), j.host[n.host]}] {
			own[j.of[i]][key]++
		}
	}
	j.separate(chassis, own)
}

// separate gives every chassis of a name that is used twice a node, but leaves the name to the box that reports itself.
func (j *lldpJoin) separate(chassis map[int][]string, own map[int]map[string]int) {
	to := map[int]map[string]int{}
	for node := range len(j.names) { // in order, so that notes are too
		if chassis[node] == nil {
			continue
		}
		j.file.note("the system name %s is that of %d boxes (chassis %s): each is a node of its own",
			graphs.Clean(j.names[node]), len(chassis[node]), few(cleaned(chassis[node])))
		keeps := ""
		for _, c := range chassis[node] {
			if own[node][c] > own[node][keeps] {
				keeps = c
			}
		}
		to[node] = map[string]int{keeps: node}
		for _, c := range chassis[node] {
			if c != keeps {
				to[node][c] = j.node(j.names[node] + "@" + c)
			}
		}
	}
	for i := range j.neighbours {
		if n := &j.neighbours[i]; n.chassis != "" && to[j.of[i]] != nil {
			j.of[i] = to[j.of[i]][chassisKey(n.chassis)]
		}
	}
}

func (j *lldpJoin) indexPorts() {
	index := func(host string) *portNames {
		p := j.ports[j.host[host]]
		if p == nil {
			p = &portNames{map[string]string{}, map[string]string{}, map[string]string{}}
			j.ports[j.host[host]] = p
		}
		return p
	}
	for _, h := range j.hosts {
		p := index(h)
		for _, port := range j.lldp.ports[h] {
			if _, ok := p.exact[port]; ok {
				continue
			}
			p.exact[port] = port
			form := spelling.Port(port)
			if was, ok := p.form[form]; ok && was != port {
				port = ""
			}
			p.form[form] = port
		}
	}
	for i := range j.neighbours {
		if n := &j.neighbours[i]; n.portID != "" {
			index(n.host).byID[n.portID] = n.port
		}
	}
}

// find returns the port that a device itself lists by one of the names, or "".
func (p *portNames) find(names ...string) string {
	for _, name := range names {
		if name == "" {
			continue
		}
		for _, port := range []string{p.exact[name], p.byID[name], p.form[spelling.Port(name)]} {
			if port != "" {
				return port
			}
		}
	}
	return ""
}

// look turns the neighbours into sightings.
func (j *lldpJoin) look() {
	for i := range j.neighbours {
		n := &j.neighbours[i]
		s := sighting{from: lldpEnd{j.host[n.host], n.port}, to: lldpEnd{node: j.of[i]}, told: n}
		if s.to.node == none {
			continue
		}
		descr := ""
		if n.opaque() {
			descr = n.descr
		}
		if p := j.ports[s.to.node]; p != nil {
			s.to.port = p.find(n.id, descr)
		}
		if s.to.port == "" {
			s.loose = true
			s.to.port = n.id
			if j.portLike(descr) {
				s.to.port = descr
			}
		}
		if s.to.node != s.from.node {
			j.seen = append(j.seen, s)
		} else if from, to := j.endName(s.from), j.endName(s.to); !slices.Contains(j.loops, [2]string{to, from}) {
			j.loops = append(j.loops, [2]string{from, to})
		}
	}
}

// opaque reports whether the identifier of the far port is no name of a port: an address, a number, or what somebody wrote about it.
func (n *neighbour) opaque() bool {
	_, mac := spelling.MAC(n.id)
	return mac || n.alias || strings.Trim(n.id, "0123456789") == ""
}

// portLike reports whether a description is likely the name of a port, as lldpd and Junos have it where nobody wrote another.
func (j *lldpJoin) portLike(descr string) bool {
	if descr == "" || strings.ContainsAny(descr, " \t,;>") || strings.IndexAny(descr, "0123456789") < 1 {
		return false
	}
	_, node := j.byName[descr]
	return !node
}

// cleaned makes names safe to print.
func cleaned(names []string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = graphs.Clean(n)
	}
	return out
}

func (j *lldpJoin) endName(e lldpEnd) string {
	return graphs.Clean(fmt.Sprintf("%s:%s", j.names[e.node], e.port))
}
