package session

import (
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"whichlink/graphs"
	"whichlink/internal/evidence"
)

// A reel is an index of evidence files by time: what lies between two moments is read without the rest.
type reel struct {
	files    []reelFile
	from, to time.Time // of all records
}

type reelFile struct {
	name   string
	blocks []block
}

// A block is some lines of a file. Records of several hosts do not stand in the order of time, so both bounds are kept.
type block struct {
	place  int64     // of its first line
	before time.Time // no record before the block is newer
	after  time.Time // no record from the block on is older
}

// blockSize is how much of a file stands between two entries of its index, in bytes.
const blockSize = 256 << 10

// index reads files once. A file that breaks off in the middle is used as far as it goes.
func index(names []string) (*reel, error) {
	r := &reel{}
	for _, name := range names {
		f, err := os.Open(name)
		if err != nil {
			return nil, fmt.Errorf("read evidence %s: %w", graphs.Clean(name), graphs.Reason(err))
		}
		r.files = append(r.files, r.indexFile(f, name))
		f.Close()
	}
	return r, nil
}

func (r *reel) indexFile(in io.Reader, name string) reelFile {
	file := reelFile{name: name}
	var newest time.Time
	var oldest []time.Time // within each block
	// What is wrong with the file was told when it was opened.
	_, _ = evidence.ReadPlaces(in, name, func(x *evidence.Record, place int64) bool {
		n := len(file.blocks)
		if n == 0 || place-file.blocks[n-1].place >= blockSize {
			file.blocks = append(file.blocks, block{place: place, before: newest})
			oldest = append(oldest, x.Time)
			n++
		}
		if x.Time.Before(oldest[n-1]) {
			oldest[n-1] = x.Time
		}
		if x.Time.After(newest) {
			newest = x.Time
		}
		if r.from.IsZero() || x.Time.Before(r.from) {
			r.from = x.Time
		}
		if x.Time.After(r.to) {
			r.to = x.Time
		}
		return true
	})
	for i := len(file.blocks) - 1; i >= 0; i-- {
		file.blocks[i].after = oldest[i]
		if i+1 < len(file.blocks) && file.blocks[i+1].after.Before(oldest[i]) {
			file.blocks[i].after = file.blocks[i+1].after
		}
	}
	return file
}

// between returns the records after one moment and up to another, in the order of time.
func (r *reel) between(after, to time.Time) ([]*evidence.Record, error) {
	var out []*evidence.Record
	for i := range r.files {
		found, err := r.files[i].between(after, to)
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	slices.SortStableFunc(out, func(a, b *evidence.Record) int { return a.Time.Compare(b.Time) })
	return out, nil
}

func (f *reelFile) between(after, to time.Time) ([]*evidence.Record, error) {
	first, last := 0, len(f.blocks)
	for i := range f.blocks {
		if !f.blocks[i].before.After(after) {
			first = i
		}
	}
	for last > first && f.blocks[last-1].after.After(to) {
		last--
	}
	if first >= last {
		return nil, nil
	}
	in, err := os.Open(f.name)
	if err != nil {
		return nil, fmt.Errorf("read evidence: %w", err)
	}
	defer in.Close()
	start := f.blocks[first].place
	if _, err := in.Seek(start, io.SeekStart); err != nil {
		return nil, fmt.Errorf("read evidence: %w", err)
	}
	end := int64(-1)
	if last < len(f.blocks) {
		end = f.blocks[last].place - start
	}
	var out []*evidence.Record
	_, _ = evidence.ReadPlaces(in, f.name, func(x *evidence.Record, place int64) bool {
		if end >= 0 && place >= end {
			return false
		}
		if x.Time.After(after) && !x.Time.After(to) {
			out = append(out, x)
		}
		return true
	})
	return out, nil
}
