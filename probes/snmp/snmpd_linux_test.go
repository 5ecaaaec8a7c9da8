package snmp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// snmpd starts net-snmp's agent on a port of the loopback and returns its address.
func snmpd(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("snmpd")
	if err != nil {
		path = "/usr/sbin/snmpd"
		_, err = os.Stat(path)
	}
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip("net-snmp's snmpd is not installed")
	}
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := c.LocalAddr().String()
	_ = c.Close()
	dir := t.TempDir()
	conf := filepath.Join(dir, "snmpd.conf")
	text := "agentaddress udp:" + address + "\nsysName live\nrocommunity readonly1\ncreateUser mon SHA-256 authpass12 AES privpass12\nrouser mon priv\n"
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(dir, "log")
	cmd := exec.Command(path, "-f", "-C", "-c", conf, "-Lf", log, "-I", "-smux", "-m", "", "-M", dir)
	cmd.Env = append(os.Environ(), "SNMP_PERSISTENT_DIR="+dir)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	for range 100 {
		a := NewAgent(address, Credentials{Community: "readonly1"}, Limits{})
		r := a.Read(context.Background())
		_ = a.Close()
		if r.Err == nil {
			return address
		}
		time.Sleep(100 * time.Millisecond)
	}
	said, _ := os.ReadFile(log)
	t.Fatalf("snmpd does not answer:\n%s", said)
	return ""
}

// TestSnmpd reads a real agent with SNMPv2c and with SNMPv3 (SHA-256, AES) and holds what it says against the kernel.
func TestSnmpd(t *testing.T) {
	address := snmpd(t)
	v3 := Credentials{User: "mon", Auth: "SHA-256", AuthPassword: "authpass12", Priv: "AES", PrivPassword: "privpass12"}
	interfaces, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]Credentials{"v2c": {Community: "readonly1"}, "v3": v3} {
		a := NewAgent(address, c, Limits{})
		defer a.Close()
		for range 2 {
			r := a.Read(context.Background())
			if r.Err != nil || r.Name != "live" || r.Clock.Uptime == nil {
				t.Fatalf("%s: %q %v", name, r.Name, r.Err)
			}
			for _, i := range interfaces {
				q := r.Port(uint32(i.Index))
				if q == nil || !strings.HasPrefix(q.Name, i.Name) {
					t.Errorf("%s: interface %s is told as %+v", name, i.Name, q)
				}
			}
			if q := r.Port(1); q != nil { // loopback counts what we ask by, after its cache's 3 s
				told, ok := q.Counts.Get(InOctets)
				if now := kernelOctets(t, "lo"); !ok || told > now || now-told > 1<<30 {
					t.Errorf("%s: lo received %d octets, told is %d (%t)", name, now, told, ok)
				}
			}
		}
	}
	for why, c := range map[string]Credentials{
		"a wrong password": {User: "mon", Auth: "SHA-256", AuthPassword: "wrongpass12", Priv: "AES", PrivPassword: "privpass12"},
		"a wrong user":     {User: "nobody", Auth: "SHA-256", AuthPassword: "authpass12", Priv: "AES", PrivPassword: "privpass12"},
	} {
		a := NewAgent(address, c, Limits{})
		if r := a.Read(context.Background()); !errors.Is(r.Err, ErrCredentials) || strings.Contains(fmt.Sprint(r.Err), "pass12") {
			t.Errorf("%s: %v", why, r.Err)
		}
		_ = a.Close()
	}
	a := NewAgent(address, Credentials{Community: "wrong"}, Limits{Timeout: 50 * time.Millisecond, Retries: 1})
	if r := a.Read(context.Background()); !errors.Is(r.Err, ErrNoAnswer) {
		t.Errorf("a wrong community: %v", r.Err)
	}
	_ = a.Close()
}

func kernelOctets(t *testing.T, name string) uint64 {
	t.Helper()
	b, err := os.ReadFile("/sys/class/net/" + name + "/statistics/rx_bytes")
	if err != nil {
		t.Skip(err)
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(b)), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
