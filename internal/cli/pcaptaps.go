package cli

import (
	"context"
	"fmt"

	"whichlink/captures"
	"whichlink/captures/files"
	"whichlink/graphs"
)

// analyseTaps analyses the first capture and compares each with the next. A file that cannot be read ends it: what is missing in a
// capture that was not read is not lost.
func (e *env) analyseTaps(ctx context.Context, names []string, how *pcapOptions) error {
	stats := make([]*files.Stats, len(names))
	taps := make([]captures.Tap, len(names))
	for i, name := range names {
		taps[i] = captures.Tap{Name: name, Open: func() (files.Source, func(), error) {
			opened, err := e.openCaptures([]string{name})
			if err != nil {
				opened[0].close()
				return nil, nil, err
			}
			stats[i] = opened[0].stats()
			return opened[0].file, opened[0].close, nil
		}}
	}
	var compared []*captures.TapReport
	var found [][]captures.Finding
	for i := range taps[1:] {
		t, findings, err := captures.CompareTaps(ctx, taps[i], taps[i+1], how.cfg.MaxFindings)
		if err != nil {
			return err
		}
		compared, found = append(compared, t), append(found, findings)
	}
	opened, err := e.openCaptures(names[:1])
	defer opened[0].close()
	if err != nil {
		return err
	}
	a := captures.New(how.cfg)
	if err := e.analyseAll(ctx, a, files.Merge(opened[0].file), opened); err != nil {
		return err
	}
	stats[0] = opened[0].stats()
	r := a.Report(stats...)
	for i, t := range compared {
		r.AddTaps(t, found[i])
	}
	if err := e.tellCaptures(a, r, names, how); err != nil {
		return err
	}
	for _, s := range stats {
		if s.Err != nil && s.Packets == 0 {
			return fmt.Errorf("read capture %s: %w", graphs.Clean(s.Name), s.Err)
		}
	}
	return nil
}
