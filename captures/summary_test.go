package captures

import (
	"strings"
	"testing"
	"time"
)

// TestShort holds that the table of kinds at the head of a report adds up what stands below it, also what is not told singly there.
func TestShort(t *testing.T) {
	for _, most := range []int{1, 3, 100} {
		_, r := analyse(t, Config{MaxFindings: most}, permitted+"/generated.pcap.gz")
		of := map[string]kindSum{}
		for _, k := range r.kinds() {
			of[k.finding] = k
			if f := r.Findings[k.worst-1]; f.Finding != k.finding || f.least > 0 {
				t.Errorf("the worst %s is %+v", k.finding, f)
			}
		}
		tcp, q := &r.TCP, &r.RoCE
		for finding, want := range map[string]uint32{
			"tcp-loss-before": tcp.LostBefore, "tcp-loss-after": tcp.LostAfter, "roce-loss-before": q.GapPackets, "roce-loss-after": q.LostAfter,
			"roce-nak": q.NAKSequence,
		} {
			if k := of[finding]; k.count != int64(want) || k.about < 8 || k.about > int(want) {
				t.Errorf("at most %d told: %s %+v, want %d", most, finding, k, want)
			}
		}
		if text := r.Text(); strings.Count(text, "\nin short") != 1 || strings.Count(text, "\nnext\n") != 1 {
			t.Error(text)
		}
	}
}

// TestNext holds that the next steps follow from what was found, and name no file that a shell would take otherwise.
func TestNext(t *testing.T) {
	at := instant(0)
	report := func(name string, findings ...Finding) *Report {
		return &Report{Files: []FileReport{{File: name, From: at, To: at}}, Findings: findings}
	}
	lost := Finding{Finding: "tcp-loss-before", Severity: Critical}
	for _, c := range []struct {
		r    *Report
		want string // in the steps; "" for none
		not  string
	}{
		{report("a.pcap"), "", ""},
		{report("a.pcap", Finding{Finding: "elephant", Severity: Info}), "", ""},
		{report("a.pcap", lost), "--taps NEARER a.pcap", "--taps a.pcap"},
		{report("a.pcap", Finding{Finding: "roce-loss-after", Severity: Critical}), "--taps a.pcap NEARER", "snmp"},
		{report("a.pcap", Finding{Finding: "pfc-storm", Severity: Critical}), "snmp watch", "--taps"},
		{report("a.pcap; rm -r x", lost), "--taps NEARER FILE", "rm"},
		{report("standard input", lost), "--fabric FILE", "--write"},
	} {
		steps := strings.Join(c.r.Next(), "\n")
		if c.want == "" && steps != "" || !strings.Contains(steps, c.want) || c.not != "" && strings.Contains(steps, c.not) {
			t.Errorf("%+v: %s", c.r.Findings, steps)
		}
	}
	placed := report("a.pcap", lost)
	if placed.Placed = true; strings.Contains(strings.Join(placed.Next(), "\n"), "--fabric") {
		t.Error("a fabric that was given is asked for")
	}
}

// TestWhen holds that times of findings have their day where captures span several.
func TestWhen(t *testing.T) {
	from := time.Date(2026, 1, 2, 23, 59, 59, 0, time.UTC)
	to := from.Add(2 * time.Second)
	for _, c := range []struct {
		end, last time.Time
		want      string
	}{
		{from, from, "at 23:59:59.000000"},
		{to, from, "at 2026-01-02 23:59:59.000000"},
		{to, to, "2026-01-02 23:59:59.000000 to 2026-01-03 00:00:01.000000"},
	} {
		r := &Report{Files: []FileReport{{File: "empty"}, {File: "a", From: &from, To: &c.end}}, Findings: []Finding{{From: &from, To: &c.last}}}
		r.sort()
		if got := r.Findings[0].When(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
