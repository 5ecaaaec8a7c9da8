package cli

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"whichlink/graphs"
	"whichlink/graphs/generate"
)

// Case 28: one link between a leaf and a spine of a rail-optimised fabric. All by hand.
func TestWhatIfRail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rail.clab.yml")
	mustFabric(t, "", "new", "rail", "--gpus", "16", "--rails", "2", "--ports", "8", "--out", path)
	got := mustFabric(t, "", "whatif", path, "--fail", "leaf1-1:swp1--spine1:swp1")
	want := `fabric  rail2x8, model ecmp
fail    link leaf1-1:swp1--spine1:swp1
gone    1 of 32 links
rule    ok, at most 1 of a switch's neighbours at once; none loses any

    lost  links left  capacity left   switch, and who is behind it
 -25.0 %  3 of 4      1.2T of 1.6T    leaf1-1: rail 1 of 4 hosts, h1-1:eth1 to
                                      h1-4:eth1, 1.33:1, was 1.00:1
 -12.5 %  7 of 8      2.8T of 3.2T    spine1

pairs   12 of switches, all looked at, 6 of these lose something; cut off: none;
        fewest disjoint paths left: 3
lost    in the mean 18.8 % of usable capacity, 12.5 % of flows at first

  usable  left            disjoint    max-flow  at first  pair
 -50.0 %  800G of 1.6T    3 of 4       -25.0 %   -25.0 %  leaf1-2 > leaf1-1
 -50.0 %  800G of 1.6T    3 of 4       -25.0 %   -25.0 %  leaf2-1 > leaf1-1
 -50.0 %  800G of 1.6T    3 of 4       -25.0 %   -25.0 %  leaf2-2 > leaf1-1
 -25.0 %  1.2T of 1.6T    3 of 4       -25.0 %   -25.0 %  leaf1-1 > leaf1-2
 -25.0 %  1.2T of 1.6T    3 of 4       -25.0 %   -25.0 %  leaf1-1 > leaf2-1
 -25.0 %  1.2T of 1.6T    3 of 4       -25.0 %   -25.0 %  leaf1-1 > leaf2-2

load    uniform: 6.4T between switches
            mean       p50       p95       p99       max  could grow to
before     100 %     100 %     100 %     100 %     100 %  1 times
after      107 %     100 %     133 %     200 %     200 %  0.5 times
at first, at most 12.5 % of the traffic is lost

    after    before  hottest, and heat up most
    200 %     100 %  spine1:swp2>leaf1-1:swp2
    133 %     100 %  leaf1-1:swp2>spine1:swp2
    133 %     100 %  leaf1-1:swp3>spine2:swp1
    133 %     100 %  leaf1-1:swp4>spine2:swp2
    111 %     100 %  spine2:swp3>leaf1-2:swp3
`
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	out := fabricJSON(t, mustFabric(t, "", "whatif", path, "--fail", "leaf1-1:swp1--spine1:swp1", "-o", "json"))
	leaf := out["switches"].([]any)[0].(map[string]any)
	if leaf["node"] != "leaf1-1" || leaf["links_left"] != 3.0 || leaf["rail"] != 1.0 || leaf["host_ports"].([]any)[3] != "h1-4:eth1" ||
		leaf["worst_usable_lost"] != 0.5 {
		t.Errorf("got %v", leaf)
	}
	worst := out["pairs"].(map[string]any)["hurt"].([]any)[0].(map[string]any)
	if worst["src"] != "leaf1-2" || worst["usable"] != 1600e9 || worst["usable_left"] != 800e9 || worst["lost_at_first"] != 0.25 {
		t.Errorf("got %v", worst)
	}
	after := out["load"].(map[string]any)["after"].(map[string]any)
	if max := after["max"].(float64); math.Abs(max-2) > 1e-9 || after["hottest"] != "spine1:swp2>leaf1-1:swp2" {
		t.Errorf("got %v", after)
	}
}

// A whole leaf drained: hosts are told together, and no line is wider than a terminal.
func TestWhatIfText(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f.clab.yml")
	mustFabric(t, "", "new", "random", "--switches", "120", "--degree", "8", "--hosts", "2", "--out", path)
	text := mustFabric(t, "", "whatif", "--fabric", path, "--drain", "sw001", "--drain", "sw002", "--fail", "sw003", "--model", "su:2", "--pairs", "500",
		"--matrix", "permutation:4")
	for _, part := range []string{
		"drain   node sw001, node sw002\n", "fail    node sw003\n", ", 3 switches\n",
		"\nlinks left  hosts: 6, of these cut off: 6\n0 of 1      6 hosts, h001-1 to h003-2 (cut off)\n",
		"pairs   13572 of switches, 500 looked at (250 likely to lose most,\n        250 drawn by seed 1; --pairs takes more), ",
		"load    permutation of 240, seed 4: ", "at first, at most ",
	} {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in %s", part, text)
		}
	}
	for line := range strings.Lines(text) {
		if len(line) > 81 {
			t.Errorf("%d columns: %s", len(line)-1, line)
		}
	}
	bare := write(t, dir, "bare.clab.yml", "topology:\n  nodes: {a: {}, b: {}, c: {}}\n  links: [{endpoints: [\"a:1\", \"b:1\"]}, "+
		"{endpoints: [\"b:2\", \"c:1\"]}, {endpoints: [\"c:2\", \"a:2\"]}]\n")
	text = mustFabric(t, "", "whatif", bare, "--fail", "a--b", "--matrix", "csv:"+write(t, dir, "m.csv", "src,dst,rate\na,b,2\n"))
	for _, part := range []string{
		"speeds  none is known", "\n -50.0 %  1 of 2      1 of 2          a\n", "\nafter          1         0         2         2         2  0.5 times\n",
	} {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in %s", part, text)
		}
	}
}

// Routes that were read do not change: what they lead to a dead end is lost for good.
func TestWhatIfRoutes(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f.clab.yml")
	mustFabric(t, "", "new", "leafspine", "--leaves", "2", "--spines", "2", "--hosts", "1", "--out", path)
	routes := write(t, dir, "fib.json", `{
		"leaf1": {"h1-1": ["h1-1"], "h2-1": ["spine1", "spine2"]}, "leaf2": {"h2-1": ["h2-1"], "h1-1": ["spine1", "spine2"]},
		"spine1": {"h1-1": ["leaf1"], "h2-1": ["leaf2"]}, "spine2": {"h1-1": ["leaf1"], "h2-1": ["leaf2"]}}`)
	out := fabricJSON(t, mustFabric(t, "", "whatif", path, "--fail", "leaf1--spine1", "--model", "fib:"+routes, "-o", "json"))
	for i, src := range []string{"leaf1", "leaf2"} {
		p := out["pairs"].(map[string]any)["hurt"].([]any)[i].(map[string]any)
		if p["src"] != src || p["usable"] != 200e9 || p["usable_left"] != 100e9 || p["lost_at_first"] != 0.5 {
			t.Errorf("got %v", p)
		}
	}
	if after := out["load"].(map[string]any)["after"].(map[string]any); after["no_way"] != 0.25 {
		t.Errorf("got %v", after)
	}
}

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestWhatIfUsage(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f.clab.yml")
	mustFabric(t, "", "new", "leafspine", "--out", path)
	bad := write(t, dir, "bad.csv", "# measured\nh1-1,h2-1,1G\nh1-1,h9-9,1G\n")
	for _, c := range []struct {
		args  string
		usage bool
		want  string
	}{
		{"", true, "nothing is to fail or to be drained"},
		{"--fail leaf9", true, `no node, link or shared-risk group of fabric ls4x4 is called "leaf9"`},
		{"--drain leaf1 --neighbours 0", true, `--neighbours: limit "0", expected a number of neighbours such as 1, or a share such as 5%`},
		{"--drain leaf1 --pairs 0", true, "--pairs is 0: at least 1 is needed"},
		{"--drain leaf1 --matrix some", true, `no matrix is called "some"`},
		{"--drain leaf1 --matrix uniform:3", true, `matrix "uniform:3"`},
		{"--drain leaf1 --matrix permutation:x", true, `matrix "permutation:x": the seed is not a number of 64 bits`},
		{"--drain leaf1 --matrix ring:h1-1", true, `matrix "ring:h1-1": traffic needs two hosts, and there is 1`},
		{"--drain leaf1 --matrix ring:h1-1,h1-1", true, "h1-1 is there twice"},
		{"--drain leaf1 --matrix alltoall:@" + bad, false, bad + `:2: no node of fabric ls4x4 is called "h1-1,h2-1,1G"`},
		{"--drain leaf1 --matrix csv:" + bad, false, bad + `:3: no node of fabric ls4x4 is called "h9-9"`},
		{"--drain leaf1 --matrix csv:" + dir + "/none", false, "read traffic matrix " + dir + "/none: no such file or directory"},
	} {
		_, _, err := runFabric(t, "", append([]string{"whatif", path}, strings.Fields(c.args)...)...)
		var usage usageError
		if err == nil || err.Error() != c.want || errors.As(err, &usage) != c.usage {
			t.Errorf("%s: %v, want %s", c.args, err, c.want)
		}
	}
}

func TestFindMatrix(t *testing.T) {
	f, err := generate.LeafSpine(generate.LeafSpineConfig{Leaves: 2, Spines: 2, Hosts: 2})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	list := write(t, dir, "hosts", "# a job\nh1-1\n\n h2-1 \n10.32.0.1\n")
	flows := write(t, dir, "flows.csv", "src,dst,rate\n\n# host by address\n10.32.0.1,h2-1,2.5G\nh1-1, h2-2, 100\n")
	for name, want := range map[string]string{
		"uniform": "uniform", "alltoall": "all-to-all of 4", "alltoall:h1-1,h2-2": "all-to-all of 2", "ring": "ring of 4",
		"permutation": "permutation of 4, seed 9", "permutation:3": "permutation of 4, seed 3", "csv:" + flows: flows,
		"ring:@" + list: "",
	} {
		m, err := findMatrix(f, name, 9)
		switch {
		case want == "" && (err == nil || err.Error() != list+":5: h1-1 is there twice"):
			t.Errorf("%s: %v", name, err)
		case want != "" && (err != nil || m.String() != want):
			t.Errorf("%s is %v, %v", name, m, err)
		}
	}
	captured := write(t, dir, "captured.csv", "src,dst,proto,bytes,first,last\nh1-1,10.32.0.9,tcp,7,2026-11-20T08:00:00Z,2026-11-20T08:00:01Z\n"+
		"10.32.0.1,h2-1,udp,1000000,2026-11-20T08:00:00.5Z,2026-11-20T08:00:02Z\n10.32.0.1,h2-1,tcp,3000000,2026-11-20T08:00:03Z,2026-11-20T08:00:04Z\n")
	m, err := findMatrix(f, "csv:"+captured, 1)
	if err != nil {
		t.Fatal(err)
	}
	if flows, ok := m.Traffic(1); !ok || len(flows) != 1 || flows[0].Rate != 8e6 || f.NodeName(flows[0].Src) != "h1-1" || f.NodeName(flows[0].Dst) != "h2-1" {
		t.Errorf("captured: %+v", flows)
	}
	if m, err = findMatrix(f, "alltoall", 1); err != nil {
		t.Fatal(err)
	}
	_, all := m.Traffic(12)
	if _, most := m.Traffic(11); !all || most {
		t.Error("12 pairs are not 12")
	}
	for text, want := range map[string]string{
		"":                            "m: no flows",
		"src,dst,rate\n":              "m: no flows",
		"h1-1,h2-1\n":                 "m:1: 2 fields, expected src,dst,rate",
		"h1-1,h2-1,1G,\n":             "m:1: 4 fields, expected src,dst,rate",
		"\nh1-1,h1-1,1G\n":            "m:2: h1-1 sends to itself",
		"h1-1,h2-1,fast\n":            `m:1: "fast", expected a speed in bit/s such as 100G`,
		"h1-1,h2-1,-1\n":              `m:1: "-1", expected a speed in bit/s such as 100G`,
		"h1-1,\"h2-1,1G\n":            `m:1: extraneous or missing " in quoted-field`,
		"h1-1,h2-1,1G\n\x1b,h2-1,1\n": "m:2: no node of fabric ls2x2 is called \"\uFFFD\"",

		"src,dst,bytes,first,last\n":                                                             "m: no flows between nodes of the fabric",
		"src,dst,bytes,first,last\nh1-1,h2-1,many,x,y\n":                                         `m:2: "many", expected a number of bytes`,
		"src,dst,bytes,first,last\nh1-1,h2-1,1\n":                                                "m:2: 3 fields, expected 5 and more",
		"src,dst,bytes,first,last\nh1-1,h2-1,1,yesterday,\n":                                     `m:2: "yesterday", expected a time such as 2026-11-20T08:00:00Z`,
		"src,dst,bytes,first,last\nh1-1,h2-1,1,2026-11-20T08:00:00Z,2026-11-20T08:00:00Z\n":      "m: all packets at one moment: that is no rate",
		"src,dst,bytes,first,last\n192.0.2.1,h2-1,1,2026-11-20T08:00:00Z,2026-11-20T08:00:01Z\n": "m: no flows between nodes of the fabric",
	} {
		if _, err := readMatrix(strings.NewReader(text), "m", f); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func FuzzReadMatrix(f *testing.F) {
	fabric, err := generate.LeafSpine(generate.LeafSpineConfig{Leaves: 2, Spines: 2, Hosts: 2})
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{"h1-1,h2-1,1G\n", "src,dst,rate\n10.32.0.1,h2-2,2.5M\n# x\n", "\"h1-1\",h2-1,1\n", "h1-1,h2-1\n", "\xff,\n\"\"\"\n",
		"src,dst,bytes,first,last\nh1-1,10.32.0.1,15000,2026-11-20T08:00:00Z,2026-11-20T08:00:01.5Z\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		m, err := readMatrix(strings.NewReader(text), "m", fabric)
		if (m == nil) == (err == nil) {
			t.Fatal(m, err)
		}
		if err != nil && (graphs.Clean(err.Error()) != err.Error() && len(err.Error()) < graphs.MaxName || strings.Contains(err.Error(), "\n")) {
			t.Fatalf("error %q", err)
		}
	})
}
