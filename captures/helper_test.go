package captures

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"whichlink/captures/files"
)

const (
	permitted = "../testdata/captures"
	// shared holds captures that may not be handed on and the generator, beside the repository; tests that want them skip without.
	shared = "../../shared"
)

// analyse reads a capture and reports on it.
func analyse(t testing.TB, cfg Config, names ...string) (*Analyzer, *Report) {
	t.Helper()
	var opened []*files.File
	var stats []*files.Stats
	for _, name := range names {
		in, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		f, err := files.Open(filepath.Base(name), in, 0)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		defer f.Close()
		opened, stats = append(opened, f), append(stats, &f.Stats)
	}
	a := New(cfg)
	feed(t, a, files.Merge(opened...))
	return a, a.Report(stats...)
}

func feed(t testing.TB, a *Analyzer, source files.Source) {
	t.Helper()
	var packets [64]files.Packet
	for {
		n, err := files.Read(source, packets[:])
		a.AddAll(packets[:n])
		if err != nil {
			if !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
			return
		}
	}
}

// analyseBytes reads a capture from memory as far as it goes.
func analyseBytes(data []byte) *Report {
	a := New(Config{})
	f, err := files.Open("bytes", bytes.NewReader(data), 4096)
	if err != nil {
		return a.Report(&files.Stats{Name: "bytes", Err: err})
	}
	defer f.Close()
	for p := (files.Packet{}); f.Next(&p) == nil; {
		a.Add(&p)
	}
	return a.Report(&f.Stats)
}

// A truth is what pcapgen says of a file that it wrote.
type truth struct {
	Packets int64            `json:"packets"`
	Bytes   int64            `json:"bytes_on_wire"`
	TCP     int              `json:"tcp_flows"`
	QPs     int              `json:"roce_qps"`
	Counts  map[string]int64 `json:"counts"`
}

func readTruth(t testing.TB, name string) truth {
	t.Helper()
	var tr truth
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &tr); err != nil {
		t.Fatal(err)
	}
	return tr
}

// generator builds pcapgen, or skips.
func generator(t testing.TB) string {
	t.Helper()
	source := filepath.Join(shared, "tools", "pcapgen")
	if _, err := os.Stat(source); errors.Is(err, fs.ErrNotExist) {
		t.Skip("the generator of captures, ../shared/tools/pcapgen, is not beside the repository")
	}
	program := filepath.Join(t.TempDir(), "pcapgen")
	build := exec.Command("go", "build", "-o", program, ".")
	build.Dir = source
	build.Env = append(os.Environ(), "GOFLAGS=-buildvcs=false -mod=mod", "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build pcapgen: %v\n%s", err, out)
	}
	return program
}

// generate writes a capture with a seed and returns its name; the truth lies beside it.
func generate(t testing.TB, program string, seed int, arguments ...string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "gen.pcap")
	if out, err := exec.Command(program, append([]string{"-o", name, "-seed", strconv.Itoa(seed)}, arguments...)...).CombinedOutput(); err != nil {
		t.Fatalf("pcapgen: %v\n%s", err, out)
	}
	return name
}
