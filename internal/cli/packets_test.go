package cli

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"whichlink/internal/evidence"
	"whichlink/tui"
)

// The packets behind a finding are found in the capture that the evidence names, wherever it lies now, and nothing is run unasked.
func TestPacketStore(t *testing.T) {
	const capture = "../../testdata/captures/generated.pcap.gz"
	dir := t.TempDir()
	bytesOf, err := os.ReadFile(capture)
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(dir, "generated.pcap.gz")
	if err := os.WriteFile(copied, bytesOf, 0o600); err != nil {
		t.Fatal(err)
	}
	e := &env{stdin: strings.NewReader(""), stdout: io.Discard, stderr: io.Discard}
	a, r, err := e.report(t.Context(), []string{copied})
	if err != nil {
		t.Fatal(err)
	}
	var findings []*evidence.Record
	err = a.Evidence(r, "/somewhere/else/generated.pcap.gz", func(x *evidence.Record) error {
		if x.Kind == evidence.KindFinding {
			findings = append(findings, x)
		}
		return nil
	})
	if err != nil || len(findings) < 10 {
		t.Fatal(len(findings), err)
	}
	p := newPacketStore(e, []string{filepath.Join(dir, "evidence.jsonl")})
	for _, x := range findings[:3] {
		got, err := p.Packets(t.Context(), x)
		if err != nil {
			t.Fatal(err)
		}
		if got.Total < 10 || int64(len(got.Lines)) != got.Total || got.Lines[0].File != "generated.pcap.gz" {
			t.Errorf("%s %s has %d packets, %d listed", x.Finding, x.Subject, got.Total, len(got.Lines))
		}
		if !strings.Contains(x.Subject, got.Lines[0].Src) || !slices.IsSortedFunc(got.Lines, func(a, b tui.Packet) int { return a.Time.Compare(b.Time) }) {
			t.Errorf("%s: the first packet is %+v", x.Subject, got.Lines[0])
		}
	}
	if v, err := p.Viewer(findings[0]); err == nil && (v.Words[len(v.Words)-1] != findings[0].Filter || !filepath.IsAbs(v.Words[3])) {
		t.Errorf("the viewer is %q", v.Words)
	}
	gone := *findings[0]
	gone.By = "gone.pcap\x1b[2J"
	if _, err := p.Packets(t.Context(), &gone); err == nil || strings.Contains(err.Error(), "\x1b") {
		t.Errorf("of a capture that is gone: %v", err)
	}
	other := *findings[0]
	other.Subject = "10.0.0.1>10.0.0.2"
	if _, err := p.Packets(t.Context(), &other); err == nil {
		t.Error("packets of what the capture does not say")
	}
}

// Captures are told from evidence by their beginning, whatever their names are.
func TestIsCapture(t *testing.T) {
	dir := t.TempDir()
	plain := filepath.Join(dir, "a.pcap")
	if err := os.WriteFile(plain, []byte(`{"v":1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{
		"../../testdata/captures/generated.pcap.gz": true, "../../testdata/captures/zeek__lldp.pcap": true, "../../testdata/captures/ppp__pcapng-example.pcapng.zst": true,
		"../../testdata/drill/evidence.jsonl": false, plain: false, dir: false, filepath.Join(dir, "none"): false,
	} {
		if got := isCapture(name); got != want {
			t.Errorf("%s: a capture: %v", name, got)
		}
	}
}

// Captures are opened like evidence: with a fabric what they lost stands on its arcs, without one their findings stand alone.
func TestOpenCaptures(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	for _, args := range [][]string{{}, {"--fabric", "../../testdata/drill/fabric.clab.yml"}} {
		var out, errs bytes.Buffer
		code := Main(t.Context(), append(args, "../../testdata/captures/generated.pcap.gz"), strings.NewReader(""), &out, &errs, os.DirFS("../.."))
		if code != 0 || !strings.Contains(out.String(), "roce-nak") && !strings.Contains(out.String(), "NAKs for a packet out of sequence") {
			t.Errorf("%v ends with %d:\n%s%s", args, code, &out, &errs)
		}
	}
	if left, _ := os.ReadDir(os.Getenv("TMPDIR")); len(left) > 0 {
		t.Errorf("%s is left behind", left[0].Name())
	}
}
