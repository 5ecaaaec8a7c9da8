package lab

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/nftables"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// A servedColumn is a column of a table of which the agent's own values are not the port's.
type servedColumn struct {
	oid, kind string
	value     func(*portCounts) uint64
}

// servedColumns, in the order of their OIDs (IF-MIB RFC 2863, EtherLike-MIB RFC 3635). The kinds are snmpd's words.
var servedColumns = []servedColumn{
	{"1.3.6.1.2.1.2.2.1.5", "gauge", func(c *portCounts) uint64 { return min(c.megabits*1_000_000, 1<<32-1) }}, // ifSpeed
	// ifOperStatus: the agent's own is up to three seconds older than ifLastChange, which would tell one outage as two.
	{"1.3.6.1.2.1.2.2.1.8", "integer", func(c *portCounts) uint64 { return c.status() }},
	{"1.3.6.1.2.1.2.2.1.9", "timeticks", func(c *portCounts) uint64 { return uint64(c.changed / (10 * time.Millisecond)) }}, // ifLastChange
	{"1.3.6.1.2.1.2.2.1.14", "counter", func(c *portCounts) uint64 { return c.rxErrors + c.broken }},                        // ifInErrors
	{"1.3.6.1.2.1.2.2.1.19", "counter", func(c *portCounts) uint64 { return c.txDropped + c.queueDrops() }},                 // ifOutDiscards
	{"1.3.6.1.2.1.10.7.2.1.3", "counter", func(c *portCounts) uint64 { return c.broken }},
	{"1.3.6.1.2.1.31.1.1.1.15", "gauge", func(c *portCounts) uint64 { return c.megabits }}, // ifHighSpeed
	// dot3StatsFCSErrors
}

// speedsVariable is the environment variable that tells the speeds of the fabric file, in Mbit/s: swp1=100000,swp2=100000.
const speedsVariable = "WHICHLINK_AGENT_SPEEDS"

// vethMegabits is what the kernel says of every veth device, whatever goes through it.
const vethMegabits = 10_000

// portCounts is what the kernel counts of one device.
type portCounts struct {
	name                string
	megabits            uint64 // the link's speed
	rxErrors, txDropped uint64
	// broken are packets that a loss which is to be counted has dropped.
	broken uint64
	// dropped by the queue that is there now, and by those before it.
	dropped, droppedBefore uint64
	// changed is when the device entered its state, after the start of the agent; 0 if it is in the one in which it was found.
	changed time.Duration
	state   netlink.LinkOperState
}

// status is ifOperStatus. Of devices without a carrier, such as lo, the kernel does not know the state: they are up.
func (c *portCounts) status() uint64 {
	if c.state == netlink.OperUp || c.state == netlink.OperUnknown {
		return 1
	}
	return 2
}

func (c *portCounts) queueDrops() uint64 { return c.dropped + c.droppedBefore }

// A counterServer answers an agent from the kernel's figures of the namespace in which it is.
type counterServer struct {
	started time.Duration     // the agent's start, since boot
	planned map[string]uint64 // speeds by device, in Mbit/s

	mu    sync.Mutex // guards what follows
	ports map[int]*portCounts
	order []int // the ports' indexes, sorted
	read  time.Time
}

// startVariable is the environment variable that tells when the agent was started, in nanoseconds since boot.
const startVariable = "WHICHLINK_AGENT_STARTED"

// freshness is how old the figures may be: one sweep of a table asks for each of them.
const freshness = 200 * time.Millisecond

// ServeCounters speaks the pass_persist protocol of snmpd (snmpd.conf(5)) for the columns that a lab serves itself, until the agent goes. A
// program reaches it with [CountersArguments].
func ServeCounters(in io.Reader, out io.Writer) error {
	s := &counterServer{ports: map[int]*portCounts{}, planned: map[string]uint64{}}
	n, err := strconv.ParseInt(os.Getenv(startVariable), 10, 64)
	if err != nil {
		return fmt.Errorf("this is started by an agent: %s is not set", startVariable)
	}
	s.started = time.Duration(n)
	for word := range strings.SplitSeq(os.Getenv(speedsVariable), ",") {
		device, speed, _ := strings.Cut(word, "=")
		if n, err := strconv.ParseUint(speed, 10, 32); err == nil && n > 0 {
			s.planned[device] = n
		}
	}
	done := make(chan struct{})
	defer close(done)
	if err := s.listen(done); err != nil {
		return err
	}
	return s.serve(in, out)
}

// listen notes when devices change their state.
func (s *counterServer) listen(done chan struct{}) error {
	updates := make(chan netlink.LinkUpdate, 64)
	if err := netlink.LinkSubscribe(updates, done); err != nil {
		return fmt.Errorf("listen for changes of devices: %w", err)
	}
	if err := s.refresh(); err != nil {
		return err
	}
	go func() {
		for u := range updates {
			s.mu.Lock()
			s.note(u.Link.Attrs().Index, u.Link.Attrs().OperState)
			s.mu.Unlock()
		}
	}()
	return nil
}

// note takes in a device's state. The caller holds mu.
func (s *counterServer) note(index int, state netlink.LinkOperState) {
	c := s.ports[index]
	if c == nil || c.state == state {
		return
	}
	c.state, c.changed = state, bootTime()-s.started
}

func (s *counterServer) serve(in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	w := bufio.NewWriter(out)
	for lines.Scan() {
		switch word := strings.TrimSpace(lines.Text()); word {
		case "PING":
			w.WriteString("PONG\n")
		case "get", "getnext":
			if !lines.Scan() {
				return lines.Err()
			}
			answer, err := s.answer(strings.TrimPrefix(strings.TrimSpace(lines.Text()), "."), word == "getnext")
			if err != nil {
				return err
			}
			w.WriteString(answer)
		case "set":
			for range 2 {
				lines.Scan()
			}
			w.WriteString("not-writable\n")
		case "": // snmpd says farewell
			return w.Flush()
		default:
			return fmt.Errorf("the agent says %q, which is not its protocol", word)
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
	return lines.Err()
}

// none is the answer for what is not there.
const none = "NONE\n"

// answer answers for one instance, or for the one that follows it in its column.
func (s *counterServer) answer(oid string, next bool) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.read) > freshness {
		if err := s.refreshLocked(); err != nil {
			return "", err
		}
	}
	for _, c := range servedColumns {
		rest, ok := strings.CutPrefix(oid, c.oid)
		if !ok || rest != "" && rest[0] != '.' {
			continue
		}
		index, _, _ := strings.Cut(strings.TrimPrefix(rest, "."), ".")
		at, _ := strconv.Atoi(index) // the column itself stands before its first row
		i, there := slices.BinarySearch(s.order, at)
		switch {
		case next && there:
			i++
		case !next && !there:
			return none, nil
		}
		if i >= len(s.order) {
			return none, nil
		}
		return fmt.Sprintf(".%s.%d\n%s\n%d\n", c.oid, s.order[i], c.kind, c.value(s.ports[s.order[i]])), nil
	}
	return none, nil
}

func (s *counterServer) refresh() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refreshLocked()
}

// refreshLocked reads the kernel's figures. The caller holds mu.
func (s *counterServer) refreshLocked() error {
	links, err := netlink.LinkList()
	if err != nil {
		return fmt.Errorf("read the devices: %w", err)
	}
	there := map[int]*portCounts{}
	named := map[string]*portCounts{}
	s.order = s.order[:0]
	for _, l := range links {
		a := l.Attrs()
		c := s.ports[a.Index]
		if c == nil || c.name != a.Name {
			c = &portCounts{name: a.Name, state: a.OperState, megabits: cmp.Or(s.planned[a.Name], vethMegabits)}
		}
		if a.Statistics != nil {
			c.rxErrors, c.txDropped = a.Statistics.RxErrors, a.Statistics.TxDropped
		}
		there[a.Index], named[a.Name] = c, c
		s.order = append(s.order, a.Index)
	}
	slices.Sort(s.order)
	s.ports = there
	for _, l := range links {
		s.note(l.Attrs().Index, l.Attrs().OperState)
	}
	if err := s.readQueues(); err != nil {
		return err
	}
	if err := readBroken(named); err != nil {
		return err
	}
	s.read = time.Now()
	return nil
}

// readQueues takes the drops of the queues at the ports. A queue that was taken away, or replaced, no longer counts: what it had dropped when it was last
// looked at stays counted.
func (s *counterServer) readQueues() error {
	queues, err := netlink.QdiscList(nil)
	if err != nil {
		return fmt.Errorf("read the queues: %w", err)
	}
	now := map[int]uint64{}
	for _, q := range queues {
		if a := q.Attrs(); a.Parent == netlink.HANDLE_ROOT && a.Statistics != nil && a.Statistics.Queue != nil {
			now[a.LinkIndex] = uint64(a.Statistics.Queue.Drops)
		}
	}
	for index, c := range s.ports {
		if now[index] < c.dropped {
			c.droppedBefore += c.dropped
		}
		c.dropped = now[index]
	}
	return nil
}

// brokenPrefix begins the names of the counters of packets that a port is to count as broken; the name of its device follows. They stay when
// the fault is healed: counters do not go back.
const brokenPrefix = "broken_"

// readBroken adds up these counters.
func readBroken(named map[string]*portCounts) error {
	c, err := nftables.New()
	if err != nil {
		return fmt.Errorf("open nftables: %w", err)
	}
	defer c.CloseLasting()
	tables, err := c.ListTablesOfFamily(nftables.TableFamilyNetdev)
	if err != nil {
		return fmt.Errorf("read the filters: %w", err)
	}
	sums := map[string]uint64{}
	for _, t := range tables {
		objects, err := c.GetObjects(t)
		if err != nil && !isGone(err) {
			return fmt.Errorf("read the counters of %s: %w", t.Name, err)
		}
		for _, o := range objects {
			if x, ok := o.(*nftables.CounterObj); ok {
				if name, ok := strings.CutPrefix(x.Name, brokenPrefix); ok {
					sums[name] += x.Packets
				}
			}
		}
	}
	for name, n := range sums {
		if p := named[name]; p != nil {
			p.broken = max(p.broken, n)
		}
	}
	return nil
}

// isGone tells a table that went away between two questions.
func isGone(err error) bool { return errors.Is(err, unix.ENOENT) }
