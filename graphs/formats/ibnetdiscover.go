package formats

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"whichlink/graphs"
)

// infiniband is a subnet as ibnetdiscover tells of it. Nodes are known by their GUID, since their descriptions, which become their names,
// repeat: switches that nobody has named are all called after their maker.
type infiniband struct {
	nodes  []ibNode
	byID   map[string]int
	cables []ibCable
}

type ibNode struct {
	id, label string
	isSwitch  bool
	at        place
}

type ibCable struct {
	ends  [2]int // in nodes
	ports [2]string
	speed graphs.BitsPerSecond
	at    place
}

// laneSpeed is the speed of one lane by the name of its generation, in the numbers by which links are called: 4xEDR is 100G.
var laneSpeed = map[string]graphs.BitsPerSecond{
	"SDR": 2.5e9, "DDR": 5e9, "QDR": 10e9, "FDR10": 10e9, "FDR": 14e9, "EDR": 25e9, "HDR": 50e9, "NDR": 100e9, "XDR": 200e9,
}

func ibSpeed(width, generation string) graphs.BitsPerSecond {
	lanes, _ := strconv.Atoi(width)
	return graphs.BitsPerSecond(lanes) * laneSpeed[generation]
}

var (
	// Switch	36 "S-0002c902004b0918"		# "name" enhanced port 0 lid 3 lmc 0
	ibHead = regexp.MustCompile(`^(Switch|Ca|Hca|Rt)\s+\d+\s+"([^"]*)"\s*(?:#\s*"(.*)")?`)
	// [1](guid)	"S-0002c902004b0918"[20](guid)		# "name" lid 3 4xEDR
	ibPort = regexp.MustCompile(`^\[(\d+)\](?:\[ext[^\]]*\])?(?:\([[:xdigit:]]+\))?\s+"([^"]*)"\[(\d+)\](?:\[ext[^\]]*\])?(?:\([[:xdigit:]]+\))?(.*)$`)
	// the rest of such a line
	ibTail = regexp.MustCompile(`^\s*#[^"]*"(.*)"(.*)$`)
	ibRate = regexp.MustCompile(`\b(\d+)x([A-Z]+(?:10)?)\b`)
	ibText = regexp.MustCompile(`(?m)^(?:Switch|Ca|Hca)\s+\d+\s+"`)

	// CA     3  1 0x0002c90300e5f8c1 4x EDR - SW     5 12 0x0002c902004b0918 ( 'node' - 'switch' )
	ibListed = regexp.MustCompile(`^(CA|SW|RT)\s+\d+\s+(\d+)\s+0x([[:xdigit:]]+)\s+(\S+)\s+(\S+)(?:\s+-\s+(CA|SW|RT)\s+\d+\s+(\d+)\s+0x([[:xdigit:]]+)\s+\(\s*'(.*)' - '(.*)'\s*\))?`)
)

func isIbnetdiscover(text []byte) bool { return ibText.Match(text) || isIbPorts(text) }

func isIbPorts(text []byte) bool {
	line, _, _ := bytes.Cut(bytes.TrimLeft(text, "\r\n"), []byte("\n"))
	return ibListed.Match(line)
}

func newInfiniband() *infiniband { return &infiniband{byID: map[string]int{}} }

// node finds a node or adds it. A label that comes later does not replace one that is known.
func (b *infiniband) node(id, label string, isSwitch bool, at place) int {
	i, ok := b.byID[id]
	if !ok {
		i = len(b.nodes)
		b.byID[id] = i
		b.nodes = append(b.nodes, ibNode{id: id, isSwitch: isSwitch, at: at})
	}
	if b.nodes[i].label == "" {
		b.nodes[i].label = label
	}
	return i
}

func readIbnetdiscover(f *File, name string, from []source) error {
	if isIbPorts(from[0].text) {
		return readIbPorts(f, name, from)
	}
	return readIbNodes(f, name, from)
}

// readIbNodes reads the plain output: a block for each node, a line for each of its ports that has a link. Every link is told of
// from both ends, where both are there.
func readIbNodes(f *File, name string, from []source) error {
	b := newInfiniband()
	for _, file := range from {
		here, number := -1, 0
		for line := range bytes.Lines(file.text) {
			number++
			at := place{file.name, number}
			text := strings.TrimSpace(string(line))
			if m := ibHead.FindStringSubmatch(text); m != nil {
				here = b.node(m[2], m[3], false, at)
				b.nodes[here].isSwitch = m[1] == "Switch" || m[1] == "Rt"
				continue
			}
			if !strings.HasPrefix(text, "[") {
				continue
			}
			m := ibPort.FindStringSubmatch(text)
			if m == nil {
				return &Error{at.file, at.line, fmt.Errorf("%q, expected a port such as [1] \"S-0002c902004b0918\"[20] # \"name\" lid 3 4xEDR", graphs.Clean(text))}
			}
			if here < 0 {
				return &Error{at.file, at.line, errors.New("a port before the first node")}
			}
			label, rest := "", m[4]
			if tail := ibTail.FindStringSubmatch(m[4]); tail != nil {
				label, rest = tail[1], tail[2]
			}
			c := ibCable{ports: [2]string{m[1], m[3]}, at: at}
			c.ends = [2]int{here, b.node(m[2], label, strings.HasPrefix(m[2], "S-") || strings.HasPrefix(m[2], "R-"), at)}
			if r := ibRate.FindStringSubmatch(rest); r != nil {
				c.speed = ibSpeed(r[1], r[2])
			}
			b.cables = append(b.cables, c)
		}
	}
	return b.build(f, name)
}

// readIbPorts reads the output of ibnetdiscover -p: a line for each port of a switch, and for each link of an adapter. An adapter's GUID
// there is that of its port: ports that have the same description and different numbers are taken for one adapter's.
func readIbPorts(f *File, name string, from []source) error {
	b := newInfiniband()
	dark := 0
	for _, file := range from {
		number := 0
		for line := range bytes.Lines(file.text) {
			number++
			at := place{file.name, number}
			text := strings.TrimSpace(string(line))
			if text == "" || text[0] == '#' {
				continue
			}
			m := ibListed.FindStringSubmatch(text)
			if m == nil {
				return &Error{at.file, at.line, fmt.Errorf("%q, expected a port such as SW 5 12 0x0002c902004b0918 4x EDR", graphs.Clean(text))}
			}
			if m[6] == "" {
				dark++
				continue
			}
			b.cables = append(b.cables, ibCable{
				ends:  [2]int{b.node(m[1]+m[3], m[9], m[1] != "CA", at), b.node(m[6]+m[8], m[10], m[6] != "CA", at)},
				ports: [2]string{m[2], m[7]}, speed: ibSpeed(strings.TrimSuffix(m[4], "x"), m[5]), at: at,
			})
		}
	}
	b.joinPorts()
	if err := b.build(f, name); err != nil {
		return err
	}
	if dark > 0 {
		f.note("%d ports without a link: passed over", dark)
	}
	return nil
}

// joinPorts makes one adapter of what has the same description, unless port numbers repeat: then the same name was given twice.
func (b *infiniband) joinPorts() {
	type port struct{ label, number string }
	owner := map[port]int{}
	first := map[string]int{}
	twice := map[string]bool{}
	each := func(visit func(end *int, label, number string)) {
		for i := range b.cables {
			c := &b.cables[i]
			for k := range c.ends {
				if n := b.nodes[c.ends[k]]; !n.isSwitch && n.label != "" {
					visit(&c.ends[k], n.label, c.ports[k])
				}
			}
		}
	}
	each(func(end *int, label, number string) {
		if was, ok := owner[port{label, number}]; ok && was != *end {
			twice[label] = true
		}
		owner[port{label, number}] = *end
		if _, ok := first[label]; !ok {
			first[label] = *end
		}
	})
	each(func(end *int, label, _ string) {
		if !twice[label] {
			*end = first[label]
		}
	})
	b.dropUnused()
}

// dropUnused removes the nodes that have no cable.
func (b *infiniband) dropUnused() {
	at := make([]int, len(b.nodes))
	for i := range b.cables {
		at[b.cables[i].ends[0]], at[b.cables[i].ends[1]] = 1, 1
	}
	var kept []ibNode
	for i, used := range at {
		if at[i] = len(kept); used > 0 {
			kept = append(kept, b.nodes[i])
		}
	}
	b.nodes = kept
	for i := range b.cables {
		for k := range b.cables[i].ends {
			b.cables[i].ends[k] = at[b.cables[i].ends[k]]
		}
	}
}

// managed is how the switches of one maker call themselves: MF0;name:model/U1, or /L01/U1 for a line card's chip in a director.
var managed = regexp.MustCompile(`^MF0;([^:;]+):[^/]+((?:/[^/]+)*?)(?:/U1)?$`)

// aggregation is how an aggregation node describes itself: a unit within a switch, which is on no cable.
const aggregation = "Aggregation Node"

func (b *infiniband) build(f *File, name string) error {
	labels := make([]string, len(b.nodes))
	ids := make([]string, len(b.nodes))
	for i, n := range b.nodes {
		labels[i], ids[i] = n.label, n.id
		if m := managed.FindStringSubmatch(n.label); m != nil {
			labels[i] = m[1] + m[2]
		}
	}
	names := uniqueNames(labels, ids)
	s, left := newSketch(), passed{}
	for i, n := range b.nodes {
		if strings.Contains(n.label, aggregation) {
			left.add("aggregation nodes within switches")
			continue
		}
		node := s.nodeAt(names[i], n.at)
		if n.isSwitch {
			setSwitch(node)
		} else {
			node.Role = graphs.RoleHost
		}
	}
	for _, c := range b.cables {
		ends := [2]ibNode{b.nodes[c.ends[0]], b.nodes[c.ends[1]]}
		if strings.Contains(ends[0].label, aggregation) || strings.Contains(ends[1].label, aggregation) {
			continue
		}
		if c.ends[0] == c.ends[1] {
			left.add("links from a node to itself")
			continue
		}
		err := s.add(cable{
			ends:  [2]socket{{names[c.ends[0]], c.ports[0]}, {names[c.ends[1]], c.ports[1]}},
			speed: c.speed, file: c.at.file, line: c.at.line,
		})
		if err != nil {
			return err
		}
	}
	if err := s.build(f, name); err != nil {
		return err
	}
	left.note(f)
	f.noteRepeated(labels)
	f.noteSlow()
	return nil
}

// noteSlow names the links that are slower than most of their kind: a link that came up with fewer lanes or at an older speed.
func (f *File) noteSlow() {
	var links [2][]graphs.LinkID
	for l := range graphs.LinkID(f.Fabric.NumLinks()) {
		kind := 0
		if f.Fabric.IsHostArc(l.Forward()) {
			kind = 1
		}
		links[kind] = append(links[kind], l)
	}
	for _, some := range links {
		count := map[graphs.BitsPerSecond]int{}
		var usual graphs.BitsPerSecond
		for _, l := range some {
			s := f.Fabric.Link(l).Speed
			count[s]++
			if s != 0 && (count[s] > count[usual] || usual == 0 || count[s] == count[usual] && s > usual) {
				usual = s
			}
		}
		var slow []string
		for _, l := range some {
			if s := f.Fabric.Link(l).Speed; s != 0 && s < usual {
				slow = append(slow, fmt.Sprintf("%s at %s", f.Fabric.LinkName(l), FormatSpeed(s)))
			}
		}
		if len(slow) > 0 {
			f.note("slower than most links of their kind, which run at %s: %s", FormatSpeed(usual), few(slow))
		}
	}
}
