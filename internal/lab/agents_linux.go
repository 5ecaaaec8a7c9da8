package lab

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"whichlink/graphs"
)

// errNoAgents is returned where a lab without SNMP is asked for its agents.
var errNoAgents = errors.New("this lab has no SNMP agents")

// agents are the programs that speak for the switches of a lab: a process that is the first of a process namespace of its own, its warden, and
// under it snmpd and lldpd of every switch. The kernel ends all of them with the warden, and the warden with the lab's process.
type agents struct {
	warden *exec.Cmd
	done   chan struct{} // closed when nothing of them runs any more
	tell   *os.File      // for requests to the warden
}

// An agentsSpec tells a warden what to run.
type agentsSpec struct {
	Snmpd, Lldpd string // Lldpd is empty where it is not installed
	Self         string // this program, which serves counters
	Collector    string
	Agents       []agentSpec
}

// An agentSpec is one switch. Its network namespace is open as the file firstSpace plus its place in the list.
type agentSpec struct {
	Name, Address string
	Management    string // the management device
	Ports         []agentPort
}

// An agentPort is a port with the speed that the fabric file gives its link, 0 if none.
type agentPort struct {
	Device, Name string
	Megabits     uint64
}

// The files of a warden beyond the standard ones: where it says that all agents run, and the namespaces.
const readyFile, firstSpace = 3, 4

// startAgents starts the agents and returns when all listen.
func (l *Lab) startAgents(ctx context.Context) error {
	snmpd, lldpd, missing := agentPrograms()
	if snmpd == "" {
		return agentsUnavailable(missing)
	}
	switch {
	case InUserNamespace():
		// lldpd becomes a user of its own, whom a user namespace with one user does not know.
		lldpd = ""
		l.log.Warn("lldpd does not run inside a user namespace: the agents know no neighbours")
	case lldpd == "":
		l.log.Warn("lldpd is not installed: the agents know no neighbours")
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("start the agents: %w", err)
	}
	spec := agentsSpec{Snmpd: snmpd, Lldpd: lldpd, Self: self, Collector: l.collector.String()}
	ready, tell, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("start the agents: %w", err)
	}
	defer ready.Close()
	listen, ask, err := os.Pipe()
	if err != nil {
		tell.Close()
		return fmt.Errorf("start the agents: %w", err)
	}
	defer listen.Close()
	files := []*os.File{tell}
	defer func() {
		for _, f := range files {
			f.Close()
		}
	}()
	for _, n := range l.fabric.Switches() {
		spec.Agents = append(spec.Agents, l.agentSpec(n))
		fd, err := unix.FcntlInt(uintptr(l.spaces[n].fd), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("start the agents: %w", err)
		}
		files = append(files, os.NewFile(uintptr(fd), l.fabric.NodeName(n)))
	}
	cmd := exec.Command(self, AgentsArguments()...)
	cmd.Stdin, cmd.Stderr = listen, &logLines{log: func(line string) { l.log.Debug("agents", "said", line) }}
	cmd.ExtraFiles = files
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS | syscall.CLONE_NEWIPC,
		Setpgid:    true, // what the terminal sends is for the lab, which ends its agents itself
		Pdeathsig:  syscall.SIGKILL,
	}
	a := &agents{warden: cmd, done: make(chan struct{}), tell: ask}
	started := make(chan error, 1)
	// The thread stays until the warden ends, because the signal of a dying parent is tied to the thread, not to the process.
	go onMortalThread(func() {
		defer close(a.done)
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait()
		}
	})
	if err := <-started; err != nil {
		ask.Close()
		return fmt.Errorf("start the agents: %w", err)
	}
	l.agents = a
	tell.Close()
	if err := json.NewEncoder(ask).Encode(spec); err != nil {
		return fmt.Errorf("start the agents: %w", err)
	}
	return l.awaitAgents(ctx, ready)
}

// agentSpec describes the agent of one switch.
func (l *Lab) agentSpec(n graphs.NodeID) agentSpec {
	s := agentSpec{Name: l.fabric.NodeName(n), Address: l.fabric.Node(n).Management.String(), Management: l.managementDevice(n)}
	for _, p := range l.fabric.Ports(n) {
		s.Ports = append(s.Ports, agentPort{l.device[p], l.fabric.Port(p).Name, uint64(l.fabric.Link(l.fabric.Port(p).Link).Speed / 1_000_000)})
	}
	return s
}

// awaitAgents waits for the warden's word.
func (l *Lab) awaitAgents(ctx context.Context, ready *os.File) error {
	stop := context.AfterFunc(ctx, func() { l.agents.stop() })
	defer stop()
	said, err := io.ReadAll(io.LimitReader(ready, 4096))
	switch text := strings.TrimSpace(string(said)); {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return fmt.Errorf("start the agents: %w", err)
	case text == "":
		return errors.New("start the agents: they ended without a word; their program must know " + strings.Join(AgentsArguments(), " "))
	case text != strings.TrimSpace(readyWord):
		return &AgentsError{Why: text}
	}
	return nil
}

// stop ends all agents and waits until the kernel has removed them.
func (a *agents) stop() {
	if a == nil {
		return
	}
	_ = a.warden.Process.Kill()
	<-a.done
	a.tell.Close()
}

// relisten has the LLDP of some nodes begin anew: it does not notice that devices of the same names and numbers are others now.
func (l *Lab) relisten(nodes map[graphs.NodeID]bool) error {
	if l.agents == nil {
		return nil
	}
	for n := range nodes {
		if l.fabric.Node(n).IsHost() {
			continue
		}
		if err := l.restart(n, "lldpd"); err != nil {
			return err
		}
	}
	return nil
}

// RestartAgent kills the SNMP agent of a switch, which then begins anew: its clock, and the counters that it keeps itself. The others go on.
func (l *Lab) RestartAgent(n graphs.NodeID) error {
	if l.agents == nil || l.fabric.Node(n).IsHost() {
		return errNoAgents
	}
	return l.restart(n, "snmpd")
}

func (l *Lab) restart(n graphs.NodeID, program string) error {
	q := wardenRequest{slices.Index(l.fabric.Switches(), n), program}
	if err := json.NewEncoder(l.agents.tell).Encode(q); err != nil {
		return fmt.Errorf("start %s of %s anew: %w", program, l.fabric.NodeName(n), err)
	}
	return nil
}

// A logLines hands over what is written to it line by line.
type logLines struct {
	log  func(string)
	rest []byte
}

func (w *logLines) Write(b []byte) (int, error) {
	w.rest = append(w.rest, b...)
	for {
		line, rest, ok := bytes.Cut(w.rest, []byte("\n"))
		if !ok {
			if len(w.rest) > bufio.MaxScanTokenSize {
				w.rest = nil
			}
			return len(b), nil
		}
		w.log(graphs.Clean(string(line)))
		w.rest = rest
	}
}
