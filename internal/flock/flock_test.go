package flock

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/gzip"

	"whichlink/graphs"
	"whichlink/pathfind"
	"whichlink/pathfind/rhythm"
)

const square = "0 1\n1 2\n2 3\n3 0\n10000->0\n10001->2\n"

func squareFabric(t testing.TB) *graphs.Fabric {
	t.Helper()
	f, err := ReadTopology(strings.NewReader(square), "square")
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestEvidence: what each kind of evidence lets be seen of a probe, a flow that lost packets and one that lost none.
func TestEvidence(t *testing.T) {
	const trace = `Failing_link 1 2 0.01
FP 0 1 2
FID 10000 2 0 1 60000 0.000
FPT 0 1
SS 1.000 20 0 0
SS 2.000 40 1 0
FID 10000 10001  0 2  150000  0.0
FPT 0 1 2
SS 9.000 100 3 0
FID 10001 10000 2 0 15000 0.0
FPT 2 3 0
SS 9.000 10 0 0
`
	const probe, lossy, clean = "10000>0 0>1 1>2 40/1", "10000>0 0>1 1>2 2>10001 100/3", "10001>2 2>3 3>0 0>10000 10/0"
	const lossySet, cleanSet = "10000>0 2>10001 (0..2) 100/3", "10001>2 0>10000 (2..0) 10/0"
	f := squareFabric(t)
	for seen, want := range map[Evidence][]string{
		INT:   {probe, lossy, clean},
		A1:    {probe},
		A1P:   {probe, lossySet, cleanSet},
		A1A2P: {probe, lossy, cleanSet},
		A2:    {probe, lossy},
		P:     {lossySet, cleanSet},
	} {
		var got []string
		err := ReadTrace(strings.NewReader(trace), "trace", f, seen, func(x *Flow) { got = append(got, describe(f, x)) })
		if err != nil {
			t.Errorf("%s: %v", seen, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s:\n%s", seen, diff)
		}
	}
}

func describe(f *graphs.Fabric, x *Flow) string {
	var b strings.Builder
	for _, a := range x.Path {
		b.WriteString(f.NodeName(f.Tail(a)) + ">" + f.NodeName(f.Head(a)) + " ")
	}
	if x.First != x.Last {
		b.WriteString("(" + f.NodeName(x.First) + ".." + f.NodeName(x.Last) + ") ")
	}
	fmt.Fprintf(&b, "%d/%d", x.Sent, x.Lost)
	return b.String()
}

// TestErrors: errors name file and line.
func TestErrors(t *testing.T) {
	for in, want := range map[string]string{
		"0 1 2\n":        "f:1: expected two node numbers: u v, or u->v",
		"0 1\n\n0 x\n":   `f:3: "x" is no node number`,
		"0 99999999\n":   "f:1: node number 99999999 is greater than 16777216",
		"0 \x1b[31mx\n":  "f:1: \"\uFFFD[31mx\" is no node number",
		"10000->10000\n": "f:1: ",
	} {
		if _, err := ReadTopology(strings.NewReader(in), "f"); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: error %v, want %s", in, err, want)
		}
	}
	f := squareFabric(t)
	for in, want := range map[string]string{
		"what\n":                                         `f:1: "what" begins no line of a trace, expected FID, FPT, SS, FP or Failing_link`,
		"SS 1 2 3 0\n":                                   "f:1: SS without a flow (FID) before it",
		"FPT 0 1\n":                                      "f:1: FPT without a flow (FID) before it",
		"FID 10000 10001 0\n":                            "f:1: expected FID with source, destination, first and last switch",
		"FID 10000 10001 0 9 1 0\n":                      `f:1: "9" is no node of the topology`,
		"FID 10000 10001 1 2 1 0\n":                      "f:1: the topology has no link from 10000 to 1",
		"FID 10000 10001 0 2 1 0\nFPT 0 2\n":             "f:2: the topology has no link from 0 to 2",
		"FID 10000 10001 0 2 1 0\nFPT 0 1\n":             "f:2: the path ends at 1, not at the flow's last switch 2",
		"FID 10000 10001 0 2 1 0\nFPT 1 2\n":             "f:2: a path from switch 0 has to begin with it and cross no switch twice in a row",
		"FID 10000 10001 0 2 1 0\nFPT 0 1 2\nSS 1 2 3\n": "f:3: expected SS with time, packets sent, and as many or fewer lost",
		"FID 10000 10001 0 2 1 0\nSS 1 2000000000 3\n":   "f:2: more packets sent or lost than 9 digits hold",
		"\x1f\x8bFID 10000\n":                            "f: unpack with gzip: gzip: invalid header",
		"FID 10000 10001 0 2 1 Inf\n":                    `f:1: the time "Inf" is not a number of milliseconds`,
		"FID 10000 10001 0 2 1 0\nSS +Inf 2 1\n":         `f:2: the time "+Inf" is not a number of milliseconds`,
		"\n" + strings.Repeat("x", maxLine+1):            "f:2: line longer than 1048576 bytes",
		"FID 10000 10001 0 2 1 x\n":                      `f:1: the time "x" is not a number of milliseconds`,
		"FID 10000 10001 0 2 1 0\nSS -1 2 1\n":           `f:2: the time "-1" is not a number of milliseconds`,
	} {
		if err := ReadTrace(strings.NewReader(in), "f", f, INT, func(*Flow) {}); err == nil || err.Error() != want {
			t.Errorf("%q: error %v, want %s", in, err, want)
		}
	}
}

// TestTrace: the fault of a small trace is named whatever may be seen, and nothing else where flows without loss are among it.
func TestTrace(t *testing.T) {
	top, err := os.ReadFile("testdata/leafspine.edgelist")
	if err != nil {
		t.Fatal(err)
	}
	trace, err := os.ReadFile("testdata/leafspine.trace")
	if err != nil {
		t.Fatal(err)
	}
	f, err := ReadTopology(bytes.NewReader(top), "leafspine.edgelist")
	if err != nil {
		t.Fatal(err)
	}
	for _, seen := range Kinds {
		for _, spread := range []pathfind.Spread{pathfind.PerPath, pathfind.PerHop} {
			x, err := Observe(bytes.NewReader(trace), "leafspine.trace", f, seen)
			if err != nil {
				t.Fatal(err)
			}
			arcs, devices := named(f, x.Solve(f, spread))
			if len(arcs) == 0 || arcs[0] != "4>2" || seen != A2 && len(arcs)+len(devices) > 1 {
				t.Errorf("%s: arcs %v, devices %v are named", seen, arcs, devices)
			}
		}
	}
}

// TestOrder: what is told is the same to the last digit in whatever order the flows of a trace and the links of its topology come.
func TestOrder(t *testing.T) {
	for _, name := range []string{"leafspine.trace", "flapping.trace", "slow.trace"} {
		trace, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		top, err := os.ReadFile("testdata/" + map[bool]string{true: "slow.edgelist", false: "leafspine.edgelist"}[name == "slow.trace"])
		if err != nil {
			t.Fatal(err)
		}
		flows, links := strings.Split(string(trace), "FID ")[1:], strings.Split(strings.TrimSpace(string(top)), "\n")
		turned, rewired := slices.Clone(flows), slices.Clone(links)
		slices.Reverse(turned)
		slices.Reverse(rewired)
		for i, line := range rewired {
			if u, v, ok := strings.Cut(line, " "); ok && line[0] != '#' {
				rewired[i] = v + " " + u
			}
		}
		for _, seen := range Kinds {
			var said []string
			for _, order := range [][2][]string{{flows, links}, {turned, links}, {flows, rewired}} {
				f, err := ReadTopology(strings.NewReader(strings.Join(order[1], "\n")), name)
				if err != nil {
					t.Fatal(err)
				}
				x, err := Observe(strings.NewReader("FID "+strings.Join(order[0], "FID ")), name, f, seen)
				if err != nil {
					t.Fatal(err)
				}
				r := x.Solve(f, pathfind.PerPath)
				text := fmt.Sprintf("%+v", *r.Result)
				for i := range r.Suspects {
					s := &r.Suspects[i]
					text += fmt.Sprintln(s.Class, s.Probability, s.Low, s.Loss, s.High, s.Rhythm.Kind)
				}
				said = append(said, text)
			}
			for i, what := range []string{"flows", "links"} {
				if diff := cmp.Diff(said[0], said[i+1]); diff != "" {
					t.Errorf("%s, %s, %s turned: %s", name, seen, what, diff)
				}
			}
		}
	}
}

// TestSnapshots: of the counts of a flow those of the latest time are taken, in whatever order they come.
func TestSnapshots(t *testing.T) {
	f := squareFabric(t)
	lines := []string{"SS 2 200 9 0\n", "SS 1 100 4 0\n", "SS 2 190 2 0\n"}
	for range lines {
		lines = append(lines[1:], lines[0])
		var got []string
		trace := strings.NewReader("FID 10000 10001 0 2 1 0\nFPT 0 1 2\n" + strings.Join(lines, ""))
		if err := ReadTrace(trace, "f", f, INT, func(x *Flow) { got = append(got, describe(f, x)) }); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"10000>0 0>1 1>2 2>10001 200/9"}, got); diff != "" {
			t.Errorf("%q: %s", lines, diff)
		}
	}
}

// TestTopologyTwice: a link that is written twice, as for each direction, is one, and what a Windows editor leaves is passed over.
func TestTopologyTwice(t *testing.T) {
	f, err := ReadTopology(strings.NewReader("\ufeff0 1\r\n1 0\r\n0->1\r\n10000->0\r\n0 10000\r\n10001->1\r\n"), "f")
	if err != nil {
		t.Fatal(err)
	}
	if f.NumLinks() != 3 {
		t.Errorf("%d links, want 3", f.NumLinks())
	}
	var got []string
	trace := strings.NewReader("\ufeffFID 10000 10001 0 1 1 0\r\nFPT 0 1\r\nSS 1 20 3 0\r\n")
	if err := ReadTrace(trace, "f", f, INT, func(x *Flow) { got = append(got, describe(f, x)) }); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"10000>0 0>1 1>10001 20/3"}, got); diff != "" {
		t.Error(diff)
	}
}

// TestDelaysLate: a trace whose first flows met no queue tells the same as one whose last ones did not.
func TestDelaysLate(t *testing.T) {
	f := squareFabric(t)
	var slow, quick strings.Builder
	for range 300 {
		slow.WriteString("FID 10000 10001 0 2 1 0\nFPT 0 1 2\nSS 1 20 0 900\n")
	}
	for range 1500 {
		quick.WriteString("FID 10001 10000 2 0 1 0\nFPT 2 3 0\nSS 1 20 0 0\n")
	}
	for _, seen := range []Evidence{INT, P} {
		var told []string
		for _, trace := range []string{slow.String() + quick.String(), quick.String() + slow.String()} {
			var delays Delays
			x, err := Observe(strings.NewReader(trace), "f", f, seen, delays.Add)
			if err != nil {
				t.Fatal(err)
			}
			r := delays.Solve(f, x, pathfind.PerPath)
			if r == nil {
				t.Fatalf("%s: no delay is told", seen)
			}
			told = append(told, fmt.Sprintf("%+v %v", r.Baselines, r.Suspects))
		}
		if diff := cmp.Diff(told[0], told[1]); diff != "" {
			t.Errorf("%s: %s", seen, diff)
		}
	}
}

// TestFlapLoss: what an arc loses that is down for 60 of each 300 ms is a fifth of its packets, also where only flows that lost packets are known to
// cross it, or none.
func TestFlapLoss(t *testing.T) {
	trace, err := os.ReadFile("testdata/flapping.trace")
	if err != nil {
		t.Fatal(err)
	}
	top, err := os.ReadFile("testdata/leafspine.edgelist")
	if err != nil {
		t.Fatal(err)
	}
	f, err := ReadTopology(bytes.NewReader(top), "leafspine.edgelist")
	if err != nil {
		t.Fatal(err)
	}
	for _, seen := range []Evidence{INT, A1P, A1A2P, P} {
		x, err := Observe(bytes.NewReader(trace), "flapping.trace", f, seen)
		if err != nil {
			t.Fatal(err)
		}
		s := x.Solve(f, pathfind.PerPath).Suspects[0]
		if s.Rhythm.Kind != rhythm.Flapping || s.Low > 0.2 || s.High < 0.2 || s.Loss < s.Low || s.Loss > s.High {
			t.Errorf("%s: %v loses %g (%g to %g)", seen, s.Rhythm.Kind, s.Loss, s.Low, s.High)
		}
	}
}

// TestPacked: what is packed by gzip is read as it was, and where it breaks off the line is told.
func TestPacked(t *testing.T) {
	const trace = "FID 10000 10001 0 2 1 0\nFPT 0 1 2\nSS 1 20 3\n"
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write([]byte(trace)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	f := squareFabric(t)
	var got []string
	read := func(from []byte) error {
		return ReadTrace(bytes.NewReader(from), "f", f, INT, func(x *Flow) { got = append(got, describe(f, x)) })
	}
	if err := read(packed.Bytes()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"10000>0 0>1 1>2 2>10001 20/3"}, got); diff != "" {
		t.Error(diff)
	}
	if err := read(packed.Bytes()[:packed.Len()-9]); err == nil || err.Error() != "f:4: the file is cut short" {
		t.Errorf("cut short: %v", err)
	}
}

func FuzzReadTopology(f *testing.F) {
	f.Add([]byte(square))
	f.Add([]byte("0 1\n#x\n 10000 -> 1\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		fabric, err := ReadTopology(bytes.NewReader(data), "f")
		if (fabric == nil) == (err == nil) {
			t.Errorf("fabric %v, error %v", fabric, err)
		}
	})
}

func FuzzReadTrace(f *testing.F) {
	f.Add([]byte("FID 10000 10001 0 2 150 0\nFPT 0 1 2\nSS 1 100 3 0\n"), uint8(2))
	f.Add([]byte("FID 10000 2 0 1 1 0\r\nFPT 0 1 \r\nSS 1 9 9\n"), uint8(1))
	fabric := squareFabric(f)
	f.Fuzz(func(t *testing.T, data []byte, kind uint8) {
		seen := Kinds[int(kind)%len(Kinds)]
		x, err := Observe(bytes.NewReader(data), "f", fabric, seen)
		if err != nil {
			return
		}
		for _, o := range x.Observations {
			if o.Sent <= 0 || o.Lost < 0 || o.Lost > o.Sent || len(o.Path) == 0 && o.From == o.To {
				t.Errorf("observation %+v", o)
			}
		}
		for _, s := range x.Solve(fabric, pathfind.PerHop).Suspects {
			if r := &s.Rhythm; !(s.Probability >= 0 && s.Probability <= 1 && r.Duty >= 0 && r.Duty <= 1 && r.Loss >= 0 && r.Loss <= 1) {
				t.Errorf("suspect %+v", s)
			}
		}
	})
}
