package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"

	"whichlink/internal/diagnose"
	"whichlink/internal/page"
)

//go:embed report.html
var pageText string

var pageTemplate = template.Must(template.New("report").Funcs(template.FuncMap{
	"upper": func(s any) string { return strings.ToUpper(fmt.Sprint(s)) }, "extent": func(x diagnose.Suspect) string { return Extent(&x) },
	"proof":       func(x diagnose.Suspect) []diagnose.Evidence { return Proof(&x) },
	"doubts":      func(x diagnose.Suspect) []diagnose.Evidence { return Doubts(&x) },
	"sentences":   Sentences,
	"others":      func(x diagnose.Suspect) []string { return others(&x) },
	"stamp":       stamp,
	"probability": func(p float64) string { return fmt.Sprintf("%.2f", p) },
	"class":       severityOf, "join": strings.Join, "short": short, "article": article, "letter": func(m Mark) string { return string(rune(m)) },
	"wide": func(p float64) string { return fmt.Sprintf("%.0f", 100*p) },
}).Parse(pageText))

// severityOf is the class of a suspect's paragraph.
func severityOf(x diagnose.Suspect) string {
	switch {
	case x.Probability >= 0.9:
		return "critical"
	case x.Probability >= diagnose.Named:
		return "warning"
	}
	return "info"
}

// WriteHTML writes the report as one page of HTML. It fetches nothing, runs no script, and is readable on a phone, in dark and in light.
func (r *Report) WriteHTML(w io.Writer) error {
	return pageTemplate.Execute(w, struct {
		*Report
		Style      template.CSS
		HeatLayout []heatLayout
		Split      int // events before those that were left out
	}{r, page.Style(), r.layouts(), mostEvents / 2})
}

// The sizes of drawings: the cells of a table of arcs, and the letters that a name may have.
const (
	cellSide = 18
	longest  = 18
)

// lettersWide is how wide letters of names are, in a font of 12 pixels.
func lettersWide(n int) int { return (n*73 + 9) / 10 }

// A heatLayout is a table of arcs with places.
type heatLayout struct {
	*Heat
	Width, Height, Left, Top int
	Cells                    []heatCell
	RowNames, ColNames       []placed
}

type heatCell struct {
	X, Y, TextX, TextY int
	Mark               Mark
	Name               string
}

type placed struct {
	Name string
	X, Y int
}

func (r *Report) layouts() []heatLayout {
	var out []heatLayout
	for i := range r.Heats {
		h := &r.Heats[i]
		l := heatLayout{Heat: h, Left: lettersWide(longestOf(h.Rows)) + 8, Top: lettersWide(longestOf(h.Cols)) + 8}
		l.Width, l.Height = l.Left+cellSide*len(h.Cols)+2, l.Top+cellSide*len(h.Rows)+2
		for j, n := range h.Cols {
			l.ColNames = append(l.ColNames, placed{short(n), l.Left + cellSide*j + cellSide*2/3, l.Top - 6})
		}
		for k, n := range h.Rows {
			y := l.Top + cellSide*k
			l.RowNames = append(l.RowNames, placed{short(n), l.Left - 6, y + 13})
			for j, m := range h.Marks[k] {
				if m != NoLink {
					x := l.Left + cellSide*j
					l.Cells = append(l.Cells, heatCell{x, y, x + cellSide/2 - 1, y + 13, m, n + " to " + h.Cols[j] + ": " + m.Word()})
				}
			}
		}
		out = append(out, l)
	}
	return out
}

func longestOf(names []string) int {
	n := 0
	for _, s := range names {
		n = max(n, len([]rune(short(s))))
	}
	return n
}

// short cuts the middle out of a long name: its end often tells more than its beginning.
func short(s string) string {
	r := []rune(s)
	if len(r) <= longest {
		return s
	}
	return string(r[:longest/2-1]) + "…" + string(r[len(r)-longest/2:])
}
