package snmp

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	"whichlink/internal/evidence"
	"whichlink/probes/snmp/agentsim"
	"whichlink/probes/snmp/ber"
)

// moment is a reading of one port of 10 Gbit/s, made for the tests of deltas.
type moment struct {
	at            time.Duration
	up            uint32
	system, boots uint32 // 0: not told
	name          string
	index         uint32
	speed         uint64
	discontinuity uint32
	in, out       uint64
	narrow        bool
	errors        uint64
}

func (m moment) reading() *Reading {
	r := &Reading{Time: time.Unix(1e9, 0).Add(m.at), Clock: Clock{Uptime: &m.up}}
	if m.system > 0 {
		r.Clock.System = &m.system
	}
	if m.boots > 0 {
		r.Clock.Boots = &m.boots
	}
	q := Port{Index: max(m.index, 1), Name: m.name, Speed: 10e9, at: m.up, discontinuity: m.discontinuity}
	if m.speed > 0 {
		q.Speed = m.speed
	}
	q.Counts.set(InOctets, m.in, !m.narrow)
	q.Counts.set(OutOctets, m.out, !m.narrow)
	q.Counts.set(InErrors, m.errors, false)
	r.Ports = []Port{q}
	return r
}

// TestBetween: what counters that wrap, begin anew, or belong to another port must not be taken for.
func TestBetween(t *testing.T) {
	const second = time.Second
	first := moment{up: 100_000, in: 1e12, out: 2e12, errors: 30_148}
	later := moment{at: 10 * second, up: 101_000, in: 1e12 + 1e9, out: 2e12 + 5, errors: 30_160}
	with := func(m moment, change func(*moment)) moment { change(&m); return m }
	is := evidence.Count
	for _, c := range []struct {
		what          string
		before, after moment
		reset         bool
		in, errors    *uint64
		elapsed       time.Duration
	}{
		{"counted", first, later, false, is(1e9), is(12), 10 * second},
		{"by the agent's clock, not by ours", first, with(later, func(m *moment) { m.at = 11 * second }), false, is(1e9), is(12), 10 * second},
		{"the agent's clock stands still", first, with(later, func(m *moment) { m.up = 100_000 }), false, is(1e9), is(12), 10 * second},
		{"32 bits wrap", with(first, func(m *moment) { m.errors = math.MaxUint32 - 5 }), with(later, func(m *moment) { m.errors = 10 }), false, is(1e9), is(16), 10 * second},
		{"errors cleared", first, with(later, func(m *moment) { m.errors = 3 }), true, nil, nil, 10 * second},
		{"many errors cleared", with(first, func(m *moment) { m.errors = 3e9 }), with(later, func(m *moment) { m.errors = 0 }), true, nil, nil, 10 * second},
		{"64 bits wrap", with(first, func(m *moment) { m.in = math.MaxUint64 - 99 }), with(later, func(m *moment) { m.in = 900 }), false, is(1000), is(12), 10 * second},
		{"64 bits go back", first, with(later, func(m *moment) { m.in = 5 }), true, nil, nil, 10 * second},
		{"a discontinuity", first, with(later, func(m *moment) { m.discontinuity = 100_500 }), true, nil, nil, 10 * second},
		{"the agent restarts, counters go on", first, with(later, func(m *moment) { m.up = 200 }), false, is(1e9), is(12), 10 * second},
		{"the agent restarts, counters do not", first, moment{at: 10 * second, up: 200, in: 7, out: 3e12, errors: 40_000}, true, nil, nil, 10 * second},
		{"the engine boots, counters go on", with(first, func(m *moment) { m.boots = 3 }), with(later, func(m *moment) { m.boots = 4; m.up = 100 }), false, is(1e9), is(12), 10 * second},
		{"the box restarts", with(first, func(m *moment) { m.system = 900_000; m.in, m.errors, m.out = 1, 1, 1 }),
			with(later, func(m *moment) { m.system = 300; m.up = 200 }), true, nil, nil, 10 * second},
		{"sysUpTime wraps", with(first, func(m *moment) { m.up = math.MaxUint32 - 499 }), with(later, func(m *moment) { m.up = 500 }), false, is(1e9), is(12), 10 * second},
		{"numbered anew", with(first, func(m *moment) { m.name = "swp1" }), with(later, func(m *moment) { m.name = "swp2" }), true, nil, nil, 10 * second},
		{"created anew", first, with(later, func(m *moment) { m.index = 7 }), true, nil, nil, 10 * second},
		{"from nothing to more than it can carry", with(first, func(m *moment) { m.in = 0 }), with(later, func(m *moment) { m.in = 1e15 }), true, nil, nil, 10 * second},
		{"32 bits at 10 Gbit/s may wrap three times", with(first, func(m *moment) { m.narrow, m.in, m.out = true, 5, 5 }),
			with(later, func(m *moment) { m.narrow, m.in, m.out = true, 9, 9 }), false, nil, is(12), 10 * second},
		{"32 bits at 1 Gbit/s wrap once", with(first, func(m *moment) { m.speed, m.narrow, m.in, m.out = 1e9, true, 1<<32-100, 5 }),
			with(later, func(m *moment) { m.speed, m.narrow, m.in, m.out = 1e9, true, 900, 9 }), false, is(1000), is(12), 10 * second},
		{"32 bits at 10 Mbit/s begin anew", with(first, func(m *moment) { m.speed, m.narrow, m.in, m.out = 10e6, true, 3e9, 5 }),
			with(later, func(m *moment) { m.speed, m.narrow, m.in, m.out = 10e6, true, 900, 9 }), true, nil, nil, 10 * second},
		{"64 bits begin to count", with(first, func(m *moment) { m.narrow, m.in, m.out = true, 5, 5 }), later, false, nil, is(12), 10 * second},
	} {
		d := Between(c.before.reading(), c.after.reading())[0]
		if d.Reset != c.reset || !sameCount(d.In.Octets, c.in) || !sameCount(d.In.Errors, c.errors) || d.Elapsed != c.elapsed {
			t.Errorf("%s: %+v; octets %s, errors %s", c.what, d, count(d.In.Octets), count(d.In.Errors))
		}
	}
}

func sameCount(a, b *uint64) bool { return (a == nil) == (b == nil) && (a == nil || *a == *b) }

func count(n *uint64) any {
	if n == nil {
		return "not told"
	}
	return *n
}

// TestRestartIsOfAll: where one port's counters went back after a restart those of the others did too, even if they have passed what they were.
func TestRestartIsOfAll(t *testing.T) {
	port := func(index uint32, octets uint64) Port {
		q := Port{Index: index, Name: "p", Speed: 10e9}
		q.Counts.set(InOctets, octets, true)
		return q
	}
	up, low := uint32(900_000), uint32(50)
	before := &Reading{Time: time.Unix(0, 0), Clock: Clock{Uptime: &up}, Ports: []Port{port(1, 10), port(2, 1e9)}}
	after := &Reading{Time: time.Unix(10, 0), Clock: Clock{Uptime: &low}, Ports: []Port{port(1, 900), port(2, 900)}}
	for _, d := range Between(before, after) {
		if !d.Reset {
			t.Errorf("port %d: %+v", d.Index, d)
		}
	}
}

// TestMeter: an agent whose figures are 3 s old at most, a constant 5.6 Mbit/s, readings at each second. Differences are 0 or three times too
// much; the meter tells the rate.
func TestMeter(t *testing.T) {
	const octets = 700_000 // a second
	m := NewMeter(30 * time.Second)
	var before *Reading
	told := 0
	for s := range 100 {
		shown := uint64(0)
		if s < 60 {
			shown = uint64(octets * (s / 3 * 3))
		} else {
			shown = octets * 60
		}
		after := moment{at: time.Duration(s) * time.Second, up: uint32(100 * s), in: 1e9 + shown, out: 1e9}.reading()
		if before != nil {
			m.Add(Between(before, after), 0)
		}
		before = after
		if r, ok := m.Rate(1); ok && s > 10 && s < 60 {
			told++
			if math.Abs(r.In/5.6e6-1) > 0.01 || r.Out != 0 {
				t.Errorf("at %d s: %.2f Mbit/s in, %.2f out over %s", s, r.In/1e6, r.Out/1e6, r.Over)
			}
		}
	}
	if told < 45 {
		t.Errorf("told %d times", told)
	}
	if r, ok := m.Rate(1); ok && r.In > 0.2e6 {
		t.Errorf("%.2f Mbit/s, forty seconds after it ended", r.In/1e6)
	}
}

// TestMeterBegins: the first readings of an agent whose figures are 3 s old at most take it long, so that nobody knows when the first change was. No rate is told by that, which would
// be up to three times what the port carries.
func TestMeterBegins(t *testing.T) {
	const octets = 2_500_000 // a second
	m := NewMeter(0)
	var before *Reading
	told := 0
	for _, s := range []float64{0, 3.62, 4.63, 5.63, 6.63, 7.65, 8.65, 9.63, 10.63, 11.63, 12.64} {
		shown := uint64(octets * 3 * math.Floor((s+1.4)/3))
		after := moment{at: time.Duration(s * float64(time.Second)), up: uint32(100 * s), in: 1e9 + shown, out: 1e9}.reading()
		if before != nil {
			m.Add(Between(before, after), 0)
		}
		before = after
		if r, ok := m.Rate(1); ok {
			told++
			if math.Abs(r.In/20e6-1) > 0.02 {
				t.Errorf("at %.2f s: %.2f Mbit/s over %s", s, r.In/1e6, r.Over)
			}
		}
	}
	if told < 4 {
		t.Errorf("told %d times", told)
	}
}

// TestMeterBySamples: an agent that tells when it took its figures, every two seconds and more, of a rate that steps: the meter has the exact moments, so that four
// seconds do for what takes many where they are guessed.
func TestMeterBySamples(t *testing.T) {
	m := NewMeter(4 * time.Second)
	var before *Reading
	told := 0
	for s := range 60 {
		// Taken at 0.3, 2.5, 4.7, ... s; shown until the next. 1 Mbyte/s.
		hundredths := 30 + (100*s-30)/220*220
		if 100*s < 30 {
			hundredths = 0
		}
		after := moment{at: time.Duration(s) * time.Second, up: uint32(100_000 + 100*s), in: uint64(1e9 + 10_000*hundredths), out: 1e9}.reading()
		after.Ports[0].sampled = uint32(100_000 + hundredths)
		if before != nil {
			m.Add(Between(before, after), 0)
		}
		before = after
		if r, ok := m.Rate(1); ok && s > 6 {
			told++
			if math.Abs(r.In/8e6-1) > 0.001 {
				t.Errorf("at %d s: %.3f Mbit/s in over %s", s, r.In/1e6, r.Over)
			}
		}
	}
	if told < 50 {
		t.Errorf("told %d times", told)
	}
	// A stamp of another clock is none.
	for _, stamp := range []uint32{0, 7, 200_000} {
		if q := (&Port{at: 150_000, sampled: stamp}); q.age() != 0 {
			t.Errorf("taken at %d, read at 150000: %s old", stamp, q.age())
		}
	}
}

// TestNothingInvented is T6 of the casebook over the wire: between any two readings of an agent whose counters wrap, are cleared, go on over a restart, and
// whose ports are numbered anew no port is told to have counted errors that there were not.
func TestNothingInvented(t *testing.T) {
	tree := device(3)
	octets, errs := func(port int) string { return fmt.Sprintf("%s6.%d", ifXEntry, port) }, func(port int) string { return fmt.Sprintf("%s14.%d", ifEntry, port) }
	tree.Set(errs(2), agentsim.Counter32, uint64(math.MaxUint32-3))
	sim := start(t, tree, agentsim.Faults{})
	a := newAgent(t, sim, Limits{})
	before := a.Read(context.Background())
	add := func(tree *agentsim.Tree, oid string, tag byte, n uint64) {
		was, _ := tree.Number(oid)
		tree.Set(oid, tag, was+n)
	}
	for n, c := range []struct {
		what    string
		restart bool
		change  func(tree *agentsim.Tree)
		want    [3]any // errors of the three ports in the interval
	}{
		{"nothing happens", false, func(*agentsim.Tree) {}, [3]any{uint64(0), uint64(0), uint64(0)}},
		{"one counts, one wraps", false, func(tree *agentsim.Tree) {
			add(tree, octets(1), agentsim.Counter64, 5000)
			add(tree, errs(1), agentsim.Counter32, 7)
			tree.Set(errs(2), agentsim.Counter32, 6)
		}, [3]any{uint64(7), uint64(10), uint64(0)}},
		{"one is cleared", false, func(tree *agentsim.Tree) {
			for _, oid := range []string{octets(3), errs(3)} {
				tree.Set(oid, agentsim.Counter64, 0)
			}
		}, [3]any{uint64(0), uint64(0), "reset"}},
		{"the agent restarts and nothing else does", true, func(tree *agentsim.Tree) { add(tree, errs(1), agentsim.Counter32, 2) }, [3]any{uint64(2), uint64(0), uint64(0)}},
		{"ports are numbered anew", true, func(tree *agentsim.Tree) {
			tree.Set(ifXEntry+"1.1", ber.OctetString, "swp2")
			tree.Set(ifXEntry+"1.2", ber.OctetString, "swp1")
			tree.Set(errs(1), agentsim.Counter32, 4_000)
			tree.Set(errs(2), agentsim.Counter32, 90_000)
		}, [3]any{"reset", "reset", uint64(0)}},
	} {
		sim.Change(c.change)
		if c.restart {
			sim.SetUptime(uint32(6000 - 1000*n)) // it has run for less long each time
		}
		after := a.Read(context.Background())
		for i, d := range Between(before, after) {
			got := any("reset")
			if !d.Reset {
				got = count(d.In.Errors)
			}
			if got != c.want[i] {
				t.Errorf("%s: port %d counted %v errors, want %v", c.what, i+1, got, c.want[i])
			}
		}
		before = after
	}
}
