// Package generate makes fabrics from a few parameters: nodes named, ports numbered, addresses and speeds given.
//
// What it makes is the same on every machine and in every run: chance comes from a seed alone. Switches are named for what they
// are (leaf1, spine2, core3, sw04), padded with zeros so that names sort in order; a host carries the number of its switch and its
// own (h04-1). Ports are swp1, swp2, ... on switches, first those to other switches, and eth1, eth2, ... on hosts. The ToRs of [RNG] name theirs
// by transceiver and lane: e7/2.
//
// Where switches stand in clusters of some kind, the name up to the first "-" is the cluster's: m03-sw02 is the second switch of
// Xpander's third meta-node, s03-sw02 of a ring's third supernode, g03-sw02 of a Dragonfly's third group. Rules that a design lays on
// cables (none within a meta-node, say) can be checked from names and roles alone. Links that share a cable bundle, a trunk, a line
// card or an optical switch are in the shared-risk group of that name.
//
// Addresses: loopbacks of switches from 10.255.0.0/16, links between switches /31 (RFC 3021) from 10.64.0.0, links to hosts /31
// from 10.32.0.0 with the switch at the even address. With IPv6, the same again from the unique local prefix
// fd77:6c69:6e6b::/48 (RFC 4193), links /127 (RFC 6164).
package generate

import (
	"fmt"
	"math/bits"
	"net/netip"
	"strconv"

	"whichlink/graphs"
)

// Speeds that are given to links; a model may be asked for any other by editing the fabric file.
const (
	SwitchSpeed graphs.BitsPerSecond = 100e9
	HostSpeed   graphs.BitsPerSecond = 25e9
	// GPUSpeed is that of all links of the fabrics that are made for GPUs: a port's share of a switch and a GPU's network card are equal.
	GPUSpeed graphs.BitsPerSecond = 400e9
)

// What the address plan holds.
const (
	maxSwitches    = 1<<16 - 1
	maxSwitchLinks = (255 - 64) << 15
	maxHostLinks   = (64 - 32) << 15
)

// maxLinks bounds a fabric's links before any of it is made: a fabric file has no room for more.
const maxLinks = 1 << 18

// An assembly puts a fabric together: it numbers ports and hands out addresses in the order in which things are added.
type assembly struct {
	b    graphs.Builder
	ipv6 bool
	// ports counts the ports of each node, host tells which nodes are hosts.
	ports []int
	host  []bool

	switchSpeed, hostSpeed graphs.BitsPerSecond

	switches, switchLinks, hostLinks int
}

func newAssembly(name string, ipv6 bool) *assembly {
	return &assembly{b: graphs.Builder{Name: name}, ipv6: ipv6, switchSpeed: SwitchSpeed, hostSpeed: HostSpeed}
}

// addSwitch adds a switch with its loopback.
func (a *assembly) addSwitch(name string, role graphs.Role) (graphs.NodeID, error) {
	if a.switches >= maxSwitches {
		return graphs.None, fmt.Errorf("more than %d switches: no loopback addresses left", maxSwitches)
	}
	a.switches++
	n := graphs.Node{Name: name, Role: role, Kind: "linux", Loopback: []netip.Addr{address4(255, a.switches)}}
	if a.ipv6 {
		n.Loopback = append(n.Loopback, address6(255, a.switches))
	}
	return a.add(n)
}

// addHosts adds n hosts, named for their switch, and links each to it.
func (a *assembly) addHosts(to graphs.NodeID, number string, n int) error {
	for i := range n {
		if err := a.addHost("h"+number+"-"+pad(i+1, n), to); err != nil {
			return err
		}
	}
	return nil
}

// addHost adds a host with a link to each of some switches, eth1 to the first; a switch may be there more than once.
func (a *assembly) addHost(name string, to ...graphs.NodeID) error {
	h, err := a.add(graphs.Node{Name: name, Role: graphs.RoleHost, Kind: "linux"})
	if err != nil {
		return err
	}
	for _, s := range to {
		if err := a.link(h, s); err != nil {
			return err
		}
	}
	return nil
}

func (a *assembly) add(n graphs.Node) (graphs.NodeID, error) {
	id, err := a.b.AddNode(n)
	if err != nil {
		return graphs.None, err
	}
	a.ports = append(a.ports, 0)
	a.host = append(a.host, n.IsHost())
	return id, nil
}

// link lays a link between the next free ports of two nodes. A host stands first.
func (a *assembly) link(from, to graphs.NodeID, groups ...string) error {
	return a.join(a.end(from), a.end(to), groups...)
}

// join lays a link between two ports that have names already. A host stands first.
func (a *assembly) join(from, to graphs.End, groups ...string) error {
	ends := [2]graphs.End{from, to}
	var block, number int
	var speed graphs.BitsPerSecond
	low := 0 // the end that has the even address
	if a.host[from.Node] || a.host[to.Node] {
		block, number, speed = 32, a.hostLinks, a.hostSpeed
		low = 1
		a.hostLinks++
		if number >= maxHostLinks {
			return fmt.Errorf("more than %d links to hosts: no addresses left", maxHostLinks)
		}
	} else {
		block, number, speed = 64, a.switchLinks, a.switchSpeed
		a.switchLinks++
		if number >= maxSwitchLinks {
			return fmt.Errorf("more than %d links: no addresses left", maxSwitchLinks)
		}
	}
	for i := range ends {
		n := 2*number + i ^ low
		ends[i].Prefixes = append(ends[i].Prefixes, netip.PrefixFrom(address4(block, n), 31))
		if a.ipv6 {
			ends[i].Prefixes = append(ends[i].Prefixes, netip.PrefixFrom(address6(block, n), 127))
		}
	}
	_, err := a.b.AddLink(ends[0], ends[1], speed, groups...)
	return err
}

func (a *assembly) end(n graphs.NodeID) graphs.End {
	a.ports[n]++
	name := "swp"
	if a.host[n] {
		name = "eth"
	}
	return graphs.End{Node: n, Port: name + strconv.Itoa(a.ports[n])}
}

// address4 returns the n-th address of 10.block.0.0; n may run on into the next blocks.
func address4(block, n int) netip.Addr {
	n += block << 16
	return netip.AddrFrom4([4]byte{10, byte(n >> 16), byte(n >> 8), byte(n)})
}

// address6 returns the n-th address of the subnet of a block, which is written as its decimal digits: fd77:6c69:6e6b:255::1.
func address6(block, n int) netip.Addr {
	subnet := block/100<<8 | block/10%10<<4 | block%10
	return netip.AddrFrom16([16]byte{0xfd, 0x77, 'l', 'i', 'n', 'k', byte(subnet >> 8), byte(subnet),
		12: byte(n >> 24), 13: byte(n >> 16), 14: byte(n >> 8), 15: byte(n)})
}

// pad writes n with leading zeros, as wide as the largest number is.
func pad(n, largest int) string {
	return fmt.Sprintf("%0*d", len(strconv.Itoa(largest)), n)
}

func ceil(n, by int) int { return (n + by - 1) / by }

// tooMany guards against parameters whose product overflows or asks for more than a fabric file holds.
func tooMany(what string, factors ...int) error {
	product := uint64(1)
	for _, f := range factors {
		hi, lo := bits.Mul64(product, uint64(f))
		if hi != 0 || lo > maxLinks {
			return fmt.Errorf("more than %d %s", maxLinks, what)
		}
		product = lo
	}
	return nil
}
