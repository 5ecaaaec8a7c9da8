package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The table of links is after a restart as it was left, in the real program.
func TestScreensAreRemembered(t *testing.T) {
	drill, err := filepath.Abs("../../testdata/drill")
	if err != nil {
		t.Fatal(err)
	}
	state := t.TempDir()
	run := func(keys ...string) string {
		x := inTerminal(t, state, "whichlink", []string{"--fabric", drill + "/fabric.clab.yml", drill + "/evidence.jsonl"})
		x.sees("SUSPECTS")
		for i := 0; i < len(keys); i += 2 {
			_, _ = x.master.WriteString(keys[i])
			x.sees(keys[i+1])
		}
		_, _ = x.master.WriteString("q")
		if code := x.ends(); code != 0 {
			t.Errorf("exit code %d: %s", code, x.tail())
		}
		x.left()
		return x.text()
	}
	first := run("3\x0c", "sort p descending", "sss\x0c", "sort flows desc", "S\x0c", "sort flows asc")
	if strings.Contains(first, "ignored") {
		t.Errorf("something was ignored without a file: %q", first)
	}
	run("3\x0c", "sort flows ascending")
	file := filepath.Join(state, "whichlink", keptFile)
	if err := os.WriteFile(file, []byte(`{"links": {"sort": "flows"`), 0o600); err != nil {
		t.Fatal(err)
	}
	run("", file+": byte 26: unexpected end", "3\x0c", "sort p descending")
	if text, _ := os.ReadFile(file); string(text) != `{"links": {"sort": "flows"` {
		t.Errorf("who chose nothing wrote %q", text)
	}
}
