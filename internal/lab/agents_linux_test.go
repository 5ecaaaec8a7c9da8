package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"whichlink/graphs"
	"whichlink/probes/snmp"
)

// needAgents skips a test where the agents' programs are not installed, and fails it where CI promises that they are.
func needAgents(t testing.TB) {
	t.Helper()
	needLab(t)
	missing := MissingAgents()
	switch {
	case len(missing) == 0:
	case os.Getenv("CI") == "true":
		t.Fatal(agentsUnavailable(missing))
	default:
		t.Skip(agentsUnavailable(missing))
	}
}

// Columns that the tests read.
const (
	ifName        = "1.3.6.1.2.1.31.1.1.1.1"
	ifHighSpeed   = "1.3.6.1.2.1.31.1.1.1.15"
	ifOperStatus  = "1.3.6.1.2.1.2.2.1.8"
	ifLastChange  = "1.3.6.1.2.1.2.2.1.9"
	ifInErrors    = "1.3.6.1.2.1.2.2.1.14"
	ifOutDiscards = "1.3.6.1.2.1.2.2.1.19"
	dot3FCS       = "1.3.6.1.2.1.10.7.2.1.3"
	lldpLocPortID = "1.0.8802.1.1.2.1.3.7.1.3"
	lldpRemPortID = "1.0.8802.1.1.2.1.4.1.1.7"
	lldpRemName   = "1.0.8802.1.1.2.1.4.1.1.9"
)

// dialAgent begins a session with a switch's agent, as any program in the management network does.
func dialAgent(t *testing.T, l *Lab, node string, limits snmp.Limits) (s *snmp.Session) {
	t.Helper()
	n, _ := l.fabric.NodeByName(node)
	err := l.DoManagement(func() (err error) {
		s, err = snmp.Dial(t.Context(), l.fabric.Node(n).Management.String(), snmp.Credentials{Community: Community}, limits)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// ask sweeps columns of a switch's agent.
func ask(t *testing.T, l *Lab, node string, columns ...string) (map[string]map[string]snmp.Value, error) {
	t.Helper()
	s := dialAgent(t, l, node, snmp.Limits{Retries: 6})
	defer s.Close()
	table := map[string]map[string]snmp.Value{}
	for _, c := range columns {
		table[c] = map[string]snmp.Value{}
	}
	err := s.Sweep(t.Context(), nil, columns, func(c snmp.Cell) { table[columns[c.Column]][c.Index.String()] = c.Value }, func(int, snmp.Value) {})
	return table, err
}

// portValues is a column of a switch's ports, by port name.
func portValues(t *testing.T, l *Lab, node, column string) map[string]uint64 {
	t.Helper()
	table, err := ask(t, l, node, ifName, column)
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]uint64{}
	for index, name := range table[ifName] {
		if v, ok := table[column][index]; ok {
			values[name.Text] = v.Number
		}
	}
	return values
}

// heardOf lists what a switch hears, as links. While lldpd starts, its part of the tree is an error.
func heardOf(t *testing.T, l *Lab, node string) []string {
	t.Helper()
	table, err := ask(t, l, node, lldpLocPortID, lldpRemPortID, lldpRemName)
	if err != nil {
		return []string{err.Error()}
	}
	links := []string{}
	for index, far := range table[lldpRemName] {
		parts := strings.Split(index, ".") // TimeMark.LocalPortNum.RemIndex
		links = append(links, fmt.Sprintf("%s:%s--%s:%s", node, table[lldpLocPortID][parts[1]].Text, far.Text, table[lldpRemPortID][index].Text))
	}
	slices.Sort(links)
	return links
}

// eventually tries until a check finds nothing wrong.
func eventually(t *testing.T, most time.Duration, wrong func() string) {
	t.Helper()
	for until := time.Now().Add(most); ; time.Sleep(100 * time.Millisecond) {
		text := wrong()
		if text == "" {
			return
		}
		if time.Now().After(until) {
			t.Error(text)
			return
		}
	}
}

func newWithAgents(t *testing.T, f *graphs.Fabric) *Lab {
	t.Helper()
	needAgents(t)
	l, err := New(t.Context(), Config{Fabric: f, SNMP: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// What the agents say is what the kernel does.
func TestAgents(t *testing.T) {
	l := newWithAgents(t, must(testFabric()))
	plan := func(switches ...string) map[string][]string {
		want := map[string][]string{}
		for _, name := range switches {
			n, _ := l.fabric.NodeByName(name)
			want[name] = []string{}
			for _, a := range l.Wired().Out(n) {
				if !l.fabric.IsHostArc(a) {
					want[name] = append(want[name], strings.Replace(l.Wired().ArcName(a), ">", "--", 1))
				}
			}
			slices.Sort(want[name])
		}
		return want
	}
	lldp := !InUserNamespace()
	neighbours := func() {
		t.Helper()
		if !lldp {
			return
		}
		eventually(t, time.Minute, func() string { // an lldpd that finds snmpd busy speaks to it again only after 15 s
			got := map[string][]string{}
			want := plan("leaf1", "leaf2", "spine1", "spine2")
			for name := range want {
				got[name] = heardOf(t, l, name)
			}
			return cmp.Diff(want, got)
		})
	}
	neighbours()

	speeds := portValues(t, l, "leaf1", ifHighSpeed)
	delete(speeds, "lo")
	if diff := cmp.Diff(map[string]uint64{"swp1": 100_000, "swp2": 100_000, "swp3": 25_000, "mgmt0": 10_000}, speeds); diff != "" {
		t.Errorf("speeds in Mbit/s, planned and said: %s", diff)
	}
	const arc = "leaf1:swp1>spine1:swp1"
	traffic := mustBreak(t, l, "load", FaultOptions{Rate: "20Mbit"}, "h1-1", "h2-1")
	silent := mustBreak(t, l, "loss", FaultOptions{Rate: "5%"}, arc)
	time.Sleep(500 * time.Millisecond)
	if hit := l.Truth()[1].Hit; hit == 0 {
		t.Error("the silent loss hit nothing")
	}
	if got := portValues(t, l, "spine1", ifInErrors); got["swp1"] != 0 {
		t.Errorf("a silent loss is counted: %v", got)
	}
	mustHeal(t, l, silent)
	counted := mustBreak(t, l, "loss", FaultOptions{Rate: "5%", Counted: true}, arc)
	shaped := mustBreak(t, l, "slow", FaultOptions{Rate: "1Mbit"}, "spine1:swp2>leaf2:swp1")
	time.Sleep(time.Second)
	mustHeal(t, l, traffic)
	time.Sleep(2 * freshness)
	truth := map[FaultID]uint64{}
	for _, f := range l.Truth() {
		truth[f.ID] = f.Hit
	}
	check := func() {
		t.Helper()
		time.Sleep(2 * freshness)
		errs, fcs, drops := portValues(t, l, "spine1", ifInErrors), portValues(t, l, "spine1", dot3FCS), portValues(t, l, "spine1", ifOutDiscards)
		if n := truth[counted]; n == 0 || errs["swp1"] < n || errs["swp1"] > n+5 || fcs["swp1"] != errs["swp1"] || errs["swp2"] != 0 {
			t.Errorf("%d packets were lost on the way to spine1:swp1; errors %v, FCS %v", n, errs, fcs)
		}
		if n := truth[shaped]; n == 0 || drops["swp2"] < n || drops["swp2"] > n+5 || drops["swp1"] != 0 {
			t.Errorf("the queue of spine1:swp2 dropped %d; discards %v", n, drops)
		}
	}
	check()
	for _, id := range []FaultID{counted, shaped} {
		mustHeal(t, l, id)
	}
	check() // counters do not go back

	// A flap that is over before a snapshot of three seconds sees it.
	before := portValues(t, l, "leaf1", ifLastChange)["swp2"]
	down := mustBreak(t, l, "down", FaultOptions{}, "leaf1:swp2--spine2:swp1")
	time.Sleep(50 * time.Millisecond)
	mustHeal(t, l, down)
	if got := portValues(t, l, "leaf1", ifLastChange); got["swp2"] <= before || got["swp1"] != 0 {
		t.Errorf("after a flap the last changes are %v, before %d", got, before)
	}
	if got := portValues(t, l, "leaf1", ifOperStatus)["swp2"]; got != 1 {
		t.Errorf("after a flap the state is %d", got)
	}
	down = mustBreak(t, l, "down", FaultOptions{}, "leaf1:swp2--spine2:swp1")
	eventually(t, 30*time.Second, func() string {
		a, b := portValues(t, l, "leaf1", ifOperStatus)["swp2"], portValues(t, l, "spine2", ifOperStatus)["swp1"]
		if a == 2 && b == 2 && (!lldp || len(heardOf(t, l, "leaf1")) == 1) {
			return ""
		}
		return fmt.Sprintf("a link is down: its ends say %d and %d, heard is %v", a, b, heardOf(t, l, "leaf1"))
	})
	mustHeal(t, l, down)

	mute := mustBreak(t, l, "mute", FaultOptions{}, "spine2")
	s := dialAgent(t, l, "spine2", snmp.Limits{Retries: 1})
	if _, err := s.Get(t.Context(), "1.3.6.1.2.1.1.3.0"); !errors.Is(err, snmp.ErrNoAnswer) {
		t.Errorf("a mute agent: %v", err)
	}
	s.Close()
	mustHeal(t, l, mute)
	mustBreak(t, l, "miswire", FaultOptions{}, "leaf1:swp1--spine1:swp1", "leaf2:swp2--spine2:swp2")
	neighbours()
}

// inSpace lists the processes in a network namespace.
func inSpace(t *testing.T, inode uint64) (commands []string) {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range all {
		if link, err := os.Readlink(path); err == nil && link == "net:["+strconv.FormatUint(inode, 10)+"]" {
			name, _ := os.ReadFile(filepath.Join(filepath.Dir(filepath.Dir(path)), "comm"))
			commands = append(commands, strings.TrimSpace(string(name)))
		}
	}
	return commands
}

// A keeper that is killed takes its agents with it.
func TestAgentsAfterKill(t *testing.T) {
	needAgents(t)
	name := testName() + "s"
	before := traces(t, name)
	s := startNamed(t, name, true)
	if len(s.Namespaces) == 0 {
		t.Skip("the namespaces of a lab inside a user namespace have no names")
	}
	var stat syscall.Stat_t
	if err := syscall.Stat(filepath.Join(namedDir, name+"-leaf1"), &stat); err != nil {
		t.Fatal(err)
	}
	if got := inSpace(t, stat.Ino); !slices.Contains(got, "snmpd") || !slices.Contains(got, "lldpd") {
		t.Errorf("in leaf1 run %v", got)
	}
	if out, code := runNamed(t, name, ManagementNode, "ip -br address show dev lo"); code != 0 || !strings.Contains(out, "172.20.20.1") {
		t.Errorf("the management network: %d, %s", code, out)
	}
	if err := syscall.Kill(s.Keeper, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, 30*time.Second, func() string {
		if left := inSpace(t, stat.Ino); len(left) > 0 {
			return fmt.Sprintf("still running: %v", left)
		}
		return ""
	})
	if err := Remove(context.Background(), name); err != nil {
		t.Error(err)
	}
	if after := traces(t, name); after != before {
		t.Errorf("left behind:\n%s\nbefore:\n%s", after, before)
	}
}
