package pathfind

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"

	"whichlink/graphs"
)

// FIBForm describes what ReadFIB reads.
const FIBForm = `A FIB file is a JSON object of nodes; each node is an object of routes, from a prefix to a list of next hops:

  {"leaf1": {"10.32.0.0/31": ["swp5"],
             "10.32.0.2/31": ["swp1", {"via": "10.64.0.3", "weight": 2}],
             "spine2": ["swp2"]},
   "spine1": {"0.0.0.0/0": ["leaf2"]}}

A prefix is IPv4 or IPv6, or one address, or the name of a node, which goes before all prefixes; of prefixes the longest counts.
A next hop is a port of the node, the address of the port at the other end, or the name of the neighbour (all links to it). Its
weight is 1 if none is given. An empty list, or ports without a link, drop what the route matches. Packets to a node go to its first
address. A host without routes uses all of its links.`

// maxFIB bounds the size of a FIB file.
const maxFIB = 256 << 20

// maxWeight bounds the weight of a next hop.
const maxWeight = 1 << 20

// ReadFIB reads the routes of a fabric's nodes, in the form that [FIBForm] describes. Errors name the file, by the name given, and the line.
func ReadFIB(r io.Reader, name string, f *graphs.Fabric) (*FIB, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxFIB+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxFIB {
		return nil, fmt.Errorf("%s: more than %d bytes of routes", graphs.Clean(name), maxFIB)
	}
	p := &fibReader{f: f, dec: json.NewDecoder(bytes.NewReader(text)), fib: &FIB{nodes: map[graphs.NodeID]*routes{}}}
	p.dec.UseNumber()
	err = p.object("node", p.node)
	if err == nil {
		if _, end := p.dec.Token(); !errors.Is(end, io.EOF) {
			err = errors.New("more text after the end of the object")
		}
	}
	if err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			err = errors.New("the text ends too early")
		}
		line := 1 + bytes.Count(text[:min(p.dec.InputOffset(), int64(len(text)))], []byte("\n"))
		return nil, fmt.Errorf("%s:%d: %w", graphs.Clean(name), line, err)
	}
	for _, r := range p.fib.nodes {
		r.index()
	}
	return p.fib, nil
}

type fibReader struct {
	f   *graphs.Fabric
	dec *json.Decoder
	fib *FIB
}

// object reads an object, and hands every key to value, which reads what belongs to it.
func (p *fibReader) object(key string, value func(key string) error) error {
	if t, err := p.dec.Token(); err != nil {
		return err
	} else if t != json.Delim('{') {
		return fmt.Errorf("expected an object, { %q: ... }", key)
	}
	for p.dec.More() {
		t, err := p.dec.Token()
		if err != nil {
			return err
		}
		if err := value(t.(string)); err != nil { // keys are strings, or the decoder fails
			return err
		}
	}
	_, err := p.dec.Token()
	return err
}

func (p *fibReader) node(name string) error {
	n, ok := p.f.NodeByName(name)
	if !ok {
		return fmt.Errorf("no node is called %q", graphs.Clean(name))
	}
	if p.fib.nodes[n] != nil {
		return fmt.Errorf("node %q is there twice", graphs.Clean(name))
	}
	r := &routes{prefixes: map[netip.Prefix][]member{}, named: map[graphs.NodeID][]member{}}
	p.fib.nodes[n] = r
	return p.object("prefix", func(to string) error {
		members, err := p.members(n)
		if err != nil {
			return fmt.Errorf("route to %s: %w", graphs.Clean(to), err)
		}
		if dst, ok := p.f.NodeByName(to); ok {
			if _, twice := r.named[dst]; twice {
				return fmt.Errorf("route to %s is there twice", graphs.Clean(to))
			}
			r.named[dst] = members
			return nil
		}
		prefix, err := parsePrefix(to)
		if err != nil {
			return err
		}
		if _, twice := r.prefixes[prefix]; twice {
			return fmt.Errorf("route to %s is there twice", prefix)
		}
		r.prefixes[prefix] = members
		return nil
	})
}

// parsePrefix reads a prefix or an address.
func parsePrefix(text string) (netip.Prefix, error) {
	if a, err := netip.ParseAddr(text); err == nil {
		a = a.Unmap().WithZone("")
		return netip.PrefixFrom(a, a.BitLen()), nil
	}
	prefix, err := netip.ParsePrefix(text)
	if err != nil || prefix.Addr().Is4In6() {
		return netip.Prefix{}, fmt.Errorf("%q is neither a prefix, nor an address, nor a node", graphs.Clean(text))
	}
	return prefix.Masked(), nil
}

// members reads a list of next hops.
func (p *fibReader) members(n graphs.NodeID) ([]member, error) {
	var list []json.RawMessage
	if err := p.dec.Decode(&list); err != nil {
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) {
			return nil, errors.New("expected a list of next hops")
		}
		return nil, err
	}
	var members []member
	for _, item := range list {
		hop := struct {
			Via    string
			Weight *float64
		}{}
		if err := json.Unmarshal(item, &hop.Via); err != nil {
			dec := json.NewDecoder(bytes.NewReader(item))
			dec.DisallowUnknownFields()
			if err := dec.Decode(&hop); err != nil || hop.Via == "" {
				return nil, errors.New(`a next hop is a word, or {"via": WORD, "weight": NUMBER}`)
			}
		}
		weight := 1.0
		if hop.Weight != nil {
			weight = *hop.Weight
		}
		if weight <= 0 || weight > maxWeight {
			return nil, fmt.Errorf("next hop %s: weight %g is not between 0 and %d", graphs.Clean(hop.Via), weight, maxWeight)
		}
		arcs, ok := p.via(n, hop.Via)
		if !ok {
			return nil, fmt.Errorf("next hop %q is neither a port of %s, nor the address or the name of a neighbour",
				graphs.Clean(hop.Via), p.f.NodeName(n))
		}
		for _, a := range arcs {
			members = append(members, member{a, weight})
		}
	}
	return members, nil
}

// via returns the arcs that a next hop stands for: none for a port that has no link.
func (p *fibReader) via(n graphs.NodeID, word string) (arcs []graphs.ArcID, ok bool) {
	f := p.f
	if port, ok := f.PortByName(f.NodeName(n) + ":" + word); ok {
		if a := f.ArcFrom(port); a != graphs.None {
			arcs = []graphs.ArcID{a}
		}
		return arcs, true
	}
	owner := graphs.Owner{Node: graphs.None, Port: graphs.None}
	if addr, err := netip.ParseAddr(word); err == nil {
		if o, ok := f.Owner(addr.WithZone("")); ok {
			owner = o
		}
	}
	neighbour, named := f.NodeByName(word)
	for _, a := range f.Out(n) {
		if named && f.Head(a) == neighbour || owner.Port != graphs.None && f.HeadPort(a) == owner.Port {
			arcs = append(arcs, a)
		}
	}
	return arcs, len(arcs) > 0
}
