package probes

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"whichlink/internal/evidence"
)

// TestFarEnd plays what a reflector tells of its socket, answer by answer.
func TestFarEnd(t *testing.T) {
	type told struct {
		count uint16
		ms    int64 // when the probe was sent
	}
	const base = int64(1e18)
	at := func(ms int64) int64 { return base + ms*1e6 }
	overflow := func(from, to int64, n int) strain { return strain{evidence.Overflow, at(from), at(to), n} }
	for _, c := range []struct {
		name string
		told []told
		want []strain
	}{
		{"nothing", []told{{0, 0}, {0, 10}, {0, 20}}, nil},
		{"before it was known", []told{{700, 0}, {700, 10}}, nil},
		{"once", []told{{0, 0}, {0, 10}, {7, 30}, {7, 40}}, []strain{overflow(10, 30, 7)}},
		{"twice", []told{{5, 0}, {7, 10}, {7, 100}, {8, 110}}, []strain{overflow(0, 10, 2), overflow(100, 110, 1)}},
		{"in a row", []told{{5, 0}, {7, 10}, {9, 20}}, []strain{overflow(0, 20, 4)}},
		{"overtaken", []told{{5, 0}, {9, 12}, {5, 11}, {9, 20}}, []strain{overflow(0, 12, 4)}},
		{"round the clock", []told{{65530, 0}, {4, 10}}, []strain{overflow(0, 10, 10)}},
		{"restarted", []told{{500, 0}, {500, 10}, {0, 3000}, {3, 3010}}, []strain{overflow(3000, 3010, 3)}},
	} {
		var f farEnd
		for _, x := range c.told {
			f.told(&control{flags: flagAnswer | flagCrowded, crowded: x.count}, at(x.ms))
		}
		if d := cmp.Diff(c.want, f.strains.take(), cmp.AllowUnexported(strain{})); d != "" {
			t.Errorf("%s: %s", c.name, d)
		}
	}
}

// TestCrowd: a socket's count of what it dropped is of a reader that is too slow only where messages had waited for it. What has a wrong checksum is
// counted, too, and a link may have changed it.
func TestCrowd(t *testing.T) {
	const base = int64(1e18)
	type message struct{ came, read int64 } // microseconds
	play := func(list []message, dropped uint32) int {
		var c crowd
		sum := 0
		for i, x := range list {
			m := meta{stamp: base + x.came*1000}
			if i == len(list)-1 {
				m.dropped = dropped
			}
			sum += c.next(&m, base+x.read*1000)
		}
		return sum
	}
	for _, c := range []struct {
		name string
		list []message
		want int
	}{
		{"in time", []message{{0, 50}, {1000, 1040}, {2000, 2060}}, 0},
		{"had waited", []message{{0, 90_000}, {60_000, 90_000}, {90_300, 90_350}}, 4},
		{"waits", []message{{0, 50}, {1000, 9000}}, 4},
		{"waited once, long ago", []message{{0, 90_000}, {91_000, 91_050}, {2_000_000, 2_000_050}}, 0},
	} {
		if got := play(c.list, 4); got != c.want {
			t.Errorf("%s: %d for want of room, want %d", c.name, got, c.want)
		}
	}
}

// TestVigil: a loop that comes round too late was kept from it.
func TestVigil(t *testing.T) {
	var v vigil
	start := time.Date(2026, 11, 20, 3, 0, 0, 0, time.UTC)
	var got []string
	for _, ms := range []int{0, 4, 8, 30, 34, 334, 338, 350, 400} {
		now := start.Add(time.Duration(ms) * time.Millisecond)
		if x, late := v.beat(now, 4*time.Millisecond); late {
			got = append(got, time.Duration(x.to-x.from).String())
		}
		if wait, want := v.toCatchUp(now), map[int]time.Duration{334: catchUp, 338: catchUp - 4*time.Millisecond, 350: 4 * time.Millisecond, 400: catchUp}[ms]; wait != want {
			t.Errorf("at %d ms it waits %s, want %s", ms, wait, want)
		}
	}
	if d := cmp.Diff([]string{"300ms", "50ms"}, got); d != "" {
		t.Error(d)
	}
}
