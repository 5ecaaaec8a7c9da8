package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"whichlink/internal/evidence"
)

// What becomes of the evidence that a file has when more is written to it.
const (
	overwrite = os.O_TRUNC // it was of another run
	lengthen  = 0          // it is of the same watch, before a restart
)

// mostUnwritten is how much evidence waits to be written, in bytes.
const mostUnwritten = 64 << 10

// evidenceWriter writes records as they come, at most a second late, and remembers the first error. It writes whole lines only, so that nothing that
// empties or moves the file meanwhile, or writes to it too, finds half of one.
type evidenceWriter struct {
	mu      sync.Mutex // guards all below
	out     io.Writer
	waiting bytes.Buffer
	flushed time.Time
	count   int
	err     error
}

func (w *evidenceWriter) record(r *evidence.Record) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return
	}
	w.err = evidence.Write(&w.waiting, r)
	w.count++
	if now := time.Now(); (now.Sub(w.flushed) > time.Second || w.waiting.Len() > mostUnwritten) && w.err == nil {
		w.flushed = now
		w.flush()
	}
}

// flush writes what waits.
func (w *evidenceWriter) flush() {
	_, w.err = w.out.Write(w.waiting.Bytes())
	w.waiting.Reset()
}

// evidenceOut opens where evidence goes; how is overwrite or lengthen. The function that it returns may be called twice.
func (e *env) evidenceOut(name string, how int) (*evidenceWriter, func() error, error) {
	w := &evidenceWriter{out: e.stdout}
	closeFile := func() error { return nil }
	if name != "-" {
		// Without O_APPEND, a file that is emptied to be rotated would begin with a hole of as many bytes as were written before.
		file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND|how, 0o666)
		if err != nil {
			return nil, nil, fmt.Errorf("write evidence: %w", err)
		}
		w.out, closeFile = file, file.Close
		if how == lengthen && endsTorn(name) {
			w.waiting.WriteByte('\n')
		}
	}
	return w, sync.OnceValue(func() error {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.err == nil {
			w.flush()
		}
		err := w.err
		if cerr := closeFile(); err == nil { // of one full disk one error is enough
			err = cerr
		}
		if err != nil {
			return fmt.Errorf("write evidence: %w", err)
		}
		return nil
	}), nil
}

// endsTorn reports whether a plain file may end in half a line.
func endsTorn(name string) bool {
	info, err := os.Stat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return false
	}
	file, err := os.Open(name)
	if err != nil {
		return true // an empty line harms nobody
	}
	defer file.Close()
	var last [1]byte
	_, err = file.ReadAt(last[:], info.Size()-1)
	return err != nil || last[0] != '\n'
}
