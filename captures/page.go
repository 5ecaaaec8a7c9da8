package captures

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"time"

	"whichlink/internal/page"
)

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// A chart is one drawing of a page.
type chart struct {
	Name, Most string
	Columns    int
	Path       string
}

// A group is the findings of one kind, the worst first. More holds those that are not shown at once.
type group struct {
	Finding     string
	Severity    Severity
	Rule        string
	Count       int
	Shown, More []Finding
}

// shownAtOnce is how many findings of one kind a page shows at once.
const shownAtOnce = 3

// grouped puts findings of one kind together, where the first of them stands.
func grouped(findings []Finding) []group {
	var out []group
	for _, f := range findings {
		i := slices.IndexFunc(out, func(g group) bool { return g.Finding == f.Finding && g.Severity == f.Severity && g.Rule == f.Rule })
		if i < 0 {
			i = len(out)
			out = append(out, group{Finding: f.Finding, Severity: f.Severity, Rule: f.Rule})
		}
		g := &out[i]
		g.Count++
		if len(g.Shown) < shownAtOnce {
			g.Shown = append(g.Shown, f)
		} else {
			g.More = append(g.More, f)
		}
	}
	return out
}

// WritePage writes a report as one page of HTML that needs no network: findings, and how loss, delay and throughput went over
// time. Suspects is what a fabric adds, in words, or "".
func WritePage(w io.Writer, r *Report, s *Series, suspects string) error {
	var names []string
	for _, f := range r.Files {
		names = append(names, f.File)
	}
	data := struct {
		Title, From, To, Width, Suspects string
		Style                            template.CSS
		Report                           *Report
		Groups                           []group
		Charts                           []chart
	}{Title: strings.Join(names, ", "), Style: page.Style(), Report: r, Suspects: suspects, Groups: grouped(r.Findings)}
	if n := len(s.Bins); n > 0 {
		data.From = instant(s.From).Format("2006-01-02 15:04:05.000000 UTC")
		data.To = instant(s.From + int64(n)*s.Width).Format("2006-01-02 15:04:05.000000 UTC")
		data.Width = duration(s.Width)
		data.Charts = s.charts()
	}
	return pageTemplate.Execute(w, data)
}

// charts draws what there was any of.
func (s *Series) charts() []chart {
	count := func(v float64) string { return fmt.Sprintf("%.0f in a bin", v) }
	seconds := time.Duration(s.Width).Seconds()
	var out []chart
	for _, c := range []struct {
		name  string
		value func(*Bin) float64
		word  func(float64) string
	}{
		{"throughput", func(b *Bin) float64 { return float64(b.Bytes) * 8 / seconds }, bitRate},
		{"lost", func(b *Bin) float64 { return float64(b.Lost) }, count},
		{"sent again", func(b *Bin) float64 { return float64(b.SentAgain) }, count},
		{"marked with Congestion Experienced", func(b *Bin) float64 { return float64(b.CE) }, count},
		{"mean round trip from the point of capture", func(b *Bin) float64 { return float64(b.RTTsSum) / float64(max(1, b.RTTs)) },
			func(v float64) string { return duration(int64(v)) }},
	} {
		values := make([]float64, len(s.Bins))
		for i := range s.Bins {
			values[i] = c.value(&s.Bins[i])
		}
		path, most := page.Bars(values)
		if most <= 0 {
			continue
		}
		out = append(out, chart{c.name, c.word(most), len(s.Bins), path})
	}
	return out
}
