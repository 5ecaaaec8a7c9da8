package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
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
		cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+dir+"/state", "XDG_CONFIG_HOME="+dir+"/config", "NO_COLOR=1", "TERM=xterm")
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
	// The mouse, as a terminal tells it (SGR): a tab, a head, a row twice, the wheel.
	mouse := func(button int, text string) {
		t.Helper()
		for y, row := range strings.Split(screen(), "\n") {
			if before, _, ok := strings.Cut(row, text); ok {
				at := fmt.Sprintf("%d;%d;%d", button, utf8.RuneCountInString(before)+1, y+1)
				keys("-l", "\x1b[<"+at+"M\x1b[<"+at+"m")
				return
			}
		}
		t.Fatalf("%q is not on the terminal:\n%s", text, screen())
	}
	keys("M")
	sees("mouse on")
	mouse(0, "5 Events")
	sees("[5 Events]")
	mouse(0, "3 Links")
	sees("[3 Links]")
	mouse(0, "     late")
	sees("sort late descending")
	mouse(0, "     late")
	sees("sort late ascending")
	mouse(0, "leaf2:swp2--spine2:swp2")
	sees("> leaf2:swp2--spine2:swp2")
	mouse(65, "state")
	for end := time.Now().Add(10 * time.Second); strings.Contains(screen(), "> leaf2:swp2--spine2:swp2"); time.Sleep(30 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the wheel does not move:\n%s", screen())
		}
	}
	mouse(0, "leaf2:swp2--spine2:swp2")
	sees("> leaf2:swp2--spine2:swp2")
	mouse(0, "leaf2:swp2--spine2:swp2")
	sees("Flows across it")
	keys("M")
	sees("mouse off")
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
