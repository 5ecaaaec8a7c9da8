package tui

import (
	"runtime"
	"testing"
	"time"

	"whichlink/graphs"
	"whichlink/graphs/generate"
	"whichlink/internal/diagnose"
)

// large are fabrics of about sixty thousand links, one of each shape.
func large(tb testing.TB) map[string]*Snapshot {
	out := map[string]*Snapshot{"leafspine": on(tb, leafSpine(tb, "large", 400, 150, 0), 30_000)}
	tree, err := generate.FatTree(generate.FatTreeConfig{K: 44})
	if err != nil {
		tb.Fatal(err)
	}
	out["fattree"] = on(tb, tree, graphs.LinkID(tree.NumLinks()-9))
	random, err := generate.RandomRegular(generate.RandomRegularConfig{Switches: 2000, Degree: 58, Hosts: 1, Seed: 3})
	if err != nil {
		tb.Fatal(err)
	}
	out["random"] = on(tb, random, graphs.LinkID(random.NumLinks()-9))
	return out
}

// many gives a snapshot two thousand suspects and as many events as are kept.
func many(s *Snapshot) *Snapshot {
	d := *s.Diagnosis
	for i := range 2000 {
		a := graphs.ArcID(i * 7)
		d.Suspects = append(d.Suspects, diagnose.Suspect{Rank: 2 + i, Kind: "arc", ID: s.Fabric.ArcName(a), Link: s.Fabric.LinkName(a.Link()), Symptom: diagnose.Loss, Probability: 0.06})
	}
	s.Diagnosis = &d
	pictured(s)
	for i := range 2000 {
		s.Picture.Events = append(s.Picture.Events, diagnose.Event{At: noon.Add(time.Duration(i) * time.Millisecond), Lane: "snmp", What: "port went down",
			About: s.Fabric.PortName(graphs.PortID(i)), Count: 1})
	}
	return s
}

// inTime runs a step of a benchmark and reports what it cost this process, in milliseconds.
func inTime(b *testing.B, step func()) {
	step()
	start := processTime()
	for b.Loop() {
		step()
	}
	if t := processTime() - start; t > 0 {
		b.ReportMetric(float64(t)/float64(time.Millisecond)/float64(b.N), "cpu-ms/op")
	}
}

// A frame costs the same however many links there are: at most 2 ms at 200x60. A key that changes everything costs at most 16 ms.
func BenchmarkLarge(b *testing.B) {
	for name, s := range large(b) {
		many(s)
		b.Run(name, func(b *testing.B) {
			for _, c := range []struct {
				name string
				keys []string
			}{{"overview", []string{"1"}}, {"map", []string{"2"}}, {"links", []string{"3"}}, {"paths", []string{"4"}}, {"events", []string{"5"}}, {"link", []string{"3", "enter"}}} {
				b.Run("view/"+c.name, func(b *testing.B) {
					st := newStage(b, s, 200, 60)
					st.press(c.keys...)
					inTime(b, func() { st.View() })
				})
			}
			for _, c := range []struct {
				name        string
				first, keys []string
			}{
				{"move", []string{"3"}, []string{"j"}}, {"sort", []string{"3"}, []string{"s"}}, {"filter", []string{"3", "/"}, []string{"1", "backspace"}},
				{"layer", []string{"2"}, []string{"L"}}, {"map move", []string{"2"}, []string{"l", "h"}}, {"rings", []string{"2", "+", "+"}, []string{"l", "h"}}, {"screens", nil, []string{"3", "2"}},
			} {
				b.Run("key/"+c.name, func(b *testing.B) {
					st := newStage(b, s, 200, 60)
					st.press(c.first...)
					inTime(b, func() {
						for _, k := range c.keys {
							st.press(k)
							st.View()
						}
					})
				})
			}
			b.Run("key/filter first", func(b *testing.B) { // the first letter after new counts, when no name was asked for before
				st := newStage(b, s, 200, 60)
				st.press("3", "/")
				inTime(b, func() {
					l := st.linkTable()
					l.filter, l.names, l.ranked = filter{}, nil, linkRank{}
					*st.prompt = newInput("", 200)
					st.press("1")
					st.View()
				})
			})
			b.Run("tick", func(b *testing.B) {
				st := newStage(b, s, 200, 60)
				st.press("3")
				other, counted := *s, *s.Picture
				other.Picture = &counted // so that all links are sorted again
				turn := [2]*Snapshot{s, &other}
				i := 0
				inTime(b, func() {
					i++
					st.source.s = turn[i%2]
					st.tick(stillFor + 1)
					st.View()
				})
			})
		})
	}
}

// All screens of sixty thousand links, each seen once, hold a small part of what the program may take.
func TestScreensAreSmall(t *testing.T) {
	if testing.Short() {
		t.Skip("makes a large fabric")
	}
	s := many(on(t, leafSpine(t, "large", 400, 150, 0), 30_000))
	st := newStage(t, s, 200, 60)
	held := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := held()
	for _, k := range []string{"2", "L", "3", "/", "1", "esc", "esc", "4", "5", "1"} {
		st.press(k)
		st.View()
	}
	const most = 40 << 20
	if after := held(); after > before+most {
		t.Errorf("the screens hold %d MiB", (after-before)>>20)
	}
	runtime.KeepAlive(st)
}
