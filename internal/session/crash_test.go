package session

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Of many crash files the newest are kept, and nothing else is touched.
func TestCrashFilesAreFew(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	var newest string
	for i := range mostCrashes + 3 {
		name, err := WriteCrash(dir, CrashReport{At: time.Unix(int64(1e9+i), 0), Value: "so it goes"})
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			if err := os.WriteFile(filepath.Join(dir, "a-note.txt"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		newest = name
	}
	entries, _ := os.ReadDir(dir)
	if len(entries) != mostCrashes+1 || entries[0].Name() != "a-note.txt" || filepath.Base(newest) != entries[mostCrashes].Name() {
		t.Errorf("kept: %v", entries)
	}
	if _, err := WriteCrash(newest, CrashReport{}); err == nil {
		t.Error("a file is no directory")
	}
}
