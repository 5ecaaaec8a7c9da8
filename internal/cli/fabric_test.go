package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"path/filepath"
	"strings"
	"testing"
)

// runFabric runs the fabric command alone.
func runFabric(t *testing.T, stdin string, arguments ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := newFabricCmd(&env{stdin: strings.NewReader(stdin), stdout: &out, stderr: &errs})
	cmd.SetArgs(arguments)
	cmd.SetOut(io.Discard)
	cmd.SetErr(io.Discard)
	err = cmd.Execute()
	return out.String(), errs.String(), err
}

func mustFabric(t *testing.T, stdin string, arguments ...string) string {
	t.Helper()
	out, _, err := runFabric(t, stdin, arguments...)
	if err != nil {
		t.Fatalf("fabric %s: %v", strings.Join(arguments, " "), err)
	}
	return out
}

func fabricJSON(t *testing.T, text string) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return v
}

func TestFabricNewAndShow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f.clab.yml")
	if out := mustFabric(t, "", "new", "random", "--switches", "16", "--degree", "4", "--hosts", "1", "--seed", "3", "--out", path); out != "" {
		t.Errorf("standard output has %q", out)
	}
	got := fabricJSON(t, mustFabric(t, "", "show", path, "-o", "json"))
	for key, want := range map[string]any{
		"name": "rr16d4", "nodes": 32.0, "hosts": 16.0, "switches": 16.0, "ports": 96.0, "links": 48.0, "arcs": 96.0, "parts": 1.0,
	} {
		if got[key] != want {
			t.Errorf("%s is %v, want %v", key, got[key], want)
		}
	}
	if d := got["degree"].(map[string]any); d["min"] != 4.0 || d["max"] != 4.0 || d["mean"] != 4.0 {
		t.Errorf("degree is %v", d)
	}
	if r := got["roles"].(map[string]any); r["tor"] != 16.0 || r["host"] != 16.0 {
		t.Errorf("roles are %v", r)
	}
	if x := got["spectral"].(map[string]any); math.Abs(x["lambda1"].(float64)-4) > 1e-9 || math.Abs(x["lambda1"].(float64)-x["lambda2"].(float64)-x["gap"].(float64)) > 1e-9 {
		t.Errorf("spectrum is %v", x)
	}
	if x := got["bisection"].(map[string]any); x["of"] != "hosts" || x["at_least"].(float64) > x["links"].(float64) || x["links"].(float64) > 16 {
		t.Errorf("bisection is %v", x)
	}
	if x := got["diversity"].(map[string]any); x["pairs"] != 240.0 || x["disjoint"].(map[string]any)["min"].(float64) > 4 {
		t.Errorf("diversity is %v", x)
	}
	for stdin, want := range map[string]string{
		"a b\nb c\nc a\n":                ": 3 switches",
		"h1 a\n":                         "paths between switches: at most 0 links, mean 0.0000\n",
		"a b\nb c\na c\nd e\ne f\nd f\n": "the switches fall into 2 parts which are not connected\n",
	} {
		if text := mustFabric(t, stdin, "show", "-"); !strings.Contains(text, want) {
			t.Errorf("got %s, want one that says %q", text, want)
		}
	}
	if text := mustFabric(t, "", "show", "--fabric", path); !strings.HasPrefix(text, "rr16d4: 16 switches (16 tor), 16 hosts, 48 links, 96 ports\n") {
		t.Errorf("got %s", text)
	}
	if dot := mustFabric(t, "", "show", path, "-o", "dot"); !strings.HasPrefix(dot, "strict graph {\n") || strings.Count(dot, " -- ") != 48 {
		t.Errorf("got %s", dot)
	}
	// What is written in another format is the same fabric.
	for _, form := range []string{"containerlab", "graphml", "csv"} {
		again := mustFabric(t, mustFabric(t, "", "show", path, "-o", form), "show", "-", "-o", "md")
		if want := mustFabric(t, "", "show", path, "-o", "md"); again != want {
			t.Errorf("%s: got %s, want %s", form, again, want)
		}
	}
}

// Every kind can be made without any flag, and what is made is read again.
func TestFabricKinds(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"leafspine", "ls4x4: 8 switches (4 leaf, 4 spine), 8 hosts, 24 links, 48 ports"},
		{"fattree", "ft4: 20 switches (8 agg, 4 core, 8 edge), 16 hosts, 48 links, 96 ports"},
		{"threetier", "tt2x4x2: 14 switches (2 agg, 4 cluster, 8 rack), 8 hosts, 32 links, 64 ports"},
		{"rail", "rail8x64: 24 switches (16 leaf, 8 spine), 64 hosts, 1024 links, 2048 ports"},
		{"random", "rr16d4: 16 switches (16 tor), 16 hosts, 48 links, 96 ports"},
		{"xpander", "xp20d4: 20 switches (20 tor), 20 hosts, 60 links, 120 ports"},
		{"dring", "dr6x12: 12 switches (12 tor), 12 hosts, 60 links, 120 ports"},
		{"slimfly", "sf5: 50 switches (50 tor), 50 hosts, 225 links, 450 ports"},
		{"polarfly", "pf5: 31 switches (31 tor), 31 hosts, 121 links, 242 ports"},
		{"dragonfly", "df9a4h2: 36 switches (36 tor), 36 hosts, 126 links, 252 ports"},
		{"dragonflyplus", "dfp5l2s2h2: 20 switches (10 leaf, 10 spine), 10 hosts, 40 links, 80 ports"},
		{"torus --size 4x4x4 --ipv6", "torus4x4x4: 64 switches (64 tor), 64 hosts, 256 links, 512 ports"},
		{"mesh", "mesh5u8: 5 switches (5 agg), 10 hosts, 30 links, 60 ports"},
	} {
		file := mustFabric(t, "", append([]string{"new"}, strings.Fields(c.args)...)...)
		if got, _, _ := strings.Cut(mustFabric(t, file, "show", "-"), "\n"); got != c.want {
			t.Errorf("fabric new %s makes %s, want %s", c.args, got, c.want)
		}
	}
}

func TestFabricPaths(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f.clab.yml")
	mustFabric(t, "", "new", "leafspine", "--leaves", "2", "--spines", "4", "--hosts", "1", "--out", path)
	got := fabricJSON(t, mustFabric(t, "", "paths", "--fabric", path, "h1-1", "10.32.0.3", "-o", "json"))
	paths := got["paths"].([]any)
	if len(paths) != 4 || got["disjoint"] != 4.0 || got["dst"] != "h2-1" {
		t.Errorf("got %v", got)
	}
	first := paths[0].(map[string]any)
	if nodes := first["nodes"].([]any); len(nodes) != 5 || nodes[2] != "spine1" || first["share"] != 0.25 {
		t.Errorf("the first path is %v", first)
	}
	if s := got["arc_shares"].(map[string]any)["leaf1:swp2>spine2:swp1"]; s != 0.25 {
		t.Errorf("leaf1 to spine2 has share %v", s)
	}
	if l := got["lengths"].(map[string]any); l["4"] != 1.0 {
		t.Errorf("lengths are %v", l)
	}
	got = fabricJSON(t, mustFabric(t, "", "paths", "--fabric", path, "h1-1", "h2-1", "-o", "json", "--limit", "3"))
	if p, there := got["paths"]; p != nil || !there || got["count"] != 4.0 {
		t.Errorf("beyond the limit: paths %v, count %v", p, got["count"])
	}
	// An edge list without hosts has paths too; this one from standard input.
	got = fabricJSON(t, mustFabric(t, "0->1\n1->2\n0->3\n3->2\n", "paths", "--fabric", "-", "0", "2", "-o", "json"))
	if len(got["paths"].([]any)) != 2 || got["disjoint"] != 2.0 {
		t.Errorf("got %v", got)
	}
}

func TestFabricPlan(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f.clab.yml")
	mustFabric(t, "", "new", "fattree", "--k", "4", "--out", path)
	got := fabricJSON(t, mustFabric(t, "", "plan", path, "-o", "json"))
	sum := 0.0
	for _, n := range got["per_host"].(map[string]any) {
		sum += n.(float64)
	}
	if got["arcs"] != 96.0 || got["covered"] != 96.0 || got["flows"] != sum || math.IsNaN(got["seconds"].(float64)) {
		t.Errorf("got %v", got)
	}
}

func TestFabricPlanCoverage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f.clab.yml")
	mustFabric(t, "", "new", "random", "--switches", "40", "--degree", "6", "--out", path)
	all := fabricJSON(t, mustFabric(t, "", "plan", path, "-o", "json"))
	few := fabricJSON(t, mustFabric(t, "", "plan", path, "--crossings", "1", "--coverage", "99%", "-o", "json"))
	if few["coverage"].(float64) < 0.99 || few["flows"].(float64) > all["flows"].(float64)/2 {
		t.Errorf("%v of the arcs by %v flows, where all arcs are covered by %v", few["coverage"], few["flows"], all["flows"])
	}
	if text := mustFabric(t, "", "plan", path, "--crossings", "1"); !strings.Contains(text, "are expected to be crossed once or more (100.00 %)\n") {
		t.Errorf("got %s", text)
	}
	// Hosts of an edge list have no addresses, which is worth a warning.
	_, said, err := runFabric(t, "h1 a\na b\na c\nb d\nc d\nd h2\n", "plan", "-")
	if err != nil || !strings.Contains(said, "warning: 2 hosts without an address, whose flows cannot be sent: h1, h2\n") {
		t.Errorf("%v, said %q", err, said)
	}
}

func TestFabricErrors(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f.clab.yml")
	mustFabric(t, "", "new", "leafspine", "--out", path)
	for _, c := range []struct {
		stdin string
		args  string
		want  string
	}{
		{"", "", "needs a command"},
		{"", "new", "needs a kind"},
		{"", "new mobius", `no kind of fabric is called "mobius"`},
		{"", "new fattree --k 5", "k must be even"},
		{"", "new torus --size 4by4", `--size "4by4", expected numbers such as 4x4`},
		{"", "new slimfly --q 6", "q must be a power of a prime"},
		{"", "new leafspine --out no/such/file", "no such file"},
		{"", "show", "no fabric given"},
		{"", "show no.yml", "no such file"},
		{"", "show --fabric a b", "two fabrics given"},
		{"u v\nu\n", "show -", "standard input:2:"},
		{"", "paths --fabric " + path + " h1-1", "1 arguments given"},
		{"", "paths --fabric " + path + " h1-1 h9-9", `no node of fabric ls4x4 is called "h9-9"`},
		{"", "paths --fabric " + path + " h1-1 h1-1", "both ends"},
		{"", "paths --fabric " + path + " --model magic h1-1 h2-1", `no forwarding model is called "magic"`},
		{"a b\nb c\nc a\n", "plan -", "no host can probe another"},
		{"", "plan --crossings -1 " + path, "--crossings -1 is not one of 1 to 64"},
		{"", "plan --crossings 0 " + path, "--crossings 0 is not"},
		{"", "plan --max-flows -1 " + path, "--max-flows -1 is not"},
		{"", "plan --max-flows 0 " + path, "--max-flows 0 is not"},
		{"", "plan --coverage 101% " + path, "is no share"},
		{"", "plan --coverage 0 " + path, "is no share"},
		{"", "plan --coverage nan " + path, "is no share"},
	} {
		_, _, err := runFabric(t, c.stdin, strings.Fields(c.args)...)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("fabric %s: got error %v, want one that says %q", c.args, err, c.want)
		}
	}
}

func TestFabricImport(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "f.clab.yml")
	const formatsDir = "../../graphs/formats/testdata/"
	_, notes, err := runFabric(t, "", "import", "lldp", formatsDir+"lldpctl/s1.json", formatsDir+"lldpctl/l1.json", "--out", out)
	if err != nil || !strings.Contains(notes, "taken for those of s1, l1, after the files' names") || !strings.Contains(notes, "wrote "+out+": lldp (4 nodes, 3 links)") {
		t.Errorf("%v: %s", err, notes)
	}
	if got := fabricJSON(t, mustFabric(t, "", "show", out, "-o", "json")); got["links"] != 3.0 {
		t.Errorf("got %v", got)
	}
	const dot = `graph { "leaf1":"swp1" -- "spine1":"swp1" }`
	for _, arguments := range []string{"import -", "import dot -"} {
		if text := mustFabric(t, dot, strings.Fields(arguments)...); !strings.Contains(text, `- endpoints: ["leaf1:swp1", "spine1:swp1"]`) {
			t.Errorf("%s: got %s", arguments, text)
		}
	}
	// Whatever import knows, --fabric takes.
	if got := fabricJSON(t, mustFabric(t, dot, "show", "--fabric", "-", "-o", "json")); got["links"] != 1.0 {
		t.Errorf("got %v", got)
	}
	for arguments, want := range map[string]string{
		"import":                                 "0 arguments given",
		"import dot":                             "no file given that is to be read as dot",
		"import dot - x.dot":                     "standard input is one file",
		"import lldpctl no-such-file.json":       "no such file",
		"import batfish -":                       "standard input:1: not JSON: ",
		"import " + formatsDir + "errors.golden": "expected one of: ",
	} {
		if _, _, err := runFabric(t, dot, strings.Fields(arguments)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", arguments, err, want)
		}
	}
}

// A fabric of resilient network graphs says on standard error what its cabling came to, and its file holds what links share.
func TestFabricNewRNG(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f.clab.yml")
	var out, errs bytes.Buffer
	cmd := newFabricCmd(&env{stdin: strings.NewReader(""), stdout: &out, stderr: &errs})
	cmd.SetArgs([]string{"new", "rng", "--routers", "60", "--degree", "12", "--rooms", "3", "--out", path})
	cmd.SetErr(&errs)
	if err := cmd.Execute(); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"rooms 3, ShuffleBoxes 6;", "bundles to cable 63\n", "modelled for degrees of at least 2(ln n + 5), here 19\n"} {
		if !strings.Contains(errs.String(), want) {
			t.Errorf("standard error lacks %q: %s", want, errs.String())
		}
	}
	got := fabricJSON(t, mustFabric(t, "", "show", path, "-o", "json"))
	if d := got["degree"].(map[string]any); d["min"] != 12.0 || d["max"] != 12.0 || got["links"] != 420.0 || got["groups"].(float64) < 200 {
		t.Errorf("got %v", got)
	}
	if _, _, err := runFabric(t, "", "new", "rng", "--routers", "1"); err == nil || !strings.Contains(err.Error(), "at least 2 routers") {
		t.Errorf("got error %v", err)
	}
}
