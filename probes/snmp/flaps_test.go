package snmp

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func ref[T any](v T) *T { return &v }

// at0 is when the first of two readings was made.
var at0 = time.Date(2026, 11, 20, 3, 0, 0, 0, time.UTC)

// states makes a reading: so long after at0, at a sysUpTime, of ports in the order of their ifIndex.
func states(after time.Duration, uptime uint32, ports ...PortStates) *States {
	s := &States{Time: at0.Add(after), Uptime: ref(uptime), Ports: map[uint32]PortStates{}, Sessions: map[netip.Addr]PeerSession{}}
	for i, p := range ports {
		s.Ports[uint32(i+1)] = p
	}
	return s
}

func up(change uint32) PortStates   { return PortStates{Oper: "up", Admin: "up", Change: &change} }
func down(change uint32) PortStates { return PortStates{Oper: "down", Admin: "up", Change: &change} }
func carrier(p PortStates, n uint64) PortStates {
	p.Carrier = &n
	return p
}

// with adds sessions: how often each was established.
func (s *States) with(is bool, established ...uint32) *States {
	for i, n := range established {
		s.Sessions[netip.AddrFrom4([4]byte{10, 0, 0, byte(i)})] = PeerSession{Established: ref(n), Is: ref(is)}
	}
	return s
}

// What agents were seen to do (reading/snmp-topology.md, 0, 1.2, 2, 3).
func TestFlaps(t *testing.T) {
	peer := netip.MustParseAddr("10.0.0.0")
	at := func(d time.Duration) time.Time { return at0.Add(d) }
	disabled := up(0)
	disabled.Admin = "down"
	for _, c := range []struct {
		name          string
		before, after *States
		want          []Flap
	}{
		{"nothing happened", states(0, 5000, up(100), down(200)), states(2*time.Second, 5200, up(100), down(200)), nil},
		{"net-snmp: one change was seen, at the moment of its snapshot", states(0, 5000, up(100)), states(2*time.Second, 5200, up(5150)),
			[]Flap{{Index: 1, Outages: 1, By: ByLastChange, At: at(1500 * time.Millisecond)}}},
		{"net-snmp: it went down and is down", states(0, 5000, up(100)), states(2*time.Second, 5200, down(5150)), nil},
		{"net-snmp: the agent restarted", states(0, 500_000, up(0), up(400_000)), states(2*time.Second, 200, up(0), up(150)), nil},
		{"FRR: eight flaps of 100 ms, ifLastChange stood still", states(0, 5000, up(100)).with(true, 1), states(10*time.Second, 6000, up(100)).with(true, 10),
			[]Flap{{Peer: peer, Outages: 9, By: BySession, At: at(10 * time.Second)}}},
		{"the session was established for the first time", states(0, 5000).with(false, 0), states(10*time.Second, 6000).with(true, 1), nil},
		{"the routing restarted: all sessions at once", states(0, 5000).with(true, 1, 2, 3, 4), states(10*time.Second, 6000).with(true, 2, 3, 4, 5), nil},
		{"its peers were configured anew", states(0, 5000).with(true, 9), states(10*time.Second, 6000).with(true, 1), nil},
		{"IOS-XR: a counter of the carrier", states(0, 5000, carrier(up(100), 40)), states(10*time.Second, 6000, carrier(up(100), 64)),
			[]Flap{{Index: 1, Outages: 12, By: ByCarrier, At: at(10 * time.Second)}}},
		{"a counter of the carrier, and down now", states(0, 5000, carrier(up(100), 40)), states(10*time.Second, 6000, carrier(down(5900), 43)),
			[]Flap{{Index: 1, Outages: 1, By: ByCarrier, At: at(9 * time.Second)}}},
		{"it came up: no flap", states(0, 5000, carrier(down(100), 40)), states(10*time.Second, 6000, carrier(up(5900), 41)), nil},
		{"ifLastChange moves and the counter does not: the counter is right", states(0, 5000, carrier(up(100), 40)), states(10*time.Second, 6000, carrier(up(5900), 40)), nil},
		{"counters were cleared", states(0, 5000, carrier(up(100), 40)), states(10*time.Second, 6000, carrier(up(100), 0)), nil},
		{"a counter of something else", states(0, 5000, carrier(up(100), 40)), states(10*time.Second, 6000, carrier(up(100), 5_000_000)), nil},
		{"SONiC: ifLastChange is 0", states(0, 5000, up(0)), states(2*time.Second, 5200, up(0)), nil},
		{"EOS: 0 until the first change", states(0, 5000, up(0)), states(2*time.Second, 5200, up(5100)),
			[]Flap{{Index: 1, Outages: 1, By: ByLastChange, At: at(time.Second)}}},
		{"Junos: later than now, and moved: it is not known when", states(0, 5000, up(9000), up(100)), states(2*time.Second, 5200, up(9100), up(100)),
			[]Flap{{Index: 1, Outages: 1, By: ByLastChange, At: at(2 * time.Second)}}},
		{"Cumulus 3.5: all ports have one value, later than now", states(0, 5000, up(9000), up(9000)), states(2*time.Second, 5200, up(9200), up(9200)), nil},
		{"ifLastChange went back", states(0, 5000, up(4000)), states(2*time.Second, 5200, up(100)), nil},
		{"sysUpTime wrapped", states(0, 1<<32-100, up(1<<32-200), up(1<<32-300)), states(2*time.Second, 100, up(1<<32-50), up(1<<32-300)),
			[]Flap{{Index: 1, Outages: 1, By: ByLastChange, At: at(2 * time.Second)}}},
		{"it was told to be down", states(0, 5000, disabled), states(2*time.Second, 5200, up(5150)), nil},
		{"the row is new", states(0, 5000, up(0)), states(2*time.Second, 5200, up(0), up(5150)), nil},
	} {
		if d := cmp.Diff(c.want, Flaps(c.before, c.after), cmpopts.EquateComparable(netip.Addr{})); d != "" {
			t.Errorf("%s: %s", c.name, d)
		}
	}
}

func TestTurns(t *testing.T) {
	before := states(0, 5000, up(100), down(100), up(0), up(100), PortStates{Oper: "unknown"})
	off := down(5100)
	off.Admin = "down"
	gone := PortStates{Oper: "notPresent", Admin: "up"}
	got := Turns(before, states(2*time.Second, 5200, down(5050), up(5150), gone, off, up(5100)))
	want := []Turn{{1, false, false, at0.Add(500 * time.Millisecond)}, {2, true, false, at0.Add(1500 * time.Millisecond)},
		{3, false, false, at0.Add(2 * time.Second)}, {4, false, true, at0.Add(time.Second)}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestCannotTell(t *testing.T) {
	for _, c := range []struct {
		name, want string
		s          *States
	}{
		{"SONiC, Aruba CX", "0 at all ports", states(0, 5000, up(0), up(0), down(0))},
		{"SONiC with BGP", "only its BGP sessions would tell", states(0, 5000, up(0)).with(true, 3)},
		{"Cumulus 3.5", "of another clock", states(0, 5000, up(9000), up(9000), up(9000))},
		{"Junos: some", "1 of 3 is later than now", states(0, 5000, up(9000), up(90), up(100))},
		{"one that changed just now", "", states(0, 5000, up(5020), up(90), up(0))},
		{"none", "has no ifLastChange", states(0, 5000, PortStates{Oper: "up"})},
		{"Cumulus 5, EOS: 0 until the first change", "", states(0, 5000, up(0), up(0), down(300))},
		{"real values", "", states(0, 5000, up(100), up(200))},
		{"a counter of the carrier", "", states(0, 5000, carrier(up(0), 3), carrier(up(0), 1))},
	} {
		if got := c.s.CannotTell(); c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestLastAddress(t *testing.T) {
	for instance, want := range map[string]string{
		"10.64.0.1": "10.64.0.1", "1.4.10.64.0.1": "10.64.0.1", "1.1.10.64.0.1": "10.64.0.1", "1.2.16.32.1.13.184.0.0.0.0.0.0.0.0.0.0.0.9": "2001:db8::9",
		"0.1.10.0.0.1.2.32.1.13.184.0.0.0.0.0.0.0.0.0.0.0.9": "2001:db8::9", "1": "invalid IP", "10.64.0.999": "invalid IP", "": "invalid IP", "a.b.c.d": "invalid IP",
	} {
		index, _ := parseOID(instance)
		if got, _ := lastAddress(index); got.String() != want {
			t.Errorf("%s is %s, want %s", instance, got, want)
		}
	}
}
