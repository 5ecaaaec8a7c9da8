package files

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// maxWindow is the largest zstd window that is accepted: what zstd itself takes without being told otherwise is 128 MiB, more
// than all that a capture may cost here.
const maxWindow = 32 << 20

// decompressed returns the plain stream behind in, and what releases it.
func decompressed(in io.Reader, buffer int) (io.Reader, func(), error) {
	head := bufio.NewReaderSize(in, 16) // so little that whoever reads more reads past it, and nothing is copied twice
	magic, err := head.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, err
	}
	switch {
	case len(magic) >= 2 && magic[0] == 0x1f && magic[1] == 0x8b:
		z, err := gzip.NewReader(bufio.NewReaderSize(head, min(buffer, 64<<10)))
		if err != nil {
			return nil, nil, fmt.Errorf("gzip: %w", err)
		}
		return told{z, "gzip"}, func() { _ = z.Close() }, nil
	case len(magic) == 4 && [4]byte(magic) == [4]byte{0x28, 0xb5, 0x2f, 0xfd}:
		z, err := zstd.NewReader(bufio.NewReaderSize(head, min(buffer, 64<<10)), zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, nil, fmt.Errorf("zstd: %w", err)
		}
		return told{z, "zstd"}, z.Close, nil
	}
	return head, func() {}, nil
}

// told names the compression in its errors.
type told struct {
	io.Reader
	what string
}

func (t told) Read(b []byte) (int, error) {
	n, err := t.Reader.Read(b)
	if errors.Is(err, gzip.ErrHeader) {
		return n, errors.New("gzip: what follows is not compressed with gzip") // all up to the end of a member was read
	}
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		err = fmt.Errorf("%s: %w", t.what, err)
	}
	return n, err
}
