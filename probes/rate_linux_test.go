package probes

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"whichlink/graphs"
	"whichlink/internal/evidence"
	"whichlink/internal/lab/labtest"
)

// rateVariable marks the process that BenchmarkRate starts.
const rateVariable = "WHICHLINK_RATE_CHILD"

// wantRate is how many answered probes a second the engine must manage on one core.
const wantRate = 100_000

// BenchmarkRate measures answered probes a second: 64 flows, TTL 1 to 4 on a leaf-spine 2x4, as uid 65534 without capabilities.
// "all" has the whole fabric's forwarding and the reflector on the engine's core; "engine" has them on another, as they are in the
// field, so that one core has the engine alone. It does so in processes of its own, since there is no way back from there.
func BenchmarkRate(b *testing.B) {
	labtest.Need(b)
	for _, on := range []string{"all", "engine"} {
		b.Run(on, func(b *testing.B) {
			switch {
			case on == "engine" && (runtime.NumCPU() < 2 || os.Getuid() != 0):
				b.Skip("to steer packets to another core needs one, and root")
			case os.Getenv(rateVariable) == "":
				rateOfChild(b, on)
			default:
				measureRate(b, on == "engine")
			}
		})
	}
}

// rateOfChild has another process measure.
func rateOfChild(b *testing.B, on string) {
	cmd := exec.Command(os.Args[0], "-test.run=^$", "-test.bench=^BenchmarkRate$/^"+on+"$", "-test.benchtime=2s")
	cmd.Env = append(os.Environ(), rateVariable+"=1", "GOMAXPROCS="+map[string]string{"all": "1", "engine": "2"}[on])
	out, err := cmd.CombinedOutput()
	if err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		if len(f) < 3 || !strings.HasPrefix(f[0], "BenchmarkRate/") {
			continue
		}
		for i := 2; i+1 < len(f); i += 2 {
			v, err := strconv.ParseFloat(f[i], 64)
			if err != nil {
				b.Fatal(line)
			}
			switch f[i+1] {
			case "ns/op", "B/op":
				continue
			case "answered/s":
				if v < wantRate {
					b.Logf("fewer than the %d answered/s that one idle core must manage", wantRate)
				}
			}
			b.ReportMetric(v, strings.Replace(f[i+1], "allocs/op", "allocs/round", 1))
		}
	}
}

// measureRate measures in this process. Apart, the engine has a core of its own.
func measureRate(b *testing.B, apart bool) {
	x := newBench(b, leafSpine(b, 2, 4), 1, Config{NoSendStamps: true}, ReflectorConfig{})
	if apart {
		x.steer(0)
	}
	port := uint16(benchPort + 1)
	var r *Reflector
	err := x.lab.Do(x.hosts[1], func() (err error) {
		r, err = NewReflector(ReflectorConfig{Address: x.fabric.Address(x.hosts[1], false), Ports: []uint16{port}})
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	var streams []*Stream
	for i := range 64 {
		s, err := x.engine.Add(evidence.Flow{
			Src: x.fabric.Address(x.hosts[0], false), Dst: x.fabric.Address(x.hosts[1], false), Proto: "udp", SrcPort: uint16(50000 + i), DstPort: port,
		}, Options{})
		if err != nil {
			b.Fatal(err)
		}
		streams = append(streams, s)
	}
	unprivileged(b)
	for _, task := range tasks(b) {
		pin(b, task, runtime.NumCPU()-1)
	}
	reflector := make(chan int)
	go func() {
		if apart {
			// It never unlocks: threads that others run on are never on this core.
			runtime.LockOSThread()
			pin(b, 0, 0)
		}
		reflector <- unix.Gettid()
		_ = r.sockets[0].serve()
	}()
	tid := <-reflector
	ttls := make([]int, engineBatch)
	for i := range ttls {
		ttls[i] = i%4 + 1
	}
	sent, answered := 0, 0
	b.ReportAllocs()
	start, before := time.Now(), usage(b, apart, tid)
	for b.Loop() {
		for _, s := range streams {
			if s.Expire(ttls...) != len(ttls) {
				b.Fatal("not sent")
			}
			if apart {
				awaitRoom(x.engine)
			}
		}
		runtime.Gosched()
	}
	took, after := time.Since(start), usage(b, apart, tid)
	time.Sleep(1100 * time.Millisecond)
	for _, s := range streams {
		for _, h := range s.Take().Hops {
			sent += h.Sent
			answered += h.Answered
		}
	}
	b.ReportMetric(float64(answered)/took.Seconds(), "answered/s")
	b.ReportMetric(float64(sent-answered), "unanswered")
	// What is our own: with all on one core the rest is the kernel's, and most of that the fabric's forwarding.
	b.ReportMetric(float64((after.user-before.user).Nanoseconds())/float64(sent), "user-ns/probe")
	b.ReportMetric(float64((after.cpu-before.cpu).Nanoseconds())/float64(sent), "cpu-ns/probe")
}

// awaitRoom waits while half as many packets are under way as the kernel's queue between two cores may hold
// (net.core.netdev_max_backlog is 1000): what overflows there would be lost, by no fault of the engine.
func awaitRoom(e *Engine) {
	for range 100 {
		if st := e.Stats(); st.Sent < st.Received+st.Errors+400 {
			return
		}
		time.Sleep(50 * time.Microsecond)
	}
}

// steer has all packets that come in anywhere in the lab be handled by one core (receive packet steering).
func (b *bench) steer(core int) {
	b.t.Helper()
	nets := make([]*os.File, b.fabric.NumNodes())
	for n := range nets {
		err := b.lab.Do(graphs.NodeID(n), func() (err error) {
			nets[n], err = os.Open("/proc/thread-self/ns/net")
			return err
		})
		if err != nil {
			b.t.Fatal(err)
		}
		defer nets[n].Close()
	}
	done := make(chan error)
	go func() {
		// The thread ends with this goroutine, and with it its view of the file system.
		runtime.LockOSThread()
		done <- steerThread(nets, core)
	}()
	if err := <-done; err != nil {
		b.t.Fatal(err)
	}
}

// steerThread changes the thread's namespaces.
func steerThread(nets []*os.File, core int) error {
	if err := unix.Unshare(unix.CLONE_FS | unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("unshare: %w", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	for _, ns := range nets {
		if err := unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("enter a namespace: %w", err)
		}
		if err := unix.Mount("sysfs", "/sys", "sysfs", 0, ""); err != nil {
			return fmt.Errorf("mount sysfs: %w", err)
		}
		queues, err := filepath.Glob("/sys/class/net/*/queues/rx-*/rps_cpus")
		if err != nil {
			return err
		}
		for _, q := range queues {
			if err := os.WriteFile(q, fmt.Appendf(nil, "%x", 1<<core), 0); err != nil {
				return err
			}
		}
	}
	return nil
}

// pin binds a thread to one core; thread 0 is the calling one.
func pin(b *testing.B, thread, core int) {
	var set unix.CPUSet
	set.Set(core)
	if err := unix.SchedSetaffinity(thread, &set); err != nil {
		b.Error(err)
	}
}

// times are how long a process used the processor, and how much of that outside the kernel.
type times struct{ cpu, user time.Duration }

// usage returns the times of this process, with apart the cpu time without that of one thread.
func usage(b *testing.B, apart bool, thread int) times {
	var r unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &r); err != nil {
		b.Fatal(err)
	}
	t := times{cpu: time.Duration(r.Utime.Nano() + r.Stime.Nano()), user: time.Duration(r.Utime.Nano())}
	if apart {
		// The clock of a thread's processor time, as pthread_getcpuclockid(3) makes it.
		var ts unix.Timespec
		if err := unix.ClockGettime(int32(^thread<<3|6), &ts); err != nil {
			b.Fatal(err)
		}
		t.cpu -= time.Duration(ts.Nano())
	}
	return t
}

// unprivileged gives up all privileges of this process, where it has real ones.
func unprivileged(b *testing.B) {
	const nobody = 65534
	if err := syscall.Setgroups(nil); err == nil {
		if err := syscall.Setresgid(nobody, nobody, nobody); err != nil {
			b.Fatal(err)
		}
		if err := syscall.Setresuid(nobody, nobody, nobody); err != nil {
			b.Fatal(err)
		}
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if strings.HasPrefix(line, "CapEff:") && os.Getuid() == nobody && strings.TrimSpace(line[7:]) != "0000000000000000" {
			b.Fatal(line)
		}
	}
}

// tasks are the threads of this process.
func tasks(b *testing.B) []int {
	entries, err := os.ReadDir("/proc/self/task")
	if err != nil {
		b.Fatal(err)
	}
	var all []int
	for _, e := range entries {
		var n int
		fmt.Sscan(e.Name(), &n)
		all = append(all, n)
	}
	return all
}
