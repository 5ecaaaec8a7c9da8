package cli

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPathPicture(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	ring := file("ring.clab.yml", `
name: ring
topology:
  nodes:
    a: {group: tor, labels: {whichlink.model: "su:2"}}
    b: {group: tor}
    c: {group: tor}
    "d d": {group: tor}
  links:
    - endpoints: ["a:1", "b:1"]
    - endpoints: ["b:2", "c:1"]
    - endpoints: ["c:2", "a:2"]
    - endpoints: ["c:3", "d d:1"]
`)
	got := mustFabric(t, "", "paths", "--fabric", ring, "a", "b")
	want := `a to b, model su:2: 2 paths, 2 of them disjoint between switches

a -> c -> b

   flows  nodes  layer
100.00 %      1  tor  a
 50.00 %      1  tor  c
100.00 %      1  tor  b

   flows  links from end to end
 50.00 %  1
 50.00 %  2

   flows  arc
 50.00 %  a:1>b:1
 50.00 %  a:2>c:2
 50.00 %  c:1>b:2

   flows  path, by the ports that it leaves
 50.00 %  a:1 > b
 50.00 %  a:2 > c:1 > b
`
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if got := mustFabric(t, "", "paths", "--fabric", ring, "a", "b", "--limit", "0"); strings.Contains(got, "path, by") ||
		strings.Contains(got, "too many") || !strings.Contains(got, "2 paths") {
		t.Errorf("limit 0 gives %s", got)
	}
	got = mustFabric(t, "", "paths", "--fabric", ring, "a", "d d", "--model", "spraypoint:p=1,h=1", "-o", "dot")
	for _, line := range []string{
		"\t{ rank=same; // SPRAY\n\t\t\"a\";\n", "\t\t\"d d\";\n",
		"\t\"c\" -> \"d d\" [label=\"100.00 %\", taillabel=\"3\", penwidth=4.50];\n",
	} {
		if !strings.Contains(got, line) {
			t.Errorf("no %q in %s", line, got)
		}
	}
	routes := file("routes.json", `{"a": {"b": ["c", "1"]}, "c": {"b": ["a"]}}`)
	set := fabricJSON(t, mustFabric(t, "", "paths", "--fabric", ring, "a", "b", "--model", "fib:"+routes, "-o", "json"))
	lost := set["lost"].([]any)[0].(map[string]any)
	if lost["node"] != "a" || lost["reason"] != "loop" || lost["share"] != 0.5 || len(set["paths"].([]any)) != 1 {
		t.Errorf("got %v", set)
	}
	text := mustFabric(t, "", "paths", "--fabric", ring, "a", "b", "--model", "fib:"+routes)
	if !strings.Contains(text, "\n 50.00 % lost at a: loop\n") {
		t.Errorf("got %s", text)
	}
	at := file("bad.json", "{\"a\": {},\n\"e\": {}}")
	if _, _, err := runFabric(t, "", "paths", "--fabric", ring, "a", "b", "--model", "fib:"+at); err == nil ||
		!strings.Contains(err.Error(), at+`:2: no node is called "e"`) {
		t.Errorf("got %v", err)
	}
	torn := file("torn.clab.yml", `
topology:
  nodes:
    a: {group: tor, labels: {whichlink.model: "su:2"}}
    b: {group: tor, labels: {whichlink.model: vlb}}
  links:
    - endpoints: ["a:1", "b:1"]
`)
	if _, _, err := runFabric(t, "", "paths", "--fabric", torn, "a", "b"); err == nil || !strings.Contains(err.Error(), "switches disagree") {
		t.Errorf("got %v", err)
	}
	mustFabric(t, "", "paths", "--fabric", torn, "a", "b", "--model", "ecmp")
}

// The layers of Spraypoint, on a fabric that has all of them; no line is wider than a terminal.
func TestSpraypointPicture(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f.clab.yml")
	mustFabric(t, "", "new", "random", "--switches", "200", "--degree", "8", "--hosts", "1", "--out", path)
	arguments := []string{"paths", "--fabric", path, "h001-1", "h200-1", "--model", "spraypoint:p=2,h=2"}
	set := fabricJSON(t, mustFabric(t, "", append(arguments, "-o", "json")...))
	var names []string
	for _, l := range set["layers"].([]any) {
		names = append(names, l.(map[string]any)["name"].(string))
	}
	if d := cmp.Diff([]string{"host", "SPRAY", "OR", "IR", "WP1", "WP0", "deliver", "h200-1"}, names); d != "" {
		t.Error(d)
	}
	sum := 0.0
	for _, share := range set["lengths"].(map[string]any) {
		sum += share.(float64)
	}
	if math.Abs(sum-1) > 1e-9 {
		t.Errorf("the shares of lengths sum to %g", sum)
	}
	text := mustFabric(t, "", arguments...)
	if !strings.Contains(text, "\nh001-1 -> SPRAY 8 -> ") {
		t.Errorf("got %s", text)
	}
	for line := range strings.Lines(text) {
		if len(line) > 81 {
			t.Errorf("%d columns: %s", len(line)-1, line)
		}
	}
}
