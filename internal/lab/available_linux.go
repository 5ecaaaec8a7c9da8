package lab

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// namedDir is where named namespaces are mounted, as iproute2 has it.
const namedDir = "/run/netns"

// explain turns an error that means missing permission or kernel features into one with a remedy; nil for any other error.
func explain(err error) *UnavailableError {
	switch {
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES):
		return &UnavailableError{err.Error(), "run as root, or allow unprivileged user namespaces: sysctl -w kernel.unprivileged_userns_clone=1 (Debian), sysctl -w kernel.apparmor_restrict_unprivileged_userns=0 (Ubuntu)"}
	case errors.Is(err, unix.EROFS):
		return &UnavailableError{err.Error(), "this container mounts /proc/sys read-only: run it with --privileged, or outside"}
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EUSERS):
		return &UnavailableError{err.Error(), "raise the limits: sysctl -w user.max_net_namespaces=10000 user.max_user_namespaces=10000"}
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENOSYS):
		return &UnavailableError{err.Error(), "a kernel from 5.16 on is needed, with network namespaces, veth and nf_tables (CONFIG_NET_NS, CONFIG_VETH, CONFIG_NF_TABLES_NETDEV); modprobe veth nf_tables may be all"}
	}
	return nil
}

// prepareNamedDir makes the directory of named namespaces as iproute2 makes it: a mount point of its own that shares what is mounted
// in it with other mount namespaces.
func prepareNamedDir() error {
	if err := os.MkdirAll(namedDir, 0o755); err != nil {
		return fmt.Errorf("make %s: %w", namedDir, err)
	}
	for tried := false; ; tried = true {
		err := unix.Mount("", namedDir, "none", unix.MS_SHARED|unix.MS_REC, "")
		if err == nil {
			return nil
		}
		// EINVAL: it is no mount point yet.
		if err != unix.EINVAL || tried {
			return &os.PathError{Op: "share", Path: namedDir, Err: err}
		}
		if err := unix.Mount(namedDir, namedDir, "none", unix.MS_BIND|unix.MS_REC, ""); err != nil {
			return &os.PathError{Op: "mount", Path: namedDir, Err: err}
		}
	}
}

// lockNamedDir keeps other labs from making or removing the directory of named namespaces until unlock is called.
func lockNamedDir() (unlock func(), err error) {
	dir := filepath.Dir(namedDir)
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: dir, Err: err}
	}
	for {
		if err = unix.Flock(fd, unix.LOCK_EX); err != unix.EINTR {
			break
		}
	}
	if err != nil {
		unix.Close(fd)
		return nil, &os.PathError{Op: "lock", Path: dir, Err: err}
	}
	return func() { unix.Close(fd) }, nil
}

// removeNamedDir removes the directory of named namespaces if nothing is left in it.
func removeNamedDir() {
	unlock, err := lockNamedDir()
	if err != nil {
		return
	}
	defer unlock()
	if entries, err := os.ReadDir(namedDir); err == nil && len(entries) == 0 {
		_ = unix.Unmount(namedDir, unix.MNT_DETACH)
		_ = os.Remove(namedDir)
	}
}

// mountNamespace gives the namespace of the calling thread a name for other programs, and returns where it stands.
func mountNamespace(name string) (string, error) {
	path := filepath.Join(namedDir, name)
	file, err := os.OpenFile(path, os.O_RDONLY|os.O_CREATE|os.O_EXCL, 0)
	if err != nil {
		return "", fmt.Errorf("name a namespace: %w", err)
	}
	file.Close()
	if err := unix.Mount("/proc/thread-self/ns/net", path, "none", unix.MS_BIND, ""); err != nil {
		os.Remove(path)
		return "", fmt.Errorf("name a namespace: %w", &os.PathError{Op: "mount", Path: path, Err: err})
	}
	return path, nil
}

// unmountNamespace takes a name away.
func unmountNamespace(path string) error {
	if err := unix.Unmount(path, unix.MNT_DETACH); err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOENT) {
		return &os.PathError{Op: "unmount", Path: path, Err: err}
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
