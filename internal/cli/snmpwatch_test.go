package cli

import (
	"bytes"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"whichlink/internal/evidence"
	"whichlink/probes/snmp/agentsim"
	"whichlink/probes/snmp/ber"
)

const twoSwitches = `name: two
topology:
  nodes:
    SW: {labels: {whichlink.role: leaf}}
    sw02: {labels: {whichlink.role: spine}}
  links:
    - endpoints: ["SW:swp1", "sw02:swp7"]
`

// TestSNMPWatch watches a switch one of whose links flaps between two polls and goes down in the end, and has the evidence judged.
func TestSNMPWatch(t *testing.T) {
	tree := switchTree()
	tree.Set("1.3.6.1.2.1.1.5.0", ber.OctetString, "sw.example.net")
	tree.Set("1.3.6.1.2.1.2.2.1.9.1", agentsim.TimeTicks, 0)
	tree.Set("1.3.6.1.4.1.2636.3.3.1.1.26.1", agentsim.Counter64, uint64(33))
	sim, err := agentsim.Start("127.0.0.1:0", secret, tree, agentsim.Faults{})
	if err != nil {
		t.Fatal(err)
	}
	defer sim.Close()
	free, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	traps := free.LocalAddr().String()
	free.Close()
	dir := t.TempDir()
	plan, out := filepath.Join(dir, "two.clab.yml"), filepath.Join(dir, "snmp.jsonl")
	if err := os.WriteFile(plan, []byte(twoSwitches), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("WHICHLINK_SNMP_COMMUNITY", secret)
	flap := time.AfterFunc(1500*time.Millisecond, func() {
		sim.Change(func(tree *agentsim.Tree) {
			tree.Set("1.3.6.1.4.1.2636.3.3.1.1.26.1", agentsim.Counter64, uint64(57))
			tree.Set("1.3.6.1.2.1.31.1.1.1.6.1", agentsim.Counter64, uint64(1_500_000))
		})
	})
	defer flap.Stop()
	code, stdout, said := whichlink(t, "snmp", "watch", sim.Address(), "--traps", traps, "--status", "200ms", "--counters", "400ms", "--for", "4s", "--out", out)
	if code != 0 || stdout != "" || !strings.Contains(said, "1 of 1 agent answer") || !strings.Contains(said, "traps: 0 taken") {
		t.Fatalf("%d\n%s%s", code, stdout, said)
	}
	text, err := os.ReadFile(out)
	if err != nil || strings.Contains(string(text)+said, secret) || strings.Contains(string(text), "\x1b") {
		t.Fatalf("%v\n%s%s", err, text, said)
	}
	octets := uint64(0)
	for line := range strings.Lines(string(text)) {
		var r evidence.Record
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		if r.Kind == evidence.KindCounters && r.Port == "sw.example.net:swp1" && r.In != nil {
			octets += *r.In.Octets
		}
	}
	if octets != 500_000 {
		t.Errorf("%d octets counted in all, want 500000", octets)
	}
	code, stdout, said = whichlink(t, "localize", "--fabric", plan, out)
	if code != 0 || !strings.Contains(stdout, "SW:swp1--sw02:swp7 went down and came up again 12 times") || !strings.Contains(stdout, "carrier transitions") {
		t.Errorf("%d\n%s%s", code, stdout, said)
	}
}

func TestSNMPWatchRefuses(t *testing.T) {
	for _, c := range []struct {
		code      int
		want      string
		arguments []string
	}{
		{2, "nobody to ask", []string{"snmp", "watch"}},
		{2, "not negative", []string{"snmp", "watch", "127.0.0.1", "--for", "-1s"}},
		{1, "no SNMP credentials", []string{"snmp", "watch", "127.0.0.1"}},
		{3, "needs --fabric", []string{"check", "--snmp", "--drill"}},
		{3, "has a management address", []string{"check", "--snmp", "--fabric", "PLAN", "--for", "1s", "--from", ""}},
	} {
		t.Setenv("WHICHLINK_SNMP_COMMUNITY", "")
		plan := filepath.Join(t.TempDir(), "two.clab.yml")
		if err := os.WriteFile(plan, []byte(strings.Replace(twoSwitches, "  links:", "    h1: {labels: {whichlink.role: host}}\n  links:\n"+
			"    - {endpoints: [\"h1:eth0\", \"SW:swp9\"], vars: {ipv4: [127.0.0.1/8, 127.0.0.2/8]}}", 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		for i := range c.arguments {
			c.arguments[i] = strings.Replace(c.arguments[i], "PLAN", plan, 1)
		}
		if code, _, said := whichlink(t, c.arguments...); code != c.code || !strings.Contains(said, c.want) {
			t.Errorf("%q: %d, %s", c.arguments, code, said)
		}
	}
}

// A fabric is read once, so that it may come on standard input, and what had to be guessed of it is told once.
func TestSNMPWatchReadsFabricOnce(t *testing.T) {
	var said bytes.Buffer
	e := &env{stdin: strings.NewReader(twoSwitches), stderr: &said}
	err := e.snmpWatch(t.Context(), &watching{polling: polling{fabric: "-"}}, "-", time.Millisecond)
	if err == nil || !strings.Contains(err.Error(), "no switch of - has a management address") {
		t.Errorf("%v\n%s", err, &said)
	}
}
