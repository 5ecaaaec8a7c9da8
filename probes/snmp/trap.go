package snmp

import (
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/gosnmp/gosnmp"

	"whichlink/graphs"
)

// A TrapKind is what a trap tells of.
type TrapKind uint8

// The kinds of traps that are understood; others are [OtherTrap], and tell no more than that something happened.
const (
	OtherTrap         TrapKind = iota
	AgentStarted               // coldStart, warmStart (RFC 3418)
	LinkDown                   // RFC 2863
	LinkUp                     // RFC 2863
	NeighboursChanged          // lldpRemTablesChange (IEEE 802.1AB)
	SessionLost                // bgpBackwardTransition (RFC 1657, RFC 4273)
	SessionUp                  // bgpEstablished
)

// A Trap is what an agent told unasked. Traps get lost: they are a reason to ask, and no count.
type Trap struct {
	Time time.Time // when it arrived
	From netip.Addr
	Kind TrapKind
	// Index is the ifIndex of the port that a link trap is about; 0 if it does not say.
	Index uint32
	// Name is the port's ifName, else its ifDescr, where the trap carries them, cleaned.
	Name string
	// Oper and Admin are the words of IF-MIB for the port's state, where the trap carries them.
	Oper, Admin string
	// Peer is the other end of a BGP session.
	Peer netip.Addr
}

const oidTrap = "1.3.6.1.6.3.1.1.4.1.0" // snmpTrapOID.0

// trapKinds are the traps that are understood. What RFC 1657 called bgpTraps.1 and .2, RFC 4273 has below an arc 0.
var trapKinds = map[string]TrapKind{
	"1.3.6.1.6.3.1.1.5.1": AgentStarted, "1.3.6.1.6.3.1.1.5.2": AgentStarted,
	"1.3.6.1.6.3.1.1.5.3": LinkDown, "1.3.6.1.6.3.1.1.5.4": LinkUp,
	"1.0.8802.1.1.2.0.0.1": NeighboursChanged, "1.3.111.2.802.1.1.13.0.0.1": NeighboursChanged,
	"1.3.6.1.2.1.15.7.1": SessionUp, "1.3.6.1.2.1.15.0.1": SessionUp,
	"1.3.6.1.2.1.15.7.2": SessionLost, "1.3.6.1.2.1.15.0.2": SessionLost,
}

// What traps carry, with a dot before the instance.
const (
	trapIfName   = ifXEntry + "1."
	trapBGPPeers = "1.3.6.1.2.1.15.3.1."
)

// trapOf reads the variables of a trap. It returns false if they do not say which trap it is.
func trapOf(vars []gosnmp.SnmpPDU) (t Trap, ok bool) {
	for i := range vars {
		v, there := valueOf(&vars[i])
		if !there {
			continue
		}
		oid := trimDot(vars[i].Name)
		if oid == oidTrap {
			t.Kind, ok = trapKinds[v.Text], v.Text != ""
			continue
		}
		if instance, found := strings.CutPrefix(oid, trapIfName); found {
			t.index(instance)
			t.Name = graphs.Clean(v.Text)
		} else if object, found := strings.CutPrefix(oid, ifEntry); found {
			t.interfaceObject(object, v)
		} else if object, found := strings.CutPrefix(oid, trapBGPPeers); found {
			// The instance is the peer's address, and the objects differ.
			if _, peer, found := strings.Cut(object, "."); found {
				if a, err := netip.ParseAddr(peer); err == nil {
					t.Peer = a
				}
			}
		}
	}
	return t, ok
}

// interfaceObject takes in COLUMN.IFINDEX of ifTable.
func (t *Trap) interfaceObject(object string, v Value) {
	column, instance, ok := strings.Cut(object, ".")
	if !ok {
		return
	}
	t.index(instance)
	switch column {
	case "1":
		if v.IsNumber() && v.Number > 0 && v.Number < 1<<31 {
			t.Index = uint32(v.Number)
		}
	case "2":
		if t.Name == "" {
			t.Name = graphs.Clean(v.Text)
		}
	case "7":
		t.Admin = status(v.Number)
	case "8":
		t.Oper = status(v.Number)
	}
}

// index takes the instance of an object for the port's ifIndex, unless that is known.
func (t *Trap) index(instance string) {
	if n, err := strconv.ParseUint(instance, 10, 31); err == nil && t.Index == 0 {
		t.Index = uint32(n)
	}
}
