package snmp

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// catalyst is a switch whose LLDP numbers are those of other interfaces: port 1 is ifIndex 10101, and ifIndex 1 is a VLAN.
func catalyst() *System {
	return &System{
		Name: "cat", Chassis: ID{KindMAC, "00:16:c8:00:00:01"},
		Ports: []SystemPort{
			{Index: 1, Name: "Vl1", Descr: "Vlan1", Type: 53, Up: true}, {Index: 2, Name: "Vl2", Descr: "Vlan2", Type: 53, Up: true},
			{Index: 10101, Name: "Gi0/1", Descr: "GigabitEthernet0/1", Alias: "uplink", MAC: "00:16:c8:00:00:11", Type: 6, Up: true},
			{Index: 10102, Name: "Gi0/2", Descr: "GigabitEthernet0/2", Alias: "uplink", MAC: "00:16:c8:00:00:12", Type: 6, Up: true},
		},
		bridge: map[uint32]uint32{1: 10101, 2: 10102},
	}
}

func TestPortNumbers(t *testing.T) {
	junos := &System{Ports: []SystemPort{
		{Index: 505, Name: "ge-0/0/5", Alias: "7", Type: 6, Up: true}, {Index: 517, Name: "xe-0/0/1", Alias: "to spine", Type: 6, Up: true},
		{Index: 518, Name: "xe-0/0/1.0", Type: 53, Up: true}, {Index: 7, Name: "lo0", Type: 24, Up: true},
	}}
	remade := &System{Ports: []SystemPort{{Index: 4, Name: "swp2", Type: 6}, {Index: 5, Name: "swp2", Type: 6, Up: true}}}
	twins := &System{Ports: []SystemPort{
		{Index: 1, Name: "1", Descr: "1/1", Type: 6, Up: true}, {Index: 2, Name: "1", Descr: "2/1", Type: 6, Up: true},
		{Index: 3, Name: "x", Descr: "x", Type: 6, Up: true}, {Index: 4, Name: "x", Descr: "x", Type: 6, Up: true},
	}}
	bare := &System{}
	plain := &System{Ports: []SystemPort{{Index: 3, Name: "Vl3", Type: 53, Up: true}, {Index: 4, Name: "swp4", Type: 6, Up: true}, {Index: 5, Name: "swp5", Type: 6}}}
	for _, c := range []struct {
		about  string
		s      *System
		number uint32
		local  *localPort // its row in lldpLocPortTable
		want   string
		step   Step
	}{
		{"name", catalyst(), 1, &localPort{ID{KindName, "Gi0/1"}, ""}, "Gi0/1", StepID},
		{"name in another spelling", catalyst(), 1, &localPort{ID{KindName, "gigabitethernet 0/2"}, ""}, "Gi0/2", StepID},
		{"MAC address", catalyst(), 1, &localPort{ID{KindMAC, "00:16:c8:00:00:12"}, ""}, "Gi0/2", StepID},
		{"an alias that two have, a description", catalyst(), 1, &localPort{ID{KindAlias, "uplink"}, "GigabitEthernet0/2"}, "Gi0/2", StepDescription},
		{"a number that is another interface's index", catalyst(), 1, &localPort{ID{KindLocal, "1"}, "GigabitEthernet0/1"}, "Gi0/1", StepDescription},
		{"a number that is a VLAN's index and nothing else", catalyst(), 1, &localPort{ID{KindLocal, "1"}, ""}, "Gi0/1", StepBridge},
		{"no table: the bridge port, not the VLAN", catalyst(), 2, nil, "Gi0/2", StepBridge},
		{"no table and no bridge port: a VLAN has no cable", plain, 3, nil, "", StepAsTold},
		{"no table and no bridge port", plain, 4, nil, "swp4", StepIndex},
		{"no table, and the port of that index is down", plain, 5, nil, "", StepAsTold},
		{"Junos: a decimal ifIndex, described by its alias", junos, 517, &localPort{ID{KindLocal, "517"}, "to spine"}, "xe-0/0/1", StepID},
		{"Junos: that of the unit", junos, 518, &localPort{ID{KindLocal, "518"}, "xe-0/0/1.0"}, "xe-0/0/1", StepID},
		{"a number that is one's alias and another's index, with the description of a third", junos, 517, &localPort{ID{KindLocal, "517"}, "ge-0/0/5"}, "ge-0/0/5", StepDescription},
		{"an interface made anew", remade, 9, &localPort{ID{KindName, "swp2"}, ""}, "swp2", StepID},
		{"two of one name, told apart by description", twins, 9, &localPort{ID{KindName, "1"}, "2/1"}, "2/1", StepDescription},
		{"two of one name and one description", twins, 9, &localPort{ID{KindName, "x"}, "x"}, "x", StepAsTold},
		{"no IF-MIB", bare, 639, &localPort{ID{KindLocal, "639"}, "SPO_ROUTE"}, "639", StepAsTold},
		{"no IF-MIB and a MAC address", bare, 3, &localPort{ID{KindMAC, "00:16:c8:00:00:12"}, "swp3"}, "swp3", StepAsTold},
		{"number 0", junos, 0, nil, "", StepAsTold},
	} {
		c.s.numbers = map[uint32]localPort{}
		if c.local != nil {
			c.s.numbers[c.number] = *c.local
		}
		port, step := newPortFinder(c.s).number(LLDP, c.number)
		if port != c.want || step != c.step {
			t.Errorf("%s: got %q by %q, want %q by %q", c.about, port, step, c.want, c.step)
		}
	}
}

// A pair of switches is written in the form of what each port hears: port>system:port, of a number and no port as #number.
func pair(t *testing.T, names [2]string, chassis [2]string, a, b []Hearing) (systems []*System, text []string, notes []string) {
	t.Helper()
	for i, hears := range [][]Hearing{a, b} {
		s := &System{Target: "10.0.0." + fmt.Sprint(i+1), Addr: netip.AddrFrom4([4]byte{10, 0, 0, byte(i + 1)}), Name: names[i],
			Chassis: ID{KindMAC, chassis[i]}, Hears: hears, numbers: map[uint32]localPort{}}
		for k := range uint32(4) {
			s.Ports = append(s.Ports, SystemPort{Index: k + 1, Name: fmt.Sprintf("swp%d", k+1), MAC: fmt.Sprintf("02:00:00:00:%02x:%02x", i, k+1), Type: 6, Up: true})
			s.numbers[k+1] = localPort{id: ID{KindName, fmt.Sprintf("swp%d", k+1)}}
		}
		systems = append(systems, s)
	}
	notes = Resolve(systems)
	for _, s := range systems {
		for _, h := range s.Hears {
			far := fmt.Sprint(h.Name, " ", h.Chassis.Text)
			if h.Far >= 0 {
				far = systems[h.Far].Name
			}
			text = append(text, fmt.Sprintf("%s:%s>%s:%s", s.Name, h.Port, far, h.FarPort))
		}
	}
	return systems, text, notes
}

func TestResolve(t *testing.T) {
	const x, y, z = "02:00:00:00:00:0a", "02:00:00:00:00:0b", "02:00:00:00:00:0c"
	hear := func(number uint32, name, chassis, port string, addresses ...string) Hearing {
		h := Hearing{Protocol: LLDP, Number: number, Name: name, Chassis: ID{KindMAC, chassis}, PortID: ID{KindName, port}, Far: FarUnknown}
		for _, a := range addresses {
			h.Management = append(h.Management, netip.MustParseAddr(a))
		}
		return h
	}
	ab := [2]string{"a", "b"}
	for _, c := range []struct {
		about   string
		names   [2]string
		chassis [2]string
		a, b    []Hearing
		want    string
		notes   string // what the notes hold; empty means that there are none
	}{
		{"both ends", ab, [2]string{x, y}, []Hearing{hear(1, "b", y, "swp2")}, []Hearing{hear(2, "a", x, "swp1")}, "a:swp1>b:swp2 b:swp2>a:swp1", ""},
		{"one end", ab, [2]string{x, y}, []Hearing{hear(1, "b", y, "swp2")}, nil, "a:swp1>b:swp2", ""},
		{"number 0, found from the other end", ab, [2]string{x, y}, []Hearing{hear(0, "b", y, "swp2"), hear(3, "b", y, "swp3")},
			[]Hearing{hear(2, "a", x, "swp1"), hear(3, "a", x, "swp3")}, "a:swp1>b:swp2 a:swp3>b:swp3 b:swp2>a:swp1 b:swp3>a:swp3", ""},
		{"number 0 at both ends", ab, [2]string{x, y}, []Hearing{hear(0, "b", y, "swp2")}, []Hearing{hear(0, "a", x, "swp1")}, "a:swp1>b:swp2 b:swp2>a:swp1", ""},
		{"number 0, and the other end hears nobody", ab, [2]string{x, y}, []Hearing{hear(0, "b", y, "swp2")}, nil, "a:>b:swp2", "none of its ports that can be told"},
		{"a port that the far end does not have", ab, [2]string{x, y}, []Hearing{hear(1, "b", y, "port of a line card")}, []Hearing{hear(2, "a", x, "swp1")},
			"a:swp1>b:swp2 b:swp2>a:swp1", ""},
		{"names with domains", [2]string{"a.dc.net", "b"}, [2]string{x, ""}, []Hearing{hear(1, "B.dc.net", z, "swp2")}, []Hearing{hear(2, "A", x, "swp1")},
			"a.dc.net:swp1>b:swp2 b:swp2>a.dc.net:swp1", ""},
		{"one name, two boxes that answer", [2]string{"sw", "sw"}, [2]string{x, y}, []Hearing{hear(1, "sw", y, "swp2")}, []Hearing{hear(2, "sw", x, "swp1")},
			"sw@02-00-00-00-00-0a:swp1>sw@02-00-00-00-00-0b:swp2 sw@02-00-00-00-00-0b:swp2>sw@02-00-00-00-00-0a:swp1", "sw is the name of several systems"},
		{"one name, and one box that does not answer", ab, [2]string{x, y}, []Hearing{hear(1, "b", z, "swp2")}, nil, "a:swp1>b@02-00-00-00-00-0c " + z + ":",
			"b is the name of two boxes"},
		{"another chassis in each port, but it hears us", ab, [2]string{x, y}, []Hearing{hear(1, "b", z, "swp2")}, []Hearing{hear(2, "a", x, "swp1")},
			"a:swp1>b:swp2 b:swp2>a:swp1", ""},
		{"one chassis id, told apart by address", ab, [2]string{x, x}, []Hearing{hear(1, "b", x, "swp2", "10.0.0.2")}, []Hearing{hear(2, "", x, "swp1", "10.0.0.1")},
			"a:swp1>b:swp2 b:swp2>a:swp1", "2 systems have the chassis id"},
		{"one chassis id, and the other's name, told apart by the port's MAC address", ab, [2]string{x, x},
			[]Hearing{{Protocol: LLDP, Number: 1, Name: "a", Chassis: ID{KindMAC, x}, PortID: ID{KindMAC, "02:00:00:00:01:02"}, Far: FarUnknown}}, nil,
			"a:swp1>b:swp2", "2 systems have the chassis id"},
		{"one chassis id, and one of the two does not tell its own", ab, [2]string{x, ""}, []Hearing{hear(1, "b", x, "swp2")}, nil, "a:swp1>b:swp2", ""},
		{"one chassis id, of a third too", ab, [2]string{"", y}, nil, []Hearing{hear(1, "a", y, "swp2", "10.0.0.1"), hear(3, "c", y, "swp2")},
			"b:swp1>a:swp2 b:swp3>c " + y + ":", ""},
		{"one chassis id, and nothing that tells", ab, [2]string{x, x}, []Hearing{hear(1, "", x, "swp2")}, nil, "a:swp1> " + x + ":", "may be several systems"},
		{"a cable to itself", ab, [2]string{x, y}, []Hearing{hear(1, "a", x, "swp2"), hear(2, "a", x, "swp1")}, nil, "a:swp1>a:swp2 a:swp2>a:swp1", ""},
		{"CDP where LLDP hears the same", ab, [2]string{x, y}, []Hearing{hear(1, "b", y, "swp2"),
			{Protocol: CDP, Number: 1, Name: "b.dc.net", PortID: ID{KindName, "swp2"}, Far: FarUnknown},
			{Protocol: CDP, Number: 3, Name: "b", PortID: ID{KindName, "swp4"}, Far: FarUnknown}}, nil, "a:swp1>b:swp2 a:swp3>b:swp4", ""},
	} {
		_, got, notes := pair(t, c.names, c.chassis, c.a, c.b)
		if d := cmp.Diff(c.want, strings.Join(got, " ")); d != "" {
			t.Errorf("%s: %s", c.about, d)
		}
		if said := strings.Join(notes, "\n"); (said == "") != (c.notes == "") || !strings.Contains(said, c.notes) {
			t.Errorf("%s: said %q, want %q", c.about, said, c.notes)
		}
	}
}

func TestIdentifiers(t *testing.T) {
	for _, c := range []struct {
		kind IDKind
		raw  string
		want string
	}{
		{KindMAC, "\x00\x16\xc8\xbd\x4d\x80", "00:16:c8:bd:4d:80"}, {KindMAC, "0016.C8BD.4D80", "00:16:c8:bd:4d:80"},
		{KindAddress, "\x01\x0a\x00\x00\x01", "10.0.0.1"}, {KindAddress, "\x0a\x00\x00\x01", "10.0.0.1"},
		{KindName, "Gi0/1\x00\x00", "Gi0/1"}, {KindLocal, "\x00\x16\xc8\xbd\x4d\x80", "00:16:c8:bd:4d:80"}, {KindUnknown, "\x00\x16\xc8\xbd\x4d\x80", "00:16:c8:bd:4d:80"},
		{KindUnknown, "swp123", "swp123"}, {KindLocal, "\x01\x02\x03", "0x010203"}, {KindName, "swp\x1b[31m1", "swp\ufffd[31m1"}, {KindMAC, "", ""},
	} {
		id := ID{c.kind, c.raw}
		if id.settle(); id.Text != c.want {
			t.Errorf("%d %q: got %q, want %q", c.kind, c.raw, id.Text, c.want)
		}
	}
	for id, want := range map[string]string{"sw1": "sw1", "sw1.dc.net(FOC1234)": "sw1.dc.net", "066527509(cat5)": "cat5", "a(": "a", "(": "("} {
		if got := cdpSystemName(id); got != want {
			t.Errorf("%s: got %q, want %q", id, got, want)
		}
	}
}

// What agents have in common is told by recordings; here is where they differ: LLDP-V2-MIB, management addresses with and without their length, CDP, and rows
// that are broken.
func TestTellingRows(t *testing.T) {
	const v1, v2 = lldpBase + "4.", lldpV2Base + "4."
	text := func(s string) Value { return Value{Type: 4, Text: s} }
	number := func(n uint64) Value { return Value{Type: 2, Number: n} }
	for _, c := range []struct {
		about  string
		values map[string]Value
		want   []Hearing
	}{
		{"LLDP-MIB", map[string]Value{
			v1 + "1.1.4.100.7.2": number(4), v1 + "1.1.5.100.7.2": text("\x02\x00\x00\x00\x00\x01"), v1 + "1.1.6.100.7.2": number(5), v1 + "1.1.7.100.7.2": text("swp1"),
			v1 + "1.1.8.100.7.2": text("not advertised"), v1 + "1.1.9.100.7.2": text("s1"), v1 + "1.1.12.100.7.2": text("\x01"),
			v1 + "2.1.3.100.7.2.1.4.10.0.0.1": number(2), v1 + "2.1.3.100.7.2.1.10.0.0.2": number(2), v1 + "2.1.3.100.7.2.1.4.10.0": number(2),
			v1 + "2.1.3.100.7.2.2.16.32.1.13.184.0.0.0.0.0.0.0.0.0.0.0.1": number(2), v1 + "2.1.3.100.7.2.2.16.254.128.0.0.0.0.0.0.0.0.0.0.0.0.0.1": number(2),
		}, []Hearing{{Protocol: LLDP, Number: 7, Chassis: ID{KindMAC, "02:00:00:00:00:01"}, PortID: ID{KindName, "swp1"}, Name: "s1", StationOnly: true,
			Management: []netip.Addr{netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2"), netip.MustParseAddr("2001:db8::1")}}}},
		{"LLDP-V2-MIB", map[string]Value{
			v2 + "1.1.5.0.10101.1.9": number(7), v2 + "1.1.6.0.10101.1.9": text("s2"), v2 + "1.1.7.0.10101.1.9": number(3), v2 + "1.1.8.0.10101.1.9": text("\x02\x00\x00\x00\x00\x02"),
			v2 + "1.1.10.0.10101.1.9": text("s2.dc.net"), v2 + "1.1.13.0.10101.1.9": text("\x21"), v2 + "2.1.3.0.10101.1.9.1.4.10.0.0.3": number(2),
		}, []Hearing{{Protocol: LLDPv2, Number: 10101, Chassis: ID{KindLocal, "s2"}, PortID: ID{KindMAC, "02:00:00:00:00:02"}, Name: "s2.dc.net",
			Management: []netip.Addr{netip.MustParseAddr("10.0.0.3")}}}},
		{"CISCO-CDP-MIB", map[string]Value{
			cdpBase + "2.1.1.4.12.2": text("\x0a\x00\x00\x04"), cdpBase + "2.1.1.6.12.2": text("n5k(FOC123)"), cdpBase + "2.1.1.7.12.2": text("Ethernet1/1"),
			cdpBase + "2.1.1.9.12.2": text("\x00\x00\x00\x10"),
		}, []Hearing{{Protocol: CDP, Number: 12, PortID: ID{KindName, "Ethernet1/1"}, Name: "n5k", StationOnly: true, Management: []netip.Addr{netip.MustParseAddr("10.0.0.4")}}}},
		{"indexes that are none", map[string]Value{
			v1 + "1.1.9.7": text("s1"), v1 + "1.1.9.1.2.3.4": text("s1"), v1 + "1.1.9.1.2.4294967296": text("s1"), v1 + "2.1.3.1.2.3.1.4.10.0.0.1": number(2), cdpBase + "2.1.1.6.12": text("x"),
		}, nil},
	} {
		got := tellingAll("10.0.0.9", c.values).Hears
		for i := range got {
			got[i].order = [3]uint32{}
			slices.SortFunc(got[i].Management, netip.Addr.Compare) // the cells come in the order of a map
		}
		for i := range c.want {
			c.want[i].Far = FarUnknown
		}
		if d := cmp.Diff(c.want, got, cmp.AllowUnexported(Hearing{}), cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); d != "" {
			t.Errorf("%s: %s", c.about, d)
		}
	}
}

// tellingAll makes a system of all that an agent has.
func tellingAll(target string, values map[string]Value) *System {
	s := &System{Target: target}
	s.identify(values)
	rows := newTellingRows(s)
	for _, columns := range [][]tellingColumn{portColumns, lldpColumns(LLDP), lldpColumns(LLDPv2), cdpColumns} {
		take := rows.cells(columns)
		for i, c := range columns {
			for oid, v := range values {
				if text, ok := strings.CutPrefix(oid, c.oid+"."); ok {
					index, _ := parseOID(text)
					take(Cell{i, index, v})
				}
			}
		}
	}
	rows.finish()
	return s
}

// FuzzTellingRows feeds any cells to the readers of rows: what comes out is safe to print, bounded, and names nobody who is not there.
func FuzzTellingRows(f *testing.F) {
	tables := [][]tellingColumn{portColumns, lldpColumns(LLDP), lldpColumns(LLDPv2), cdpColumns}
	f.Add(byte(1), byte(3), "0.1.5", uint64(4), "\x1b]0;x\x07", byte(0), byte(4), "1", uint64(3), "Gi0/1")
	f.Add(byte(1), byte(10), "0.1.5.1.4.10.0.0.1", uint64(2), "", byte(3), byte(1), "12.2", uint64(0), "\x0a\x00\x00\x01")
	f.Add(byte(0), byte(9), "10.0.0.1", uint64(0), "255.255.255.254", byte(2), byte(4), "0.3.1.1", uint64(0), "\xff\xfe\xfd\xfc\xfb\xfa")
	f.Fuzz(func(t *testing.T, t1, c1 byte, i1 string, n1 uint64, x1 string, t2, c2 byte, i2 string, n2 uint64, x2 string) {
		s := &System{Target: "10.0.0.1"}
		s.identify(map[string]Value{systemScalars[int(c1)%len(systemScalars)].oid: {Type: 4, Number: n1, Text: x1}})
		rows := newTellingRows(s)
		for _, c := range []struct {
			table, column byte
			index         string
			v             Value
		}{{t1, c1, i1, Value{Type: 4, Number: n1, Text: x1}}, {t2, c2, i2, Value{Type: 2, Number: n2, Text: x2}}} {
			columns := tables[int(c.table)%len(tables)]
			if index, ok := parseOID(c.index); ok {
				rows.cells(columns)(Cell{int(c.column) % len(columns), index, c.v})
			}
		}
		rows.finish()
		other := &System{Target: "10.0.0.2", Name: x2, Ports: s.Ports}
		Resolve([]*System{s, other})
		texts := []string{s.Name, s.Chassis.Text}
		for _, p := range s.Ports {
			texts = append(texts, p.Name, p.Descr, p.Alias)
		}
		for _, h := range s.Hears {
			if h.Far >= 2 {
				t.Fatalf("neighbour %d", h.Far)
			}
			texts = append(texts, h.Name, h.Chassis.Text, h.PortID.Text, h.PortDescr, h.Port, h.FarPort)
		}
		for _, x := range texts {
			if !utf8.ValidString(x) || strings.IndexFunc(x, unicode.IsControl) >= 0 || len(x) > 900 { // of MaxName characters each may be shown as three bytes
				t.Fatalf("%q is not clean", x)
			}
		}
	})
}
