package tui

import (
	"math"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
)

func TestNumbers(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{percent(0.051), "5.1 %"}, {percent(0), "0.0 %"}, {percent(0.0005), "0.05 %"}, {percent(0.00001), "<0.01 %"}, {percent(1), "100 %"},
		{percent(0.00996), "1.0 %"}, {percent(math.NaN()), "?"}, {optional(nil), "-"},
		{interval(ptr(0.043), ptr(0.06)), "4.3-6.0 %"}, {interval(ptr(0.0011), ptr(0.0093)), "0.11-0.93 %"}, {interval(nil, ptr(1)), "-"},
		{probability(0.999), "0.99"}, {probability(1), "1.00"}, {probability(0.29), "0.29"}, {probability(-1), "0.00"},
		{count(0), "0"}, {count(1234567), "1,234,567"}, {count(-1234), "-1,234"}, {count(999), "999"},
		{span5(4 * time.Second), "4 s"}, {span5(147 * time.Second), "2m27"}, {span5(3*time.Hour + 2*time.Minute), "3h02"}, {span5(300 * time.Hour), "12 d"}, {span5(-time.Second), "0 s"},
		{micros(75), "75 us"}, {micros(1500), "1.5 ms"}, {micros(23e3), "23 ms"}, {micros(2e6), "2.0 s"}, {micros(math.NaN()), "?"},
		{speed(100e9), "100G"}, {speed(0), ""}, {speed(2.5e9), "2.5G"}, {speed(17), "17"},
		{percentDown(46, 48), "95.8 %"}, {percentDown(99999, 100000), "99.9 %"}, {percentDown(5, 5), "100 %"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

func TestSparkline(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		values []float64
		want   string
	}{
		{[]float64{0, nan, 1, 0.5, 0.001}, "▁ █▅▂"},
		{[]float64{2, -1}, "█▁"},
		{nil, ""},
	} {
		if got := sparkline(c.values, 1); got != c.want {
			t.Errorf("%v: got %q, want %q", c.values, got, c.want)
		}
	}
	if got := toASCII(sparkline([]float64{0, nan, 1, 0.5, 0.001}, 1)); got != ". @+:" {
		t.Errorf("in ASCII: %q", got)
	}
	if got := toASCII("日本…é│"); got != "????~?|" {
		t.Errorf("in ASCII: %q", got)
	}
}

func TestCeiling(t *testing.T) {
	for _, c := range []struct{ top, least, want float64 }{{0.034, 0.01, 0.05}, {0, 0.01, 0.01}, {120, 10, 200}, {100, 10, 100}, {0, 0, 1}, {math.NaN(), 3, 5}} {
		if got := ceiling([]float64{c.top}, c.least); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("ceiling of %v is %v, want %v", c.top, got, c.want)
		}
	}
}

func TestShorten(t *testing.T) {
	for _, c := range []struct {
		name string
		w    int
		want string
	}{
		{"leaf1:swp3>spine3:swp1", 30, "leaf1:swp3>spine3:swp1"},
		{"dc7-p07-leaf12:Et52>dc7-p07-agg03:Et13", 25, "…leaf12:Et52>…-agg03:Et13"},
		{"a:1>dc7-p07-agg03:Et13", 15, "a:1>…agg03:Et13"},
		{"dc7-p07-leaf12:Et52--dc7-p07-agg03:Et13", 24, "…eaf12:Et52--…agg03:Et13"},
		{"dc7-p07-leaf12", 8, "dc7-p07…"},
		{"a:1>b:2", 3, "a:…"},
	} {
		got := shorten(c.name, c.w)
		if width(got) > c.w {
			t.Errorf("%q in %d cells: %q is %d wide", c.name, c.w, got, width(got))
		}
		if got != c.want {
			t.Errorf("%q in %d cells: got %q, want %q", c.name, c.w, got, c.want)
		}
	}
}

func TestFilter(t *testing.T) {
	number := func(field string) (float64, bool) { return 5, field == "loss" }
	for _, c := range []struct {
		query string
		want  bool
	}{
		{"", true}, {"leaf1", true}, {"LEAF1 spine", true}, {"leaf2", false}, {"!leaf2", true}, {"!leaf1", false}, {"!", true},
		{"loss>4", true}, {"loss>5", false}, {"loss>=5%", true}, {"loss<5", false}, {"loss<=5", true}, {"loss=5", true}, {"!loss>4", false},
		{"p>0.1", false}, {"loss>", true}, {"swp3>spine3", true}, {"loss>x leaf1", true},
	} {
		f := parseFilter(c.query, []string{"loss", "p"})
		if got := f.match("leaf1:swp3>spine3:swp1", number); got != c.want {
			t.Errorf("%q: %v", c.query, got)
		}
	}
	if f := parseFilter("loss>", []string{"loss"}); f.problem == "" {
		t.Error("half a comparison is passed over without a word")
	}
}

func TestClean(t *testing.T) {
	for _, s := range hostile() {
		for _, r := range clean(s) {
			if r < ' ' || r == '\u202e' {
				t.Errorf("%q comes out as %q", s, clean(s))
			}
		}
	}
	long := "for " + string(make([]byte, 300)) + " end"
	if got := clean(long); got[len(got)-4:] != " end" {
		t.Errorf("a long sentence loses its end: %q", got)
	}
}

// Whatever is typed, the filter neither panics nor lets a row through that a word of it excludes.
func FuzzFilter(f *testing.F) {
	for _, q := range []string{"loss>1 leaf !spine", "p>=.5%", "!", "loss<", "\x1b[2J loss>NaN"} {
		f.Add(q)
	}
	f.Fuzz(func(t *testing.T, query string) {
		p := parseFilter(query+" !leaf1", linkFields())
		if p.match("leaf1:swp1--spine1:swp1", func(string) (float64, bool) { return 1, true }) {
			t.Errorf("%q lets through what it excludes", query)
		}
	})
}

// Whatever is typed as a command, what comes of it can be drawn.
func FuzzCommand(f *testing.F) {
	s := sick(f)
	for _, c := range commands() {
		f.Add(c.name + " leaf1")
	}
	f.Add("paths h1-1 h2-1")
	f.Add("seek -30s")
	f.Fuzz(func(t *testing.T, text string) {
		st := newStage(t, s, 80, 24)
		in := newInput("", 200)
		st.prompt, st.typing = &in, true
		st.Update(tea.PasteMsg{Content: text})
		check(t, st, 80, 24)
		st.press("tab")
		check(t, st, 80, 24)
		st.press("enter")
		check(t, st, 80, 24)
	})
}
