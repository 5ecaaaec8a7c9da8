package evidence

import (
	"bytes"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func read(t *testing.T, text string) ([]*Record, Skipped, error) {
	t.Helper()
	var got []*Record
	skipped, err := Read(strings.NewReader(text), "e.jsonl", func(r *Record) bool {
		got = append(got, r)
		return true
	})
	return got, skipped, err
}

func TestRoundTrip(t *testing.T) {
	want := &Record{
		V: 1, Time: time.Date(2026, 11, 20, 3, 0, 0, 5, time.UTC), Source: SourceProbe, By: "h01-1", Epoch: "2", Kind: KindEcho,
		Flow: &Flow{Src: netip.MustParseAddr("10.32.0.1"), Dst: netip.MustParseAddr("10.32.9.1"), Proto: "udp", SrcPort: 61017, DstPort: 862},
		Path: []string{"h01-1:eth1>sw01:swp5"}, CandidatesBack: [][]string{{"a:1>b:2"}, {"c:1>b:3"}},
		Sent: Int(200), Lost: Int(9), LostForward: Int(9), LostBack: Int(0), LostAtMS: []int{3, 700},
		RTT: &Delay{61, 75, 101, 140, 312}, WindowMS: 5000, AheadMS: Int(-1400),
	}
	var text bytes.Buffer
	if err := Write(&text, want); err != nil {
		t.Fatal(err)
	}
	got, _, err := read(t, text.String())
	if err != nil || len(got) != 1 {
		t.Fatalf("read %d records, %v", len(got), err)
	}
	if d := cmp.Diff(want, got[0], cmpopts.EquateComparable(netip.Addr{})); d != "" {
		t.Error(d)
	}
	if s := text.String(); !strings.Contains(s, `"lost_back":0`) || strings.Contains(s, "answered") {
		t.Errorf("what was measured as zero must stand, what was not measured must not: %s", s)
	}
}

// What a device does not count is absent, and what it counted as none is a zero.
func TestPortRoundTrip(t *testing.T) {
	ago, dark, bright := int64(4000), -31.55, 0.0
	want := &Record{V: 1, Time: time.Date(2026, 11, 20, 3, 0, 0, 0, time.UTC), Source: SourceSNMP, By: "sw01", Kind: KindCounters,
		PortState: PortState{Port: "sw01:swp1", IntervalMS: 10000, Oper: Up, Admin: Up, Speed: 100e9, LastChangeAgoMS: &ago,
			Optics: []Lane{{Lane: 1, Rx: &dark, Tx: &bright}, {Lane: 2, Tx: &bright}},
			In:     &Counters{Unicast: Count(1e6), Errors: Count(0), FCS: Count(1200)}}}
	var text bytes.Buffer
	if err := Write(&text, want); err != nil {
		t.Fatal(err)
	}
	got, _, err := read(t, text.String())
	if err != nil || len(got) != 1 {
		t.Fatalf("read %d records, %v", len(got), err)
	}
	if d := cmp.Diff(want, got[0], cmpopts.EquateComparable(netip.Addr{})); d != "" {
		t.Error(d)
	}
	if s := text.String(); !strings.Contains(s, `"in":{"unicast":1000000,"errors":0,"fcs":1200}`) || strings.Contains(s, "PortState") ||
		!strings.Contains(s, `"optics":[{"lane":1,"rx_dbm":-31.55,"tx_dbm":0},{"lane":2,"tx_dbm":0}]`) {
		t.Error(s)
	}
	if d := got[0].Time.Sub(got[0].Start()); d != 10*time.Second {
		t.Errorf("the interval is %s", d)
	}
}

// TestReadWholeNumbers: how a number is written is up to who wrote it, and what stands in quotes is no number.
func TestReadWholeNumbers(t *testing.T) {
	got, _, err := read(t, `{"v":1.0,"time":"2026-11-20T03:00:00Z","source":"snmp","by":"7.0\"1.0","kind":"counters","port":"a:1","speed":1e11,"in":{"errors":3.0,"octets":12345678901234567},"optics":[{"rx_dbm":-2.5}]}`+"\n")
	if err != nil || len(got) != 1 {
		t.Fatalf("%d records, %v", len(got), err)
	}
	r := got[0]
	if r.By != `7.0"1.0` || r.Speed != 1e11 || *r.In.Errors != 3 || *r.In.Octets != 12345678901234567 || *r.Optics[0].Rx != -2.5 {
		t.Errorf("%+v", r)
	}
}

func TestReadRefuses(t *testing.T) {
	const good = `{"v":1,"time":"2026-11-20T03:00:00Z","source":"note","by":"x","kind":"note","text":"hello"}` + "\n"
	flow := `"flow":{"src":"10.0.0.1","dst":"10.0.0.2","proto":"udp","sport":1,"dport":2,"dscp":0}`
	for _, c := range []struct {
		name, text, err string
		records         int
		skipped         Skipped
	}{
		{"unknown kind", good + `{"v":1,"source":"snmp","kind":"optics","port":"a:1"}` + "\n" + good, "", 2, Skipped{"kind optics": 1}},
		{"counters without port", `{"v":1,"source":"snmp","kind":"counters"}` + "\n", "e.jsonl:1: a record of kind counters needs a port", 0, Skipped{Broken: 1}},
		{"negative counter", `{"v":1,"source":"snmp","kind":"counters","port":"a:1","in":{"errors":-4}}` + "\n", "e.jsonl:1: not an evidence record: the value of in.errors", 0, Skipped{Broken: 1}},
		{"negative time", `{"v":1,"source":"snmp","kind":"counters","port":"a:1","last_change_ago_ms":-4}` + "\n", "last_change_ago_ms is -4", 0, Skipped{Broken: 1}},
		{"light of a star", `{"v":1,"source":"snmp","kind":"counters","port":"a:1","optics":[{"rx_dbm":-2.1},{"lane":1,"tx_dbm":31}]}` + "\n", "e.jsonl:1: tx_dbm is 31: light is between -60 and 30 dBm", 0, Skipped{Broken: 1}},
		{"a limit beyond light", `{"v":1,"source":"snmp","kind":"counters","port":"a:1","optics":[{"rx_dbm":-2.1,"rx_limits":{"low_alarm_dbm":-99}}]}` + "\n", "e.jsonl:1: rx_limits has -99: light is between -60 and 30 dBm", 0, Skipped{Broken: 1}},
		{"a lane below none", `{"v":1,"source":"snmp","kind":"counters","port":"a:1","optics":[{"lane":-1}]}` + "\n", "e.jsonl:1: lane is -1", 0, Skipped{Broken: 1}},
		{"light in words", `{"v":1,"source":"snmp","kind":"counters","port":"a:1","optics":[{"rx_dbm":"NaN"}]}` + "\n", "the value of optics.rx_dbm is of type string, expected number", 0, Skipped{Broken: 1}},
		{"event of nothing", `{"v":1,"source":"snmp","kind":"event","port":"a:1"}` + "\n", "needs an event", 0, Skipped{Broken: 1}},
		{"newer version", good + `{"v":9,"source":"probe","kind":"echo"}` + "\n", "", 1, Skipped{"version 9": 1}},
		{"cut short", good + good[:40], "", 1, Skipped{"last line cut short": 1}},
		{"no JSON in the middle", good + "nonsense\n" + good, "e.jsonl:2: not an evidence record", 2, Skipped{Broken: 1}},
		{"negative count", good + `{"v":1,"source":"probe","kind":"echo","sent":5,"lost":-1,` + flow + "}\n", "e.jsonl:2: lost is -1", 1, Skipped{Broken: 1}},
		{"more lost than sent", `{"v":1,"source":"probe","kind":"echo","sent":5,"lost":6,` + flow + "}\n", "e.jsonl:1: lost is 6, more than the 5 sent", 0, Skipped{Broken: 1}},
		{"echo without flow", `{"v":1,"source":"probe","kind":"echo","sent":5,"lost":0}` + "\n", "needs a flow", 0, Skipped{Broken: 1}},
		{"hop without counts", `{"v":1,"source":"probe","kind":"hop",` + flow + "}\n", "needs sent and answered", 0, Skipped{Broken: 1}},
		{"strain of nobody", `{"v":1,"source":"probe","kind":"strain","strain":"overflow","count":3}` + "\n", "needs a node and a strain", 0, Skipped{Broken: 1}},
		{"negative strain", `{"v":1,"source":"probe","kind":"strain","node":"h1","strain":"overflow","count":-3}` + "\n", "count is -3", 0, Skipped{Broken: 1}},
		{"endless time", `{"v":1,"time":"2026-11-20T03:00:00Z","source":"probe","kind":"strain","node":"h1","strain":"pause","window_ms":-1}` + "\n", "window_ms is -1", 0, Skipped{Broken: 1}},
		{"strain", `{"v":1,"time":"2026-11-20T03:00:00Z","source":"probe","by":"h2","kind":"strain","node":"h1","strain":"overflow","count":3,"window_ms":20}` + "\n", "", 1, Skipped{}},
		{"time beyond all", `{"v":1,"time":"2026-11-20T03:00:00Z","source":"probe","kind":"echo","sent":5,"lost":0,"window_ms":9223372036854775807,` + flow + "}\n", "window_ms is 9223372036854775807: that is more than a century", 0, Skipped{Broken: 1}},
		{"change before all", `{"v":1,"source":"snmp","kind":"counters","port":"a:1","last_change_ago_ms":9223372036854775807}` + "\n", "more than a century", 0, Skipped{Broken: 1}},
		{"packets beyond all", `{"v":1,"time":"2026-11-20T03:00:00Z","source":"probe","kind":"echo","sent":9223372036854775807,"lost":0,` + flow + "}\n", "sent is 9223372036854775807: a count is at most 1000000000000", 0, Skipped{Broken: 1}},
		{"halves that overflow", `{"v":1,"time":"2026-11-20T03:00:00Z","source":"probe","kind":"echo","sent":9223372036854775807,"lost":9223372036854775807,"lost_forward":9223372036854775807,"lost_back":9223372036854775807,` + flow + "}\n", "a count is at most", 0, Skipped{Broken: 1}},
		{"captured beyond all", `{"v":1,"time":"2026-11-20T03:00:00Z","source":"pcap","kind":"flow","packets":9223372036854775807,` + flow + "}\n", "packets is 9223372036854775807", 0, Skipped{Broken: 1}},
		{"slower than all", `{"v":1,"time":"2026-11-20T03:00:00Z","source":"probe","kind":"echo","sent":5,"lost":0,"rtt_us":{"p50":1e308},` + flow + "}\n", "rtt_us has 1e+308", 0, Skipped{Broken: 1}},
		{"a year beyond all", `{"v":1,"time":"9999-12-31T23:59:59-05:00","source":"probe","kind":"echo","sent":5,"lost":0,` + flow + "}\n" + good, "e.jsonl:1: time lies in the year 10000", 1, Skipped{Broken: 1}},
		{"a window before all", `{"v":1,"time":"1930-12-31T23:59:59Z","source":"probe","kind":"echo","sent":5,"lost":0,"window_ms":3000000000000,` + flow + "}\n", "e.jsonl:1: the beginning of window_ms lies in the year 1835", 0, Skipped{Broken: 1}},
		{"half a packet", `{"v":1,"source":"probe","kind":"echo","sent":1.5}` + "\n", "the value of sent is 1.5, expected whole number", 0, Skipped{Broken: 1}},
		{"port beyond all", `{"v":1,"source":"probe","kind":"echo","flow":{"src":"10.0.0.1","dst":"10.0.0.2","sport":70000}}` + "\n", "the value of flow.sport is 70000, expected whole number from 0 to 65535", 0, Skipped{Broken: 1}},
		{"time as a number", `{"v":1,"time":0}` + "\n", "a time is not of type string", 0, Skipped{Broken: 1}},
		{"endless line", strings.Repeat("x", MaxLine+10), "e.jsonl:1: line longer than", 0, Skipped{Unread: 1}},
		{"torn in the middle", good + good[:40] + good + good, "e.jsonl:2: not an evidence record", 2, Skipped{Broken: 1}},
		{"emptied while written to", strings.Repeat("\x00", 2*MaxLine) + good + good, "e.jsonl:1: not an evidence record: it begins with 2097152 NUL bytes", 1, Skipped{Broken: 1}},
		{"zeros in the middle", good + "\x00\x00\n" + good, "e.jsonl:2: not an evidence record: it begins with 2 NUL bytes", 2, Skipped{Broken: 1}},
		{"torn again and again", strings.Repeat(good+"x\n", 2000), "e.jsonl: 1995 more lines are no evidence records", 2000, Skipped{Broken: 2000}},
		{"of another kind", strings.Repeat("name: two\n", 2000) + good, "e.jsonl:1: not an evidence record", 0, Skipped{Broken: mostFirst, Unread: 1}},
		{"of another kind after a record", good + strings.Repeat("name: two\n", 2000) + good, "e.jsonl: 995 more lines", 1, Skipped{Broken: mostBroken, Unread: 1}},
		{"null", "null\n" + `{"v":1,"source":"probe"}` + "\n", "", 0, Skipped{"no source": 1, "no kind": 1}},
		{"hostile kind", `{"v":1,"source":"probe","kind":"\u001b[2J"}` + "\n", "", 0, Skipped{"kind \ufffd[2J": 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, skipped, err := read(t, c.text)
			if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
				t.Errorf("error %v, want %q", err, c.err)
			}
			if len(got) != c.records {
				t.Errorf("%d records, want %d", len(got), c.records)
			}
			if d := cmp.Diff(c.skipped, skipped); d != "" {
				t.Error(d)
			}
		})
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"v":1,"time":"2026-11-20T03:00:00Z","source":"probe","by":"h","kind":"hop","flow":{"src":"::1","dst":"10.0.0.2","proto":"udp","sport":1,"dport":2,"dscp":0},"ttl":2,"sent":3,"answered":2}` + "\n"))
	f.Add([]byte(`{"v":1,"time":"2026-11-20T03:00:00Z","source":"snmp","by":"s","kind":"counters","port":"s:1","interval_ms":10000,"in":{"errors":3},"last_change_ago_ms":4}` + "\n"))
	f.Add([]byte("\n\n{}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		_, _ = Read(bytes.NewReader(text), "f", func(r *Record) bool {
			if r.Sent != nil && r.Lost != nil && *r.Lost > *r.Sent {
				t.Errorf("lost %d of %d", *r.Lost, *r.Sent)
			}
			return Write(new(bytes.Buffer), r) == nil
		})
	})
}
