package tui

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// A filter is a query as it was typed, and what it asks for. Its zero value lets everything pass.
type filter struct {
	query string
	terms []term
	// problem says what of the query could not be understood and is passed over.
	problem string
}

// A term is one word of a query. All of them must hold.
type term struct {
	not   bool
	word  string
	field string // set for a comparison
	op    string
	value float64
}

// parseFilter reads a query: words that must occur, !words that must not, and comparisons such as loss>1.
func parseFilter(query string, fields []string) filter {
	f := filter{query: query}
	for _, w := range strings.Fields(strings.ToLower(query)) {
		t := term{word: w}
		if rest, ok := strings.CutPrefix(w, "!"); ok {
			t.not, t.word = true, rest
		}
		if t.word == "" {
			continue
		}
		if i := strings.IndexAny(t.word, "<>="); i > 0 && slices.Contains(fields, t.word[:i]) {
			t.field, t.op = t.word[:i], t.word[i:i+1]
			number := t.word[i+1:]
			if rest, ok := strings.CutPrefix(number, "="); ok && t.op != "=" {
				t.op, number = t.op+"=", rest
			}
			v, err := strconv.ParseFloat(strings.TrimSuffix(number, "%"), 64)
			if err != nil {
				// Half a comparison is one that is still being typed.
				f.problem = cmp.Or(f.problem, w+": a number is missing")
				continue
			}
			t.value = v
		}
		f.terms = append(f.terms, t)
	}
	return f
}

// match reports whether a row passes. text, and what else is given, are its fields in lower case: a word may stand in any of them. number gives a
// field's value, if it has one.
func (f *filter) match(text string, number func(field string) (float64, bool), more ...string) bool {
	for i := range f.terms {
		t := &f.terms[i]
		holds := false
		if t.field != "" {
			if v, ok := number(t.field); ok {
				holds = compare(v, t.op, t.value)
			}
		} else {
			holds = strings.Contains(text, t.word)
			for _, other := range more {
				holds = holds || strings.Contains(other, t.word)
			}
		}
		if holds == t.not {
			return false
		}
	}
	return true
}

func compare(a float64, op string, b float64) bool {
	switch op {
	case ">":
		return a > b
	case ">=":
		return a >= b
	case "<":
		return a < b
	case "<=":
		return a <= b
	}
	return a == b
}
