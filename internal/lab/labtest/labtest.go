// Package labtest lets the tests of other rooms run in labs, and makes test binaries that do so wait for each other: they measure, and
// two at once on a small machine measure each other.
package labtest

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/lockedfile"
	"golang.org/x/sys/unix"

	"whichlink/internal/lab"
)

// unavailable says why the machine permits no lab; nil where it does.
var unavailable error

// Main is the TestMain of a room whose tests make labs. It does not return.
func Main(m *testing.M) {
	if len(os.Args) > 2 {
		for _, part := range []struct {
			arguments []string
			play      func() error
		}{
			{lab.AgentsArguments(), lab.RunAgents},
			{lab.CountersArguments(), func() error { return lab.ServeCounters(os.Stdin, os.Stdout) }},
		} {
			if slices.Equal(os.Args[1:], part.arguments) {
				exit(part.play())
			}
		}
	}
	unavailable = lab.Enter()
	if unavailable == nil {
		unavailable = lab.Available()
	}
	os.Exit(Alone(m).Run())
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Tests are those of a test binary; [testing.M] is one.
type Tests interface{ Run() int }

// Alone returns tests that run while no other test binary's do that were made so. Tests that were chosen by -run do not wait.
func Alone(m Tests) Tests { return alone{m} }

type alone struct{ Tests }

func (a alone) Run() int {
	flag.Parse()
	if chosen := flag.Lookup("test.run"); chosen == nil || chosen.Value.String() == "" {
		// Where the lock cannot be had, as when another user's file is in its place, tests at the same time are the lesser evil.
		if unlock, err := lockedfile.MutexAt(filepath.Join(os.TempDir(), "whichlink-labs.lock")).Lock(); err == nil {
			defer unlock()
		}
	}
	hurry()
	return a.Tests.Run()
}

// hurry puts this process before others, where it may: the test binaries beside it only think, and can wait. A thread has a priority of its own, and hands it on
// to those, and to the processes, that it makes.
func hurry() {
	threads, _ := os.ReadDir("/proc/self/task")
	for _, x := range threads {
		if id, err := strconv.Atoi(x.Name()); err == nil {
			_ = unix.Setpriority(unix.PRIO_PROCESS, id, -10)
		}
	}
}

// Need skips a test where the machine permits no lab, and fails it where CI promises that it does.
func Need(t testing.TB) {
	t.Helper()
	if unavailable != nil {
		without(t, unavailable)
	}
}

// NeedAgents is [Need] for a test that wants SNMP and LLDP agents in the lab's switches.
func NeedAgents(t testing.TB) {
	t.Helper()
	Need(t)
	switch missing := lab.MissingAgents(); {
	case lab.InUserNamespace():
		t.Skip("lldpd does not run inside a user namespace")
	case len(missing) > 0:
		without(t, fmt.Errorf("not installed: %v", missing))
	}
}

func without(t testing.TB, why error) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal(why)
	}
	t.Skip("cannot run here: ", why)
}
