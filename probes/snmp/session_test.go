package snmp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/gosnmp/gosnmp"

	"whichlink/probes/snmp/agentsim"
)

// What the system and the library say of an agent that cannot be asked is told in words of ours, of one line, and by what it is.
func TestClassify(t *testing.T) {
	connect := func(n syscall.Errno) error {
		return &net.OpError{Op: "dial", Net: "udp", Err: os.NewSyscallError("connect", n)}
	}
	for _, c := range []struct {
		err  error
		want error
		text string
	}{
		{connect(syscall.ENETUNREACH), ErrUnreachable, "it cannot be reached: network is unreachable"},
		{connect(syscall.EHOSTUNREACH), ErrUnreachable, "it cannot be reached: no route to host"},
		{connect(syscall.ECONNREFUSED), ErrRefused, "no agent listens"},
		{connect(syscall.EMFILE), ErrAgent, "agent error: dial udp: connect: too many open files"},
		{&net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: "sw01", IsNotFound: true}}, ErrName, "its name cannot be resolved: no such host"},
		{&net.OpError{Op: "dial", Err: &net.DNSError{Err: "i/o timeout", Name: "sw01", IsTimeout: true}}, ErrName, "its name cannot be resolved: no resolver answers"},
		{&net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}, ErrNoAnswer, "no answer"},
		{gosnmp.ErrUnknownUsername, ErrCredentials, "the agent rejects the credentials: it knows no such user"},
		{gosnmp.ErrDecryption, ErrCredentials, "the agent rejects the credentials: the priv password or protocol is wrong"},
		{errors.New("a stack\nof many lines"), ErrAgent, "agent error: a stack"},
	} {
		if got := classify(c.err); !errors.Is(got, c.want) || got.Error() != c.text || IsSilent(got) != (c.want != ErrAgent && c.want != ErrCredentials) {
			t.Errorf("%v: %v", c.err, got)
		}
	}
}

// TestIPv6: an agent is asked at an address of IPv6, with a port in any case, and what it answers is told under it.
func TestIPv6(t *testing.T) {
	sim, err := agentsim.Start("[::1]:0", "public", device(3), agentsim.Faults{})
	if err != nil {
		t.Skip("no IPv6 here:", err)
	}
	defer sim.Close()
	a := NewAgent(sim.Address(), Credentials{Community: "public"}, Limits{})
	defer a.Close()
	if r := a.Read(context.Background()); r.Err != nil || len(r.Ports) != 3 || !strings.HasPrefix(r.Target, "[::1]:") {
		t.Errorf("%s: %d ports, %v", r.Target, len(r.Ports), r.Err)
	}
	for word, want := range map[string]string{"::1": "::1 161", "[::1]:1161": "::1 1161", "fe80::1%eth0": "fe80::1%eth0 161", "sw01": "sw01 161", "10.0.0.1:7": "10.0.0.1 7"} {
		if host, port, err := splitTarget(word); err != nil || fmt.Sprint(host, " ", port) != want {
			t.Errorf("%s is %s, %d, %v", word, host, port, err)
		}
	}
}
