package cli

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Parts of one file are kept apart from each other, and whatever stands in the file is no more than a line to read.
func TestKept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "whichlink")
	one, other := &kept{path: filepath.Join(dir, keptFile)}, &kept{path: filepath.Join(dir, keptFile)}
	var got []string
	if err := one.Recall("links", &got); err != nil || got != nil {
		t.Errorf("without a file: %q, %v", got, err)
	}
	for _, err := range []error{one.Keep("links", []string{"p", "loss"}), other.Keep("pins", []string{"leaf1"}), one.Keep("links", []string{"use"})} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := other.Recall("links", &got); err != nil || strings.Join(got, " ") != "use" {
		t.Errorf("%q, %v", got, err)
	}
	if err := one.Recall("pins", &got); err != nil || strings.Join(got, " ") != "leaf1" {
		t.Errorf("%q, %v", got, err)
	}
	if err := one.Keep("links", strings.Repeat("x", mostKept)); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("a file without bound: %v", err)
	}
	info, err := os.Stat(one.path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if files, _ := os.ReadDir(dir); len(files) != 1 {
		t.Errorf("left behind: %v", files)
	}

	for text, says := range map[string]string{
		"":                               "screens.json: byte 0: unexpected end of JSON input",
		`{"links": ["p",]}`:              "screens.json: byte 16: invalid character",
		"[1, 2]":                         "screens.json: json: cannot unmarshal array",
		`{"links": 7}`:                   "screens.json: links: json: cannot unmarshal number",
		strings.Repeat(" ", mostKept+10): "screens.json: larger than 65536 bytes",
	} {
		if err := os.WriteFile(one.path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := one.Recall("links", &got); err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%.20q: %v, want %q", text, err, says)
		}
		if err := one.Keep("links", []string{"late"}); err != nil {
			t.Errorf("%.20q is not written anew: %v", text, err)
		}
		if err := one.Recall("links", &got); err != nil || got[0] != "late" {
			t.Errorf("%.20q: then %q, %v", text, got, err)
		}
	}
	if err := os.Remove(one.path); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(one.path, 0o600); err != nil {
		t.Skip(err)
	}
	if err := one.Recall("links", &got); err == nil || !strings.Contains(err.Error(), "no plain file") {
		t.Errorf("a pipe: %v", err)
	}
}
