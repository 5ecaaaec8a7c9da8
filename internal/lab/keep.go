package lab

import (
	"time"
)

// A State describes a named lab. It stands in the lab's directory as state.json, so that what a keeper that died has left behind
// can be found and removed.
type State struct {
	Name string `json:"name"`
	// Dir holds what belongs to the lab: this state, the fabric file, the keeper's socket and log.
	Dir string `json:"dir"`
	// FabricFile is the fabric with its addresses, for --fabric.
	FabricFile string        `json:"fabric_file"`
	Created    time.Time     `json:"created"`
	Seed       uint64        `json:"seed"`
	Converge   time.Duration `json:"convergence_ns"`
	Switches   int           `json:"switches"`
	Hosts      int           `json:"hosts"`
	Links      int           `json:"links"`
	// Namespaces are the names under /run/netns, by node; empty for a lab inside a user namespace, which only its keeper can enter.
	Namespaces []string `json:"namespaces"`
	// SNMP is true where every switch has an SNMP agent, LLDP where lldpd runs there too: it does not inside a user namespace.
	SNMP bool `json:"snmp,omitempty"`
	LLDP bool `json:"lldp,omitempty"`
	// Inside is true where the keeper runs in a user namespace.
	Inside bool `json:"inside_user_namespace"`
	// MadeDir is true where /run/netns was not there before.
	MadeDir bool `json:"made_run_netns,omitempty"`
	// Keeper is the process that keeps the lab, 0 before it was started.
	Keeper int `json:"keeper"`
	// Alive tells whether the keeper answers. A lab that is not alive can only be taken down.
	Alive bool `json:"alive"`
}

// A Command is what [Client.Exec] runs in a node.
type Command struct {
	Node string
	// Path is the program, absolute; Args its arguments, the first being its own name; Env and Dir its surroundings.
	Path string
	Args []string
	Env  []string
	Dir  string
	// Stdin, Stdout and Stderr are open files that the command gets.
	Stdin, Stdout, Stderr uintptr
}

// A request is what a client asks of a keeper, one JSON value. With "exec" come three files.
type request struct {
	Op      string   `json:"op"` // info, break, heal, heal-all, truth, exec, signal, down
	Fault   *Fault   `json:"fault,omitempty"`
	ID      FaultID  `json:"id,omitempty"`
	Command *Command `json:"command,omitempty"`
	Signal  int      `json:"signal,omitempty"`
}

// A response is the keeper's answer.
type response struct {
	Error string        `json:"error,omitempty"`
	State *State        `json:"state,omitempty"`
	ID    FaultID       `json:"id,omitempty"`
	Truth []ActiveFault `json:"truth,omitempty"`
	Exit  *int          `json:"exit,omitempty"`
}
