package diagnose

import "time"

// A dial writes times of day in UTC: with their date, if it is true.
type dial bool

// dial is with dates where the evidence has several: a time of day alone would be any of theirs.
func (s *Store) dial() dial {
	return dial(s.from.UTC().Format(time.DateOnly) != s.to.UTC().Format(time.DateOnly))
}

// write writes a time by a layout of its time of day.
func (d dial) write(t time.Time, layout string) string {
	if d {
		layout = time.DateOnly + " " + layout
	}
	return t.UTC().Format(layout)
}

// clock writes a time to the second.
func (d dial) clock(t time.Time) string { return d.write(t, "15:04:05Z") }
