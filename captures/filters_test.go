package captures

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"whichlink/captures/files"
)

// shown holds the kinds of findings of which a filter was tried: tshark takes its time.
var shown sync.Map

// showsPackets holds that the display filters of findings show packets of a capture, as far as tshark is here to say.
func showsPackets(t testing.TB, capture string, r *Report) {
	t.Helper()
	tshark, err := exec.LookPath("tshark")
	if err != nil {
		t.Log("no tshark, so that display filters are not tried: apt-get install tshark")
		return
	}
	for _, f := range r.Findings {
		if _, tried := shown.LoadOrStore(f.Finding, true); tried {
			continue
		}
		cmd := exec.Command(tshark, "-r", capture, "-Y", f.Filter, "-T", "fields", "-e", "frame.number")
		var said bytes.Buffer
		cmd.Stderr = &said
		out, err := cmd.Output()
		if err != nil || strings.Count(string(out), "\n") == 0 {
			t.Errorf("%s: the filter shows no packets: %s\n%v %s", f.Finding, f.Filter, err, said.String())
		}
	}
}

// Add keeps the packets that a wire makes, for tshark.
func (w *wire) Add(p *files.Packet) {
	kept := *p
	kept.Data = bytes.Clone(p.Data)
	w.sent = append(w.sent, kept)
	w.Analyzer.Add(p)
}

// report reports, and tries the filters of what was found.
func (w *wire) report(t testing.TB) *Report {
	t.Helper()
	r := w.Report()
	if len(r.Findings) == 0 {
		return r
	}
	name := filepath.Join(t.TempDir(), "wire.pcapng")
	out, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	s := NewSlice(out, Choice{}, nil)
	for i := range w.sent {
		if err := s.Add(&w.sent[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	showsPackets(t, name, r)
	return r
}

// TestFilters tries the filters of what is found in the captures of the repository.
func TestFilters(t *testing.T) {
	if _, err := exec.LookPath("tshark"); err != nil {
		t.Skip("display filters are tried by tshark, which is not here: apt-get install tshark")
	}
	names, err := filepath.Glob(permitted + "/*.pcap*")
	if err != nil || len(names) == 0 {
		t.Fatal("no captures", err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, ".json") {
			continue
		}
		_, r := analyse(t, Config{}, name)
		showsPackets(t, name, r)
	}
}
