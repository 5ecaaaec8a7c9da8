//go:build !linux

package lab

import (
	"context"
	"io"

	"whichlink/graphs"
	"whichlink/internal/evidence"
)

// A Lab is a running fabric. This system has none: New returns [ErrUnsupported], and so does everything else.
type Lab struct{}

// Counters are what a port counted since it was made.
type Counters struct {
	InPackets, OutPackets uint64
	InBytes, OutBytes     uint64
}

// Available returns an [UnavailableError].
func Available() error {
	return &UnavailableError{Why: ErrUnsupported.Error(), Remedy: "run it on Linux, for example in a virtual machine"}
}

// Enter returns an [UnavailableError].
func Enter() error { return Available() }

// InUserNamespace returns false.
func InUserNamespace() bool { return false }

// New returns an [UnavailableError].
func New(context.Context, Config) (*Lab, error) { return nil, Available() }

// Fabric returns nil.
func (l *Lab) Fabric() *graphs.Fabric { return nil }

// Wired returns nil.
func (l *Lab) Wired() *graphs.Fabric { return nil }

// Device returns nothing.
func (l *Lab) Device(graphs.PortID) string { return "" }

// Counters returns [ErrUnsupported].
func (l *Lab) Counters(graphs.PortID) (Counters, error) { return Counters{}, ErrUnsupported }

// Do returns [ErrUnsupported].
func (l *Lab) Do(graphs.NodeID, func() error) error { return ErrUnsupported }

// Break returns [ErrUnsupported].
func (l *Lab) Break(Fault) (FaultID, error) { return 0, ErrUnsupported }

// Heal returns [ErrUnsupported].
func (l *Lab) Heal(FaultID) error { return ErrUnsupported }

// HealAll returns [ErrUnsupported].
func (l *Lab) HealAll() error { return ErrUnsupported }

// Truth returns nil.
func (l *Lab) Truth() []ActiveFault { return nil }

// Path returns [ErrUnsupported].
func (l *Lab) Path(evidence.Flow) ([]graphs.ArcID, error) { return nil, ErrUnsupported }

// Reseed returns [ErrUnsupported].
func (l *Lab) Reseed(uint64) error { return ErrUnsupported }

// DoManagement returns [ErrUnsupported].
func (l *Lab) DoManagement(func() error) error { return ErrUnsupported }

// RestartAgent returns [ErrUnsupported].
func (l *Lab) RestartAgent(graphs.NodeID) error { return ErrUnsupported }

// RunAgents returns [ErrUnsupported].
func RunAgents() error { return ErrUnsupported }

// ServeCounters returns [ErrUnsupported].
func ServeCounters(io.Reader, io.Writer) error { return ErrUnsupported }

// Close does nothing.
func (l *Lab) Close() error { return nil }
