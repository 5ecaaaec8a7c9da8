package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// A Client speaks to the keeper of a named lab. It serves one goroutine at a time.
type Client struct {
	dir  string
	conn *net.UnixConn
	in   *json.Decoder
	out  *json.Encoder
	// begun is true once the first byte, with which files travel, was sent.
	begun bool
}

// Dial connects to the keeper of a named lab of this user.
func Dial(name string) (*Client, error) {
	s, err := find(name)
	if err != nil {
		return nil, err
	}
	c, err := dial(s.Dir)
	if err != nil {
		return nil, &DeadError{name, err}
	}
	return c, nil
}

func dial(dir string) (*Client, error) {
	path, done, err := socketPath(dir)
	if err != nil {
		return nil, err
	}
	defer done()
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		// The path is one through this process's files; the directory tells more.
		return nil, fmt.Errorf("connect to the keeper in %s: %w", dir, errors.Unwrap(err))
	}
	return &Client{dir: dir, conn: conn, in: json.NewDecoder(conn), out: json.NewEncoder(conn)}, nil
}

// Close ends the connection. The lab stays.
func (c *Client) Close() error { return c.conn.Close() }

// peer is the keeper's process id.
func (c *Client) peer() (int, error) {
	u, err := credentials(c.conn)
	if err != nil {
		return 0, err
	}
	return int(u.Pid), nil
}

func (c *Client) send(q request, files ...int) error {
	if !c.begun {
		var oob []byte
		if len(files) > 0 {
			oob = unix.UnixRights(files...)
		}
		if _, _, err := c.conn.WriteMsgUnix([]byte{0}, oob, nil); err != nil {
			return fmt.Errorf("ask the keeper: %w", err)
		}
		c.begun = true
	}
	if err := c.out.Encode(q); err != nil {
		return fmt.Errorf("ask the keeper: %w", err)
	}
	return nil
}

func (c *Client) receive() (response, error) {
	var a response
	if err := c.in.Decode(&a); err != nil {
		return a, fmt.Errorf("the keeper does not answer: %w", err)
	}
	if a.Error != "" {
		return a, errors.New(a.Error)
	}
	return a, nil
}

func (c *Client) ask(q request) (response, error) {
	if err := c.send(q); err != nil {
		return response{}, err
	}
	return c.receive()
}

// State describes the lab.
func (c *Client) State() (*State, error) {
	a, err := c.ask(request{Op: "info"})
	if err != nil {
		return nil, err
	}
	if a.State == nil {
		return nil, errors.New("the keeper does not say what it keeps")
	}
	return a.State, nil
}

// Break is [Lab.Break].
func (c *Client) Break(f Fault) (FaultID, error) {
	a, err := c.ask(request{Op: "break", Fault: &f})
	return a.ID, err
}

// Heal is [Lab.Heal].
func (c *Client) Heal(id FaultID) error {
	_, err := c.ask(request{Op: "heal", ID: id})
	return err
}

// HealAll is [Lab.HealAll].
func (c *Client) HealAll() error {
	_, err := c.ask(request{Op: "heal-all"})
	return err
}

// Truth is [Lab.Truth].
func (c *Client) Truth() ([]ActiveFault, error) {
	a, err := c.ask(request{Op: "truth"})
	return a.Truth, err
}

// forwarded are the signals that reach a command in a node through its client.
var forwarded = []os.Signal{
	syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGWINCH,
}

// Exec runs a command in a node and returns its exit code. Signals that this process gets meanwhile go to the command. The client
// can do nothing else afterwards.
func (c *Client) Exec(cmd Command) (int, error) {
	if c.begun {
		return 0, errors.New("a client that has asked other things cannot run a command")
	}
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, forwarded...)
	defer signal.Stop(signals)
	if err := c.send(request{Op: "exec", Command: &cmd}, int(cmd.Stdin), int(cmd.Stdout), int(cmd.Stderr)); err != nil {
		return 0, err
	}
	type result struct {
		a   response
		err error
	}
	answered := make(chan result, 1)
	go func() {
		a, err := c.receive()
		answered <- result{a, err}
	}()
	for {
		select {
		case s := <-signals:
			if n, ok := s.(syscall.Signal); ok {
				_ = c.send(request{Op: "signal", Signal: int(n)})
			}
		case r := <-answered:
			if r.err != nil {
				return 0, r.err
			}
			if r.a.Exit == nil {
				return 0, errors.New("the keeper does not say how the command ended")
			}
			return *r.a.Exit, nil
		}
	}
}
