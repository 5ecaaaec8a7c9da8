package cli

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"whichlink/graphs/formats"
	"whichlink/internal/diagnose"
	"whichlink/internal/evidence"
	"whichlink/internal/session"
	"whichlink/tui"
)

// A note that was taken while a session was recorded is among what happened at each moment after it, and at none before, however long ago it was.
func TestNotesInReplay(t *testing.T) {
	file, err := formats.ReadFile("../../testdata/drill/fabric.clab.yml")
	if err != nil {
		t.Fatal(err)
	}
	recorder, err := session.Record(session.RecorderConfig{Dir: t.TempDir(), Fabric: file.Fabric})
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now().Add(-10 * time.Minute).UTC()
	note := func(after time.Duration, text string) {
		recorder.Add(&evidence.Record{Time: begun.Add(after), Source: evidence.SourceNote, By: "ana", Kind: evidence.KindNote, Text: text})
	}
	note(0, "begun")
	note(time.Minute, "drained by ana, INC-4471")
	recorder.Add(&evidence.Record{Time: begun.Add(2 * time.Minute), Source: evidence.SourceSNMP, By: "poller", Kind: evidence.KindEvent,
		PortState: evidence.PortState{Port: file.Fabric.PortName(0), Event: "down"}})
	note(8*time.Minute, "paged facilities")
	note(9*time.Minute, "over")
	if err := recorder.Close(); err != nil {
		t.Fatal(err)
	}
	e := &env{stdout: io.Discard, stderr: io.Discard}
	x := &replaying{rerun: &rerun{view: view{fabric: file.Fabric, status: "replay"}}, files: recorder.Files()}
	x.read = func(ctx context.Context, s *diagnose.Store, also func(*evidence.Record)) error {
		return e.readEvidence(ctx, s, x.files, also)
	}
	if _, ok := session.FabricOf(x.files[0]); !ok {
		t.Errorf("no fabric beside %s in %v", x.files[0], filesIn(t, filepath.Dir(x.files[0])))
	}
	s, err := e.sceneOf(t.Context(), x, new(atomic.Int64))
	if err != nil {
		t.Fatal(err)
	}
	go s.run(t.Context())
	player := s.source.(tui.Player)
	for _, c := range []struct {
		at   time.Duration
		want []string
	}{
		{30 * time.Second, []string{"begun"}},
		{time.Minute, []string{"begun", "drained by ana, INC-4471"}},
		{7 * time.Minute, []string{"begun", "drained by ana, INC-4471", "port went down"}},
		{8 * time.Minute, []string{"begun", "drained by ana, INC-4471", "port went down", "paged facilities"}},
		{30 * time.Second, []string{"begun"}},
	} {
		player.Seek(begun.Add(c.at))
		var got []string
		for end := time.Now().Add(time.Minute); time.Now().Before(end) && !slices.Equal(got, c.want); time.Sleep(5 * time.Millisecond) {
			x := s.source.Snapshot()
			if x.Playing.Busy || !x.Playing.At.Equal(begun.Add(c.at)) {
				continue
			}
			got = nil
			for _, v := range x.Picture.Events {
				if v.Lane != diagnose.LaneVerdict {
					got = append(got, v.What)
				}
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("after %s: %q, want %q", c.at, got, c.want)
		}
	}
}

func filesIn(t *testing.T, dir string) (names []string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
