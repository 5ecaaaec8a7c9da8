package tui

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"whichlink/graphs"
)

// A sheet is the table that a screen shows, filtered and in its order, as it is written to a file. A cell is a text or a number; nil is not known.
type sheet struct {
	heads []string
	rows  [][]any
}

// An exporting screen shows a table.
type exporting interface {
	sheetName() string
	sheet(s *Snapshot) sheet
}

// number is a cell of a number that may be unknown.
func number(v float64) any {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return v
}

// optionalNumber is a cell of a number that may not have been measured.
func optionalNumber(v *float64) any {
	if v == nil {
		return nil
	}
	return number(*v)
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

func (*overview) sheetName() string { return "suspects" }

func (o *overview) sheet(s *Snapshot) sheet {
	t := sheet{heads: []string{"rank", "kind", "id", "link", "symptom", "probability", "loss", "loss_low", "loss_high", "for", "against"}}
	for _, r := range o.rows.order {
		if x := suspectAt(s, r.at); x != nil {
			t.rows = append(t.rows, []any{x.Rank, x.Kind, x.ID, x.Link, string(x.Symptom), x.Probability, optionalNumber(x.Loss), optionalNumber(x.LossLow), optionalNumber(x.LossHigh), x.For, x.Against})
		}
	}
	return t
}

func (*linksScreen) sheetName() string { return "links" }

func (l *linksScreen) sheet(s *Snapshot) sheet {
	t := sheet{heads: append([]string{"link", "state"}, linkFields()...)}
	if s.Picture == nil {
		return t
	}
	for _, id := range l.order {
		r := l.row(s, id)
		row := []any{s.Picture.Fabric.LinkName(id), r.state()}
		for _, c := range linkColumns() {
			row = append(row, number(c.value(&r)))
		}
		t.rows = append(t.rows, row)
	}
	return t
}

func (*linkScreen) sheetName() string { return "flows" }

func (l *linkScreen) sheet(s *Snapshot) sheet {
	t := sheet{heads: []string{"flow", "arc", "what", "sent", "lost", "loss", "rtt_us"}}
	for _, r := range l.rows.order {
		if l.detail != nil && r.at < len(l.detail.Flows) {
			f := &l.detail.Flows[r.at]
			sent, lost := sum(f.Sent), sum(f.Lost)
			t.rows = append(t.rows, []any{f.Flow, s.Fabric.ArcName(f.Arc), carrier(f), sent, lost, number(ratio(lost, sent)), number(latest(f.RTT))})
		}
	}
	return t
}

func (*pathsScreen) sheetName() string { return "paths" }

func (p *pathsScreen) sheet(s *Snapshot) sheet {
	t := sheet{heads: []string{"flow", "sent", "lost", "loss", "rtt_us", "moved", "path"}}
	for i := range p.flows {
		x := &p.flows[i]
		names := make([]string, len(x.Path))
		for j, a := range x.Path {
			names[j] = p.fabric.ArcName(a)
		}
		t.rows = append(t.rows, []any{x.Flow, x.Sent, x.Lost, number(ratio(x.Lost, x.Sent)), number(x.RTT), strconv.FormatBool(x.Moved), strings.Join(names, " ")})
	}
	return t
}

func (*eventsScreen) sheetName() string { return "events" }

func (e *eventsScreen) sheet(s *Snapshot) sheet {
	t := sheet{heads: []string{"time", "lane", "what", "about", "count"}}
	list := events(s)
	for _, r := range e.rows.order {
		if r.at < len(list) {
			x := &list[r.at]
			t.rows = append(t.rows, []any{stamp(x.At), x.Lane, x.What, x.About, x.Count})
		}
	}
	return t
}

func (*capturesScreen) sheetName() string { return "findings" }

func (c *capturesScreen) sheet(*Snapshot) sheet {
	t := sheet{heads: []string{"severity", "finding", "subject", "count", "from", "to", "text", "rule", "filter", "file"}}
	for _, r := range c.rows.order {
		if r.at < len(c.list) {
			x := c.list[r.at]
			from, to := spanOf(x)
			t.rows = append(t.rows, []any{x.Severity, x.Finding, x.Subject, timesOf(x), stamp(from), stamp(to), x.Text, x.Rule, x.Filter, x.By})
		}
	}
	return t
}

func (*findingScreen) sheetName() string { return "packets" }

func (f *findingScreen) sheet(*Snapshot) sheet {
	t := sheet{heads: []string{"file", "number", "time", "source", "destination", "protocol", "length", "what"}}
	for _, r := range f.rows.order {
		p := &f.packets.Lines[r.at]
		t.rows = append(t.rows, []any{p.File, p.Number, stamp(p.Time), p.Src, p.Dst, p.Proto, p.Len, p.Info})
	}
	return t
}

func (*drillScreen) sheetName() string { return "rounds" }

func (d *drillScreen) sheet(s *Snapshot) sheet {
	t := sheet{heads: []string{"round", "set", "program", "you", "broken"}}
	for _, o := range d.rows.order {
		if o.at < len(s.Rounds) {
			r := &s.Rounds[o.at]
			t.rows = append(t.rows, []any{r.ID, stamp(r.Set), r.Program.words(r), r.You.words(r), d.text(r)})
		}
	}
	return t
}

// exportForms are the endings of file names by which the form is chosen.
var exportForms = []string{".csv", ".json", ".md"}

// dotForm is that of Graphviz, in which drawings can be written, too.
const dotForm = ".dot"

// encode writes the sheet in the form of a file name's ending.
func (t *sheet) encode(name string) ([]byte, error) {
	var b bytes.Buffer
	switch strings.ToLower(filepath.Ext(name)) {
	case ".csv":
		w := csv.NewWriter(&b)
		_ = w.Write(t.heads)
		for _, r := range t.rows {
			_ = w.Write(cells(r))
		}
		w.Flush()
		return b.Bytes(), w.Error()
	case ".json":
		return t.json()
	case ".md":
		line := func(words []string) { b.WriteString("| " + strings.Join(words, " | ") + " |\n") }
		line(t.heads)
		line(strings.Split(strings.TrimSuffix(strings.Repeat("--- ", len(t.heads)), " "), " "))
		for _, r := range t.rows {
			words := cells(r)
			for i, w := range words {
				words[i] = strings.ReplaceAll(w, "|", `\|`)
			}
			line(words)
		}
		return b.Bytes(), nil
	}
	return nil, fmt.Errorf("%s: the name must end in %s", clean(name), strings.Join(exportForms, ", "))
}

// json writes a list of objects, their fields in the order of the heads.
func (t *sheet) json() ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("[")
	for i, r := range t.rows {
		if i > 0 {
			b.WriteString(",")
		}
		b.WriteString("\n {")
		for j, v := range r {
			if text, ok := v.(string); ok {
				v = graphs.Clean(text)
			}
			value, err := json.Marshal(v)
			if err != nil {
				return nil, err
			}
			if j > 0 {
				b.WriteString(",")
			}
			fmt.Fprintf(&b, "%q:%s", t.heads[j], value)
		}
		b.WriteString("}")
	}
	b.WriteString("\n]\n")
	return b.Bytes(), nil
}

// cells are the cells of a row as texts; what is not known is empty.
func cells(row []any) []string {
	out := make([]string, len(row))
	for i, v := range row {
		switch v := v.(type) {
		case nil:
		case string:
			out[i] = clean(v)
		case float64:
			out[i] = strconv.FormatFloat(v, 'g', -1, 64)
		default:
			out[i] = fmt.Sprint(v)
		}
	}
	return out
}

// exportName is what a file is called unless somebody says otherwise.
func (a *App) exportName() string {
	t, ok := a.top().(exporting)
	if !ok {
		return ""
	}
	form := ".csv"
	if _, ok := t.(drawing); ok {
		form = dotForm
	}
	return fmt.Sprintf("whichlink-%s-%s%s", t.sheetName(), a.shown.Now.UTC().Format("20060102T150405Z"), form)
}

// exportThis writes the table of the screen to a file.
func exportThis(a *App, words []string) (tea.Cmd, error) {
	t, ok := a.top().(exporting)
	switch {
	case !ok:
		return nil, fmt.Errorf("this screen shows no table to export")
	case a.save == nil:
		return nil, fmt.Errorf("nothing here writes files")
	case len(words) != 1:
		return nil, fmt.Errorf("export needs one file name that ends in %s", strings.Join(exportForms, ", "))
	}
	name := words[0]
	table := t.sheet(a.shown)
	var data []byte
	var err error
	if d, ok := t.(drawing); ok && strings.EqualFold(filepath.Ext(name), dotForm) && a.shown.Picture != nil {
		data = d.dot(a.shown)
	} else if data, err = table.encode(name); err != nil {
		return nil, err
	}
	ctx, save := a.ctx, a.save
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(ctx, errandTimeout)
		defer cancel()
		return outcomeMsg{says: fmt.Sprintf("%s written to %s", counted(len(table.rows), "row", "rows"), name), err: save(ctx, name, data)}
	}, nil
}
