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
	// Counted in records, not by the clock: a machine that lets neither of the two run for a while loses nothing by that.
	var told []time.Time
	for lines := bufio.NewScanner(out); len(told) < 500 && lines.Scan(); {
		at, err := time.Parse(time.RFC3339Nano, lines.Text())
		if err != nil {
			t.Fatal(err)
		}
		told = append(told, at)
	}
	if len(told) < 500 {
		t.Fatalf("the recorder ended after %d records", len(told))
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
	lost := 0
	for _, at := range told {
		if at.After(r.to) {
			lost++
		}
	}
	if most := int(time.Second / apart); lost > most {
		t.Errorf("the last %d records are lost, of a second that has %d at most", lost, most)
	}
	if all, err := r.between(r.from.Add(-time.Second), r.to); err != nil || len(all) < len(told)-lost {
		t.Errorf("%d records of %d can be read, and %d are lost: %v", len(all), len(told), lost, err)
	}
}

// apart is the least between two records of recordForever.
const apart = 5 * time.Millisecond

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
		time.Sleep(apart)
	}
}
