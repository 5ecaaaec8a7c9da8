package snmp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/gosnmp/gosnmp"
)

// needs skips a test where a program of net-snmp is missing; where CI runs, it has to be there.
func needs(t *testing.T, program string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil && os.Getenv("CI") == "true" {
		t.Fatalf("%s is not installed", program)
	}
	if err != nil {
		t.Skipf("%s of net-snmp is not installed", program)
	}
	return path
}

// linkTrap writes a linkDown or linkUp as the library does.
func linkTrap(t testing.TB, community string, kind TrapKind, index int) []byte {
	t.Helper()
	var message []byte
	for oid, k := range trapKinds {
		if k != kind || !strings.HasPrefix(oid, "1.3.6.1.6.3.1.1.5.") {
			continue
		}
		g := &gosnmp.GoSNMP{Version: gosnmp.Version2c, Community: community, Timeout: time.Second, MaxOids: 60}
		row := "." + strconv.Itoa(index)
		p, err := g.SnmpEncodePacket(gosnmp.SNMPv2Trap, []gosnmp.SnmpPDU{
			{Name: "1.3.6.1.2.1.1.3.0", Type: gosnmp.TimeTicks, Value: uint32(4711)},
			{Name: oidTrap, Type: gosnmp.ObjectIdentifier, Value: oid},
			{Name: ifEntry + "1" + row, Type: gosnmp.Integer, Value: index},
			{Name: ifEntry + "7" + row, Type: gosnmp.Integer, Value: 1},
			{Name: ifEntry + "8" + row, Type: gosnmp.Integer, Value: map[TrapKind]int{LinkDown: 2, LinkUp: 1}[kind]},
			{Name: trapIfName + strings.TrimPrefix(row, "."), Type: gosnmp.OctetString, Value: "swp" + strconv.Itoa(index) + "\x1b[2J"},
		}, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		message = p
	}
	return message
}

// hearTraps listens on loopback until the test ends. The traps come one by one on the channel.
func hearTraps(t *testing.T, cfg TrapConfig) (*Traps, <-chan Trap) {
	t.Helper()
	cfg.Address = "127.0.0.1:0"
	traps, err := ListenTraps(cfg)
	if err != nil {
		t.Fatal(err)
	}
	heard := make(chan Trap, 64)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- traps.Run(ctx, func(trap Trap) {
			select {
			case heard <- trap:
			case <-ctx.Done():
			}
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return traps, heard
}

func oneTrap(t *testing.T, heard <-chan Trap) Trap {
	t.Helper()
	select {
	case trap := <-heard:
		return trap
	case <-time.After(10 * time.Second):
		t.Fatal("no trap came")
		return Trap{}
	}
}

// waitFor waits until what was counted is as wanted.
func waitFor(t *testing.T, traps *Traps, want func(TrapStats) bool) TrapStats {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if s := traps.Stats(); want(s) || time.Now().After(end) {
			return s
		}
	}
}

// A switch that restarts, or many at once, tell thousands of things within a moment.
func TestTrapBurst(t *testing.T) {
	const burst = 20_000
	traps, err := ListenTraps(TrapConfig{Address: "127.0.0.1:0", Credentials: Credentials{Community: "public"}})
	if err != nil {
		t.Fatal(err)
	}
	bytes, _ := traps.Buffer()
	messages := make([][]byte, 200)
	for i := range messages {
		messages[i] = linkTrap(t, "public", []TrapKind{LinkDown, LinkUp}[i%2], i/2+1)
	}
	conn, err := net.Dial("udp", traps.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	seen := map[uint32]int{}
	done := make(chan error, 1)
	go func() { done <- traps.Run(ctx, func(trap Trap) { seen[trap.Index]++ }) }()
	start := time.Now()
	for i := range burst {
		if _, err := conn.Write(messages[i%len(messages)]); err != nil {
			t.Fatal(err)
		}
	}
	took := time.Since(start)
	s := waitFor(t, traps, func(s TrapStats) bool { return s.Taken+s.Lost() >= burst })
	t.Logf("%d of %d bytes each, %.0f a second, into a buffer of %d bytes: %+v", burst, len(messages[0]), burst/took.Seconds(), bytes, s)
	// A kernel that gives no large buffer may lose some; it tells how many with the next that it keeps.
	if s.Taken != burst && (bytes >= trapBuffer || s.Lost() == 0) {
		t.Errorf("%d of %d were taken", s.Taken, burst)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if len(seen) != 100 || s.Lost() == 0 && seen[100] != burst/100 {
		t.Errorf("%d ports, the last with %d traps", len(seen), seen[100])
	}
}

func TestTrapsBelieved(t *testing.T) {
	me := netip.MustParseAddr("127.0.0.1")
	cfg := TrapConfig{Credentials: Credentials{Community: "right"}, Known: func(a netip.Addr) bool { return a == me }}
	traps, heard := hearTraps(t, cfg)
	conn, err := net.Dial("udp", traps.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	good := linkTrap(t, "right", LinkDown, 7)
	v1 := bytes.Clone(good)
	v1[bytes.IndexByte(v1, 1)+1] = 0 // the version: 02 01 01
	for _, m := range [][]byte{linkTrap(t, "wrong", LinkDown, 7), linkTrap(t, "righ", LinkDown, 7), linkTrap(t, "", LinkDown, 7),
		good[:len(good)-1], {0x30}, bytes.Repeat([]byte{0x30, 0x82, 0xff, 0xff}, 4000), make([]byte, 60_000), good} {
		if _, err := conn.Write(m); err != nil {
			t.Fatal(err)
		}
	}
	stranger, err := (&net.Dialer{LocalAddr: &net.UDPAddr{IP: net.IPv4(127, 0, 0, 2)}}).Dial("udp", traps.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer stranger.Close()
	if _, err := stranger.Write(good); err != nil {
		t.Fatal(err)
	}
	trap := oneTrap(t, heard)
	want := Trap{From: me, Kind: LinkDown, Index: 7, Name: "swp7\ufffd[2J", Oper: "down", Admin: "up"}
	if d := cmp.Diff(want, trap, cmpopts.EquateComparable(netip.Addr{}), cmpopts.IgnoreFields(Trap{}, "Time")); d != "" {
		t.Error(d)
	}
	got := waitFor(t, traps, func(s TrapStats) bool { return s.Unknown == 1 && s.Taken == 1 })
	if want := (TrapStats{Taken: 1, Unknown: 1, Denied: 3, Malformed: 4}); got != want {
		t.Errorf("counted %+v, want %+v", got, want)
	}
	if n := traps.Strangers()[netip.MustParseAddr("127.0.0.2")]; n != 1 {
		t.Errorf("%d traps of the stranger", n)
	}
}

// What net-snmp sends is understood: SNMPv2c and SNMPv3 with keys of its own making, by several engines.
func TestTrapsOfNetSNMP(t *testing.T) {
	snmptrap := needs(t, "snmptrap")
	down := []string{"", "1.3.6.1.6.3.1.1.5.3", ifEntry + "1.49", "i", "49", ifEntry + "8.49", "i", "2", trapIfName + "49", "s", "Ethernet49"}
	lost := []string{"", "1.3.6.1.2.1.15.0.2", trapBGPPeers + "14.10.64.0.1", "x", "0400", trapBGPPeers + "2.10.64.0.1", "i", "1"}
	user := func(auth, authPassword, priv, privPassword, engine, user string) []string {
		return []string{"-v", "3", "-l", "authPriv", "-u", user, "-a", auth, "-A", authPassword, "-x", priv, "-X", privPassword, "-e", engine}
	}
	const e1, e2 = "0x8000000001020304", "0x80001f8880aabbccdd00112233"
	sha256 := Credentials{User: "mon", Auth: "SHA-256", AuthPassword: "authpass12", Priv: "AES", PrivPassword: "privpass12"}
	sha512 := Credentials{User: "mon", Auth: "SHA-512", AuthPassword: "authpass12", Priv: "AES-256", PrivPassword: "privpass12"}
	sha := Credentials{User: "mon", Auth: "SHA", AuthPassword: "authpass12"}
	for _, c := range []struct {
		name        string
		credentials Credentials
		send        [][]string
		want        TrapStats
	}{
		{"v2c", Credentials{Community: "right"}, [][]string{
			{"-v", "2c", "-c", "right"}, {"-v", "2c", "-c", "wrong"}, {"-v", "1", "-c", "right"},
			user("SHA-256", "authpass12", "AES", "privpass12", e1, "mon")},
			TrapStats{Taken: 1, Denied: 3}},
		{"v3 SHA-256 AES", sha256, [][]string{
			user("SHA-256", "authpass12", "AES", "privpass12", e1, "mon"), user("SHA-256", "authpass12", "AES", "privpass12", e2, "mon"),
			user("SHA-256", "authpass12", "AES", "privpass12", e1, "mon"), user("SHA-256", "otherpass1", "AES", "privpass12", e1, "mon"),
			user("SHA-256", "authpass12", "AES", "privpass12", e1, "eve"), user("SHA", "authpass12", "AES", "privpass12", e2, "mon"),
			{"-v", "3", "-l", "noAuthNoPriv", "-u", "mon", "-e", e1}, {"-v", "2c", "-c", "right"},
			user("SHA-256", "authpass12", "AES", "otherpass1", e1, "mon")},
			TrapStats{Taken: 3, Denied: 5, Malformed: 1}},
		{"v3 SHA-512 AES-256", sha512, [][]string{user("SHA-512", "authpass12", "AES-256", "privpass12", e1, "mon")}, TrapStats{Taken: 1}},
		{"v3 SHA", sha, [][]string{{"-v", "3", "-l", "authNoPriv", "-u", "mon", "-a", "SHA", "-A", "authpass12", "-e", e1}}, TrapStats{Taken: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			traps, heard := hearTraps(t, TrapConfig{Credentials: c.credentials})
			for i, options := range c.send {
				// A trap of version 1 has its own form of arguments.
				what := down
				if options[1] == "1" {
					what = []string{"1.3.6.1.4.1.8072", "127.0.0.1", "2", "0", "", ifEntry + "1.49", "i", "49"}
				} else if i == 2 {
					what = lost
				}
				cmd := exec.Command(snmptrap, append(append(options, traps.Addr().String()), what...)...)
				cmd.Env = append(os.Environ(), "SNMP_PERSISTENT_DIR="+t.TempDir(), "MIBS=")
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("snmptrap: %v\n%s", err, out)
				}
			}
			sum := c.want.Taken + c.want.Denied + c.want.Malformed
			got := waitFor(t, traps, func(s TrapStats) bool { return s.Taken+s.Denied+s.Malformed+s.Replayed >= sum })
			if got != c.want {
				t.Errorf("counted %+v, want %+v", got, c.want)
			}
			if trap := oneTrap(t, heard); trap.Kind != LinkDown || trap.Index != 49 || trap.Name != "Ethernet49" || trap.Oper != "down" {
				t.Errorf("heard %+v", trap)
			}
			if c.name == "v3 SHA-256 AES" {
				oneTrap(t, heard)
				if trap := oneTrap(t, heard); trap.Kind != SessionLost || trap.Peer != netip.MustParseAddr("10.64.0.1") {
					t.Errorf("heard %+v", trap)
				}
			}
		})
	}
}

// TestInforms: net-snmp's tool sends an inform and is content only if it is acknowledged.
func TestInforms(t *testing.T) {
	t.Parallel()
	snmptrap := needs(t, "snmptrap")
	inform := func(traps *Traps, retries string, options ...string) error {
		options = append(options, "-Ci", "-r", retries, "-t", "1", traps.Addr().String(), "", "1.3.6.1.6.3.1.1.5.3", ifEntry+"1.49", "i", "49", trapIfName+"49", "s", "Ethernet49")
		cmd := exec.Command(snmptrap, options...)
		cmd.Env = append(os.Environ(), "SNMP_PERSISTENT_DIR="+t.TempDir(), "MIBS=")
		out, err := cmd.CombinedOutput()
		if err != nil {
			err = fmt.Errorf("%w: %s", err, out)
		}
		return err
	}
	user := func(auth, password, priv string) []string {
		return []string{"-v", "3", "-l", "authPriv", "-u", "mon", "-a", auth, "-A", password, "-x", priv, "-X", "privpass12"}
	}
	for _, c := range []struct {
		credentials  Credentials
		right, wrong []string
	}{
		{Credentials{Community: "right"}, []string{"-v", "2c", "-c", "right"}, []string{"-v", "2c", "-c", "wrong"}},
		{Credentials{User: "mon", Auth: "SHA-256", AuthPassword: "authpass12", Priv: "AES", PrivPassword: "privpass12"},
			user("SHA-256", "authpass12", "AES"), user("SHA-256", "otherpass1", "AES")},
		{Credentials{User: "mon", Auth: "SHA-512", AuthPassword: "authpass12", Priv: "AES-256", PrivPassword: "privpass12"},
			user("SHA-512", "authpass12", "AES-256"), user("SHA-512", "authpass12", "AES")},
		{Credentials{User: "mon", Auth: "SHA", AuthPassword: "authpass12"},
			[]string{"-v", "3", "-l", "authNoPriv", "-u", "mon", "-a", "SHA", "-A", "authpass12"}, []string{"-v", "3", "-l", "noAuthNoPriv", "-u", "mon"}},
	} {
		traps, heard := hearTraps(t, TrapConfig{Credentials: c.credentials})
		if err := inform(traps, "5", c.right...); err != nil {
			t.Errorf("%s: an inform was not acknowledged: %v", c.credentials, err)
			continue
		}
		if trap := oneTrap(t, heard); trap.Kind != LinkDown || trap.Index != 49 || trap.Name != "Ethernet49" {
			t.Errorf("%s: heard %+v", c.credentials, trap)
		}
		if err := inform(traps, "0", c.wrong...); err == nil {
			t.Errorf("%s: an inform with %v was acknowledged", c.credentials, c.wrong)
		}
		if s := traps.Stats(); s.Taken != 1 || s.Denied+s.Malformed == 0 {
			t.Errorf("%s: counted %+v", c.credentials, s)
		}
	}
}

// An inform that is sent again, since its answer was lost, is answered again and heard once.
func TestInformAgain(t *testing.T) {
	d := newTrapDecoder(Credentials{Community: "right"})
	message := linkTrap(t, "right", LinkDown, 7)
	at := bytes.IndexByte(message, byte(gosnmp.SNMPv2Trap))
	message[at] = byte(gosnmp.InformRequest)
	want := bytes.Clone(message)
	want[at] = byte(gosnmp.GetResponse)
	for i, err := range []error{nil, errTrapReplayed} {
		trap, reply, got := d.decode(trapMessage{at: time.Now(), from: netip.MustParseAddrPort("10.0.0.1:5000"), text: bytes.Clone(message)})
		if !errors.Is(got, err) || !bytes.Equal(reply, want) || (i == 0) != (trap.Kind == LinkDown) {
			t.Errorf("time %d: %+v, %x, %v", i, trap, reply, got)
		}
	}
}

// userTrap writes a trap of SNMPv3 as an engine sends it at a moment of its own clock.
func userTrap(t testing.TB, c Credentials, engine string, boots, seconds uint32) []byte {
	t.Helper()
	g := &gosnmp.GoSNMP{Timeout: time.Second, MaxOids: 60}
	c.apply(g)
	p := g.SecurityParameters.(*gosnmp.UsmSecurityParameters)
	p.AuthoritativeEngineID, p.AuthoritativeEngineBoots, p.AuthoritativeEngineTime = engine, boots, seconds
	if err := p.InitSecurityKeys(); err != nil {
		t.Fatal(err)
	}
	g.ContextEngineID = engine
	message, err := g.SnmpEncodePacket(gosnmp.SNMPv2Trap, []gosnmp.SnmpPDU{
		{Name: "1.3.6.1.2.1.1.3.0", Type: gosnmp.TimeTicks, Value: uint32(4711)},
		{Name: oidTrap, Type: gosnmp.ObjectIdentifier, Value: "1.3.6.1.6.3.1.1.5.3"},
		{Name: ifEntry + "1.7", Type: gosnmp.Integer, Value: 7},
	}, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	return message
}

// Whoever recorded a trap cannot send it again later, and whoever does not know the password cannot make us keep anything.
func TestTrapReplay(t *testing.T) {
	c := Credentials{User: "mon", Auth: "SHA-256", AuthPassword: "authpass12", Priv: "AES", PrivPassword: "privpass12"}
	wrong := c
	wrong.AuthPassword = "otherpass1"
	const engine = "\x80\x00\x00\x00\x01\x02\x03\x04"
	d := newTrapDecoder(c)
	began := time.Now()
	for _, x := range []struct {
		name           string
		credentials    Credentials
		engine         string
		boots, seconds uint32
		after          time.Duration
		want           error
	}{
		{"first", c, engine, 3, 1000, 0, nil},
		{"a little late", c, engine, 3, 900, time.Second, nil},
		{"old", c, engine, 3, 700, 2 * time.Second, errTrapReplayed},
		{"old by our clock", c, engine, 3, 1000, 200 * time.Second, errTrapReplayed},
		{"of an earlier boot", c, engine, 2, 5000, 3 * time.Second, errTrapReplayed},
		{"after a restart", c, engine, 4, 1, 4 * time.Second, nil},
		{"without the password", wrong, engine, 9, 1, 5 * time.Second, errTrapDenied},
		{"without the password, of another", wrong, "\x80\x00\x00\x00\x01\x02\x03\x05", 9, 1, 5 * time.Second, errTrapDenied},
		{"without an engine", c, "\x80\x00", 9, 1, 5 * time.Second, errTrapMalformed},
		{"still there", c, engine, 4, 3, 6 * time.Second, nil},
	} {
		trap, _, err := d.decode(trapMessage{at: began.Add(x.after), text: userTrap(t, x.credentials, x.engine, x.boots, x.seconds)})
		if !errors.Is(err, x.want) || err == nil && trap.Index != 7 {
			t.Errorf("%s: %v, want %v; %+v", x.name, err, x.want, trap)
		}
	}
	if len(d.engines) != 1 {
		t.Errorf("%d engines are kept", len(d.engines))
	}
}

// No message makes the decoder panic, and what it makes of one is bounded.
func FuzzTrap(f *testing.F) {
	c := Credentials{User: "mon", Auth: "SHA", AuthPassword: "authpass12", Priv: "AES", PrivPassword: "privpass12"}
	f.Add(linkTrap(f, "public", LinkDown, 7))
	f.Add(linkTrap(f, "public", LinkUp, 1<<30))
	f.Add(userTrap(f, c, "\x80\x00\x00\x00\x01\x02\x03\x04", 3, 1000))
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, credentials := range []Credentials{{Community: "public"}, c, {User: "mon"}} {
			d := newTrapDecoder(credentials)
			trap, _, err := d.decode(trapMessage{at: time.Now(), text: bytes.Clone(text)})
			if err != nil && trap != (Trap{}) {
				t.Errorf("%v, and yet %+v", err, trap)
			}
			if len(trap.Name) > 3*len(text) || strings.ContainsFunc(trap.Name, func(r rune) bool { return r < ' ' }) {
				t.Errorf("name %q", trap.Name)
			}
			if len(d.engines) > 1 {
				t.Errorf("%d engines", len(d.engines))
			}
		}
	})
}
