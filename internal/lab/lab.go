// Package lab makes a fabric out of the Linux kernel: every node is a network namespace, every link a veth pair, every switch
// forwards with the kernel's own ECMP, and faults are put into it at will. What is measured on it is real packets.
//
// Most users need [New], [Lab.Do] to open sockets inside a node, [Lab.Break] and [Lab.Heal] with a fault from [ParseFault], and
// [Lab.Close]. A program that may run without privileges calls [Enter] first, which runs it again inside a user namespace of its
// own. [Available] says whether, and if not why not, the machine permits any of it.
//
// A lab from New lives in this process: its namespaces are held by file descriptors and are gone with the process, even if it is
// killed. A named lab lives in a process of its own, its keeper, and outlasts the program that wanted it: [Reserve] and
// [Room.Start] make one, [Keep] is what the keeper does, [Dial] speaks to it, [Remove] ends it, and also removes what a keeper that
// was killed has left behind. Made by root, its namespaces have names under which other programs can enter them.
//
// # How the kernel is set
//
// ECMP hashes the five-tuple (and the IPv6 flow label) with a seed of its own in every switch. The hash policy is 3 (chosen
// fields) and not 1 (layer 4): with 1 the kernel trusts the hash which the sending socket stored in the packet, which veth
// carries across namespaces, so that one five-tuple takes several paths. Limits of ICMP errors are lifted, and an error carries
// the address of the port at which the packet came in (IPv4; the kernel knows no such choice for IPv6). Neighbours are permanent
// entries, so that no packet waits for ARP. Hosts do not forward.
//
// # What a fault does
//
// Faults drop or change packets where they enter the receiving port, before anything else sees them, as a wire would: packets
// that expire at that node are hit like those that it forwards. A link that is down loses everything at both ends, while the
// routes stay for the convergence delay; then a controller takes them away. The veth pair itself stays up, because the kernel
// removes routes over a dead device at once and no routing protocol is that fast; the operational state of both ports is shown as
// dormant meanwhile.
//
// # What the agents say
//
// The agents are real: snmpd with its caches of three seconds, lldpd as its AgentX subagent. Only what Linux does not count for a veth device is
// served by this program, as snmpd's pass_persist: ifOutDiscards with the drops of the port's queue, ifInErrors and dot3StatsFCSErrors with the
// packets of a loss that is to be counted, ifLastChange at the moment of the change, as a switch's hardware tells it, and the speed that the
// fabric file gives a link. Loss is silent unless it
// is told to be counted. Agents live in a process namespace of their own and end with the lab, whatever ends it.
package lab

import (
	"errors"
	"log/slog"
	"runtime"
	"time"

	"whichlink/graphs"
)

// DefaultConvergence is how long after a link's fall or rise the routes change.
const DefaultConvergence = 200 * time.Millisecond

// Config says which lab to make. Only Fabric is needed.
type Config struct {
	// Fabric is what to build. Links without IPv4 addresses get them as [WithAddresses] assigns them; use [Lab.Fabric] afterwards.
	Fabric *graphs.Fabric
	// Seed decides the hash seeds of the switches, and so which path each flow takes.
	Seed uint64
	// Convergence is the delay between a change of a link's state and the change of routes; 0 is [DefaultConvergence].
	Convergence time.Duration
	// Name, if not empty, gives every namespace a name under /run/netns: NAME-NODE. It needs real root.
	Name string
	// SNMP runs an SNMP agent (net-snmp) in every switch, and LLDP (lldpd) where that is installed. The agents answer in the management network,
	// at the management addresses that [WithManagement] gives them; see [Lab.DoManagement]. This program must hand the arguments
	// [AgentsArguments] and [CountersArguments] to [RunAgents] and [ServeCounters].
	SNMP bool
	// Logger may be nil.
	Logger *slog.Logger
}

func (c *Config) convergence() time.Duration {
	if c.Convergence == 0 {
		return DefaultConvergence
	}
	return c.Convergence
}

// ErrUnsupported is returned by everything here on systems other than Linux.
var ErrUnsupported = errors.New("the lab needs Linux; this is " + runtime.GOOS)

// ErrClosed is returned by the methods of a lab after Close.
var ErrClosed = errors.New("the lab is closed")

// An UnavailableError says why the machine does not permit a lab, and what would mend that.
type UnavailableError struct {
	Why    string
	Remedy string
}

func (e *UnavailableError) Error() string { return "no network namespaces here: " + e.Why }

// A DeadError says that the process which kept a named lab has ended, and why it is thought so.
type DeadError struct {
	Name string
	Err  error
}

func (e *DeadError) Error() string { return "lab " + e.Name + " is dead: " + e.Err.Error() }

func (e *DeadError) Unwrap() error { return e.Err }
