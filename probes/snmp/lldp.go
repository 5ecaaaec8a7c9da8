package snmp

import (
	"net/netip"
	"time"
)

// A System is what one agent tells of itself, of its ports, and of whom they hear. All text in it is cleaned of what a terminal should not see.
type System struct {
	// Target is what was asked, and Addr the address at which it is.
	Target string
	Addr   netip.Addr
	// HeardAs is the name by which a neighbour told of the system, where the crawl found it so.
	HeardAs string
	// Hops is how many systems lie between this one and a seed of a crawl.
	Hops int
	// Err is why there is nothing, or not all, from the agent.
	Err error
	// Requests is how many requests were sent, Took how long the agent took to answer them all.
	Requests int
	Took     time.Duration

	// Name is the system name that others hear by LLDP, else sysName, else CDP's device id. [Resolve] makes it unlike all others'.
	Name string
	// SysName is sysName.0.
	SysName string
	Chassis ID
	// Engine is snmpEngineID, empty where the agent has none.
	Engine string
	// Uptime is how long the agent (not the box) runs; 0 if it does not say.
	Uptime time.Duration
	// Ports are the rows of IF-MIB by ifIndex.
	Ports []SystemPort
	// Addresses are the system's own, IPv4 only (ipAddrTable).
	Addresses []SystemAddress
	// Hears are the neighbours, in the order of ports.
	Hears []Hearing
	// Forwards is true where the system says that it bridges or routes.
	Forwards bool
	// Deaf is true for an agent that serves neither LLDP nor CDP, not even its own part of it.
	Deaf bool

	numbers map[uint32]localPort // lldpLocPortTable, by lldpLocPortNum
	bridge  map[uint32]uint32    // dot1dBasePortIfIndex
	cdpName map[uint32]string    // cdpInterfaceName, by ifIndex
}

// A SystemPort is an interface as IF-MIB has it.
type SystemPort struct {
	Index              uint32
	Name, Descr, Alias string // ifName, ifDescr, ifAlias
	MAC                string // ifPhysAddress, of six bytes
	Type               uint32 // IANAifType
	Up                 bool   // ifOperStatus is up(1)
	// Mbps is ifHighSpeed; 0 means unknown.
	Mbps uint64
}

// A SystemAddress is an address of a system, with the length of its subnet, at the interface of an ifIndex.
type SystemAddress struct {
	Index  uint32
	Prefix netip.Prefix
}

// A localPort is a row of lldpLocPortTable: how a system names its port to others.
type localPort struct {
	id    ID
	descr string
}

// A Protocol is how a neighbour was heard.
type Protocol string

// The protocols: LLDP-MIB (IEEE 802.1AB-2005), LLDP-V2-MIB (IEEE 802.1AB-2009), CISCO-CDP-MIB.
const (
	LLDP   Protocol = "lldp"
	LLDPv2 Protocol = "lldp-v2"
	CDP    Protocol = "cdp"
)

// A Hearing is a neighbour that a port of a system hears.
type Hearing struct {
	Protocol Protocol
	// Number is the port in the numbers of the protocol's table: lldpRemLocalPortNum, or an ifIndex.
	Number uint32
	// Chassis, PortID, PortDescr and Name are what the neighbour tells of itself and of its port.
	Chassis, PortID ID
	PortDescr, Name string
	// Management are the addresses at which the neighbour says that it is managed.
	Management []netip.Addr
	// StationOnly is true where the neighbour says that it is an end system and forwards nothing.
	StationOnly bool

	// Port is the system's own port by name, empty if that cannot be told; Step is what told it.
	Port string
	Step Step
	// Far is the index of the system that the neighbour is, of those given to [Resolve], else [FarUnknown] or [FarAmbiguous]. FarPort is that
	// system's port, empty if unknown, and FarStep what told it.
	Far     int
	FarPort string
	FarStep Step

	order [3]uint32 // Number, then what tells rows of one port apart
}

// What stands in place of a system's index: the neighbour is none of them, or may be several.
const (
	FarUnknown   = -1
	FarAmbiguous = -2
)

// A Step is what told which interface a number or an identifier means. The weaker ones come last.
type Step string

// The steps, in the order in which they are tried.
const (
	StepID          Step = "port id"          // an interface has that name, alias, address or number
	StepDescription Step = "port description" // an interface has the description for a name
	StepBridge      Step = "bridge port"      // dot1dBasePortIfIndex
	StepIndex       Step = "ifIndex"          // the number is an ifIndex, as in LLDP-V2-MIB and CISCO-CDP-MIB it always is
	StepAsTold      Step = "port id as told"  // no interface matches, and the port is called what the system itself calls it
	StepReciprocity Step = "reciprocity"      // the other end says so
)

// guessed reports whether the other end's word outweighs the step's.
func (s Step) guessed() bool { return s == StepBridge || s == StepIndex || s == StepAsTold }
