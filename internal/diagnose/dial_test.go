package diagnose

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"whichlink/graphs"
)

// TestDates: where evidence has two dates, no time stands without its own; where it has one, none has it.
func TestDates(t *testing.T) {
	clock, dated := regexp.MustCompile(`\d\d:\d\d:\d\d`), regexp.MustCompile(`2026-11-2[01] \d\d:\d\d:\d\d(\.\d+)?Z`)
	for _, until := range []int{9, 30, 60} { // a flap, what went down once, what is lost to the end
		for _, start := range []time.Time{time.Date(2026, 11, 20, 3, 0, 0, 0, time.UTC), time.Date(2026, 11, 20, 23, 59, 52, 0, time.UTC)} {
			p := newPlay(t, 128)
			p.start = start
			sick, _ := p.f.LinkByName("leaf1:swp2--spine2:swp1")
			p.run(60, func(a graphs.ArcID, w int) float64 {
				return is(a.Link() == sick && (w >= 6 && w < until || until == 9 && w >= 20 && w < 23))
			})
			text := p.store.Diagnose().Text()
			times := len(clock.FindAllString(text, -1))
			withDate := len(dated.FindAllString(text, -1))
			two := start.Hour() == 23
			if times == 0 || two != (withDate == times) || !two && withDate > 0 || !strings.Contains(text, "leaf1:swp2") {
				t.Errorf("from %v: %d times, %d with their date:\n%s", start, times, withDate, text)
			}
		}
	}
}
