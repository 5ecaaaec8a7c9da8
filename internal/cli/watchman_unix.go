//go:build unix

package cli

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"whichlink/tui"
)

// watchmanCommand is how a watchman is started.
const watchmanCommand = "give-terminal-back"

// farewell is the last that a watchman hears of a program which gave the terminal back itself.
const farewell = 0

// watchTerminal has a process of its own, a watchman, give the terminal back if this one ends without doing so: by a panic in whichever goroutine, which no
// other goroutine can recover, by a fault of the runtime, or by a kill. What the runtime says then goes to the watchman, who keeps it in a file, and not onto
// the screen. That there can be no watchman is no reason to show nothing. Release ends the watch.
func (e *env) watchTerminal() (release func()) {
	nothing := func() {}
	in, ok := e.stdin.(*os.File)
	out, ok2 := e.stdout.(*os.File)
	if e.plain || !ok || !ok2 || !e.terminal() {
		return nothing
	}
	was, err := term.GetState(in.Fd())
	if err != nil {
		return nothing
	}
	told, err := json.Marshal(was) // which is told first
	if err != nil {
		return nothing
	}
	self, err := os.Executable()
	if err != nil {
		return nothing
	}
	hear, tell, err := os.Pipe()
	if err != nil {
		return nothing
	}
	cmd := exec.Command(self, watchmanCommand)
	cmd.Args[0] = "whichlink"
	cmd.Stdin, cmd.Stdout, cmd.Stderr = hear, out, out
	// No secret is handed on.
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "WHICHLINK_") })
	err = cmd.Start()
	hear.Close()
	if err == nil {
		_, err = tell.Write(append(told, '\n'))
	}
	if err == nil {
		err = debug.SetCrashOutput(tell, debug.CrashOptions{})
	}
	if err != nil {
		tell.Close()
		return nothing
	}
	// With what all goroutines do, the runtime says more than a short pipe holds: it does not end before the watchman has begun to read, and has given the
	// terminal back. A shell that sees the end of the program finds it so.
	shorten(tell)
	debug.SetTraceback("all")
	loud := hush()
	return func() {
		loud()
		debug.SetTraceback(cmp.Or(os.Getenv("GOTRACEBACK"), "single"))
		_ = debug.SetCrashOutput(nil, debug.CrashOptions{})
		_, _ = tell.Write([]byte{farewell})
		tell.Close()
		_ = cmd.Wait()
	}
}

// hush keeps what is written to standard error from the screen if that is the same terminal, until loud is called.
func hush() (loud func()) {
	none, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return func() {}
	}
	defer none.Close()
	const stderr = 2
	if !term.IsTerminal(stderr) {
		return func() {}
	}
	kept, err := unix.FcntlInt(stderr, unix.F_DUPFD_CLOEXEC, 3)
	if err != nil || onto(int(none.Fd()), stderr) != nil {
		return func() {}
	}
	return func() {
		_ = onto(kept, stderr)
		_ = unix.Close(kept)
	}
}

// newWatchmanCmd is what screens start; nobody else has a use for it.
func newWatchmanCmd(e *env) *cobra.Command {
	return &cobra.Command{
		Use: watchmanCommand, Hidden: true, Args: args(0, 0),
		RunE: func(*cobra.Command, []string) error { return e.keepWatch() },
	}
}

// leaveScreens undoes what a terminal was asked for: the mouse, the focus, pasted text in brackets, keys told at length, synchronized output, a hidden cursor,
// the other screen, and colours.
const leaveScreens = "\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?1004l\x1b[?2004l\x1b[<u\x1b[>4m\x1b[?2026l\x1b[?25h\x1b[?1049l\x1b[m\r"

// mostSaid bounds what is kept of a crash, in bytes.
const mostSaid = 1 << 20

// keepWatch waits for the end of the program that has the screens.
func (e *env) keepWatch() error {
	// It outlives the program, whatever that is ended by, and writes to a terminal that may be a shell's again.
	signal.Ignore(syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGTSTP, syscall.SIGTTOU, syscall.SIGTTIN)
	hear := bufio.NewReaderSize(e.stdin, 16) // see watchTerminal: no more is to be taken from the pipe than is needed
	line, err := hear.ReadBytes('\n')
	var was term.State
	if err == nil {
		err = json.Unmarshal(line, &was)
	}
	out, ok := e.stdout.(*os.File)
	if err != nil || !ok {
		return errors.New("the screens start this by themselves")
	}
	if first, err := hear.Peek(1); err == nil && first[0] == farewell {
		return nil
	}
	// Once a shell has taken the terminal over, how keys are read is its own affair. While the leader of a session ends, its terminal is nobody's for a moment: 0.
	if owner, err := unix.IoctlGetInt(int(out.Fd()), unix.TIOCGPGRP); err != nil || owner == 0 || owner == unix.Getpgrp() {
		_ = term.Restore(out.Fd(), &was)
	}
	_, _ = out.WriteString(leaveScreens)
	said, _ := io.ReadAll(io.LimitReader(hear, mostSaid))
	_, _ = io.Copy(io.Discard, hear)
	if len(said) == 0 {
		return errors.New("the program with the screens was killed")
	}
	first, _, _ := strings.Cut(string(said), "\n")
	return e.crashed(&tui.Crash{Value: strings.TrimPrefix(strings.TrimPrefix(first, "panic: "), "fatal error: "), Stack: said})
}
