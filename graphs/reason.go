package graphs

import (
	"errors"
	"io/fs"
)

// Reason says why a file could not be opened or read, without the system call and the name that package os puts before it: whoever tells the
// error names the file.
func Reason(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
