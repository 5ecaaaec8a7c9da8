package session

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"whichlink/graphs"
	"whichlink/graphs/formats"
	"whichlink/internal/diagnose"
	"whichlink/internal/evidence"
)

const drill = "../../testdata/drill/"

func fabric(t *testing.T) *graphs.Fabric {
	t.Helper()
	f, err := formats.ReadFile(drill + "fabric.clab.yml")
	if err != nil {
		t.Fatal(err)
	}
	return f.Fabric
}

func records(t *testing.T, names ...string) (all []*evidence.Record) {
	t.Helper()
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := evidence.Read(bytes.NewReader(text), name, func(r *evidence.Record) bool { all = append(all, r); return true }); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// What was recorded is what was measured, beside a fabric with which it is read again.
func TestRecorder(t *testing.T) {
	dir := t.TempDir()
	f, all := fabric(t), records(t, drill+"evidence.jsonl")
	r, err := Record(RecorderConfig{Dir: dir, Fabric: f})
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range all {
		r.Add(x)
	}
	name := r.Path()
	// A program that is killed now has written all but the last moment.
	deadline := time.Now().Add(10 * time.Second)
	for time.Now().Before(deadline) && len(records(t, name)) < len(all) {
		time.Sleep(20 * time.Millisecond)
	}
	if d := cmp.Diff(len(all), len(records(t, name))); d != "" {
		t.Errorf("before it is closed the file has another number of records: %s", d)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	beside, ok := FabricOf(name)
	if !ok {
		t.Fatal("no fabric beside the recording")
	}
	again, err := formats.ReadFile(beside)
	if err != nil {
		t.Fatal(err)
	}
	store, first := diagnose.NewStore(again.Fabric, diagnose.Config{}), diagnose.NewStore(f, diagnose.Config{})
	for i, x := range records(t, name) {
		store.Add(x)
		first.Add(all[i])
	}
	if a, b := store.Diagnose().Summary, first.Diagnose().Summary; a != b {
		t.Errorf("what was recorded says %q, what was measured %q", a, b)
	}
	info, err := os.Stat(name)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("others may read it: %v %v", info.Mode(), err)
	}
}

// A full disk ends the recording and nothing else, and is told once.
func TestRecorderOnFullDisk(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("no device that is always full: ", err)
	}
	r, err := Record(RecorderConfig{Dir: t.TempDir(), Fabric: fabric(t)})
	if err != nil {
		t.Fatal(err)
	}
	r.mu.Lock()
	r.file.Close()
	r.file = full
	r.buf.Reset(counting{full, &r.size})
	r.mu.Unlock()
	for _, x := range records(t, drill+"evidence.jsonl") {
		r.Add(x)
	}
	if err := r.Close(); err == nil || err.Error() != "record the session: no space left on device" {
		t.Errorf("%v", err)
	}
}

func TestRecorderIsBounded(t *testing.T) {
	dir := t.TempDir()
	f, all := fabric(t), records(t, drill+"evidence.jsonl")
	strange := filepath.Join(dir, "mine.jsonl")
	if err := os.WriteFile(strange, make([]byte, 100_000), 0o600); err != nil {
		t.Fatal(err)
	}
	const most = 400_000
	for i := range 6 {
		r, err := Record(RecorderConfig{Dir: dir, Fabric: f, Most: most, All: 2 * most, Start: time.Unix(int64(i), 0)})
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			for _, x := range all {
				r.Add(x)
			}
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		last := records(t, r.Path())
		if len(last) > 0 && !last[len(last)-1].Time.Equal(all[len(all)-1].Time) {
			t.Error("the newest record is not in the newest file")
		}
		var total int64
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			info, err := e.Info()
			if err != nil {
				t.Fatal(err)
			}
			total += info.Size()
		}
		if total > 2*most+100_000+200_000 { // the strange file; a buffer and a fabric a recording
			t.Errorf("after %d recordings %d bytes are taken", i+1, total)
		}
	}
	if _, err := os.Stat(strange); err != nil {
		t.Error("a file of somebody else was deleted")
	}
}

// Whatever stretch of time is asked for, the index finds what reading everything finds.
func TestReel(t *testing.T) {
	all := records(t, drill+"evidence.jsonl")
	// Two files, of which one is in no order and long enough for several blocks, and breaks off in the middle of a line.
	dir := t.TempDir()
	var a, b bytes.Buffer
	for i, x := range all {
		to := &a
		if i%3 == 0 {
			to = &b
		}
		if err := evidence.Write(to, x); err != nil {
			t.Fatal(err)
		}
	}
	for i := len(all) - 1; i > 0; i -= 2 {
		if err := evidence.Write(&a, all[i]); err != nil {
			t.Fatal(err)
		}
	}
	a.WriteString(`{"v":1,"time":"20`)
	names := []string{filepath.Join(dir, "a.jsonl"), filepath.Join(dir, "b.jsonl")}
	for i, text := range []*bytes.Buffer{&a, &b} {
		if err := os.WriteFile(names[i], text.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r, err := index(names)
	if err != nil {
		t.Fatal(err)
	}
	every := records(t, names...)
	if len(r.files[0].blocks) < 3 {
		t.Fatalf("%d blocks are too few for this test", len(r.files[0].blocks))
	}
	for i := range 9 {
		from := r.from.Add(time.Duration(i-1) * r.to.Sub(r.from) / 6)
		for _, span := range []time.Duration{0, 300 * time.Millisecond, 2 * time.Second, time.Hour} {
			want := 0
			for _, x := range every {
				if x.Time.After(from) && !x.Time.After(from.Add(span)) {
					want++
				}
			}
			got, err := r.between(from, from.Add(span))
			if err != nil {
				t.Fatal(err)
			}
			if len(got) != want {
				t.Errorf("%s from %s: %d records, want %d", span, from, len(got), want)
			}
			for j := 1; j < len(got); j++ {
				if got[j].Time.Before(got[j-1].Time) {
					t.Fatal("not in the order of time")
				}
			}
		}
	}
}

// A watched screen counts what a player shows it.
type watched struct {
	records atomic.Int64
	shown   atomic.Pointer[diagnose.Picture]
	all     atomic.Int64
}

func (w *watched) Clear()                                { w.records.Store(0) }
func (w *watched) Record(*evidence.Record)               { w.records.Add(1) }
func (w *watched) Show(_ time.Time, p *diagnose.Picture) { w.shown.Store(p) }
func (w *watched) ShowAll()                              { w.all.Add(1) }

func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not in time: %s", what)
		}
	}
}

func TestPlayer(t *testing.T) {
	f, name := fabric(t), drill+"evidence.jsonl"
	all := records(t, name)
	r, err := index([]string{name})
	if err != nil {
		t.Fatal(err)
	}
	var screen watched
	p := NewPlayer(f, "", []string{name}, r.to, &screen)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { p.Run(ctx); close(ended) }()
	defer func() { cancel(); <-ended }()
	eventually(t, "indexed", func() bool { return p.State().To.Equal(r.to) })

	middle := r.from.Add(r.to.Sub(r.from) / 2)
	p.Seek(middle)
	eventually(t, "sought", func() bool { s := p.State(); return !s.Busy && s.At.Equal(middle) })
	store, n := diagnose.NewStore(f, diagnose.Config{Horizon: Window}), 0
	for _, x := range all {
		if x.Time.After(middle.Add(-Window)) && !x.Time.After(middle) {
			store.Add(x)
			n++
		}
	}
	if got := int(screen.records.Load()); got != n {
		t.Errorf("in the middle %d records are shown, want %d", got, n)
	}
	if a, b := screen.shown.Load().Diagnosis.Summary, store.Diagnose().Summary; a != b {
		t.Errorf("in the middle it says %q, want %q", a, b)
	}
	if p.State().Whole {
		t.Error("it says that all is shown")
	}

	// Time runs to the end, and stands there.
	p.Speed(64)
	p.Play(true)
	eventually(t, "played to the end", func() bool { s := p.State(); return !s.Running && s.At.Equal(r.to) })
	if got, most := int(screen.records.Load()), len(all); got <= n || got > most {
		t.Errorf("at the end %d records were shown, want more than %d and no more than %d", got, n, most)
	}
	p.Seek(r.from.Add(-time.Hour))
	eventually(t, "sought before the beginning", func() bool { s := p.State(); return !s.Busy && s.At.Equal(r.from) })
	p.Whole()
	eventually(t, "all of it", func() bool { return screen.all.Load() == 1 && p.State().Whole })
}

func TestPlayerWithoutItsFile(t *testing.T) {
	p := NewPlayer(fabric(t), "", []string{filepath.Join(t.TempDir(), "gone.jsonl")}, time.Unix(1, 0), &watched{})
	p.Run(t.Context())
	if err := p.State().Err; err == nil {
		t.Error("no error")
	} else if got := fmt.Sprint(err); got == "" {
		t.Error("an empty error")
	}
}
