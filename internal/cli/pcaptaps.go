package cli

import (
	"context"
	"fmt"
	"os"
	"slices"

	"whichlink/captures"
	"whichlink/captures/files"
	"whichlink/graphs"
)

// analyseTaps analyses the first capture and compares each with the next. A file that cannot be read ends it: what is missing in a
// capture that was not read is not lost.
func (e *env) analyseTaps(ctx context.Context, names []string, how *pcapOptions) error {
	stats := make([]*files.Stats, len(names))
	taps := make([]captures.Tap, len(names))
	bar := e.tapProgress(names)
	defer bar.clear()
	open := func(i int) (*capture, error) {
		opened, err := e.openCaptures(names[i : i+1])
		if err != nil {
			opened[0].close()
			return nil, err
		}
		bar.opened = append(bar.opened, opened[0])
		return opened[0], nil
	}
	for i, name := range names {
		taps[i] = captures.Tap{Name: name, Open: func() (files.Source, func(), error) {
			c, err := open(i)
			if err != nil {
				return nil, nil, err
			}
			stats[i] = c.stats()
			return c.file, func() { bar.close(c) }, nil
		}}
	}
	var compared []*captures.TapReport
	var found [][]captures.Finding
	for i := range taps[1:] {
		t, findings, err := captures.CompareTaps(ctx, taps[i], taps[i+1], how.cfg.MaxFindings, how.place.passage(i), bar.show)
		if err != nil {
			return err
		}
		compared, found = append(compared, t), append(found, findings)
	}
	first, err := open(0)
	if err != nil {
		return err
	}
	defer bar.close(first)
	a := captures.New(how.cfg)
	if err := e.analyseAll(ctx, a, first.file, bar); err != nil {
		return err
	}
	stats[0] = first.stats()
	r := a.Report(stats...)
	for i, t := range compared {
		r.AddTaps(t, found[i])
	}
	if err := e.tellCaptures(a, r, names, how, nil); err != nil {
		return err
	}
	for _, s := range stats {
		if s.Err != nil && s.Packets == 0 {
			return fmt.Errorf("read capture %s: %w", graphs.Clean(s.Name), s.Err)
		}
	}
	return nil
}

// tapProgress is a bar for what analyseTaps reads: both captures of each comparison twice, and the first once more.
func (e *env) tapProgress(names []string) *progress {
	total := int64(0)
	for i, name := range names {
		info, err := os.Stat(name)
		if err != nil || !info.Mode().IsRegular() {
			continue // opening it will tell
		}
		times := int64(4)
		if i == 0 {
			times = 3
		} else if i == len(names)-1 {
			times = 2
		}
		total += times * info.Size()
	}
	return e.newProgress(total, nil)
}

// close closes a capture that was read.
func (p *progress) close(c *capture) {
	c.close()
	p.done += c.size
	p.opened = slices.DeleteFunc(p.opened, func(o *capture) bool { return o == c })
}
