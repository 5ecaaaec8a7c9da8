// Package formats reads and writes fabrics.
//
// The fabric file is a containerlab topology (*.clab.yml, https://containerlab.dev/manual/topo-def-file/), so that existing lab files
// load as they are. What containerlab does not know stands in labels (whichlink.role, whichlink.loopback, whichlink.model) and in the
// variables of links (ipv4, ipv6, speed, group). [Names] lists the other formats that are read; what a file is, is told from its content.
//
// [ReadFile] and [WriteFile] are what most callers need. Whatever is wrong in a file is an [Error] with file and line. What was guessed or
// passed over, and might surprise, is in [File.Notes].
package formats

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"whichlink/graphs"
)

// MaxSize is the size in bytes up to which files are read and fabric files written: room for a fabric of 262,144 links.
const MaxSize = 64 << 20

// A File is a fabric as it was read, with the text from which it was read.
type File struct {
	Fabric *graphs.Fabric
	// Format is the name of the format in which it was written.
	Format string
	// Numbered is the number of ports that have no name in the file and were given numbers.
	Numbered int
	// Loops are the cables from a node to itself, which no fabric holds, by the names of their two ports.
	Loops [][2]string
	// Notes say, one sentence each, what was guessed and what was passed over.
	Notes []string

	text []byte
	// observed files may have loops.
	observed bool
}

// Write writes the file as it was read, byte by byte: also the keys and comments that mean nothing to this program.
func (f *File) Write(w io.Writer) error {
	_, err := w.Write(f.text)
	return err
}

// An Error is something wrong at a place in a file.
type Error struct {
	File string
	Line int // from 1; 0 if it is about the file as a whole
	Err  error
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %v", e.File, e.Err)
	}
	return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// ErrTooLarge is what Read returns, within an [Error], for files larger than [MaxSize].
var ErrTooLarge = fmt.Errorf("larger than %d MiB, which no fabric file is", MaxSize>>20)

// ReadFile reads the fabric in a file.
func ReadFile(path string) (*File, error) {
	r, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read fabric %s: %w", graphs.Clean(path), graphs.Reason(err))
	}
	defer r.Close()
	return Read(r, path)
}

// Read reads a fabric. The name of the file stands in errors and names a fabric which has no name of its own.
func Read(r io.Reader, name string) (*File, error) { return ReadAs("", r, name) }

// ReadAs is Read for a file of a format, which is recognised if it is not named.
func ReadAs(format string, r io.Reader, name string) (*File, error) {
	from, err := readSource(r, name)
	if err != nil {
		return nil, err
	}
	return (&File{}).readAll(format, fabricName(name), []source{from})
}

// fabricName is a file's name without directory and extensions.
func fabricName(path string) string {
	base := filepath.Base(path)
	if stem, _, _ := strings.Cut(base, "."); stem != "" {
		base = stem
	}
	return graphs.Clean(base)
}

func (f *File) note(format string, args ...any) {
	f.Notes = append(f.Notes, fmt.Sprintf(format, args...))
}

// WriteFile writes a fabric into a file, whole or not at all.
func WriteFile(path string, f *graphs.Fabric) error {
	text, err := fabricText(f)
	if err != nil {
		return err
	}
	temp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("write a fabric: %w", err)
	}
	_, err = temp.Write(text)
	err = errors.Join(err, temp.Chmod(0o644), temp.Sync(), temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		os.Remove(temp.Name())
		return fmt.Errorf("write a fabric: %w", err)
	}
	return nil
}
