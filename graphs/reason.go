package graphs

import (
	"errors"
	"io"
	"io/fs"
)

// cutShort is io.ErrUnexpectedEOF in words.
type cutShort struct{}

func (cutShort) Error() string { return "the file is cut short" }
func (cutShort) Unwrap() error { return io.ErrUnexpectedEOF }

// Reason says why a file could not be opened or read, without the system call and the name that package os puts before it: whoever tells the
// error names the file. io.ErrUnexpectedEOF is told as a file that is cut short.
func Reason(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return cutShort{}
	}
	return err
}
