package lab

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"

	"github.com/google/nftables"
	"golang.org/x/sys/unix"
)

// insideVariable marks a process that [Enter] has started, so that it does not start another.
const insideVariable = "WHICHLINK_INSIDE_USER_NAMESPACE"

// InUserNamespace reports whether this process makes its labs inside a user namespace, where lldpd cannot run.
func InUserNamespace() bool { return os.Getenv(insideVariable) != "" }

// Available reports whether this process can make a lab, by trying: a network namespace, its settings, a link and a packet
// filter in it. Nothing of that is left. Where it has no privileges it is enough that the system lets it make a user namespace,
// as [Enter] does. The error is an [UnavailableError].
func Available() error {
	err := tryHere()
	if err == nil || os.Getenv(insideVariable) == "" && tryInside() == nil {
		return nil
	}
	if why := explain(err); why != nil {
		return why
	}
	return &UnavailableError{Why: err.Error()}
}

// tryInside runs a program that does nothing inside the namespaces of [Enter].
func tryInside() error {
	nothing, err := exec.LookPath("true")
	if err != nil {
		return err
	}
	cmd := exec.Command(nothing)
	cmd.SysProcAttr = insideAttr()
	return cmd.Run()
}

func tryHere() error {
	var err error
	onMortalThread(func() { err = try() })
	return err
}

func try() error {
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("make a network namespace: %w", err)
	}
	if err := setSysctls(false, false, 1); err != nil {
		return err
	}
	r, err := openRtnl()
	if err != nil {
		return err
	}
	defer r.close()
	here, err := unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open a network namespace: %w", err)
	}
	defer unix.Close(here)
	if err := r.addPair(device{"try0", firstIndex, hardwareAddress(0)}, device{"try1", firstIndex + 1, hardwareAddress(1)}, here); err != nil {
		return err
	}
	if err := r.flush(); err != nil {
		return err
	}
	c, err := nftables.New()
	if err != nil {
		return fmt.Errorf("open nftables: %w", err)
	}
	c.AddChain(&nftables.Chain{
		Name: "try", Table: c.AddTable(&nftables.Table{Family: nftables.TableFamilyNetdev, Name: "try"}), Type: nftables.ChainTypeFilter,
		Device: "try0", Hooknum: nftables.ChainHookIngress, Priority: nftables.ChainPriorityRef(faultPriority),
	})
	if err := c.Flush(); err != nil {
		return fmt.Errorf("make an nftables chain at a port: %w", err)
	}
	return nil
}

// Enter makes sure that this process may make labs. Where it has no privileges it runs the program again, with the same arguments,
// inside new user, network and mount namespaces, hands signals and the exit code on, and exits with it: then Enter does not return. It
// returns nil where nothing is to be done: the process can make labs as it is, or is the one that Enter started. A program calls
// it from main before anything else, or from TestMain. The error is an [UnavailableError].
func Enter() error {
	if os.Getenv(insideVariable) != "" {
		return nil
	}
	direct := tryHere()
	if direct == nil {
		return nil
	}
	code, err := runInside()
	if err != nil {
		why := explain(err)
		if why == nil {
			why = &UnavailableError{Why: err.Error()}
		}
		why.Why = fmt.Sprintf("%v; in a user namespace: %v", direct, err)
		return why
	}
	os.Exit(code)
	return nil
}

// runInside runs the program again inside a user namespace in which it is root, and returns its exit code.
func runInside() (int, error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	cmd := exec.Command(self, os.Args[1:]...)
	cmd.Args[0] = os.Args[0]
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), insideVariable+"=1")
	cmd.SysProcAttr = insideAttr()
	// The signal of a dying parent is tied to the thread that started the child.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	// What the terminal sends reaches both; what others send reaches only this one and is handed on.
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGINT, syscall.SIGQUIT)
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	go func() {
		for s := range signals {
			if s == syscall.SIGINT || s == syscall.SIGQUIT {
				if foreground() {
					continue
				}
			}
			_ = cmd.Process.Signal(s)
		}
	}()
	err = cmd.Wait()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0, nil
	case !errors.As(err, &exit):
		return 0, err
	}
	return exitCode(exit.ProcessState), nil
}

// insideAttr says how to start a process that is root in namespaces of its own.
func insideAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
}

// foreground reports whether the terminal, if there is one, sends its signals to this process's group, and so to the child too.
func foreground() bool {
	group, err := unix.IoctlGetInt(0, unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}
