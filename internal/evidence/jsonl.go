package evidence

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"

	"whichlink/graphs"
)

// Write writes one record as a line of JSON.
func Write(w io.Writer, r *Record) error {
	r.V = Version
	r.Time = r.Time.UTC()
	var line bytes.Buffer
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false) // arcs are written with >, and people read this
	if err := enc.Encode(r); err != nil {
		return fmt.Errorf("encode a record: %w", err)
	}
	_, err := w.Write(line.Bytes())
	return err
}

// token matches what stands in quotes, and numbers.
var token = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?`)

// unmarshal decodes a record. JSON knows one kind of number only (RFC 8259, section 6), so that what is whole may have been written as 9.0 or 1e11.
func unmarshal(line []byte, r *Record) error {
	err := json.Unmarshal(line, r)
	var kind *json.UnmarshalTypeError
	if !errors.As(err, &kind) || !strings.HasPrefix(kind.Value, "number ") || !strings.ContainsAny(kind.Value[len("number "):], ".eE") {
		return err
	}
	whole := token.ReplaceAllFunc(line, func(word []byte) []byte {
		x, err := strconv.ParseFloat(string(word), 64)
		if err != nil || x != math.Trunc(x) || math.Abs(x) > 1<<53 {
			return word
		}
		return strconv.AppendInt(nil, int64(x), 10)
	})
	*r = Record{}
	return json.Unmarshal(whole, r)
}

// inWords says in the reader's words what is wrong with a line, instead of in the decoder's.
func inWords(line []byte, err error) error {
	var kind *json.UnmarshalTypeError
	var moment *time.ParseError
	switch {
	case bytes.HasPrefix(line, []byte{0x1f, 0x8b}):
		return errors.New("the file is compressed with gzip, expected JSON Lines")
	case errors.As(err, &kind) && kind.Field != "":
		is := "of type " + kind.Value
		if number, ok := strings.CutPrefix(kind.Value, "number "); ok {
			is = number // which does not fit
		}
		return fmt.Errorf("the value of %s is %s, expected %s", graphs.Clean(strings.TrimPrefix(kind.Field, "PortState.")), graphs.Clean(is), typeInJSON(kind.Type))
	case errors.As(err, &kind):
		return fmt.Errorf("it is of type %s, expected object", graphs.Clean(kind.Value))
	case errors.As(err, &moment):
		return fmt.Errorf("the time %q is not of the form of RFC 3339", graphs.Clean(moment.Value))
	case strings.HasPrefix(err.Error(), "Time.UnmarshalJSON"): // an error without a type
		return errors.New("a time is not of type string, of the form of RFC 3339")
	}
	return err
}

// typeInJSON names what a Go type is in JSON.
func typeInJSON(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice, reflect.Array:
		return "array"
	case reflect.Struct, reflect.Map, reflect.Pointer:
		return "object"
	case reflect.Float32, reflect.Float64:
		return "number"
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return fmt.Sprintf("whole number from 0 to %d", uint64(math.MaxUint64)>>(64-t.Bits()))
	}
	return "whole number"
}

// unreadable says why a record cannot be used by this version, or "".
func (r *Record) unreadable() string {
	if r.V > Version {
		return fmt.Sprintf("version %d", r.V)
	}
	switch r.Source {
	case SourceProbe, SourceSNMP, SourcePcap, SourceNote:
	case "":
		return "no source"
	default:
		return "source " + graphs.Clean(string(r.Source))
	}
	switch r.Kind {
	case KindEcho, KindHop, KindPath, KindPlan, KindFlow, KindFinding, KindStrain, KindNote, KindCounters, KindEvent, KindNeighbour:
		return ""
	case "":
		return "no kind"
	}
	return "kind " + graphs.Clean(string(r.Kind))
}

// What is more than any network does: that many packets in one record, a stretch of time that long, a round trip that slow. Sums of what is less
// stay within the bounds of numbers.
const (
	mostCount = 1_000_000_000_000
	mostMS    = 100 * 365 * 24 * 3600 * 1000
	mostRTT   = 1e9 // microseconds
)

// check refuses counts that cannot be.
func (r *Record) check() error {
	for _, c := range []struct {
		name string
		n    *int
	}{{"sent", r.Sent}, {"lost", r.Lost}, {"lost_forward", r.LostForward}, {"lost_back", r.LostBack}, {"answered", r.Answered},
		{"corrupt_forward", r.CorruptForward}, {"corrupt_back", r.CorruptBack}} {
		if err := checkCount(c.name, c.n); err != nil {
			return err
		}
		if c.n != nil && r.Sent != nil && *c.n > *r.Sent {
			return fmt.Errorf("%s is %d, more than the %d sent", c.name, *c.n, *r.Sent)
		}
	}
	if (r.Kind == KindEcho || r.Kind == KindHop || r.Kind == KindPath || r.Kind == KindFlow) && r.Flow == nil {
		return fmt.Errorf("a record of kind %s needs a flow", r.Kind)
	}
	if r.Kind == KindEcho && (r.Sent == nil || r.Lost == nil) {
		return errors.New("a record of kind echo needs sent and lost")
	}
	if r.Kind == KindHop && (r.Sent == nil || r.Answered == nil) {
		return errors.New("a record of kind hop needs sent and answered")
	}
	for _, c := range []struct {
		name string
		n    *int
	}{{"packets", r.Packets}, {"lost_before", r.LostBefore}, {"lost_after", r.LostAfter}, {"retransmitted", r.Retransmitted},
		{"out_of_order", r.OutOfOrder}, {"ce", r.CE}, {"data", r.Data}, {"count", r.Count}} {
		if err := checkCount(c.name, c.n); err != nil {
			return err
		}
	}
	if r.LostBetween != nil && (r.Packets == nil || *r.LostBetween < 0 || *r.LostBetween > *r.Packets) {
		return fmt.Errorf("lost_between is %d, of no packets, less than none or more than all", *r.LostBetween)
	}
	if r.Kind == KindStrain && (r.Node == "" || r.Strain == "") {
		return errors.New("a record of kind strain needs a node and a strain")
	}
	if r.Kind == KindFinding && r.Finding == "" {
		return errors.New("a record of kind finding needs a finding")
	}
	if r.Lost != nil && r.LostForward != nil && r.LostBack != nil && *r.LostForward+*r.LostBack > *r.Lost {
		return fmt.Errorf("lost_forward + lost_back is more than the %d lost", *r.Lost)
	}
	if err := checkMS("window_ms", int64(r.WindowMS)); err != nil {
		return err
	}
	if r.AheadMS != nil {
		if err := checkMS("ahead_ms", max(int64(*r.AheadMS), -int64(*r.AheadMS))); err != nil {
			return err
		}
	}
	if d := r.RTT; d != nil {
		for _, us := range []float64{d.Min, d.P50, d.P90, d.P99, d.Max} {
			if math.Abs(us) > mostRTT {
				return fmt.Errorf("rtt_us has %g: a round trip takes at most %g", us, mostRTT)
			}
		}
	}
	if err := r.PortState.check(r.Kind); err != nil {
		return err
	}
	if r.Time.IsZero() {
		return errors.New("the record has no time")
	}
	if err := checkYear("time", r.Time); err != nil {
		return err
	}
	if r.PreviousTime != nil {
		if err := checkYear("previous_time", *r.PreviousTime); err != nil {
			return err
		}
	}
	return checkYear("the beginning of window_ms", r.Start())
}

// checkYear refuses times that no clock tells, of which some could not be written, either.
func checkYear(name string, t time.Time) error {
	const first, last = 1900, 9000
	if y := t.UTC().Year(); y < first || y > last {
		return fmt.Errorf("%s lies in the year %d", name, y)
	}
	return nil
}

func checkCount(name string, n *int) error {
	switch {
	case n != nil && *n < 0:
		return fmt.Errorf("%s is %d: a count cannot be negative", name, *n)
	case n != nil && int64(*n) > mostCount:
		return fmt.Errorf("%s is %d: a count is at most %d", name, *n, int64(mostCount))
	}
	return nil
}

func checkMS(name string, ms int64) error {
	switch {
	case ms < 0:
		return fmt.Errorf("%s is %d: a time cannot be negative", name, ms)
	case ms > mostMS:
		return fmt.Errorf("%s is %d: that is more than a century", name, ms)
	}
	return nil
}
