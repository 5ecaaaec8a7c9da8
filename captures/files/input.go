package files

import (
	"errors"
	"io"
)

// input is a stream read in large pieces, of which the next bytes can be looked at in place.
type input struct {
	in   io.Reader
	buf  []byte
	r, w int   // buf[r:w] is read and not consumed
	base int64 // offset of buf[0] in the stream
	err  error // of in, told once all that stands before it is consumed
}

func (in *input) offset() int64 { return in.base + int64(in.r) }

// peek returns the next n bytes without consuming them; they last until the next call. At the end of the stream the error is
// io.EOF when nothing is left, and io.ErrUnexpectedEOF when less than n bytes are.
func (in *input) peek(n int) ([]byte, error) {
	if in.w-in.r >= n {
		return in.buf[in.r : in.r+n], nil
	}
	if err := in.fill(n); err != nil {
		return nil, err
	}
	return in.buf[in.r : in.r+n], nil
}

// fill reads until n bytes are at hand. The buffer grows only as bytes arrive, so that a length that a file merely claims costs nothing.
func (in *input) fill(n int) error {
	in.base += int64(in.r)
	in.w = copy(in.buf, in.buf[in.r:in.w])
	in.r = 0
	empty := 0
	for in.w < n {
		if in.err != nil {
			if in.w == 0 || !errors.Is(in.err, io.EOF) {
				return in.err
			}
			return io.ErrUnexpectedEOF
		}
		if in.w == len(in.buf) {
			grown := make([]byte, min(2*len(in.buf), max(n, len(in.buf)+1)))
			copy(grown, in.buf)
			in.buf = grown
		}
		m, err := in.in.Read(in.buf[in.w:])
		in.w += m
		in.err = err
		if m > 0 {
			empty = 0
		} else if empty++; err == nil && empty == 100 {
			in.err = io.ErrNoProgress
		}
	}
	return nil
}

// rest returns what is read and not consumed.
func (in *input) rest() []byte { return in.buf[in.r:in.w] }

// skip consumes n bytes that were peeked at.
func (in *input) skip(n int) { in.r += n }

// discard consumes n bytes, however many they are.
func (in *input) discard(n int64) error {
	for n > 0 {
		if in.r == in.w {
			if _, err := in.peek(1); err != nil {
				if err == io.EOF {
					err = io.ErrUnexpectedEOF
				}
				return err
			}
		}
		step := min(n, int64(in.w-in.r))
		in.r += int(step)
		n -= step
	}
	return nil
}
