package tui

import "context"

// A Trainer breaks and heals the drill. Its methods are called outside the drawing goroutine and may take seconds; they
// must obey the context's deadline. What is broken shows in the next [Snapshot].
type Trainer interface {
	// Kinds returns the faults that can be set, in the order in which they are offered.
	Kinds() []FaultKind
	Break(ctx context.Context, o Order) error
	// Heal takes the ID of a [Fault].
	Heal(ctx context.Context, id string) error
	// Answer takes the name of what somebody believes to be broken, or "nothing", and says whether it is. It answers at once.
	Answer(name string) (string, error)
}

// Random as a target leaves the choice to the trainer: the learner is not told.
const Random = "random"

// A TargetKind says what a fault is put on.
type TargetKind string

// The kinds of targets. Names are those of contract and screen: node:port>node:port, node:port--node:port, node.
const (
	TargetArc    TargetKind = "arc"
	TargetLink   TargetKind = "link"
	TargetSwitch TargetKind = "switch"
	TargetHost   TargetKind = "host"
)

// A FaultKind is a fault that can be set.
type FaultKind struct {
	Name    string // loss, flap, ...
	Does    string // what it does, for the learner: "drops a share of the packets, one way"
	Targets []TargetKind
	Options []Option
}

// An Option is a knob of a fault, such as its rate.
type Option struct {
	Name    string
	Default string
}

// An Order is a fault to be set. Targets are in the order of the kind's, each a name or [Random]; Options has all of the kind's.
type Order struct {
	Kind    string
	Targets []string
	Options map[string]string
}
