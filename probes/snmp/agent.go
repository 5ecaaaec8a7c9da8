package snmp

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"time"

	"whichlink/graphs"
)

// How long what seldom changes is good for: names and speeds, and what is costly to read or slow to change.
const (
	labelsLast = 5 * time.Minute
	slowLasts  = time.Minute
)

// MostRequests is how many requests a second an agent is asked at most.
const MostRequests = 1000

// An Agent is read again and again. It keeps its session, and what seldom changes. It is not safe for concurrent use.
type Agent struct {
	target      string
	credentials Credentials
	limits      Limits
	session     *Session
	wait        func(context.Context) // before each packet; may be nil

	labels   map[uint32]label
	labelled time.Time
	clock    Clock // when labels were read
	extra    []column
	narrow   bool              // some port's totals are of 32 bits
	rows     map[uint32]uint32 // ifIndex by etherStatsIndex
	vendor   vendorTables
	looked   time.Time // when optics were read
	hears    []Neighbour
	listened time.Time // when neighbours were read
}

// A label is what seldom changes about a port.
type label struct {
	name, alias, descr string
	kind               uint32
	speed              uint64
	mac                string
}

// NewAgent returns an agent at host, host:port or [host]:port. No packet is sent yet.
func NewAgent(target string, c Credentials, l Limits) *Agent {
	return &Agent{target: target, credentials: c, limits: l.withDefaults()}
}

// Target is what the agent was made with.
func (a *Agent) Target() string { return a.target }

// Close ends the session, if there is one.
func (a *Agent) Close() error {
	if a.session == nil {
		return nil
	}
	s := a.session
	a.session = nil
	return s.Close()
}

// Read reads all that the agent counts. Failure is part of the reading: its Err says why and its ports are what came before.
func (a *Agent) Read(ctx context.Context) *Reading {
	r := &Reading{Target: a.target, Time: time.Now()}
	outer := ctx
	ctx, cancel := context.WithTimeout(ctx, a.limits.Time)
	defer cancel()
	if a.session == nil {
		s, err := Dial(ctx, a.target, a.credentials, a.limits)
		if err != nil {
			r.Err, r.Took = err, time.Since(r.Time)
			return r
		}
		s.gap = time.Second / MostRequests
		if a.wait != nil {
			s.client.before(a.wait)
		}
		a.session = s
	}
	asked := a.session.Requests()
	p := &reader{Agent: a, Reading: r, ports: make(map[uint32]*Port, len(a.labels))}
	r.Err = p.read(ctx)
	if errors.Is(r.Err, context.DeadlineExceeded) && outer.Err() == nil {
		r.Err = fmt.Errorf("%s: %w: %s for one reading", a.target, ErrLimit, a.limits.Time)
	}
	p.finish()
	r.Requests, r.Took = a.session.Requests()-asked, time.Since(r.Time)
	return r
}

// A reader is the state of one Read.
type reader struct {
	*Agent
	*Reading
	ports map[uint32]*Port
	now   uint32 // the latest sysUpTime
	full  bool   // what seldom changes is read, too
}

// read asks for one table after the other. An agent that fails at one that it need not have is asked for the next.
func (p *reader) read(ctx context.Context) error {
	if err := p.scalars(ctx); err != nil {
		return err
	}
	p.full = p.stale()
	if p.full {
		if err := p.session.survey(ctx, optionalTables); err != nil {
			return err
		}
		defer func() { p.session.absent = nil }() // what it has now is not known later
		if err := p.readLabels(ctx); err != nil {
			return err
		}
		p.ports = make(map[uint32]*Port, len(p.labels))
	}
	if err := p.counters(ctx); err != nil {
		return err
	}
	if !p.full && p.unlabelled() {
		if err := p.readLabels(ctx); err != nil {
			return err
		}
		for index := range p.ports { // what has no name is not asked for it again each time
			if _, ok := p.labels[index]; !ok {
				p.labels[index] = label{}
			}
		}
	}
	var failed error
	for _, table := range []func(context.Context) error{p.narrowCounters, p.rmon, p.pfc, p.queues, p.optics, p.neighbours} {
		err := table(ctx)
		if err != nil && !errors.Is(err, ErrAgent) {
			return err
		}
		if failed == nil {
			failed = err
		}
	}
	return failed
}

// scalars reads what there is once. An agent that fails over one of them is asked for the two that all have.
func (p *reader) scalars(ctx context.Context) error {
	all := []string{oidSysUpTime, oidSysName, oidEngineBoots, oidEngineTime, oidSystemUptime, oidTableLastChange, oidCacheTimeout}
	got, err := p.session.Get(ctx, all...)
	if errors.Is(err, ErrAgent) {
		got, err = p.session.Get(ctx, all[:2]...)
	}
	if err != nil {
		return err
	}
	number := func(oid string) *uint32 {
		v, ok := got[oid]
		if !ok || !v.IsNumber() {
			return nil
		}
		n := uint32(v.Number)
		return &n
	}
	p.Name = graphs.Clean(got[oidSysName].Text)
	p.Clock = Clock{number(oidSysUpTime), number(oidSystemUptime), number(oidEngineBoots), number(oidEngineTime), number(oidTableLastChange)}
	if n := number(oidCacheTimeout); n != nil && *n < 3600 {
		p.Quantum = time.Duration(*n) * time.Second
	}
	if p.Clock.Uptime != nil {
		p.now = *p.Clock.Uptime
	}
	return nil
}

// stale reports whether names may have changed. Each agent has its own period, so that not all are asked at once.
func (p *reader) stale() bool {
	h := fnv.New32a()
	_, _ = h.Write([]byte(p.target))
	lasts := labelsLast + time.Duration(h.Sum32()%60)*time.Second
	moved := func(a, b *uint32) bool { return a != nil && b != nil && *a != *b }
	return p.labels == nil || p.Time.Sub(p.labelled) > lasts || moved(p.clock.TableLastChange, p.Clock.TableLastChange) ||
		p.clock.Uptime != nil && p.Clock.Uptime != nil && *p.Clock.Uptime < *p.clock.Uptime
}

// unlabelled reports whether there are ports that had no names before.
func (p *reader) unlabelled() bool {
	for index := range p.ports {
		if _, ok := p.labels[index]; !ok {
			return true
		}
	}
	return false
}

// readLabels reads what seldom changes, for this reading and those that follow.
func (p *reader) readLabels(ctx context.Context) error {
	labels := map[uint32]label{}
	slow := map[uint32]uint64{} // ifSpeed
	var row label               // that is being read
	var at uint32
	err := p.session.Sweep(ctx, nil, labelColumns, func(c Cell) {
		index, ok := c.Index.port()
		if !ok {
			return
		}
		if index != at {
			if at != 0 {
				labels[at] = row
			}
			row, at = labels[index], index
		}
		switch text := c.Value.Text; c.Column {
		case labelDescr:
			row.descr = graphs.Clean(text)
		case labelName:
			row.name = graphs.Clean(text)
		case labelAlias:
			row.alias = graphs.Clean(text)
		case labelType:
			row.kind = uint32(c.Value.Number)
		case labelAddress:
			row.mac = portMAC(text)
		case labelSpeed:
			slow[index] = c.Value.Number
		case labelHighSpeed:
			row.speed = c.Value.Number
		}
	}, nil)
	if at != 0 {
		labels[at] = row
	}
	for index, l := range labels {
		l.speed = speed(l.speed, slow[index])
		labels[index] = l
	}
	if err == nil || len(labels) > len(p.labels) {
		p.labels = labels
	}
	if err != nil {
		return err
	}
	p.labelled, p.clock = p.Time, p.Clock
	return nil
}

// speed is in bit/s. ifHighSpeed is in Mbit/s and 0 where an agent does not know, or below 1 Mbit/s; ifSpeed stands still at 2^32-1.
func speed(high, low uint64) uint64 {
	const most = 100_000_000 // Mbit/s: what is above is no speed
	switch {
	case high > 0 && high < most:
		return high * 1_000_000
	case low < 1<<32-1:
		return low
	}
	return 0
}

// portIndex reads an index of one number.
func portIndex(text string) (uint32, bool) {
	n, err := strconv.ParseUint(text, 10, 32)
	return uint32(n), err == nil && n > 0
}

// counters reads the state of ports and what they count. sysUpTime comes with each response, so that each port's counts have a time of the
// agent's own clock.
func (p *reader) counters(ctx context.Context) error {
	columns := append(slices.Clone(basicColumns), p.extra...)
	if p.full {
		columns = append(slices.Clone(basicColumns), extraColumns...)
	}
	seen := make([]bool, len(columns))
	err := p.sweepPorts(ctx, columns, func(i int) { seen[i] = true })
	if p.full && err == nil {
		p.extra = nil
		for i, c := range columns[len(basicColumns):] {
			if seen[len(basicColumns)+i] {
				p.extra = append(p.extra, c)
			}
		}
	}
	return err
}

// sweepPorts reads columns by ifIndex into ports.
func (p *reader) sweepPorts(ctx context.Context, columns []column, seen func(i int)) error {
	oids := make([]string, len(columns))
	for i, c := range columns {
		oids[i] = c.oid
	}
	var port *Port // of the row that is being read
	return p.session.Sweep(ctx, []string{oidSysUpTime}, oids, func(c Cell) {
		index, ok := c.Index.port()
		if !ok || !c.Value.IsNumber() {
			return
		}
		if port == nil || port.Index != index {
			port = p.ports[index]
		}
		if port == nil {
			port = &Port{Index: index, at: p.now}
			p.ports[index] = port
		}
		seen(c.Column)
		port.take(columns[c.Column], c.Value.Number)
	}, func(_ int, v Value) { p.now = uint32(v.Number) })
}

// take notes one value of a port. A wide counter is not replaced by a narrow one, unless it stands at 0: some agents have 64-bit counters that
// never count.
func (q *Port) take(c column, n uint64) {
	switch c.is {
	case adminStatus:
		q.Admin = status(n)
	case operStatus:
		q.Oper = status(n)
	case lastChange:
		q.changed = uint32(n)
	case discontinuity:
		q.discontinuity = uint32(n)
	case sampled:
		q.sampled = uint32(n)
	default:
		old, ok := q.Counts.Get(c.is)
		if !c.wide && ok && q.Counts.isWide(c.is) && (old != 0 || n == 0) || c.wide && ok && n == 0 && old != 0 {
			return
		}
		if !c.wide {
			n &= 1<<32 - 1
		}
		q.Counts.set(c.is, n, c.wide)
	}
}

// narrowCounters reads 32-bit counters where those of 64 bits are missing or dead. Whether it must is found out when names are read.
func (p *reader) narrowCounters(ctx context.Context) error {
	if p.full {
		p.narrow = false
		for _, q := range p.ports {
			in, ok := q.Counts.Get(InOctets)
			out, ok2 := q.Counts.Get(OutOctets)
			if !ok || !ok2 || in == 0 && out == 0 && q.Oper == "up" {
				p.narrow = true
			}
		}
	}
	if !p.narrow {
		return nil
	}
	err := p.sweepPorts(ctx, narrowColumns, func(int) {})
	if p.full {
		p.narrow = false
		for _, q := range p.ports {
			if n, _ := q.Counts.Get(InOctets); n > 0 && !q.Counts.isWide(InOctets) {
				p.narrow = true
			}
		}
	}
	return err
}

// finish puts the ports in order and gives them their names.
func (p *reader) finish() {
	p.Ports = make([]Port, 0, len(p.ports))
	for _, index := range slices.Sorted(maps.Keys(p.ports)) {
		p.Ports = append(p.Ports, *p.ports[index])
	}
	name(p.Ports, p.labels)
	p.Neighbours = slices.Clone(p.Neighbours)
	for i := range p.Neighbours {
		if q := p.Port(p.Neighbours[i].index); q != nil {
			p.Neighbours[i].Port = q.Name
		}
	}
	p.age()
}

// age sets LastChange. ifLastChange is 0 where an agent does not know it or has not seen the port change, and later than now where it counts by
// another clock or sysUpTime has wrapped.
func (p *reader) age() {
	if p.Clock.Uptime == nil {
		return
	}
	for i := range p.Ports {
		q := &p.Ports[i]
		if q.changed == 0 || q.changed > q.at {
			continue
		}
		ago := time.Duration(q.at-q.changed) * 10 * time.Millisecond
		q.LastChange = &ago
	}
}
