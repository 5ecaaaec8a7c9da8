package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"

	"whichlink/graphs"
	"whichlink/internal/diagnose"
	"whichlink/internal/flock"
	"whichlink/pathfind/flaps"
	"whichlink/pathfind/localize"
)

// TestFlockDelayVerdict: a trace in which an arc is surely slow, and some losses may be chance, has one verdict, by what is first.
func TestFlockDelayVerdict(t *testing.T) {
	const dir = "../flock/testdata/"
	text, err := os.ReadFile(dir + "slow.trace")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 4 {
		text = fmt.Appendf(text, "FID 10003 10011 1 5 120000 %d\nFPT 1 9 19 13 5\nSS %d 80 1 85\n", 100*i+20, 100*i+60)
	}
	trace := filepath.Join(t.TempDir(), "slow.trace")
	if err := os.WriteFile(trace, text, 0o644); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	flags := &flockFlags{topology: dir + "slow.edgelist", evidence: string(flock.INT), ecmp: "path"}
	if err := (&env{stdout: &out}).localizeFlock(flags, []string{trace}, "text"); err != nil {
		t.Fatal(err)
	}
	said := out.String()
	if !strings.HasPrefix(said, "10>2 adds ") || !strings.Contains(said, "p 0.46  loss       arc 10003>1") {
		t.Errorf("expected a slow arc, then a loss that may be chance:\n%s", said)
	}
	if strings.Contains(said, "not yet told apart from chance") {
		t.Errorf("the first suspect is sure:\n%s", said)
	}
}

// TestFlockVerdict: what may add delay is doubted as what may lose packets is.
func TestFlockVerdict(t *testing.T) {
	us, loss := 120.0, 0.01
	for _, c := range []struct {
		first   diagnose.Suspect
		verdict diagnose.Verdict
		summary string
	}{
		{diagnose.Suspect{ID: "1>2", Symptom: diagnose.Slow, Probability: 0.9, Delay: &us}, diagnose.Suspects, "1>2 adds 120 us of delay (p 0.90)"},
		{diagnose.Suspect{ID: "1>2", Symptom: diagnose.Slow, Probability: 0.4, Delay: &us}, diagnose.Inconclusive, "perhaps 1>2 adds 120 us of delay (p 0.40)"},
		{diagnose.Suspect{ID: "1>2", Symptom: diagnose.Loss, Probability: 0.4, Loss: &loss}, diagnose.Inconclusive, "perhaps 1>2 drops 1.0 % of packets (p 0.40)"},
		{diagnose.Suspect{ID: "1>2", Symptom: diagnose.Slow, Probability: 0.2, Delay: &us}, diagnose.Healthy, "nothing found: 0 of 10000 packets lost, a background of 0 % per link"},
	} {
		d := &diagnose.Diagnosis{Suspects: []diagnose.Suspect{c.first}}
		seen := &flock.Observed{Observations: make([]localize.Observation, 1), Sent: 10000}
		concludeFlock(d, seen, &flaps.Result{Result: &localize.Result{}})
		if d.Verdict != c.verdict || d.Summary != c.summary || (len(d.Notes) > 0) != (d.Verdict == diagnose.Inconclusive) {
			t.Errorf("%s of %.1f: %s, %q, notes %q; expected %s, %q", c.first.Symptom, c.first.Probability, d.Verdict, d.Summary, d.Notes, c.verdict, c.summary)
		}
	}
}

// TestFlockWords: one flow is told as one.
func TestFlockWords(t *testing.T) {
	f, err := flock.ReadTopology(strings.NewReader("0 1\n10000->0\n"), "f")
	if err != nil {
		t.Fatal(err)
	}
	s := &localize.Suspect{Cause: localize.Cause{Kind: localize.Arc}, CleanFlows: 1, Against: localize.Against{CleanSent: 40, Expected: 2}}
	if x := newFlockNames(f).suspect(s, false); x.Against != "1 flow crosses it clean (2.0 losses were to be expected of its 40 packets)" {
		t.Errorf("against: %s", x.Against)
	} else if x.For != "flows that may cross it lose packets; none that is known to does" {
		t.Errorf("for: %s", x.For)
	}
}

// TestFlockNext: of a suspect that is one of several it is told which flows would tell these apart, or that none does.
func TestFlockNext(t *testing.T) {
	const hosts = "10000->0\n10001->0\n10002->1\n10003->1\n"
	for _, c := range []struct{ topology, one, other, want string }{
		{"0 2\n0 3\n1 2\n1 3\n", "0>2", "0>3", "flows whose way is known do: trace 4 new flows from 10001 to 10002, then send 100 packets along each"},
		{"0 2\n0 3\n1 2\n1 3\n", "1>10003", "10003>1", "flows whose way is known do: trace 1 new flow from 10003 to 10002, then send 100 packets along each"},
		{"0 2\n2 1\n", "0>2", "2>1", "no flow between hosts does: compare the counters of their ports"},
	} {
		f, err := flock.ReadTopology(strings.NewReader(c.topology+hosts), "f")
		if err != nil {
			t.Fatal(err)
		}
		n := newFlockNames(f)
		s := &localize.Suspect{Probability: 0.9, Loss: 0.02, Low: 0.01, High: 0.03}
		for a := range f.NumArcs() {
			if name := n.arc(graphs.ArcID(a)); name == c.one || name == c.other {
				s.Class = append(s.Class, localize.Cause{Kind: localize.Arc, ID: int32(a)})
			}
		}
		s.Cause = s.Class[0]
		if next := n.suspect(s, false).Next; len(next) != 1 || next[0].Why+": "+next[0].Do != "tell the 2 apart: "+c.want {
			t.Errorf("%s and %s: %q, expected %q", c.one, c.other, next, c.want)
		}
	}
}

// TestFlockCutShort: a trace that breaks off, packed or not, is used as far as it goes, and that is noted. A topology is not.
func TestFlockCutShort(t *testing.T) {
	const dir = "../flock/testdata/leafspine."
	text, err := os.ReadFile(dir + "trace")
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	trace := filepath.Join(t.TempDir(), "cut.trace")
	run := func(topology, trace string) (string, error) {
		var out bytes.Buffer
		err := (&env{stdout: &out}).localizeFlock(&flockFlags{topology: topology, evidence: string(flock.INT), ecmp: "path"}, []string{trace}, "text")
		return out.String(), err
	}
	for name, whole := range map[string][]byte{"plain": text[:bytes.LastIndex(text, []byte("\nSS"))+9], "packed": packed.Bytes()[:packed.Len()*9/10]} {
		if err := os.WriteFile(trace, whole, 0o644); err != nil {
			t.Fatal(err)
		}
		said, err := run(dir+"edgelist", trace)
		if err != nil || !strings.HasPrefix(said, "4>2 drops ") || !strings.Contains(said, ": the file is cut short: ") {
			t.Errorf("%s: %v\n%s", name, err, said)
		}
		if said, err := run(trace, dir+"trace"); err == nil || said != "" {
			t.Errorf("%s topology: %v\n%s", name, err, said)
		}
	}
	for _, n := range []int{2, 30} { // of which nothing can be read
		if err := os.WriteFile(trace, packed.Bytes()[:n], 0o644); err != nil {
			t.Fatal(err)
		}
		if said, err := run(dir+"edgelist", trace); err == nil || said != "" {
			t.Errorf("%d bytes: %v\n%s", n, err, said)
		}
	}
}
