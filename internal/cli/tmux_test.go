package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// In a real terminal, behind tmux: screens follow every change of size, also under a dialog, the terminal is left as it was, and a killed terminal ends the
// program.
func TestInTmux(t *testing.T) {
	tmux, err := exec.LookPath("tmux")
	if err != nil {
		t.Skip("no tmux")
	}
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// Under this name the test binary is the program.
	program := filepath.Join(dir, "whichlink")
	if err := os.Symlink(self, program); err != nil {
		t.Fatal(err)
	}
	drill, err := filepath.Abs("../../testdata/drill")
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "tmux")
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.Command(tmux, append([]string{"-S", socket, "-f", "/dev/null"}, args...)...)
		cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+dir, "NO_COLOR=1", "TERM=xterm")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("tmux %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	run("new-session", "-d", "-x", "100", "-y", "30", "sh")
	t.Cleanup(func() { _ = exec.Command(tmux, "-S", socket, "kill-server").Run() })
	screen := func() string { return run("capture-pane", "-p") }
	sees := func(want string) {
		t.Helper()
		var got string
		for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(30 * time.Millisecond) {
			if got = screen(); strings.Contains(got, want) {
				return
			}
		}
		t.Fatalf("the terminal does not show %q:\n%s", want, got)
	}
	keys := func(names ...string) { run(append([]string{"send-keys"}, names...)...) }
	keys("echo be'fore'; "+program+" --fabric "+drill+"/fabric.clab.yml "+drill+"/evidence.jsonl; echo af'ter' $?", "Enter")
	sees("SUSPECTS")
	keys("3")
	sees("[3 Links]")
	for _, size := range [][2]string{{"40", "10"}, {"200", "60"}, {"20", "5"}, {"300", "100"}, {"80", "24"}} {
		run("resize-window", "-x", size[0], "-y", size[1])
		sees("--")
	}
	keys("C")
	sees("Columns")
	run("resize-window", "-x", "40", "-y", "10")
	sees("[x]")
	run("resize-window", "-x", "120", "-y", "40")
	sees("[x]")
	keys("Escape") // a key that follows at once would be one with Alt
	for end := time.Now().Add(10 * time.Second); strings.Contains(screen(), "[x]"); time.Sleep(30 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("esc does not close the dialog")
		}
	}
	keys("1", ">")
	sees("REPLAY")
	keys("?")
	sees("Everywhere")
	keys("q")
	sees("after 0")
	if got := screen(); !strings.Contains(got, "before") || strings.Contains(got, "Everywhere") {
		t.Errorf("the terminal is not as it was:\n%s", got)
	}
}
