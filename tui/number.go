package tui

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"whichlink/graphs"
)

// percent writes a fraction as a share of a hundred: two digits after the point where the first would hide it.
func percent(fraction float64) string {
	v := fraction * 100
	switch {
	case math.IsNaN(v):
		return "?"
	case v >= 99.95:
		return "100 %"
	case v > 0 && v < 0.005:
		return "<0.01 %"
	case v > 0 && v < 0.995:
		return fmt.Sprintf("%.2f %%", v)
	}
	return fmt.Sprintf("%.1f %%", v)
}

// optional writes a fraction that may not have been measured.
func optional(fraction *float64) string {
	if fraction == nil {
		return "-"
	}
	return percent(*fraction)
}

// interval writes a credible interval of a fraction.
func interval(low, high *float64) string {
	if low == nil || high == nil {
		return "-"
	}
	digits := 1
	if *high < 0.00995 {
		digits = 2
	}
	return fmt.Sprintf("%.*f-%.*f %%", digits, *low*100, digits, *high*100)
}

// probability writes p with two digits and never rounds up: 1.00 would be a promise.
func probability(p float64) string {
	if math.IsNaN(p) {
		return "?"
	}
	return fmt.Sprintf("%.2f", math.Floor(min(max(p, 0), 1)*100+1e-9)/100)
}

// count writes a whole number with its thousands apart.
func count(n int) string {
	s := strconv.Itoa(n)
	neg := ""
	if n < 0 {
		neg, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return neg + s
}

// counted writes a number with the word for what it counts.
func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return count(n) + " " + many
}

// span of time in at most five cells: 4 s, 2m27, 3h02, 12 d.
func span5(d time.Duration) string {
	d = max(d, 0)
	s := int(d / time.Second)
	switch {
	case s < 100:
		return fmt.Sprintf("%d s", s)
	case s < 100*60:
		return fmt.Sprintf("%dm%02d", s/60, s%60)
	case s < 100*3600:
		return fmt.Sprintf("%dh%02d", s/3600, s/60%60)
	}
	return fmt.Sprintf("%d d", s/86400)
}

// The times of day that stand on screens, to the second, the millisecond, the microsecond. What they are of stands behind them: Z for UTC, L for local time.
const (
	seconds      = "15:04:05"
	milliseconds = "15:04:05.000"
	microseconds = "15:04:05.000000"
)

// at writes a time of the snapshot's zone.
func (s *Snapshot) at(t time.Time, layout string) string {
	switch {
	case t.IsZero():
		return "?"
	case s.Zone == nil:
		return t.UTC().Format(layout) + "Z"
	}
	return t.In(s.Zone).Format(layout) + "L"
}

// dated is a layout of times of day, with the date before it where the evidence has several: a time of day alone would be any of theirs.
func (s *Snapshot) dated(layout string) string {
	if d := s.Diagnosis; d != nil && s.at(d.From, time.DateOnly) != s.at(d.To, time.DateOnly) && !d.From.IsZero() {
		return time.DateOnly + " " + layout
	}
	return layout
}

// clock writes a time of day in UTC.
func clock(t time.Time) string {
	if t.IsZero() {
		return "?"
	}
	return t.UTC().Format("15:04:05Z")
}

// micros writes a delay given in microseconds.
func micros(us float64) string {
	switch {
	case math.IsNaN(us):
		return "?"
	case us >= 1e6:
		return fmt.Sprintf("%.1f s", us/1e6)
	case us >= 10e3:
		return fmt.Sprintf("%.0f ms", us/1e3)
	case us >= 1e3:
		return fmt.Sprintf("%.1f ms", us/1e3)
	}
	return fmt.Sprintf("%.0f us", us)
}

// speed writes a link's speed, empty where it is not known.
func speed(b graphs.BitsPerSecond) string {
	for _, u := range []struct {
		unit string
		is   graphs.BitsPerSecond
	}{{"T", 1e12}, {"G", 1e9}, {"M", 1e6}, {"K", 1e3}} {
		if b >= u.is {
			return strconv.FormatFloat(float64(b)/float64(u.is), 'f', -1, 64) + u.unit
		}
	}
	if b == 0 {
		return ""
	}
	return strconv.FormatUint(uint64(b), 10)
}
