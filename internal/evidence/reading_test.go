package evidence

import (
	"fmt"
	"io"
	"strings"
	"testing"
)

// TestReadLive: a record is handed on as soon as its line is written, be it that the next one has begun.
func TestReadLive(t *testing.T) {
	out, in := io.Pipe()
	defer in.Close()
	got := make(chan string)
	go Read(out, "e.jsonl", func(r *Record) bool {
		got <- r.By
		return true
	})
	for i := range 3 {
		by := fmt.Sprint("host", i)
		if _, err := io.WriteString(in, `{"v":1,"time":"2026-11-20T03:00:00Z","source":"note","kind":"note","by":"`+by+"\"}\n"+`{"v":`); err != nil {
			t.Fatal(err)
		}
		if x := <-got; x != by {
			t.Errorf("%s was handed on, expected %s", x, by)
		}
		if _, err := io.WriteString(in, "1\n"); err != nil { // it never ends: a broken line
			t.Fatal(err)
		}
	}
}

// TestReadInOrder: of many lines, which are decoded beside each other, records come in their order, each with its place, and broken lines are told by their numbers.
func TestReadInOrder(t *testing.T) {
	var text strings.Builder
	var places []int64
	for i := range 5000 {
		if i%1000 == 7 {
			text.WriteString("{\n")
			continue
		}
		places = append(places, int64(text.Len()))
		fmt.Fprintf(&text, `{"v":1,"time":"2026-11-20T03:00:00Z","source":"note","kind":"note","by":"%d","text":"%s"}`+"\n", i, strings.Repeat("x", i%300))
	}
	n := 0
	_, err := ReadPlaces(strings.NewReader(text.String()), "e.jsonl", func(r *Record, place int64) bool {
		if n >= len(places) || place != places[n] || !strings.Contains(text.String()[place:place+80], `"by":"`+r.By+`"`) {
			t.Fatalf("record %d is of %s, at %d", n, r.By, place)
		}
		n++
		return true
	})
	if n != len(places) || err == nil || !strings.Contains(err.Error(), "e.jsonl:8: ") || !strings.Contains(err.Error(), "e.jsonl:4008: ") {
		t.Errorf("%d of %d records, %v", n, len(places), err)
	}
}
