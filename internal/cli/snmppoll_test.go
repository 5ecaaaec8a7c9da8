package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"whichlink/probes/snmp/agentsim"
	"whichlink/probes/snmp/ber"
)

const secret = "not-for-your-eyes"

// switchTree is a switch with two ports, one of which has a name that would clear the screen.
func switchTree() *agentsim.Tree {
	t := &agentsim.Tree{}
	t.Set("1.3.6.1.2.1.1.3.0", agentsim.TimeTicks, 8_640_000)
	t.Set("1.3.6.1.2.1.1.5.0", ber.OctetString, "sw\x1b[2J01")
	for i := 1; i <= 2; i++ {
		for column, v := range map[string]int{"3": 6, "7": 1, "8": i} {
			t.Set(fmt.Sprintf("1.3.6.1.2.1.2.2.1.%s.%d", column, i), ber.Integer, v)
		}
		t.Set(fmt.Sprintf("1.3.6.1.2.1.2.2.1.14.%d", i), agentsim.Counter32, 900)
		t.Set(fmt.Sprintf("1.3.6.1.2.1.31.1.1.1.1.%d", i), ber.OctetString, []string{"swp1", "swp\x1b[31m2"}[i-1])
		t.Set(fmt.Sprintf("1.3.6.1.2.1.31.1.1.1.6.%d", i), agentsim.Counter64, 1_000_000)
		t.Set(fmt.Sprintf("1.3.6.1.2.1.31.1.1.1.10.%d", i), agentsim.Counter64, 2_000_000)
		t.Set(fmt.Sprintf("1.3.6.1.2.1.31.1.1.1.15.%d", i), agentsim.Gauge32, 100_000)
	}
	return t
}

func whichlink(t *testing.T, arguments ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	code = Main(context.Background(), arguments, strings.NewReader(""), &out, &err, fstest.MapFS{})
	return code, out.String(), err.String()
}

// wrong writes credentials that no agent knows beside a file, and returns theirs.
func wrong(t *testing.T, file string) string {
	t.Helper()
	name := file + ".wrong"
	if err := os.WriteFile(name, []byte("community nobody-knows\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestSNMPPoll(t *testing.T) {
	tree := switchTree()
	sim, err := agentsim.Start("127.0.0.1:0", secret, tree, agentsim.Faults{})
	if err != nil {
		t.Fatal(err)
	}
	defer sim.Close()
	dead, err := agentsim.Start("127.0.0.1:0", secret, switchTree(), agentsim.Faults{})
	if err != nil {
		t.Fatal(err)
	}
	gone := dead.Address()
	_ = dead.Close()
	file := filepath.Join(t.TempDir(), "snmp.conf")
	if err := os.WriteFile(file, []byte("community "+secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}

	code, out, said := whichlink(t, "snmp", "poll", "--target", sim.Address(), "--credentials", file, "-o", "json")
	var got struct {
		Agents []struct {
			Target, Name, Error string
			Uptime              float64 `json:"uptime_s"`
			Requests            int
			MS                  float64
			Neighbours          []any
			Ports               []struct {
				IfIndex   int
				Name      string
				Speed     uint64
				Oper      string
				In, Out   map[string]uint64
				Delta     map[string]any
				LastShown any `json:"last_change_ago_ms"`
			}
		}
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil || code != 0 || len(got.Agents) != 1 {
		t.Fatalf("%d %v\n%s%s", code, err, out, said)
	}
	a := got.Agents[0]
	if len(a.Ports) != 2 || a.Uptime < 86_400 || a.Error != "" || a.Requests == 0 || a.Neighbours == nil || a.Target != sim.Address() {
		t.Errorf("%s", out)
	}
	if p := a.Ports[0]; p.Name != "swp1" || p.Speed != 100e9 || p.Oper != "up" || p.In["octets"] != 1e6 || p.Out["octets"] != 2e6 || p.In["errors"] != 900 ||
		p.Delta != nil || p.LastShown != nil {
		t.Errorf("%+v", p)
	}
	if _, told := a.Ports[0].In["discards"]; told {
		t.Error("what the agent does not count is told as 0")
	}

	t.Setenv("WHICHLINK_SNMP_COMMUNITY", secret)
	textCode, text, _ := whichlink(t, "snmp", "poll", sim.Address(), "--interval", "100ms")
	if textCode != 0 || !strings.Contains(text, "swp1") || !strings.Contains(text, "100 Gbit/s") || !strings.Contains(text, "in 0 bit/s") ||
		!strings.Contains(text, "not served: discards, wrong checksums (FCS), pause frames, drops by queue, light of transceivers, neighbours\n") {
		t.Errorf("%d\n%s", textCode, text)
	}
	failCode, failOut, failed := whichlink(t, "snmp", "poll", "--target", sim.Address()+","+gone, "-o", "json")
	if failCode != 1 || !strings.Contains(failed, "1 of 2 agents failed: "+gone+": no agent listens") || strings.Count(failOut, `"name": "swp1"`) != 1 {
		t.Errorf("%d\n%s%s", failCode, failOut, failed)
	}
	groupCode, grouped, why := whichlink(t, "snmp", "poll", gone, sim.Address(), "--credentials", wrong(t, file))
	if want := "2 of 2 agents failed: " + gone + ": no agent listens; " + sim.Address() + ": no answer\n"; groupCode != 1 || !strings.Contains(why, want) ||
		!strings.Contains(why, "hint: the host is there; HOST:PORT names another port than 161\n") || grouped != gone+": no agent listens\n"+sim.Address()+": no answer\n" {
		t.Errorf("%d\n%s%s", groupCode, grouped, why)
	}
	for _, s := range []string{out, said, text, failed, failOut, grouped, why} {
		if strings.Contains(s, secret) || strings.Contains(s, "\x1b") {
			t.Errorf("a secret, or what moves the cursor:\n%q", s)
		}
	}
	if !strings.Contains(said, "asks 1 agent with SNMPv2c credentials, reading only: one request in flight to each, at most 1000 packets/s") {
		t.Errorf("%s", said)
	}
}

func TestSNMPPollRefuses(t *testing.T) {
	t.Setenv("WHICHLINK_SNMP_COMMUNITY", "")
	open := filepath.Join(t.TempDir(), "open.conf")
	if err := os.WriteFile(open, []byte("community "+secret+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		code int
		want string
		args []string
	}{
		{2, "nobody to ask", nil},
		{2, "has more than 65536 addresses", []string{"--target", "10.0.0.0/8"}},
		{2, "is not HOST or HOST:PORT", []string{"--target", "10.0.0.1:99999"}},
		{2, "is not NETWORK/BITS", []string{"10.0.0/24"}},
		{1, "no SNMP credentials: set WHICHLINK_SNMP_COMMUNITY or name a file", []string{"10.0.0.1"}},
		{1, "hint: community NAME, or user, auth and priv, stand in a file of mode 0600 that --credentials names", []string{"10.0.0.1"}},
		{1, "others may read it (mode 0644): chmod 600", []string{"10.0.0.1", "--credentials", open}},
		{1, "no switch of ", []string{"--fabric", "../../testdata/drill/fabric.clab.yml"}},
	} {
		code, out, said := whichlink(t, append([]string{"snmp", "poll"}, c.args...)...)
		if code != c.code || !strings.Contains(said, c.want) || out != "" || strings.Contains(said, secret) {
			t.Errorf("%v: %d %q %q, want %d %q", c.args, code, out, said, c.code, c.want)
		}
	}
}

// TestSNMPPollWhom: the switches of a fabric that have an address, and those of a network that answer.
func TestSNMPPollWhom(t *testing.T) {
	sim, err := agentsim.Start("127.77.0.2:0", secret, switchTree(), agentsim.Faults{})
	if err != nil {
		t.Skip(err) // not every system has all of 127/8
	}
	defer sim.Close()
	_, port, _ := strings.Cut(sim.Address(), ":")
	t.Setenv("WHICHLINK_SNMP_COMMUNITY", secret)
	code, out, said := whichlink(t, "snmp", "poll", "127.77.0.0/29:"+port)
	if code != 0 || !strings.HasPrefix(out, "sw\ufffd[2J01 (127.77.0.2:"+port+"): 2 ports, 1 up") || !strings.Contains(said, "5 of 6 addresses did not answer") {
		t.Errorf("%d\n%s%s", code, out, said)
	}
	if code, out, said := whichlink(t, "snmp", "poll", "127.78.0.0/30:"+port); code != 1 || out != "" || !strings.Contains(said, "nobody answered") {
		t.Errorf("%d\n%s%s", code, out, said)
	}

	file := filepath.Join(t.TempDir(), "f.clab.yml")
	text := "name: f\ntopology:\n  nodes:\n    sw01: {kind: linux, mgmt-ipv4: 127.77.0.3}\n    sw02: {kind: linux}\n    h1: {kind: linux, mgmt-ipv4: 127.77.0.4, labels: {whichlink.role: host}}\n" +
		"  links:\n    - endpoints: [\"sw01:a\", \"sw02:a\"]\n    - endpoints: [\"sw01:b\", \"h1:a\"]\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := (&env{stderr: &bytes.Buffer{}}).readFabric(file)
	if err != nil {
		t.Fatal(err)
	}
	p := polling{fabric: file, targets: []string{"127.77.0.9"}}
	a, err := p.agents(f)
	if err != nil || strings.Join(a.targets, " ") != "127.77.0.9 127.77.0.3" || a.names["127.77.0.3"] != "sw01" {
		t.Errorf("%+v %v", a, err)
	}
}
