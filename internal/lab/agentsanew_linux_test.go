package lab

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"whichlink/internal/evidence"
	"whichlink/probes/snmp"
)

// An agent that is killed and begins anew while the numbers of its ports go to others: what is told of it is no traffic that there was not, no error, and no
// flap of ports that stayed what they were.
func TestAgentBeginsAnew(t *testing.T) {
	if testing.Short() {
		t.Skip("agents take seconds to begin anew")
	}
	l := newWithAgents(t, must(testFabric()))
	leaf, _ := l.fabric.NodeByName("leaf1")
	inLeaf := func(fn func() error) {
		t.Helper()
		if err := l.Do(leaf, fn); err != nil {
			t.Fatal(err)
		}
	}
	const frames, size = 2000, 1000
	inLeaf(func() error { return pairOf("extra0", 500, "far0") })
	inLeaf(func() error { return flood("far0", frames, size) })

	var mu sync.Mutex // guards records
	var records []evidence.Record
	counted := func(port string) (readings, resets int, octets, errs uint64) {
		mu.Lock()
		defer mu.Unlock()
		for i := range records {
			r := &records[i]
			if r.Kind != evidence.KindCounters || r.Port != "leaf1:"+port {
				continue
			}
			if r.Reset || r.In == nil {
				resets++
				continue
			}
			readings++
			octets, errs = octets+*r.In.Octets, errs+*r.In.Errors
		}
		return readings, resets, octets, errs
	}
	await := func(port string, n int) {
		t.Helper()
		eventually(t, 30*time.Second, func() string {
			if got, _, _, _ := counted(port); got < n {
				return fmt.Sprintf("%s was read %d times", port, got)
			}
			return ""
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	w := snmp.NewWatch(snmp.WatchConfig{
		Agents:      []snmp.WatchedAgent{{Name: "leaf1", Target: l.fabric.Node(leaf).Management.String()}},
		Credentials: snmp.Credentials{Community: Community}, Limits: snmp.Limits{Open: l.DoManagement}, Status: time.Second, Counters: time.Second,
		Record: func(r *evidence.Record) { mu.Lock(); records = append(records, *r); mu.Unlock() },
	})
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	await("extra0", 2)
	inLeaf(func() error {
		link, err := netlink.LinkByName("extra0")
		if err != nil {
			return err
		}
		if err := netlink.LinkDel(link); err != nil {
			return err
		}
		if err := pairOf("extra9", 500, "far9"); err != nil {
			return err
		}
		return pairOf("extra0", 600, "far0")
	})
	if err := l.RestartAgent(leaf); err != nil {
		t.Fatal(err)
	}
	inLeaf(func() error { return flood("far9", frames/10, size) })
	await("extra9", 2)
	await("extra0", 4)
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	for port, most := range map[string]uint64{"extra0": frames * size / 10, "extra9": frames * size / 5, "swp1": 1e6} {
		if readings, resets, octets, errs := counted(port); octets > most || errs > 0 || readings == 0 {
			t.Errorf("%s: %d octets and %d errors in %d readings and %d new beginnings; no more than %d octets came", port, octets, errs, readings, resets, most)
		}
	}
	for i := range records {
		if r := &records[i]; r.Kind == evidence.KindEvent && strings.HasPrefix(r.Port, "leaf1:swp") {
			t.Errorf("%s: %s (%s), which did not happen", r.Port, r.Event, r.Text)
		}
	}
}

// pairOf makes a pair of devices, one of them with a number of its own.
func pairOf(name string, index int, far string) error {
	if err := netlink.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: name, Index: index, MTU: 1500}, PeerName: far}); err != nil {
		return err
	}
	for _, n := range []string{name, far} {
		link, err := netlink.LinkByName(n)
		if err == nil {
			err = netlink.LinkSetUp(link)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// flood sends frames out of a device.
func flood(name string, frames, size int) error {
	link, err := netlink.LinkByName(name)
	if err != nil {
		return err
	}
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	frame := make([]byte, size)
	copy(frame, "\xff\xff\xff\xff\xff\xff\x02\x00\x00\x00\x00\x01\x88\xb5") // local experimental (IEEE 802)
	for range frames {
		if err := unix.Sendto(fd, frame, 0, &unix.SockaddrLinklayer{Ifindex: link.Attrs().Index, Protocol: 0xb588}); err != nil {
			return err
		}
	}
	return nil
}
