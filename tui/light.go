package tui

import (
	"fmt"
	"math"
	"strings"
	"time"

	"whichlink/internal/diagnose"
	"whichlink/internal/evidence"
)

// The light of the transceivers at both ends of a link, over time. It is held against what it was, against what the other end sends, and against the limits of
// its module where these are known.

const (
	// lightHolds is for how long at most a reading stands for the time before it: light is read about once a minute.
	lightHolds = 3 * time.Minute
	// dimmed is by how many dB light has to fall to be told: what stays below that is temperature.
	dimmed = 2.0
)

// A lit is what one lane of a port received or sent, the oldest first; NaN where a reading told the other, but not this.
type lit struct {
	lane     int
	receives bool
	at       []time.Time
	over     []time.Duration
	dbm      []float64
	limits   *evidence.LightLimits // the newest
}

// litOf sorts the readings of light of a port by lane, each lane's receiver before its sender. What was never told is left out.
func litOf(list []diagnose.PortPoint) []lit {
	var out []lit
	find := func(lane int, receives bool) *lit {
		for i := range out {
			if out[i].lane == lane && out[i].receives == receives {
				return &out[i]
			}
		}
		out = append(out, lit{lane: lane, receives: receives})
		return &out[len(out)-1]
	}
	var before time.Time
	for i := range list {
		p := &list[i]
		if len(p.Optics) == 0 {
			continue
		}
		over := p.Over
		if gap := p.At.Sub(before); gap <= lightHolds {
			over = gap
		}
		before = p.At
		for _, lane := range p.Optics {
			for _, way := range []bool{true, false} {
				v, x, limits := math.NaN(), lane.Tx, lane.TxLimits
				if way {
					x, limits = lane.Rx, lane.RxLimits
				}
				if x != nil {
					v = *x
				}
				l := find(lane.Lane, way)
				l.limits = limits
				l.at, l.over, l.dbm = append(l.at, p.At), append(l.over, over), append(l.dbm, v)
			}
		}
	}
	kept := out[:0]
	for _, l := range out {
		if !math.IsNaN(latest(l.dbm)) {
			kept = append(kept, l)
		}
	}
	return kept
}

// now is the newest reading, NaN if it told nothing of this.
func (l *lit) now() float64 { return l.dbm[len(l.dbm)-1] }

// rank orders by how dark it is now: what tells nothing any more comes first.
func (l *lit) rank() float64 {
	if now := l.now(); !math.IsNaN(now) {
		return now
	}
	return math.Inf(-1)
}

// brightest is the reading with the most light.
func (l *lit) brightest() (dbm float64, at time.Time) {
	dbm = math.Inf(-1)
	for i, v := range l.dbm {
		if v > dbm {
			dbm, at = v, l.at[i]
		}
	}
	return dbm, at
}

// columns puts the readings into n columns between two times, of several in one the darkest.
func (l *lit) columns(from, to time.Time, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = math.NaN()
	}
	for i, v := range l.dbm {
		if math.IsNaN(v) {
			continue
		}
		for c := columnOf(l.at[i].Add(-l.over[i]+time.Nanosecond), from, to, n); c <= columnOf(l.at[i], from, to, n); c++ {
			if !(out[c] <= v) {
				out[c] = v
			}
		}
	}
	return out
}

// trouble says which limit of its module the light is beyond, and by how much it fell; nothing where all is well.
func (l *lit) trouble(s *Snapshot) (text string, alarm bool) {
	var words []string
	beyond, _, alarm := l.limits.Beyond(l.now()) // NaN is beyond none
	for _, w := range []string{beyond, l.fell(s)} {
		if w != "" {
			words = append(words, w)
		}
	}
	return strings.Join(words, ", "), alarm
}

// fell says by how much the light fell, nothing if it did not.
func (l *lit) fell(s *Snapshot) string {
	top, at := l.brightest()
	switch now := l.now(); {
	case math.IsNaN(now):
		return fmt.Sprintf("%.1f dBm at %s, none told since", latest(l.dbm), s.at(l.at[lastKnown(l.dbm)], s.dated(seconds)))
	case top-now >= dimmed:
		return fmt.Sprintf("%.1f dB less than at %s", top-now, s.at(at, s.dated(seconds)))
	}
	return ""
}

func lastKnown(v []float64) int {
	for i := len(v) - 1; i > 0; i-- {
		if !math.IsNaN(v[i]) {
			return i
		}
	}
	return 0
}

// lightScale is the scale of a port's light, in steps of 5 dB.
func lightScale(all []lit) (bottom, top float64) {
	bottom, top = math.Inf(1), math.Inf(-1)
	for i := range all {
		for _, v := range all[i].dbm {
			if !math.IsNaN(v) {
				bottom, top = min(bottom, v), max(top, v)
			}
		}
	}
	top = 5*math.Ceil(top/5) + 0 // no negative zero
	return min(5*math.Floor((bottom-1)/5), top-10), top
}

// lightLines draws the light of one end.
func lightLines(list []diagnose.PortPoint, from, to time.Time, span int, s *Snapshot) []line {
	all := litOf(list)
	if len(all) == 0 {
		return nil
	}
	bottom, top := lightScale(all)
	var out []line
	for i := range all {
		l := &all[i]
		what, way := "light", "tx"
		if l.lane > 0 {
			what = fmt.Sprint("lane ", l.lane)
		}
		if l.receives {
			way = "rx"
		}
		value, st := "none", bad
		if now := l.now(); !math.IsNaN(now) {
			value, st = fmt.Sprintf("%.1f dBm", now), plain
		}
		trouble, alarm := l.trouble(s)
		switch {
		case alarm:
			st = bad
		case trouble != "" && st == plain:
			st = warn
		}
		cells := l.columns(from, to, span)
		for c := range cells {
			cells[c] -= bottom
		}
		out = append(out, line{}.left(dim, what, 8).left(plain, way, 4).right(st, value, 9).gap(2).
			ink(plain, sparkline(cells, top-bottom)).gap(1).right(dim, fmt.Sprintf("%g to %g", bottom, top), 9))
		if trouble != "" {
			out = append(out, line{}.gap(14).add(st, trouble))
		}
	}
	return out
}

// fades says, for each direction, what light is lost between the sender of one end and the receiver of the other, by lane.
func fades(points [2][]diagnose.PortPoint) [2]string {
	var out [2]string
	for end := range 2 {
		var lost []string
		for _, a := range newestLight(points[end]) {
			for _, b := range newestLight(points[1-end]) {
				if a.Lane == b.Lane && a.Tx != nil && b.Rx != nil {
					lost = append(lost, fmt.Sprintf("%.1f", *a.Tx-*b.Rx))
				}
			}
		}
		if len(lost) > 0 {
			out[end] = strings.Join(lost, ", ") + " dB of light between what " + string(rune('A'+end)) + " sends and " + string(rune('B'-end)) + " receives"
			if len(lost) > 1 {
				out[end] += ", by lane"
			}
		}
	}
	return out
}

// newestLight is the last reading of a port's light, nil if there is none.
func newestLight(list []diagnose.PortPoint) []evidence.Lane {
	for i := len(list) - 1; i >= 0; i-- {
		if len(list[i].Optics) > 0 {
			return list[i].Optics
		}
	}
	return nil
}

// lightWords says in a sentence what light there is at both ends, of several lanes the darkest, and what it fell by.
func lightWords(points [2][]diagnose.PortPoint, s *Snapshot) string {
	var ends []string
	for end, list := range points {
		var words []string
		for _, receives := range []bool{true, false} {
			var worst *lit
			lanes := 0
			all := litOf(list)
			for i := range all {
				l := &all[i]
				if l.receives != receives {
					continue
				}
				lanes++
				if worst == nil || l.rank() < worst.rank() {
					worst = l
				}
			}
			if worst == nil {
				continue
			}
			text := map[bool]string{true: "rx ", false: "tx "}[receives] + "none"
			if now := worst.now(); !math.IsNaN(now) {
				text = fmt.Sprintf("%s %.1f dBm", text[:2], now)
			}
			if lanes > 1 {
				text += fmt.Sprintf(" in lane %d, the darkest", worst.lane)
			}
			if trouble, _ := worst.trouble(s); trouble != "" {
				text += " (" + trouble + ")"
			}
			words = append(words, text)
		}
		if len(words) > 0 {
			ends = append(ends, string(rune('A'+end))+" "+strings.Join(words, ", "))
		}
	}
	return strings.Join(ends, "; ")
}
