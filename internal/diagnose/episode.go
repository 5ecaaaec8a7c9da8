package diagnose

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"

	"whichlink/pathfind/rhythm"
)

// An Episode is a stretch of time in which a suspect was bad.
type Episode struct {
	// Start is the moment from which the times count, the zero time where only their distance from an unknown beginning is known.
	Start time.Time
	// From and To are when the first and the last packet was lost, or late, since Start.
	From, To time.Duration
}

// MarshalJSON writes an episode as from and to in RFC 3339, or without a known beginning as from_ms and to_ms.
func (e Episode) MarshalJSON() ([]byte, error) {
	if e.Start.IsZero() {
		return json.Marshal(struct {
			From float64 `json:"from_ms"`
			To   float64 `json:"to_ms"`
		}{milliseconds(e.From), milliseconds(e.To)})
	}
	return json.Marshal(struct {
		From time.Time `json:"from"`
		To   time.Time `json:"to"`
	}{e.Start.Add(e.From).UTC(), e.Start.Add(e.To).UTC()})
}

// times are when the episodes of a suspect were, each begun and ended by so much earlier and later; of those without a known beginning none are.
func (x *Suspect) times(wider time.Duration) (list []stretch) {
	for _, e := range x.Episodes {
		if !e.Start.IsZero() {
			list = append(list, stretch{e.Start.Add(e.From - wider), e.Start.Add(e.To + wider)})
		}
	}
	return list
}

// between says from when to when the episodes of a suspect were, and how many if there are several: " 3 times from 03:00:05Z to 03:01:05Z".
func (x *Suspect) between() string {
	first, last := &x.Episodes[0], &x.Episodes[len(x.Episodes)-1]
	text := fmt.Sprintf(" from %s to %s", x.dial.clock(first.Start.Add(first.From)), x.dial.clock(last.Start.Add(last.To)))
	if n := len(x.Episodes); n > 1 {
		text = fmt.Sprintf(" %d times%s", n, text)
	}
	return text
}

func (e Episode) String() string { return e.words(false) }

func (e Episode) words(d dial) string {
	if e.Start.IsZero() {
		return fmt.Sprintf("%.1f to %.1f ms", milliseconds(e.From), milliseconds(e.To))
	}
	return fmt.Sprintf("%s for %s", d.write(e.Start.Add(e.From), "15:04:05.000Z"), (e.To - e.From).Round(time.Millisecond))
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// TellRhythm says when the losses of a suspect were, if they came in episodes, and makes it one that flaps if they are those of a link which comes and
// goes. Start is the moment from which the times
// of the rhythm count, and source what measured it.
func (x *Suspect) TellRhythm(r *rhythm.Rhythm, start time.Time, source string) {
	var text string
	switch r.Kind {
	case rhythm.Flapping:
		text = fmt.Sprintf("bad in %d episodes, %s of the time", len(r.Episodes), dutyText(r))
	case rhythm.Once:
		text = fmt.Sprintf("bad in one episode that is over, %s of the time", dutyText(r))
	case rhythm.Since:
		text = "bad from some moment on"
	case rhythm.Until:
		text = "bad until some moment"
	default:
		return
	}
	if flaps(r) {
		x.Symptom = Flap
	}
	if x.when, x.most = x.whenWords(r, start), "all"; r.Stray >= 0.5 {
		x.most = "nearly all"
	}
	var sent, lost float64
	var when []string
	for _, e := range r.Episodes {
		x.Episodes = append(x.Episodes, Episode{start, duration(e.From), duration(e.To)})
		sent, lost = sent+e.Sent, lost+e.Lost
		when = append(when, x.Episodes[len(x.Episodes)-1].words(x.dial))
	}
	x.Duty, x.DutyLow, x.DutyHigh = r.Duty, r.DutyLow, r.DutyHigh
	if over := r.Kind == rhythm.Until || r.Kind == rhythm.Once && x.Symptom == Loss; over && !start.IsZero() {
		last := x.Episodes[len(x.Episodes)-1]
		until := start.Add(last.To)
		x.Until = &until
	}
	const most = 5
	if len(when) > most {
		when = append(when[:most], fmt.Sprintf("and %d more", len(when)-most))
	}
	text += fmt.Sprintf(" (%s), in which %s of its packets were lost (%.0f of %.0f), and %d outside of that", strings.Join(when, ", "),
		Percent(r.Loss), lost, sent, max(0, int(math.Round(r.Stray))))
	switch {
	case r.Period > 0:
		x.PeriodMS = int(r.Period + 0.5)
		text += fmt.Sprintf("; regularly, one every %s, none off by more than %s", Micros(1e3*r.Period), Percent(max(r.Jitter, 0.01)))
	case len(r.Episodes) > 2 && r.Unwatched == 0:
		text += "; at no regular interval"
	}
	x.For += "; " + text
	x.Evidence = append(x.Evidence, Evidence{source, fmt.Sprintf("%s; %s times likelier than a loss that is always there", text, times(r.Bayes))})
}

// lossIn is the share that was lost in an episode, and of how many packets. It begins and ends with a loss where the evidence does not: those two tell of its length, not of the loss.
func lossIn(e *rhythm.Episode) (loss, n float64) {
	edges := 0.0
	if !e.Begun {
		edges += 0.5
	}
	if !e.Lasting {
		edges += 0.5
	}
	n = max(e.Sent-edges, 0.5)
	return min(1, max(e.Lost-edges, 0.5)/n), n
}

// losesThen makes the loss of a suspect that of the one episode in which it was bad, of so many packets. How wide its interval is beside it does not change, but that of one which was
// down is that of a share of independent packets.
func (x *Suspect) losesThen(loss, n float64) {
	if x.then = true; x.Symptom == Flap {
		low, high := aboutShare(loss, n)
		x.loses(loss, low, high)
		return
	}
	wider := loss / max(*x.Loss, 1e-9)
	x.loses(loss, min(loss, *x.LossLow*wider), min(1, *x.LossHigh*wider))
}

// whenWords says since when or until when a suspect was bad, "" where that is not known or it comes and goes.
func (x *Suspect) whenWords(r *rhythm.Rhythm, start time.Time) string {
	if start.IsZero() || len(r.Episodes) == 0 {
		return ""
	}
	from, to := x.dial.clock(start.Add(duration(r.Episodes[0].From))), x.dial.clock(start.Add(duration(r.Episodes[len(r.Episodes)-1].To)))
	switch r.Kind {
	case rhythm.Once:
		return fmt.Sprintf(" from %s to %s", from, to)
	case rhythm.Since:
		return " since " + from
	case rhythm.Until:
		return " until " + to
	}
	return ""
}

// dutyText is the duty cycle with its interval, if that is known.
func dutyText(r *rhythm.Rhythm) string {
	if r.DutyHigh == 0 {
		return Percent(r.Duty)
	}
	return fmt.Sprintf("%s (%s to %s)", Percent(r.Duty), Percent(r.DutyLow), Percent(r.DutyHigh))
}

// flaps reports whether a rhythm is that of a link which comes and goes. A queue that is full for a while loses some packets in it, and no more.
func flaps(r *rhythm.Rhythm) bool {
	const most, seldom = 0.3, 0.3 // loss in the episodes, and the share of the time
	switch r.Kind {
	case rhythm.Flapping:
		return r.Loss >= most || r.Duty <= seldom
	case rhythm.Once:
		return r.Loss >= outageLoss && r.Duty <= 0.5
	}
	return false
}

// duration makes a duration of milliseconds.
func duration(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }
