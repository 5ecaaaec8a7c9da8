package formats

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"

	"whichlink/graphs"
)

// A table reads the rows of a CSV file (RFC 4180) by the names of its columns, which are its first row. Spreadsheets of some countries put
// semicolons or tabs where others have commas; which it is, the first row tells. Rows may be shorter or longer than the first.
type table struct {
	name   string
	rows   *csv.Reader
	column map[string]int
	record []string
	line   int
}

func openTable(s source) (*table, error) {
	t := &table{name: s.name, rows: csv.NewReader(bytes.NewReader(s.text)), column: map[string]int{}}
	t.rows.Comma = separator(s.text)
	t.rows.FieldsPerRecord = -1
	t.rows.ReuseRecord = true
	if more, err := t.next(); err != nil {
		return nil, err
	} else if !more {
		return nil, &Error{t.name, 0, errors.New("the file is empty, expected a row with the names of the columns")}
	}
	for i, name := range t.record {
		if name = columnName(name); name != "" {
			if _, twice := t.column[name]; twice {
				return nil, t.fail("two columns are called %q", graphs.Clean(name))
			}
			t.column[name] = i
		}
	}
	return t, nil
}

// columnName lets names of columns differ in case and in how their words are joined.
func columnName(s string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimSpace(s)), " ", "_")
}

// separator is what most often separates the names of the columns.
func separator(text []byte) rune {
	line, _, _ := bytes.Cut(bytes.TrimLeft(text, "\r\n"), []byte("\n"))
	best, most := ',', bytes.Count(line, []byte(","))
	for _, c := range ";\t" {
		if n := bytes.Count(line, []byte(string(c))); n > most {
			best, most = c, n
		}
	}
	return best
}

// hasColumns tells a CSV file by the columns that it has.
func hasColumns(text []byte, names ...string) bool {
	const longest = 16 << 10
	text = bytes.TrimLeft(text, "\r\n")
	line, _, _ := bytes.Cut(text[:min(len(text), longest)], []byte("\n"))
	t, err := openTable(source{text: line})
	return err == nil && t.has(names...)
}

func (t *table) has(names ...string) bool {
	for _, n := range names {
		if _, ok := t.column[n]; !ok {
			return false
		}
	}
	return true
}

// next goes to the next row, and reports whether there is one.
func (t *table) next() (bool, error) {
	record, err := t.rows.Read()
	var wrong *csv.ParseError
	switch {
	case err == io.EOF:
		return false, nil
	case errors.Is(err, csv.ErrBareQuote) && errors.As(err, &wrong):
		err = fmt.Errorf("a quotation mark in a field that does not begin with one, at byte %d of the line", wrong.Column)
	case errors.Is(err, csv.ErrQuote) && errors.As(err, &wrong):
		err = errors.New("a field that begins with a quotation mark does not end with one")
		wrong.Line = wrong.StartLine // the end of the file says nothing
	}
	if err != nil {
		e := &Error{File: t.name, Err: err}
		if wrong != nil {
			e.Line = wrong.Line
		}
		return false, e
	}
	t.record = record
	t.line, _ = t.rows.FieldPos(0)
	return true, nil
}

// get returns the field of the first of some columns that is there and not empty.
func (t *table) get(columns ...string) string {
	for _, c := range columns {
		if i, ok := t.column[c]; ok && i < len(t.record) {
			if s := strings.TrimSpace(t.record[i]); s != "" {
				return s
			}
		}
	}
	return ""
}

// fail makes an error at the row.
func (t *table) fail(format string, args ...any) error {
	return &Error{t.name, t.line, fmt.Errorf(format, args...)}
}

// eachRow visits the rows of tables one after the other.
func eachRow(from []source, visit func(*table) error) error {
	for _, s := range from {
		t, err := openTable(s)
		if err != nil {
			return err
		}
		for {
			more, err := t.next()
			if err != nil {
				return err
			}
			if !more {
				break
			}
			if err := visit(t); err != nil {
				return err
			}
		}
	}
	return nil
}
