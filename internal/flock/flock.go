// Package flock reads traces in the text form of the fault localizer Flock (Harsh et al., CoNEXT 2023), on which published systems
// have been measured: a topology of "u v" lines, and a trace of flows with their paths and counts.
//
// Switches have numbers below 10,000, hosts from there on. In a trace, FID begins a flow (source, destination, first and last switch), FPT
// says which switches it crossed, and SS how many packets it had sent and lost by then; the SS of the latest time counts. FID tells when it began, and SS
// when that was, in milliseconds. A flow from or to a switch is an active probe. Lines that tell the truth (Failing_link) and those that list equal-cost paths (FP) are passed over: paths
// follow from the topology. Files may be packed by gzip.
package flock

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/klauspost/compress/gzip"

	"whichlink/graphs"
	"whichlink/pathfind/flaps"
)

// firstHost is the least number of a host.
const firstHost = 10000

// Evidence says what of a trace may be looked at, in the words of Flock's evaluation.
type Evidence string

// The kinds of evidence.
const (
	INT   Evidence = "int"     // all flows, their paths known (in-band telemetry)
	A1    Evidence = "a1"      // active probes only
	A1P   Evidence = "a1_p"    // probes, and passive flows of which only the path set is known
	A1A2P Evidence = "a1_a2_p" // the same, but the paths of flows that lost packets are known
	A2    Evidence = "a2"      // only flows that lost packets, their paths known
	P     Evidence = "p"       // passive flows only, their path sets known
)

// Kinds are all kinds of evidence.
var Kinds = []Evidence{INT, A1, A1P, A1A2P, A2, P}

// A Flow is the packets of one flow.
type Flow struct {
	// First and Last are the switches between which the way of the packets is one of the equal-cost paths and not known; equal where it is.
	First, Last graphs.NodeID
	// Path is the arcs that they crossed, as far as known: all of them, or the one into First and the one out of Last.
	Path       []graphs.ArcID
	Sent, Lost int
	// Delay is how long its slowest packet took in queues, in microseconds; 0 in traces that do not tell.
	Delay int
	// Span is when they were sent, in milliseconds since the trace began.
	Span flaps.Span
}

// ReadTopology reads a topology. The fabric is the same in whatever order its lines come, and whichever end of a link a line has first: links are named as the generator of
// traces writes them, the host first, else the lower number.
func ReadTopology(r io.Reader, file string) (*graphs.Fabric, error) {
	var edges [][2]uint64
	err := eachLine(r, file, func(line []byte) error {
		words := bytes.Fields(bytes.Replace(line, []byte("->"), []byte(" "), 1))
		if len(words) == 0 || words[0][0] == '#' {
			return nil
		}
		if len(words) != 2 {
			return errors.New("expected two node numbers: u v, or u->v")
		}
		var edge [2]uint64
		for i, word := range words {
			var err error
			if edge[i], err = strconv.ParseUint(string(word), 10, 31); err != nil {
				return fmt.Errorf("%q is no node number", graphs.Clean(string(word)))
			}
			if edge[i] > mostNumber {
				return fmt.Errorf("node number %d is greater than %d", edge[i], mostNumber)
			}
		}
		if edge[0] == edge[1] {
			return fmt.Errorf("link from node %d to itself", edge[0])
		}
		if hostFirst(edge[0]) > hostFirst(edge[1]) {
			edge[0], edge[1] = edge[1], edge[0]
		}
		edges = append(edges, edge)
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(edges, func(a, b [2]uint64) int { return slices.Compare(a[:], b[:]) })
	f, err := topology(edges, graphs.Clean(file))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", graphs.Clean(file), err)
	}
	return f, nil
}

// hostFirst is by what the ends of a link are ordered.
func hostFirst(number uint64) int64 {
	if number >= firstHost {
		return int64(number) - mostNumber - 1
	}
	return int64(number)
}

// topology makes a fabric of pairs of node numbers. Two nodes have one link, as far as traces can tell: it may be written once for each direction.
func topology(edges [][2]uint64, name string) (*graphs.Fabric, error) {
	b := &graphs.Builder{Name: name}
	ports, linked := map[graphs.NodeID]int{}, map[[2]graphs.NodeID]bool{}
	for _, edge := range edges {
		var ends [2]graphs.End
		for i, number := range edge {
			n, err := numbered(b, number)
			if err != nil {
				return nil, err
			}
			ends[i].Node = n
		}
		u, v := ends[0].Node, ends[1].Node
		pair := [2]graphs.NodeID{min(u, v), max(u, v)}
		if linked[pair] {
			continue
		}
		linked[pair] = true
		for i := range ends {
			n := ends[i].Node
			ports[n]++
			ends[i].Port = "p" + strconv.Itoa(ports[n])
		}
		if _, err := b.AddLink(ends[0], ends[1], 0); err != nil {
			return nil, err
		}
	}
	return b.Build()
}

// numbered returns the node of a number, which is added where it is new.
func numbered(b *graphs.Builder, number uint64) (graphs.NodeID, error) {
	name := strconv.FormatUint(number, 10)
	if n, ok := b.NodeByName(name); ok {
		return n, nil
	}
	role := graphs.Role("switch")
	if number >= firstHost {
		role = graphs.RoleHost
	}
	return b.AddNode(graphs.Node{Name: name, Role: role})
}

// ReadTrace reads a trace and hands over each flow that the evidence allows to be looked at, with what it allows to be known of it. The flow
// and its path are valid until yield returns. Of a trace that is cut short (io.ErrUnexpectedEOF) all flows are handed over
// but the one in which it breaks off.
func ReadTrace(r io.Reader, file string, f *graphs.Fabric, seen Evidence, yield func(*Flow)) error {
	t := reader{fabric: f, node: make([]graphs.NodeID, 0, firstHost), seen: seen, yield: yield}
	for i := range graphs.NodeID(f.NumNodes()) {
		number, err := strconv.Atoi(f.NodeName(i))
		if err != nil || number < 0 || number > mostNumber {
			return fmt.Errorf("node %s of the topology has no number up to %d", f.NodeName(i), mostNumber)
		}
		for len(t.node) <= number {
			t.node = append(t.node, graphs.None)
		}
		t.node[number] = i
		t.start = append(t.start, int32(len(t.arcs)))
		for _, a := range f.Out(i) {
			t.arcs, t.heads = append(t.arcs, a), append(t.heads, f.Head(a))
		}
	}
	t.start = append(t.start, int32(len(t.arcs)))
	if err := eachLine(r, file, t.line); err != nil {
		return err
	}
	t.end()
	return nil
}

// mostNumber is the greatest number of a node.
const mostNumber = 1 << 24

// A reader holds the flow whose lines are being read.
type reader struct {
	fabric *graphs.Fabric
	node   []graphs.NodeID // by number
	// The arcs that leave node n, and where they lead, are at start[n] to start[n+1].
	start []int32
	arcs  []graphs.ArcID
	heads []graphs.NodeID
	seen  Evidence
	yield func(*Flow)

	open       bool
	active     bool            // from or to a switch
	ends       []graphs.NodeID // source, destination, first and last switch
	into, out  graphs.ArcID    // from the source into the first switch, from the last to the destination; None where they are one
	inside     []graphs.ArcID  // from the first to the last switch
	traced     bool
	sent, lost int
	delay      int
	counted    bool // by some SS
	span       flaps.Span
	flow       Flow
}

func (t *reader) line(line []byte) error {
	word, rest := cut(line)
	switch string(word) {
	case "FID":
		t.end()
		return t.begin(rest)
	case "FPT":
		return t.path(rest)
	case "SS":
		if !t.open {
			return errors.New("SS without a flow (FID) before it")
		}
		at, rest := cut(rest)
		when, ok := milliseconds(at)
		if !ok || len(at) == 0 {
			return fmt.Errorf("the time %q is not a number of milliseconds", graphs.Clean(string(at)))
		}
		sent, rest := cut(rest)
		lost, rest := cut(rest)
		n, ok := number(sent)
		k, also := number(lost)
		switch {
		case len(sent) > digits || len(lost) > digits:
			return fmt.Errorf("more packets sent or lost than %d digits hold", digits)
		case !ok || !also || k > n:
			return errors.New("expected SS with time, packets sent, and as many or fewer lost")
		}
		delay := 0
		if more, _ := cut(rest); len(more) > 0 {
			if delay, ok = number(more); !ok {
				return fmt.Errorf("the delay %q is not a number of microseconds", graphs.Clean(string(more)))
			}
		}
		if !t.counted || cmp.Or(cmp.Compare(when, t.span.To), cmp.Compare(n, t.sent), cmp.Compare(k, t.lost), cmp.Compare(delay, t.delay)) > 0 {
			t.counted, t.span.To, t.sent, t.lost, t.delay = true, when, n, k, delay
		}
	case "", "FP", "FPRT", "Failing_link":
	default:
		return fmt.Errorf("%q begins no line of a trace, expected FID, FPT, SS, FP or Failing_link", graphs.Clean(string(word)))
	}
	return nil
}

// begin reads who sends a flow to whom.
func (t *reader) begin(rest []byte) error {
	t.ends, t.inside = t.ends[:0], t.inside[:0]
	t.sent, t.lost, t.delay, t.counted, t.traced, t.active = 0, 0, 0, false, false, false
	for i := range 4 {
		if word, _ := cut(rest); len(word) == 0 {
			return errors.New("expected FID with source, destination, first and last switch")
		}
		n, more, err := t.next(rest)
		if err != nil {
			return err
		}
		t.active = t.active || i < 2 && !t.fabric.Node(n).IsHost()
		t.ends, rest = append(t.ends, n), more
	}
	var err error
	if t.into, err = t.arc(t.ends[0], t.ends[2]); err != nil {
		return err
	}
	if t.out, err = t.arc(t.ends[3], t.ends[1]); err != nil {
		return err
	}
	_, rest = cut(rest) // the bytes
	at, _ := cut(rest)
	when, ok := milliseconds(at)
	if t.span = (flaps.Span{From: when, To: -1}); !ok {
		return fmt.Errorf("the time %q is not a number of milliseconds", graphs.Clean(string(at)))
	}
	t.open = true
	return nil
}

// path reads the switches that a flow crossed.
func (t *reader) path(rest []byte) error {
	if !t.open {
		return errors.New("FPT without a flow (FID) before it")
	}
	t.inside, t.traced = t.inside[:0], true
	at := t.ends[2]
	for i := 0; ; i++ {
		if rest = bytes.TrimLeft(rest, " \t\r"); len(rest) == 0 {
			break
		}
		n, more, err := t.next(rest)
		if err != nil {
			return err
		}
		rest = more
		if i == 0 && n == at {
			continue
		}
		a, err := t.arc(at, n)
		if err != nil {
			return err
		}
		if i == 0 || a == graphs.None {
			return fmt.Errorf("a path from switch %s has to begin with it and cross no switch twice in a row", t.fabric.NodeName(t.ends[2]))
		}
		t.inside = append(t.inside, a)
		at = n
	}
	if at != t.ends[3] {
		return fmt.Errorf("the path ends at %s, not at the flow's last switch %s", t.fabric.NodeName(at), t.fabric.NodeName(t.ends[3]))
	}
	return nil
}

// arc returns the arc from one node to another, or None if they are the same.
func (t *reader) arc(from, to graphs.NodeID) (graphs.ArcID, error) {
	if from == to {
		return graphs.None, nil
	}
	for i := t.start[from]; i < t.start[from+1]; i++ {
		if t.heads[i] == to {
			return t.arcs[i], nil
		}
	}
	return graphs.None, fmt.Errorf("the topology has no link from %s to %s", t.fabric.NodeName(from), t.fabric.NodeName(to))
}

// end hands over the flow that was read, if it may be looked at.
func (t *reader) end() {
	if !t.open {
		return
	}
	t.open = false
	hide := false
	switch t.seen {
	case A1:
		if !t.active {
			return
		}
	case A2:
		if t.lost == 0 {
			return
		}
	case A1P:
		hide = !t.active
	case A1A2P:
		hide = !t.active && t.lost == 0
	case P:
		if t.active {
			return
		}
		hide = true
	}
	if t.sent == 0 {
		return
	}
	t.flow = Flow{Path: t.flow.Path[:0], Sent: t.sent, Lost: t.lost, Delay: t.delay, Span: t.span}
	if t.into != graphs.None {
		t.flow.Path = append(t.flow.Path, t.into)
	}
	if (hide || !t.traced) && t.ends[2] != t.ends[3] {
		t.flow.First, t.flow.Last = t.ends[2], t.ends[3]
	} else {
		t.flow.Path = append(t.flow.Path, t.inside...)
	}
	if t.out != graphs.None {
		t.flow.Path = append(t.flow.Path, t.out)
	}
	if len(t.flow.Path) > 0 || t.flow.First != t.flow.Last {
		t.yield(&t.flow)
	}
}

// next reads a node's number.
func (t *reader) next(text []byte) (graphs.NodeID, []byte, error) {
	word, rest := cut(text)
	n, ok := number(word)
	if !ok || n >= len(t.node) || t.node[n] == graphs.None {
		return graphs.None, nil, fmt.Errorf("%q is no node of the topology", graphs.Clean(string(word)))
	}
	return t.node[n], rest, nil
}

// cut takes the first word from a line.
func cut(line []byte) (word, rest []byte) {
	i := 0
	for i < len(line) && (line[i] == ' ' || line[i] == '\t') {
		i++
	}
	j := i
	for j < len(line) && line[j] != ' ' && line[j] != '\t' && line[j] != '\r' {
		j++
	}
	return line[i:j], line[j:]
}

// digits is how many of them a number has at most.
const digits = 9

func number(word []byte) (int, bool) {
	if len(word) == 0 || len(word) > digits {
		return 0, false
	}
	n := 0
	for _, c := range word {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = 10*n + int(c-'0')
	}
	return n, true
}

// maxLine is the longest line that is read, in bytes.
const maxLine = 1 << 20

// eachLine hands over the lines of a file, which may be packed by gzip, up to the first that cannot be used. The error is io.ErrUnexpectedEOF where the file is cut
// short: a packed one before its end, and the line in which it breaks off is not handed over, or a plain one in a line that cannot be used.
func eachLine(r io.Reader, file string, use func([]byte) error) error {
	plain := bufio.NewReaderSize(r, 16) // for a look at how it begins; what comes then is read past it
	r = plain
	if head, _ := plain.Peek(2); string(head) == "\x1f\x8b" {
		packed, err := gzip.NewReader(plain)
		if err != nil {
			return fmt.Errorf("%s: unpack with gzip: %w", graphs.Clean(file), err)
		}
		r = packed
	}
	from := failing{Reader: r}
	ended := true // with its newline
	lines := bufio.NewScanner(&from)
	lines.Buffer(make([]byte, 256<<10), maxLine)
	lines.Split(func(data []byte, last bool) (int, []byte, error) {
		i := bytes.IndexByte(data, '\n')
		switch ended = i >= 0; {
		case ended:
			return i + 1, data[:i], nil
		case !last:
			return 0, nil, nil
		case from.err != nil || len(data) == 0:
			return len(data), nil, nil
		}
		return len(data), data, nil
	})
	n := 0
	for lines.Scan() {
		line := lines.Bytes()
		if n++; n == 1 {
			line = bytes.TrimPrefix(line, []byte("\ufeff"))
		}
		switch err := use(line); {
		case err != nil && !ended && n > 1:
			return fmt.Errorf("%s:%d: %w", graphs.Clean(file), n, graphs.Reason(io.ErrUnexpectedEOF))
		case err != nil:
			return fmt.Errorf("%s:%d: %w", graphs.Clean(file), n, err)
		}
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return fmt.Errorf("%s:%d: line longer than %d bytes", graphs.Clean(file), n+1, maxLine)
	case err != nil && n == 0 && !errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("read %s: %w", graphs.Clean(file), graphs.Reason(err)) // as of a directory
	case err != nil:
		return fmt.Errorf("%s:%d: %w", graphs.Clean(file), n+1, graphs.Reason(err))
	}
	return nil
}

// A failing reader remembers the error, other than its end, by which reading came to one.
type failing struct {
	io.Reader
	err error
}

func (f *failing) Read(p []byte) (int, error) {
	n, err := f.Reader.Read(p)
	if err != nil && err != io.EOF {
		f.err = err
	}
	return n, err
}

// milliseconds reads a time. No word is time zero: the beginning of a flow may be left out.
func milliseconds(word []byte) (float32, bool) {
	if len(word) == 0 {
		return 0, true
	}
	// Nearly all times are a few digits with a point, which is read faster than the general form.
	whole, scale, point := 0.0, 1.0, false
	for _, c := range word {
		switch {
		case c >= '0' && c <= '9' && len(word) <= 15:
			whole = 10*whole + float64(c-'0')
			if point {
				scale *= 10
			}
		case c == '.' && !point:
			point = true
		default:
			x, err := strconv.ParseFloat(string(word), 32)
			return float32(x), err == nil && x >= 0 && !math.IsInf(x, 0)
		}
	}
	return float32(whole / scale), true
}
