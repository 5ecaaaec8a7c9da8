package snmp

import (
	"time"

	"whichlink/internal/evidence"
)

// A Reading is what one agent said at one moment. What was read before an error is good.
type Reading struct {
	Target string
	// Name is sysName, cleaned.
	Name string
	Time time.Time
	// Clock is what tells a restart from a wrap.
	Clock Clock
	// Quantum is how long the agent keeps what it serves of interfaces, 0 if it does not say: counters stand still for so long.
	Quantum time.Duration
	// Ports are in the order of their ifIndex.
	Ports []Port
	// Neighbours are whom the ports hear.
	Neighbours []Neighbour
	// Requests is how many requests it took, retries left out, and Took how long.
	Requests int
	Took     time.Duration
	Err      error
}

// A Clock is what an agent says of its own age. Values that it does not have are nil.
type Clock struct {
	// Uptime is sysUpTime: hundredths of a second since the agent, not the box, started; it wraps after 497 days.
	Uptime *uint32
	// System is hrSystemUptime, the age of the box in the same unit.
	System *uint32
	// Boots and EngineTime are snmpEngineBoots and snmpEngineTime (in seconds).
	Boots, EngineTime *uint32
	// TableLastChange is ifTableLastChange.
	TableLastChange *uint32
}

// A Port is one interface of a reading.
type Port struct {
	Index uint32
	// Name is ifName, or ifDescr where there is none, cleaned, and made unique within the agent. Alias is what its owner calls it.
	Name, Alias string
	// Type is ifType (IANA): 6 is Ethernet.
	Type uint32
	// Admin and Oper are words of IF-MIB, or empty.
	Admin, Oper string
	// Speed is in bit/s; 0 where the agent does not say.
	Speed uint64
	// LastChange is how long ago the port entered its state; nil where the agent does not know. Agents miss flaps: what is long ago is no proof
	// of stability.
	LastChange *time.Duration
	Counts     Counts
	// PFC are pause frames by priority, Drops the packets that its queues dropped, Optics its transceiver's lanes; empty where not served.
	PFC    []PFC
	Drops  []QueueDrops
	Optics []evidence.Lane

	at            uint32 // sysUpTime of the response that held its counters
	changed       uint32 // ifLastChange
	discontinuity uint32
	sampled       uint32 // aristaIfCounterLastUpdated, 0 where the agent does not tell
	descr         string
}

// A Neighbour is what a port hears at the far end of its cable (LLDP, or CDP). What is not told is empty; all is cleaned.
type Neighbour struct {
	// Port is the name of the port that hears it.
	Port string
	// Chassis and System are what the neighbour calls its box, RemotePort what it calls the port.
	Chassis, System, RemotePort string

	index uint32 // the ifIndex of Port, 0 where it is none that IF-MIB has
	row   neighbourRow
}

// A PFC is the priority flow control of one priority: pause frames sent and received since the agent counts. Priority is -1 where an agent
// counts them all together.
type PFC struct {
	Priority       int
	Sent, Received uint64
}

// A QueueDrops is what one queue of a port dropped on its way out: packets since the agent counts.
type QueueDrops struct {
	Queue   int
	Packets uint64
}

// Counts are the totals of a port since the agent counts: they mean nothing but as differences.
type Counts struct {
	value [counters]uint64
	have  uint16
	wide  uint16
}

// Get returns a counter, and whether the agent has it.
func (c *Counts) Get(k Counter) (uint64, bool) { return c.value[k], c.have&(1<<k) != 0 }

func (c *Counts) set(k Counter, n uint64, wide bool) {
	c.value[k] = n
	c.have |= 1 << k
	c.wide &^= 1 << k
	if wide {
		c.wide |= 1 << k
	}
}

func (c *Counts) isWide(k Counter) bool { return c.wide&(1<<k) != 0 }

// Totals returns the counters in the form of evidence.
func (c *Counts) Totals() (in, out evidence.Counters) {
	var d Delta
	for k := range counters {
		if n, ok := c.Get(k); ok {
			*d.slot(k) = &n
		}
	}
	return d.In, d.Out
}

// Port returns a port by its ifIndex, or nil.
func (r *Reading) Port(index uint32) *Port {
	lo, hi := 0, len(r.Ports)
	for lo < hi {
		if m := (lo + hi) / 2; r.Ports[m].Index < index {
			lo = m + 1
		} else {
			hi = m
		}
	}
	if lo < len(r.Ports) && r.Ports[lo].Index == index {
		return &r.Ports[lo]
	}
	return nil
}
