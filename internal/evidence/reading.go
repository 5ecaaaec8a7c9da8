package evidence

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
	"sync/atomic"

	"whichlink/graphs"
)

// MaxLine is the longest line that is read, in bytes.
const MaxLine = 1 << 20

// Skipped counts what a reader passed over, by reason, so that it can be said.
type Skipped map[string]int

// A LineError is an error at a place in a file. Err says what is wrong there.
type LineError struct {
	File string
	Line int
	Err  error
}

func (e *LineError) Error() string { return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err) }
func (e *LineError) Unwrap() error { return e.Err }

// Broken and Unread are reasons in [Skipped]: lines that are no records, and those behind which nothing was read.
const (
	Broken = "broken lines"
	Unread = "lines at which the reading of a file ended, with all that follows"
)

const (
	// mostFirst is how many broken lines are read where no record stands before them: it may be no evidence at all.
	mostFirst = 16
	// mostBroken is how many are read where there are fewer records.
	mostBroken = 1000
	// mostTold is how many of them are told one by one.
	mostTold = 5
)

// Read reads JSON Lines and hands each record to yield, until yield returns false. Records of unknown sources or kinds
// and of newer versions are skipped and counted. So are broken lines, as a crash or a rotation leaves them, and the error tells the first of them, each as
// a *LineError; where nearly all lines are broken the rest is not read. A last line without its newline was cut short by the end of its writer, and is no error.
// Lines that can be read without waiting are decoded beside each other; what is handed on, and in which order, does not depend on that.
func Read(in io.Reader, file string, yield func(*Record) bool) (Skipped, error) {
	return ReadPlaces(in, file, func(r *Record, _ int64) bool { return yield(r) })
}

// ReadPlaces is Read that also tells where the line of each record begins, in bytes from where the reading began.
func ReadPlaces(in io.Reader, file string, yield func(r *Record, place int64) bool) (Skipped, error) {
	x := reading{buf: bufio.NewReaderSize(in, mostAhead), file: graphs.Clean(file), skipped: Skipped{}}
	for !x.ended {
		lines := x.ahead()
		decode(lines)
		for i := range lines {
			if r := x.record(&lines[i]); r != nil && !yield(r, lines[i].place) {
				return x.skipped, x.err()
			}
			if x.ended {
				break
			}
		}
	}
	return x.skipped, x.err()
}

// mostAhead is how many bytes are read ahead.
const mostAhead = 256 << 10

// A reading is how far a file was read.
type reading struct {
	buf    *bufio.Reader
	file   string
	n      int   // lines, so far
	behind int64 // where the next one begins
	ended  bool  // no more is read

	usable  int // lines that were records
	skipped Skipped
	told    []error
}

// A line is one of a file, and the record that it holds unless something is wrong with it.
type line struct {
	n      int // from 1
	place  int64
	zeros  int64 // NUL bytes that stood before the text
	text   []byte
	last   bool  // it has no newline
	unread error // why neither it nor any more could be read
	record *Record
	wrong  error
}

// ahead reads lines as far as nobody has to be waited for, but one at least.
func (x *reading) ahead() []line {
	var lines []line
	for {
		l := x.next()
		lines = append(lines, l)
		if there, _ := x.buf.Peek(x.buf.Buffered()); l.last || l.unread != nil || bytes.IndexByte(there, '\n') < 0 {
			return lines
		}
	}
}

// next reads the next line.
func (x *reading) next() line {
	text, zeros, err := readLine(x.buf)
	x.n++
	l := line{n: x.n, place: x.behind, zeros: zeros, last: errors.Is(err, io.EOF)}
	x.behind += zeros + int64(len(text))
	if err != nil && !l.last {
		l.unread = err
	}
	if x.n == 1 {
		text = bytes.TrimPrefix(text, []byte("\ufeff"))
	}
	l.text = bytes.TrimSpace(text)
	return l
}

// decode decodes lines, on as many cores as there are.
func decode(lines []line) {
	const fewest = 16 // for which another core is worth while
	var taken atomic.Int64
	work := func() {
		for i := taken.Add(1) - 1; i < int64(len(lines)); i = taken.Add(1) - 1 {
			lines[i].decode()
		}
	}
	var others sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(lines)/fewest) - 1 {
		others.Go(work)
	}
	work()
	others.Wait()
}

func (l *line) empty() bool { return len(l.text) == 0 && l.zeros == 0 }

func (l *line) decode() {
	switch {
	case l.unread != nil || l.empty():
	case l.zeros > 0:
		l.wrong = fmt.Errorf("it begins with %d NUL bytes", l.zeros)
	default:
		l.record = new(Record)
		if err := unmarshal(l.text, l.record); err != nil {
			l.wrong = inWords(l.text, err)
		}
	}
}

// record returns the record that a line holds, nil if that is none that can be used.
func (x *reading) record(l *line) *Record {
	x.ended = l.last || l.unread != nil
	if l.unread != nil {
		x.skipped[Unread]++
		x.tell(l, graphs.Reason(l.unread))
		return nil
	}
	if l.empty() {
		return nil
	}
	if l.wrong != nil {
		if l.last && l.n > 1 {
			x.skipped["last line cut short"]++
			return nil
		}
		x.broken(l, fmt.Errorf("not an evidence record: %w", l.wrong))
		return nil
	}
	if why := l.record.unreadable(); why != "" {
		x.usable++
		x.skipped[why]++
		return nil
	}
	if err := l.record.check(); err != nil {
		x.broken(l, err)
		return nil
	}
	x.usable++
	return l.record
}

// broken passes over a line, and ends the reading where hardly a line is a record.
func (x *reading) broken(l *line, err error) {
	x.skipped[Broken]++
	n := x.skipped[Broken]
	if n <= mostTold {
		x.tell(l, err)
	}
	if x.usable == 0 && n >= mostFirst || x.usable < n && n >= mostBroken {
		x.skipped[Unread]++
		x.ended = true
	}
}

func (x *reading) tell(l *line, err error) { x.told = append(x.told, &LineError{x.file, l.n, err}) }

// err tells what is wrong with the file. Where it has no record at all the first line is enough.
func (x *reading) err() error {
	if x.usable == 0 && len(x.told) > 0 {
		return x.told[0]
	}
	told := x.told
	if more := x.skipped[Broken] - mostTold; more > 0 {
		told = append(told, fmt.Errorf("%s: %d more lines are no evidence records", x.file, more))
	}
	return errors.Join(told...)
}

// mostZeros is the longest run of NUL bytes that is passed over, as a file that was emptied while it was written to begins with.
const mostZeros = 1 << 30

// readLine reads a line, and counts the NUL bytes at its beginning in place of keeping them.
func readLine(buf *bufio.Reader) (line []byte, zeros int64, err error) {
	for {
		part, err := buf.ReadSlice('\n')
		if len(line) == 0 {
			all := len(part)
			part = bytes.TrimLeft(part, "\x00")
			zeros += int64(all - len(part))
		}
		line = append(line, part...)
		if len(line) > MaxLine || zeros > mostZeros {
			return nil, 0, fmt.Errorf("line longer than %d bytes", MaxLine)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, zeros, err
		}
	}
}
