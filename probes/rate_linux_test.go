package probes

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// rateVariable marks the process that BenchmarkRate starts.
const rateVariable = "WHICHLINK_RATE_CHILD"

// wantRate is how many answered probes a second one idle core must manage, the whole fabric and the reflector on the same core.
const wantRate = 100_000

// BenchmarkRate measures answered probes a second: 64 flows, TTL 1 to 4 on a leaf-spine 2x4, on one core, as uid 65534 without
// capabilities. It does so in a process of its own, since there is no way back from there.
func BenchmarkRate(b *testing.B) {
	needLab(b)
	if os.Getenv(rateVariable) == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^$", "-test.bench=^BenchmarkRate$", fmt.Sprintf("-test.benchtime=%v", 2*time.Second))
		cmd.Env = append(os.Environ(), rateVariable+"=1", "GOMAXPROCS=1")
		out, err := cmd.CombinedOutput()
		if err != nil {
			b.Fatalf("%v: %s", err, out)
		}
		for line := range strings.Lines(string(out)) {
			var rate, rounds float64
			if f := strings.Fields(line); len(f) > 2 && strings.HasPrefix(f[0], "BenchmarkRate") {
				b.Log(line)
				for i := 2; i+1 < len(f); i += 2 {
					switch f[i+1] {
					case "answered/s":
						fmt.Sscan(f[i], &rate)
					case "allocs/op":
						fmt.Sscan(f[i], &rounds)
					}
				}
				if rate < wantRate {
					b.Logf("fewer than the %d answered/s that one idle core must manage", wantRate)
				}
				b.ReportMetric(rate, "answered/s")
				b.ReportMetric(rounds, "allocs/round")
			}
		}
		return
	}
	x := newBench(b, leafSpine(b, 2, 4), 1, Config{NoSendStamps: true}, ReflectorConfig{})
	streams := x.streams(x.hosts[1], 64, false, Options{})
	unprivileged(b)
	var one unix.CPUSet
	one.Set(runtime.NumCPU() - 1)
	for _, task := range tasks(b) {
		if err := unix.SchedSetaffinity(task, &one); err != nil {
			b.Fatal(err)
		}
	}
	ttls := make([]int, engineBatch)
	for i := range ttls {
		ttls[i] = i%4 + 1
	}
	sent, answered := 0, 0
	count := func() {
		for _, s := range streams {
			for _, h := range s.Take().Hops {
				sent += h.Sent
				answered += h.Answered
			}
		}
	}
	b.ReportAllocs()
	start, user := time.Now(), userTime(b)
	for b.Loop() {
		for _, s := range streams {
			if s.Expire(ttls...) != len(ttls) {
				b.Fatal("not sent")
			}
		}
		runtime.Gosched()
	}
	took, own := time.Since(start), userTime(b)-user
	time.Sleep(1100 * time.Millisecond)
	count()
	b.ReportMetric(float64(answered)/took.Seconds(), "answered/s")
	b.ReportMetric(float64(sent-answered), "unanswered")
	// What is our own: the rest is the kernel's, and most of that the fabric's forwarding.
	b.ReportMetric(float64(own.Nanoseconds())/float64(sent), "user-ns/probe")
}

// userTime is how long this process ran outside the kernel.
func userTime(b *testing.B) time.Duration {
	var r unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &r); err != nil {
		b.Fatal(err)
	}
	return time.Duration(r.Utime.Nano())
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
