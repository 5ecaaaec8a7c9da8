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

// evidenceWriter writes records as they come, at most a second late. What cannot be written is lost, and said once when that begins and once when it is
// over. It writes whole lines only, so that nothing that empties or moves the file meanwhile, or writes to it too, finds half of one.
type evidenceWriter struct {
	out io.Writer
	say func(format string, args ...any)

	mu      sync.Mutex // guards all below
	waiting bytes.Buffer
	records int // that wait
	flushed time.Time
	count   int   // of records
	lost    int   // of them
	err     error // the newest one
	failing bool  // the newest try to write ended with it
	torn    bool  // half a line was written last
}

func (w *evidenceWriter) record(r *evidence.Record) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.count++
	if err := evidence.Write(&w.waiting, r); err != nil {
		w.err = err
		w.lost++
		return
	}
	w.records++
	if now := time.Now(); now.Sub(w.flushed) > time.Second || w.waiting.Len() > mostUnwritten {
		w.flushed = now
		switch failed := w.failing; {
		case !w.flush() && !failed:
			w.say("evidence cannot be written and is lost until it can: %v", w.err)
		case failed && !w.failing:
			w.say("evidence is written again; %d records were lost", w.lost)
		}
	}
}

// flush writes what waits, and reports whether it could.
func (w *evidenceWriter) flush() bool {
	text := w.waiting.Bytes()
	if w.torn && len(text) > 0 {
		text = append([]byte{'\n'}, text...)
	}
	n, err := w.out.Write(text)
	if w.failing = err != nil; w.failing {
		w.err = err
		w.lost += w.records - bytes.Count(bytes.TrimLeft(text[:n], "\n"), []byte{'\n'})
	}
	if n > 0 {
		w.torn = text[n-1] != '\n'
	}
	w.waiting.Reset()
	w.records = 0
	return !w.failing
}

// end writes what still waits, and tells what was lost.
func (w *evidenceWriter) end() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.flush()
	if w.err != nil && w.lost > 0 && w.lost < w.count {
		return fmt.Errorf("%d of %d records are lost: %w", w.lost, w.count, w.err)
	}
	return w.err
}

// evidenceOut opens where evidence goes; how is overwrite or lengthen. The function that it returns may be called twice.
func (e *env) evidenceOut(name string, how int) (*evidenceWriter, func() error, error) {
	w := &evidenceWriter{out: e.stdout, say: e.say}
	closeFile := func() error { return nil }
	if name != "-" {
		// Without O_APPEND, a file that is emptied to be rotated would begin with a hole of as many bytes as were written before.
		file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND|how, 0o666)
		if err != nil {
			return nil, nil, fmt.Errorf("write evidence: %w", err)
		}
		w.out, closeFile = file, file.Close
		w.torn = how == lengthen && endsTorn(name)
	}
	return w, sync.OnceValue(func() error {
		err := w.end()
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
