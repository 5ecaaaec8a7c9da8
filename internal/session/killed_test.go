package session

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"whichlink/internal/evidence"
)

// A program that is killed loses no more than the last second of its recording, and what is left opens, with its fabric, up to the cut.
func TestKilled(t *testing.T) {
	const variable = "WHICHLINK_RECORD_HERE"
	if dir := os.Getenv(variable); dir != "" {
		recordForever(t, dir)
	}
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=^TestKilled$")
	cmd.Env = append(os.Environ(), variable+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var last time.Time
	lines := bufio.NewScanner(out)
	for begun := time.Now(); lines.Scan(); {
		if last, err = time.Parse(time.RFC3339Nano, lines.Text()); err != nil {
			t.Fatal(err)
		}
		if time.Since(begun) > 2500*time.Millisecond {
			break
		}
	}
	if err := cmd.Process.Kill(); err != nil { // SIGKILL: nothing can be written any more
		t.Fatal(err)
	}
	_ = cmd.Wait()

	names, _ := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if len(names) != 1 {
		t.Fatalf("%d recordings", len(names))
	}
	if _, ok := FabricOf(names[0]); !ok {
		t.Error("no fabric beside the recording")
	}
	// The kill may come between two writes; then a line is cut by hand.
	text, err := os.ReadFile(names[0])
	if err != nil {
		t.Fatal(err)
	}
	if n := len(text); n > 0 && text[n-1] == '\n' {
		if err := os.WriteFile(names[0], text[:n-20], 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r, err := index(names)
	if err != nil {
		t.Fatal(err)
	}
	// A second, and half of one in which a busy machine may not have let the recorder run.
	if lost := last.Sub(r.to); lost > 1500*time.Millisecond {
		t.Errorf("the last %s are lost", lost)
	}
	if all, err := r.between(r.from.Add(-time.Second), r.to); err != nil || len(all) < 20 {
		t.Errorf("%d records can be read: %v", len(all), err)
	}
}

// recordForever records what it prints, until it is killed.
func recordForever(t *testing.T, dir string) {
	r, err := Record(RecorderConfig{Dir: dir, Fabric: fabric(t)})
	if err != nil {
		t.Fatal(err)
	}
	for {
		x := &evidence.Record{Time: time.Now().UTC(), Source: evidence.SourceNote, Kind: evidence.KindNote, By: "test", Text: "so it goes"}
		r.Add(x)
		fmt.Println(x.Time.Format(time.RFC3339Nano))
		time.Sleep(5 * time.Millisecond)
	}
}
