package cli

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"whichlink/graphs"
	"whichlink/internal/diagnose"
	"whichlink/internal/lab"
	"whichlink/probes/snmp"
	"whichlink/tui"
)

// What can be asked for from the screens states its target, its rate and where the answer is; what cannot says why.
func TestProposals(t *testing.T) {
	f, err := drillFabric()
	if err == nil {
		f, err = lab.WithAddresses(f)
	}
	if err != nil {
		t.Fatal(err)
	}
	h, _ := f.NodeByName("h1-1")
	other, _ := f.NodeByName("h4-2")
	watch, err := diagnose.NewWatch(diagnose.WatchConfig{Fabric: f, Rate: 1000, Hosts: []diagnose.WatchHost{{Node: h}, {Node: other}}})
	if err != nil {
		t.Fatal(err)
	}
	a := &asker{watch: watch, hosts: watch.Hosts(), rate: 2000}
	managed, err := lab.WithManagement(f)
	if err != nil {
		t.Fatal(err)
	}
	far, err := diagnose.NewWatch(diagnose.WatchConfig{Fabric: managed, Rate: 1000, Hosts: []diagnose.WatchHost{{Node: h}}})
	if err != nil {
		t.Fatal(err)
	}
	secret := filepath.Join(t.TempDir(), "snmp.conf")
	if err := os.WriteFile(secret, []byte("community hunter2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	polls := &asker{watch: far, hosts: far.Hosts(), rate: 1000, agent: func(n graphs.NodeID) (snmp.WatchConfig, error) {
		c, err := snmp.LoadCredentials(secret)
		return snmp.WatchConfig{Agents: []snmp.WatchedAgent{agentOfSwitch(managed, n)}, Credentials: c}, err
	}}
	closed := &asker{watch: far, hosts: far.Hosts(), rate: 1000, agent: func(graphs.NodeID) (snmp.WatchConfig, error) {
		return snmp.WatchConfig{}, errors.New("no community")
	}}
	for _, c := range []struct {
		a    *asker
		q    tui.Inquiry
		want []string // parts of the proposal, or of the error
		fail bool
	}{
		{a, tui.Inquiry{Kind: tui.Harder, Of: "leaf1:swp1>spine1:swp1"}, []string{"Probe leaf1:swp1>spine1:swp1 harder", "2 hosts", "up to 1000 of the 2000 packets/s"}, false},
		{a, tui.Inquiry{Kind: tui.Harder, Of: "spine2"}, []string{"Probe spine2 harder"}, false},
		{a, tui.Inquiry{Kind: tui.Harder, Of: "leaf1:swp1"}, []string{"Probe leaf1:swp1 harder"}, false},
		{a, tui.Inquiry{Kind: tui.Harder, Of: "\x1bleaf"}, []string{"is no link, arc, port, switch or group"}, true},
		{a, tui.Inquiry{Kind: tui.Trace, Dst: "h3-1"}, []string{"Trace h1-1 > h3-1", "8 new flows from h1-1 to h3-1", "up to 500 of the 1000 packets/s", "the paths screen"}, false},
		{a, tui.Inquiry{Kind: tui.Trace, Src: "h4-2", Dst: "h3-1"}, []string{"Trace h4-2 > h3-1"}, false},
		{a, tui.Inquiry{Kind: tui.Trace, Src: "h2-1", Dst: "h3-1"}, []string{"packets leave from h1-1 alone: on h2-1 run whichlink trace"}, true},
		{a, tui.Inquiry{Kind: tui.Trace, Src: "h1-1", Dst: "h1-1"}, []string{"is both ends"}, true},
		{a, tui.Inquiry{Kind: tui.Trace, Src: "h1-1", Dst: "spine1"}, []string{"is no host"}, true},
		{a, tui.Inquiry{Kind: tui.Poll, Of: "spine1"}, []string{"whichlink --drill --snmp"}, true},
		{polls, tui.Inquiry{Kind: tui.Poll, Of: "spine1"}, []string{"Poll spine1", "172.20.20.", "reading only", "one request in flight each", "events"}, false},
		{polls, tui.Inquiry{Kind: tui.Poll, Of: "h1-1"}, []string{"is no switch"}, true},
		{closed, tui.Inquiry{Kind: tui.Poll, Of: "spine1"}, []string{"no community"}, true},
	} {
		p, err := c.a.Propose(c.q)
		if (err != nil) != c.fail {
			t.Errorf("%v: %v", c.q, err)
			continue
		}
		text := p.Title + "\n" + p.Target + "\n" + p.Rate + "\n" + p.Answer
		if err != nil {
			text = err.Error()
		} else if p.For <= 0 || p.Run == nil {
			t.Errorf("%v: for %s", c.q, p.For)
		}
		for _, w := range c.want {
			if !strings.Contains(text, w) {
				t.Errorf("%v: no %q in\n%s", c.q, w, text)
			}
		}
		if strings.Contains(text, "\x1b") || strings.Contains(text, "hunter2") {
			t.Errorf("%v: %q", c.q, text)
		}
	}
}
