package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// writeWhole writes a file so that whoever reads it at the same moment finds the old one or the new one, never a part: it is written beside it and
// renamed. What is no plain file, such as a pipe or /dev/stdout, is written to.
func writeWhole(name string, data []byte) (err error) {
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		if err := os.WriteFile(name, data, 0o644); err != nil {
			return fmt.Errorf("write: %w", err)
		}
		return nil
	}
	if target, err := filepath.EvalSymlinks(name); err == nil {
		name = target
	}
	file, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil {
		return fmt.Errorf("write %s: %w", name, errors.Unwrap(err))
	}
	defer func() {
		if err != nil {
			os.Remove(file.Name())
			err = fmt.Errorf("write %s: %w", name, err)
		}
	}()
	if _, err := file.Write(data); err != nil {
		file.Close()
		return err
	}
	// Monitoring runs as another user than who reads what it wrote.
	if err := file.Chmod(0o644); err != nil {
		file.Close()
		return err
	}
	if err := errors.Join(file.Sync(), file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), name)
}
