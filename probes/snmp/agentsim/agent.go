package agentsim

import (
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"whichlink/probes/snmp/ber"
)

// Faults say how an agent misbehaves. OIDs are in dotted form; empty and zero mean that it does not.
type Faults struct {
	// Loss is the share of requests that are lost, by a generator of the agent's own.
	Loss float64
	// Delay is what an answer takes, and PerValue what each of its values takes on top.
	Delay, PerValue time.Duration
	// MaxMessage bounds an answer in bytes, MaxValues in values: GETBULK is cut short there, as RFC 3416 allows.
	MaxMessage, MaxValues int
	// TooBig: more repetitions than this are answered with tooBig. Silent: they are not answered at all.
	TooBig, Silent int
	// GenErr: what stands below this OID is answered with genErr.
	GenErr string
	// Mistyped: what stands below this OID is served as text.
	Mistyped string
	// Loop: behind the last instance below this OID comes the first again.
	Loop string
	// Endless: below this OID there is always one more instance.
	Endless string
	// Flood is how many datagrams that answer nothing come before each answer, Repeat how many copies of the answer behind it.
	Flood, Repeat int
}

// An Agent serves a tree over UDP as SNMPv2c.
type Agent struct {
	conn      *net.UDPConn
	community string
	done      chan struct{}
	requests  atomic.Int64
	values    atomic.Int64

	mu     sync.Mutex // guards what follows
	tree   *Tree
	faults Faults
	odd    oddities
	// up is the sysUpTime at since, in hundredths of a second.
	up    uint32
	since time.Time
	dice  *rand.Rand
	out   []byte
	asked []oid
}

// oddities are the OIDs of Faults, read.
type oddities struct{ genErr, mistyped, loop, endless oid }

var sysUpTime = oid{1, 3, 6, 1, 2, 1, 1, 3, 0}

// Start serves a tree on a UDP address such as 127.0.0.1:0 to those who know the community. sysUpTime begins with what the tree has, or with an
// hour, and goes on. The agent owns the tree from now on.
func Start(address, community string, tree *Tree, faults Faults) (*Agent, error) {
	where, err := netip.ParseAddrPort(address)
	if err != nil {
		return nil, err
	}
	conn, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(where))
	if err != nil {
		return nil, err
	}
	a := &Agent{conn: conn, community: community, done: make(chan struct{}), tree: tree, up: 360_000, since: time.Now(),
		dice: rand.New(rand.NewPCG(1, uint64(len(tree.rows))))}
	if n, ok := tree.Number(sysUpTime.String()); ok {
		a.up = uint32(n)
	} else {
		tree.Set(sysUpTime.String(), TimeTicks, 0)
	}
	a.Misbehave(faults)
	go a.serve()
	return a, nil
}

// Close ends the agent.
func (a *Agent) Close() error {
	err := a.conn.Close()
	<-a.done
	return err
}

// Address is where the agent listens.
func (a *Agent) Address() string { return a.conn.LocalAddr().String() }

// Requests is how many requests came, also those that were lost; Values how many values were sent.
func (a *Agent) Requests() int { return int(a.requests.Load()) }

// Values is how many values were sent.
func (a *Agent) Values() int { return int(a.values.Load()) }

// Change changes what the agent serves.
func (a *Agent) Change(f func(*Tree)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f(a.tree)
	a.tree.sort()
}

// SetUptime sets sysUpTime, in hundredths of a second: 0 is a restart of the agent.
func (a *Agent) SetUptime(ticks uint32) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.up, a.since = ticks, time.Now()
}

// Misbehave sets what goes wrong from now on. It panics if an OID is none.
func (a *Agent) Misbehave(f Faults) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.faults = f
	for _, x := range []struct {
		text string
		into *oid
	}{{f.GenErr, &a.odd.genErr}, {f.Mistyped, &a.odd.mistyped}, {f.Loop, &a.odd.loop}, {f.Endless, &a.odd.endless}} {
		*x.into = nil
		if x.text == "" {
			continue
		}
		o, err := parseOID(x.text)
		if err != nil {
			panic(err)
		}
		*x.into = o
	}
}

func (a *Agent) serve() {
	defer close(a.done)
	in := make([]byte, 4<<10) // requests are small
	for {
		n, from, err := a.conn.ReadFromUDPAddrPort(in)
		if err != nil {
			return
		}
		a.requests.Add(1)
		answer, wait, flood := a.answer(in[:n])
		if answer == nil {
			continue
		}
		if wait > 0 {
			time.Sleep(wait)
		}
		for range flood.Flood {
			if _, err := a.conn.WriteToUDPAddrPort(nothing, from); err != nil {
				return
			}
		}
		for range 1 + flood.Repeat {
			if _, err := a.conn.WriteToUDPAddrPort(answer, from); err != nil {
				return
			}
		}
	}
}

// nothing is an answer to a request that nobody made.
var nothing = message([]byte("public"), 0x7fffff0, 0, 0, makeRow(sysUpTime, TimeTicks, []byte{1}).encoded)

func message(community []byte, request int64, status, index int, bindings []byte) []byte {
	pdu := appendTLV(nil, ber.Integer, signedContent(request))
	pdu = appendTLV(pdu, ber.Integer, signedContent(int64(status)))
	pdu = appendTLV(pdu, ber.Integer, signedContent(int64(index)))
	pdu = appendTLV(pdu, ber.Sequence, bindings)
	body := appendTLV(nil, ber.Integer, []byte{versionTwoC})
	body = appendTLV(body, ber.OctetString, community)
	body = appendTLV(body, getResponse, pdu)
	return appendTLV(make([]byte, 0, len(body)+4), ber.Sequence, body)
}

// A request is what was asked.
type request struct {
	kind                byte
	id                  int64
	nonRepeaters, times int
	names               []oid
}

func (a *Agent) parse(packet []byte) (request, bool) {
	var r request
	c := ber.Cursor{Rest: packet}
	c.Rest = c.In(ber.Sequence)
	version := c.Number()
	community := c.In(ber.OctetString)
	r.kind, c.Rest = c.Next()
	r.id = c.Number()
	r.nonRepeaters, r.times = int(max(0, c.Number())), int(max(0, c.Number()))
	c.Rest = c.In(ber.Sequence)
	for !c.Bad && !c.Cut && len(c.Rest) > 0 && len(r.names) < cap(r.names)+1024 {
		binding := ber.Cursor{Rest: c.In(ber.Sequence)}
		i := len(r.names)
		if i == len(a.asked) {
			a.asked = append(a.asked, nil)
		}
		name, ok := ber.Name(a.asked[i][:0], binding.In(ber.ObjectIdentifier))
		if !ok || binding.Bad || binding.Cut {
			return r, false
		}
		a.asked[i] = name
		r.names = a.asked[:i+1]
	}
	return r, !c.Bad && !c.Cut && version == versionTwoC && string(community) == a.community
}

// answer returns what to send, and when; nil if the agent is silent.
func (a *Agent) answer(packet []byte) ([]byte, time.Duration, Faults) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f := a.faults
	r, ok := a.parse(packet)
	if !ok || f.Loss > 0 && a.dice.Float64() < f.Loss || f.Silent > 0 && r.kind == getBulk && r.times > f.Silent {
		return nil, 0, f
	}
	i, found := a.tree.at(sysUpTime)
	now := a.up + uint32(time.Since(a.since)/(10*time.Millisecond))
	if found {
		a.tree.rows[i] = makeRow(sysUpTime, TimeTicks, unsignedContent(uint64(now)))
	}
	w := writer{agent: a, most: 60_000, values: 1 << 20, out: a.out[:0]}
	if f.MaxMessage > 0 {
		w.most = f.MaxMessage - 60
	}
	if f.MaxValues > 0 {
		w.values = f.MaxValues
	}
	status := 0
	if f.TooBig > 0 && r.kind == getBulk && r.times > f.TooBig {
		status, w.out = errorTooBig, w.out[:0]
	} else if !w.write(&r) {
		status, w.out = errorGeneral, w.out[:0]
	}
	a.out = w.out
	a.values.Add(int64(w.written))
	return message([]byte(a.community), r.id, status, 0, w.out), f.Delay + time.Duration(w.written)*f.PerValue, f
}

// A writer puts values into an answer until it is full.
type writer struct {
	agent   *Agent
	out     []byte
	most    int // bytes
	values  int
	written int
	failed  bool
}

// write answers a request. It returns false for genErr.
func (w *writer) write(r *request) bool {
	t := w.agent.tree
	switch r.kind {
	case getRequest:
		for _, id := range r.names {
			if i, ok := t.at(id); ok {
				w.put(&t.rows[i])
			} else {
				w.absent(id, noSuchObject)
			}
		}
	case getNext:
		for _, id := range r.names {
			w.next(w.behind(id), id)
		}
	case getBulk:
		n := min(r.nonRepeaters, len(r.names))
		for _, id := range r.names[:n] {
			w.next(w.behind(id), id)
		}
		names := slices.Clone(r.names[n:]) // the asked ones keep their memory
		at := make([]int, len(names))
		for i, id := range names {
			at[i] = w.behind(id)
		}
		for range r.times {
			for i := range names {
				var full bool
				if at[i], names[i], full = w.next(at[i], names[i]); full || w.failed {
					return !w.failed
				}
			}
		}
	default:
		return false
	}
	return !w.failed
}

// behind returns the row that follows an OID.
func (w *writer) behind(id oid) int {
	i, ok := w.agent.tree.at(id)
	if ok {
		i++
	}
	return i
}

// next writes row i, which follows the OID last, unless the agent errs. It returns what follows, what was written, and whether the answer is full.
func (w *writer) next(i int, last oid) (int, oid, bool) {
	rows, odd := w.agent.tree.rows, &w.agent.odd
	leaves := func(prefix oid) bool {
		return prefix != nil && under(last, prefix) && (i == len(rows) || !under(rows[i].id, prefix))
	}
	if leaves(odd.loop) {
		i = w.behind(odd.loop)
	}
	if leaves(odd.endless) {
		id := slices.Clone(last)
		if len(id) == len(odd.endless) {
			id = append(id, 0)
		}
		id[len(id)-1]++
		r := makeRow(id, Counter64, []byte{7})
		return i, id, w.put(&r)
	}
	if i == len(rows) {
		return i, last, w.absent(last, endOfMibView)
	}
	return i + 1, rows[i].id, w.put(&rows[i])
}

// put writes a value. It returns whether the answer was full.
func (w *writer) put(r *row) (full bool) {
	odd := &w.agent.odd
	if odd.genErr != nil && under(r.id, odd.genErr) {
		w.failed = true
		return true
	}
	if odd.mistyped != nil && under(r.id, odd.mistyped) {
		x := makeRow(r.id, ber.OctetString, []byte("n/a"))
		r = &x
	}
	if w.written > 0 && len(w.out)+len(r.encoded) > w.most || w.written == w.values {
		return true
	}
	w.out = append(w.out, r.encoded...)
	w.written++
	return false
}

func (w *writer) absent(id oid, tag byte) (full bool) {
	r := makeRow(id, tag, nil)
	return w.put(&r)
}
