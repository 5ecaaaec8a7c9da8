package snmp

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"whichlink/probes/snmp/agentsim"
)

// TestMain plays a fleet of agents where a test asks for one in a process of its own, so that only the poller is measured.
func TestMain(m *testing.M) {
	if agents, ports := os.Getenv("FLEET_AGENTS"), os.Getenv("FLEET_PORTS"); agents != "" {
		if err := serveFleet(agents, ports); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// serveFleet serves agents until standard input ends, and prints where.
func serveFleet(agents, ports string) error {
	n, err := strconv.Atoi(agents)
	if err != nil {
		return err
	}
	m, err := strconv.Atoi(ports)
	if err != nil {
		return err
	}
	tree := device(m)
	for range n {
		a, err := agentsim.Start("127.0.0.1:0", "public", tree.Clone(), agentsim.Faults{})
		if err != nil {
			return err
		}
		fmt.Println(a.Address())
	}
	_ = os.Stdout.Close()
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// fleet has another process serve n agents of some ports each, and returns where they are and what it is.
func fleet(t testing.TB, n, ports int) (targets []string, pid int) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), fmt.Sprintf("FLEET_AGENTS=%d", n), fmt.Sprintf("FLEET_PORTS=%d", ports))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = in.Close(); _ = cmd.Wait() })
	text, err := io.ReadAll(out)
	if err != nil {
		t.Fatal(err)
	}
	targets = strings.Fields(string(text))
	if len(targets) != n {
		t.Fatalf("%d of %d agents", len(targets), n)
	}
	return targets, cmd.Process.Pid
}

// TestLoss: with one packet in fifty lost no agent fails.
func TestLoss(t *testing.T) {
	t.Parallel() // it waits most of the time
	var targets []string
	agents, ports := 50, 64
	if testing.Short() {
		agents, ports = 10, 8
	}
	for range agents {
		targets = append(targets, start(t, device(ports), agentsim.Faults{Loss: 0.02}).Address())
	}
	p := NewPoller(PollerConfig{Targets: targets, Credentials: Credentials{Community: "public"}})
	defer p.Close()
	for range 3 {
		for _, r := range p.Poll(context.Background()) {
			if r.Err != nil || len(r.Ports) != ports {
				t.Errorf("%s: %d ports, %v", r.Target, len(r.Ports), r.Err)
			}
		}
	}
}

// TestFleet reads 2,000 agents of 64 ports at once, in bounded memory, and tells what of the processor's time that takes.
func TestFleet(t *testing.T) {
	if testing.Short() {
		t.Skip("2,000 agents take seconds")
	}
	const agents = 2000
	targets, _ := fleet(t, agents, 64)
	var memory runtime.MemStats
	debug.FreeOSMemory()
	p := NewPoller(PollerConfig{Targets: targets, Credentials: Credentials{Community: "public"}})
	defer p.Close()
	began, cpu := time.Now(), cpuTime(t, os.Getpid())
	readings := p.Poll(context.Background())
	took, spent := time.Since(began), cpuTime(t, os.Getpid())-cpu
	runtime.ReadMemStats(&memory)
	for _, r := range readings {
		if r.Err != nil || len(r.Ports) != 64 || r.Ports[63].Name != "swp64" {
			t.Fatalf("%s: %d ports, %v", r.Target, len(r.Ports), r.Err)
		}
	}
	// What earlier tests took was given back.
	held := (memory.Sys - memory.HeapReleased) >> 20
	t.Logf("%d agents of 64 ports in %s, %s of CPU; %d MiB", agents, took.Round(time.Millisecond), spent.Round(time.Millisecond), held)
	if held > 512 {
		t.Errorf("%d MiB", held)
	}
}

// BenchmarkPoll reads 50 agents of 270 ports, at first with the names of ports and then without, beside net-snmp's walk of the same columns. The agents are
// a process of their own, on the same processors: what either took of these is told apart.
func BenchmarkPoll(b *testing.B) {
	targets, agents := fleet(b, 50, 270)
	measured := func(b *testing.B, poll func()) {
		ours, theirs := cpuTime(b, os.Getpid()), cpuTime(b, agents)
		for b.Loop() {
			poll()
		}
		b.ReportMetric(float64((cpuTime(b, os.Getpid())-ours).Milliseconds())/float64(b.N), "cpu-ms/op")
		b.ReportMetric(float64((cpuTime(b, agents)-theirs).Milliseconds())/float64(b.N), "agents-cpu-ms/op")
	}
	b.Run("first", func(b *testing.B) {
		measured(b, func() {
			p := NewPoller(PollerConfig{Targets: targets, Credentials: Credentials{Community: "public"}})
			check(b, p.Poll(context.Background()))
			p.Close()
		})
	})
	b.Run("again", func(b *testing.B) {
		p := NewPoller(PollerConfig{Targets: targets, Credentials: Credentials{Community: "public"}})
		defer p.Close()
		check(b, p.Poll(context.Background()))
		measured(b, func() { check(b, p.Poll(context.Background())) })
	})
	b.Run("snmpbulkwalk", func(b *testing.B) {
		walk, err := exec.LookPath("snmpbulkwalk")
		if err != nil {
			b.Skip("net-snmp's snmpbulkwalk is not installed")
		}
		for b.Loop() {
			walkAll(b, walk, targets)
		}
	})
}

func check(b *testing.B, readings []*Reading) {
	for _, r := range readings {
		if r.Err != nil || len(r.Ports) != 270 {
			b.Fatalf("%s: %d ports, %v", r.Target, len(r.Ports), r.Err)
		}
	}
}

// walkAll walks the same columns of all agents, as many processes at a time as there are agents.
func walkAll(b *testing.B, walk string, targets []string) {
	var all sync.WaitGroup
	for _, t := range targets {
		all.Go(func() {
			for _, c := range basicColumns {
				if err := exec.Command(walk, "-v2c", "-c", "public", "-On", "-m", "", "-Cr50", t, c.oid).Run(); err != nil {
					b.Error(err)
				}
			}
		})
	}
	all.Wait()
}

// cpuTime is the time that a process had of all processors.
func cpuTime(t testing.TB, pid int) time.Duration {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		t.Skip(err)
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	var ticks int
	for _, f := range fields[11:13] {
		var n int
		if _, err := fmt.Sscan(f, &n); err != nil {
			t.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}
