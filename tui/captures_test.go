package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"whichlink/graphs"
	"whichlink/internal/diagnose"
	"whichlink/internal/evidence"
)

// captured is the sick drill with what captures found of it: between hosts of the fabric, and of others.
func captured(tb testing.TB) *Snapshot {
	s := *sick(tb)
	finding := func(ago, long time.Duration, severity, name, subject, text, filter string, n int) *evidence.Record {
		return &evidence.Record{Time: noon.Add(-ago), WindowMS: int(long / time.Millisecond), Source: evidence.SourcePcap, By: "h1-1.pcap", Kind: evidence.KindFinding,
			Severity: severity, Finding: name, Subject: subject, Text: text, Filter: filter, Count: evidence.Int(n), Rule: "a segment was skipped and came late"}
	}
	s.Findings = NewFindings([]*evidence.Record{
		finding(30*time.Second, 0, "info", "capture-cut", "h1-1.pcap", "the capture dropped 12 packets itself", "", 12),
		finding(9*time.Second, 21*time.Second, "critical", "tcp-loss-after", "tcp 10.32.0.1:40001>10.32.2.1:5001", "41 segments lost behind the point of capture, of 8,002",
			"ip.src == 10.32.0.1 && ip.dst == 10.32.2.1 && tcp.srcport == 40001 && tcp.dstport == 5001", 41),
		finding(20*time.Second, 12*time.Second, "critical", "tcp-loss-after", "tcp 10.32.0.1:40002>10.32.3.1:5001", "7 segments lost behind the point of capture, of 7,400",
			"ip.src == 10.32.0.1 && ip.dst == 10.32.3.1 && tcp.srcport == 40002 && tcp.dstport == 5001", 7),
		finding(2*time.Second, 500*time.Millisecond, "warning", "microburst", "10.9.9.9>10.9.9.8", "98 % of the port's speed for 2.1 ms", "ip.src == 10.9.9.9", 3),
	})
	return &s
}

// A shelf hands out packets without a capture, and notes what it was asked for.
type shelf struct {
	asked []string
	ran   int
	err   error
}

func (b *shelf) Packets(_ context.Context, r *evidence.Record) (*Packets, error) {
	b.asked = append(b.asked, r.Subject)
	p := &Packets{Total: 5000}
	for i := range 400 {
		p.Lines = append(p.Lines, Packet{Number: int64(20_411 + 3*i), File: "h1-1.pcap", Time: r.Start().Add(time.Duration(i*i) * 100 * time.Microsecond),
			Src: "10.32.0.1", Dst: "10.32.2.1", Proto: "TCP", Len: 66 + 1448*(i%2), Info: fmt.Sprintf("40001 > 5001 [ACK] seq %d ack 1 win 501 len %d", 1448*i, 1448*(i%2))})
	}
	return p, b.err
}

func (b *shelf) Viewer(r *evidence.Record) (*Viewer, error) {
	return &Viewer{Words: []string{"tshark", "-n", "-r", "/data/" + r.By, "-Y", r.Filter}, Show: b}, b.err
}

func (b *shelf) Run() error          { b.ran++; return nil }
func (b *shelf) SetStdin(io.Reader)  {}
func (b *shelf) SetStdout(io.Writer) {}
func (b *shelf) SetStderr(io.Writer) {}

func withShelf(s *stage) *shelf {
	b := &shelf{}
	s.reader, s.tabs[5].(*capturesScreen).reader = b, b
	return b
}

func TestCaptures(t *testing.T) {
	s := newStage(t, captured(t), 120, 40)
	b := withShelf(s)
	s.press("6")
	s.sees(t, "> critical tcp-loss-after")
	s.sees(t, "for certain h1-1:eth1>leaf1:swp5 and leaf3:swp5>h3-1:eth1")
	s.press("y")
	s.sees(t, "copied: tshark -r h1-1.pcap -Y 'ip.src == 10.32.0.1 && ip.dst")
	// Packets are read when they are asked for, and once.
	s.press("enter")
	if len(b.asked) != 0 {
		t.Errorf("read without being asked: %v", b.asked)
	}
	s.sees(t, "p reads them from h1-1.pcap")
	cmd := s.press("p")
	s.sees(t, "reading h1-1.pcap")
	s.Update(cmd())
	if s.press("p") != nil {
		t.Error("packets are read twice")
	}
	s.sees(t, "the first 400 of 5,000")
	s.sees(t, ">   20,411 14:31:37.000000Z 10.32.0.1")
	s.press("/")
	s.word("len>1000 no<20430")
	s.press("enter")
	s.sees(t, `filter "len>1000 no<20430": 3 of 400`)
	// A program runs only after somebody said yes.
	s.press("w")
	s.sees(t, "tshark -n -r /data/h1-1.pcap -Y")
	s.press("esc")
	if s.dialog != nil || b.ran != 0 {
		t.Error("a program ran without consent")
	}
	s.press("w")
	if _, e := s.dialog.handle(keyOf("enter")); e == nil || e.show.Run() != nil || b.ran != 1 {
		t.Error("yes does not run it")
	}
	b.err = errors.New("tshark is not installed")
	s.dialog = nil
	s.press("w")
	s.sees(t, "! tshark is not installed")
}

// A link shows the findings of flows that may cross it, and the links screen counts those that must.
func TestFindingsOnLinks(t *testing.T) {
	s := newStage(t, captured(t), 200, 60)
	withShelf(s)
	s.press("enter")
	s.sees(t, "capture  critical tcp-loss-after, tcp 10.32.0.1:40001>10.32.2.1:5001: 25.0 %")
	s.press("p")
	s.sees(t, "captures over "+sickLink)
	if c := s.top().(*capturesScreen); len(c.list) != 2 {
		t.Errorf("%d findings over %s, want 2", len(c.list), sickLink)
	}
	for name, want := range map[string]int{"h1-1:eth1": 2, "leaf3:swp5": 1, "leaf1:swp3": 0} {
		p, ok := s.shown.Fabric.PortByName(name)
		if !ok {
			t.Fatal(name)
		}
		if got := s.shown.Findings.surely(s.shown.Picture, s.shown.Fabric.ArcFrom(p).Link()); got != want {
			t.Errorf("%d findings cross the link of %s for certain, want %d", got, name, want)
		}
	}
	s.press("3", "/")
	s.word("found>1")
	s.press("enter")
	if l := s.tabs[2].(*linksScreen); len(l.order) != 1 || s.shown.Fabric.LinkName(l.order[0]) != "h1-1:eth1--leaf1:swp5" {
		t.Errorf("found>1 shows %v", l.order)
	}
}

func TestEndsOfSubjects(t *testing.T) {
	for subject, want := range map[string]string{
		"tcp 10.0.0.1:1000>10.0.0.2:2000": "10.0.0.1 10.0.0.2", "10.0.0.1>10.0.0.2": "10.0.0.1 10.0.0.2", "roce 10.0.0.1>10.0.0.2 qp 0x1": "10.0.0.1 10.0.0.2",
		"udp [fd00::1]:7>[fd00::2]:8": "fd00::1 fd00::2", "00:11:22:33:44:55": "", "a.pcap": "", "tcp leaf1>spine1": "", ">": "", "": "", "x 1.2.3.4>": "",
	} {
		a, b, ok := endsOf(subject)
		got := ""
		if ok {
			got = a.String() + " " + b.String()
		}
		if got != want {
			t.Errorf("%q has the ends %q, want %q", subject, got, want)
		}
	}
}

// What is copied is typed into a shell by whoever pastes it: every word stays one word, and nothing in it is obeyed.
func TestCopiedCommandsAreSafe(t *testing.T) {
	for text, want := range map[string]string{
		"a.pcap": "a.pcap", "my file": "'my file'", "$(reboot)": "'$(reboot)'", "a'b;c": `'a'\''b;c'`, "": "''", "tcp && udp": "'tcp && udp'",
	} {
		if got := quoted(text); got != want {
			t.Errorf("%q is quoted as %s, want %s", text, got, want)
		}
	}
	for _, n := range append(hostile(), "a\nreboot\n") {
		if got := quoted(n); strings.ContainsAny(got, "\n\r\x1b\t") {
			t.Errorf("%q is quoted as %q", n, got)
		}
	}
}

// Whose ends the fabric does not know stands on no link; a fabric without a model has no ways.
func TestFindingsWithoutFabric(t *testing.T) {
	s := *captured(t)
	s.Fabric, s.Picture, s.History = nil, nil, nil
	st := newStage(t, &s, 100, 30)
	if st.top() != st.tabs[5] {
		t.Error("captures alone do not open on their screen")
	}
	st.sees(t, "no fabric is known")
	if n := s.Findings.surely(nil, graphs.LinkID(0)); n != 0 {
		t.Errorf("%d findings on a link of no fabric", n)
	}
}

// Captures in which nothing is wrong were read all the same; and where no fabric is known no screen takes that for health.
func TestCapturesWithoutAFabric(t *testing.T) {
	x := &Snapshot{Diagnosis: &diagnose.Diagnosis{Verdict: diagnose.Inconclusive, Summary: "too little evidence"}, Now: noon, Captures: 2}
	s := newStage(t, x, 100, 30)
	if s.top() != s.tabs[5] {
		t.Error("it does not begin with the captures")
	}
	s.sees(t, "none: nothing is wrong in the 2 captures that were read, as far as they show it")
	for key, want := range map[string]string{
		"1": "? no fabric is known: --fabric FILE", "2": "no fabric is known: --fabric FILE", "3": "no fabric is known", "4": "no fabric is known",
	} {
		s.press(key)
		s.sees(t, want)
		s.hides(t, "every arc was crossed")
	}
	s = newStage(t, x, 80, 24)
	s.press("1")
	s.sees(t, "? no fabric is known: --fabric FILE")
	s.hides(t, "0 of 0")
}
