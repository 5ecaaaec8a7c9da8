package formats

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"

	"whichlink/graphs"
)

func beginsXML(text []byte) bool { return bytes.HasPrefix(bytes.TrimSpace(text), []byte("<")) }

// eachElement visits the elements of an XML file. A visit may read an element whole with its decoder.
func eachElement(s source, visit func(*xml.Decoder, *xml.StartElement, place) error) error {
	d := newXML(s)
	for {
		token, err := d.Token()
		if err == io.EOF {
			return nil
		}
		if start, ok := token.(xml.StartElement); ok && err == nil {
			line, _ := d.InputPos()
			err = visit(d, &start, place{s.name, line})
		}
		if err != nil {
			return xmlError(s, d, err)
		}
	}
}

// newXML makes a decoder that takes any encoding for UTF-8, as which nearly all such files are written, whatever they say.
func newXML(s source) *xml.Decoder {
	d := xml.NewDecoder(bytes.NewReader(s.text))
	d.CharsetReader = func(_ string, r io.Reader) (io.Reader, error) { return r, nil }
	return d
}

// xmlError gives an error the place that the decoder has reached, unless it has one.
func xmlError(s source, d *xml.Decoder, err error) error {
	var at *Error
	if errors.As(err, &at) {
		return err
	}
	line, _ := d.InputPos()
	var syntax *xml.SyntaxError
	if errors.As(err, &syntax) {
		if line, err = syntax.Line, errors.New(syntax.Msg); syntax.Msg == "unexpected EOF" {
			err = errors.New("the text ends in the middle of an element")
		}
	}
	return &Error{s.name, line, errors.New("not XML: " + graphs.Clean(strings.TrimPrefix(err.Error(), "xml: ")))}
}
