package diagnose

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"whichlink/graphs"
	"whichlink/graphs/spelling"
	"whichlink/internal/evidence"
)

// A portLog is what was said of one port by its own switch or host, each list in the order of time.
type portLog struct {
	readings []portReading
	events   []portEvent
	heard    []heard
	// lit is the newest light of its transceiver, of litAt.
	lit   []evidence.Lane
	litAt time.Time
}

// A portReading is a port's state at a moment and what it counted in the interval before.
type portReading struct {
	at       time.Time
	interval time.Duration // 0 if not known
	by       string
	evidence.PortState
}

// change returns when the port entered its state, if the agent knows.
func (r *portReading) change() (time.Time, bool) {
	if r.LastChangeAgoMS == nil || r.Reset {
		return time.Time{}, false
	}
	return r.at.Add(-time.Duration(*r.LastChangeAgoMS) * time.Millisecond), true
}

type portEvent struct {
	at     time.Time
	what   string
	count  int // how often it happened within the window before
	window time.Duration
	by     string
}

// A heard is whom a port hears at the far end of its cable; an empty system means nobody.
type heard struct {
	at              time.Time
	system, chassis string
	port            string
}

// maxPortRecords bounds what is kept of one port: with a poll every ten seconds, a day and more.
const maxPortRecords = 10_000

// portRecords is what was said of ports.
type portRecords struct {
	logs  map[graphs.PortID]*portLog
	named map[string]graphs.PortID // as records name them; None for names that the fabric does not have
	// elsewhere are neighbours heard at ports that the fabric does not have, by the name of the port.
	elsewhere map[string]*portLog
	outside   outsiders
	version   int // of what was heard
	// read is when one was read last. Readings are old beside each other: by the clock of a prober, which may be wrong, all of them would be.
	read    time.Time
	cabling cabled
}

// addPort takes in a record of a port.
func (s *Store) addPort(r *evidence.Record) {
	p := &s.ports
	if p.logs == nil {
		*p = portRecords{logs: map[graphs.PortID]*portLog{}, named: map[string]graphs.PortID{}, elsewhere: map[string]*portLog{}, outside: outsiders{}}
	}
	id := s.portNamed(r.Port)
	var l *portLog
	if id != graphs.None {
		if l = p.logs[id]; l == nil {
			l = &portLog{}
			p.logs[id] = l
		}
	} else if l = p.elsewhere[r.Port]; isManagement(r.Port) {
		return // nobody expects it there, nor whom it hears
	} else if l == nil && r.Kind == evidence.KindNeighbour && len(p.elsewhere) < maxPortRecords {
		l = &portLog{}
		p.elsewhere[r.Port] = l
	}
	if l == nil || id == graphs.None && r.Kind != evidence.KindNeighbour {
		p.outside.take(r)
		return
	}
	switch r.Kind {
	case evidence.KindCounters:
		x := portReading{r.Time, time.Duration(r.IntervalMS) * time.Millisecond, r.By, r.PortState}
		l.readings = keep(s, l.readings, x, compareReadings)
		p.read = later(p.read, r.Time)
		if c := r.Time.Compare(l.litAt); len(r.Optics) > 0 && (c > 0 || c == 0 && bytes.Compare(inBytes(r.Optics), inBytes(l.lit)) > 0) {
			l.lit, l.litAt = r.Optics, r.Time
		}
		if s.cfg.Series != nil {
			s.cfg.Series.add(id, &x)
		}
	case evidence.KindEvent:
		x := portEvent{r.Time, r.Event, 1, time.Duration(r.WindowMS) * time.Millisecond, r.Text}
		if r.Count != nil {
			x.count = *r.Count
		}
		l.events = keep(s, l.events, x, comparePortEvents)
	case evidence.KindNeighbour:
		x := heard{r.Time, r.RemoteSystem, r.Chassis, r.RemotePort}
		l.heard = keep(s, l.heard, x, compareHeard)
		p.version++
	}
}

// compareReadings and the like put what ports say in the order of time, and what is of one moment in that of what it says: which of two files was read first
// tells nothing.
func compareReadings(a, b portReading) int {
	if c := a.at.Compare(b.at); c != 0 {
		return c
	}
	if c := cmp.Or(cmp.Compare(a.interval, b.interval), cmp.Compare(a.by, b.by)); c != 0 {
		return c
	}
	return bytes.Compare(inBytes(a.PortState), inBytes(b.PortState))
}

// inBytes writes anything down so that it can be compared.
func inBytes(x any) []byte {
	text, err := json.Marshal(x)
	if err != nil {
		return nil // light without a number, of which there is none
	}
	return text
}

func comparePortEvents(a, b portEvent) int {
	return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.what, b.what), cmp.Compare(a.count, b.count), cmp.Compare(a.window, b.window), cmp.Compare(a.by, b.by))
}

func compareHeard(a, b heard) int {
	return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.system, b.system), cmp.Compare(a.chassis, b.chassis), cmp.Compare(a.port, b.port))
}

// keep inserts in order what is not told yet, and forgets the oldest if there are too many.
func keep[T any](s *Store, list []T, x T, compare func(a, b T) int) []T {
	i := len(list)
	for i > 0 && compare(list[i-1], x) > 0 {
		i--
	}
	if i > 0 && compare(list[i-1], x) == 0 {
		s.skipped[toldTwice]++
		return list
	}
	list = slices.Insert(list, i, x)
	if len(list) > maxPortRecords {
		list = list[1:]
	}
	return list
}

// portNamed finds a port by the name that a record gives it, which may be spelled otherwise than in the fabric file.
func (s *Store) portNamed(name string) graphs.PortID {
	if id, ok := s.fabric.PortByName(name); ok {
		return id
	}
	if id, ok := s.ports.named[name]; ok {
		return id
	}
	id := graphs.PortID(graphs.None)
	if node, port, ok := strings.Cut(name, ":"); ok {
		id = s.portOf(node, port)
	}
	if s.ports.named != nil && len(s.ports.named) < maxPortRecords {
		s.ports.named[name] = id
	}
	return id
}

// portOf finds a port by what a device calls its node and itself; None if nothing or more than one port can be meant.
func (s *Store) portOf(node, port string) graphs.PortID {
	n, ok := s.fabric.NodeByName(node)
	if !ok {
		if n = s.nodeSpelled(node); n == graphs.None {
			return graphs.None
		}
	}
	if id, ok := s.fabric.PortByName(s.fabric.NodeName(n) + ":" + port); ok {
		return id
	}
	names := make([]string, 0, 64)
	for _, p := range s.fabric.Ports(n) {
		names = append(names, s.fabric.Port(p).Name)
	}
	to, ok := spelling.MatchPorts([]string{port}, names).Pairs[port]
	if !ok {
		return graphs.None
	}
	id, _ := s.fabric.PortByName(s.fabric.NodeName(n) + ":" + to)
	return id
}

// nodeSpelled finds a node whose name differs in case or domain only.
func (s *Store) nodeSpelled(name string) graphs.NodeID {
	if s.spelled == nil {
		s.spelled = map[string]graphs.NodeID{}
		for n := range graphs.NodeID(s.fabric.NumNodes()) {
			plain := spelling.Node(s.fabric.NodeName(n))
			if _, twice := s.spelled[plain]; twice {
				s.spelled[plain] = graphs.None
				continue
			}
			s.spelled[plain] = n
		}
	}
	if n, ok := s.spelled[spelling.Node(name)]; ok {
		return n
	}
	return graphs.None
}

// prunePorts drops what is older than a time, but keeps the last state and neighbour of each port: they still hold.
func (s *Store) prunePorts(oldest time.Time) {
	for _, l := range s.ports.logs {
		for len(l.readings) > 1 && l.readings[0].at.Before(oldest) {
			l.readings = l.readings[1:]
		}
		l.events = drop(l.events, func(e portEvent) bool { return e.at.Before(oldest) })
		for len(l.heard) > 1 && l.heard[1].at.Before(oldest) {
			l.heard = l.heard[1:]
		}
	}
}

// portsSaid lists the ports of which something was said, in order.
func (s *Store) portsSaid() []graphs.PortID {
	return slices.Sorted(maps.Keys(s.ports.logs))
}

// portLog returns what was said of a port; nothing is an empty log.
func (s *Store) portLog(p graphs.PortID) *portLog {
	if l := s.ports.logs[p]; l != nil {
		return l
	}
	return &portLog{}
}

// A portNow is the last known state of a port: up, down, or empty where that is not known.
type portNow struct {
	oper, admin string
	at          time.Time
}

// now returns the state of a port by its last reading and what happened since.
func (l *portLog) now() portNow {
	var n portNow
	if len(l.readings) > 0 {
		r := &l.readings[len(l.readings)-1]
		n = portNow{oper: evidence.UpOrDown(r.Oper), admin: evidence.UpOrDown(r.Admin), at: r.at}
	}
	for _, e := range l.events {
		if w := evidence.UpOrDown(e.what); w != "" && e.at.After(n.at) {
			n.oper, n.at = w, e.at
		}
	}
	return n
}

// readsDown reports whether a port of a link is down by its last word.
func (s *Store) readsDown(l graphs.LinkID) bool {
	return slices.ContainsFunc(s.fabric.Link(l).Ends[:], func(p graphs.PortID) bool { return s.portLog(p).now().oper == evidence.Down })
}

// downSince returns when the first of those words was said that had the port down ever since.
func (l *portLog) downSince() time.Time {
	var up time.Time // the newest word that has it up
	first := l.now().at
	each := func(use func(at time.Time, state string)) {
		for i := range l.readings {
			use(l.readings[i].at, evidence.UpOrDown(l.readings[i].Oper))
		}
		for _, e := range l.events {
			use(e.at, evidence.UpOrDown(e.what))
		}
	}
	each(func(at time.Time, state string) {
		if state == evidence.Up {
			up = later(up, at)
		}
	})
	each(func(at time.Time, state string) {
		if state == evidence.Down && at.After(up) {
			first = earlier(first, at)
		}
	})
	return first
}

// saidDown reports whether a reading had the port down, or an event told of its state.
func (l *portLog) saidDown() bool {
	return slices.ContainsFunc(l.readings, func(r portReading) bool { return evidence.UpOrDown(r.Oper) == evidence.Down }) ||
		slices.ContainsFunc(l.events, func(e portEvent) bool { return evidence.UpOrDown(e.what) != "" })
}

// heardSince returns since when a port has heard whom it hears now, or nobody.
func (l *portLog) heardSince() time.Time {
	i := len(l.heard) - 1
	for now := l.heard[i]; i > 0 && l.heard[i-1].named() == now.named() && l.heard[i-1].port == now.port; i-- {
	}
	return l.heard[i].at
}
