package snmp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"whichlink/probes/snmp/agentsim"
	"whichlink/probes/snmp/ber"
)

// device makes what a plain switch serves: ports of 10 Gbit/s, all up, with counters that tell ports apart.
func device(ports int) *agentsim.Tree {
	t := &agentsim.Tree{}
	t.Set(oidSysUpTime, agentsim.TimeTicks, 500_000)
	t.Set(oidSysName, ber.OctetString, "sw01")
	for i := 1; i <= ports; i++ {
		row := func(column string, tag byte, value any) { t.Set(fmt.Sprintf("%s.%d", column, i), tag, value) }
		row(ifEntry+"2", ber.OctetString, fmt.Sprintf("Ethernet port %d", i))
		row(ifEntry+"3", ber.Integer, 6)
		row(ifEntry+"5", agentsim.Gauge32, uint64(1<<32-1))
		row(ifEntry+"7", ber.Integer, 1)
		row(ifEntry+"8", ber.Integer, 1)
		row(ifEntry+"9", agentsim.TimeTicks, 100*i)
		for k, c := range []string{"10", "11", "13", "14", "16", "17", "19", "20"} {
			row(ifEntry+c, agentsim.Counter32, 1000*i+k)
		}
		row(ifXEntry+"1", ber.OctetString, fmt.Sprintf("swp%d", i))
		for _, c := range []string{"6", "7", "10", "11"} {
			row(ifXEntry+c, agentsim.Counter64, uint64(i)*1e9)
		}
		row(ifXEntry+"15", agentsim.Gauge32, 10_000)
		row(ifXEntry+"18", ber.OctetString, "")
		row(ifXEntry+"19", agentsim.TimeTicks, 0)
	}
	return t
}

// TestMisbehaviour: what an agent does wrong is told, bounds what it costs, and spoils nothing that it did right.
func TestMisbehaviour(t *testing.T) {
	quick := Limits{Timeout: 50 * time.Millisecond, Retries: 3, Time: 10 * time.Second, Rows: 2000}
	for _, c := range []struct {
		name  string
		f     agentsim.Faults
		l     Limits
		ports int // at least; all 40 of which must be right where no error is expected
		want  error
	}{
		{"answers are cut short", agentsim.Faults{MaxMessage: 484}, quick, 40, nil},
		{"one value an answer", agentsim.Faults{MaxValues: 2}, Limits{}, 40, nil},
		{"too big", agentsim.Faults{TooBig: 1}, quick, 40, nil},
		{"silent when asked for much", agentsim.Faults{Silent: 10}, Limits{Timeout: 80 * time.Millisecond, Retries: 1}, 40, nil},
		{"a tenth is lost", agentsim.Faults{Loss: 0.1}, Limits{Timeout: 30 * time.Millisecond, Retries: 6}, 40, nil},
		{"floods", agentsim.Faults{Flood: 200, Repeat: 3}, Limits{}, 40, nil},
		{"an error in the middle of a table", agentsim.Faults{GenErr: ifXEntry + "10.21"}, quick, 40, ErrAgent},
		{"an error behind the tables", agentsim.Faults{GenErr: "1.3.6.1.2.1.99"}, quick, 40, ErrAgent},
		{"text for numbers", agentsim.Faults{Mistyped: ifXEntry + "6"}, quick, 40, nil},
		{"OIDs that go in a circle", agentsim.Faults{Loop: ifEntry + "7"}, quick, 40, ErrAgent},
		{"a table without end", agentsim.Faults{Endless: ifEntry + "8"}, Limits{Rows: 2000}, 40, ErrLimit},
		{"a table without end, slowly", agentsim.Faults{Endless: ifEntry + "8", Delay: 40 * time.Millisecond}, Limits{Time: 4 * time.Second}, 40, ErrLimit},
		{"values in driblets", agentsim.Faults{MaxValues: 2, Delay: 40 * time.Millisecond}, Limits{Time: time.Second}, 0, ErrLimit},
		{"never answers", agentsim.Faults{Loss: 1}, quick, 0, ErrNoAnswer},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			tree := device(40)
			tree.Set("1.3.6.1.2.1.99.1.1.1.1.7", ber.Integer, 6)
			sim := start(t, tree, c.f)
			began := time.Now()
			r := newAgent(t, sim, c.l).Read(context.Background())
			if took := time.Since(began); took > 20*time.Second {
				t.Errorf("it held the poller for %s", took)
			}
			if !errors.Is(r.Err, c.want) || c.want == nil && r.Err != nil {
				t.Errorf("%v, want %v", r.Err, c.want)
			}
			if r.Err != nil && strings.ContainsAny(r.Err.Error(), "\n\t") {
				t.Errorf("an error of many lines: %q", r.Err)
			}
			if len(r.Ports) < c.ports || c.want == nil && len(r.Ports) != c.ports {
				t.Fatalf("%d ports, want %d", len(r.Ports), c.ports)
			}
			for i := range c.ports {
				q := &r.Ports[i]
				n, _ := q.Counts.Get(OutOctets)
				if c.want == nil && (q.Name != fmt.Sprintf("swp%d", i+1) || q.Speed != 10e9 || n != uint64(i+1)*1e9 || q.Oper != "up") {
					t.Errorf("port %d: %+v", i+1, q)
				}
			}
		})
	}
}

// TestLiarIsBounded: an agent that goes on and on costs no more memory than the limits say. It runs alone: the heap is everybody's.
func TestLiarIsBounded(t *testing.T) {
	var before, after runtime.MemStats
	sim := start(t, device(4), agentsim.Faults{Endless: ifXEntry + "10"})
	a := newAgent(t, sim, Limits{})
	runtime.GC()
	runtime.ReadMemStats(&before)
	r := a.Read(context.Background())
	runtime.GC()
	runtime.ReadMemStats(&after)
	if !errors.Is(r.Err, ErrLimit) {
		t.Errorf("%v", r.Err)
	}
	if n := int64(after.HeapAlloc) - int64(before.HeapAlloc); n > 40<<20 {
		t.Errorf("it holds %d MiB", n>>20)
	}
	runtime.KeepAlive(r)
}

// TestNoAgent: a host without an agent says so at once; a wrong community looks like silence.
func TestNoAgent(t *testing.T) {
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
	a := NewAgent(c.LocalAddr().String(), Credentials{Community: "public"}, Limits{})
	if r := a.Read(context.Background()); !errors.Is(r.Err, ErrRefused) {
		t.Errorf("%v", r.Err)
	}
	sim := start(t, device(1), agentsim.Faults{})
	b := NewAgent(sim.Address(), Credentials{Community: "hunter2hunter2"}, Limits{Timeout: 20 * time.Millisecond, Retries: 1})
	if r := b.Read(context.Background()); !errors.Is(r.Err, ErrNoAnswer) || strings.Contains(fmt.Sprint(r.Err), "hunter2") {
		t.Errorf("%v", r.Err)
	}
}

// TestNames: names that repeat, hostile ones, and a port that was created anew.
func TestNames(t *testing.T) {
	tree := device(7)
	name := func(i int, ifName, descr string, oper int) {
		tree.Set(fmt.Sprintf("%s.%d", ifXEntry+"1", i), ber.OctetString, ifName)
		tree.Set(fmt.Sprintf("%s.%d", ifEntry+"2", i), ber.OctetString, descr)
		tree.Set(fmt.Sprintf("%s.%d", ifEntry+"8", i), ber.Integer, oper)
	}
	name(1, "1/1", "slot 1 port 1", 1)
	name(2, "1/1", "slot 2 port 1", 1)
	name(3, "lag", "lag", 1)
	name(4, "lag", "lag", 1)
	name(5, "swp2", "swp2", 2) // what is left of it
	name(6, "swp2", "swp2", 1)
	name(7, "up\x1b[2Jlink\xff\u202e"+strings.Repeat("x", 400), "", 1)
	tree.Set(oidSysName, ber.OctetString, "sw\r\n01")
	r := newAgent(t, start(t, tree, agentsim.Faults{}), Limits{}).Read(context.Background())
	var got []string
	for _, q := range r.Ports {
		got = append(got, q.Name)
	}
	if s := strings.Join(got[:6], "|"); s != "slot 1 port 1|slot 2 port 1|lag#3|lag#4|swp2#5|swp2" {
		t.Errorf("%s", s)
	}
	if strings.ContainsAny(got[6]+r.Name, "\x1b\u202e\r\n") || !utf8.ValidString(got[6]) || len(got[6]) > 300 {
		t.Errorf("%q %q", got[6], r.Name)
	}
}

// TestNewPorts: names that were kept do not hide a port that is new, nor one that another has taken the place of.
func TestNewPorts(t *testing.T) {
	sim := start(t, device(3), agentsim.Faults{})
	a := newAgent(t, sim, Limits{})
	first := a.Read(context.Background())
	again := a.Read(context.Background())
	if again.Requests >= first.Requests || again.Ports[2].Name != "swp3" {
		t.Errorf("%d requests, then %d; %s", first.Requests, again.Requests, again.Ports[2].Name)
	}
	sim.Change(func(tree *agentsim.Tree) {
		for _, c := range []string{"1", "6", "10", "15"} {
			tree.Set(ifXEntry+c+".9", ber.OctetString, "swp9")
		}
		tree.Set(ifXEntry+"6.9", agentsim.Counter64, 5)
		tree.Set(ifEntry+"8.9", ber.Integer, 1)
	})
	if r := a.Read(context.Background()); len(r.Ports) != 4 || r.Ports[3].Name != "swp9" {
		t.Errorf("%+v", r.Ports)
	}
	sim.Change(func(tree *agentsim.Tree) { tree.Set(ifXEntry+"1.2", ber.OctetString, "other") })
	sim.SetUptime(100)
	if r := a.Read(context.Background()); r.Ports[1].Name != "other" {
		t.Errorf("after a restart: %s", r.Ports[1].Name)
	}
}

// TestHearsAfterRestart: LLDP-MIB is empty for a while after the agent restarted. That is not to hear nobody, until it lasts.
func TestHearsAfterRestart(t *testing.T) {
	tree := device(2)
	for column, v := range map[string]string{"5": "sw11", "7": "swp9", "9": "sw11"} {
		tree.Set(lldpBase+"4.1.1."+column+".77.2.1", ber.OctetString, v)
	}
	tree.Set(lldpBase+"4.1.1.4.77.2.1", ber.Integer, 7)
	tree.Set(lldpBase+"4.1.1.6.77.2.1", ber.Integer, 5)
	tree.Set(lldpBase+"3.7.1.2.2", ber.Integer, 5)
	tree.Set(lldpBase+"3.7.1.3.2", ber.OctetString, "swp2")
	sim := start(t, tree, agentsim.Faults{})
	a := newAgent(t, sim, Limits{})
	want := Neighbour{Port: "swp2", Chassis: "sw11", System: "sw11", RemotePort: "swp9", index: 2,
		row: neighbourRow{protocol: LLDP, number: 2, index: 1, chassis: "sw11", port: "swp9"}}
	hears := func(when string, n int) {
		t.Helper()
		r := a.Read(context.Background())
		if r.Err != nil || len(r.Neighbours) != n || n == 1 && r.Neighbours[0] != want {
			t.Errorf("%s: %+v, %v", when, r.Neighbours, r.Err)
		}
	}
	hears("at first", 1)
	sim.Change(func(tree *agentsim.Tree) { tree.Delete("1.0.8802") })
	sim.SetUptime(200)
	hears("just restarted", 1)
	sim.SetUptime(6000)
	a.listened = time.Time{}
	hears("a minute later", 0)
}

// TestPollStops: a poll of agents that do not answer ends soon after its context does, with an error for each.
func TestPollStops(t *testing.T) {
	var targets []string
	for range 20 {
		targets = append(targets, start(t, device(1), agentsim.Faults{Loss: 1}).Address())
	}
	p := NewPoller(PollerConfig{Targets: targets, Credentials: Credentials{Community: "public"}, Workers: 4})
	defer p.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	began := time.Now()
	for i, r := range p.Poll(ctx) {
		if r == nil || r.Err == nil || r.Target != targets[i] {
			t.Errorf("%d: %+v", i, r)
		}
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it took %s", took)
	}
}

// TestPollRate: agents that are polled together are sent no more than the rate.
func TestPollRate(t *testing.T) {
	t.Parallel()
	var targets []string
	for range 5 {
		targets = append(targets, start(t, device(1), agentsim.Faults{}).Address())
	}
	const rate = 200
	p := NewPoller(PollerConfig{Targets: targets, Credentials: Credentials{Community: "public"}, Rate: rate})
	defer p.Close()
	began := time.Now()
	requests := 0
	for _, r := range p.Poll(context.Background()) {
		if r.Err != nil {
			t.Fatal(r.Err)
		}
		requests += r.Requests
	}
	if took := time.Since(began).Seconds(); float64(requests-1) > rate*took {
		t.Errorf("%d requests in %.3f s", requests, took)
	}
}

// TestForeignAnswers: what another address answers, or what answers another question, however much of it comes, is no answer, and keeps nobody waiting.
func TestForeignAnswers(t *testing.T) {
	t.Parallel()
	other, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	for name, from := range map[string]func(agent net.PacketConn) net.PacketConn{
		"another address":    func(net.PacketConn) net.PacketConn { return other },
		"another request id": func(agent net.PacketConn) net.PacketConn { return agent },
	} {
		agent, err := net.ListenPacket("udp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			stop := make(chan struct{})
			defer close(stop)
			for request := make([]byte, 4096); ; {
				_, asker, err := agent.ReadFrom(request)
				if err != nil {
					return
				}
				go func() {
					for tick := time.NewTicker(5 * time.Millisecond); ; {
						select {
						case <-stop:
							tick.Stop()
							return
						case <-tick.C:
							_, _ = from(agent).WriteTo(answer([]byte{0}, 0, nil), asker)
						}
					}
				}()
			}
		}()
		a := NewAgent(agent.LocalAddr().String(), Credentials{Community: "public"}, Limits{Timeout: 100 * time.Millisecond, Retries: 2})
		began := time.Now()
		r := a.Read(context.Background())
		if took := time.Since(began); r.Err == nil || len(r.Ports) > 0 || took > 5*time.Second {
			t.Errorf("%s: %d ports, %v, in %s", name, len(r.Ports), r.Err, took)
		}
		_ = a.Close()
		_ = agent.Close()
		<-done
	}
}
