//go:build unix

package captures

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// BenchmarkPeers runs whichlink, tshark and tcptrace on the same generated captures, whole processes one after the other on one core,
// and prints them beside each other in the end:
//
//	go test ./captures -run '^$' -bench Peers -benchtime 1x
//
// Figures are of processor time. Each program is run until it has taken enough seconds, and the fewest seconds of its runs count, which
// other work on the machine disturbs least. A program that is not installed is left out, and said so.
func BenchmarkPeers(b *testing.B) {
	const enough = 5
	program := generator(b)
	whichlink := filepath.Join(b.TempDir(), "whichlink")
	if out, err := exec.Command("go", "build", "-o", whichlink, "whichlink").CombinedOutput(); err != nil {
		b.Fatalf("build whichlink: %v\n%s", err, out)
	}
	peers := []struct {
		name    string
		command []string
	}{
		{"whichlink", []string{whichlink, "pcap", "-o", "json"}},
		{"tcptrace", []string{"tcptrace", "-n", "-l", "-r"}},
		{"tshark", []string{"tshark", "-n", "-q", "-z", "conv,tcp", "-r"}},
	}
	var table strings.Builder
	defer func() { fmt.Println(table.String()) }() // also what was measured before something failed
	for _, file := range []struct {
		name      string
		arguments []string
	}{
		{"full", []string{"-size", "1500000000", "-tcp", "1500", "-roce", "500", "-loss", "0.01", "-idle", "150000000"}},
		{"snap", []string{"-size", "1000000000", "-snap", "96", "-tcp", "1500", "-roce", "500", "-loss", "0.01", "-idle", "150000000"}},
	} {
		name := generate(b, program, 1, file.arguments...)
		packets := float64(readTruth(b, name+".truth.json").Packets)
		ours := 0.0
		for _, peer := range peers {
			b.Run(file.name+"/"+peer.name, func(b *testing.B) {
				path, err := exec.LookPath(peer.command[0])
				if err != nil {
					b.Skipf("%s is not installed", peer.name)
				}
				least, peak := 0.0, 0.0
				for b.Loop() {
					for spent := 0.0; spent < enough; {
						seconds, mebibytes := cost(b, path, append(peer.command[1:len(peer.command):len(peer.command)], name))
						if least == 0 || seconds < least {
							least = seconds
						}
						peak = max(peak, mebibytes)
						spent += seconds
					}
				}
				if peer.name == "whichlink" {
					ours = least
				}
				b.ReportMetric(packets/least/1e6, "Mpackets/cpu-s")
				b.ReportMetric(peak, "MiB-peak")
				fmt.Fprintf(&table, "\n%-5s %-10s %8.3f s of cpu %8.3f Mpackets/s %7.0f MiB at most %8.1f times whichlink's time", file.name, peer.name, least,
					packets/least/1e6, peak, least/ours)
			})
		}
	}
}

// cost runs a program on one core and returns what it took of the processor, in seconds, and its peak memory in MiB.
func cost(b *testing.B, program string, arguments []string) (seconds, mebibytes float64) {
	b.Helper()
	c := exec.Command(program, arguments...)
	c.Env = append(c.Environ(), "GOMAXPROCS=1")
	if err := c.Run(); err != nil {
		b.Fatalf("%s: %v", program, err)
	}
	usage := c.ProcessState.SysUsage().(*syscall.Rusage)
	unit := 1.0 / (1 << 10) // Maxrss counts KiB
	if runtime.GOOS == "darwin" {
		unit /= 1 << 10
	}
	return (c.ProcessState.UserTime() + c.ProcessState.SystemTime()).Seconds(), float64(usage.Maxrss) * unit
}
