package cli

import (
	"os"
	"strings"
	"testing"
	"time"

	"whichlink/graphs/formats"
	"whichlink/internal/diagnose"
	"whichlink/internal/evidence"
	"whichlink/internal/session"
	"whichlink/tui"
)

// While a session measures, its screens can go back to what was recorded, to any moment of it, and return.
func TestRewind(t *testing.T) {
	file, err := formats.ReadFile("../../testdata/drill/fabric.clab.yml")
	if err != nil {
		t.Fatal(err)
	}
	in, err := os.Open("../../testdata/drill/evidence.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	var all []*evidence.Record
	if _, err := evidence.Read(in, "evidence.jsonl", func(r *evidence.Record) bool { all = append(all, r); return true }); err != nil {
		t.Fatal(err)
	}
	var newest time.Time
	for _, r := range all {
		if r.Time.After(newest) {
			newest = r.Time
		}
	}
	// As if it had just been measured.
	shift := time.Since(newest)
	begun := time.Now()
	for _, r := range all {
		if r.Time = r.Time.Add(shift); r.Time.Before(begun) {
			begun = r.Time
		}
		if r.PreviousTime != nil {
			p := r.PreviousTime.Add(shift)
			r.PreviousTime = &p
		}
	}
	recorder, err := session.Record(session.RecorderConfig{Dir: t.TempDir(), Fabric: file.Fabric})
	if err != nil {
		t.Fatal(err)
	}
	defer recorder.Close()
	v := &view{fabric: file.Fabric, tape: tui.NewTape(file.Fabric, 0), live: true, recorder: recorder, begun: begun, latest: func() *diagnose.Diagnosis { return nil }}
	pic := &diagnose.Picture{Diagnosis: &diagnose.Diagnosis{Summary: "now"}, Fabric: file.Fabric}
	for _, ago := range []time.Duration{time.Hour, time.Second} {
		pic.Events = append(pic.Events, diagnose.Event{At: time.Now().Add(-ago), What: ago.String()})
	}
	v.picture = func() *diagnose.Picture { return pic }
	for _, r := range all {
		v.record(r)
	}
	back := &rewinder{ctx: t.Context(), view: v}
	defer back.Whole()
	s := &timed{v, back}
	if x := s.Snapshot(); x.Playing != nil || !x.Live || x.Diagnosis.Summary != "now" {
		t.Errorf("at the beginning it shows %+v", x.Playing)
	}
	middle := begun.Add(time.Since(begun) / 2)
	settled := func(what string, at time.Time) *tui.Snapshot {
		t.Helper()
		for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
			if x := s.Snapshot(); x.Playing != nil && !x.Playing.Busy && x.Playing.At.Equal(at) {
				return x
			}
		}
		t.Fatalf("not in time: %s", what)
		return nil
	}
	back.Seek(middle)
	x := settled("the middle", middle)
	want := diagnose.NewStore(file.Fabric, diagnose.Config{Horizon: session.Window})
	for _, r := range all {
		if !r.Time.After(middle) {
			want.Add(r)
		}
	}
	if d := want.Diagnose(); x.Diagnosis.Summary != d.Summary || x.Live || x.Playing.Back <= 0 {
		t.Errorf("in the middle it says %q, want %q; live %v, %s back", x.Diagnosis.Summary, d.Summary, x.Live, x.Playing.Back)
	}
	if !x.Now.Equal(middle) || x.Recording <= 0 {
		t.Errorf("the moment shown is %s, want %s; recording %s", x.Now, middle, x.Recording)
	}
	if len(x.Picture.Events) != 1 {
		t.Errorf("it shows %v, of which some has not happened yet", x.Picture.Events)
	}
	// What was measured since can be sought, too; before the beginning there is nothing.
	late := *all[len(all)-1]
	late.Time = time.Now().Add(-nearNow)
	v.record(&late)
	time.Sleep(20 * time.Millisecond)
	back.Seek(late.Time)
	settled("what was measured since", late.Time)
	back.Seek(begun.Add(-time.Hour))
	settled("the beginning", begun)
	back.Seek(time.Now())
	if x := s.Snapshot(); x.Playing != nil || x.Diagnosis.Summary != "now" {
		t.Error("to seek to now does not lead back")
	}
	back.Seek(middle)
	back.Whole()
	if x := s.Snapshot(); x.Playing != nil {
		t.Error("T does not lead back")
	}
	// A recording that somebody deleted is told, and what happens now can still be seen.
	for _, name := range recorder.Files() {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	back.Seek(middle)
	for end := time.Now().Add(10 * time.Second); !strings.HasPrefix(s.Snapshot().Status, "cannot read back: "); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("a recording that is gone is not told")
		}
	}
	back.Whole()
	if x := s.Snapshot(); x.Diagnosis.Summary != "now" || x.Status != "" {
		t.Errorf("after that it says %q %q", x.Diagnosis.Summary, x.Status)
	}
}
