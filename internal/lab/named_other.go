//go:build !linux

package lab

import (
	"context"
	"log/slog"

	"whichlink/graphs"
)

// A Room is the directory of a named lab that is to be made. This system has none.
type Room struct{}

// Reserve returns an [UnavailableError].
func Reserve(Config) (*Room, error) { return nil, Available() }

// FabricFile returns nothing.
func (r *Room) FabricFile() string { return "" }

// Discard returns [ErrUnsupported].
func (r *Room) Discard() error { return ErrUnsupported }

// Start returns [ErrUnsupported].
func (r *Room) Start(context.Context, ...string) (*State, error) { return nil, ErrUnsupported }

// Keep returns [ErrUnsupported].
func Keep(context.Context, string, *graphs.Fabric, *slog.Logger) error { return ErrUnsupported }

// ErrNoLab is returned for a name that no lab has.
var ErrNoLab = ErrUnsupported

// List returns [ErrUnsupported].
func List() ([]State, error) { return nil, ErrUnsupported }

// Remove returns [ErrUnsupported].
func Remove(context.Context, string) error { return ErrUnsupported }

// A Client speaks to the keeper of a named lab. This system has none.
type Client struct{}

// Dial returns [ErrUnsupported].
func Dial(string) (*Client, error) { return nil, ErrUnsupported }

// Close does nothing.
func (c *Client) Close() error { return nil }

// State returns [ErrUnsupported].
func (c *Client) State() (*State, error) { return nil, ErrUnsupported }

// Break returns [ErrUnsupported].
func (c *Client) Break(Fault) (FaultID, error) { return 0, ErrUnsupported }

// Heal returns [ErrUnsupported].
func (c *Client) Heal(FaultID) error { return ErrUnsupported }

// HealAll returns [ErrUnsupported].
func (c *Client) HealAll() error { return ErrUnsupported }

// Truth returns [ErrUnsupported].
func (c *Client) Truth() ([]ActiveFault, error) { return nil, ErrUnsupported }

// Exec returns [ErrUnsupported].
func (c *Client) Exec(Command) (int, error) { return 0, ErrUnsupported }
