package formats

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"whichlink/graphs"
)

// A format is one way to write a fabric down.
type format struct {
	// name is how a user names it.
	name string
	// is tells it from the others by the beginning of a file, and by the whole where that does not do.
	is func(text []byte) bool
	// read makes f.Fabric of one file or of several that belong together. Errors that are about a place are of type *Error.
	read func(f *File, name string, from []source) error
}

// A source is one of the files from which a fabric is read, by the name that stands in errors.
type source struct {
	name string
	text []byte
}

// known are the formats in the order in which a file is tried against them: first those that cannot be mistaken.
var known = []format{
	{"lldp", isLLDP, readLLDP},
	{"dot", isDot, func(f *File, name string, from []source) error { return one(f, name, from, readDot) }},
	{"air", isAir, func(f *File, name string, from []source) error { return one(f, name, from, readAir) }},
	{"batfish", isBatfish, func(f *File, name string, from []source) error { return one(f, name, from, readBatfish) }},
	{"netbox", isNetbox, readNetbox},
	{"sonic", isSonic, readSonic},
	{"graphml", isGraphML, func(f *File, name string, from []source) error { return one(f, name, from, readGraphML) }},
	{"rfc8345", isRFC8345, func(f *File, name string, from []source) error { return one(f, name, from, readRFC8345) }},
	{"netjson", isNetJSON, func(f *File, name string, from []source) error { return one(f, name, from, readNetJSON) }},
	{"ibnetdiscover", isIbnetdiscover, readIbnetdiscover},
	{"slurm", isSlurm, readSlurm},
	{"csv", isCableList, readCableList},
	{"edgelist", isEdgeList, func(f *File, name string, from []source) error { return one(f, name, from, readEdgeList) }},
	{"containerlab", isClab, func(f *File, name string, from []source) error { return one(f, name, from, readClab) }},
}

// Names are the formats that [Import] reads, in no order that matters.
func Names() []string {
	var names []string
	for _, k := range known {
		names = append(names, k.name)
	}
	return names
}

// one reads a format that knows a single file.
func one(f *File, name string, from []source, read func(*File, string) error) error {
	if len(from) != 1 {
		return fmt.Errorf("%d files given, and this format has one", len(from))
	}
	return read(f, name)
}

// Import reads a fabric from the files of one format, which is recognised where name is empty.
func Import(name string, paths ...string) (*File, error) {
	from, err := readSources("read a fabric", nil, paths)
	if err != nil {
		return nil, err
	}
	return (&File{}).readAll(name, fabricName(from[0].name), from)
}

// Observe reads what was observed of a fabric from one file or from several of one format, of which it recognises which. A path - is
// standard input. A cable from a node to itself, which is an error in the file of a fabric that somebody means, is in [File.Loops].
func Observe(stdin io.Reader, paths ...string) (*File, error) {
	from, err := readSources("read what was observed", stdin, paths)
	if err != nil {
		return nil, err
	}
	return (&File{observed: true}).readAll("", fabricName(from[0].name), from)
}

// readSources reads files whole, together no more than MaxSize. A path - is stdin unless that is nil. What for stands in an error.
func readSources(what string, stdin io.Reader, paths []string) ([]source, error) {
	if len(paths) == 0 {
		return nil, fmt.Errorf("%s: no file given", what)
	}
	from := make([]source, len(paths))
	size := 0
	for i, p := range paths {
		var err error
		if p == "-" && stdin != nil {
			from[i], err = readSource(stdin, "standard input")
		} else {
			from[i], err = openSource(p)
		}
		if err != nil {
			return nil, err
		}
		if size += len(from[i].text); size > MaxSize {
			return nil, &Error{from[i].name, 0, fmt.Errorf("together with the files before it %w", ErrTooLarge)}
		}
	}
	return from, nil
}

func openSource(path string) (source, error) {
	r, err := os.Open(path)
	if err != nil {
		return source{}, fmt.Errorf("read %s: %w", graphs.Clean(path), graphs.Reason(err))
	}
	defer r.Close()
	return readSource(r, path)
}

// readSource reads a file whole, and unpacks it where it is packed by gzip.
func readSource(r io.Reader, path string) (source, error) {
	s := source{name: graphs.Clean(path)}
	text, err := readLimited(r)
	if err == nil && bytes.HasPrefix(text, []byte("\x1f\x8b")) {
		var packed *gzip.Reader
		if packed, err = gzip.NewReader(bytes.NewReader(text)); err == nil {
			text, err = readLimited(packed)
		}
		if err != nil && !errors.Is(err, ErrTooLarge) {
			err = fmt.Errorf("unpack with gzip: %w", err)
		}
	}
	switch {
	case errors.Is(err, ErrTooLarge):
		return s, &Error{s.name, 0, ErrTooLarge}
	case err != nil:
		return s, fmt.Errorf("read %s: %w", s.name, graphs.Reason(err))
	}
	// Spreadsheets and some exporters begin with a byte order mark.
	s.text = bytes.TrimPrefix(text, []byte("\ufeff"))
	return s, nil
}

func readLimited(r io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, MaxSize+1))
	if err == nil && len(text) > MaxSize {
		err = ErrTooLarge
	}
	return text, err
}

// readAll reads the files of a format, which is recognised where it is not named, and returns f.
func (f *File) readAll(format, name string, from []source) (*File, error) {
	k, err := pick(format, from)
	if err != nil {
		return nil, err
	}
	f.text, f.Format = from[0].text, k.name
	err = k.read(f, name, from)
	if err == nil {
		return f, nil
	}
	var at *Error
	if !errors.As(err, &at) {
		at = &Error{Err: err}
	}
	if at.File == "" {
		at.File = from[0].name
	}
	return nil, at
}

func pick(name string, from []source) (*format, error) {
	if name == "" {
		return recognise(from)
	}
	for i := range known {
		if known[i].name == name {
			return &known[i], nil
		}
	}
	return nil, fmt.Errorf("no format is called %q, expected %s", graphs.Clean(name), strings.Join(Names(), ", "))
}
