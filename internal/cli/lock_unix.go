//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"whichlink/graphs"
)

// lockBeside waits until no other program of ours changes a file, and keeps them from it. What is locked is a file of its own that stays: the file itself is
// another one whenever it was written (see createWhole).
func lockBeside(name string) (unlock func(), err error) {
	if target, err := filepath.EvalSymlinks(name); err == nil {
		name = target
	}
	lock := filepath.Join(filepath.Dir(name), "."+filepath.Base(name)+".lock")
	file, err := os.OpenFile(lock, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", graphs.Clean(lock), graphs.Reason(err))
	}
	for syscall.Flock(int(file.Fd()), syscall.LOCK_EX) == syscall.EINTR { // another error is of a file system without locks
	}
	return func() { file.Close() }, nil
}
