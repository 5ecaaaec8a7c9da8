// Package cli is the command line: one file a command. A command parses its flags, calls the rooms below, and prints.
//
// Data go to standard output, everything else to standard error. Commands return errors; only [Main] prints them and turns
// them into exit codes: 0 done, 1 failed, 2 wrong usage, and for check 0 to 3 as monitoring plugins have it.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"whichlink/graphs"
	"whichlink/tui"
)

// env is what a command may touch of the world outside, and the flags that all commands share.
type env struct {
	arguments []string
	stdin     io.Reader
	stdout    io.Writer
	stderr    io.Writer
	// recorded holds the program's own files: a drill for systems that cannot run one.
	recorded fs.FS

	noColor bool
	ascii   bool
	plain   bool
	mask    bool
	theme   string
	// settings are those of whoever runs the program, and settled says where they are from; unsettled is why they could not be read.
	settings  tui.Settings
	settled   string
	unsettled error

	quiet   bool
	verbose bool
}

// say prints a remark for the person at the terminal; -q silences it.
func (e *env) say(format string, args ...any) {
	if !e.quiet {
		fmt.Fprintf(e.stderr, "whichlink: %s\n", graphs.Printable(fmt.Sprintf(format, args...)))
	}
}

// logger returns what the rooms log to: standard error with -v, else nowhere.
func (e *env) logger() *slog.Logger {
	if !e.verbose {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(slog.NewTextHandler(e.stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// colour reports whether colours are wanted: not with --no-color, nor with any non-empty NO_COLOR (no-color.org).
func (e *env) colour() bool { return !e.noColor && os.Getenv("NO_COLOR") == "" }

// A usageError is a command line that cannot be followed: exit code 2.
type usageError struct{ err error }

func (u usageError) Error() string { return u.err.Error() }
func (u usageError) Unwrap() error { return u.err }

// usagef makes a usageError.
func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// flagError tells of a flag's wrong value without the words of the functions that parse it.
func flagError(err error) error {
	var wrong *pflag.InvalidValueError
	var own usageError
	switch {
	case errors.As(err, &own): // in words of ours
		return own
	case !errors.As(err, &wrong):
		return err
	}
	flag, why := wrong.GetFlag(), "not a whole number"
	switch flag.Value.Type() {
	case "duration":
		why = "not a duration such as 10s or 2m"
	case "float64":
		why = "not a number"
	case "bool":
		why = "not true or false"
	}
	if errors.Is(err, strconv.ErrRange) {
		why = "out of range"
	}
	return fmt.Errorf("--%s %q: %s", flag.Name, graphs.Clean(wrong.GetValue()), why)
}

// A hintError is an error with a remedy, which is printed on a line of its own.
type hintError struct {
	err  error
	hint string
}

func (h hintError) Error() string { return h.err.Error() }
func (h hintError) Unwrap() error { return h.err }

// withHint adds a remedy to an error.
func withHint(err error, format string, args ...any) error {
	return hintError{err, fmt.Sprintf(format, args...)}
}

// An exitError ends the program with a code and, if err is nil, without a word: the command has said all there is to say.
type exitError struct {
	code int
	err  error
}

func (x exitError) Error() string {
	if x.err == nil {
		return fmt.Sprintf("exit code %d", x.code)
	}
	return x.err.Error()
}
func (x exitError) Unwrap() error { return x.err }

// args checks the number of arguments and names what is missing in the words of the usage line.
func args(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, got []string) error {
		if len(got) < least || most >= 0 && len(got) > most {
			return usagef("%d arguments given; usage: %s", len(got), cmd.UseLine())
		}
		return nil
	}
}

// UntilTold returns a context that ends when the process is told to end: by ctrl-c, by kill, or because its terminal is gone. A second signal ends the
// process at once.
func UntilTold(ctx context.Context) (context.Context, context.CancelFunc) {
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as under nohup
		ends = append(ends, syscall.SIGHUP) // the terminal went away: nothing may be left behind
	}
	ctx, stop := signal.NotifyContext(ctx, ends...)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

// endedBySignals lets signals end the process where it is, as from where it only computes, and looks at no context any more.
func endedBySignals() { signal.Reset(os.Interrupt, syscall.SIGTERM) }

// Main runs the program and returns its exit code. Recorded holds testdata/drill.
func Main(ctx context.Context, arguments []string, stdin io.Reader, stdout, stderr io.Writer, recorded fs.FS) int {
	e := &env{arguments: arguments, stdin: stdin, stdout: stdout, stderr: stderr, recorded: recorded}
	root := newRootCmd(e)
	root.SetArgs(arguments)
	root.SetIn(stdin)
	help := &checkedWriter{Writer: stdout}
	root.SetOut(help)
	root.SetErr(stderr)
	if len(arguments) > 0 && arguments[0] == cobra.ShellCompRequestCmd {
		plainUsages(root)
	}
	err := root.ExecuteContext(ctx)
	if err == nil {
		err = help.err
	}
	return e.exit(err)
}

// A checkedWriter remembers the first error of a writer. The library that writes help and completions does not look at errors.
type checkedWriter struct {
	io.Writer
	err error
}

func (w *checkedWriter) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	if w.err == nil {
		w.err = err
	}
	return n, err
}

// exit tells an error, and returns the exit code that it means.
func (e *env) exit(err error) int {
	if err == nil {
		return 0
	}
	code := 1
	var exit exitError
	var usage usageError
	switch {
	case errors.As(err, &exit):
		if exit.err == nil {
			return exit.code
		}
		code = exit.code
	case errors.As(err, &usage):
		code = 2
	}
	// What is told may hold names of files and words of others: no terminal is to obey them. Nothing but an interrupt cancels a command.
	for _, one := range apart(err) {
		text := strings.ReplaceAll(one.Error(), context.Canceled.Error(), "interrupted")
		fmt.Fprintf(e.stderr, "whichlink: error: %s\n", graphs.Printable(text))
	}
	var hint hintError
	if errors.As(err, &hint) {
		fmt.Fprintf(e.stderr, "whichlink: hint: %s\n", graphs.Printable(hint.hint))
	}
	return code
}

// apart returns the errors that were joined, each of which is a line.
func apart(err error) []error {
	switch x := err.(type) {
	case exitError:
		return apart(x.err)
	case usageError:
		return apart(x.err)
	case hintError:
		return apart(x.err)
	case interface{ Unwrap() []error }:
		if parts := x.Unwrap(); err.Error() == errors.Join(parts...).Error() { // and not a text around them
			var all []error
			for _, p := range parts {
				all = append(all, apart(p)...)
			}
			return all
		}
	}
	return []error{err}
}
