package probes

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"whichlink/graphs"
	"whichlink/graphs/generate"
)

// Every path of a pair over four equal ones, there and back, as the kernel looks it up: within 50 ms and, for the 16 flows that it
// takes, few probes.
func TestTraceTruth(t *testing.T) {
	b := newBench(t, leafSpine(t, 2, 4), 1, Config{}, ReflectorConfig{})
	for _, family := range []struct {
		name string
		ipv6 bool
	}{{"IPv4", false}, {"IPv6", true}} {
		t.Run(family.name, func(t *testing.T) {
			streams := b.streams(b.hosts[1], 64, family.ipv6, Options{})
			start := time.Now()
			traces, err := b.engine.Trace(context.Background(), streams, TraceOptions{})
			took := time.Since(start)
			if err != nil {
				t.Fatal(err)
			}
			sent, spines := 0, map[string]bool{}
			for i, x := range traces {
				sent += x.Sent
				if !x.Complete() || !x.BackComplete() || x.ForwardLen != 4 || x.BackLen != 4 {
					t.Errorf("flow %d: not complete: %+v", x.Flow.SrcPort, x)
					continue
				}
				there := b.nodes(x.Hops[:len(x.Hops)-1])
				back := b.nodes(x.Back)
				spines[there[1]] = true
				if family.ipv6 {
					// The kernel's route look-up hashes IPv6 otherwise than its forwarding does under hash policy 3: it has no packet to
					// dissect. The packet counters of the ports are the truth here.
					if i%8 == 0 {
						b.walk(streams[i], there, back)
					}
					continue
				}
				if d := cmp.Diff(b.truth(x.Flow), there); d != "" {
					t.Errorf("flow %d there: %s", x.Flow.SrcPort, d)
				}
				if d := cmp.Diff(b.truth(reverse(x.Flow)), back); d != "" {
					t.Errorf("flow %d back: %s", x.Flow.SrcPort, d)
				}
			}
			t.Logf("%d flows in %v with %d packets", len(traces), took, sent)
			if len(spines) != 4 {
				t.Errorf("spines seen: %v", spines)
			}
			for _, s := range streams {
				b.engine.Remove(s)
			}
		})
	}
}

// walk sends echoes along a stream and checks by the counters of all ports that they go there and back over these nodes.
func (b *bench) walk(s *Stream, there, back []string) {
	b.t.Helper()
	const n = 20
	counts := func() []uint64 {
		all := make([]uint64, b.fabric.NumArcs())
		for a := range all {
			c, err := b.lab.Counters(b.fabric.HeadPort(graphs.ArcID(a)))
			if err != nil {
				b.t.Fatal(err)
			}
			all[a] = c.InPackets
		}
		return all
	}
	want := map[string]bool{}
	add := func(nodes []string) {
		for i := range nodes[1:] {
			want[b.arc(nodes[i], nodes[i+1])] = true
		}
	}
	src, dst := b.fabric.NodeName(b.hosts[0]), b.fabric.NodeName(b.hosts[1])
	add(slices.Concat([]string{src}, there, []string{dst}))
	add(slices.Concat([]string{dst}, back, []string{src}))
	before := counts()
	for range n {
		s.Echo(1)
	}
	decided(b.t, s, n, time.Second)
	got := map[string]bool{}
	for a, c := range counts() {
		if c-before[a] >= n {
			got[b.fabric.ArcName(graphs.ArcID(a))] = true
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		b.t.Errorf("flow %d: %s", s.flow.SrcPort, d)
	}
}

func TestTraceAllPaths(t *testing.T) {
	b := newBench(t, leafSpine(t, 2, 4), 7, Config{}, ReflectorConfig{})
	streams := b.streams(b.hosts[1], 16, false, Options{})
	// On a busy machine answers come late, and what was not answered in time is asked again: one of five traces is to be as quick as they are.
	const packets, most = 64, 50 * time.Millisecond
	for try := 1; ; try++ {
		start := time.Now()
		traces, err := b.engine.Trace(context.Background(), streams, TraceOptions{NoBack: true})
		took := time.Since(start)
		if err != nil {
			t.Fatal(err)
		}
		sent, spines, truth := 0, map[string]bool{}, map[string]bool{}
		for _, x := range traces {
			sent += x.Sent
			spines[b.nodes(x.Hops)[1]] = true
			truth[b.truth(x.Flow)[1]] = true
		}
		t.Logf("%d paths in %v with %d packets", len(spines), took, sent)
		if len(spines) != 4 || len(truth) != 4 {
			t.Fatalf("paths %v of %v: wanted 4", spines, truth)
		}
		if sent <= packets && took <= most {
			break
		}
		if try == 5 {
			t.Fatalf("%d packets in %v: wanted at most %d and %v", sent, took, packets, most)
		}
	}
}

// Paths of a random graph differ in length, and the flows of one trace in all.
func TestTraceRandomGraph(t *testing.T) {
	f, err := generate.RandomRegular(generate.RandomRegularConfig{Switches: 16, Degree: 4, Hosts: 1, Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t, f, 3, Config{}, ReflectorConfig{})
	var streams []*Stream
	for _, h := range b.hosts[1:] {
		streams = append(streams, b.streams(h, 4, false, Options{})...)
	}
	traces, err := b.engine.Trace(context.Background(), streams, TraceOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range traces {
		if !x.Complete() || !x.BackComplete() {
			t.Errorf("%s:%d: not complete: %+v", x.Flow.Dst, x.Flow.SrcPort, x)
			continue
		}
		if d := cmp.Diff(b.truth(x.Flow), b.nodes(x.Hops[:len(x.Hops)-1])); d != "" {
			t.Errorf("%s:%d there: %s", x.Flow.Dst, x.Flow.SrcPort, d)
		}
		if d := cmp.Diff(b.truth(reverse(x.Flow)), b.nodes(x.Back)); d != "" {
			t.Errorf("%s:%d back: %s", x.Flow.Dst, x.Flow.SrcPort, d)
		}
	}
}
