// Package session keeps what a session of the terminal UI saw, and shows it again: a [Recorder] writes every record to a bounded file in the user's
// state directory, and a [Player] moves through recorded evidence.
//
// A recording is evidence as every command writes it (JSON Lines), beside the fabric that it was measured on. It is written out once a second: a
// program that is killed loses no more, and a file that was cut is good up to the cut.
package session

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"whichlink/graphs"
	"whichlink/graphs/formats"
	"whichlink/internal/evidence"
)

const (
	// DefaultMost is the most that one recording takes, in bytes: of more, the newest half is kept at least.
	DefaultMost = 64 << 20
	// DefaultAll is the most that all recordings of a directory take. The oldest go first.
	DefaultAll = 256 << 20
	flushEvery = time.Second / 2
)

// RecorderConfig says where to record. Dir and Fabric are needed.
type RecorderConfig struct {
	Dir    string
	Fabric *graphs.Fabric
	// Most and All bound one recording and all of the directory, in bytes; 0 means [DefaultMost] and [DefaultAll].
	Most, All int64
	// Start names the recording; zero means now.
	Start time.Time
}

// A Recorder writes records to a file. Its methods are safe for concurrent use.
type Recorder struct {
	cfg  RecorderConfig
	stop chan struct{}
	done sync.WaitGroup

	mu      sync.Mutex // guards all below
	stem    string
	segment int
	file    *os.File
	buf     *bufio.Writer
	size    int64
	err     error // the first; nothing is written after it
	closed  bool
}

// Dir returns where recordings belong: whichlink in $XDG_STATE_HOME, or in ~/.local/state where that is not set.
func Dir() (string, error) {
	base := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(base) { // the specification: a path that is relative is to be ignored
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("find the state directory: %w", err)
		}
		base = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(base, "whichlink"), nil
}

// Record begins a recording. Old ones that are too much together are deleted first.
func Record(cfg RecorderConfig) (*Recorder, error) {
	cfg.Most, cfg.All = cmp.Or(cfg.Most, DefaultMost), cmp.Or(cfg.All, DefaultAll)
	if cfg.Start.IsZero() {
		cfg.Start = time.Now()
	}
	// What is measured is nobody else's business: names and addresses of a network.
	if err := os.MkdirAll(cfg.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("record the session: %w", err)
	}
	if err := makeRoom(cfg.Dir, cfg.All-cfg.Most); err != nil {
		return nil, err
	}
	r := &Recorder{cfg: cfg, stop: make(chan struct{})}
	r.stem = filepath.Join(cfg.Dir, fmt.Sprintf("%s-%d", cfg.Start.UTC().Format("20060102T150405Z"), os.Getpid()))
	if err := r.writeFabric(); err != nil {
		return nil, fmt.Errorf("record the session: %w", err)
	}
	if err := r.next(); err != nil {
		return nil, err
	}
	r.done.Go(r.flush)
	return r, nil
}

func (r *Recorder) writeFabric() error {
	f, err := os.OpenFile(r.stem+fabricEnd, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err := errors.Join(formats.WriteFabric(f, r.cfg.Fabric), f.Close()); err != nil {
		_ = os.Remove(f.Name()) // a part of a fabric is another one
		return graphs.Reason(err)
	}
	return nil
}

const fabricEnd = ".clab.yml"

// FabricOf returns the fabric file beside a recording, and whether there is one.
func FabricOf(recording string) (string, bool) {
	m := segmentName.FindStringSubmatch(filepath.Base(recording))
	if m == nil {
		return "", false
	}
	name := filepath.Join(filepath.Dir(recording), m[1]+fabricEnd)
	_, err := os.Stat(name)
	return name, err == nil
}

var segmentName = regexp.MustCompile(`^(\d{8}T\d{6}Z-\d+)\.(\d+)\.jsonl$`)
var fabricName = regexp.MustCompile(`^(\d{8}T\d{6}Z-\d+)\.clab\.yml$`)

func (r *Recorder) segmentPath(n int) string { return fmt.Sprintf("%s.%d.jsonl", r.stem, n) }

// Path returns the file that is written to now.
func (r *Recorder) Path() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.segmentPath(r.segment)
}

// Files returns the files that hold the recording now, the oldest first.
func (r *Recorder) Files() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.segment > 1 {
		return []string{r.segmentPath(r.segment - 1), r.segmentPath(r.segment)}
	}
	return []string{r.segmentPath(r.segment)}
}

// Flush writes out all that was added.
func (r *Recorder) Flush() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil && !r.closed {
		r.err = r.buf.Flush()
	}
	return r.err
}

// next begins another file, and deletes the last but one.
func (r *Recorder) next() error {
	if r.file != nil {
		if err := errors.Join(r.buf.Flush(), r.file.Close()); err != nil {
			return fmt.Errorf("record the session: %w", err)
		}
		if err := os.Remove(r.segmentPath(r.segment - 1)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("record the session: %w", err)
		}
	}
	r.segment++
	f, err := os.OpenFile(r.segmentPath(r.segment), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("record the session: %w", err)
	}
	r.file, r.size = f, 0
	r.buf = bufio.NewWriterSize(counting{f, &r.size}, 64<<10)
	return nil
}

type counting struct {
	f *os.File
	n *int64
}

func (c counting) Write(p []byte) (int, error) {
	n, err := c.f.Write(p)
	*c.n += int64(n)
	return n, err
}

// Add records. That it fails is told by Err: a full disk must not stop the measuring.
func (r *Recorder) Add(x *evidence.Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil || r.closed {
		return
	}
	if r.size+int64(r.buf.Buffered()) >= r.cfg.Most/2 {
		r.err = r.next()
	}
	if r.err == nil {
		r.err = evidence.Write(r.buf, x)
	}
}

func (r *Recorder) flush() {
	tick := time.NewTicker(flushEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			r.mu.Lock()
			if r.err == nil {
				r.err = r.buf.Flush()
			}
			r.mu.Unlock()
		case <-r.stop:
			return
		}
	}
}

// Err returns why nothing is recorded any more, nil as long as all goes well.
func (r *Recorder) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// Close writes out what is left.
func (r *Recorder) Close() error {
	close(r.stop)
	r.done.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	err := r.err
	if err == nil {
		err = r.buf.Flush()
	}
	if closed := r.file.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return fmt.Errorf("record the session: %w", graphs.Reason(err))
	}
	return nil
}

// makeRoom deletes the oldest recordings until they take no more than most bytes. It touches no file of another name.
func makeRoom(dir string, most int64) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("record the session: %w", err)
	}
	size := map[string]int64{}
	files := map[string][]string{}
	var total int64
	for _, e := range entries {
		m := segmentName.FindStringSubmatch(e.Name())
		if m == nil {
			m = fabricName.FindStringSubmatch(e.Name())
		}
		info, err := e.Info()
		if m == nil || err != nil || !info.Mode().IsRegular() {
			continue
		}
		size[m[1]] += info.Size()
		files[m[1]] = append(files[m[1]], e.Name())
		total += info.Size()
	}
	stems := make([]string, 0, len(size))
	for s := range size {
		stems = append(stems, s)
	}
	slices.SortFunc(stems, strings.Compare) // their names begin with their times
	for _, s := range stems {
		if total <= most {
			break
		}
		for _, name := range files[s] {
			if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("make room for a recording: %w", err)
			}
		}
		total -= size[s]
	}
	return nil
}
