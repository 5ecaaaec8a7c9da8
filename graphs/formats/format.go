package formats

import (
	"bytes"
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
// Containerlab, being any YAML, stands last and takes what nothing else has taken.
var known = []format{
	{"netbox", isNetbox, readNetbox},
	{"sonic", isSonic, readSonic},
	{"graphml", isGraphML, func(f *File, name string, from []source) error { return one(f, name, from, readGraphML) }},
	{"rfc8345", isRFC8345, func(f *File, name string, from []source) error { return one(f, name, from, readRFC8345) }},
	{"netjson", isNetJSON, func(f *File, name string, from []source) error { return one(f, name, from, readNetJSON) }},
	{"ibnetdiscover", isIbnetdiscover, readIbnetdiscover},
	{"slurm", isSlurm, readSlurm},
	{"csv", isCableList, readCableList},
	{"edgelist", isEdgeList, func(f *File, name string, from []source) error { return one(f, name, from, readEdgeList) }},
	{"containerlab", func([]byte) bool { return true }, func(f *File, name string, from []source) error { return one(f, name, from, readClab) }},
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
	if len(paths) == 0 {
		return nil, errors.New("read a fabric: no file given")
	}
	from := make([]source, len(paths))
	for i, p := range paths {
		var err error
		if from[i], err = openSource(p); err != nil {
			return nil, err
		}
	}
	return importSources(name, fabricName(paths[0]), from)
}

// Observe reads what was observed of a fabric from one file or from several of one format, of which it recognises which. A path - is
// standard input. A cable from a node to itself, which is an error in the file of a fabric that somebody means, is in [File.Loops].
func Observe(stdin io.Reader, paths ...string) (*File, error) {
	if len(paths) == 0 {
		return nil, errors.New("read what was observed: no file given")
	}
	from := make([]source, len(paths))
	for i, p := range paths {
		var err error
		if p == "-" {
			from[i], err = readSource(stdin, "standard input")
		} else {
			from[i], err = openSource(p)
		}
		if err != nil {
			return nil, err
		}
	}
	return (&File{observed: true}).readAll("", fabricName(from[0].name), from)
}

func openSource(path string) (source, error) {
	r, err := os.Open(path)
	if err != nil {
		return source{}, fmt.Errorf("read a fabric: %w", err)
	}
	defer r.Close()
	return readSource(r, path)
}

func readSource(r io.Reader, path string) (source, error) {
	s := source{name: graphs.Clean(path)}
	text, err := io.ReadAll(io.LimitReader(r, MaxSize+1))
	if err != nil {
		return s, fmt.Errorf("read %s: %w", s.name, err)
	}
	if len(text) > MaxSize {
		return s, &Error{s.name, 0, ErrTooLarge}
	}
	// Spreadsheets and some exporters begin with a byte order mark.
	s.text = bytes.TrimPrefix(text, []byte("\ufeff"))
	return s, nil
}

func importSources(format, name string, from []source) (*File, error) {
	return (&File{}).readAll(format, name, from)
}

// readAll reads the files of a format, which is recognised where it is not named, and returns f.
func (f *File) readAll(format, name string, from []source) (*File, error) {
	f.text = from[0].text
	for _, k := range known {
		if format != "" && k.name != format || format == "" && !k.is(from[0].text) {
			continue
		}
		f.Format = k.name
		err := k.read(f, name, from)
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
	return nil, fmt.Errorf("no format is called %q, expected %s", graphs.Clean(format), strings.Join(Names(), ", "))
}
