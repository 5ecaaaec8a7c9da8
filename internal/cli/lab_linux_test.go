package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"whichlink/internal/lab"
)

// buildProgram builds whichlink: a lab's keeper is the program itself.
func buildProgram(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "whichlink")
	if out, err := exec.Command("go", "build", "-o", program, "whichlink").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return program
}

func TestLabStory(t *testing.T) {
	program := buildProgram(t)
	name := fmt.Sprintf("story%d", os.Getpid())
	run := func(wantCode int, arguments ...string) (stdout, stderr string) {
		t.Helper()
		var out, errs bytes.Buffer
		cmd := exec.Command(program, arguments...)
		cmd.Stdout, cmd.Stderr = &out, &errs
		err := cmd.Run()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		if code := cmd.ProcessState.ExitCode(); code != wantCode {
			t.Fatalf("whichlink %s: exit code %d, want %d\n%s%s", strings.Join(arguments, " "), code, wantCode, &out, &errs)
		}
		return out.String(), errs.String()
	}
	if out, err := exec.Command(program, "lab", "up", "leafspine", "--leaves", "2", "--spines", "2", "--hosts", "1", "--name", name).CombinedOutput(); err != nil {
		if bytes.Contains(out, []byte("no network namespaces here")) && os.Getenv("CI") != "true" {
			t.Skipf("cannot run here: %s", out)
		}
		t.Fatalf("lab up: %v\n%s", err, out)
	}
	t.Cleanup(func() { _ = exec.Command(program, "lab", "down", name).Run() })

	var listed struct{ Labs []lab.State }
	out, _ := run(0, "lab", "list", "-o", "json")
	if err := json.Unmarshal([]byte(out), &listed); err != nil {
		t.Fatal(err)
	}
	var state lab.State
	for _, s := range listed.Labs {
		if s.Name == name {
			state = s
		}
	}
	if !state.Alive || state.Switches != 4 || state.Hosts != 2 || state.Links != 6 {
		t.Errorf("the list says %+v", state)
	}
	if text, err := os.ReadFile(state.FabricFile); err != nil || !bytes.Contains(text, []byte("10.32.0.1")) {
		t.Errorf("the fabric file: %v\n%s", err, text)
	}
	if _, stderr := run(1, "lab", "up", "leafspine", "--name", name); !strings.Contains(stderr, "is up already") {
		t.Errorf("a second lab of one name: %s", stderr)
	}

	if out, _ := run(0, "lab", "break", name, "loss", "leaf1:swp1>spine1:swp1", "--rate", "5%"); out != "1  loss leaf1:swp1>spine1:swp1 --rate 5%\n" {
		t.Errorf("break printed %q", out)
	}
	run(0, "lab", "break", name, "police", "spine1")
	var truth struct {
		Lab    string
		Faults []map[string]any
	}
	out, _ = run(0, "lab", "truth", name, "-o", "json")
	if err := json.Unmarshal([]byte(out), &truth); err != nil {
		t.Fatal(err)
	}
	if len(truth.Faults) != 2 || truth.Faults[0]["link"] != "leaf1:swp1--spine1:swp1" || truth.Faults[1]["text"] != "police spine1 --rate 20" {
		t.Errorf("truth %v", truth)
	}
	run(0, "lab", "heal", name, "1")
	run(1, "lab", "heal", name, "1")
	run(0, "lab", "heal", name, "--all")
	if out, _ := run(0, "lab", "truth", name); out != "nothing is broken\n" {
		t.Errorf("truth %q", out)
	}

	for _, wrong := range [][]string{
		{"lab", "break", name, "loss"},
		{"lab", "break", name, "loss", "nowhere>there", "--rate", "5%"},
		{"lab", "break", name, "loss", "leaf1:swp1>spine1:swp1", "--rate", "500%"},
		{"lab", "break", name, "frobnicate", "leaf1"},
		{"lab", "heal", name},
		{"lab", "heal", name, "x"},
		{"lab", "up", "moebius"},
		{"lab", "up", "fattree", "--k", "3"},
		{"lab", "up", "leafspine", "--name", "../x"},
		{"lab", "exec", name, "h1-1", "--"},
		{"lab", "list", "-o", "yaml"},
	} {
		if _, stderr := run(2, wrong...); !strings.HasPrefix(stderr, "whichlink: error: ") {
			t.Errorf("whichlink %v: %s", wrong, stderr)
		}
	}

	if out, _ := run(7, "lab", "exec", name, "h1-1", "--", "sh", "-c", "echo in; exit 7"); out != "in\n" {
		t.Errorf("exec printed %q", out)
	}
	run(127, "lab", "exec", name, "h1-1", "--", "no-such-program-anywhere")
	sleeping := exec.Command(program, "lab", "exec", name, "h1-1", "--", "sh", "-c", "trap 'exit 42' TERM; echo up; sleep 30 & wait")
	pipe, err := sleeping.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := sleeping.Start(); err != nil {
		t.Fatal(err)
	}
	_, _ = pipe.Read(make([]byte, 3))
	_ = sleeping.Process.Signal(syscall.SIGTERM)
	if _ = sleeping.Wait(); sleeping.ProcessState.ExitCode() != 42 {
		t.Errorf("a signal did not reach the command: %v", sleeping.ProcessState)
	}

	run(0, "lab", "down", name)
	if _, stderr := run(1, "lab", "truth", name); !strings.Contains(stderr, "no such lab") || !strings.Contains(stderr, "hint") {
		t.Errorf("truth of no lab: %s", stderr)
	}
	if _, err := os.Stat(filepath.Dir(state.FabricFile)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the lab's directory is still there: %v", err)
	}
	for _, n := range state.Namespaces {
		if _, err := os.Stat(filepath.Join("/run/netns", n)); err == nil {
			t.Errorf("namespace %s is still there", n)
		}
	}
}

// A lab whose keeper was killed is said to be dead, with the command that removes it.
func TestDeadLab(t *testing.T) {
	program := buildProgram(t)
	name := fmt.Sprintf("dead%d", os.Getpid())
	run := func(args ...string) string {
		out, _ := exec.Command(program, append([]string{"lab"}, args...)...).CombinedOutput()
		return string(out)
	}
	made := run("up", "leafspine", "--leaves", "2", "--spines", "1", "--hosts", "1", "--name", name, "-o", "json", "-q")
	t.Cleanup(func() { run("down", name) })
	if strings.Contains(made, "no network namespaces here") && os.Getenv("CI") != "true" {
		t.Skipf("cannot run here: %s", made)
	}
	var state lab.State
	if err := json.Unmarshal([]byte(made), &state); err != nil || state.Keeper <= 0 {
		t.Fatalf("%v: %s", err, made)
	}
	if err := syscall.Kill(state.Keeper, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	want := "whichlink: hint: whichlink lab down " + name + " removes what is left"
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if out := run("exec", name, "h1-1", "--", "true"); strings.Contains(out, "lab "+name+" is dead") && strings.Contains(out, want) {
			return
		} else if time.Now().After(end) {
			t.Fatal(out)
		}
	}
}

// Ctrl-C while a lab comes up leaves nothing.
func TestLabUpInterrupted(t *testing.T) {
	program := buildProgram(t)
	name := fmt.Sprintf("stopped%d", os.Getpid())
	cmd := exec.Command(program, "lab", "up", "fattree", "--k", "10", "--name", name)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(150 * time.Millisecond)
	_ = cmd.Process.Signal(os.Interrupt)
	if err := cmd.Wait(); err == nil {
		_ = exec.Command(program, "lab", "down", name).Run()
		t.Skip("it was up before it could be interrupted")
	}
	left, err := filepath.Glob("/run/netns/" + name + "*")
	if err != nil || len(left) > 0 {
		t.Errorf("namespaces are left: %v", left)
	}
	if out, err := exec.Command(program, "lab", "list").CombinedOutput(); err != nil || bytes.Contains(out, []byte(name)) {
		t.Errorf("the list: %v\n%s", err, out)
	}
}
