package formats

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"whichlink/graphs"
)

// jsonError says what is wrong with a JSON text, and in which line, without the words of the library about this program's own types.
func jsonError(text []byte, err error) *Error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	offset := int64(len(text))
	message := "not JSON: the text ends in the middle of a value"
	switch {
	case errors.As(err, &syntax):
		offset = syntax.Offset
		if !strings.Contains(err.Error(), "unexpected end") {
			message = "not JSON: " + graphs.Clean(err.Error())
		}
	case errors.As(err, &kind):
		offset = kind.Offset
		message = "a " + kind.Value + " where something else is expected"
		if kind.Field != "" {
			message = graphs.Clean(kind.Field) + " is " + message
		}
	case !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
		message = "not JSON: " + graphs.Clean(err.Error())
	}
	offset = min(max(offset, 0), int64(len(text)))
	return &Error{Line: 1 + bytes.Count(text[:offset], []byte("\n")), Err: errors.New(message)}
}
