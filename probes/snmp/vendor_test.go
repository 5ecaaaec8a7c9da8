package snmp

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"whichlink/internal/evidence"
	"whichlink/probes/snmp/agentsim"
	"whichlink/probes/snmp/ber"
)

// TestVendorTables: pause frames by priority, drops by queue and light, as SONiC, Cisco, Arista, Juniper, H3C, Nokia and Huawei serve them. No recording of a real device has the
// first two; the tables follow SONiC's agent and CISCO-PFC-EXT-MIB.
func TestVendorTables(t *testing.T) {
	tree := device(6)
	set := func(value any, tag byte, format string, args ...any) {
		tree.Set(fmt.Sprintf(format, args...), tag, value)
	}
	for port := 1; port <= 2; port++ {
		for priority := range 8 {
			set(uint64(100*port+priority), agentsim.Counter64, "%s2.%d.%d", cpfcPriority, port, priority)
			set(uint64(200*port+priority), agentsim.Counter64, "%s3.%d.%d", cpfcPriority, port, priority)
		}
		set(uint64(7), agentsim.Counter64, "%s1.%d", cpfcPort, port) // of priority 3 alone: not to be told
		for queue := 1; queue <= 4; queue++ {
			for counter := 1; counter <= 8; counter++ {
				set(uint64(1000*port+100*queue+counter), agentsim.Counter64, "%s.%d.2.%d.%d", csqStats, port, queue, counter)
			}
		}
	}
	sensor := func(table string, index int, name string, kind, scale, precision, value, status int) {
		for i, n := range []int{kind, scale, precision, value, status} {
			set(n, ber.Integer, "%s%d.%d", table, i+1, index)
		}
		set(name, ber.OctetString, "1.3.6.1.2.1.47.1.1.1.1.7.%d", index)
	}
	const standard, cisco = "1.3.6.1.2.1.99.1.1.1.", "1.3.6.1.4.1.9.9.91.1.1.1.1."
	sensor(standard, 11, "DOM RX Power Sensor for swp1", 6, 8, 4, 6322, 1)          // 0.6322 mW, as Arista writes it
	sensor(standard, 12, "DOM TX Power Sensor for swp1/2", 6, 8, 4, 10000, 1)       // lane 2, 1 mW, as SONiC writes it
	sensor(standard, 13, "DOM RX Power Sensor for swp1/2", 6, 8, 4, -1000000000, 1) // dark
	sensor(standard, 14, "DOM TX Power Sensor for swp1", 6, 8, 4, 0, 2)             // no module
	sensor(standard, 15, "DOM Temperature Sensor for swp1", 8, 9, 0, 40, 1)
	sensor(cisco, 21, "swp2 Lane 1 Transceiver Receive Power Sensor", 14, 8, 0, -2310, 1) // -2.31 dBm, as NX-OS writes it
	sensor(cisco, 22, "swp2 Lane 1 Transceiver Transmit Power Sensor", 14, 8, 0, 0, 1)    // no light, as NX-OS writes it
	sensor(cisco, 23, "Receive Power Sensor", 14, 9, 1, -45, 1)                           // of what contains it
	set(30, ber.Integer, "1.3.6.1.2.1.47.1.1.1.1.4.23")
	set(31, ber.Integer, "1.3.6.1.2.1.47.1.1.1.1.4.30")
	set(ifEntry+"1.3", ber.ObjectIdentifier, "1.3.6.1.2.1.47.1.3.2.1.2.31.0")
	set(-1250, ber.Integer, "1.3.6.1.4.1.2636.3.60.1.1.1.1.7.3")              // hundredths, as Juniper writes it
	set(-834, ber.Integer, "1.3.6.1.4.1.25506.2.70.1.1.1.12.4")               // the same, as H3C writes it
	set(2147483647, ber.Integer, "1.3.6.1.4.1.25506.2.70.1.1.1.9.4")          // not measured
	set(5012, ber.Integer, "1.3.6.1.4.1.6527.3.1.2.2.4.31.1.21.1.5")          // tenths of a microwatt, as Nokia writes it
	set(0, ber.Integer, "1.3.6.1.4.1.6527.3.1.2.2.4.31.1.16.1.5")             // no light
	set(10000, ber.Integer, "1.3.6.1.4.1.6527.3.1.2.2.4.66.1.12.1.5.3")       // lane 3
	set(536, ber.Integer, "%s8.67", huaweiModule)                             // microwatts
	set(-1, ber.Integer, "%s9.67", huaweiModule)                              // not measured
	set("-270.19", ber.OctetString, "%s32.67", huaweiModule)                  // the same in hundredths of a dBm
	set("-110.4, 0.00,-3000.00,90", ber.OctetString, "%s33.67", huaweiModule) // of four lanes
	set("swp6", ber.OctetString, "1.3.6.1.2.1.47.1.1.1.1.7.67")

	sim := start(t, tree, agentsim.Faults{})
	a := newAgent(t, sim, Limits{})
	first := a.Read(context.Background())
	sim.Change(func(tree *agentsim.Tree) {
		tree.Set(cpfcPriority+"3.1.3", agentsim.Counter64, uint64(203+50))
		tree.Set(csqStats+".2.2.4.7", agentsim.Counter64, uint64(2407+9)) // multicast dropped
		tree.Set(cpfcPriority+"2.2.5", agentsim.Counter64, uint64(1))     // began anew
	})
	second := a.Read(context.Background())
	if first.Err != nil || second.Err != nil {
		t.Fatal(first.Err, second.Err)
	}
	p := first.Ports[0]
	if len(p.PFC) != 8 || p.PFC[3] != (PFC{3, 103, 203}) || len(first.Ports[2].PFC) != 0 {
		t.Errorf("pauses: %+v", p.PFC)
	}
	if d := first.Ports[1].Drops; len(d) != 4 || d[3] != (QueueDrops{4, 2405 + 2407}) {
		t.Errorf("drops: %+v", d)
	}
	deltas := Between(first, second)
	if d := deltas[0]; d.Reset || d.PFC[3].Received != 50 || d.PFC[3].Sent != 0 {
		t.Errorf("pauses in the interval: %+v", d)
	}
	if d := deltas[1]; len(d.PFC) != 7 || d.Drops[3].Packets != 9 || d.Drops[0].Packets != 0 {
		t.Errorf("drops in the interval: %+v", d)
	}
	for _, c := range []struct {
		port, lane int
		rx, tx     float64
	}{{0, 0, -1.99, math.NaN()}, {0, 2, math.NaN(), 0}, {1, 1, -2.31, math.NaN()}, {2, 0, -4.5, -12.5}, {3, 0, -8.34, math.NaN()}, {4, 0, -3, math.NaN()},
		{4, 3, math.NaN(), 0}, {5, 0, -2.7, math.NaN()}, {5, 1, math.NaN(), -1.1}, {5, 3, math.NaN(), -30}, {5, 4, math.NaN(), 0.9}} {
		for _, r := range []*Reading{first, second} {
			found := false
			for _, l := range r.Ports[c.port].Optics {
				if l.Lane == c.lane {
					found = true
					if !sameLight(l.Rx, c.rx) || !sameLight(l.Tx, c.tx) {
						t.Errorf("port %d lane %d: %s %s", c.port+1, c.lane, light(l.Rx), light(l.Tx))
					}
				}
			}
			if !found {
				t.Errorf("port %d lane %d is dark: %+v", c.port+1, c.lane, r.Ports[c.port].Optics)
			}
		}
	}
}

// TestLightLimits: limits of light as Cisco, Arista, Juniper, H3C and Nokia serve them, read once and not with each reading of light. No recording of a real device has them with
// their module in place; the tables follow CISCO-ENTITY-SENSOR-MIB, ARISTA-ENTITY-SENSOR-MIB, JUNIPER-DOM-MIB, HH3C-TRANSCEIVER-INFO-MIB and TIMETRA-PORT-MIB.
func TestLightLimits(t *testing.T) {
	tree := device(6)
	set := func(value int, format string, args ...any) {
		tree.Set(fmt.Sprintf(format, args...), ber.Integer, value)
	}
	sensor := func(table string, index int, name string, values ...int) {
		for i, n := range values {
			set(n, "%s%d.%d", table, i+1, index)
		}
		tree.Set(fmt.Sprintf("1.3.6.1.2.1.47.1.1.1.1.7.%d", index), ber.OctetString, name)
	}
	const standard, cisco = "1.3.6.1.2.1.99.1.1.1.", "1.3.6.1.4.1.9.9.91.1.1.1.1."
	sensor(standard, 11, "DOM RX Power Sensor for swp1", 6, 8, 4, 6322, 1)
	sensor(standard, 15, "DOM Temperature Sensor for swp1", 8, 9, 0, 40, 1)
	for _, at := range []int{11, 15} {
		for i, n := range []int{501, 251, 14125, -1000000000} { // of the last there is none
			set(n, "1.3.6.1.4.1.30065.3.12.1.1.1.%d.%d", i+1, at)
		}
	}
	sensor(cisco, 21, "swp2 Lane 1 Transceiver Receive Power Sensor", 14, 8, 0, -14200, 1)
	for i, row := range [][3]int{{20, 4, 5400}, {10, 4, 2400}, {20, 2, -13900}, {30, 2, -14400}, {10, 1, -9900}, {1, 1, -100}, {10, 5, 0}} { // the last two mean nothing
		for column, n := range row {
			set(n, "1.3.6.1.4.1.9.9.91.1.2.1.1.%d.21.%d", column+2, i+1)
		}
	}
	set(-310, "1.3.6.1.4.1.2636.3.60.1.2.1.1.6.3.0") // Juniper: the first two lanes of a module
	set(-410, "1.3.6.1.4.1.2636.3.60.1.2.1.1.6.3.1")
	for i, n := range []int{350, -1600, 250, -1200} {
		set(n, "1.3.6.1.4.1.2636.3.60.1.1.1.1.%d.3", 9+i)
	}
	set(-834, "1.3.6.1.4.1.25506.2.70.1.1.1.12.4")
	set(-234, "1.3.6.1.4.1.25506.2.70.1.1.1.9.4")
	for i, n := range []int{0, 0, 0, 0, 20000, 158, 15849, 251} { // H3C: nothing of what is sent
		set(n, "1.3.6.1.4.1.25506.2.70.1.1.1.%d.4", 30+i)
	}
	set(200, "1.3.6.1.4.1.6527.3.1.2.2.4.31.1.21.1.5")
	for i, n := range []int{525, 298, 30953, 49136} {
		set(n, "1.3.6.1.4.1.6527.3.1.2.2.4.31.1.%d.1.5", 22+i)
	}
	set(5012, "1.3.6.1.4.1.6527.3.1.2.2.4.31.1.21.1.6") // of zeros and of what is no order nothing is told
	for i, n := range []int{100, 298, 0, 200} {
		set(n, "1.3.6.1.4.1.6527.3.1.2.2.4.31.1.%d.1.6", 22+i)
	}

	sim := start(t, tree, agentsim.Faults{})
	a := newAgent(t, sim, Limits{})
	var asked []int
	for range 3 {
		r := a.Read(context.Background())
		if r.Err != nil {
			t.Fatal(r.Err)
		}
		asked = append(asked, r.Requests)
		a.labels = nil // names, and light, are read anew
		none := math.NaN()
		for _, c := range []struct {
			port, lane int
			want       [limitKinds]float64
		}{{0, 0, [limitKinds]float64{-16, -13, 1.5, none}}, {1, 1, [limitKinds]float64{-13.9, -9.9, 2.4, 5.4}}, {2, 1, [limitKinds]float64{-16, -12, 2.5, 3.5}},
			{2, 2, [limitKinds]float64{-16, -12, 2.5, 3.5}}, {3, 0, [limitKinds]float64{-18.01, -16, 2, 3.01}}, {4, 0, [limitKinds]float64{-15.26, -12.8, 4.91, 6.91}},
			{5, 0, [limitKinds]float64{none, none, none, none}}} {
			lanes := r.Ports[c.port].Optics
			i := slices.IndexFunc(lanes, func(l evidence.Lane) bool { return l.Lane == c.lane })
			if i < 0 {
				t.Errorf("port %d lane %d is dark: %+v", c.port+1, c.lane, lanes)
				continue
			}
			got := lanes[i].RxLimits
			if got == nil {
				got = &evidence.LightLimits{}
			}
			for kind, v := range []*float64{got.LowAlarm, got.LowWarning, got.HighWarning, got.HighAlarm} {
				if !sameLight(v, c.want[kind]) {
					t.Errorf("port %d lane %d: limit %d is %s, want %g", c.port+1, c.lane, kind, light(v), c.want[kind])
				}
			}
			if lanes[i].TxLimits != nil {
				t.Errorf("port %d lane %d: limits of what is sent", c.port+1, c.lane)
			}
		}
	}
	if asked[0] <= asked[1] || asked[1] != asked[2] {
		t.Errorf("%v requests: the limits are to be read once", asked)
	}
}

// TestOnyxCienaArista: what MELLANOX-QOS-MIB, WWP-LEOS-PORT-XCVR-MIB, CIENA-CES-PORT-XCVR-MIB and ARISTA-IF-MIB tell, by the texts of these modules. No recording of a real device
// has them.
func TestOnyxCienaArista(t *testing.T) {
	tree := device(4)
	set := func(value any, tag byte, format string, args ...any) {
		tree.Set(fmt.Sprintf(format, args...), tag, value)
	}
	for class := range 8 {
		for column, n := range map[string]int{"2.1.3": 300, "2.1.4": 9, "2.1.5": 500, "2.1.6": 9, "4.1.8": 40, "4.1.9": 2, "4.1.3": 77} {
			set(uint64(n+class), agentsim.Counter64, "%s%s.1.%d", mellanoxQoS, column, class)
		}
	}
	set("2", ber.OctetString, ifXEntry+"1.2") // as SAOS names its ports
	set(-10679, ber.Integer, "1.3.6.1.4.1.6141.2.60.4.1.1.1.1.105.2")
	set(0, ber.Integer, "1.3.6.1.4.1.6141.2.60.4.1.1.1.1.106.2")      // no light
	set(-31000, ber.Integer, "1.3.6.1.4.1.6141.2.60.4.1.1.1.1.105.9") // of a port that is not there
	set(501, ber.Integer, cienaTransceiver+"6.77")
	set(1000, ber.Integer, cienaTransceiver+"35.77")
	set("swp3", ber.OctetString, cienaTransceiver+"40.77")
	set(777, ber.Integer, cienaTransceiver+"6.4") // which port it is in is not told: not the one of that ifIndex
	set(uint64(12), agentsim.Counter32, "%s8.4", aristaIf)
	set(497_700, agentsim.TimeTicks, "%s1.4", aristaIf)

	sim := start(t, tree, agentsim.Faults{})
	a := newAgent(t, sim, Limits{})
	first := a.Read(context.Background())
	sim.Change(func(tree *agentsim.Tree) {
		tree.Set(mellanoxQoS+"2.1.5.1.3", agentsim.Counter64, uint64(503+60))
		tree.Set(mellanoxQoS+"4.1.9.1.6", agentsim.Counter64, uint64(8+5))
		tree.Set(aristaIf+"8.4", agentsim.Counter32, uint64(16))
	})
	second := a.Read(context.Background())
	if first.Err != nil || second.Err != nil {
		t.Fatal(first.Err, second.Err)
	}
	if p := first.Ports[0]; len(p.PFC) != 8 || p.PFC[3] != (PFC{3, 503, 303}) || len(p.Drops) != 8 || p.Drops[6] != (QueueDrops{6, 46 + 8}) {
		t.Errorf("Onyx: %+v %+v", p.PFC, p.Drops)
	}
	if d := Between(first, second)[0]; d.PFC[3].Sent != 60 || d.PFC[3].Received != 0 || d.Drops[6].Packets != 5 {
		t.Errorf("Onyx, in the interval: %+v", d)
	}
	if _, sent := Between(first, second)[0].pauses(); sent == nil || *sent != 60 {
		t.Errorf("Onyx told the other end to stop %v times, expected 60", sent)
	}
	for port, want := range map[int][]float64{1: {-1.07, math.NaN()}, 2: {-3, 0}, 3: nil} {
		for _, r := range []*Reading{first, second} {
			l := r.Ports[port].Optics
			if len(l) != min(len(want), 1) || want != nil && (!sameLight(l[0].Rx, want[0]) || !sameLight(l[0].Tx, want[1])) {
				t.Errorf("Ciena, port %d: %+v", port+1, l)
			}
		}
	}
	if age := second.Ports[3].age(); age < 23*time.Second || age > 40*time.Second || second.Ports[0].age() != 0 {
		t.Errorf("Arista: the counters are %s old", age)
	}
	session, err := Dial(t.Context(), sim.Address(), Credentials{Community: "public"}, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	states, err := (&stateReader{session: session}).read(t.Context())
	if err != nil || states.Ports[4].Carrier == nil || *states.Ports[4].Carrier != 16 || states.Ports[3].Carrier != nil {
		t.Errorf("Arista: %+v, %v", states, err)
	}
}

// TestRMON: wrong checksums are told by etherStats where there is no EtherLike-MIB, of usual frames and of long ones, beyond the end of a counter.
func TestRMON(t *testing.T) {
	tree := device(2)
	tree.Delete("1.3.6.1.2.1.10.7")
	set := func(row, port int, crc, jabbers uint64) {
		tree.Set(fmt.Sprintf("%s.%d", etherStatsDataSource, row), ber.ObjectIdentifier, fmt.Sprintf("%s1.%d", ifEntry, port))
		tree.Set(fmt.Sprintf("%s.%d", etherStatsCRCAlignErrors, row), agentsim.Counter32, crc)
		tree.Set(fmt.Sprintf("%s.%d", etherStatsJabbers, row), agentsim.Counter32, jabbers)
	}
	set(501, 2, 4_294_967_290, 7)
	set(502, 99, 1, 1) // of a port that is not there
	sim := start(t, tree, agentsim.Faults{})
	a := newAgent(t, sim, Limits{})
	first := a.Read(context.Background())
	sim.Change(func(tree *agentsim.Tree) {
		tree.Set(etherStatsCRCAlignErrors+".501", agentsim.Counter32, uint64(4))
		tree.Set(etherStatsJabbers+".501", agentsim.Counter32, uint64(12))
	})
	second := a.Read(context.Background())
	if first.Err != nil || second.Err != nil {
		t.Fatal(first.Err, second.Err)
	}
	if d := Between(first, second); d[1].In.FCS == nil || *d[1].In.FCS != 15 || d[0].In.FCS != nil {
		t.Errorf("counted %+v and %+v", d[0].In, d[1].In)
	}
}

// sameLight compares light; NaN is none.
func sameLight(got *float64, want float64) bool {
	return got == nil && math.IsNaN(want) || got != nil && math.Abs(*got-want) < 0.005
}

func light(v *float64) string {
	if v == nil {
		return "none"
	}
	return fmt.Sprintf("%.2f dBm", *v)
}
