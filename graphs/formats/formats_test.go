package formats

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"whichlink/graphs"
	"whichlink/graphs/generate"
)

var update = flag.Bool("update", false, "write the golden files anew")

// describe lists everything that a file can say about a fabric.
func describe(f *graphs.Fabric) string {
	var b strings.Builder
	fmt.Fprintln(&b, "name", f.Name())
	for i := range graphs.NodeID(f.NumNodes()) {
		n := f.Node(i)
		fmt.Fprintf(&b, "node %s role=%s guessed=%t kind=%s loopback=%v management=%s model=%s\n",
			n.Name, n.Role, n.RoleGuessed, n.Kind, n.Loopback, n.Management, n.Model)
	}
	for l := range graphs.LinkID(f.NumLinks()) {
		x := f.Link(l)
		fmt.Fprintf(&b, "link %s speed=%s %v %v groups=", f.LinkName(l), FormatSpeed(x.Speed), f.Port(x.Ends[0]).Prefixes, f.Port(x.Ends[1]).Prefixes)
		for _, g := range x.Groups {
			fmt.Fprintf(&b, "%q ", f.Group(g).Name)
		}
		fmt.Fprintln(&b)
	}
	return b.String()
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s:\n%s", path, d)
	}
}

func TestReadContainerlab(t *testing.T) {
	const path = "testdata/small.clab.yml"
	f, err := ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/small.golden", describe(f.Fabric)+"notes\n"+strings.Join(f.Notes, "\n")+"\n")

	var out bytes.Buffer
	if err := f.Write(&out); err != nil {
		t.Fatal(err)
	}
	text, _ := os.ReadFile(path)
	if !bytes.Equal(text, out.Bytes()) {
		t.Error("a file that was read and written is not the same")
	}
}

func TestErrors(t *testing.T) {
	head := "name: x\ntopology:\n  nodes: {a: , b: {kind: linux}}\n  links:\n"
	var got strings.Builder
	for _, text := range []string{
		"", "\n# nothing\n", "just words in a row", "[1, 2]", "name: x\n", "name: x\ntopolgy: {}\n", "name: x\ntopology: [a]\n",
		"name: x\ntopology:\n  nodes: {}\n", "topology:\n  VMs: {}\n", "name: [x]\ntopology: {nodes: {a: }}\n",
		"name: x\n\ttopology:\n", "name: x\ntopology:\n{{ range . }}\n  nodes: {}\n",
		"name: x\ntopology:\n  nodes:\n    a: 7\n", "name: x\ntopology:\n  nodes:\n    a:\n    a:\n",
		"name: x\ntopology:\n  nodes:\n    \"a\\e[2J\":\n", "name: x\ntopology:\n  nodes:\n    a>b:\n",
		"name: x\ntopology:\n  nodes:\n    " + strings.Repeat("n", 300) + ":\n",
		"name: x\ntopology:\n  nodes:\n    a: {mgmt-ipv4: here}\n",
		"name: x\ntopology:\n  nodes:\n    a:\n      labels:\n        whichlink.loopback: 10.0.0\n",
		"name: x\ntopology:\n  nodes:\n    a: {labels: [whichlink.role]}\n",
		"name: x\ntopology:\n  nodes:\n    a: &a\n      <<: *a\n",
		head + "    endpoints: [a:1, b:1]\n",
		head + "    - endpoints: [a:1]\n", head + "    - endpoints: a:1\n", head + "    - [a:1, b:1]\n",
		head + "    - endpoints: [a, b:1]\n", head + "    - endpoints: [{node: a}, b:1]\n", head + "    - endpoints: [[a], b:1]\n",
		head + "    - endpoints: [a:1, c:1]\n", head + "    - endpoints: [a:1, a:2]\n",
		head + "    - endpoints: [a:1, b:1]\n    - endpoints: [b:1, a:2]\n",
		head + "    - {type: pigeon, endpoints: [a:1, b:1]}\n",
		head + "    - endpoints: [a:1, b:1]\n      vars: {speed: fast}\n",
		head + "    - endpoints: [a:1, b:1]\n      vars:\n        ipv4: 10.0.0.0/31\n",
		head + "    - endpoints: [a:1, b:1]\n      vars:\n        ipv4: [10.0.0.0, 10.0.0.1/31]\n",
		head + "    - endpoints: [a:1, b:1]\n      ipv6: [10.0.0.0/31]\n",
		head + "    - endpoints: [a:1, b:1]\n      ipv4: [10.0.0.0/31, 10.0.0.1/31, 10.0.0.2/31]\n",
		head + "    - endpoints: [a:1, b:1]\n      ipv4: [10.0.0.0/31, 10.0.0.0/31]\n",
		head + "    - endpoints: [a:1, b:1]\n      vars: {group: {a: b}}\n",
		"u v\nv w\nw\n", "u->v\nv->u->w\n", "u v\nu u\n", "u->v\nv->\x1b[31mw\n",
	} {
		f, err := Read(strings.NewReader(text), "f.clab.yml")
		if err == nil {
			t.Errorf("%q is read without an error: %s", text, f.Fabric)
			continue
		}
		var at *Error
		if !errors.As(err, &at) {
			t.Errorf("%q: error %v has no place", text, err)
		}
		seems, _, _ := strings.Cut(err.Error(), "; expected one of: lldp") // what follows grows with every format
		fmt.Fprintln(&got, seems)
	}
	golden(t, "testdata/errors.golden", got.String())
}

func TestTooLarge(t *testing.T) {
	_, err := Read(endless{}, "zeros")
	if !errors.Is(err, ErrTooLarge) {
		t.Errorf("got %v", err)
	}
}

// Files that fit one by one may be too large together.
func TestTooLargeTogether(t *testing.T) {
	zeros := filepath.Join(t.TempDir(), "zeros")
	if err := os.WriteFile(zeros, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(zeros, MaxSize/2+1); err != nil {
		t.Fatal(err)
	}
	if _, err := Import("", zeros, zeros); !errors.Is(err, ErrTooLarge) {
		t.Errorf("Import: %v", err)
	}
	if _, err := Observe(nil, zeros, zeros); !errors.Is(err, ErrTooLarge) {
		t.Errorf("Observe: %v", err)
	}
}

// What could not be read again is not written.
func TestTooLargeToWrite(t *testing.T) {
	groups := make([]string, 300)
	for i := range groups {
		groups[i] = fmt.Sprintf("%0*d", graphs.MaxName, i)
	}
	b := graphs.Builder{Name: "large"}
	for _, name := range []string{"a", "b"} {
		if _, err := b.AddNode(graphs.Node{Name: name}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range MaxSize/(len(groups)*graphs.MaxName) + 1 {
		if _, err := b.AddLink(graphs.End{Node: 0, Port: fmt.Sprint(i)}, graphs.End{Node: 1, Port: fmt.Sprint(i)}, 0, groups...); err != nil {
			t.Fatal(err)
		}
	}
	f, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := WriteFabric(&out, f); !errors.Is(err, ErrTooLarge) || out.Len() > 0 {
		t.Errorf("got %v, and %d bytes", err, out.Len())
	}
}

type endless struct{}

func (endless) Read(b []byte) (int, error) { return len(b), nil }

func TestReadEdgeList(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"0->1\n1->2\n0->1\n", "0:p1--1:p1 1:p2--2:p1 0:p2--1:p3"},
		{"# netbench\n|V|=3\nToRs=incl_range(0,2)\n\n0 1\n1 0\n1 2\n2 1\n", "0:p1--1:p1 1:p2--2:p1"},
		{"sw1 sw2\r\nsw2 sw1\r\nsw2 sw1", "sw1:p1--sw2:p1 sw2:p2--sw1:p2"},
	} {
		f, err := Read(strings.NewReader(c.text), "dir/some.edgelist")
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		var links []string
		for l := range graphs.LinkID(f.Fabric.NumLinks()) {
			links = append(links, f.Fabric.LinkName(l))
		}
		if got := strings.Join(links, " "); got != c.want || f.Fabric.Name() != "some" {
			t.Errorf("%q: got %s %s, want %s", c.text, f.Fabric.Name(), got, c.want)
		}
	}
}

func TestSpeed(t *testing.T) {
	for word, want := range map[string]string{"100G": "100G", "400000000000": "400G", "2.5g": "2500M", "1T": "1T", "0": "0", "1500": "1500", "56K": "56K"} {
		s, err := ParseSpeed(word)
		if err != nil || FormatSpeed(s) != want {
			t.Errorf("%s: got %s, %v, want %s", word, FormatSpeed(s), err, want)
		}
	}
	for _, word := range []string{"", "G", "-1G", "1e9", "fast", "inf", "NaN", "99999999999T", "0x10", "1_000"} {
		if s, err := ParseSpeed(word); err == nil {
			t.Errorf("%q: got %d, want an error", word, s)
		}
	}
}

// What is written is read back as the same fabric, whatever it is.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawFabric(t)
		var text bytes.Buffer
		if err := WriteFabric(&text, f); err != nil {
			t.Fatal(err)
		}
		back, err := Read(bytes.NewReader(text.Bytes()), "x")
		if err != nil {
			t.Fatalf("%v\n%s", err, text.String())
		}
		if d := cmp.Diff(describe(f), describe(back.Fabric)); d != "" {
			t.Fatalf("%s\n%s", d, text.String())
		}
	})
}

func drawFabric(t *rapid.T) *graphs.Fabric {
	name := rapid.OneOf(
		rapid.StringMatching(`[a-z][a-z0-9._-]{0,8}`),
		rapid.SampledFrom([]string{"1", "0x1f", "true", "null", "~", "<<", "*a", "&a", "- x", "#", "a b", "é", "{", "'", `"`, "1:2", "2026-11-20", "host",
			"No", strings.Repeat("long, ", 30) + "name", strings.Repeat("\ue000", 80)}),
		rapid.String().Filter(func(s string) bool { return s != "" && strings.TrimSpace(s) == s && graphs.Clean(s) == s }),
	)
	nodeName := name.Filter(func(s string) bool { return !strings.ContainsAny(s, ":>") })
	portName := name.Filter(func(s string) bool { return !strings.Contains(s, ">") })
	b := &graphs.Builder{Name: name.Draw(t, "name")}
	names := rapid.SliceOfNDistinct(nodeName, 1, 6, rapid.ID[string]).Draw(t, "nodes")
	for i, s := range names {
		n := graphs.Node{
			Name:  s,
			Role:  graphs.Role(rapid.SampledFrom([]string{"", "host", "tor", "my role"}).Draw(t, "role")),
			Kind:  rapid.SampledFrom([]string{"", "linux", "nokia_srlinux", "007"}).Draw(t, "kind"),
			Model: rapid.SampledFrom([]string{"", "ecmp", "su:2"}).Draw(t, "model"),
		}
		if rapid.Bool().Draw(t, "loopback") {
			n.Loopback = []netip.Addr{netip.AddrFrom4([4]byte{10, 255, 0, byte(i)}), netip.MustParseAddr(fmt.Sprintf("fd00::%d", i+1))}
		}
		if rapid.Bool().Draw(t, "management") {
			n.Management = netip.AddrFrom4([4]byte{172, 20, 0, byte(i)})
		}
		if _, err := b.AddNode(n); err != nil {
			t.Fatal(err)
		}
	}
	if len(names) == 1 {
		return build(t, b)
	}
	for i := range rapid.IntRange(0, 8).Draw(t, "links") {
		u := rapid.IntRange(0, len(names)-1).Draw(t, "u")
		v := (u + rapid.IntRange(1, len(names)-1).Draw(t, "v")) % len(names)
		ends := [2]graphs.End{{Node: graphs.NodeID(u)}, {Node: graphs.NodeID(v)}}
		for k := range ends {
			ends[k].Port = fmt.Sprint(portName.Draw(t, "port"), "/", i)
			if rapid.Bool().Draw(t, "ipv4") {
				ends[k].Prefixes = append(ends[k].Prefixes, netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 64, byte(i), byte(k)}), 31))
			}
			if rapid.Bool().Draw(t, "ipv6") {
				ends[k].Prefixes = append(ends[k].Prefixes, netip.PrefixFrom(netip.MustParseAddr(fmt.Sprintf("fd00:64::%d%d", i+1, k)), 127))
			}
		}
		groups := rapid.SliceOfN(name, 0, 3).Draw(t, "groups")
		speed := rapid.SampledFrom([]graphs.BitsPerSecond{0, 1, 1500, 25e9, 100e9, 1600e9}).Draw(t, "speed")
		if _, err := b.AddLink(ends[0], ends[1], speed, groups...); err != nil {
			t.Fatal(err)
		}
	}
	return build(t, b)
}

func build(t *rapid.T, b *graphs.Builder) *graphs.Fabric {
	f, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestWriteFile(t *testing.T) {
	f, err := generate.RandomRegular(generate.RandomRegularConfig{Switches: 4, Degree: 2, Hosts: 1, Seed: 1, IPv6: true})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "f.clab.yml")
	if err := WriteFile(path, f); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/rr4d2.clab.yml", string(text))
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
	if err := WriteFile(filepath.Join(dir, "no", "f"), f); err == nil {
		t.Error("no error from a directory that does not exist")
	}
}

func FuzzRead(f *testing.F) {
	small, err := os.ReadFile("testdata/small.clab.yml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(small)
	f.Add([]byte("0->1\n1 0\n"))
	f.Add([]byte("topology: {nodes: &a {x: {<<: *a}}}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		file, err := Read(bytes.NewReader(text), "x")
		if err != nil {
			return
		}
		if s := strings.Join(file.Notes, " "); graphs.Clean(s[:min(len(s), graphs.MaxName)]) != s[:min(len(s), graphs.MaxName)] {
			t.Errorf("notes are not clean: %q", s)
		}
		var out bytes.Buffer
		if err := WriteFabric(&out, file.Fabric); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(&out, "x"); err != nil {
			t.Fatalf("what was written cannot be read: %v", err)
		}
	})
}
