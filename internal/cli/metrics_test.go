package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"whichlink/internal/diagnose"
)

// TestMetrics holds the metrics against the text format and the document against the metrics.
func TestMetrics(t *testing.T) {
	loss, delay := 0.05, 120.0
	d := &diagnose.Diagnosis{Fabric: "f\"\\\n", Verdict: diagnose.Suspects, Coverage: diagnose.Coverage{Arcs: 4, Measured: 3}, Suspects: []diagnose.Suspect{
		{Kind: "arc", ID: `a:1>b:"2"`, Link: `a:1--b:"2"`, Symptom: diagnose.Loss, Probability: 0.95, Loss: &loss},
		{Kind: "host", ID: "h", Symptom: diagnose.Slow, Probability: 0.4, Delay: &delay},
	}}
	var out bytes.Buffer
	if err := (&env{stdout: &out}).printMetrics(d, &checking{}); err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`^[a-z_]+\{fabric="f\\"\\\\\\n"(,[a-z]+="([^"\\\n]|\\["\\n])*")*\} [-+.e0-9]+$`)
	seen := map[string]bool{}
	for l := range strings.Lines(out.String()) {
		if l = strings.TrimSuffix(l, "\n"); !strings.HasPrefix(l, "# ") {
			if !line.MatchString(l) {
				t.Errorf("no sample: %s", l)
			}
			if seen[strings.Fields(l)[0]] {
				t.Errorf("twice: %s", l)
			}
			seen[strings.Fields(l)[0]] = true
		}
	}
	for _, want := range []string{"whichlink_check_state{fabric=\"f\\\"\\\\\\n\"} 2\n", "id=\"a:1>b:\\\"2\\\"\",link=", `symptom="loss",class="1"} 0.05`, `symptom="delay",class="1"} 0.00012`, "\"} 1\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
	document, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	var documented, written []string
	for _, m := range regexp.MustCompile("(?m)^\\| `(whichlink_[a-z_]+)` \\|.*\\| (.*) \\|$").FindAllStringSubmatch(string(document), -1) {
		documented = append(documented, m[1]+" "+m[2])
	}
	for _, m := range metrics() {
		written = append(written, m.name+" "+m.help)
	}
	if !slices.Equal(documented, written) {
		t.Errorf("docs/metrics.md tells\n%s\nand the program writes\n%s", strings.Join(documented, "\n"), strings.Join(written, "\n"))
	}
}

// TestDashboard holds the dashboard of Grafana against the metrics: it asks for no series that nobody writes.
func TestDashboard(t *testing.T) {
	text, err := os.ReadFile("../../docs/grafana.json")
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		Title         string
		SchemaVersion int
		Panels        []struct {
			ID      int
			Type    string
			Title   string
			GridPos struct{ H, W, X, Y int }
			Targets []struct{ Expr, RefID string }
		}
	}
	if err := json.Unmarshal(text, &board); err != nil {
		t.Fatal(err)
	}
	var known []string
	for _, m := range metrics() {
		known = append(known, m.name)
	}
	ids := map[int]bool{}
	for _, p := range board.Panels {
		if ids[p.ID] || p.GridPos.X+p.GridPos.W > 24 || len(p.Targets) == 0 {
			t.Errorf("panel %d %q has no place, number or target of its own", p.ID, p.Title)
		}
		ids[p.ID] = true
		for _, q := range p.Targets {
			names := regexp.MustCompile(`whichlink_[a-z_]+`).FindAllString(q.Expr, -1)
			if len(names) == 0 {
				t.Errorf("panel %q asks for nothing: %s", p.Title, q.Expr)
			}
			for _, n := range names {
				if !slices.Contains(known, n) {
					t.Errorf("panel %q asks for %s", p.Title, n)
				}
			}
		}
	}
	if len(board.Panels) < 5 {
		t.Errorf("%d panels", len(board.Panels))
	}
}
