package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"whichlink/graphs"
)

// A keeper holds a named lab and serves clients on a socket.
type keeper struct {
	lab   *Lab
	state State
	log   *slog.Logger
	end   context.CancelFunc
	ended chan struct{} // closed when the lab is gone

	mu      sync.Mutex       // guards running
	running map[int]struct{} // process groups of commands
}

// Keep is the life of a keeper, the process that [Room.Start] starts: it makes the lab that the state in dir describes, says so
// on file 3, and keeps it until it is told to end or ctx ends. Then it removes everything, dir included.
func Keep(ctx context.Context, dir string, fabric *graphs.Fabric, logger *slog.Logger) error {
	tell := os.NewFile(3, "ready")
	k := &keeper{log: logger, ended: make(chan struct{}), running: map[int]struct{}{}}
	err := k.keep(ctx, dir, fabric, tell)
	if err != nil && tell != nil {
		_, _ = tell.WriteString(err.Error() + "\n")
		tell.Close()
	}
	return err
}

func (k *keeper) keep(ctx context.Context, dir string, fabric *graphs.Fabric, tell *os.File) (err error) {
	text, err := os.ReadFile(filepath.Join(dir, stateFile))
	if err != nil {
		return fmt.Errorf("read the lab's state: %w", err)
	}
	if err := json.Unmarshal(text, &k.state); err != nil {
		return fmt.Errorf("read the lab's state: %w", err)
	}
	k.state.Dir = dir
	ctx, k.end = context.WithCancel(ctx)
	defer k.end()
	defer func() { err = errors.Join(err, sweep(&k.state)); close(k.ended) }()
	cfg := Config{Fabric: fabric, Seed: k.state.Seed, Convergence: k.state.Converge, SNMP: k.state.SNMP, Logger: k.log}
	if len(k.state.Namespaces) > 0 {
		cfg.Name = k.state.Name
	}
	if k.lab, err = New(ctx, cfg); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, k.lab.Close()) }()
	listener, err := listenIn(dir)
	if err != nil {
		return err
	}
	defer listener.Close()
	k.state.Keeper, k.state.Alive = os.Getpid(), true
	if err := k.state.write(); err != nil {
		return err
	}
	go k.accept(listener)
	// Nobody there to be told: the one who wanted the lab is gone, and so must the lab go.
	_, err = tell.WriteString(readyWord)
	if err = errors.Join(err, tell.Close()); err != nil {
		return err
	}
	<-ctx.Done()
	k.killCommands()
	return nil
}

// socketPath is a short way to a directory's socket: the address of a socket has room for 107 bytes only.
func socketPath(dir string) (path string, done func(), err error) {
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", nil, &os.PathError{Op: "open", Path: dir, Err: err}
	}
	return fmt.Sprintf("/proc/self/fd/%d/%s", fd, socketFile), func() { unix.Close(fd) }, nil
}

func listenIn(dir string) (*net.UnixListener, error) {
	path, done, err := socketPath(dir)
	if err != nil {
		return nil, fmt.Errorf("listen for clients: %w", err)
	}
	defer done()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("listen for clients: %w", err)
	}
	l.SetUnlinkOnClose(false)
	return l, nil
}

func (k *keeper) accept(l *net.UnixListener) {
	for {
		c, err := l.AcceptUnix()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			k.log.Error("accept a client", "err", err)
			time.Sleep(10 * time.Millisecond)
			continue
		}
		go func() {
			defer c.Close()
			if err := k.serve(c); err != nil {
				k.log.Debug("client", "err", err)
			}
		}()
	}
}

// serve answers one client's requests until it goes.
func (k *keeper) serve(c *net.UnixConn) error {
	peer, err := credentials(c)
	if err != nil {
		return err
	}
	if int(peer.Uid) != os.Geteuid() {
		return fmt.Errorf("user %d may not use this lab", peer.Uid)
	}
	files, err := receiveFiles(c)
	if err != nil {
		return err
	}
	defer func() {
		for _, f := range files {
			f.Close()
		}
	}()
	in, out := json.NewDecoder(c), json.NewEncoder(c)
	for {
		var q request
		if err := in.Decode(&q); err != nil {
			return err
		}
		k.log.Debug("request", "op", q.Op)
		var a response
		switch q.Op {
		case "exec":
			if q.Command == nil || len(files) != 3 {
				a.Error = "a command needs its standard files"
				break
			}
			code, err := k.run(*q.Command, files, in)
			if err != nil {
				a.Error = err.Error()
			} else {
				a.Exit = &code
			}
		case "down":
			k.end()
			<-k.ended
		default:
			if a, err = k.answer(q); err != nil {
				a.Error = err.Error()
			}
		}
		if err := out.Encode(a); err != nil || q.Op == "exec" || q.Op == "down" {
			return err
		}
	}
}

func (k *keeper) answer(q request) (a response, err error) {
	switch q.Op {
	case "info":
		a.State = &k.state
	case "break":
		if q.Fault == nil {
			return a, errors.New("no fault given")
		}
		a.ID, err = k.lab.Break(*q.Fault)
	case "heal":
		err = k.lab.Heal(q.ID)
	case "heal-all":
		err = k.lab.HealAll()
	case "truth":
		a.Truth = k.lab.Truth()
	default:
		err = fmt.Errorf("unknown request %q", q.Op)
	}
	return a, err
}

func credentials(c *net.UnixConn) (*unix.Ucred, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return nil, err
	}
	var u *unix.Ucred
	if e := raw.Control(func(fd uintptr) { u, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) }); e != nil {
		return nil, e
	}
	if err != nil {
		return nil, fmt.Errorf("who is at the other end: %w", err)
	}
	return u, nil
}

// receiveFiles reads the byte with which a client begins, and the files that come with it.
func receiveFiles(c *net.UnixConn) ([]*os.File, error) {
	oob := make([]byte, unix.CmsgSpace(3*4))
	n, oobn, _, _, err := c.ReadMsgUnix(make([]byte, 1), oob)
	if err != nil || n != 1 {
		return nil, errors.Join(errors.New("the client said nothing"), err)
	}
	messages, err := unix.ParseSocketControlMessage(oob[:oobn])
	if err != nil {
		return nil, fmt.Errorf("files from the client: %w", err)
	}
	var files []*os.File
	for i := range messages {
		fds, err := unix.ParseUnixRights(&messages[i])
		if err != nil {
			continue
		}
		for _, fd := range fds {
			unix.CloseOnExec(fd)
			files = append(files, os.NewFile(uintptr(fd), "client"))
		}
	}
	return files, nil
}

// killCommands ends the commands that run in nodes: politely, then for good.
func (k *keeper) killCommands() {
	signal := func(s syscall.Signal) (n int) {
		k.mu.Lock()
		defer k.mu.Unlock()
		for group := range k.running {
			_ = syscall.Kill(-group, s)
		}
		return len(k.running)
	}
	if signal(syscall.SIGTERM) == 0 {
		return
	}
	for range 50 {
		time.Sleep(10 * time.Millisecond)
		if signal(0) == 0 {
			return
		}
	}
	signal(syscall.SIGKILL)
}
