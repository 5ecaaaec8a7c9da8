package captures

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"whichlink/captures/files"
	"whichlink/captures/frames"
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
	showsPackets(t, captured(t, w.sent), r)
	return r
}

// counted returns how many packets of a capture each of several display filters shows.
func counted(t *testing.T, capture string, filters []string) []int {
	t.Helper()
	tshark, err := exec.LookPath("tshark")
	if err != nil {
		t.Skip("display filters are tried by tshark, which is not here: apt-get install tshark")
	}
	out, err := exec.Command(tshark, "-r", capture, "-q", "-z", "io,stat,0,"+strings.Join(filters, ",")).Output()
	if err != nil {
		t.Fatalf("tshark: %v", err)
	}
	for line := range strings.Lines(string(out)) {
		// | Interval | Frames | Bytes | of the first filter, then of the second, and so on
		cells := strings.Split(line, "|")
		if !strings.Contains(line, "<>") || len(cells) < 3+2*len(filters) {
			continue
		}
		n := make([]int, len(filters))
		for i := range n {
			if n[i], err = strconv.Atoi(strings.TrimSpace(cells[2+2*i])); err != nil {
				t.Fatalf("tshark counts %q: %v", line, err)
			}
		}
		return n
	}
	t.Fatalf("tshark counts nothing:\n%s", out)
	return nil
}

// captured writes packets to a file and returns its name.
func captured(t testing.TB, packets []files.Packet) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "packets.pcapng")
	out, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	s := NewSlice(out, Choice{}, nil)
	for i := range packets {
		if err := s.Add(&packets[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestTapFilters counts by tshark what the filters of findings between two taps show: of a flow's in each capture the packets that it has of it, of the
// others those that they tell of. Flow 10000 is a black hole, and each capture drops sixty packets in a row.
func TestTapFilters(t *testing.T) {
	a, b, _ := playTaps(2, true)
	gone := func(p files.Packet) bool {
		return binary.BigEndian.Uint16(p.Data[20:]) == 10_000 || binary.BigEndian.Uint16(p.Data[22:]) == 10_000
	}
	a = slices.DeleteFunc(a, func(p files.Packet) bool { return gone(p) && p.Data[15] == 2 }) // nobody answers
	b = slices.DeleteFunc(b, gone)
	for _, packets := range [][]files.Packet{a, b} {
		slices.SortStableFunc(packets, func(x, y files.Packet) int { return cmp.Compare(x.Time, y.Time) })
	}
	ta, tb := tapOf("a", slices.Delete(a, 20_000, 20_060)), tapOf("b", slices.Delete(b, 40_000, 40_060))
	a, b = a[:len(a)-60], b[:len(b)-60]
	r, findings, err := CompareTaps(context.Background(), ta, tb, 0, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{}
	findings = slices.DeleteFunc(findings, func(f Finding) bool { // two of each kind are enough
		kinds[f.Finding]++
		return kinds[f.Finding] > 2
	})
	filters := make([]string, len(findings))
	for i := range findings {
		filters[i] = findings[i].Filter
	}
	shows := [2][]int{counted(t, captured(t, a), filters), counted(t, captured(t, b), filters)}
	for i, f := range findings {
		n := [2]int{shows[0][i], shows[1][i]}
		of := slices.IndexFunc(r.Flows, func(x TapFlow) bool { return flowName(x.Flow) == f.Subject })
		switch f.Finding {
		case "tap-marked":
			// What was marked between them is so at the farther tap only.
			if far := n[1-index01(r.Flows[of].First == "b")]; far != int(f.Count) || n[0]*n[1] != 0 {
				t.Errorf("%s shows %d packets, want %d at the farther tap", f.Filter, n, f.Count)
			}
		case "tap-black-hole", "tap-loss", "tap-missed":
			for tap, name := range [2]string{"a", "b"} {
				if want := int(r.Flows[of].Packets[tap]); n[tap] < want || n[tap] > want+int(r.Copies[tap]) {
					t.Errorf("%s: %s shows %d packets at %s, want %d and copies", f.Finding, f.Filter, n[tap], name, want)
				}
			}
		case "tap-dropped":
			if far := n[index01(f.Subject == "a")]; far < int(f.Count) || far > 2*int(f.Count) {
				t.Errorf("%s of %s: %s shows %d packets, want %d and few of its other losses", f.Finding, f.Subject, f.Filter, n, f.Count)
			}
		default:
			if n[0] == 0 || n[1] == 0 {
				t.Errorf("%s: %s shows %d packets", f.Finding, f.Filter, n)
			}
		}
	}
	if want := []string{"tap-black-hole", "tap-clock", "tap-copies", "tap-dropped", "tap-loss", "tap-marked", "tap-missed"}; !slices.Equal(slices.Sorted(maps.Keys(kinds)), want) || kinds["tap-dropped"] != 2 {
		t.Errorf("findings %v, want of each of %v, and tap-dropped of both", kinds, want)
	}
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

// TestOthers holds that a finding which sums up the rest of its kind does not show the packets of the last that was told singly.
func TestOthers(t *testing.T) {
	const name = permitted + "/generated.pcap.gz"
	_, r := analyse(t, Config{MaxFindings: 1}, name)
	var filters []string
	for _, f := range r.Findings {
		if f.least == 0 {
			continue
		}
		if strings.Contains(f.Filter, "src ==") {
			t.Errorf("%s, %s: %s", f.Finding, f.Subject, f.Filter)
		}
		if f.Filter != "" {
			filters = append(filters, f.Filter)
		}
	}
	if len(filters) < 4 {
		t.Fatalf("the others have filters %q", filters)
	}
	for i, n := range counted(t, name, filters) {
		if n == 0 {
			t.Errorf("%s shows no packets", filters[i])
		}
	}
}

// TestRoCEv1Filter tries the filter of a gap in RoCE of the first version, which has neither IP nor UDP.
func TestRoCEv1Filter(t *testing.T) {
	a := New(Config{})
	var sent []files.Packet
	for i, psn := range []byte{1, 2, 5} {
		b := []byte{2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x89, 0x15}
		b = append(b, 0x60, 0, 0, 0, 0, 12+16+4, 0x1b, 64) // global route header
		b = append(b, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 1)
		b = append(b, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 2)
		b = append(b, frames.SendOnly, 0x40, 0xff, 0xff, 0, 0, 1, 0x0a, 0, 0, 0, psn)
		b = append(b, make([]byte, 16+4)...)
		sent = append(sent, files.Packet{Time: 1e18 + int64(i)*1e6, Link: files.Ethernet, Orig: len(b), Data: b})
		a.Add(&sent[i])
	}
	r := a.Report(&files.Stats{Name: "v1"})
	if len(r.Findings) != 1 || r.Findings[0].Finding != "roce-loss-before" {
		t.Fatalf("%+v", r.Findings)
	}
	if n := counted(t, captured(t, sent), []string{r.Findings[0].Filter}); n[0] != len(sent) {
		t.Errorf("%s shows %d packets, want %d", r.Findings[0].Filter, n[0], len(sent))
	}
}
