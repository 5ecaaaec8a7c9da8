package formats

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"whichlink/graphs"
)

// A dotToken is a word of the DOT language: an ID, quoted or not, or a mark.
type dotToken struct {
	text   string
	id     bool
	quoted bool
	line   int
}

// A dotLexer cuts a text into tokens. It is more tolerant than Graphviz, as the tools of Cumulus are: comments may begin with # anywhere
// between tokens, and words without quotes may hold hyphens, dots and slashes.
type dotLexer struct {
	text []byte
	at   int
	line int
}

// skip passes over blanks and comments.
func (l *dotLexer) skip() error {
	for l.at < len(l.text) {
		rest := l.text[l.at:]
		switch {
		case rest[0] == '\n':
			l.line++
			l.at++
		case rest[0] == ' ' || rest[0] == '\t' || rest[0] == '\r':
			l.at++
		case rest[0] == '#' || len(rest) > 1 && rest[0] == '/' && rest[1] == '/':
			for l.at < len(l.text) && l.text[l.at] != '\n' {
				l.at++
			}
		case len(rest) > 1 && rest[0] == '/' && rest[1] == '*':
			end := bytes.Index(rest[2:], []byte("*/"))
			if end < 0 {
				return &Error{Line: l.line, Err: errors.New("a comment that begins here does not end")}
			}
			l.line += bytes.Count(rest[:end+4], []byte("\n"))
			l.at += end + 4
		default:
			return nil
		}
	}
	return nil
}

// next returns the next token; one without text is the end.
func (l *dotLexer) next() (dotToken, error) {
	if err := l.skip(); err != nil || l.at == len(l.text) {
		return dotToken{line: l.line}, err
	}
	t := dotToken{line: l.line}
	c := l.text[l.at]
	switch {
	case c == '"':
		return l.quoted()
	case c == '<':
		return l.html()
	case l.edgeOp():
		t.text = string(l.text[l.at : l.at+2])
		l.at += 2
		return t, nil
	case strings.IndexByte("{}[];,:=+", c) >= 0:
		t.text = string(c)
		l.at++
		return t, nil
	}
	start := l.at
	for l.at < len(l.text) && bareByte(l.text[l.at]) && !l.edgeOp() {
		l.at++
	}
	if l.at == start {
		r, _ := utf8.DecodeRune(l.text[l.at:])
		return t, &Error{Line: l.line, Err: fmt.Errorf("%q, expected a name, an edge or a bracket", graphs.Clean(string(r)))}
	}
	t.text, t.id = string(l.text[start:l.at]), true
	return t, nil
}

func (l *dotLexer) edgeOp() bool {
	return l.text[l.at] == '-' && l.at+1 < len(l.text) && (l.text[l.at+1] == '-' || l.text[l.at+1] == '>')
}

func bareByte(c byte) bool {
	return c >= utf8.RuneSelf || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("_.-/@%$~()!&*|?", c) >= 0
}

// quoted reads a string: \" is a quote, a line that ends in \ goes on in the next, and any other backslash stands for itself.
func (l *dotLexer) quoted() (dotToken, error) {
	t := dotToken{id: true, quoted: true, line: l.line}
	var b strings.Builder
	for l.at++; l.at < len(l.text); l.at++ {
		c := l.text[l.at]
		if c == '\\' && l.at+1 < len(l.text) {
			switch follows := l.text[l.at+1]; follows {
			case '"', '\\':
				b.WriteByte(follows)
				l.at++
				continue
			case '\n':
				l.line++
				l.at++
				continue
			}
		}
		if c == '"' {
			l.at++
			t.text = b.String()
			return t, nil
		}
		if c == '\n' {
			l.line++
		}
		b.WriteByte(c)
	}
	return t, &Error{Line: t.line, Err: errors.New("a string that begins here does not end")}
}

// html passes over a label in HTML, which stands between angle brackets that nest.
func (l *dotLexer) html() (dotToken, error) {
	t := dotToken{id: true, quoted: true, line: l.line}
	depth, start := 0, l.at
	for ; l.at < len(l.text); l.at++ {
		switch l.text[l.at] {
		case '\n':
			l.line++
		case '<':
			depth++
		case '>':
			if depth--; depth == 0 {
				l.at++
				t.text = string(l.text[start:l.at])
				return t, nil
			}
		}
	}
	return t, &Error{Line: t.line, Err: errors.New("an HTML label that begins here does not end")}
}
