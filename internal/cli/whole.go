package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"whichlink/graphs"
)

// createWhole opens what is to become a file, so that whoever reads it at the same moment finds the old one or the new one, never a part: it is written
// beside it. Finish closes it, and with ok puts it in its place, else removes it. What is no plain file, such as a pipe or a device, is written to as it is
// and stays where it is.
func createWhole(name string, mode os.FileMode) (file *os.File, finish func(ok bool) error, err error) {
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		if file, err = os.OpenFile(name, os.O_WRONLY, 0); err != nil {
			return nil, nil, fmt.Errorf("write %s: %w", graphs.Clean(name), graphs.Reason(err))
		}
		return file, func(bool) error { return file.Close() }, nil
	}
	if target, err := filepath.EvalSymlinks(name); err == nil {
		name = target
	}
	if file, err = os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*"); err != nil {
		return nil, nil, fmt.Errorf("write %s: %w", graphs.Clean(name), graphs.Reason(err))
	}
	return file, func(ok bool) error {
		err := errors.Join(file.Chmod(mode), file.Sync(), file.Close())
		if ok && err == nil {
			err = os.Rename(file.Name(), name)
		}
		if !ok || err != nil {
			os.Remove(file.Name())
		}
		return err
	}, nil
}

// writeWhole writes a file as createWhole has it.
func writeWhole(name string, data []byte) error {
	file, finish, err := createWhole(name, 0o644) // monitoring runs as another user than who reads what it wrote
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if ferr := finish(err == nil); err == nil {
		err = ferr
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", graphs.Clean(name), graphs.Reason(err))
	}
	return nil
}
