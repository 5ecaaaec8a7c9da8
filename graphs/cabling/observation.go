package cabling

import (
	"slices"
	"strings"

	"whichlink/graphs"
)

// An observation is an observed fabric together with what no fabric holds: cables from a node to itself. Their ports and links have the ids
// behind those of the fabric.
type observation struct {
	*graphs.Fabric
	loops []loop
	// of lists the loops of a node.
	of map[graphs.NodeID][]int
}

type loop struct {
	node  graphs.NodeID
	ports [2]string
}

// newObservation adds loops, each by the names of its two ports, to a fabric. Those of nodes that the fabric lacks are left out.
func newObservation(f *graphs.Fabric, loops [][2]string) *observation {
	o := &observation{Fabric: f, of: map[graphs.NodeID][]int{}}
	for _, names := range loops {
		node, a, _ := strings.Cut(names[0], ":")
		_, b, _ := strings.Cut(names[1], ":")
		if n, ok := f.NodeByName(node); ok {
			o.of[n] = append(o.of[n], len(o.loops))
			o.loops = append(o.loops, loop{n, [2]string{a, b}})
		}
	}
	return o
}

func (o *observation) links() int { return o.NumLinks() + len(o.loops) }

func (o *observation) numPorts() int { return o.NumPorts() + 2*len(o.loops) }

func (o *observation) ends(l graphs.LinkID) [2]graphs.PortID {
	if i := int(l) - o.NumLinks(); i >= 0 {
		p := graphs.PortID(o.NumPorts() + 2*i)
		return [2]graphs.PortID{p, p + 1}
	}
	return o.Link(l).Ends
}

func (o *observation) linkOf(p graphs.PortID) graphs.LinkID {
	if i := int(p) - o.NumPorts(); i >= 0 {
		return graphs.LinkID(o.NumLinks() + i/2)
	}
	return o.Port(p).Link
}

func (o *observation) node(p graphs.PortID) graphs.NodeID {
	if i := int(p) - o.NumPorts(); i >= 0 {
		return o.loops[i/2].node
	}
	return o.Port(p).Node
}

// port returns the name of a port without its node's.
func (o *observation) port(p graphs.PortID) string {
	if i := int(p) - o.NumPorts(); i >= 0 {
		return o.loops[i/2].ports[i%2]
	}
	return o.Port(p).Name
}

// ports lists the ports of a node.
func (o *observation) ports(n graphs.NodeID) []graphs.PortID {
	ports := o.Ports(n)
	if loops := o.of[n]; len(loops) > 0 {
		ports = slices.Clone(ports)
		for _, i := range loops {
			p := graphs.PortID(o.NumPorts() + 2*i)
			ports = append(ports, p, p+1)
		}
	}
	return ports
}

func (o *observation) linkName(l graphs.LinkID) string {
	e := o.ends(l)
	return o.NodeName(o.node(e[0])) + ":" + o.port(e[0]) + "--" + o.NodeName(o.node(e[1])) + ":" + o.port(e[1])
}
