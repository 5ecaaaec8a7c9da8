package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// The files in a lab's directory.
const (
	stateFile  = "state.json"
	fabricFile = "fabric.clab.yml"
	socketFile = "keeper.sock"
	logFile    = "keeper.log"
)

// runtimeDir returns the directory that holds the directories of all labs of this user, and makes it: /run/whichlink for root,
// else below $XDG_RUNTIME_DIR or the directory for temporary files. Nobody else may write there.
func runtimeDir() (string, error) {
	dir := "/run/whichlink"
	if os.Geteuid() != 0 || os.Getenv(insideVariable) != "" {
		if x := os.Getenv("XDG_RUNTIME_DIR"); x != "" {
			dir = filepath.Join(x, "whichlink")
		} else {
			dir = filepath.Join(os.TempDir(), fmt.Sprintf("whichlink-%d", os.Geteuid()))
		}
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return "", fmt.Errorf("make the directory for labs: %w", err)
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return "", fmt.Errorf("the directory for labs: %w", err)
	}
	if owner, ok := info.Sys().(*syscall.Stat_t); !info.IsDir() || info.Mode().Perm()&0o022 != 0 || !ok || int(owner.Uid) != os.Geteuid() {
		return "", fmt.Errorf("the directory for labs, %s, is not a directory that only this user can write to", dir)
	}
	return dir, nil
}

// A Room is the directory of a named lab that is to be made.
type Room struct{ state State }

// Reserve makes the directory of a new named lab. What a dead lab of the same name left behind is removed first; a living one is
// an error. The caller writes the fabric to [Room.FabricFile] and then calls [Room.Start], or [Room.Discard].
func Reserve(cfg Config) (*Room, error) {
	if err := CheckName(cfg.Name); err != nil {
		return nil, err
	}
	runtime, err := runtimeDir()
	if err != nil {
		return nil, err
	}
	if s, err := readState(filepath.Join(runtime, cfg.Name)); err == nil {
		if s.Alive {
			return nil, fmt.Errorf("a lab named %s is up already", cfg.Name)
		}
		if err := sweep(s); err != nil {
			return nil, err
		}
	}
	dir := filepath.Join(runtime, cfg.Name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the lab's directory: %w", err)
	}
	r := &Room{State{
		Name: cfg.Name, Dir: dir, FabricFile: filepath.Join(dir, fabricFile), Created: time.Now().UTC(),
		Seed: cfg.Seed, Converge: cfg.convergence(),
		SNMP: cfg.SNMP, Switches: len(cfg.Fabric.Switches()), Hosts: len(cfg.Fabric.Hosts()), Links: cfg.Fabric.NumLinks(),
	}}
	if missing := MissingAgents(); cfg.SNMP && slices.Contains(missing, "snmpd") {
		return nil, errors.Join(agentsUnavailable(missing), r.Discard())
	}
	// Root gives names that everybody can use. Who is not root can make names, but nobody outside would see them.
	if direct := tryHere(); direct != nil {
		r.state.Inside = true
	} else if os.Getenv(insideVariable) == "" && os.Geteuid() == 0 {
		r.state.LLDP = cfg.SNMP && len(MissingAgents()) == 0
		r.state.Namespaces = NamespaceNames(cfg.Name, cfg.Fabric)
		if cfg.SNMP {
			r.state.Namespaces = append(r.state.Namespaces, managementSpaceName(cfg.Name, cfg.Fabric))
		}
		for _, name := range r.state.Namespaces {
			if _, err := os.Lstat(filepath.Join(namedDir, name)); err == nil {
				r.state.Namespaces = nil
				return nil, errors.Join(fmt.Errorf("there is a namespace named %s already", name), r.Discard())
			}
		}
		_, err := os.Lstat(namedDir)
		r.state.MadeDir = errors.Is(err, os.ErrNotExist)
	}
	if err := r.state.write(); err != nil {
		return nil, errors.Join(err, r.Discard())
	}
	return r, nil
}

// FabricFile is where the caller writes the fabric.
func (r *Room) FabricFile() string { return r.state.FabricFile }

// Discard removes the directory and everything that the lab may have made.
func (r *Room) Discard() error { return sweep(&r.state) }

// Start starts the keeper: this program with the given arguments, which must lead it to [Keep] with the lab's directory. The
// keeper lives on by itself. Start returns when the lab is up, or with the reason why it is not, and then nothing is left of it.
func (r *Room) Start(ctx context.Context, arguments ...string) (*State, error) {
	err := r.start(ctx, arguments)
	if err == nil {
		var s *State
		if s, err = readState(r.state.Dir); err == nil {
			return s, nil
		}
	}
	return nil, errors.Join(err, r.Discard())
}

func (r *Room) start(ctx context.Context, arguments []string) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("start the keeper: %w", err)
	}
	logTo, err := os.OpenFile(filepath.Join(r.state.Dir, logFile), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("start the keeper: %w", err)
	}
	defer logTo.Close()
	ready, tell, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("start the keeper: %w", err)
	}
	defer ready.Close()
	cmd := exec.Command(self, arguments...)
	cmd.Dir = "/"
	cmd.Stdout, cmd.Stderr = logTo, logTo
	cmd.ExtraFiles = []*os.File{tell} // file 3 of the keeper
	cmd.Env = os.Environ()
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	if r.state.Inside {
		cmd.SysProcAttr = insideAttr()
		cmd.Env = append(cmd.Env, insideVariable+"=1")
	}
	cmd.SysProcAttr.Setsid = true
	err = cmd.Start()
	tell.Close()
	if err != nil {
		if why := explain(err); why != nil {
			return why
		}
		return fmt.Errorf("start the keeper: %w", err)
	}
	said := make(chan string, 1)
	go func() {
		text, _ := io.ReadAll(io.LimitReader(ready, 64<<10))
		said <- string(text)
	}()
	select {
	case text := <-said:
		if text == readyWord {
			return nil
		}
		_ = cmd.Wait()
		if text == "" {
			text = "it ended without a word; " + filepath.Join(r.state.Dir, logFile) + " may tell more"
		}
		return fmt.Errorf("the keeper: %s", strings.TrimSpace(text))
	case <-ctx.Done():
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
		return ctx.Err()
	}
}

// readyWord is what a keeper says when its lab is up. Anything else is an error.
const readyWord = "ready\n"

func (s *State) write() error {
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(s.Dir, stateFile), append(text, '\n'), 0o600); err != nil {
		return fmt.Errorf("write the lab's state: %w", err)
	}
	return nil
}

// readState reads the state of the lab in a directory and asks its keeper whether it lives.
func readState(dir string) (*State, error) {
	text, err := os.ReadFile(filepath.Join(dir, stateFile))
	if err != nil {
		// A directory without a state was left by a crash between two steps: nothing else can be left.
		if _, err := os.Stat(dir); err != nil {
			return nil, fmt.Errorf("read the lab's state: %w", err)
		}
		return &State{Name: filepath.Base(dir), Dir: dir}, nil
	}
	s := &State{}
	if err := json.Unmarshal(text, s); err != nil {
		return nil, fmt.Errorf("read the lab's state %s: %w", filepath.Join(dir, stateFile), err)
	}
	s.Name, s.Dir = filepath.Base(dir), dir
	c, err := dial(dir)
	if s.Alive = err == nil; s.Alive {
		c.Close()
	}
	return s, nil
}

// sweep removes what is left of a lab without a living keeper.
func sweep(s *State) error {
	var all error
	for _, name := range s.Namespaces {
		if name != filepath.Base(name) || !strings.HasPrefix(name, s.Name+"-") {
			continue // not a name that a lab gives: the state was written by something else
		}
		if err := unmountNamespace(filepath.Join(namedDir, name)); err != nil {
			all = errors.Join(all, fmt.Errorf("remove namespace %s: %w", name, err))
		}
	}
	if s.MadeDir {
		removeNamedDir()
	}
	if err := os.RemoveAll(s.Dir); err != nil {
		all = errors.Join(all, fmt.Errorf("remove the lab's directory: %w", err))
	}
	// The directory of all labs goes with the last; that it is not empty is no error.
	_ = os.Remove(filepath.Dir(s.Dir))
	return all
}

// List returns the named labs of this user, living and dead.
func List() ([]State, error) {
	runtime, err := runtimeDir()
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(runtime)
	if err != nil {
		return nil, fmt.Errorf("list labs: %w", err)
	}
	var all []State
	for _, e := range entries {
		if s, err := readState(filepath.Join(runtime, e.Name())); err == nil && CheckName(e.Name()) == nil {
			all = append(all, *s)
		}
	}
	if len(entries) == 0 {
		_ = os.Remove(runtime)
	}
	return all, nil
}

// ErrNoLab is returned for a name that no lab has.
var ErrNoLab = errors.New("no such lab")

// Remove takes a named lab down, living or dead, and leaves nothing of it.
func Remove(ctx context.Context, name string) error {
	s, err := find(name)
	if err != nil {
		return err
	}
	if s.Alive {
		if err := s.end(ctx); err != nil {
			return fmt.Errorf("take lab %s down: %w", name, err)
		}
	}
	return sweep(s)
}

// end asks the keeper to end, and kills it if it does not.
func (s *State) end(ctx context.Context) error {
	c, err := dial(s.Dir)
	if err != nil {
		return nil // it ended meanwhile
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { c.Close() })
	defer stop()
	if _, err := c.ask(request{Op: "down"}); err == nil {
		return nil
	}
	peer, err := c.peer()
	if err != nil {
		return nil
	}
	if err := unix.Kill(peer, unix.SIGKILL); !errors.Is(err, unix.ESRCH) { // a keeper that is dying may still be reached
		return err
	}
	return nil
}

// find reads the state of a lab by name.
func find(name string) (*State, error) {
	if err := CheckName(name); err != nil {
		return nil, err
	}
	runtime, err := runtimeDir()
	if err != nil {
		return nil, err
	}
	s, err := readState(filepath.Join(runtime, name))
	if errors.Is(err, os.ErrNotExist) {
		_ = os.Remove(runtime)
		return nil, fmt.Errorf("lab %s: %w", name, ErrNoLab)
	}
	return s, err
}
