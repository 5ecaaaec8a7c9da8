package probes

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"
)

// look sends echoes and TTL-limited probes along streams in random order, enough to classify, and returns what was seen.
func (b *bench) look(streams []*Stream, n int) []Sight {
	b.t.Helper()
	for range n {
		for _, s := range streams {
			s.Echo(2)
			s.Expire(3, 1, 2)
		}
		time.Sleep(time.Millisecond)
	}
	time.Sleep(1100 * time.Millisecond)
	var all []Sight
	for _, s := range streams {
		w := s.Take()
		if len(w.Hops) != 3 || w.Hops[0].Sent != n {
			b.t.Fatalf("hops of %d: %+v", s.flow.SrcPort, w.Hops)
		}
		all = append(all, Sight{Hops: w.Hops, Sent: w.Sent, Lost: w.Lost, LostForward: w.LostForward, LostBack: w.LostBack, Split: w.Split})
	}
	return all
}

// What the answers of hops mean, on real packets: by what is wrong with the flows over spine1.
func TestClassesInLab(t *testing.T) {
	b := newBench(t, leafSpine(t, 2, 4), 1, Config{}, ReflectorConfig{})
	streams := b.streams(b.hosts[1], 12, false, Options{Outstanding: 4096})
	var over, beside []int
	for i, s := range streams {
		if b.truth(s.flow)[1] == "spine1" {
			over = append(over, i)
		} else {
			beside = append(beside, i)
		}
	}
	if len(over) == 0 || len(beside) == 0 {
		t.Fatal("flows take one path only")
	}
	for _, c := range []struct {
		name string
		make func()
		over [3]Class // of flows over spine1
	}{
		{"healthy", func() {}, [3]Class{ClassOK, ClassOK, ClassOK}},
		{"rate limit", func() { b.breakIt("police", "20", "spine1") }, [3]Class{ClassOK, ClassRateLimited, ClassOK}},
		{"silent", func() { b.breakIt("police", "0", "spine1") }, [3]Class{ClassOK, ClassSilent, ClassOK}},
		{"loss", func() { b.breakIt("loss", "20%", b.arc("leaf1", "spine1")) }, [3]Class{ClassOK, ClassLossy, ClassLossy}},
		{"loss behind a silent switch", func() {
			b.breakIt("loss", "20%", b.arc("leaf1", "spine1"))
			b.breakIt("police", "0", "spine1")
		}, [3]Class{ClassOK, ClassSilent, ClassLossy}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.make()
			sights := b.look(streams, 150)
			if err := b.lab.HealAll(); err != nil {
				t.Fatal(err)
			}
			var control []Sight
			for _, i := range beside {
				control = append(control, sights[i])
			}
			var odd []string
			for _, i := range over {
				if got := [3]Class(Classify(sights[i], control)); got != c.over {
					odd = append(odd, fmt.Sprintf("flow %d: %v, wanted %v: %+v", streams[i].flow.SrcPort, got, c.over, sights[i]))
				}
			}
			if len(odd) > 1 { // once in a thousand comparisons, chance alone makes one
				t.Error(strings.Join(odd, "\n"))
			}
			for k, i := range beside {
				others := append([]Sight(nil), control[:k]...)
				for _, class := range Classify(sights[i], append(others, control[k+1:]...)) {
					if class != ClassOK {
						t.Errorf("flow %d beside: %v %+v", streams[i].flow.SrcPort, class, sights[i])
					}
				}
			}
		})
	}
}

// Traces without a reflector end at the host that says that its port is closed, and know nothing of the way back.
func TestTracePortUnreachable(t *testing.T) {
	b := newBench(t, leafSpine(t, 2, 4), 1, Config{}, ReflectorConfig{Ports: []uint16{5000}})
	for _, ipv6 := range []bool{false, true} {
		traces, err := b.engine.Trace(context.Background(), b.streams(b.hosts[1], 4, ipv6, Options{}), TraceOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range traces {
			if !x.Complete() || x.ForwardLen != 4 || x.Method != MethodPortUnreachable || x.BackKnown {
				t.Errorf("%+v", x)
			}
		}
	}
}

// A trace through a silent switch and to a silent host ends in time, with a gap and not with a guess.
func TestTraceSilent(t *testing.T) {
	b := newBench(t, leafSpine(t, 2, 2), 1, Config{}, ReflectorConfig{})
	b.breakIt("police", "0", "leaf2")
	streams := b.streams(b.hosts[1], 4, false, Options{})
	start := time.Now()
	traces, err := b.engine.Trace(context.Background(), streams, TraceOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range traces {
		if !x.Reached || x.Complete() || len(x.Hops) != 4 || len(x.Hops[2].Responders) != 0 || x.Hops[2].Sent != 3 || len(x.Hops[1].Responders) != 1 {
			t.Errorf("%+v", x)
		}
		if !x.BackKnown || len(x.Back) != 3 || len(x.Back[0].Responders) != 0 || len(x.Back[2].Responders) != 1 {
			t.Errorf("back %+v", x.Back)
		}
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("took %v", took)
	}
	b.breakIt("silent", "", b.fabric.LinkName(b.fabric.ArcInto(b.fabric.Ports(b.hosts[1])[0]).Link()))
	traces, err = b.engine.Trace(context.Background(), streams, TraceOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range traces {
		if x.Reached || len(x.Hops) != 2 {
			t.Errorf("%+v", x)
		}
	}
}

// The hook that keeps a budget is asked before every packet, and obeyed.
func TestTraceAllow(t *testing.T) {
	b := newBench(t, leafSpine(t, 2, 2), 1, Config{}, ReflectorConfig{})
	streams := b.streams(b.hosts[1], 4, false, Options{})
	granted, expiring := 0, 0
	var last time.Time
	traces, err := b.engine.Trace(context.Background(), streams, TraceOptions{Allow: func(_ *Stream, ttl int, back bool) time.Duration {
		if ttl == 2 && !back {
			return -1
		}
		if wait := time.Until(last.Add(2 * time.Millisecond)); wait > 0 {
			return wait
		}
		last = time.Now()
		granted++
		if ttl > 0 {
			expiring++
		}
		return 0
	}})
	if err != nil {
		t.Fatal(err)
	}
	sent, expired := 0, 0
	for _, x := range traces {
		sent, expired = sent+x.Sent, expired+x.Expiring
		if len(x.Hops) != 4 || x.Hops[1].Sent != 0 || len(x.Hops[2].Responders) != 1 || !x.BackComplete() {
			t.Errorf("%+v", x)
		}
	}
	if sent != granted || expired != expiring || uint64(sent) != b.engine.Stats().Sent {
		t.Errorf("%d packets, %d of them expiring; granted were %d and %d; sent %+v", sent, expired, granted, expiring, b.engine.Stats())
	}
}
