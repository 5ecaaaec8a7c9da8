package formats

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"whichlink/graphs"
)

// A jsonValue is a JSON value with its place, so that errors name lines and objects may repeat a key, as those of some switches do.
type jsonValue struct {
	kind  byte // '{', '[', '"', '0' for a number, 't' for a boolean, 'n' for null
	text  string
	keys  []string    // of an object, in the order of the file
	items []jsonValue // of an array, or the values of an object
	line  int
}

// Bounds far beyond what a fabric needs, so that a small hostile file exhausts neither stack nor memory.
const (
	maxDepth      = 100
	maxJSONValues = 5_000_000
)

// A jsonReader reads values and keeps count of the lines.
type jsonReader struct {
	dec   *json.Decoder
	text  []byte
	at    int64
	line  int
	fixed bool
	count int
}

// parseValues reads all the values of a text, which stand one after the other. If line is not 0, all are from this line of another text.
func parseValues(text []byte, line int) ([]jsonValue, error) {
	r := &jsonReader{dec: json.NewDecoder(bytes.NewReader(text)), text: text, line: max(line, 1), fixed: line > 0}
	r.dec.UseNumber()
	var all []jsonValue
	for {
		v, err := r.value(0)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
}

func (r *jsonReader) wrong(err error) error {
	offset := r.dec.InputOffset()
	var syntax *json.SyntaxError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		err = errors.New("the text ends in the middle of a value")
		offset = int64(len(r.text))
	case errors.As(err, &syntax):
		offset = max(offset, min(syntax.Offset, int64(len(r.text))))
	}
	r.moveTo(offset)
	return &Error{Line: r.line, Err: fmt.Errorf("not JSON: %s", graphs.Clean(err.Error()))}
}

func (r *jsonReader) moveTo(offset int64) {
	if !r.fixed && offset > r.at {
		r.line += bytes.Count(r.text[r.at:offset], []byte("\n"))
		r.at = offset
	}
}

func (r *jsonReader) token(depth int) (json.Token, error) {
	t, err := r.dec.Token()
	switch {
	case errors.Is(err, io.EOF) && depth > 0:
		return nil, r.wrong(io.ErrUnexpectedEOF)
	case errors.Is(err, io.EOF):
		return nil, err
	case err != nil:
		return nil, r.wrong(err)
	}
	r.moveTo(r.dec.InputOffset())
	return t, nil
}

func (r *jsonReader) value(depth int) (jsonValue, error) {
	t, err := r.token(depth)
	if err != nil {
		return jsonValue{}, err
	}
	v := jsonValue{line: r.line}
	if r.count++; r.count > maxJSONValues {
		return v, &Error{Line: r.line, Err: fmt.Errorf("more than %d values, which no fabric has", maxJSONValues)}
	}
	switch t := t.(type) {
	case json.Delim:
		v.kind = byte(t)
		if depth == maxDepth {
			return v, &Error{Line: r.line, Err: fmt.Errorf("nested more than %d levels deep", maxDepth)}
		}
		for r.dec.More() {
			if t == '{' {
				key, err := r.token(depth + 1)
				if err != nil {
					return v, err
				}
				v.keys = append(v.keys, key.(string))
			}
			item, err := r.value(depth + 1)
			if err != nil {
				return v, err
			}
			v.items = append(v.items, item)
		}
		_, err = r.token(depth + 1)
	case string:
		v.kind, v.text = '"', t
	case json.Number:
		v.kind, v.text = '0', t.String()
	case bool:
		v.kind, v.text = 't', fmt.Sprint(t)
	default:
		v.kind = 'n'
	}
	return v, err
}

// get returns what an object has at the first of the keys that it has, or nil. It may be asked of nil and of what is no object.
func (v *jsonValue) get(keys ...string) *jsonValue {
	if v == nil || v.kind != '{' {
		return nil
	}
	for _, key := range keys {
		for i, k := range v.keys {
			if k == key {
				return &v.items[i]
			}
		}
	}
	return nil
}

// word is the text of a value that is a string, a number or a boolean, else "".
func (v *jsonValue) word() string {
	if v == nil {
		return ""
	}
	return strings.TrimSpace(v.text)
}

// list returns the elements of an array; any other value is a list of itself, as in output which leaves the brackets of one element away.
func (v *jsonValue) list() []jsonValue {
	switch {
	case v == nil || v.kind == 'n':
		return nil
	case v.kind == '[':
		return v.items
	}
	return []jsonValue{*v}
}

// first is the first element of an array, or any other value itself.
func (v *jsonValue) first() *jsonValue {
	if l := v.list(); len(l) > 0 {
		return &l[0]
	}
	return nil
}

// as returns the value if it is of a kind, or an error that says what was expected of what.
func (v *jsonValue) as(kind byte, what string) (*jsonValue, error) {
	names := map[byte]string{'{': "an object", '[': "a list", '"': "a string", '0': "a number", 't': "a boolean", 'n': "null"}
	switch {
	case v == nil:
		return nil, fmt.Errorf("there is no %s, expected %s", what, names[kind])
	case v.kind != kind:
		return nil, &Error{Line: v.line, Err: fmt.Errorf("%s is %s, expected %s", what, names[v.kind], names[kind])}
	}
	return v, nil
}

// topLevel returns the keys of the object with which a JSON text begins, each with the first byte of its value, or nil if it begins with
// something else. Of a list it looks at the first element. It stops at what is wrong.
func topLevel(text []byte) map[string]byte {
	text = bytes.TrimLeft(text, " \t\r\n")
	if len(text) == 0 || text[0] != '{' && text[0] != '[' {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	t, err := dec.Token()
	if err == nil && t == json.Delim('[') {
		t, err = dec.Token()
	}
	if err != nil || t != json.Delim('{') {
		return nil
	}
	keys := map[string]byte{}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			break
		}
		var value json.RawMessage
		if dec.Decode(&value) != nil || len(value) == 0 {
			// Wrong further on: the reader will say where.
			rest := bytes.TrimLeft(text[dec.InputOffset():], " \t\r\n:")
			if keys[key.(string)] = 0; len(rest) > 0 {
				keys[key.(string)] = rest[0]
			}
			break
		}
		keys[key.(string)] = value[0]
	}
	return keys
}
