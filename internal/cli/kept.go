package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"whichlink/graphs"
	"whichlink/internal/session"
)

const (
	// keptFile is what the screens remember from one session to the next, beside the recordings.
	keptFile = "screens.json"
	// mostKept bounds that file, in bytes.
	mostKept = 64 << 10
)

// A kept is a file of what somebody chose on the screens: one object, a member a part, so that two programs that run at once do not undo each other's parts,
// nor an older one what it does not know. It is a [tui.Memory]. The file is made when there is something to keep.
type kept struct {
	path string
	mu   sync.Mutex // guards the file, in this process
}

// newKept returns the memory of whoever runs the program.
func newKept() (*kept, error) {
	dir, err := session.Dir()
	if err != nil {
		return nil, err
	}
	return &kept{path: filepath.Join(dir, keptFile)}, nil
}

// Recall implements [tui.Memory].
func (k *kept) Recall(part string, v any) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	parts, err := k.read()
	if err != nil || parts[part] == nil {
		return err
	}
	if err := json.Unmarshal(parts[part], v); err != nil {
		return fmt.Errorf("%s: %s: %w", graphs.Clean(k.path), part, err)
	}
	return nil
}

// Keep implements [tui.Memory]. A file that cannot be understood is written anew.
func (k *kept) Keep(part string, v any) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	parts, err := k.read()
	if err != nil {
		parts = map[string]json.RawMessage{}
	}
	if parts[part], err = json.Marshal(v); err != nil {
		return fmt.Errorf("remember the %s: %w", part, err)
	}
	text, err := json.MarshalIndent(parts, "", "  ")
	if err == nil && len(text) >= mostKept {
		err = fmt.Errorf("%d bytes are more than the %d that a file of it may have", len(text), mostKept)
	}
	if err == nil {
		err = os.MkdirAll(filepath.Dir(k.path), 0o700)
	}
	if err == nil {
		err = k.write(append(text, '\n'))
	}
	if err != nil {
		return fmt.Errorf("remember the %s: %w", part, graphs.Reason(err))
	}
	return nil
}

func (k *kept) write(text []byte) error {
	file, finish, err := createWhole(k.path, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	return errors.Join(err, finish(err == nil))
}

// read returns the parts of the file, none if there is no file.
func (k *kept) read() (map[string]json.RawMessage, error) {
	parts := map[string]json.RawMessage{}
	text, err := readSmall(k.path, mostKept)
	if errors.Is(err, fs.ErrNotExist) {
		return parts, nil
	} else if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &parts); err != nil {
		var at *json.SyntaxError
		if errors.As(err, &at) {
			return nil, fmt.Errorf("%s: byte %d: %w", graphs.Clean(k.path), at.Offset, err)
		}
		return nil, fmt.Errorf("%s: %w", graphs.Clean(k.path), err)
	}
	if parts == nil { // null
		parts = map[string]json.RawMessage{}
	}
	return parts, nil
}

// readSmall reads a plain file of at most most bytes.
func readSmall(path string, most int) ([]byte, error) {
	name := graphs.Clean(path)
	if info, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("read %s: %w", name, graphs.Reason(err))
	} else if !info.Mode().IsRegular() { // to open a pipe would wait for a writer
		return nil, fmt.Errorf("%s is no plain file", name)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, graphs.Reason(err))
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, int64(most)+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", name, graphs.Reason(err))
	case len(text) > most:
		return nil, fmt.Errorf("%s: larger than %d bytes", name, most)
	}
	return text, nil
}
