package captures

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"whichlink/captures/frames"
)

// TestPage writes a page of a capture with a name that is not to be trusted: it is escaped, and nothing is fetched.
func TestPage(t *testing.T) {
	w := newWire()
	w.Analyzer = New(Config{Series: true})
	w.open()
	for i := range uint32(400) {
		if i%50 != 7 {
			w.data(5_000_000, 100+10*i)
		}
		w.ack(20_000, 110+10*i)
	}
	w.tcp(0, false, frames.FIN|frames.ACK, 4100, 500, 0)
	r := w.Report()
	r.Findings = append(r.Findings, Finding{Severity: Info, Subject: `<script>alert("x")</script>`, Filter: `a && b < "c"`})
	for i := range int64(30) {
		r.Findings = append(r.Findings, Finding{Finding: "many", Severity: Warning, Subject: "one of many", Count: i})
	}
	var b strings.Builder
	if err := WritePage(&b, r, w.Series(), "leaf1<b>"); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	for _, not := range []string{"<script", "http:", "https:", "leaf1<b>", "src="} {
		if strings.Contains(page, not) {
			t.Errorf("the page holds %q", not)
		}
	}
	for _, want := range []string{"<svg", "throughput", "mean round trip", "&lt;script&gt;", "a &amp;&amp; b &lt;", "many <span class=\"soft\">(30)", "<summary>27 more"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	for d := xml.NewDecoder(strings.NewReader(page[strings.Index(page, "<svg") : strings.Index(page, "</svg>")+6])); ; {
		if _, err := d.Token(); err != nil {
			if !errors.Is(err, io.EOF) {
				t.Error(err)
			}
			break
		}
	}
}

// TestSeries widens bins and loses nothing of what they count.
func TestSeries(t *testing.T) {
	w := newWire()
	w.Analyzer = New(Config{Series: true})
	w.open()
	for i := range uint32(3000) {
		w.data(int64(i)*3000, 100+10*i)
	}
	s := w.Series()
	sum := int64(0)
	for _, b := range s.Bins {
		sum += b.Packets
	}
	last := w.last - s.From
	if n := int64(len(s.Bins)); sum != w.packets || n > seriesBins || n < seriesBins/2 || last/s.Width != n-1 {
		t.Errorf("%d packets of %d in %d bins of %d ns", sum, w.packets, n, s.Width)
	}
}
