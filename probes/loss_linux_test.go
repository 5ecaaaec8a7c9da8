package probes

import (
	"fmt"
	"testing"
	"time"

	"whichlink/graphs"
	"whichlink/graphs/generate"
	"whichlink/internal/lab"
)

// arc names the arc between two nodes that share one link.
func (b *bench) arc(from, to string) string {
	b.t.Helper()
	for a := range graphs.ArcID(b.fabric.NumArcs()) {
		if b.fabric.NodeName(b.fabric.Tail(a)) == from && b.fabric.NodeName(b.fabric.Head(a)) == to {
			return b.fabric.ArcName(a)
		}
	}
	b.t.Fatalf("no arc from %s to %s", from, to)
	return ""
}

// echoAll sends n echoes along each stream, paced, calls then, and returns the sum of what became of them.
func (b *bench) echoAll(streams []*Stream, n int, then func()) Window {
	b.t.Helper()
	for range n {
		for _, s := range streams {
			if s.Echo(1) != 1 {
				b.t.Fatal("not sent")
			}
		}
		time.Sleep(time.Millisecond)
	}
	time.Sleep(50 * time.Millisecond)
	then()
	// What was lost last has no later answer that tells the way of its loss. So they are asked about, as a session does, until it is told: what a question
	// covers ends before it was asked, and the longer before, the later answers came on a busy machine.
	for end := time.Now().Add(3 * time.Second); time.Now().Before(end); time.Sleep(40 * time.Millisecond) { // or the last answers would meet the next fault
		asked := false
		for i, s := range streams {
			if undecided, _ := s.Pending(); undecided > 0 {
				streams[(i+1)%len(streams)].AskCount(s)
				asked = true
			}
		}
		if !asked {
			break
		}
	}
	var sum Window
	sum.Split = true
	for _, s := range streams {
		w := decided(b.t, s, n, 3*time.Second)
		sum.Sent += w.Sent
		sum.Lost += w.Lost
		sum.LostForward += w.LostForward
		sum.LostBack += w.LostBack
		sum.CorruptForward += w.CorruptForward
		sum.CorruptBack += w.CorruptBack
		sum.Late += w.Late
		sum.Duplicate += w.Duplicate
		sum.Unknown += w.Unknown
		sum.Split = sum.Split && w.Split
	}
	return sum
}

// What the engine says was lost, and on which way, is what the faults counted.
func TestLossSplit(t *testing.T) {
	for _, ipv6 := range []bool{false, true} {
		f, err := generate.LeafSpine(generate.LeafSpineConfig{Leaves: 2, Spines: 4, Hosts: 1, IPv6: ipv6})
		if err != nil {
			t.Fatal(err)
		}
		// A busy machine may keep the questions longer than lost echoes wait for them by default.
		b := newBench(t, f, 1, Config{MinTimeout: 500 * time.Millisecond}, ReflectorConfig{})
		// The faults hit the kernel's own IPv6 multicast messages (MLD), too, and count them.
		noise := 0
		if ipv6 {
			noise = 3
		}
		streams := b.streams(b.hosts[1], 16, ipv6, Options{})
		// The first packets of all may be lost while the kernel finishes its IPv6 addresses.
		if !within(t, time.Second, func() bool { streams[0].Reach(); return streams[0].Method() != "" }) {
			t.Fatal("no answer")
		}
		for _, c := range []struct {
			name, forward, back string
		}{
			{"healthy", "", ""},
			{"forward", "30%", ""},
			{"back", "", "30%"},
			{"both", "20%", "20%"},
			{"all forward", "100%", ""},
			{"all back", "", "100%"},
		} {
			t.Run(fmt.Sprintf("IPv6 %v %s", ipv6, c.name), func(t *testing.T) {
				var ids [2]lab.FaultID
				if c.forward != "" {
					ids[0] = b.breakIt("loss", c.forward, b.arc("leaf1", "spine1"))
				}
				if c.back != "" {
					ids[1] = b.breakIt("loss", c.back, b.arc("spine1", "leaf1"))
				}
				var hits [2]int
				w := b.echoAll(streams, 40, func() {
					for i, id := range ids {
						if id != 0 {
							hits[i] = b.hit(id)
						}
					}
					if err := b.lab.HealAll(); err != nil {
						t.Fatal(err)
					}
				})
				extra := [2]int{hits[0] - w.LostForward, hits[1] - w.LostBack}
				if min(extra[0], extra[1]) < 0 || max(extra[0], extra[1]) > noise || w.Lost != w.LostForward+w.LostBack || !w.Split {
					t.Errorf("lost %d forward, %d back, %d in all; the faults dropped %v: %+v", w.LostForward, w.LostBack, w.Lost, hits, w)
				}
				if c.forward+c.back != "" && w.Lost == 0 {
					t.Error("the fault hit nothing: the test tests nothing")
				}
				if w.Late+w.Duplicate+w.Unknown != 0 {
					t.Errorf("odd answers: %+v", w)
				}
			})
		}
	}
}

// Payloads that a switch changes arrive, and are told by direction.
func TestCorruption(t *testing.T) {
	b := newBench(t, leafSpine(t, 2, 2), 1, Config{NoChecksum: true}, ReflectorConfig{NoChecksum: true})
	streams := b.streams(b.hosts[1], 8, false, Options{})
	for _, c := range []struct {
		name     string
		from, to string
	}{{"forward", "leaf1", "spine1"}, {"back", "spine1", "leaf1"}} {
		t.Run(c.name, func(t *testing.T) {
			id := b.breakIt("corrupt", "20%", b.arc(c.from, c.to))
			hit := 0
			w := b.echoAll(streams, 50, func() {
				hit = b.hit(id)
				if err := b.lab.HealAll(); err != nil {
					t.Fatal(err)
				}
			})
			forward, back := hit, 0
			if c.name == "back" {
				forward, back = 0, hit
			}
			if hit == 0 || w.CorruptForward != forward || w.CorruptBack != back || w.Lost != 0 {
				t.Errorf("%d corrupt forward, %d back; the fault changed %d: %+v", w.CorruptForward, w.CorruptBack, hit, w)
			}
		})
	}
}
