//go:build !linux

package probes

import (
	"context"
	"time"

	"whichlink/internal/evidence"
)

// An Engine sends probes along flows and counts what becomes of them: on Linux.
type Engine struct {
	cfg Config
	own strainLog
}

// NewEngine returns ErrUnsupported.
func NewEngine(Config) (*Engine, error) { return nil, ErrUnsupported }

// outlet is a socket.
type outlet struct{}

// Add returns ErrUnsupported.
func (e *Engine) Add(evidence.Flow, Options) (*Stream, error) { return nil, ErrUnsupported }

// Remove does nothing.
func (e *Engine) Remove(*Stream) error { return nil }

// Close does nothing.
func (e *Engine) Close() error { return nil }

// Stats returns zeros.
func (e *Engine) Stats() EngineStats { return EngineStats{} }

// Echo sends nothing.
func (s *Stream) Echo(int) int { return 0 }

func (s *Stream) send([]ask, control, int) int { return 0 }

// SYN returns ErrUnsupported.
func (e *Engine) SYN(context.Context, evidence.Flow, int, time.Duration) (SYNAnswer, error) {
	return SYNAnswer{}, ErrUnsupported
}
