package snmp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/gosnmp/gosnmp"
)

// Limits bound what one agent may cost. The zero value of a field means its default.
type Limits struct {
	// Timeout is how long to wait for an answer before the request is sent again, at most Retries times: 0.5 s and 3.
	Timeout time.Duration
	Retries int
	// Time bounds a sweep, and a whole [Agent.Read]: 60 s.
	Time time.Duration
	// Rows bounds the rows of one column, Bytes the values of a sweep: 50,000 and 16 MiB.
	Rows, Bytes int
	// Open, if not nil, is given the function that opens the socket, and calls it where that is to be: inside a network namespace.
	Open func(open func() error) error
}

func (l Limits) withDefaults() Limits {
	if l.Timeout <= 0 {
		l.Timeout = 500 * time.Millisecond
	}
	if l.Retries <= 0 {
		l.Retries = 3
	}
	if l.Time <= 0 {
		l.Time = time.Minute
	}
	if l.Rows <= 0 {
		l.Rows = 50_000
	}
	if l.Bytes <= 0 {
		l.Bytes = 16 << 20
	}
	return l
}

// Errors that callers tell apart. They are wrapped.
var (
	// ErrNoAnswer: the agent is silent. A wrong community looks the same.
	ErrNoAnswer = errors.New("no answer")
	// ErrRefused: the host is up and no agent listens.
	ErrRefused = errors.New("no agent listens")
	// ErrUnreachable: there is no way to the host from here.
	ErrUnreachable = errors.New("it cannot be reached")
	// ErrName: the name of the host cannot be resolved.
	ErrName = errors.New("its name cannot be resolved")
	// ErrCredentials: the agent does not know the user, or the password is wrong.
	ErrCredentials = errors.New("the agent rejects the credentials")
	// ErrLimit: the agent sent more, or for longer, than it may.
	ErrLimit = errors.New("limit reached")
	// ErrAgent: the agent broke the protocol or reported an error of its own.
	ErrAgent = errors.New("agent error")
)

// IsSilent reports whether an error says that nothing came from an agent at all.
func IsSilent(err error) bool {
	return errors.Is(err, ErrNoAnswer) || errors.Is(err, ErrRefused) || errors.Is(err, ErrUnreachable) || errors.Is(err, ErrName)
}

// A Session talks to one agent, one request at a time. It is not safe for concurrent use.
type Session struct {
	target string
	client exchanger
	limits Limits
	// repetitions and width are the rows and columns of a request that the agent bears. Half as many columns as values leave room for some rows.
	repetitions, width int
	requests           int
	// absent are subtrees that the agent was found to have nothing of. They are not asked for.
	absent []OID
	// gap is the least time between two requests, last when the latest was sent. Retries are further apart.
	gap  time.Duration
	last time.Time
}

// varbinds is how many values a response is asked to hold: some 1,400 bytes, so that it is not fragmented.
const varbinds = 60

const mostRepetitions, leastRepetitions = 50, 5

// Dial begins a session with the agent at host, host:port or [host]:port; the port is 161 if none is given. No packet is sent yet.
func Dial(ctx context.Context, target string, c Credentials, l Limits) (*Session, error) {
	host, port, err := splitTarget(target)
	if err != nil {
		return nil, err
	}
	l = l.withDefaults()
	var client exchanger
	open := func() (err error) {
		client, err = dial(ctx, host, port, c, l)
		return err
	}
	if l.Open != nil {
		err = l.Open(open)
	} else {
		err = open()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", target, classify(err))
	}
	return &Session{target: target, client: client, limits: l, repetitions: mostRepetitions, width: varbinds / 2}, nil
}

func splitTarget(target string) (host string, port uint16, err error) {
	host, text, err := net.SplitHostPort(target)
	if err != nil {
		return target, 161, nil
	}
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n == 0 || host == "" {
		return "", 0, fmt.Errorf("target %q is not HOST or HOST:PORT", target)
	}
	return host, uint16(n), nil
}

// Close ends the session.
func (s *Session) Close() error { return s.client.Close() }

// Target is what the session was dialled with.
func (s *Session) Target() string { return s.target }

// Requests is how many requests were sent, retries left out.
func (s *Session) Requests() int { return s.requests }

// pace counts a request and holds it back until it may be sent.
func (s *Session) pace() {
	s.requests++
	if s.gap <= 0 {
		return
	}
	if wait := s.gap - time.Since(s.last); wait > 0 {
		time.Sleep(wait)
	}
	s.last = time.Now()
}

// Get reads single instances. What the agent does not have is left out of the answer, which is by OID without a leading dot.
func (s *Session) Get(ctx context.Context, oids ...string) (map[string]Value, error) {
	s.client.begin(ctx)
	defer s.client.end()
	out := make(map[string]Value, len(oids))
	for len(oids) > 0 {
		n := min(len(oids), varbinds)
		s.pace()
		r, err := s.client.exchange(ctx, &query{kind: pduGet, names: mustOIDs(oids[:n])})
		if err == nil && r.status != gosnmp.NoError {
			err = statusError(ErrAgent, r.status)
		}
		if err != nil {
			return out, fmt.Errorf("%s: %w", s.target, err)
		}
		for i := range r.vars {
			if v := &r.vars[i]; v.there {
				out[v.name.String()] = v.value
			}
		}
		oids = oids[n:]
	}
	return out, nil
}

// survey finds out by one request which subtrees the agent has nothing of, so that sweeps do not ask for each of their tables. It returns an error only if ctx
// ended: of an agent that cannot answer nothing is known.
func (s *Session) survey(ctx context.Context, subtrees []string) error {
	s.client.begin(ctx)
	defer s.client.end()
	names := mustOIDs(subtrees)
	s.pace()
	r, err := s.client.exchange(ctx, &query{kind: pduGetNext, names: names})
	if s.absent = nil; err != nil || r.status != gosnmp.NoError || len(r.vars) != len(names) {
		return ctx.Err()
	}
	for i, o := range names {
		if _, has := r.vars[i].name.in(o); !has || r.vars[i].ended {
			s.absent = append(s.absent, o)
		}
	}
	return nil
}

// lacks reports whether the agent was found not to have a column.
func (s *Session) lacks(column OID) bool {
	return slices.ContainsFunc(s.absent, func(o OID) bool { return len(column) >= len(o) && slices.Equal(column[:len(o)], o) })
}

// statusError is what an agent reports. That it does not let the user read is said as what it is.
func statusError(of error, s gosnmp.SNMPError) error {
	if s == gosnmp.AuthorizationError || s == gosnmp.NoAccess {
		return fmt.Errorf("%w: they do not let one read, as where it asks for privacy (priv), too", ErrCredentials)
	}
	return fmt.Errorf("%w: %s", of, statusText(s))
}

// unreachable are what the kernel says where packets find no way.
var unreachable = []syscall.Errno{syscall.ENETUNREACH, syscall.EHOSTUNREACH, syscall.ENETDOWN, syscall.EADDRNOTAVAIL, syscall.EAFNOSUPPORT, syscall.EPERM, syscall.EACCES}

// classify wraps an error of the library or the system in one of ours. The library's text may hold a stack or what was received, and is not kept where ours says it.
func classify(err error) error {
	var timeout net.Error
	var name *net.DNSError
	var number syscall.Errno
	switch {
	case errors.Is(err, ErrAgent), errors.Is(err, ErrLimit), errors.Is(err, ErrNoAnswer):
		return err
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, gosnmp.ErrUnknownUsername):
		return fmt.Errorf("%w: it knows no such user", ErrCredentials)
	case errors.Is(err, gosnmp.ErrWrongDigest), isUnauthentic(err):
		return fmt.Errorf("%w: the auth password or protocol is wrong, or it knows no such user", ErrCredentials)
	case errors.Is(err, gosnmp.ErrUnknownSecurityLevel):
		return fmt.Errorf("%w: this user is not served with, or without, auth and priv as they are asked for", ErrCredentials)
	case errors.Is(err, gosnmp.ErrDecryption):
		return fmt.Errorf("%w: the priv password or protocol is wrong", ErrCredentials)
	case isRefused(err):
		return ErrRefused
	case errors.As(err, &name) && name.IsNotFound:
		return fmt.Errorf("%w: no such host", ErrName)
	case errors.As(err, &name):
		return fmt.Errorf("%w: no resolver answers", ErrName)
	case errors.As(err, &number) && slices.Contains(unreachable, number):
		return fmt.Errorf("%w: %s", ErrUnreachable, number.Error())
	case errors.As(err, &timeout) && timeout.Timeout(), isTimeout(err):
		return ErrNoAnswer
	}
	return fmt.Errorf("%w: %s", ErrAgent, firstLine(err.Error()))
}
