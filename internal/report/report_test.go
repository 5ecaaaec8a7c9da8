package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"net/netip"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/exp/golden"

	"whichlink/graphs"
	"whichlink/graphs/formats"
	"whichlink/internal/diagnose"
	"whichlink/internal/evidence"
)

// reportOf makes the report of evidence files.
func reportOf(t *testing.T, fabric string, files ...string) *Report {
	t.Helper()
	in, err := os.Open(fabric)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	read, err := formats.Read(in, fabric)
	if err != nil {
		t.Fatal(err)
	}
	store, c := diagnose.NewStore(read.Fabric, diagnose.Config{}), NewCollector(read.Fabric)
	for _, name := range files {
		file, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		_, err = evidence.Read(file, name, func(r *evidence.Record) bool { store.Add(r); c.Add(r); return true })
		file.Close()
		if err != nil {
			t.Fatal(err)
		}
	}
	return c.Report(store.Diagnose())
}

const ports, drill = "../../testdata/ports/", "../../testdata/drill/"

// TestGoldens writes reports of real evidence: what probes and ports told, a recorded drill, and a random graph in the lab.
func TestGoldens(t *testing.T) {
	for name, files := range map[string][]string{
		"errors":   {ports + "fabric.clab.yml", ports + "case2-errors.probe.jsonl", ports + "case2-errors.snmp.jsonl"},
		"flap":     {ports + "fabric.clab.yml", ports + "case4-flap.probe.jsonl", ports + "case4-flap.snmp.jsonl"},
		"group":    {ports + "fabric.clab.yml", ports + "case9-group.probe.jsonl", ports + "case9-group.snmp.jsonl"},
		"host":     {ports + "fabric.clab.yml", ports + "trap4-host.probe.jsonl", ports + "trap4-host.snmp.jsonl"},
		"disabled": {ports + "fabric.clab.yml", ports + "case6-disabled.probe.jsonl", ports + "case6-disabled.snmp.jsonl"},
		"drill":    {drill + "fabric.clab.yml", drill + "evidence.jsonl"},
		"random":   {"testdata/random.clab.yml", "testdata/random.jsonl"},
	} {
		r := reportOf(t, files[0], files[1:]...)
		t.Run(name+"/md", func(t *testing.T) {
			var b bytes.Buffer
			if err := r.WriteMarkdown(&b); err != nil {
				t.Fatal(err)
			}
			golden.RequireEqual(t, b.Bytes())
		})
		t.Run(name+"/html", func(t *testing.T) {
			var b bytes.Buffer
			if err := r.WriteHTML(&b); err != nil {
				t.Fatal(err)
			}
			wellFormed(t, b.String())
			if name == "errors" || name == "random" {
				golden.RequireEqual(t, b.Bytes())
			}
		})
	}
}

// TestDates: where the evidence has two dates, each event and each source is told with its own.
func TestDates(t *testing.T) {
	r := reportOf(t, ports+"fabric.clab.yml", ports+"case4-flap.probe.jsonl", ports+"case4-flap.snmp.jsonl")
	r.To = r.To.Add(24 * time.Hour)
	var b bytes.Buffer
	if err := errors.Join(r.WriteMarkdown(&b), r.WriteHTML(&b)); err != nil {
		t.Fatal(err)
	}
	if n := len(r.Events) + len(r.Told()); n == 0 || strings.Count(b.String(), "| "+r.From.Format(time.DateOnly)+" ") < n {
		t.Errorf("%d events and sources, told is\n%s", n, b.String())
	}
	if cell := regexp.MustCompile(`(\| |"n">)\d\d:\d\d:\d\d`).FindString(b.String()); cell != "" {
		t.Errorf("a time without its date: %s", cell)
	}
}

// wellFormed fails on a page that fetches or runs anything, or whose drawings are no XML.
func wellFormed(t *testing.T, page string) {
	t.Helper()
	for _, not := range []string{"<script", "http:", "https:", "src=", "<link", "@import", "url(", "NaN", "Inf", "ZgotmplZ"} {
		if strings.Contains(page, not) {
			t.Errorf("the page holds %q", not)
		}
	}
	for _, part := range strings.Split(page, "<svg")[1:] {
		part = "<svg" + part[:strings.Index(part, "</svg>")+6]
		for d := xml.NewDecoder(strings.NewReader(part)); ; {
			if _, err := d.Token(); err != nil {
				if !errors.Is(err, io.EOF) {
					t.Errorf("%v in %s", err, part[:min(len(part), 200)])
				}
				break
			}
		}
	}
}

// TestHostileNames gives every name that may come from outside a form that would do harm, and looks for it in both forms.
func TestHostileNames(t *testing.T) {
	const named = `<img/onerror=alert(1) |*x*_y_[a](e)` + "`b`www.e.com" // a node's name may hold no colon and no >
	const evil = named + `<script>http://e`
	var b graphs.Builder
	switchID, err := b.AddNode(graphs.Node{Name: named, Role: "tor"})
	if err != nil {
		t.Fatal(err)
	}
	hosts := make([]graphs.NodeID, 2)
	for i, name := range []string{"<svg <script", "h2|\"'&"} {
		if hosts[i], err = b.AddNode(graphs.Node{Name: name, Role: graphs.RoleHost}); err != nil {
			t.Fatal(err)
		}
		end := graphs.End{Node: hosts[i], Port: "eth1", Prefixes: []netip.Prefix{netip.MustParsePrefix("10.0.0.1/32")}}
		end.Prefixes[0] = netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, 0, byte(i + 1)}), 32)
		if _, err := b.AddLink(end, graphs.End{Node: switchID, Port: "`|`" + string(rune('1'+i))}, 0, "<g>"); err != nil {
			t.Fatal(err)
		}
	}
	f, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	c := NewCollector(f)
	at := time.Date(2026, 11, 20, 3, 0, 0, 0, time.UTC)
	c.Add(&evidence.Record{Time: at, Source: evidence.SourceNote, By: evil, Kind: evidence.KindNote, Text: "line\n\x1b[31m# not a heading" + evil})
	c.Add(&evidence.Record{
		Time: at.Add(time.Second), Source: evidence.SourceProbe, By: "h", Kind: evidence.KindEcho, Sent: evidence.Int(10), Lost: evidence.Int(3), WindowMS: 1000,
		Flow: &evidence.Flow{Src: netip.MustParseAddr("10.0.0.1"), Dst: netip.MustParseAddr("10.0.0.2"), Proto: "<udp>|"},
		Path: []string{f.ArcName(0), f.ArcName(3)},
	})
	name := f.ArcName(0)
	r := c.Report(&diagnose.Diagnosis{
		Fabric: evil, Verdict: diagnose.Suspects, Summary: name + " is bad", From: at, To: at.Add(time.Second),
		Suspects: []diagnose.Suspect{{Rank: 1, Kind: "arc", ID: name, Symptom: diagnose.Loss, Probability: 0.9, Class: []string{name, evil}, For: evil, Against: evil,
			Next: []diagnose.Step{{Why: evil, Do: "whichlink `id` | " + evil}}}},
		Cleared: []diagnose.Cleared{{ID: evil, Why: evil}}, Notes: []string{evil},
		Sources: []diagnose.Source{{By: evil, Source: evil, Newest: at}},
	})
	if r.Ego == nil || r.Crossing.Lossy != 1 || len(r.Charts) == 0 {
		t.Errorf("the suspect is not drawn: %+v", r)
	}
	var html, md bytes.Buffer
	if err := errors.Join(r.WriteHTML(&html), r.WriteMarkdown(&md)); err != nil {
		t.Fatal(err)
	}
	for _, not := range []string{"<img", "<script", "\x1b", "<svg <"} {
		if strings.Contains(html.String(), not) {
			t.Errorf("the page holds %q", not)
		}
	}
	fenced := false
	for line := range strings.Lines(md.String()) {
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		}
		if fenced || strings.HasPrefix(line, "- next") {
			if strings.Contains(line, "\x1b") {
				t.Errorf("an escape in the line %q", line)
			}
			continue // what stands in code means nothing
		}
		for _, not := range []string{"<img", "<script", "\x1b", "*x*", "_y_", "[a]", "http://", " www.e", ")`b`"} {
			if strings.Contains(line, not) {
				t.Errorf("%q in the line %q", not, line)
			}
		}
		if cells := strings.Count(strings.ReplaceAll(line, "\\|", ""), "|"); strings.HasPrefix(line, "| ") && cells != 5 && cells != 4 {
			t.Errorf("a name makes cells of its own: %q", line)
		}
	}
	if strings.Contains(md.String(), "\n# not") || !strings.Contains(md.String(), "``whichlink") && !strings.Contains(md.String(), "`` whichlink") {
		t.Error("a name makes a heading, or a command is no code")
	}
}

// TestSparks draws nothing where nothing was measured, and a low line for what is zero.
func TestSparks(t *testing.T) {
	for want, values := range map[string][]float64{
		"▁ █▆": {0, math.NaN(), 7, 4}, "▁▁": {0, 0}, " ": {math.NaN()},
	} {
		if got := Sparks(values, false); got != want {
			t.Errorf("%v is drawn %q, not %q", values, got, want)
		}
		ascii := strings.NewReplacer("▁", "_", "▆", "+", "█", "#").Replace(want)
		if got := Sparks(values, true); got != ascii {
			t.Errorf("%v is drawn %q, not %q", values, got, ascii)
		}
	}
}
