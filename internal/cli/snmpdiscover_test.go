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

	"github.com/google/go-cmp/cmp"

	"whichlink/probes/snmp"
	"whichlink/probes/snmp/agentsim"
)

// A talker is a system of a small network: its ports, Ethernet1, Ethernet2, ... are cabled to ports of others, written node:port. It says that it is managed at
// 127.1.0.N, but for N = 0, and if it answers an agent does there.
type talker struct {
	name    string
	n       int
	answers bool
	cables  []string
}

func (k *talker) chassis() string { return "\x02\x00\x00\x00" + k.name[:2] }

// tree is what the talker's agent serves. Its numbers by LLDP are 1, 2, ..., its interfaces 101, 102, ..., and interface 1 is another.
func (k *talker) tree(all map[string]*talker) *agentsim.Tree {
	t := &agentsim.Tree{}
	const integer, octets, gauge = 0x02, 0x04, 0x42
	const interfaces, extended, local, remote = "1.3.6.1.2.1.2.2.1.", "1.3.6.1.2.1.31.1.1.1.", "1.0.8802.1.1.2.1.3.", "1.0.8802.1.1.2.1.4."
	t.Set("1.3.6.1.2.1.1.5.0", octets, k.name+".dc.example.net")
	t.Set(local+"1.0", integer, 4)
	t.Set(local+"2.0", octets, k.chassis())
	t.Set(local+"3.0", octets, k.name)
	t.Set(local+"6.0", octets, "\x28")
	t.Set(extended+"1.1", octets, "Vlan1")
	t.Set(interfaces+"3.1", integer, 53)
	for i, far := range k.cables {
		at := func(column string, index int) string { return fmt.Sprintf("%s.%d", column, index) }
		name := fmt.Sprintf("Ethernet%d", i+1)
		t.Set(at(interfaces+"3", 101+i), integer, 6)
		t.Set(at(interfaces+"8", 101+i), integer, 1)
		t.Set(at(extended+"1", 101+i), octets, name)
		t.Set(at(extended+"15", 101+i), gauge, 100_000)
		t.Set(at(local+"7.1.2", i+1), integer, 5)
		t.Set(at(local+"7.1.3", i+1), octets, name)
		node, port, _ := strings.Cut(far, ":")
		other := all[node]
		row := func(column int) string { return fmt.Sprintf("%s1.1.%d.0.%d.1", remote, column, i+1) }
		t.Set(row(4), integer, 4)
		t.Set(row(5), octets, other.chassis())
		t.Set(row(6), integer, 5)
		t.Set(row(7), octets, port)
		t.Set(row(9), octets, node)
		if other.n > 0 {
			t.Set(fmt.Sprintf("%s2.1.3.0.%d.1.1.4.127.1.0.%d", remote, i+1, other.n), integer, 2)
		} else {
			t.Set(row(12), octets, "\x01")
		}
	}
	return t
}

// serve starts the agents at one port of their addresses, and returns the port.
func serve(t *testing.T, network []*talker) (port string) {
	t.Helper()
	all := map[string]*talker{}
	for _, k := range network {
		all[k.name] = k
	}
	port = "0"
	for _, k := range network {
		if !k.answers {
			continue
		}
		agent, err := agentsim.Start(fmt.Sprintf("127.1.0.%d:%s", k.n, port), "opensesame", k.tree(all), agentsim.Faults{})
		if err != nil {
			t.Skip("no addresses 127.1.0.x here:", err)
		}
		t.Cleanup(func() { agent.Close() })
		_, port, _ = strings.Cut(agent.Address(), ":")
	}
	return port
}

// A miswired leaf-spine is crawled from one leaf: one spine's agent is dead, a server tells a name that would clear the screen. The fabric that is found goes
// through fabric diff, which names the plugs to move.
func TestDiscoverAndDiff(t *testing.T) {
	const evil = "h1\x1b[2J"
	port := serve(t, []*talker{
		{"l1", 3, true, []string{"s1:Ethernet2", "s2:Ethernet1", "s3:Ethernet1"}}, {"l2", 4, true, []string{"s1:Ethernet1", "s2:Ethernet2", evil + ":eth0"}},
		{"s1", 1, true, []string{"l2:Ethernet1", "l1:Ethernet1"}}, {"s2", 2, true, []string{"l1:Ethernet2", "l2:Ethernet2"}}, {"s3", 5, false, nil}, {evil, 0, false, nil},
	})
	t.Setenv(snmp.CommunityVariable, "opensesame")
	found := filepath.Join(t.TempDir(), "found.clab.yml")
	run := func(arguments ...string) (string, string) {
		t.Helper()
		var out, told bytes.Buffer
		if code := Main(context.Background(), arguments, nil, &out, &told, os.DirFS(".")); code != 0 {
			t.Fatalf("%v: exit code %d: %s", arguments, code, told.String())
		}
		if strings.Contains(out.String()+told.String(), "opensesame") || strings.Contains(out.String()+told.String(), "\x1b") {
			t.Errorf("%v prints a secret or a control character:\n%s%s", arguments, out.String(), told.String())
		}
		return out.String(), told.String()
	}

	out, told := run("snmp", "discover", "127.1.0.3:"+port, "--out", found, "-o", "json", "-v")
	for _, want := range []string{
		"127.1.0.5:" + port + ": no agent listens (s3 as its neighbours say): what it hears is not known", "not asked, since they tell no address: 1 neighbour",
		"l1: lldp port 1 is Ethernet1, by port id; hears s1:Ethernet2, by port id", "known by their neighbours only, having reported nothing: s3, h1\ufffd[2J",
	} {
		if !strings.Contains(told, want) {
			t.Errorf("%q is not told in:\n%s", want, told)
		}
	}
	var d discovery
	if err := json.Unmarshal([]byte(out), &d); err != nil {
		t.Fatal(err)
	}
	var links []string
	for _, l := range d.Links {
		links = append(links, fmt.Sprintf("%s %d", l.Link, l.Told))
	}
	if diff := cmp.Diff([]string{
		"l1:Ethernet1--s1:Ethernet2 2", "l1:Ethernet2--s2:Ethernet1 2", "l1:Ethernet3--s3:Ethernet1 1", "s1:Ethernet1--l2:Ethernet1 2",
		"s2:Ethernet2--l2:Ethernet2 2", "l2:Ethernet3--h1\ufffd[2J:eth0 1",
	}, links); diff != "" {
		t.Error(diff)
	}

	plan := filepath.Join(t.TempDir(), "plan.txt")
	if err := os.WriteFile(plan, []byte(`name: plan
topology:
  nodes: {l1: {group: leaf}, l2: {group: leaf}, s1: {group: spine}, s2: {group: spine}, s3: {group: spine}}
  links:
    - endpoints: ["l1:eth1", "s1:eth1"]
    - endpoints: ["l1:eth2", "s2:eth1"]
    - endpoints: ["l1:eth3", "s3:eth1"]
    - endpoints: ["l2:eth1", "s1:eth2"]
    - endpoints: ["l2:eth2", "s2:eth2"]
`), 0o600); err != nil {
		t.Fatal(err)
	}
	out, _ = run("fabric", "diff", plan, found)
	for _, want := range []string{"3 right, 2 wrong, 0 missing", "move 2 plugs", "exchange the plugs at s1:eth2 and s1:eth1 (the cables from l1:eth1 and l2:eth1)"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in:\n%s", want, out)
		}
	}
}
