package lab

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"whichlink/graphs"
)

// A Kind is a way of being sick.
type Kind string

// The kinds of faults.
const (
	Loss     Kind = "loss"    // an arc drops a share of its packets
	Down     Kind = "down"    // a link is dead, and routes avoid it after the convergence delay
	Silent   Kind = "silent"  // a link is dead in both directions, and routes stay
	Flap     Kind = "flap"    // a link is down for a while in every period
	NodeLoss Kind = "node"    // a node drops a share of the packets through it, at each of its ports
	Police   Kind = "police"  // a node limits the ICMP errors that it sends: a trap, not a fault
	Slow     Kind = "slow"    // an arc carries no more than a rate, and queues what comes faster
	Load     Kind = "load"    // real UDP traffic between two hosts
	MTU      Kind = "mtu"     // a link drops packets longer than a size, in both directions
	Corrupt  Kind = "corrupt" // an arc changes the payload of a share of its packets
	Miswire  Kind = "miswire" // the far ends of two links are swapped
	Mute     Kind = "mute"    // a switch's SNMP agent gets no requests: a trap, not a fault
)

// A Fault says what to break, by names of the fabric. [ParseFault] makes one from words; the zero values of the fields that its
// kind uses are not valid, except of PerSecond.
type Fault struct {
	Kind Kind `json:"kind"`
	// Subjects name an arc (loss, slow, corrupt), a link (down, silent, flap, mtu), two links (miswire), a node (node, police, mute) or
	// two hosts (load).
	Subjects []string `json:"subjects"`
	// Share is the fraction of packets that loss, node and corrupt hit, more than 0 and at most 1.
	Share float64 `json:"share,omitempty"`
	// Bandwidth is the rate of slow and load, of IP packets without Ethernet headers.
	Bandwidth graphs.BitsPerSecond `json:"bandwidth,omitempty"`
	// PerSecond is how many ICMP errors police lets through; 0 means none.
	PerSecond float64 `json:"per_second,omitempty"`
	// Period is the time from one fall of a flap to the next, and DownTime the part of it in which the link is down.
	Period   time.Duration `json:"period_ns,omitempty"`
	DownTime time.Duration `json:"down_ns,omitempty"`
	// Size is the longest IP packet that mtu lets pass, in bytes.
	Size int `json:"size,omitempty"`
	// Flows is among how many source ports load spreads its packets.
	Flows int `json:"flows,omitempty"`
	// Of is the share of the flows, told apart by their addresses and ports, whose packets a loss may hit; the others pass, as where one member of a LAG is bad. 0 means all.
	Of float64 `json:"of,omitempty"`
	// Counted has the receiving port of a loss count what is lost as FCS errors, as a bad cable makes it. It needs a lab with SNMP.
	Counted bool `json:"counted,omitempty"`
}

// FaultOptions are the options of whichlink lab break as they stand on the command line; empty ones take the kind's default.
type FaultOptions struct {
	Rate   string // 5% or 0.05; 50Mbit; for police 20
	Period time.Duration
	Down   time.Duration
	Flows  int
	// Of, 25% or 0.25, and Counted are for loss only.
	Of      string
	Counted bool
}

// Kinds lists all kinds with their usage line, in the order of the manual.
func Kinds() []KindUsage {
	return []KindUsage{
		{Loss, "ARC --rate 5% [--of 25%] [--counted]", "drop a share of the packets of one direction, or of some flows only"},
		{Down, "LINK", "link down; routes avoid it after the convergence delay"},
		{Silent, "LINK", "black hole in both directions; routes stay"},
		{Flap, "LINK --period 4s --down 1s", "down for a while in every period"},
		{NodeLoss, "NODE --rate 1%", "a node drops a share of everything through it"},
		{Police, "NODE [--rate 20]", "limit the ICMP errors of a node a second; 0 for none at all"},
		{Slow, "ARC --rate 50Mbit", "limit one direction and queue what comes faster"},
		{Load, "SRC DST --rate 80Mbit [--flows 16]", "send UDP traffic from host to host"},
		{MTU, "LINK 1400", "drop longer packets, both directions, silently"},
		{Corrupt, "ARC --rate 1%", "change the payload of a share of the packets"},
		{Miswire, "LINK LINK", "swap the far ends of two links"},
		{Mute, "NODE", "silence the SNMP agent of a switch"},
	}
}

// KindUsage is how a kind is written, and what it does.
type KindUsage struct {
	Kind  Kind
	Usage string
	Help  string
}

// Defaults of options.
const (
	defaultPolice = 20
	defaultFlows  = 16
	defaultPeriod = 4 * time.Second
	defaultDown   = time.Second
)

// ParseFault reads a fault as whichlink lab break takes it: the kind, its arguments, and its options. Names must be the fabric's.
func ParseFault(f *graphs.Fabric, kind string, args []string, opts FaultOptions) (Fault, error) {
	all := Kinds()
	i := slices.IndexFunc(all, func(k KindUsage) bool { return string(k.Kind) == kind })
	if i < 0 {
		return Fault{}, fmt.Errorf("unknown fault %q; there are %s", graphs.Clean(kind), kindList(all))
	}
	usage := all[i]
	fault := Fault{Kind: usage.Kind}
	wrong := func(format string, a ...any) (Fault, error) {
		return Fault{}, fmt.Errorf("%s; usage: %s %s", fmt.Sprintf(format, a...), usage.Kind, usage.Usage)
	}
	want := 1
	if kind == string(Load) || kind == string(MTU) || kind == string(Miswire) {
		want = 2
	}
	if len(args) != want {
		return wrong("%d arguments given", len(args))
	}
	fault.Subjects = slices.Clone(args)
	if fault.Kind == MTU {
		size, err := strconv.Atoi(args[1])
		if err != nil {
			return wrong("size %q is not a number of bytes", graphs.Clean(args[1]))
		}
		fault.Size = size
		fault.Subjects = fault.Subjects[:1]
	}
	var err error
	switch fault.Kind {
	case Loss, NodeLoss, Corrupt:
		fault.Share, err = parseShare(opts.Rate)
	case Slow, Load:
		fault.Bandwidth, err = parseBandwidth(opts.Rate)
	case Police:
		fault.PerSecond, err = parsePerSecond(opts.Rate)
	default:
		if opts.Rate != "" {
			return wrong("%s takes no --rate", kind)
		}
	}
	if err != nil {
		return wrong("%v", err)
	}
	switch {
	case fault.Kind == Flap:
		fault.Period, fault.DownTime = opts.Period, opts.Down
		if opts.Period == 0 {
			fault.Period = defaultPeriod
		}
		if opts.Down == 0 {
			fault.DownTime = min(defaultDown, fault.Period/4)
		}
	case opts.Period != 0 || opts.Down != 0:
		return wrong("%s takes no --period or --down", kind)
	}
	switch {
	case fault.Kind == Load:
		fault.Flows = opts.Flows
		if fault.Flows == 0 {
			fault.Flows = defaultFlows
		}
	case opts.Flows != 0:
		return wrong("%s takes no --flows", kind)
	}
	if opts.Of != "" {
		if fault.Kind != Loss {
			return wrong("%s takes no --of", kind)
		}
		if fault.Of, err = parseShare(opts.Of); err != nil || !(fault.Of > 0 && fault.Of < 1) {
			return wrong("--of %s is no share of the flows between 0 and 100%%", graphs.Clean(opts.Of))
		}
	}
	if fault.Counted = opts.Counted; fault.Counted && fault.Kind != Loss {
		return wrong("%s takes no --counted", kind)
	}
	if err := fault.check(f); err != nil {
		return wrong("%v", err)
	}
	return fault, nil
}

func kindList(all []KindUsage) string {
	words := make([]string, len(all))
	for i, k := range all {
		words[i] = string(k.Kind)
	}
	return strings.Join(words, ", ")
}

// check finds what is wrong with a fault on a fabric.
func (f Fault) check(fabric *graphs.Fabric) error {
	_, err := f.resolve(fabric)
	if err != nil {
		return err
	}
	switch f.Kind {
	case Loss, NodeLoss, Corrupt:
		if !(f.Share > 0 && f.Share <= 1) {
			return fmt.Errorf("the share of packets must be more than 0 and at most 100%%")
		}
	case Slow, Load:
		if f.Bandwidth < 8000 {
			return fmt.Errorf("the rate must be at least 8kbit")
		}
	case Police:
		if f.PerSecond < 0 || f.PerSecond > math.MaxInt32 {
			return fmt.Errorf("the rate must not be negative")
		}
	case Flap:
		if f.DownTime <= 0 || f.DownTime >= f.Period {
			return fmt.Errorf("the time down must be more than 0 and less than the period")
		}
	case MTU:
		if f.Size < 68 || f.Size > 65535 { // RFC 791: every link takes 68 bytes
			return fmt.Errorf("the size must be from 68 to 65535 bytes")
		}
	}
	if f.Kind == Load && (f.Flows < 1 || f.Flows > 10000) {
		return fmt.Errorf("the number of flows must be from 1 to 10000")
	}
	return nil
}

// A target is a fault's subjects as ids; those that its kind does not have are None.
type target struct {
	arc         graphs.ArcID
	link, other graphs.LinkID
	node, to    graphs.NodeID
}

func (f Fault) resolve(fabric *graphs.Fabric) (target, error) {
	t := target{graphs.None, graphs.None, graphs.None, graphs.None, graphs.None}
	subject := func(i int) string {
		if i < len(f.Subjects) {
			return f.Subjects[i]
		}
		return ""
	}
	link := func(i int) (graphs.LinkID, error) {
		id, ok := fabric.LinkByName(subject(i))
		if !ok {
			return id, fmt.Errorf("the fabric has no link %q; a link is written node:port--node:port", graphs.Clean(subject(i)))
		}
		return id, nil
	}
	node := func(i int) (graphs.NodeID, error) {
		id, ok := fabric.NodeByName(subject(i))
		if !ok {
			return id, fmt.Errorf("the fabric has no node %q", graphs.Clean(subject(i)))
		}
		return id, nil
	}
	var err error
	switch f.Kind {
	case Loss, Slow, Corrupt:
		var ok bool
		if t.arc, ok = fabric.ArcByName(subject(0)); !ok {
			return t, fmt.Errorf("the fabric has no arc %q; one direction of a link is written 'node:port>node:port'", graphs.Clean(subject(0)))
		}
		t.link = t.arc.Link()
	case Down, Silent, Flap, MTU:
		t.link, err = link(0)
	case Miswire:
		if t.link, err = link(0); err == nil {
			t.other, err = link(1)
		}
		if err == nil && t.link == t.other {
			err = fmt.Errorf("two different links are needed")
		}
	case NodeLoss, Police, Mute:
		t.node, err = node(0)
	case Load:
		if t.node, err = node(0); err == nil {
			t.to, err = node(1)
		}
		if err == nil && t.node == t.to {
			err = fmt.Errorf("two different hosts are needed")
		}
	default:
		err = fmt.Errorf("unknown fault %q", graphs.Clean(string(f.Kind)))
	}
	return t, err
}

// String writes the fault as whichlink lab break takes it.
func (f Fault) String() string {
	s := string(f.Kind) + " " + strings.Join(f.Subjects, " ")
	switch f.Kind {
	case Loss, NodeLoss, Corrupt:
		s += " --rate " + strconv.FormatFloat(f.Share*100, 'g', 6, 64) + "%"
	case Slow, Load:
		s += " --rate " + formatBandwidth(f.Bandwidth)
	case Police:
		s += " --rate " + strconv.FormatFloat(f.PerSecond, 'g', 6, 64)
	case Flap:
		s += fmt.Sprintf(" --period %s --down %s", f.Period, f.DownTime)
	case MTU:
		s += " " + strconv.Itoa(f.Size)
	}
	if f.Of > 0 {
		s += " --of " + strconv.FormatFloat(f.Of*100, 'g', 6, 64) + "%"
	}
	if f.Counted {
		s += " --counted"
	}
	if f.Kind == Load && f.Flows != defaultFlows {
		s += " --flows " + strconv.Itoa(f.Flows)
	}
	return s
}

// A FaultID names a fault of a running lab. IDs start at 1 and are not used again.
type FaultID int

// An ActiveFault is a fault that was put into a lab and not healed: the truth against which a diagnosis is judged.
type ActiveFault struct {
	ID FaultID `json:"id"`
	Fault
	// Text is Fault.String.
	Text string `json:"text"`
	// Link is the link of the arc, for the kinds that have an arc.
	Link  string    `json:"link,omitempty"`
	Since time.Time `json:"since"`
	// Hit counts the packets that the fault has dropped, or changed (corrupt), or sent (load) so far.
	Hit uint64 `json:"hit"`
	// DownNow tells whether a flapping link is down at this moment.
	DownNow bool `json:"down_now,omitempty"`
}
