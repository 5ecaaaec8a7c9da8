package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"whichlink/graphs/generate"
	"whichlink/internal/diagnose"
	"whichlink/internal/evidence"
	"whichlink/internal/session"
)

// What ends a recording is told to the screens from then on, in few words.
func TestRecordingEnds(t *testing.T) {
	f, err := generate.LeafSpine(generate.LeafSpineConfig{Leaves: 2, Spines: 2, Hosts: 1})
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "sessions")
	v := &view{fabric: f, live: true, latest: func() *diagnose.Diagnosis { return nil }, begun: time.Now().Add(-time.Second)}
	if v.recorder, err = session.Record(session.RecorderConfig{Dir: dir, Fabric: f, Most: 64 << 10}); err != nil {
		t.Fatal(err)
	}
	defer v.recorder.Close()
	if s := v.Snapshot(); s.Recording <= 0 || s.Unrecorded != "" {
		t.Errorf("recording for %s, stopped by %q", s.Recording, s.Unrecorded)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	for range 1000 { // the second file cannot be made
		v.recorder.Add(&evidence.Record{Time: v.begun, Source: evidence.SourceNote, Kind: evidence.KindNote, Text: "how long is a recording, if it is long enough"})
	}
	if s := v.Snapshot(); s.Recording != 0 || s.Unrecorded != "no such file or directory" {
		t.Errorf("recording for %s, stopped by %q", s.Recording, s.Unrecorded)
	}

	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("no device that is always full: ", err)
	}
	defer full.Close()
	_, err = full.WriteString("more than it holds")
	if got := whyUnrecorded(fmt.Errorf("record the session: %w", err)); got != "no space" {
		t.Errorf("a full disk is told as %q", got)
	}
}
