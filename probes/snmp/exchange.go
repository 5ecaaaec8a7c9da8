package snmp

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gosnmp/gosnmp"

	"whichlink/probes/snmp/ber"
)

// An exchanger asks one agent, one question at a time: as [communityClient] by SNMPv2c, or as [userClient] by SNMPv3.
type exchanger interface {
	// exchange asks until there is an answer or the limits are reached. The answer is good until the next question.
	exchange(ctx context.Context, q *query) (reply, error)
	// begin and end enclose exchanges of which no answer is needed any more.
	begin(ctx context.Context)
	end()
	// remote is where the agent is.
	remote() net.Addr
	// before has a function called before each packet.
	before(wait func(context.Context))
	Close() error
}

// A communityClient speaks SNMPv2c. Polls of fabrics are many thousands of messages; the encoding of our own costs a fraction of the library's.
type communityClient struct {
	conn      net.Conn
	community string
	limits    Limits
	wait      func(context.Context)
	id        uint32
	asked     []uint32 // the ids of one question's packets
	held      *buffers
	stop      func() bool
}

// buffers are what an exchange needs. Clients have them while they exchange, so that thousands that wait for their turn do not hold them.
type buffers struct {
	in            []byte
	out, bindings []byte
	parser        parser
}

// longestAnswer is the longest datagram that there is.
const longestAnswer = 1 << 16

var spareBuffers = sync.Pool{New: func() any { return &buffers{in: make([]byte, longestAnswer)} }}

func newCommunityClient(conn net.Conn, community string, l Limits) *communityClient {
	return &communityClient{conn: conn, community: community, limits: l, id: rand.Uint32()}
}

func (c *communityClient) remote() net.Addr                  { return c.conn.RemoteAddr() }
func (c *communityClient) before(wait func(context.Context)) { c.wait = wait }
func (c *communityClient) Close() error                      { return c.conn.Close() }

// begin has a read end with ctx.
func (c *communityClient) begin(ctx context.Context) {
	c.held = spareBuffers.Get().(*buffers)
	c.stop = context.AfterFunc(ctx, func() { _ = c.conn.SetDeadline(time.Unix(1, 0)) })
}

func (c *communityClient) end() {
	c.stop()
	spareBuffers.Put(c.held)
	c.held = nil
}

func (c *communityClient) exchange(ctx context.Context, q *query) (reply, error) {
	b := c.held
	b.bindings = appendBindings(b.bindings[:0], q.names)
	c.asked = c.asked[:0]
	var failed error
	for range 1 + c.limits.Retries {
		if c.wait != nil {
			c.wait(ctx)
		}
		deadline, last := time.Now().Add(c.limits.Timeout), false
		if d, ok := ctx.Deadline(); ok && d.Before(deadline) {
			deadline, last = d, true
		}
		if err := c.conn.SetDeadline(deadline); err != nil {
			return reply{}, err
		}
		if err := ctx.Err(); err != nil { // what ends reads was called before the deadline was set, or will be
			return reply{}, err
		}
		c.id++
		id := c.id & 0x7fff_ffff
		c.asked = append(c.asked, id)
		b.out = appendMessage(b.out[:0], c.community, id, q, b.bindings)
		if _, err := c.conn.Write(b.out); err != nil {
			failed = classify(err)
			continue
		}
		r, err := c.receive()
		switch {
		case err == nil || errors.Is(err, errBroken):
			return r, err
		case ctx.Err() != nil:
			return reply{}, ctx.Err()
		case last && errors.Is(err, os.ErrDeadlineExceeded):
			return reply{}, context.DeadlineExceeded
		}
		failed = classify(err)
	}
	return reply{}, failed
}

// receive waits for the answer. An answer to an earlier packet of the same question is one, too.
func (c *communityClient) receive() (reply, error) {
	for {
		n, err := c.conn.Read(c.held.in)
		if err != nil {
			return reply{}, err
		}
		r, err := c.held.parser.parse(c.held.in[:n], func(id uint32) bool { return slices.Contains(c.asked, id) })
		if !errors.Is(err, errForeign) {
			return r, err
		}
	}
}

// A userClient speaks SNMPv3 by the library.
type userClient struct {
	client *gosnmp.GoSNMP
	vars   []binding
}

func (c *userClient) remote() net.Addr      { return c.client.Conn.RemoteAddr() }
func (c *userClient) Close() error          { return c.client.Close() }
func (c *userClient) begin(context.Context) {}
func (c *userClient) end()                  {}

func (c *userClient) before(wait func(context.Context)) {
	c.client.PreSend = func(g *gosnmp.GoSNMP) {
		wait(g.Context)
		// The wait is not the agent's.
		_ = g.Conn.SetDeadline(time.Now().Add(g.Timeout))
	}
}

func (c *userClient) exchange(ctx context.Context, q *query) (reply, error) {
	c.client.Context = ctx
	names := make([]string, len(q.names))
	for i, o := range q.names {
		names[i] = o.String()
	}
	var p *gosnmp.SnmpPacket
	var err error
	switch q.kind {
	case pduGetBulk:
		p, err = c.client.GetBulk(names, uint8(q.nonRepeaters), uint32(q.repetitions))
	case pduGetNext:
		p, err = c.client.GetNext(names)
	default:
		p, err = c.client.Get(names)
	}
	if err != nil {
		return reply{}, classify(err)
	}
	c.vars = c.vars[:0]
	for i := range p.Variables {
		x := &p.Variables[i]
		v := binding{ended: x.Type == gosnmp.EndOfMibView}
		var ok bool
		if v.name, ok = parseOID(trimDot(x.Name)); !ok {
			return reply{}, fmt.Errorf("%w: %q is no OID", ErrAgent, firstLine(x.Name))
		}
		v.value, v.there = valueOf(x)
		c.vars = append(c.vars, v)
	}
	return reply{p.Error, c.vars}, nil
}

// dial opens the socket of a client. It is connected, so that a host without an agent says so, and what others send is not read.
func dial(ctx context.Context, host string, port uint16, c Credentials, l Limits) (exchanger, error) {
	if c.User == "" {
		conn, err := (&net.Dialer{Timeout: l.Timeout * time.Duration(1+l.Retries)}).DialContext(ctx, "udp", net.JoinHostPort(strings.Trim(host, "[]"), fmt.Sprint(port)))
		if err != nil {
			return nil, err
		}
		return newCommunityClient(conn, c.Community, l), nil
	}
	g := &gosnmp.GoSNMP{Target: host, Port: port, Transport: "udp", Context: ctx, Timeout: l.Timeout, Retries: l.Retries, MaxOids: ber.MostParts}
	c.apply(g)
	if err := g.Connect(); err != nil {
		return nil, err
	}
	return &userClient{client: g}, nil
}
