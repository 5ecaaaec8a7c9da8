package session

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"time"
)

// A CrashReport is what is known of a fault of the program itself. It holds no names, no arguments and no environment but what the panic says.
type CrashReport struct {
	At      time.Time
	Version string
	Value   string // what it panicked with
	Stack   []byte
}

// mostCrashes is how many crash files a directory keeps.
const mostCrashes = 10

var crashName = regexp.MustCompile(`^crash-\d{8}T\d{6}Z-\d+\.txt$`)

// WriteCrash writes a crash file that nobody else can read, beside the recordings, and returns its path. Of many it keeps the newest.
func WriteCrash(dir string, c CrashReport) (string, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("write the crash file: %w", err)
	}
	at := c.At.UTC()
	name := filepath.Join(dir, fmt.Sprintf("crash-%s-%d.txt", at.Format("20060102T150405Z"), os.Getpid()))
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", fmt.Errorf("write the crash file: %w", err)
	}
	_, err = fmt.Fprintf(f, "whichlink %s, %s %s/%s, %s\npanic: %s\n\n%s", c.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH, at.Format(time.RFC3339), c.Value, c.Stack)
	if err = errors.Join(err, f.Close()); err != nil {
		return "", fmt.Errorf("write the crash file: %w", err)
	}
	forgetCrashes(dir)
	return name, nil
}

// forgetCrashes deletes the oldest crash files. That one cannot be deleted is of no interest to who just met a crash.
func forgetCrashes(dir string) {
	entries, err := os.ReadDir(dir) // by name, and so by time
	if err != nil {
		return
	}
	entries = slices.DeleteFunc(entries, func(e os.DirEntry) bool { return !crashName.MatchString(e.Name()) })
	for _, e := range entries[:max(len(entries)-mostCrashes, 0)] {
		_ = os.Remove(filepath.Join(dir, e.Name()))
	}
}
