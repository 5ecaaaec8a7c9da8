package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"whichlink/internal/diagnose"
	"whichlink/internal/lab"
)

// An inBand plan has each switch managed at its loopback, which hosts reach over the fabric itself.
const inBand = `name: inband
topology:
  nodes:
    leaf1: {mgmt-ipv4: 10.255.0.1, labels: {whichlink.role: leaf, whichlink.loopback: 10.255.0.1}}
    leaf2: {mgmt-ipv4: 10.255.0.2, labels: {whichlink.role: leaf, whichlink.loopback: 10.255.0.2}}
    spine1: {mgmt-ipv4: 10.255.0.3, labels: {whichlink.role: spine, whichlink.loopback: 10.255.0.3}}
    h1-1: {labels: {whichlink.role: host}}
    h1-2: {labels: {whichlink.role: host}}
    h2-1: {labels: {whichlink.role: host}}
    h2-2: {labels: {whichlink.role: host}}
  links:
    - {endpoints: ["leaf1:swp1", "spine1:swp1"], vars: {speed: 100G}}
    - {endpoints: ["leaf2:swp1", "spine1:swp2"], vars: {speed: 100G}}
    - {endpoints: ["h1-1:eth1", "leaf1:swp2"], vars: {speed: 25G}}
    - {endpoints: ["h1-2:eth1", "leaf1:swp3"], vars: {speed: 25G}}
    - {endpoints: ["h2-1:eth1", "leaf2:swp2"], vars: {speed: 25G}}
    - {endpoints: ["h2-2:eth1", "leaf2:swp3"], vars: {speed: 25G}}
`

// An agentLab is a lab with agents that the program itself runs.
type agentLab struct {
	t                          *testing.T
	program, name, dir, fabric string
}

func newAgentLab(t *testing.T) *agentLab {
	t.Helper()
	if missing := lab.MissingAgents(); len(missing) > 0 {
		if os.Getenv("CI") == "true" {
			t.Fatalf("not installed: %v", missing)
		}
		t.Skipf("not installed: %v", missing)
	}
	l := &agentLab{t: t, program: buildProgram(t), name: fmt.Sprintf("agents%d", os.Getpid()), dir: t.TempDir()}
	plan := filepath.Join(l.dir, "plan.clab.yml")
	if err := os.WriteFile(plan, []byte(inBand), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(l.program, "lab", "up", "file", plan, "--name", l.name, "--snmp").CombinedOutput()
	if err != nil {
		if bytes.Contains(out, []byte("no network namespaces here")) && os.Getenv("CI") != "true" {
			t.Skipf("cannot run here: %s", out)
		}
		t.Fatalf("lab up: %v\n%s", err, out)
	}
	t.Cleanup(func() { _ = exec.Command(l.program, "lab", "down", l.name).Run() })
	var listed struct{ Labs []lab.State }
	if err := json.Unmarshal([]byte(l.run("lab", "list", "-o", "json")), &listed); err != nil {
		t.Fatal(err)
	}
	for _, s := range listed.Labs {
		if s.Name == l.name {
			l.fabric = s.FabricFile
		}
	}
	return l
}

// command is the program with some arguments, or in a node of the lab what follows its name.
func (l *agentLab) command(arguments ...string) *exec.Cmd {
	c := exec.Command(l.program, arguments...)
	c.Env = append(os.Environ(), "WHICHLINK_SNMP_COMMUNITY="+lab.Community)
	return c
}

func (l *agentLab) in(node string, arguments ...string) *exec.Cmd {
	return l.command(append([]string{"lab", "exec", l.name, node, "--", l.program}, arguments...)...)
}

// finish runs a command that must succeed, and returns what it prints.
func (l *agentLab) finish(c *exec.Cmd) string {
	l.t.Helper()
	var errs bytes.Buffer
	c.Stderr = &errs
	out, err := c.Output()
	if err != nil {
		l.t.Fatalf("%s: %v\n%s%s", strings.Join(c.Args, " "), err, out, &errs)
	}
	return string(out)
}

func (l *agentLab) run(arguments ...string) string {
	l.t.Helper()
	return l.finish(l.command(arguments...))
}

// A judged is what is read of a suspect in the JSON of a diagnosis, which has more than can be read back.
type judged struct {
	ID          string   `json:"id"`
	Class       []string `json:"class"`
	Probability float64  `json:"probability"`
}

// suspects are those that files of evidence name.
func (l *agentLab) suspects(files ...string) (named []judged, text string) {
	l.t.Helper()
	text = l.run(append([]string{"localize", "--fabric", l.fabric, "-o", "json"}, files...)...)
	var d struct{ Suspects []judged }
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		l.t.Fatal(err)
	}
	for _, x := range d.Suspects {
		if x.Probability >= diagnose.Named {
			named = append(named, x)
		}
	}
	return named, text
}

// The program and real agents: what switches tell at port 161 is polled and crawled, and a queue that drops a little is named by probes and counters
// together, which neither can. Probes cannot tell the two arcs of the only way between leaves apart, since the spine never answers them. Counters
// see drops at a port, as at many a sound one.
func TestLabAgents(t *testing.T) {
	l := newAgentLab(t)
	l.polls()
	l.discovers()

	const bad = "leaf1:swp1>spine1:swp1"
	l.run("lab", "break", l.name, "police", "spine1", "--rate", "0")
	l.run("lab", "break", l.name, "slow", bad, "--rate", "40Mbit")
	l.run("lab", "break", l.name, "load", "h1-2", "h2-2", "--rate", "40.5Mbit")
	for _, host := range []string{"h1-1", "h1-2", "h2-1", "h2-2"} {
		c := l.in(host, "agent")
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	}
	// A machine that is busy starves hosts and agents at times, which looks like a fault of its own: one of three tries is enough.
	for try := 1; ; try++ {
		wrong := l.together(bad)
		if len(wrong) == 0 {
			break
		}
		if t.Logf("try %d: %s", try, strings.Join(wrong, "\n")); try == 3 {
			t.Fatal("probes and counters were not judged together in three tries")
		}
	}
	if out, err := l.command("lab", "down", l.name).CombinedOutput(); err != nil {
		t.Errorf("lab down: %v\n%s", err, out)
	}
}

// together has a fault measured by probes, by a watch of the switches and by a check that does both, and returns what is wrong with what they say.
func (l *agentLab) together(bad string) (wrong []string) {
	t := l.t
	t.Helper()
	fault := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	ports, probed, checked := filepath.Join(l.dir, "snmp.jsonl"), filepath.Join(l.dir, "probe.jsonl"), make(chan string, 1)
	watch := l.in(lab.ManagementNode, "snmp", "watch", "--fabric", l.fabric, "--status", "1s", "--counters", "2s", "--for", "13s", "--out", ports)
	var said bytes.Buffer
	watch.Stderr = &said
	if err := watch.Start(); err != nil {
		t.Fatal(err)
	}
	check := l.in("h2-1", "check", "--fabric", l.fabric, "--snmp", "--for", "11s", "-o", "json")
	go func() {
		out, _ := check.Output() // its exit code is its verdict
		checked <- string(out)
	}()
	time.Sleep(time.Second)
	l.finish(l.in("h1-1", "probe", "--fabric", l.fabric, "--out", probed, "--for", "11s", "-q"))
	if err := watch.Wait(); err != nil || !strings.Contains(said.String(), "3 of 3 agents answer") {
		t.Fatalf("%v\n%s", err, &said)
	}
	alone, text := l.suspects(probed)
	if len(alone) == 0 || len(alone[0].Class) < 2 {
		fault("probes alone were to name a class: %s", text)
	}
	if named, text := l.suspects(ports); len(named) > 0 && named[0].Probability >= sure {
		fault("drops alone were to be sure of nobody: %s", text)
	}
	if both, text := l.suspects(probed, ports); len(both) == 0 || both[0].Probability < sure || both[0].ID != bad || len(both[0].Class) != 1 || !strings.Contains(text, "packets discarded on the way out at leaf1:swp1") {
		fault("probes and counters: %s", text)
	}
	var d struct {
		Suspects []judged
		Sources  []diagnose.Source
	}
	text = <-checked
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		t.Fatalf("check: %v\n%s", err, text)
	}
	agents := map[string]bool{}
	for _, s := range d.Sources {
		agents[s.By] = s.Source == "snmp" && s.Records > 0
	}
	if check.ProcessState.ExitCode() == int(stateUnknown) || len(d.Suspects) == 0 || d.Suspects[0].ID != bad || !agents["leaf1"] || !agents["spine1"] {
		fault("check: %s", text)
	}
	return wrong
}

// polls has all agents of the fabric file asked at port 161, with v2c and with v3.
func (l *agentLab) polls() {
	l.t.Helper()
	secret := filepath.Join(l.dir, "v3.conf")
	text := fmt.Sprintf("user %s\nauth SHA-256 %s\npriv AES %s\n", lab.User, lab.AuthPassword, lab.PrivPassword)
	if err := os.WriteFile(secret, []byte(text), 0o600); err != nil {
		l.t.Fatal(err)
	}
	for _, arguments := range [][]string{nil, {"--credentials", secret}} {
		out := l.polled(append([]string{"--fabric", l.fabric, "-o", "json"}, arguments...))
		var polled pollResult
		if err := json.Unmarshal([]byte(out), &polled); err != nil || len(polled.Agents) != 3 {
			l.t.Fatalf("%v\n%s", err, out)
		}
		speeds := map[string]uint64{}
		for _, p := range polled.Agents[0].Ports {
			speeds[p.Name] = p.Speed / 1e9
		}
		// Of its ports as planned, of other devices that of any veth.
		if a := polled.Agents[0]; a.Node != "leaf1" || a.Error != "" || speeds["swp1"] != 100 || speeds["swp2"] != 25 || speeds["mgmt0"] != 10 {
			l.t.Errorf("%q: %+v", arguments, a)
		}
	}
}

// polled is what a poll prints. Agents that have just begun may not answer in time on a busy machine: one of three polls is enough.
func (l *agentLab) polled(arguments []string) string {
	l.t.Helper()
	arguments = append([]string{"snmp", "poll"}, arguments...)
	for range 2 {
		if out, err := l.in(lab.ManagementNode, arguments...).Output(); err == nil {
			return string(out)
		}
	}
	return l.finish(l.in(lab.ManagementNode, arguments...))
}

// discovers crawls the lab from one switch and holds the links between switches against the plan.
func (l *agentLab) discovers() {
	l.t.Helper()
	if lab.InUserNamespace() {
		return // no LLDP there
	}
	found := filepath.Join(l.dir, "found.clab.yml")
	var diff struct {
		Right             int
		Wrong, Unexpected []any
	}
	// Switches may not have heard each other yet, and an lldpd that finds snmpd busy speaks to it again only after 15 s.
	for until := time.Now().Add(time.Minute); ; time.Sleep(500 * time.Millisecond) {
		l.finish(l.in(lab.ManagementNode, "snmp", "discover", "10.255.0.1", "--out", found))
		out, _ := l.command("fabric", "diff", l.fabric, found, "-o", "json").Output() // its exit code says that hosts are missing, which speak no LLDP
		if err := json.Unmarshal(out, &diff); err != nil {
			l.t.Fatalf("%v\n%s", err, out)
		}
		if diff.Right == 2 || time.Now().After(until) {
			break
		}
	}
	if diff.Right != 2 || len(diff.Wrong)+len(diff.Unexpected) > 0 {
		l.t.Errorf("discovered against planned: %+v", diff)
	}
}
