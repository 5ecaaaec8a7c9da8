package lab

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"

	"whichlink/graphs"
)

// A namespace is one node of the fabric: a network namespace held by a file descriptor, and a netlink socket inside it.
type namespace struct {
	node graphs.NodeID
	path string // where it is mounted; empty for a nameless one

	mu     sync.Mutex // guards what follows
	fd     int        // -1 when closed
	rtnl   *rtnl
	groups map[groupKey]uint32 // ids of the groups of next hops that exist
}

// makeNamespaces makes one namespace for every node. Each thread makes many: it leaves the last when it enters the next.
func makeNamespaces(f *graphs.Fabric, cfg *Config, ipv6 bool, mount func(graphs.NodeID) (string, error)) ([]*namespace, error) {
	spaces := make([]*namespace, f.NumNodes())
	err := onThreads(f.NumNodes(), func(i int) (err error) {
		n := graphs.NodeID(i)
		spaces[i], err = makeNamespace(n, f.NodeName(n), func() (string, error) { return mount(n) },
			func() error { return setSysctls(f.Node(n).IsHost(), ipv6, hashSeed(cfg.Seed, n)) })
		return err
	})
	return spaces, err
}

// makeNamespace makes a namespace and leaves the calling thread, which must end soon, inside it. Also one that is returned with an error must be
// closed.
func makeNamespace(n graphs.NodeID, name string, mount func() (string, error), settings func() error) (*namespace, error) {
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return nil, fmt.Errorf("make a network namespace for %s: %w", name, err)
	}
	s := &namespace{node: n, fd: -1}
	var err error
	if s.fd, err = unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
		return s, fmt.Errorf("open the network namespace of %s: %w", name, err)
	}
	if s.rtnl, err = openRtnl(); err != nil {
		return s, err
	}
	if s.path, err = mount(); err != nil {
		return s, err
	}
	return s, settings()
}

func (s *namespace) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rtnl != nil {
		s.rtnl.close()
		s.rtnl = nil
	}
	if s.fd >= 0 {
		unix.Close(s.fd)
		s.fd = -1
	}
	if s.path != "" {
		unmountNamespace(s.path)
	}
}

// onThreads runs work for 0 to n-1 on as many threads as there are processors. The threads end afterwards, so work may leave
// them in whatever namespace it likes. It returns the first error and starts nothing more after it.
func onThreads(n int, work func(i int) error) error {
	var mu sync.Mutex // guards next and first
	var next int
	var first error
	var wg sync.WaitGroup
	for range min(n, runtime.NumCPU()) {
		wg.Go(func() {
			onMortalThread(func() {
				for {
					mu.Lock()
					i := next
					next++
					stop := first != nil || i >= n
					mu.Unlock()
					if stop {
						return
					}
					if err := work(i); err != nil {
						mu.Lock()
						if first == nil {
							first = err
						}
						mu.Unlock()
					}
				}
			})
		})
	}
	wg.Wait()
	return first
}

// onMortalThread runs work on a thread that ends with it, and is never the main thread, which cannot end and stands for the
// process in /proc.
func onMortalThread(work func()) {
	done := make(chan struct{})
	var start func()
	start = func() {
		// Not unlocked but on the main thread: a locked thread ends with its goroutine.
		runtime.LockOSThread()
		if unix.Gettid() == unix.Getpid() {
			go start()
			<-done
			runtime.UnlockOSThread()
			return
		}
		defer close(done)
		work()
	}
	go start()
	<-done
}

// do runs fn on a thread inside the namespace and brings the thread back to where it was.
func (s *namespace) do(fn func() error) error {
	runtime.LockOSThread()
	home, err := unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		runtime.UnlockOSThread()
		return fmt.Errorf("remember the own network namespace: %w", err)
	}
	defer unix.Close(home)
	if err := s.enter(); err != nil {
		runtime.UnlockOSThread()
		return err
	}
	defer func() {
		// A thread that cannot come back stays locked, and ends with its goroutine.
		if unix.Setns(home, unix.CLONE_NEWNET) == nil {
			runtime.UnlockOSThread()
		}
	}()
	return fn()
}

// enter brings the calling thread, which the caller has locked, into the namespace.
func (s *namespace) enter() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fd < 0 {
		return ErrClosed
	}
	if err := unix.Setns(s.fd, unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("enter the network namespace: %w", err)
	}
	return nil
}

// hashSeed is the ECMP hash seed of a node: different in each node, the same for the same lab seed, never 0, which to the kernel
// means one seed for all namespaces. It is splitmix64.
func hashSeed(seed uint64, n graphs.NodeID) uint32 {
	z := seed + (uint64(n)+1)*0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return uint32(z^z>>31) | 1
}

// setSysctls writes the settings of a node's namespace, in which the calling thread is, before it has any port.
func setSysctls(host, ipv6 bool, seed uint32) error {
	type setting struct {
		path, value string
		optional    bool
	}
	settings := []setting{
		{"ipv4/conf/all/rp_filter", "0", false},
		{"ipv4/conf/default/rp_filter", "0", false},
		{"ipv4/icmp_ratelimit", "0", false},
		// Only some kernels count these by namespace; with the limit above at 0 they hardly matter.
		{"ipv4/icmp_msgs_per_sec", "1000000", true},
		{"ipv4/icmp_msgs_burst", "100000", true},
	}
	if host {
		settings = append(settings, setting{"ipv4/ip_unprivileged_port_start", "0", true})
	} else {
		settings = append(settings,
			setting{"ipv4/ip_forward", "1", false},
			setting{"ipv4/conf/all/send_redirects", "0", false},
			setting{"ipv4/conf/default/send_redirects", "0", false},
			setting{"ipv4/icmp_errors_use_inbound_ifaddr", "1", false},
			setting{"ipv4/fib_multipath_hash_fields", strconv.Itoa(hashFields4), false},
			setting{"ipv4/fib_multipath_hash_policy", "3", false},
			setting{seedPath, strconv.FormatUint(uint64(seed), 10), true},
		)
	}
	if !ipv6 {
		// Spares every port its router solicitations, multicast reports and link-local address.
		settings = append(settings, setting{"ipv6/conf/default/disable_ipv6", "1", true})
	} else {
		settings = append(settings,
			setting{"ipv6/conf/all/accept_dad", "0", false},
			setting{"ipv6/conf/default/accept_dad", "0", false},
			setting{"ipv6/conf/default/accept_ra", "0", false},
			setting{"ipv6/conf/default/addr_gen_mode", "1", false}, // no link-local addresses of the kernel's own
			setting{"ipv6/icmp/ratelimit", "0", false},
		)
		if !host {
			settings = append(settings,
				setting{"ipv6/conf/all/forwarding", "1", false},
				setting{"ipv6/fib_multipath_hash_fields", strconv.Itoa(hashFields6), false},
				setting{"ipv6/fib_multipath_hash_policy", "3", false},
			)
		}
	}
	for _, s := range settings {
		if err := sysctl(s.path, s.value); err != nil && !s.optional {
			return err
		}
	}
	if host && sysctl("ipv4/ping_group_range", "0 2147483647") != nil {
		// Inside a user namespace only the groups that it maps can be named.
		_ = sysctl("ipv4/ping_group_range", "0 0")
	}
	return nil
}

// What ECMP hashes: source and destination address, protocol, source and destination port, and for IPv6 the flow label
// (Documentation/networking/ip-sysctl.rst, fib_multipath_hash_fields).
const (
	hashFields4 = 0x37
	hashFields6 = 0x3f
)

// seedPath is the hash seed of a namespace, for IPv4 and IPv6; since Linux 6.11. Before, all namespaces hash alike: a switch
// behind another then sees only flows of one hash range, and uses only some of its equal paths (polarisation).
const seedPath = "ipv4/fib_multipath_hash_seed"

// sysctl writes a setting below /proc/sys/net of the namespace in which the calling thread is.
func sysctl(path, value string) error {
	fd, err := unix.Open("/proc/sys/net/"+path, unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: "/proc/sys/net/" + path, Err: err}
	}
	defer unix.Close(fd)
	if _, err := unix.Write(fd, []byte(value)); err != nil {
		return &os.PathError{Op: "write " + value + " to", Path: "/proc/sys/net/" + path, Err: err}
	}
	return nil
}
