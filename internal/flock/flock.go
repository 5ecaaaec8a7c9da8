// Package flock reads traces in the text form of the fault localizer Flock (Harsh et al., CoNEXT 2023), on which published systems
// have been measured: a topology of "u v" lines, and a trace of flows with their paths and counts.
//
// Switches have numbers below 10,000, hosts from there on. In a trace, FID begins a flow (source, destination, first and last switch), FPT
// says which switches it crossed, and SS how many packets it had sent and lost by then; the last SS counts. A flow from or to a switch is
// an active probe. Lines that tell the truth (Failing_link) and those that list equal-cost paths (FP) are passed over: paths
// follow from the topology.
package flock

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"

	"whichlink/graphs"
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
	// Src and Dst are the ends, First and Last the switches at which its packets enter and leave the fabric.
	Src, Dst, First, Last graphs.NodeID
	// Path is the switches from First to Last; nil where it may not be known.
	Path       []graphs.NodeID
	Sent, Lost int
}

// ReadTopology reads a topology.
func ReadTopology(r io.Reader, file string) (*graphs.Fabric, error) {
	b := &graphs.Builder{Name: graphs.Clean(file)}
	ports := map[graphs.NodeID]int{}
	end := func(word []byte) (graphs.End, error) {
		number, err := strconv.ParseUint(string(word), 10, 31)
		if err != nil {
			return graphs.End{}, fmt.Errorf("%q is no node number", graphs.Clean(string(word)))
		}
		name := strconv.FormatUint(number, 10)
		n, ok := b.NodeByName(name)
		if !ok {
			role := graphs.Role("switch")
			if number >= firstHost {
				role = graphs.RoleHost
			}
			if n, err = b.AddNode(graphs.Node{Name: name, Role: role}); err != nil {
				return graphs.End{}, err
			}
		}
		ports[n]++
		return graphs.End{Node: n, Port: "p" + strconv.Itoa(ports[n])}, nil
	}
	err := eachLine(r, file, func(line []byte) error {
		words := bytes.Fields(bytes.Replace(line, []byte("->"), []byte(" "), 1))
		if len(words) == 0 || words[0][0] == '#' {
			return nil
		}
		if len(words) != 2 {
			return errors.New("expected two node numbers: u v, or u->v")
		}
		u, err := end(words[0])
		if err != nil {
			return err
		}
		v, err := end(words[1])
		if err != nil {
			return err
		}
		_, err = b.AddLink(u, v, 0)
		return err
	})
	if err != nil {
		return nil, err
	}
	f, err := b.Build()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", graphs.Clean(file), err)
	}
	return f, nil
}

// ReadTrace reads a trace and hands over each flow that the evidence allows to be looked at, with what it allows to be known of it. The flow
// and its path are valid until yield returns.
func ReadTrace(r io.Reader, file string, f *graphs.Fabric, seen Evidence, yield func(*Flow)) error {
	t := reader{node: make([]graphs.NodeID, 0, firstHost), seen: seen, yield: yield}
	for i := range graphs.NodeID(f.NumNodes()) {
		number, err := strconv.Atoi(f.NodeName(i))
		if err != nil || number < 0 || number > 1<<24 {
			return fmt.Errorf("node %s of the topology has no number", f.NodeName(i))
		}
		for len(t.node) <= number {
			t.node = append(t.node, graphs.None)
		}
		t.node[number] = i
	}
	if err := eachLine(r, file, t.line); err != nil {
		return err
	}
	t.end()
	return nil
}

// A reader holds the flow whose lines are being read.
type reader struct {
	node         []graphs.NodeID // by number
	seen         Evidence
	yield        func(*Flow)
	flow         Flow
	path         []graphs.NodeID
	active, open bool
}

func (t *reader) line(line []byte) error {
	word, rest := cut(line)
	switch string(word) {
	case "FID":
		t.end()
		var n [4]graphs.NodeID
		for i := range n {
			var err error
			if n[i], rest, err = t.next(rest); err != nil {
				return err
			}
		}
		src, after := cut(line[len("FID"):])
		dst, _ := cut(after)
		t.active = len(src) < 5 || len(dst) < 5
		t.flow = Flow{Src: n[0], Dst: n[1], First: n[2], Last: n[3]}
		t.path, t.open = t.path[:0], true
	case "FPT":
		if !t.open {
			return errors.New("FPT without a flow (FID) before it")
		}
		t.path = t.path[:0]
		for rest = bytes.TrimLeft(rest, " \t"); len(rest) > 0; rest = bytes.TrimLeft(rest, " \t") {
			n, more, err := t.next(rest)
			if err != nil {
				return err
			}
			t.path, rest = append(t.path, n), more
		}
	case "SS":
		if !t.open {
			return errors.New("SS without a flow (FID) before it")
		}
		_, rest = cut(rest) // the time
		sent, rest := cut(rest)
		lost, _ := cut(rest)
		n, ok := number(sent)
		k, also := number(lost)
		if !ok || !also || k > n {
			return errors.New("expected SS with time, packets sent, and as many or fewer lost")
		}
		t.flow.Sent, t.flow.Lost = n, k
	case "", "FP", "FPRT", "Failing_link":
	default:
		return fmt.Errorf("%q begins no line of a trace, expected FID, FPT, SS, FP or Failing_link", graphs.Clean(string(word)))
	}
	return nil
}

// end hands over the flow that was read, if it may be looked at.
func (t *reader) end() {
	if !t.open {
		return
	}
	t.open = false
	t.flow.Path = t.path
	hide := false
	switch t.seen {
	case A1:
		if !t.active {
			return
		}
	case A2:
		if t.flow.Lost == 0 {
			return
		}
	case A1P:
		hide = !t.active
	case A1A2P:
		hide = !t.active && t.flow.Lost == 0
	case P:
		if t.active {
			return
		}
		hide = true
	}
	if hide {
		t.flow.Path = nil
	}
	if t.flow.Sent > 0 {
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

func number(word []byte) (int, bool) {
	if len(word) == 0 || len(word) > 9 {
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

func eachLine(r io.Reader, file string, use func([]byte) error) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 256<<10), maxLine)
	n := 0
	for lines.Scan() {
		n++
		if err := use(lines.Bytes()); err != nil {
			return fmt.Errorf("%s:%d: %w", graphs.Clean(file), n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("%s:%d: %w", graphs.Clean(file), n+1, err)
	}
	return nil
}
