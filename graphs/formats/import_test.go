package formats

import (
	"bytes"
	"compress/gzip"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"whichlink/graphs"
)

// What every one of the files is recognised as, though none is named, and how many nodes and links it makes; or why it makes none.
func TestRecognise(t *testing.T) {
	type row struct {
		format       string
		nodes, links int
		wrong        string
	}
	unknown := row{wrong: "; expected one of: "}
	want := map[string]row{
		"MANIFEST.md":                               {},
		"batfish/asymmetric.json":                   {"batfish", 4, 2, ""},
		"batfish/evpn-type5.json":                   {"batfish", 8, 15, ""},
		"containerlab/br01.clab.yml":                {"containerlab", 4, 3, ""},
		"containerlab/clos01.clab.yml":              {"containerlab", 5, 4, ""},
		"containerlab/link-vars.clab.yml":           {"containerlab", 3, 4, ""},
		"containerlab/mgmt-net.clab.yml":            {"containerlab", 1, 0, ""},
		"containerlab/nrx-dc1.clab.yaml":            {"containerlab", 11, 12, ""},
		"containerlab/templated01.clab.gotmpl":      {wrong: "templated01.clab.gotmpl:12: {{: a template, which must be rendered first"},
		"containerlab/tools-veth.clab.yaml":         {"containerlab", 2, 0, ""},
		"lldpctl/l1.json":                           {"lldp", 3, 2, ""},
		"lldpctl/l1.json0":                          {"lldp", 3, 2, ""},
		"lldpctl/l1.keyvalue":                       {"lldp", 3, 2, ""},
		"lldpctl/l1.xml":                            {"lldp", 3, 2, ""},
		"lldpctl/s1.json":                           {"lldp", 3, 2, ""},
		"lldpctl/s1.json0":                          {"lldp", 3, 2, ""},
		"lldpctl/s1.keyvalue":                       {"lldp", 3, 2, ""},
		"lldpctl/s1.xml":                            {"lldp", 3, 2, ""},
		"lldpctl/s2.json":                           {"lldp", 3, 2, ""},
		"lldpctl/s2.json0":                          {"lldp", 3, 2, ""},
		"lldpctl/s2.keyvalue":                       {"lldp", 3, 2, ""},
		"lldpctl/s2.xml":                            {"lldp", 3, 2, ""},
		"lldpctl/s2-no-neighbor.json":               {"lldp", 1, 0, ""},
		"lldpctl/s2-one-neighbor.json":              {"lldp", 2, 1, ""},
		"nvidia-air/air-topology.dot":               {"dot", 17, 140, ""},
		"nvidia-air/nrx-air.json":                   {"air", 10, 24, ""},
		"paths/dring_40_32.edgelist":                {"edgelist", 40, 264, ""},
		"paths/fat_tree_k16.topology":               {"edgelist", 320, 2048, ""},
		"paths/ls_40_32.edgelist":                   {"edgelist", 40, 256, ""},
		"paths/rrg_40_32.edgelist":                  {"edgelist", 40, 256, ""},
		"paths/xpander_n216_d11.topology":           {"edgelist", 216, 1188, ""},
		"paths/dring_40_32.su2.np.gz":               unknown,
		"paths/ls_40_32.ecmp.np.gz":                 unknown,
		"paths/rrg_40_32.su2.np.gz":                 unknown,
		"ptm-dot/cldemo.dot":                        {"dot", 16, 47, ""}, // 59 edges, 12 of which join a switch to itself
		"ptm-dot/ptm-sample.dot":                    {"dot", 2, 4, ""},
		"sonic-mgmt/topo_t0-64.yml":                 {wrong: "topology has no key nodes"},
		"suzieq-lldp/cumulus-dual-evpn.lldp.output": {"lldp", 10, 20, ""},
		"suzieq-lldp/eos.lldp.output":               {"lldp", 9, 18, ""},
		"suzieq-lldp/eos.ifCounters.output":         unknown,
		"suzieq-lldp/expected-cumulus-lldp.yml":     unknown,
		"suzieq-lldp/expected-eos-lldp.yml":         unknown,

		"graphml/Abilene.graphml":                               {"graphml", 11, 14, ""},
		"graphml/Geant2012.graphml":                             {"graphml", 40, 61, ""},
		"ibnetdiscover/ibsim-8leaf-4spine-96node.ibnetdiscover": {"ibnetdiscover", 108, 160, ""},
		"ibnetdiscover/ibsim-8leaf-4spine-96node.net":           {"ibnetdiscover", 108, 160, ""},
		"ibnetdiscover/ibsim-8leaf-4spine-96node.ports":         {"ibnetdiscover", 108, 160, ""},
		"netbox/nrx-air-nb_05_devices.csv":                      {"netbox", 10, 0, ""},
		"netbox/nrx-air-nb_06_cables.csv":                       {"netbox", 10, 24, ""},
		"netbox/nrx-colo-nb_05_devices.csv":                     {"netbox", 4, 0, ""},
		"netbox/nrx-colo-nb_06_cables.csv":                      {"netbox", 2, 5, ""},
		"netbox/nrx-dc1-nb_05_devices.csv":                      {"netbox", 10, 0, ""},
		"netbox/nrx-dc1-nb_06_cables.csv":                       {"netbox", 10, 12, ""},
		"netbox/nrx-dc2-nb_05_devices.csv":                      {"netbox", 10, 0, ""},
		"netbox/nrx-dc2-nb_06_cables.csv":                       {"netbox", 10, 12, ""},
		"slurm/testcase3-topology.conf":                         {"slurm", 423, 422, ""},
		"slurm/topology.yaml.5":                                 unknown,
		"sonic-mgmt/minigraph-SONIC01DPU.xml":                   {"sonic", 2, 2, ""},
		"sonic-mgmt/sonic_lab_devices.csv":                      {"sonic", 20, 0, ""},
		"sonic-mgmt/sonic_snappi-sonic_links.csv":               {"sonic", 3, 8, ""},
	}
	if _, err := os.Stat(realFiles); err != nil {
		t.Skipf("the files are not part of this repository: %v", err)
	}
	err := filepath.WalkDir(realFiles, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, _ := filepath.Rel(realFiles, path)
		w, ok := want[name]
		if !ok {
			t.Errorf("%s is not in the table", name)
			return nil
		}
		f, err := ReadFile(path)
		switch {
		case name == "MANIFEST.md":
		case w.wrong != "":
			if err == nil || !strings.Contains(err.Error(), w.wrong) {
				t.Errorf("%s: got %v, want an error with %q", name, err, w.wrong)
			}
		case err != nil:
			t.Error(err)
		case row{f.Format, f.Fabric.NumNodes(), f.Fabric.NumLinks(), ""} != w:
			t.Errorf("%s: got %s, %s, want %v", name, f.Format, f.Fabric, w)
		default:
			roundTrip(t, name, f.Fabric)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// roundTrip writes a fabric and reads it again: it must be the same.
func roundTrip(t *testing.T, name string, f *graphs.Fabric) {
	t.Helper()
	var text bytes.Buffer
	if err := WriteFabric(&text, f); err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	back, err := Read(&text, "x")
	if err != nil {
		t.Errorf("%s: what was written cannot be read: %v", name, err)
		return
	}
	if d := cmp.Diff(describe(f), describe(back.Fabric)); d != "" {
		t.Errorf("%s: %s", name, d)
	}
}

func TestImport(t *testing.T) {
	dir := t.TempDir()
	put := func(name string, text []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	pack := func(text []byte) []byte {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		w.Write(text)
		w.Close()
		return b.Bytes()
	}
	edges := put("edges.txt", []byte("a b\nb c\n"))
	dot := put("x.dot", []byte("graph { a -- b }"))
	packed := put("packed.dot.gz", pack([]byte("graph { a -- b -- c }")))
	bomb := put("bomb.gz", pack(make([]byte, MaxSize+1)))
	cut := put("cut.gz", pack([]byte("graph { a -- b }"))[:20])
	half := bytes.Repeat([]byte("# \n"), MaxSize/5)
	first, second := put("first.dot", half), put("second.dot", half)
	for _, c := range []struct {
		format string
		paths  []string
		want   string // the fabric, or a part of the error
	}{
		{"", []string{edges}, "edges (3 nodes, 2 links)"},
		{"", []string{packed}, "packed (3 nodes, 2 links)"},
		{"edgelist", []string{packed}, `packed.dot.gz:1: "graph { a -- b -- c }", expected two nodes`},
		{"dot", []string{edges}, `edges.txt:1: "a", expected graph { ... }`},
		{"", []string{edges, dot}, "the files are of different formats: " + edges + " is edgelist, " + dot + " is dot"},
		{"", []string{dot, dot}, "2 files given, and this format has one"},
		{"", []string{bomb}, "bomb.gz: larger than 64 MiB"},
		{"", []string{cut}, "cut.gz: the file is cut short"},
		{"", []string{first, second}, "second.dot: together with the files before it larger than 64 MiB"},
		{"", []string{filepath.Join(dir, "none")}, "no such file"},
		{"pdf", []string{edges}, `no format is called "pdf", expected lldp, dot, `},
		{"", nil, "no file given"},
	} {
		f, err := Import(c.format, c.paths...)
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			got = f.Fabric.String()
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%s %v: got %s, want %s", c.format, c.paths, got, c.want)
		}
	}
}

// Every format says in the error about unknown files what it is.
func TestAbout(t *testing.T) {
	for _, name := range Names() {
		if about[name] == "" {
			t.Errorf("%s says nothing about itself", name)
		}
	}
}
