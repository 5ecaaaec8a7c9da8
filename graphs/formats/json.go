package formats

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"whichlink/graphs"
)

// jsonError says what is wrong with a JSON text, and in which line. Whatever is no error of syntax is that the text ends too early.
func jsonError(text []byte, err error) *Error {
	var syntax *json.SyntaxError
	offset, message := int64(len(text)), "not JSON: the text ends in the middle of a value"
	if errors.As(err, &syntax) && !strings.Contains(err.Error(), "unexpected end") {
		offset, message = syntax.Offset, "not JSON: "+graphs.Clean(err.Error())
	}
	offset = min(max(offset, 0), int64(len(text)))
	return &Error{Line: 1 + bytes.Count(text[:offset], []byte("\n")), Err: errors.New(message)}
}
