package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"whichlink/graphs"
	"whichlink/graphs/generate"
)

// The parts that the test binary plays when it is started by a test.
const (
	playKeeper = "play-keeper" // and a directory
	playHolder = "play-holder" // makes a lab in its process, says so, and waits
)

// play plays a part and returns the exit code; ok is false where there is none to play.
func play(args []string) (code int, ok bool) {
	if len(args) < 2 {
		return 0, false
	}
	switch args[1] {
	case playKeeper:
		f, err := testFabric()
		if err == nil {
			err = Keep(context.Background(), args[2], f, slog.New(slog.DiscardHandler))
		}
		return exitOf(err), true
	case playHolder:
		f, err := testFabric()
		if err == nil {
			_, err = New(context.Background(), Config{Fabric: f})
		}
		if err == nil {
			os.Stdout.WriteString("up\n")
			time.Sleep(time.Minute)
		}
		return exitOf(err), true
	}
	return 0, false
}

func exitOf(err error) int {
	if err != nil {
		os.Stderr.WriteString(err.Error() + "\n")
		return 1
	}
	return 0
}

func testFabric() (*graphs.Fabric, error) {
	return generate.LeafSpine(generate.LeafSpineConfig{Leaves: 2, Spines: 2, Hosts: 1})
}

// traces lists what a lab of a name may leave on the machine: named namespaces, its directory, mounts; and, of any, devices.
func traces(t *testing.T, name string) string {
	t.Helper()
	var all []string
	runtime, err := runtimeDir()
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{namedDir, runtime} {
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), name) {
				all = append(all, filepath.Join(dir, e.Name()))
			}
		}
	}
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(mounts)) {
		if strings.Contains(line, name) {
			all = append(all, line)
		}
	}
	devices, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range devices {
		all = append(all, d.Name)
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}

// testName is the name of a lab that no other test has, not even one that runs at the same time.
func testName() string { return fmt.Sprintf("test%d", os.Getpid()) }

func startNamed(t *testing.T, name string, snmp bool) *State {
	t.Helper()
	needLab(t)
	f, err := testFabric()
	if err != nil {
		t.Fatal(err)
	}
	room, err := Reserve(Config{Fabric: f, Name: name, SNMP: snmp})
	if err != nil {
		t.Fatal(err)
	}
	s, err := room.Start(context.Background(), playKeeper, filepath.Dir(room.FabricFile()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := Remove(context.Background(), name); err != nil && !errors.Is(err, ErrNoLab) {
			t.Error(err)
		}
	})
	return s
}

func dialNamed(t *testing.T, name string) *Client {
	t.Helper()
	c, err := Dial(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// run runs a shell command in a node of a named lab and returns what it printed and its exit code.
func runNamed(t *testing.T, name, node, command string) (string, int) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	code, err := dialNamed(t, name).Exec(Command{Node: node, Path: "/bin/sh", Args: []string{"sh", "-c", command}, Dir: "/",
		Stdin: 0, Stdout: w.Fd(), Stderr: w.Fd()})
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text), code
}

func TestNamed(t *testing.T) {
	needLab(t)
	name := testName()
	before := traces(t, name)

	s := startNamed(t, name, false)
	if !s.Alive || s.Links != 6 {
		t.Errorf("state %+v", s)
	}
	if _, err := Reserve(Config{Fabric: must(testFabric()), Name: name}); err == nil {
		t.Error("a second lab of the same name was begun")
	}
	out, code := runNamed(t, name, "h1-1", "cat /proc/net/fib_trie; exit 3")
	if code != 3 || !strings.Contains(out, "10.32.0.1") {
		t.Errorf("exit %d, want 3; the command saw %s", code, out)
	}
	if _, code := runNamed(t, name, "h1-1", "kill -KILL $$"); code != 128+9 {
		t.Errorf("a killed command gave the code %d", code)
	}
	for _, n := range s.Namespaces {
		if _, err := os.Stat(filepath.Join(namedDir, n)); err != nil {
			t.Error(err)
		}
	}
	c := dialNamed(t, name)
	id, err := c.Break(Fault{Kind: Silent, Subjects: []string{"leaf1:swp1--spine1:swp1"}})
	if err != nil || id != 1 {
		t.Fatalf("break: %d, %v", id, err)
	}
	if truth, err := c.Truth(); err != nil || len(truth) != 1 || truth[0].Text != "silent leaf1:swp1--spine1:swp1" {
		t.Errorf("truth: %v, %v", truth, err)
	}
	if err := c.Heal(7); err == nil {
		t.Error("a fault that is not there was healed")
	}
	if err := c.HealAll(); err != nil {
		t.Error(err)
	}
	if err := Remove(context.Background(), name); err != nil {
		t.Error(err)
	}
	if after := traces(t, name); after != before {
		t.Errorf("left behind:\n%s\nbefore:\n%s", after, before)
	}
	if err := Remove(context.Background(), name); !errors.Is(err, ErrNoLab) {
		t.Errorf("removing it again: %v", err)
	}
}

// A keeper that is killed takes its commands with it; what stays behind is found and removed.
func TestNamedAfterKill(t *testing.T) {
	needLab(t)
	name := testName()
	before := traces(t, name)

	s := startNamed(t, name, false)
	commandEnded := make(chan error, 1)
	c := dialNamed(t, name)
	go func() {
		null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
		if err == nil {
			_, err = c.Exec(Command{Node: "h1-1", Path: "/bin/sleep", Args: []string{"sleep", "60"}, Dir: "/",
				Stdin: null.Fd(), Stdout: null.Fd(), Stderr: null.Fd()})
			null.Close()
		}
		commandEnded <- err
	}()
	time.Sleep(50 * time.Millisecond)
	if err := syscall.Kill(s.Keeper, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := <-commandEnded; err == nil {
		t.Error("the command ended well although its keeper was killed")
	}
	// Its sockets close one after the other: for a moment the one that clients come to is still there.
	var all []State
	dead := func() bool {
		var err error
		if all, err = List(); err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(all, func(s State) bool { return s.Name == name })
		return i >= 0 && !all[i].Alive
	}
	for end := time.Now().Add(10 * time.Second); !dead(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the list %+v has no dead lab %s", all, name)
		}
	}
	if err := Remove(context.Background(), name); err != nil {
		t.Error(err)
	}
	if after := traces(t, name); after != before {
		t.Errorf("left behind:\n%s\nbefore:\n%s", after, before)
	}
}

// A lab inside a process goes with it, whatever ends it.
func TestInProcessLeavesNothing(t *testing.T) {
	needLab(t)
	name := testName()
	before := traces(t, name)
	cmd := exec.Command("/proc/self/exe", playHolder)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(out, make([]byte, 3)); err != nil {
		t.Error(err)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if after := traces(t, name); after != before {
		t.Errorf("left behind:\n%s\nbefore:\n%s", after, before)
	}
}

// Who is not root gets a lab inside a user namespace: the same tests must pass there.
func TestUnprivileged(t *testing.T) {
	needLab(t)
	if os.Getenv(insideVariable) != "" || os.Geteuid() != 0 {
		t.Skip("is unprivileged already")
	}
	if text, err := os.ReadFile("/proc/sys/user/max_user_namespaces"); err == nil && strings.TrimSpace(string(text)) == "0" {
		t.Skip("this system permits no user namespaces")
	}
	// The binary that go test made stands where only root may look.
	self := filepath.Join(t.TempDir(), "lab.test")
	text, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(self, text, 0o755); err != nil {
		t.Fatal(err)
	}
	for dir := filepath.Dir(self); dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	home := t.TempDir()
	if err := os.Chown(home, 65534, 65534); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.v", "-test.run=^(TestOracleIsWhatPacketsDo|TestCorruptChangesPayload|TestNamed|TestNamedAfterKill)$")
	cmd.Env = []string{"TMPDIR=" + home, "CI=" + os.Getenv("CI")}
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	if bytes.Contains(out.Bytes(), []byte("cannot run here")) {
		t.Skipf("this system permits no user namespaces: %s", &out)
	}
	if err != nil || bytes.Count(out.Bytes(), []byte("--- PASS")) < 4 {
		t.Errorf("as user 65534: %v\n%s", err, &out)
	}
}

func must(f *graphs.Fabric, err error) *graphs.Fabric {
	if err != nil {
		panic(err)
	}
	return f
}
