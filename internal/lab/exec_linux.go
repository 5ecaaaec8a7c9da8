package lab

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// hangUpTime is how long a command has to end after its client went away.
const hangUpTime = 2 * time.Second

// run runs a command inside a node and returns its exit code, 128 and the signal's number if a signal ended it. Signals for it come
// as requests; if the client goes, so does the command.
func (k *keeper) run(c Command, files []*os.File, in *json.Decoder) (int, error) {
	space, err := k.lab.nodeOrManagement(c.Node)
	if err != nil {
		return 0, err
	}
	cmd := exec.Cmd{
		Path: c.Path, Args: c.Args, Env: c.Env, Dir: c.Dir, Stdin: files[0], Stdout: files[1], Stderr: files[2],
		// A group of its own, so that signals reach its children too. It dies with the keeper: a process that lives on would keep
		// its namespace alive.
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL},
	}
	// The thread stays until the command ends, because the signal of a dying parent is tied to the thread, not to the process.
	onMortalThread(func() {
		if err = space.enter(); err != nil {
			return
		}
		if err = cmd.Start(); err != nil {
			return
		}
		group := cmd.Process.Pid
		k.mu.Lock()
		k.running[group] = struct{}{}
		k.mu.Unlock()
		ended := make(chan struct{})
		go forwardSignals(in, group, ended)
		err = cmd.Wait()
		close(ended)
		k.mu.Lock()
		delete(k.running, group)
		k.mu.Unlock()
	})
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0, nil
	case !errors.As(err, &exit):
		return 0, err
	}
	return exitCode(exit.ProcessState), nil
}

// exitCode is a process's exit code as shells have it.
func exitCode(p *os.ProcessState) int {
	if ws, ok := p.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return p.ExitCode()
}

// forwardSignals hands the signals that a client sends on to a process group, and hangs up when the client has gone.
func forwardSignals(in *json.Decoder, group int, ended <-chan struct{}) {
	for {
		var q request
		if err := in.Decode(&q); err != nil {
			break
		}
		select {
		case <-ended:
			return
		default:
		}
		if q.Op == "signal" && q.Signal > 0 {
			_ = syscall.Kill(-group, syscall.Signal(q.Signal))
		}
	}
	for _, s := range []syscall.Signal{syscall.SIGHUP, syscall.SIGKILL} {
		select {
		case <-ended:
			return
		default:
			_ = syscall.Kill(-group, s)
		}
		select {
		case <-ended:
			return
		case <-time.After(hangUpTime):
		}
	}
}
