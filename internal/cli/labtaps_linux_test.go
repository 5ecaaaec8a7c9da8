package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"whichlink/internal/lab"
)

// TestTapsInLab captures real packets at two ports of a lab while a link between them loses some: the arc is named, by pcap itself
// and by localize from its evidence.
func TestTapsInLab(t *testing.T) {
	if _, err := exec.LookPath("tcpdump"); err != nil {
		t.Skip("tcpdump is not here")
	}
	program, dir, name := buildProgram(t), t.TempDir(), fmt.Sprintf("taps%d", os.Getpid())
	out, err := exec.Command(program, "lab", "up", "leafspine", "--leaves", "2", "--spines", "2", "--hosts", "1", "--name", name).CombinedOutput()
	if err != nil {
		if bytes.Contains(out, []byte("no network namespaces here")) && os.Getenv("CI") != "true" {
			t.Skipf("cannot run here: %s", out)
		}
		t.Fatalf("lab up: %v\n%s", err, out)
	}
	t.Cleanup(func() { _ = exec.Command(program, "lab", "down", name).Run() })
	run := func(arguments ...string) string {
		t.Helper()
		out, err := exec.Command(program, arguments...).Output()
		if err != nil {
			t.Fatalf("whichlink %s: %v", strings.Join(arguments, " "), err)
		}
		return string(out)
	}
	// begin starts something in a node; what it returns ends it.
	begin := func(node string, command ...string) (end func()) {
		c := exec.Command(program, append([]string{"lab", "exec", name, node, "--"}, command...)...)
		c.Stdout, c.Stderr = io.Discard, io.Discard
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		return func() {
			_ = c.Process.Signal(syscall.SIGTERM)
			_ = c.Wait()
		}
	}
	const bad = "leaf1:swp1>spine1:swp1"
	run("lab", "break", name, "loss", bad, "--rate", "5%")
	// The ports of the host's link and of the spine's link down, with the lossy arc between.
	taps := []string{"leaf1:swp3", "spine1:swp2"}
	var files []string
	var ends []func()
	for _, tap := range taps {
		node, port, _ := strings.Cut(tap, ":")
		file := filepath.Join(dir, node+".pcap")
		// As root tcpdump gives its rights away before it opens the file, which lies in a directory of the test's own.
		ends = append(ends, begin(node, "tcpdump", "-Z", "root", "-B", "16384", "-U", "--immediate-mode", "-i", port, "-w", file))
		for range 100 {
			if info, err := os.Stat(file); err == nil && info.Size() > 0 {
				break
			}
			time.Sleep(50 * time.Millisecond)
		}
		files = append(files, file)
	}
	ends = append(ends, begin("h2-1", program, "agent"))
	time.Sleep(time.Second)
	run("lab", "exec", name, "h1-1", "--", program, "ping", "10.32.0.3", "--flows", "32", "--for", "3s", "-q")
	for _, end := range ends {
		end()
	}
	var listed struct{ Labs []lab.State }
	if err := json.Unmarshal([]byte(run("lab", "list", "-o", "json")), &listed); err != nil {
		t.Fatal(err)
	}
	fabric := ""
	for _, l := range listed.Labs {
		if l.Name == name {
			fabric = l.FabricFile
		}
	}
	at := []string{"pcap", "--taps", files[0], files[1], "--at", taps[0], "--at", taps[1]}
	text := run(append(at, "--fabric", fabric)...)
	if !strings.Contains(text, "\n"+bad+" drops ") || !strings.Contains(text, "critical  tap-loss  udp 10.32.0.1:") {
		t.Errorf("pcap does not name %s:\n%s", bad, text)
	}
	found := filepath.Join(dir, "found.jsonl")
	if err := os.WriteFile(found, []byte(run(append(at, "-o", "jsonl")...)), 0o644); err != nil {
		t.Fatal(err)
	}
	if text := run("localize", "--fabric", fabric, found); !strings.HasPrefix(text, bad+" drops ") {
		t.Errorf("localize does not name %s:\n%s", bad, text)
	}
}
