package cli

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"whichlink/internal/evidence"
)

// A terminal is a pseudo-terminal with a program of this test binary in it.
type terminal struct {
	t             *testing.T
	master, slave *os.File
	cmd           *exec.Cmd
	before        unix.Termios
	reading       sync.WaitGroup

	mu   sync.Mutex // guards seen
	seen bytes.Buffer
}

// inTerminal starts a program that TestMain knows, under that name.
func inTerminal(t *testing.T, state, name string, args []string, env ...string) *terminal {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), name)
	if err := os.Symlink(self, program); err != nil {
		t.Fatal(err)
	}
	x := &terminal{t: t}
	x.master, x.slave = openTerminal(t)
	termios, err := unix.IoctlGetTermios(int(x.slave.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	x.before = *termios
	x.cmd = exec.Command(program, args...)
	x.cmd.Stdin, x.cmd.Stdout, x.cmd.Stderr = x.slave, x.slave, x.slave
	x.cmd.Env = append(append(os.Environ(), "TERM=xterm-256color", "XDG_STATE_HOME="+state, "XDG_CONFIG_HOME="+state), env...)
	x.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := x.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	x.reading.Go(func() {
		buf := make([]byte, 1<<16)
		for {
			n, err := x.master.Read(buf)
			x.mu.Lock()
			x.seen.Write(buf[:n])
			x.mu.Unlock()
			if err != nil {
				return
			}
		}
	})
	return x
}

func (x *terminal) text() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.seen.String()
}

// tail is the end of what was written, for messages.
func (x *terminal) tail() string {
	text := x.text()
	return strconv.Quote(text[max(len(text)-600, 0):])
}

func (x *terminal) sees(want string) {
	x.t.Helper()
	for end := time.Now().Add(time.Minute); !strings.Contains(x.text(), want); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			_ = x.cmd.Process.Kill()
			x.t.Fatalf("%q does not come: %s", want, x.tail())
		}
	}
}

// ends waits for the end of the program. One that hangs is killed, and its exit code is -1.
func (x *terminal) ends() (code int) {
	defer time.AfterFunc(time.Minute, func() { _ = x.cmd.Process.Kill() }).Stop()
	_ = x.cmd.Wait()
	return x.cmd.ProcessState.ExitCode()
}

// left looks at what the program left behind when it had ended, and returns what it wrote once the terminal was given back.
func (x *terminal) left() string {
	x.t.Helper()
	after, err := unix.IoctlGetTermios(int(x.slave.Fd()), unix.TCGETS)
	if err != nil {
		x.t.Fatal(err)
	}
	if *after != x.before {
		x.t.Errorf("the terminal is not as it was: %+v, before %+v", *after, x.before)
	}
	x.slave.Close()
	x.reading.Wait() // a terminal that nobody has open any more ends when all is read
	x.master.Close()
	out := x.text()
	for _, mode := range []struct{ on, off, what string }{
		{"\x1b[?1049h", "\x1b[?1049l", "the other screen"}, {"\x1b[?25l", "\x1b[?25h", "the hidden cursor"}, {"\x1b[?2004h", "\x1b[?2004l", "bracketed paste"}} {
		if !strings.Contains(out, mode.on) && mode.what != "the hidden cursor" || strings.LastIndex(out, mode.on) > strings.LastIndex(out, mode.off) {
			x.t.Errorf("%s was not left: %s", mode.what, x.tail())
		}
	}
	_, rest, _ := strings.Cut(out, "\x1b[?1049l")
	return rest
}

// A program that panics under its screens gives the terminal back, says in one line where it kept what happened, ends with exit code 1, and its recording is
// finished.
func TestCrash(t *testing.T) {
	for where, says := range map[string]string{
		"drawing":   "runtime error: index out of range [4] with length 2",
		"command":   "a fault in a command",
		"measuring": "a fault in what measures\ufffd[31m",
	} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			state := t.TempDir()
			x := inTerminal(t, state, "whichlink-panicking", nil, "CRASH="+where, "WHICHLINK_SNMP_COMMUNITY=hush-hush")
			if where == "command" {
				x.sees("all is well")
				_, _ = x.master.WriteString(":poll sw1\r")
			}
			if code := x.ends(); code != 1 {
				t.Errorf("exit code %d", code)
			}
			files, _ := filepath.Glob(filepath.Join(state, "whichlink", "crash-*.txt"))
			if len(files) != 1 {
				t.Fatalf("crash files: %q; the terminal: %s", files, x.tail())
			}
			want := fmt.Sprintf("whichlink: recorded\r\nwhichlink: error: a fault in whichlink itself: %s; where it was stands in %s\r\n", says, files[0])
			if got := x.left(); !strings.HasSuffix(got, want) || strings.Contains(got, "goroutine") {
				t.Errorf("it left %q\nnot     %q", got, want)
			}
			text, err := os.ReadFile(files[0])
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range []string{"whichlink " + version() + ", go1.", "panic: ", "goroutine ", "crash_test.go:"} {
				if !strings.Contains(string(text), want) {
					t.Errorf("the crash file does not say %q:\n%s", want, text)
				}
			}
			if info, err := os.Stat(files[0]); err != nil || info.Mode().Perm() != 0o600 || strings.Contains(string(text), "hush-hush") {
				t.Errorf("anybody can read %s: %v %v", text, info.Mode(), err)
			}
		})
	}
}

// A program that is told to end, or whose terminal goes away with the connection it came by, gives back what it took, and its recording is whole.
func TestEndsBySignal(t *testing.T) {
	here := filepath.Join(t.TempDir(), "here.clab.yml")
	if err := os.WriteFile(here, []byte(hereFabric), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, how := range []string{"SIGTERM", "SIGHUP", "terminal"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			state := t.TempDir()
			x := inTerminal(t, state, "whichlink", []string{"--fabric", here, "--rate", "20"})
			x.sees("REC")
			x.sees("measured")
			switch how {
			case "SIGTERM":
				_ = x.cmd.Process.Signal(syscall.SIGTERM)
			case "SIGHUP":
				_ = x.cmd.Process.Signal(syscall.SIGHUP)
			default: // what sshd does when its client is gone
				x.slave.Close()
				x.master.Close()
			}
			if code := x.ends(); code != 0 {
				t.Errorf("exit code %d: %s", code, x.tail())
			}
			if how != "terminal" {
				if got := x.left(); !strings.Contains(got, "shows it again\r\n") || strings.Contains(got, "error") {
					t.Errorf("it left %q", got)
				}
			}
			files, _ := filepath.Glob(filepath.Join(state, "whichlink", "*.jsonl"))
			if len(files) != 1 {
				t.Fatalf("recordings: %q", files)
			}
			f, err := os.Open(files[0])
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			records := 0
			if _, err := evidence.ReadPlaces(f, files[0], func(*evidence.Record, int64) bool { records++; return true }); err != nil || records == 0 {
				t.Errorf("%d records, %v", records, err)
			}
		})
	}
}

// A panic in a goroutine that nothing guards, of what measures or of a library, ends the program at once, and so does a kill: the terminal is given back all
// the same, and what is known is kept and not thrown over the screen.
func TestEndsWithoutItself(t *testing.T) {
	t.Run("a panic elsewhere", func(t *testing.T) {
		t.Parallel()
		state := t.TempDir()
		x := inTerminal(t, state, "whichlink-panicking", nil, "CRASH=elsewhere", "WHICHLINK_SNMP_COMMUNITY=hush-hush")
		if code := x.ends(); code != 2 {
			t.Errorf("exit code %d, not that of a panic", code)
		}
		crashLeft(t, x, state, "a fault", "crash_test.go:")
	})
	t.Run("a panic in what measures", func(t *testing.T) {
		t.Parallel()
		state := t.TempDir()
		here := filepath.Join(state, "here.clab.yml")
		if err := os.WriteFile(here, []byte(hereFabric), 0o600); err != nil {
			t.Fatal(err)
		}
		x := inTerminal(t, state, "whichlink-panicking", nil, "CRASH=probes", "FABRIC="+here)
		if code := x.ends(); code != 2 {
			t.Errorf("exit code %d, not that of a panic", code)
		}
		crashLeft(t, x, state, "a fault in a record", "whichlink/probes.(*Session)")
	})
	t.Run("a kill", func(t *testing.T) {
		t.Parallel()
		x := inTerminal(t, t.TempDir(), "whichlink-panicking", nil)
		x.sees("all is well")
		x.watched()
		_ = x.cmd.Process.Kill()
		x.ends()
		// Nothing makes who was killed wait for the watchman, who gives the terminal back soon after.
		for begun := time.Now(); time.Since(begun) < 20*time.Second && !strings.Contains(x.text(), "was killed"); {
			time.Sleep(10 * time.Millisecond)
		}
		if got := x.left(); !strings.HasSuffix(got, "the program with the screens was killed\r\n") {
			t.Errorf("it left %q", got)
		}
	})
}

// watched waits until the program's watchman ignores the hangup that the end of a session's leader sends to all who have its terminal: the first frame may be
// drawn before that.
func (x *terminal) watched() {
	x.t.Helper()
	pid := x.cmd.Process.Pid
	for begun := time.Now(); time.Since(begun) < 20*time.Second; time.Sleep(10 * time.Millisecond) {
		var children []byte
		tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid)) // whichever thread started it
		for _, task := range tasks {
			more, _ := os.ReadFile(task)
			children = append(children, more...)
		}
		for _, child := range strings.Fields(string(children)) {
			status, _ := os.ReadFile("/proc/" + child + "/status")
			_, ignored, _ := strings.Cut(string(status), "\nSigIgn:")
			ignored, _, _ = strings.Cut(ignored, "\n")
			if set, err := strconv.ParseUint(strings.TrimSpace(ignored), 16, 64); err == nil && set>>(syscall.SIGHUP-1)&1 == 1 {
				return
			}
		}
	}
	x.t.Fatal("nobody watches the terminal")
}

// crashLeft looks at what a program left that ended by a panic in a goroutine which nothing guards.
func crashLeft(t *testing.T, x *terminal, state, says, where string) {
	t.Helper()
	got := x.left() // waits until the last has let go of the terminal
	files, _ := filepath.Glob(filepath.Join(state, "whichlink", "crash-*.txt"))
	if len(files) != 1 {
		t.Fatalf("crash files: %q; it left %q", files, got)
	}
	if want := "whichlink: error: a fault in whichlink itself: " + says; !strings.Contains(got, want) || !strings.HasSuffix(got, "; where it was stands in "+files[0]+"\r\n") || strings.Contains(got, "goroutine") {
		t.Errorf("it left %q\nnot     %q", got, want)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"panic: " + says, "goroutine ", where} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the crash file does not say %q:\n%s", want, text)
		}
	}
	if info, err := os.Stat(files[0]); err != nil || info.Mode().Perm() != 0o600 || strings.Contains(string(text), "hush-hush") {
		t.Errorf("anybody can read it: %v %v", info.Mode(), err)
	}
}
