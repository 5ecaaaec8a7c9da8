package lab

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/google/nftables"
	"github.com/google/nftables/binaryutil"
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"

	"whichlink/graphs"
)

// faultPriority puts the chains of faults before everything else that may hang at a port.
const faultPriority = -100

// A filter is a fault that is a set of packet filter rules: in each namespace concerned a table of its own, so that faults are
// put in and taken out without touching one another. Its methods are not safe for concurrent use.
type filter struct {
	lab   *Lab
	table string
	// rules are what hangs where.
	rules []rule
	on    bool
	// before is what was hit in earlier times of being on.
	before uint64
}

// A rule hangs at a port, on one side; with port None it hangs at the output of a node.
type rule struct {
	node   graphs.NodeID
	port   graphs.PortID
	egress bool
	match  []expr.Any
	drop   bool
	// broken has the packets counted where the port's agent looks for those that came in broken.
	broken bool
	// input puts a rule of a node, without a port, at what the node receives for itself.
	input bool
}

func (f *filter) family() nftables.TableFamily {
	if f.rules[0].port == graphs.None {
		return nftables.TableFamilyINet
	}
	return nftables.TableFamilyNetdev
}

// byNode calls work once for every namespace concerned, inside it, with its rules.
func (f *filter) byNode(work func(*nftables.Conn, *nftables.Table, []rule) error) error {
	var order []graphs.NodeID
	rules := map[graphs.NodeID][]rule{}
	for _, r := range f.rules {
		if rules[r.node] == nil {
			order = append(order, r.node)
		}
		rules[r.node] = append(rules[r.node], r)
	}
	for _, n := range order {
		err := f.lab.Do(n, func() error {
			c, err := nftables.New()
			if err != nil {
				return err
			}
			return work(c, &nftables.Table{Family: f.family(), Name: f.table}, rules[n])
		})
		if err != nil {
			return fmt.Errorf("node %s: %w", f.lab.fabric.NodeName(n), err)
		}
	}
	return nil
}

// chain is where a rule hangs. Ports have chains of their own, named for their device and side.
func (f *filter) chain(t *nftables.Table, r rule) *nftables.Chain {
	c := &nftables.Chain{Table: t, Type: nftables.ChainTypeFilter, Priority: nftables.ChainPriorityRef(faultPriority)}
	switch {
	case r.port == graphs.None && r.input:
		c.Name, c.Hooknum = "in", nftables.ChainHookInput
	case r.port == graphs.None:
		c.Name, c.Hooknum = "out", nftables.ChainHookOutput
	case r.egress:
		c.Name, c.Hooknum, c.Device = "out_"+f.lab.device[r.port], nftables.ChainHookEgress, f.lab.device[r.port]
	default:
		c.Name, c.Hooknum, c.Device = "in_"+f.lab.device[r.port], nftables.ChainHookIngress, f.lab.device[r.port]
	}
	return c
}

// apply puts the rules in. What it did of them is undone if one fails.
func (f *filter) apply() error {
	if f.on {
		return nil
	}
	f.on = true
	err := f.byNode(func(c *nftables.Conn, t *nftables.Table, rules []rule) error {
		c.AddTable(t)
		made := map[string]*nftables.Chain{}
		for _, r := range rules {
			ch := f.chain(t, r)
			if made[ch.Name] == nil {
				made[ch.Name] = c.AddChain(ch)
			}
			exprs := append(append([]expr.Any(nil), r.match...), &expr.Counter{})
			if r.broken {
				name := brokenPrefix + f.lab.device[r.port]
				c.AddObj(&nftables.CounterObj{Table: t, Name: name})
				exprs = append(exprs, &expr.Objref{Type: int(nftables.ObjTypeCounter), Name: name})
			}
			if r.drop {
				exprs = append(exprs, &expr.Verdict{Kind: expr.VerdictDrop})
			}
			c.AddRule(&nftables.Rule{Table: t, Chain: made[ch.Name], Exprs: exprs})
		}
		return c.Flush()
	})
	if err != nil {
		return errors.Join(fmt.Errorf("put filter rules in: %w", err), f.remove())
	}
	return nil
}

// remove takes the rules out and keeps what they counted.
func (f *filter) remove() error {
	if !f.on {
		return nil
	}
	f.before, f.on = f.hit(), false
	err := f.byNode(func(c *nftables.Conn, t *nftables.Table, rules []rule) error {
		if slices.ContainsFunc(rules, func(r rule) bool { return r.broken }) {
			for _, r := range rules { // the counters stay
				c.FlushChain(f.chain(t, r))
				c.DelChain(f.chain(t, r))
			}
		} else {
			c.DelTable(t)
		}
		if err := c.Flush(); err != nil && !errors.Is(err, unix.ENOENT) {
			return err
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("take filter rules out: %w", err)
	}
	return nil
}

// hit counts the packets that the rules have matched.
func (f *filter) hit() uint64 {
	total := f.before
	if !f.on {
		return total
	}
	_ = f.byNode(func(c *nftables.Conn, t *nftables.Table, rules []rule) error {
		seen := map[string]bool{}
		for _, r := range rules {
			ch := f.chain(t, r)
			if seen[ch.Name] {
				continue
			}
			seen[ch.Name] = true
			got, err := c.GetRules(t, ch)
			if err != nil {
				return err
			}
			for _, g := range got {
				for _, e := range g.Exprs {
					if n, ok := e.(*expr.Counter); ok {
						total += n.Packets
					}
				}
			}
		}
		return nil
	})
	return total
}

// atRandom matches a share of the packets, to a millionth.
func atRandom(share float64) []expr.Any {
	const whole = 1_000_000
	return []expr.Any{
		&expr.Numgen{Register: 1, Modulus: whole, Type: unix.NFT_NG_RANDOM},
		// Comparison is by bytes, so the number has to be big-endian.
		&expr.Byteorder{SourceRegister: 1, DestRegister: 1, Op: expr.ByteorderHton, Len: 4, Size: 4},
		&expr.Cmp{Op: expr.CmpOpLt, Register: 1, Data: binaryutil.BigEndian.PutUint32(uint32(math.Round(share * whole)))},
	}
}

// ofFlows matches a share of the flows, to a millionth, as a switch tells them apart: by their addresses and ports (of IPv6 by a part of the addresses).
func ofFlows(share float64) []expr.Any {
	const whole = 1_000_000
	const first, ports, hashed = unix.NFT_REG32_00, unix.NFT_REG32_02, 12 // registers of four bytes, and how many bytes there are
	return []expr.Any{
		&expr.Payload{DestRegister: first, Base: expr.PayloadBaseNetworkHeader, Offset: 12, Len: 8},
		&expr.Payload{DestRegister: ports, Base: expr.PayloadBaseTransportHeader, Len: 4},
		&expr.Hash{SourceRegister: first, DestRegister: first, Length: hashed, Modulus: whole, Seed: 1, Type: expr.HashTypeJenkins},
		&expr.Byteorder{SourceRegister: first, DestRegister: first, Op: expr.ByteorderHton, Len: 4, Size: 4},
		&expr.Cmp{Op: expr.CmpOpLt, Register: first, Data: binaryutil.BigEndian.PutUint32(uint32(math.Round(share * whole)))},
	}
}

// longerThan matches packets whose length from the IP header on is more than size.
func longerThan(size int) []expr.Any {
	return []expr.Any{
		&expr.Meta{Key: expr.MetaKeyLEN, Register: 1},
		&expr.Byteorder{SourceRegister: 1, DestRegister: 1, Op: expr.ByteorderHton, Len: 4, Size: 4},
		&expr.Cmp{Op: expr.CmpOpGt, Register: 1, Data: binaryutil.BigEndian.PutUint32(uint32(size))},
	}
}

// protocol matches packets of an IP protocol.
func protocol(p byte) []expr.Any {
	return []expr.Any{
		&expr.Meta{Key: expr.MetaKeyL4PROTO, Register: 1},
		&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: []byte{p}},
	}
}

// corruptOffset is where corrupt changes packets, from the UDP header on: behind the header and 48 bytes, which leaves the header
// of a test packet (RFC 8762 section 4.2.1: 44 bytes) whole, so that what is hit is a packet's content. Shorter packets pass.
const corruptOffset = 8 + 48

// corruption turns over bits of four bytes of the payload and leaves the checksum as it was: a receiver on the same machine does
// not verify it, as one behind a NIC that checks sums does not. The mask differs by fault, lest two faults undo each other.
func corruption(id FaultID) []expr.Any {
	mask := binaryutil.BigEndian.PutUint32(0x01010101 * (uint32(id)%255 + 1))
	return []expr.Any{
		&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseTransportHeader, Offset: corruptOffset, Len: 4},
		&expr.Bitwise{SourceRegister: 1, DestRegister: 1, Len: 4, Mask: []byte{0xff, 0xff, 0xff, 0xff}, Xor: mask},
		&expr.Payload{OperationType: expr.PayloadWrite, SourceRegister: 1, Base: expr.PayloadBaseTransportHeader,
			Offset: corruptOffset, Len: 4, CsumType: expr.CsumTypeNone},
	}
}

// policeBurst is how many ICMP errors a policed node may send at once.
const policeBurst = 5

// overLimit matches what comes faster than a rate a second; everything if that is 0.
func overLimit(perSecond float64) []expr.Any {
	if perSecond == 0 {
		return nil
	}
	limit := &expr.Limit{Type: expr.LimitTypePkts, Rate: uint64(perSecond), Unit: expr.LimitTimeSecond, Burst: policeBurst, Over: true}
	if perSecond != math.Trunc(perSecond) {
		limit.Rate, limit.Unit = uint64(max(1, math.Round(perSecond*60))), expr.LimitTimeMinute
	}
	return []expr.Any{limit}
}

// icmpErrors matches ICMP destination unreachable (type 3) and time exceeded (11), or ICMPv6 types 1 to 3.
func icmpErrors(ipv6 bool) []expr.Any {
	kind := &expr.Payload{DestRegister: 1, Base: expr.PayloadBaseTransportHeader, Len: 1}
	if ipv6 {
		return append(protocol(unix.IPPROTO_ICMPV6), kind, &expr.Cmp{Op: expr.CmpOpLte, Register: 1, Data: []byte{3}})
	}
	// 3 and 11 differ in one bit, which the mask clears.
	return append(protocol(unix.IPPROTO_ICMP), kind,
		&expr.Bitwise{SourceRegister: 1, DestRegister: 1, Len: 1, Mask: []byte{0xf7}, Xor: []byte{0}},
		&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: []byte{3}})
}

// toAgent matches what is sent to an SNMP agent.
func toAgent() []expr.Any {
	return append(protocol(unix.IPPROTO_UDP),
		&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseTransportHeader, Offset: 2, Len: 2},
		&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: binaryutil.BigEndian.PutUint16(161)})
}

// atPort returns a rule at the receiving side of a port.
func (l *Lab) atPort(p graphs.PortID, drop bool, match ...[]expr.Any) rule {
	return rule{node: l.fabric.Port(p).Node, port: p, match: slices.Concat(match...), drop: drop}
}
