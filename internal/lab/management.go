package lab

import (
	"errors"
	"fmt"
	"net/netip"
	"os/exec"
	"path/filepath"
	"strings"

	"whichlink/graphs"
)

// ManagementNode is what [Client.Exec] calls the network from which the agents of a lab with SNMP can be asked. It is no node of the fabric,
// and what happens to the fabric does not touch it.
const ManagementNode = "mgmt"

// Community is the community of SNMPv2c to which the agents of a lab answer. It can read, and nothing else.
const Community = "public"

// managementBlock is where management addresses are taken from, as containerlab does.
var managementBlock = netip.MustParsePrefix("172.20.0.0/16")

// firstManagement is the first address that a lab gives away: the collector's.
var firstManagement = netip.MustParseAddr("172.20.20.1")

// WithManagement returns a fabric in which every switch has an IPv4 management address; those that have one keep it. A fabric that lacks none is
// returned as it is.
func WithManagement(f *graphs.Fabric) (*graphs.Fabric, error) {
	if _, taken := f.NodeByName(ManagementNode); taken {
		return nil, fmt.Errorf("the fabric has a node called %s, as the management network of a lab is", ManagementNode)
	}
	next, err := managementPool(f)
	if err != nil {
		return nil, err
	}
	collector, err := next()
	if err != nil {
		return nil, err
	}
	b := graphs.Builder{Name: f.Name()}
	lacks := false
	for i := range graphs.NodeID(f.NumNodes()) {
		n := *f.Node(i)
		if !n.IsHost() && !n.Management.IsValid() {
			lacks = true
			if n.Management, err = next(); err != nil {
				return nil, err
			}
		}
		if n.Management == collector {
			return nil, fmt.Errorf("two nodes have the management address %s", collector)
		}
		if _, err := b.AddNode(n); err != nil {
			return nil, err
		}
	}
	if !lacks {
		return f, nil
	}
	return rebuildLinks(f, &b, func(graphs.LinkID, *[2]graphs.End) error { return nil })
}

// managementPool returns what hands out addresses that the fabric does not use, and refuses a fabric whose management addresses a lab cannot serve.
func managementPool(f *graphs.Fabric) (next func() (netip.Addr, error), err error) {
	taken := map[netip.Addr]bool{}
	for i := range graphs.NodeID(f.NumNodes()) {
		a := f.Node(i).Management
		switch {
		case !a.IsValid() || f.Node(i).IsHost():
			continue
		case !a.Is4():
			return nil, fmt.Errorf("node %s: the management address %s is not IPv4, which a lab with SNMP needs", f.NodeName(i), a)
		case taken[a]:
			return nil, fmt.Errorf("two nodes have the management address %s", a)
		}
		taken[a] = true
	}
	at := firstManagement
	return func() (netip.Addr, error) {
		for ; managementBlock.Contains(at); at = at.Next() {
			if _, used := f.Owner(at); !used && !taken[at] {
				taken[at] = true
				return at, nil
			}
		}
		return netip.Addr{}, errors.New("the block of management addresses is used up")
	}, nil
}

// collectorOf is the address from which agents are asked and to which they send traps: the first that no node has.
func collectorOf(f *graphs.Fabric) (netip.Addr, error) {
	next, err := managementPool(f)
	if err != nil {
		return netip.Addr{}, err
	}
	return next()
}

// agentPrograms finds the programs of the agents, and names the Debian packages of those that are missing. The directories of the system's
// programs are searched also where PATH leaves them out, as it does for users.
func agentPrograms() (snmpd, lldpd string, missing []string) {
	find := func(program string) string {
		if path, err := exec.LookPath(program); err == nil {
			return path
		}
		for _, dir := range []string{"/usr/sbin", "/usr/local/sbin", "/sbin"} {
			if path, err := exec.LookPath(filepath.Join(dir, program)); err == nil {
				return path
			}
		}
		missing = append(missing, program)
		return ""
	}
	return find("snmpd"), find("lldpd"), missing
}

// MissingAgents names the packages that a lab with SNMP needs and that are not installed. Without snmpd there is no such lab; without lldpd
// its agents know no neighbours.
func MissingAgents() []string {
	_, _, missing := agentPrograms()
	return missing
}

// agentsUnavailable says what to install.
func agentsUnavailable(missing []string) error {
	return &AgentsError{Why: strings.Join(missing, " and ") + " not installed", Remedy: "apt-get install --no-install-recommends " + strings.Join(missing, " ")}
}

// An AgentsError says why a lab can have no SNMP agents, and what would mend that.
type AgentsError struct{ Why, Remedy string }

func (e *AgentsError) Error() string { return "no SNMP agents here: " + e.Why }

// User, AuthPassword and PrivPassword are what the agents of a lab take of SNMPv3: SHA-256 and AES. They keep no secret: a lab has none.
const (
	User         = "whichlink"
	AuthPassword = "whichlink-auth"
	PrivPassword = "whichlink-priv"
)

// AgentsArguments are the arguments with which a lab with SNMP starts this program to run its agents; it must call [RunAgents].
func AgentsArguments() []string { return []string{"lab", "agents"} }

// CountersArguments are the arguments with which an agent starts this program to count; it must call [ServeCounters].
func CountersArguments() []string { return []string{"lab", "counters"} }
