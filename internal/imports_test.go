// Package internal_test holds the house to its plan.
package internal_test

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"strings"
	"testing"
)

// floors says which rooms a room may import: arrows point down only.
//
//	main -> internal/cli -> {tui, internal/lab} -> internal/diagnose -> {probes, captures, pathfind} -> internal/evidence -> graphs
var floors = map[string][]string{
	"graphs":               {},
	"graphs/generate":      {"graphs"},
	"graphs/spelling":      {},
	"graphs/cabling":       {"graphs", "graphs/spelling"},
	"graphs/formats":       {"graphs", "graphs/spelling"},
	"internal/evidence":    {"graphs"},
	"internal/halves":      {},
	"pathfind":             {"graphs", "internal/evidence"},
	"pathfind/plan":        {"graphs", "pathfind"},
	"pathfind/localize":    {"graphs", "internal/halves"},
	"pathfind/next":        {"graphs", "pathfind", "pathfind/plan", "pathfind/localize"},
	"pathfind/whatif":      {"graphs", "pathfind"},
	"pathfind/rhythm":      {},
	"pathfind/flaps":       {"graphs", "internal/halves", "pathfind/localize", "pathfind/rhythm"},
	"pathfind/selective":   {"graphs", "pathfind/localize"},
	"pathfind/delay":       {"graphs"},
	"pathfind/heat":        {"graphs", "pathfind"},
	"probes":               {"graphs", "internal/evidence", "pathfind", "pathfind/plan"},
	"probes/snmp":          {"graphs", "graphs/spelling", "internal/evidence", "probes/snmp/ber"},
	"probes/snmp/ber":      {},
	"captures/files":       {"graphs"},
	"captures/frames":      {"captures/files"},
	"captures/roce":        {},
	"internal/page":        {},
	"captures":             {"graphs", "internal/evidence", "captures/files", "captures/frames", "internal/page"},
	"internal/sim":         {"graphs", "internal/evidence", "pathfind", "pathfind/plan", "pathfind/localize", "probes"},
	"internal/flock":       {"graphs", "internal/halves", "pathfind", "pathfind/localize", "pathfind/delay", "pathfind/flaps"},
	"internal/diagnose":    {"graphs", "graphs/spelling", "graphs/cabling", "internal/evidence", "internal/halves", "pathfind", "pathfind/plan", "pathfind/localize", "pathfind/next", "probes", "pathfind/delay", "pathfind/heat", "pathfind/rhythm", "pathfind/selective"},
	"internal/lab":         {"graphs", "graphs/generate", "internal/evidence", "pathfind"},
	"internal/lab/labtest": {"internal/lab"},
	"internal/casebook":    {},
	"internal/session":     {"graphs", "graphs/formats", "internal/evidence", "internal/diagnose"},
	"internal/report":      {"graphs", "internal/evidence", "internal/diagnose", "internal/page"},
	"internal/baseline":    {"graphs", "internal/evidence", "internal/diagnose", "pathfind/rhythm"},
	"tui":                  {"graphs", "internal/evidence", "internal/diagnose", "pathfind"},
	"internal/cli":         {"graphs", "graphs/generate", "graphs/formats", "graphs/cabling", "internal/evidence", "pathfind", "pathfind/plan", "pathfind/delay", "pathfind/localize", "pathfind/next", "pathfind/whatif", "probes", "probes/snmp", "captures", "captures/files", "internal/flock", "internal/diagnose", "pathfind/heat", "internal/lab", "tui", "pathfind/flaps", "internal/report", "internal/baseline", "internal/session"},
	"":                     {"internal/cli"},
	"probes/snmp/agentsim": {"probes/snmp/ber"},
}

func TestImportsPointDown(t *testing.T) {
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", "whichlink/...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	rooms := 0
	for dec := json.NewDecoder(bytes.NewReader(out)); dec.More(); {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := dec.Decode(&p); err != nil {
			t.Fatal(err)
		}
		room := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, "whichlink"), "/")
		if room == "internal" {
			continue // this test
		}
		rooms++
		allowed, known := floors[room]
		if !known {
			t.Errorf("room %q is not in the plan of the house", room)
		}
		for _, i := range p.Imports {
			below, ours := strings.CutPrefix(i, "whichlink/")
			if !ours {
				continue
			}
			ok := false
			for _, a := range allowed {
				ok = ok || a == below
			}
			if !ok {
				t.Errorf("%q imports %q, which is not below it", room, below)
			}
		}
	}
	if rooms < len(floors) {
		t.Errorf("only %d of %d rooms were looked at", rooms, len(floors))
	}
}

// TestConfined holds two libraries to the rooms that may know them: the screens fetch nothing, the pure rooms touch nothing.
func TestConfined(t *testing.T) {
	for room, forbidden := range map[string][]string{
		"whichlink/tui":               {"github.com/vishvananda/netlink", "github.com/google/gopacket", "github.com/gosnmp/gosnmp"},
		"whichlink/pathfind/...":      {"net", "os", "time", "math/rand"},
		"whichlink/pathfind/localize": {"log/slog"},
	} {
		out, err := exec.Command("go", "list", "-f", "{{join .Imports \"\\n\"}}", room).Output()
		if err != nil {
			t.Fatalf("go list %s: %v", room, err)
		}
		for i := range strings.Lines(string(out)) {
			for _, f := range forbidden {
				if strings.TrimSpace(i) == f {
					t.Errorf("%s imports %s", room, f)
				}
			}
		}
	}
}
