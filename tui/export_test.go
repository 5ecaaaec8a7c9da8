package tui

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

// Every screen with a table writes what it shows, filtered and in its order, in each form.
func TestExport(t *testing.T) {
	files := map[string]string{}
	stageOf := func(snapshot *Snapshot) *stage {
		s := newStage(t, snapshot, 120, 40)
		withShelf(s)
		s.save = func(_ context.Context, name string, data []byte) error {
			if _, ok := files[name]; ok {
				return errors.New("it is there already")
			}
			files[name] = string(data)
			return nil
		}
		return s
	}
	for name, c := range map[string]struct {
		snapshot *Snapshot
		keys     []string
		rows     int
		holds    string
	}{
		"suspects": {sick(t), nil, 4, sickArc},
		"links":    {sick(t), []string{"3"}, 24, sickLink + ",loss,0.99"},
		"flows":    {sick(t), []string{"enter"}, 6, "10.32.0.1:50002>10.32.2.1:862 udp"},
		"paths":    {sick(t), []string{"4"}, 12, "h1-1:eth1>leaf1:swp5 leaf1:swp1>spine1:swp1"},
		"events":   {sick(t), []string{"5"}, 6, "2026-11-20T14:31:27Z,snmp,port went down,spine3:swp1,1"},
		"findings": {captured(t), []string{"6"}, 4, "tcp-loss-after"},
		"map":      {sick(t), []string{"2"}, 16, sickLink + ",0.99"},
		"rounds":   {drilled(t), []string{"7"}, 3, "(hidden)"},
	} {
		s := stageOf(c.snapshot)
		s.press(c.keys...)
		for _, form := range exportForms {
			s.press("e")
			offered := ".csv"
			if name == "map" {
				offered = ".dot"
			}
			if s.prompt.value() != "export whichlink-"+name+"-20261120T143207Z"+offered {
				t.Errorf("%s: offered %q", name, s.prompt.value())
			}
			s.press("ctrl+u")
			s.word("export " + name + form)
			cmd := s.press("enter")
			if cmd == nil {
				t.Fatalf("%s%s: %s", name, form, s.message)
			}
			s.Update(cmd())
			s.sees(t, "written to "+name+form)
		}
		table, err := csv.NewReader(strings.NewReader(files[name+".csv"])).ReadAll()
		if err != nil || len(table)-1 != c.rows {
			t.Errorf("%s: %d rows, want %d: %v", name, len(table)-1, c.rows, err)
		}
		if !strings.Contains(files[name+".csv"], c.holds) {
			t.Errorf("%s does not hold %q:\n%s", name, c.holds, files[name+".csv"])
		}
		var list []map[string]any
		if err := json.Unmarshal([]byte(files[name+".json"]), &list); err != nil || len(list) != c.rows {
			t.Errorf("%s: %d objects, want %d: %v", name, len(list), c.rows, err)
		}
		if n := strings.Count(files[name+".md"], "\n"); n != c.rows+2 {
			t.Errorf("%s: %d lines of Markdown, want %d", name, n, c.rows+2)
		}
	}
	s := stageOf(sick(t))
	for text, want := range map[string]string{"export a.exe": "must end in .csv", "export": "needs one file name", "export links.csv": "! it is there already"} {
		s.press("3", ":")
		s.word(text)
		if cmd := s.press("enter"); cmd != nil {
			s.Update(cmd())
		}
		s.sees(t, want)
	}
	// What filters leave out is not written, and no name smuggles anything in.
	s = stageOf(sick(t))
	s.press("3", "/")
	s.word("spine3 p>.5")
	s.press("enter")
	x := s.top().(exporting).sheet(s.shown)
	if len(x.rows) != 1 {
		t.Errorf("filtered to 1, exported %d", len(x.rows))
	}
	s = stageOf(nasty(t))
	x = s.top().(exporting).sheet(s.shown)
	for _, form := range exportForms {
		data, err := x.encode("a" + form)
		if err != nil || strings.ContainsAny(string(data), "\x1b\r\t\u202e") {
			t.Errorf("%s: %v %q", form, err, data)
		}
	}
}
