package snmp

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"whichlink/internal/evidence"
	"whichlink/probes/snmp/agentsim"
	"whichlink/probes/snmp/ber"
)

// A tape keeps records of a watch.
type tape struct {
	mu      sync.Mutex // guards records
	records []*evidence.Record
}

func (p *tape) record(r *evidence.Record) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.records = append(p.records, r)
}

// find waits for a record.
func (p *tape) find(t *testing.T, what string, is func(r *evidence.Record) bool) *evidence.Record {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		p.mu.Lock()
		records := p.records
		p.mu.Unlock()
		if i := slices.IndexFunc(records, is); i >= 0 {
			return records[i]
		}
	}
	t.Fatalf("no record of %s", what)
	return nil
}

func (p *tape) count(is func(r *evidence.Record) bool) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.records {
		if is(r) {
			n++
		}
	}
	return n
}

// watching runs a watch until the test ends.
func watching(t *testing.T, cfg WatchConfig) (*Watch, *tape) {
	t.Helper()
	p := &tape{}
	cfg.Record = p.record
	w := NewWatch(cfg)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(10 * time.Second):
			t.Error("the watch does not end")
		}
	})
	return w, p
}

func isEvent(port, event string) func(r *evidence.Record) bool {
	return func(r *evidence.Record) bool {
		return r.Kind == evidence.KindEvent && r.Port == port && r.Event == event
	}
}

// TestWatch plays a switch whose ports go down, flap unseen and count, one that is dead, and a storm of traps.
func TestWatch(t *testing.T) {
	t.Parallel()
	const carrierColumn = "1.3.6.1.4.1.9.9.276.1.1.2.1.4"
	tree := device(4)
	for i := 1; i <= 4; i++ {
		tree.Set(fmt.Sprintf("%s.%d", carrierColumn, i), agentsim.Counter32, 40)
	}
	for _, c := range []string{"1.1.1.1.5.1", "1.2.1.1.6.2.0", "1.2.1.1.6.2.1"} { // JUNIPER-DOM-MIB: a module with one lane, and two lanes of another
		tree.Set("1.3.6.1.4.1.2636.3.60."+c, ber.Integer, -231)
	}
	sim := start(t, tree, agentsim.Faults{})
	traps, err := ListenTraps(TrapConfig{Address: "127.0.0.1:0", Credentials: Credentials{Community: "public"}})
	if err != nil {
		t.Fatal(err)
	}
	dead, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer dead.Close()
	w, p := watching(t, WatchConfig{
		Agents: []WatchedAgent{{Name: "sw01", Target: sim.Address(), Addresses: []netip.Addr{netip.MustParseAddr("127.0.0.1")}}, {Name: "sw02", Target: dead.LocalAddr().String()}},
		Status: 50 * time.Millisecond, Counters: 200 * time.Millisecond, Traps: traps, Rate: 1e5,
		Credentials: Credentials{Community: "public"}, Limits: Limits{Timeout: 250 * time.Millisecond, Retries: 1},
	})
	isCount := func(r *evidence.Record) bool { return r.Kind == evidence.KindCounters && r.Port == "sw01:swp2" }
	first := p.find(t, "counters", isCount)
	if first.By != "sw01" || first.Source != evidence.SourceSNMP || first.Speed != 10e9 || first.Oper != "up" || first.In == nil || *first.In.Octets != 0 || *first.In.Errors != 0 {
		t.Errorf("%+v", first)
	}
	if light := first.Optics; len(light) != 2 || light[1].Lane != 2 || light[1].Rx == nil || *light[1].Rx != -2.31 || light[1].Tx != nil {
		t.Errorf("light %+v", light)
	}
	sim.Change(func(tree *agentsim.Tree) {
		tree.Set(ifXEntry+"6.2", agentsim.Counter64, uint64(2e9+1_000_000))
		tree.Set(ifEntry+"8.3", ber.Integer, 2)
		tree.Set(carrierColumn+".4", agentsim.Counter32, 64)
	})
	p.find(t, "octets", func(r *evidence.Record) bool {
		return isCount(r) && r.In != nil && *r.In.Octets == 1_000_000 && r.Optics == nil
	}) // the light was told
	p.find(t, "a port that is down", isEvent("sw01:swp3", evidence.Down))
	flap := p.find(t, "flaps that no poll saw", isEvent("sw01:swp4", evidence.Flapped))
	if *flap.Count != 12 || flap.Text != string(ByCarrier) || flap.WindowMS <= 0 {
		t.Errorf("%+v", flap)
	}
	p.find(t, "a dead agent", func(r *evidence.Record) bool {
		return r.Kind == evidence.KindNote && strings.HasPrefix(r.Text, "sw02 tells nothing by SNMP, which is no fault of its links")
	})

	// A thousand traps of one port are kept as some events and a count.
	conn, err := net.Dial("udp", traps.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for i := range 1000 {
		if _, err := conn.Write(linkTrap(t, "public", []TrapKind{LinkDown, LinkUp}[i%2], 1)); err != nil {
			t.Fatal(err)
		}
	}
	waitFor(t, traps, func(s TrapStats) bool { return s.Taken == 1000 })
	p.find(t, "a port of which traps tell", isEvent("sw01:swp1", evidence.Up))
	time.Sleep(2 * trapPause)
	downs, more := 0, 0
	p.count(func(r *evidence.Record) bool {
		if isEvent("sw01:swp1", evidence.Down)(r) && r.Text == "trap" {
			downs++
		}
		if isEvent("sw01:swp1", evidence.Flapped)(r) {
			more += *r.Count
		}
		return false
	})
	if downs+more != 500 || downs > 10*turnsTold {
		t.Errorf("%d events and %d counted, of 500 times that it went down", downs, more)
	}
	if n := p.count(func(r *evidence.Record) bool { return r.Kind == evidence.KindEvent && r.Port == "sw01:swp2" }); n > 0 {
		t.Errorf("%d events of a port to which nothing happened", n)
	}
	if requests, answering := w.Stats(); requests < 10 || answering != 1 {
		t.Errorf("%d requests, %d agents answer", requests, answering)
	}
}

// hears adds to a switch that one of its ports hears a neighbour by LLDP, in a row of some index.
func hears(tree *agentsim.Tree, port, row int, system, remote string) {
	for column, text := range map[string]string{"5": system, "7": remote, "9": system} {
		tree.Set(fmt.Sprintf("%s4.1.1.%s.100.%d.%d", lldpBase, column, port, row), ber.OctetString, text)
	}
	for _, column := range []string{"4", "6"} { // chassis: local(7); port: interfaceName(5)
		tree.Set(fmt.Sprintf("%s4.1.1.%s.100.%d.%d", lldpBase, column, port, row), ber.Integer, map[string]int{"4": 7, "6": 5}[column])
	}
	tree.Set(fmt.Sprintf("%s3.7.1.2.%d", lldpBase, port), ber.Integer, 5)
	tree.Set(fmt.Sprintf("%s3.7.1.3.%d", lldpBase, port), ber.OctetString, fmt.Sprintf("swp%d", port))
}

// lldpGone is what a switch counts of neighbours that went.
func lldpGone(tree *agentsim.Tree, deletes int) {
	tree.Set(stateLLDPDeletes, agentsim.Gauge32, deletes)
	tree.Set(stateLLDPAgeouts, agentsim.Gauge32, 0)
	tree.Set(stateLLDPChange, agentsim.TimeTicks, 100+deletes)
}

// TestWatchNeighbours: whom ports hear is read again when the switch says that it changed. A neighbour in another row was away.
func TestWatchNeighbours(t *testing.T) {
	t.Parallel()
	tree := device(4)
	for i := 1; i <= 4; i++ {
		hears(tree, i, i, fmt.Sprintf("spine%d", i), "swp7")
	}
	lldpGone(tree, 0)
	sim := start(t, tree, agentsim.Faults{})
	_, p := watching(t, WatchConfig{Agents: []WatchedAgent{{Name: "sw01", Target: sim.Address()}}, Status: 50 * time.Millisecond, Counters: time.Second,
		Rate: 1e5, Credentials: Credentials{Community: "public"}})
	neighbour := func(port, system string) func(r *evidence.Record) bool {
		return func(r *evidence.Record) bool {
			return r.Kind == evidence.KindNeighbour && r.Port == port && r.RemoteSystem == system
		}
	}
	if r := p.find(t, "a neighbour", neighbour("sw01:swp2", "spine2")); r.RemotePort != "swp7" || r.By != "sw01" {
		t.Errorf("%+v", r)
	}
	sim.Change(func(tree *agentsim.Tree) {
		tree.Delete(lldpBase + "4.1.1")
		for i, row := range []int{1, 9, 3} {
			hears(tree, i+1, row, fmt.Sprintf("spine%d", i+1), "swp7")
		}
		lldpGone(tree, 2)
	})
	if r := p.find(t, "a neighbour that was away", isEvent("sw01:swp2", evidence.Flapped)); r.Text != string(ByNeighbour) || *r.Count != 1 {
		t.Errorf("%+v", r)
	}
	p.find(t, "a neighbour that is gone", neighbour("sw01:swp4", ""))
	if n := p.count(func(r *evidence.Record) bool { return r.Kind == evidence.KindEvent }); n != 1 {
		t.Errorf("%d events", n)
	}
}

// TestWatchBudget holds a watch to a third of the time of an agent, and to the rate of all.
func TestWatchBudget(t *testing.T) {
	t.Parallel()
	slow := start(t, device(4), agentsim.Faults{Delay: 50 * time.Millisecond})
	_, p := watching(t, WatchConfig{Agents: []WatchedAgent{{Name: "sw01", Target: slow.Address()}}, Status: 20 * time.Millisecond, Counters: 100 * time.Millisecond,
		Credentials: Credentials{Community: "public"}})
	p.find(t, "an agent that is slow", func(r *evidence.Record) bool { return strings.Contains(r.Text, "so that it is asked every") })
	asked, began := slow.Requests(), time.Now()
	time.Sleep(2 * time.Second)
	busy := float64(slow.Requests()-asked) * 0.05 / time.Since(began).Seconds()
	if busy > 0.45 {
		t.Errorf("the agent is busy for %.0f %% of the time", 100*busy)
	}
	quick := start(t, device(4), agentsim.Faults{})
	watching(t, WatchConfig{Agents: []WatchedAgent{{Name: "sw02", Target: quick.Address()}}, Status: time.Millisecond, Counters: time.Millisecond, Rate: 20,
		Credentials: Credentials{Community: "public"}})
	time.Sleep(time.Second)
	asked, began = quick.Requests(), time.Now()
	time.Sleep(2 * time.Second)
	if rate := float64(quick.Requests()-asked) / time.Since(began).Seconds(); rate > 60 {
		t.Errorf("%.0f requests a second", rate)
	}
}

// TestWatchNow has an agent read because somebody asks for it, with sockets that are opened where the caller says.
func TestWatchNow(t *testing.T) {
	t.Parallel()
	sim := start(t, device(4), agentsim.Faults{})
	var opened atomic.Int32
	w, p := watching(t, WatchConfig{Agents: []WatchedAgent{{Name: "sw01", Target: sim.Address()}}, Status: time.Second, Counters: time.Hour,
		Credentials: Credentials{Community: "public"}, Limits: Limits{Open: func(open func() error) error { opened.Add(1); return open() }}})
	isCount := func(r *evidence.Record) bool { return r.Kind == evidence.KindCounters && r.Port == "sw01:swp2" }
	if w.Now("sw02") || !w.Now("sw01") {
		t.Error("it is not known whom it watches")
	}
	for reading := 1; reading <= 2; reading++ {
		for end := time.Now().Add(20 * time.Second); p.count(isCount) < reading && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
			w.Now("sw01")
		}
		if n := p.count(isCount); n < reading {
			t.Fatalf("%d readings of counters", n)
		}
	}
	if opened.Load() != 2 { // one for the states, one for the counters
		t.Errorf("%d sockets were opened where they should be", opened.Load())
	}
}

// TestTrapBeforeNames has traps of a port whose name is still to be read: they wait for it, unless the agent does not answer.
func TestTrapBeforeNames(t *testing.T) {
	t.Parallel()
	at := netip.MustParseAddr("127.0.0.1")
	for _, c := range []struct {
		name, port string
		answers    bool
	}{{"an agent that answers", "sw01:swp3", true}, {"a dead one", "sw01:#3", false}} {
		p := &tape{}
		w := NewWatch(WatchConfig{Agents: []WatchedAgent{{Name: "sw01", Target: "127.0.0.1:1", Addresses: []netip.Addr{at}}}, Record: p.record})
		w.trap(Trap{Kind: LinkDown, From: at, Index: 3, Time: time.Now()})
		a := w.agents[0]
		a.flush(false)
		if len(p.records) > 0 {
			t.Errorf("%s: told before its names were read: %+v", c.name, p.records[0])
		}
		if c.answers {
			a.names = map[uint32]string{3: "swp3"}
		} else {
			a.failures = 1
		}
		a.flush(false)
		if p.count(isEvent(c.port, evidence.Down)) != 1 || len(p.records) != 1 {
			t.Errorf("%s: %d records, none of %s", c.name, len(p.records), c.port)
		}
	}
}

// TestWatchNetSNMP asks and hears a real agent, by SNMPv3.
func TestWatchNetSNMP(t *testing.T) {
	snmpd, snmptrap := needs(t, "snmpd"), needs(t, "snmptrap")
	dir := t.TempDir()
	probe, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := probe.LocalAddr().String()
	probe.Close()
	conf := filepath.Join(dir, "snmpd.conf")
	text := "agentaddress udp:" + address + "\ncreateUser mon SHA-256 authpass12 AES privpass12\nrouser mon priv\n"
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	agent := exec.Command(snmpd, "-f", "-C", "-c", conf, "-Lf", filepath.Join(dir, "log"), "-p", filepath.Join(dir, "pid"))
	agent.Env = append(os.Environ(), "SNMP_PERSISTENT_DIR="+dir, "MIBS=")
	if err := agent.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = agent.Process.Kill(); _ = agent.Wait() })
	credentials := Credentials{User: "mon", Auth: "SHA-256", AuthPassword: "authpass12", Priv: "AES", PrivPassword: "privpass12"}
	traps, err := ListenTraps(TrapConfig{Address: "127.0.0.1:0", Credentials: credentials})
	if err != nil {
		t.Fatal(err)
	}
	me := netip.MustParseAddr("127.0.0.1")
	_, p := watching(t, WatchConfig{Agents: []WatchedAgent{{Name: "real", Target: address, Addresses: []netip.Addr{me}}}, Status: 200 * time.Millisecond, Counters: 500 * time.Millisecond,
		Traps: traps, Credentials: credentials})
	r := p.find(t, "counters of a real interface", func(r *evidence.Record) bool {
		return r.Kind == evidence.KindCounters && r.In != nil && r.In.Octets != nil
	})
	index := 0
	if i, err := net.InterfaceByName(strings.TrimPrefix(r.Port, "real:")); err != nil {
		t.Fatalf("the port %s is no interface: %v", r.Port, err)
	} else {
		index = i.Index
	}
	row := fmt.Sprint(index)
	cmd := exec.Command(snmptrap, "-v", "3", "-l", "authPriv", "-u", "mon", "-a", "SHA-256", "-A", "authpass12", "-x", "AES", "-X", "privpass12", "-e", "0x80001f8880aabbccdd00112233",
		traps.Addr().String(), "", "1.3.6.1.6.3.1.1.5.3", ifEntry+"1."+row, "i", row, ifEntry+"7."+row, "i", "1", ifEntry+"8."+row, "i", "2")
	cmd.Env = append(os.Environ(), "SNMP_PERSISTENT_DIR="+dir, "MIBS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("snmptrap: %v\n%s", err, out)
	}
	p.find(t, "a trap by the name that the agent has for its port", isEvent(r.Port, evidence.Down))
}
