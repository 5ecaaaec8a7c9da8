package cli

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"whichlink/graphs"
	"whichlink/graphs/formats"
	"whichlink/graphs/generate"
	"whichlink/internal/evidence"
	"whichlink/internal/lab"
	"whichlink/pathfind"
)

// BenchmarkFirstFrame starts the program in a terminal of its own and tells how long it is until there is a first frame, and until there is something to see
// in it: on the drill, on a fabric from this host, on a replay of sixty thousand links. The processor's time is that of the program up to then. Run it with
// -benchtime 5x; each start is a process of its own.
func BenchmarkFirstFrame(b *testing.B) {
	dir := b.TempDir()
	program := filepath.Join(dir, "whichlink")
	if out, err := exec.Command("go", "build", "-o", program, "whichlink").CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	here := filepath.Join(dir, "here.clab.yml")
	if err := os.WriteFile(here, []byte(hereFabric), 0o600); err != nil {
		b.Fatal(err)
	}
	large, records := filepath.Join(dir, "large.clab.yml"), filepath.Join(dir, "large.jsonl")
	writeLarge(b, large, records)
	for _, c := range []struct {
		name  string
		args  []string
		ready string
	}{
		{"drill", nil, "measured"},
		{"live", []string{"--fabric", here, "--rate", "20"}, "from this host"},
		{"replay", []string{"--fabric", large, records}, "measured"},
	} {
		b.Run(c.name, func(b *testing.B) {
			if c.name == "drill" && lab.Available() != nil {
				b.Skip("no namespaces here")
			}
			var first, ready, cpu time.Duration
			for b.Loop() {
				f, r, used := startInTerminal(b, program, dir, c.args, c.ready)
				first, ready, cpu = first+f, ready+r, cpu+used
			}
			per := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) / float64(b.N) }
			b.ReportMetric(per(first), "first-frame-ms")
			b.ReportMetric(per(cpu), "first-frame-cpu-ms")
			b.ReportMetric(per(ready), "ready-ms")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// hereFabric is a fabric whose hosts are this machine, so that nothing leaves it.
const hereFabric = `name: here
topology:
  nodes:
    sw1: {kind: linux, labels: {whichlink.role: tor}}
    h1: {kind: linux, labels: {whichlink.role: host}}
    h2: {kind: linux, labels: {whichlink.role: host}}
  links:
    - endpoints: ["h1:eth1", "sw1:swp1"]
      vars: {ipv4: ["127.0.0.1/31", "127.0.0.0/31"]}
    - endpoints: ["h2:eth1", "sw1:swp2"]
      vars: {ipv4: ["127.0.0.3/31", "127.0.0.2/31"]}
`

// writeLarge writes a fabric of 63,888 links and a hundred thousand echoes on it.
func writeLarge(b *testing.B, fabric, records string) {
	f, err := generate.FatTree(generate.FatTreeConfig{K: 44})
	if err == nil {
		f, err = lab.WithAddresses(f)
	}
	if err == nil {
		err = formats.WriteFile(fabric, f)
	}
	if err != nil {
		b.Fatal(err)
	}
	var out bytes.Buffer
	rng, e, hosts := rand.New(rand.NewPCG(1, 2)), pathfind.NewECMP(f), f.Hosts()[:200]
	for i := range 100_000 {
		src, dst := hosts[rng.IntN(100)], hosts[100+rng.IntN(100)]
		walk := func(a, z graphs.NodeID) (names []string) {
			for at := a; at != z; {
				next := e.NextHops(at, z)
				x := next[rng.IntN(len(next))]
				names, at = append(names, f.ArcName(x)), f.Head(x)
			}
			return names
		}
		r := evidence.Record{V: evidence.Version, Time: time.Date(2026, 11, 20, 14, 0, 0, 0, time.UTC).Add(time.Duration(i) * 200 * time.Microsecond), Source: evidence.SourceProbe,
			By: f.NodeName(src), Kind: evidence.KindEcho, Path: walk(src, dst), Back: walk(dst, src), Sent: evidence.Int(20), Lost: evidence.Int(0), WindowMS: 500,
			Flow: &evidence.Flow{Src: f.Address(src, false), Dst: f.Address(dst, false), Proto: "udp", SrcPort: uint16(50_000 + i%64), DstPort: 862}}
		if err := evidence.Write(&out, &r); err != nil {
			b.Fatal(err)
		}
	}
	if err := os.WriteFile(records, out.Bytes(), 0o600); err != nil {
		b.Fatal(err)
	}
}

// startInTerminal starts the program in a pseudo-terminal of 200 by 60, and quits it when a word is on the screen.
func startInTerminal(b *testing.B, program, state string, args []string, ready string) (first, whole, cpu time.Duration) {
	master, slave := openTerminal(b)
	defer master.Close()
	cmd := exec.Command(program, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.Env = append(os.Environ(), "TERM=xterm-256color", "XDG_STATE_HOME="+state, "XDG_CONFIG_HOME="+state)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	start := time.Now()
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	slave.Close()
	// A Read of a terminal whose other side is gone is an error; one whose program hangs ends with it.
	defer time.AfterFunc(2*time.Minute, func() { _ = cmd.Process.Kill() }).Stop()
	var seen bytes.Buffer
	buf := make([]byte, 1<<16)
	for whole == 0 {
		n, err := master.Read(buf)
		if err != nil {
			b.Fatalf("%v before %q was seen:\n%q", err, ready, seen.String())
		}
		seen.Write(buf[:n])
		if first == 0 && strings.Contains(seen.String(), "LOADING") {
			first, cpu = time.Since(start), cpuOf(b, cmd.Process.Pid)
		}
		if strings.Contains(seen.String(), ready) {
			whole = time.Since(start)
		}
	}
	if first == 0 { // it was ready at once
		first, cpu = whole, cpuOf(b, cmd.Process.Pid)
	}
	_, _ = master.WriteString("q\r") // a drill asks
	for {
		if _, err := master.Read(buf); err != nil {
			break
		}
	}
	if err := cmd.Wait(); err != nil {
		b.Fatal(err)
	}
	return first, whole, cpu
}

// openTerminal opens a pseudo-terminal.
func openTerminal(b testing.TB) (master, slave *os.File) {
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		b.Skip(err)
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(int(master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 60, Col: 200})
	}
	if err != nil {
		b.Fatal(err)
	}
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		b.Fatal(err)
	}
	return master, slave
}

// cpuOf is the processor's time that a process took so far.
func cpuOf(b *testing.B, pid int) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	var ticks [2]int64
	for i, at := range []int{11, 12} { // utime and stime, proc(5)
		if _, err := fmt.Sscan(fields[at], &ticks[i]); err != nil {
			b.Fatal(err)
		}
	}
	return time.Duration(ticks[0]+ticks[1]) * 10 * time.Millisecond
}
