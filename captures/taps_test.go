package captures

import (
	"cmp"
	"context"
	"encoding/binary"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"whichlink/captures/files"
	"whichlink/captures/frames"
	"whichlink/internal/evidence"
)

// A played list of packets is a source.
type played struct {
	packets []files.Packet
	next    int
}

func (p *played) Next(to *files.Packet) error {
	if p.next == len(p.packets) {
		return io.EOF
	}
	*to = p.packets[p.next]
	p.next++
	return nil
}

func tapOf(name string, packets []files.Packet) Tap {
	slices.SortStableFunc(packets, func(a, b files.Packet) int { return cmp.Compare(a.Time, b.Time) })
	return Tap{name, func() (files.Source, func(), error) { return &played{packets: packets}, func() {}, nil }}
}

// A tapTruth is what two generated taps should tell.
type tapTruth struct {
	lost, missed, copies [2]int64
	marked, expired      int64
	offset, drift        float64
	byFlow               map[uint16][2]int64 // by the client's port: lost on the way there and back
}

// playTaps plays 40 flows through two taps for a minute. The clock of B is off and drifts; what is lost, missed and seen twice is
// drawn and counted. Half of the flows have no identification; with routed the hop between the taps lowers the TTL.
func playTaps(seed uint64, routed bool) (a, b []files.Packet, tr tapTruth) {
	const span, least, start = 60_000_000_000, 20_000, int64(1_790_000_000_000_000_000)
	draw := rand.New(rand.NewPCG(seed, 5))
	tr.byFlow = map[uint16][2]int64{}
	tr.offset, tr.drift = math.Round((draw.Float64()-0.5)*1e11), (draw.Float64()-0.5)*2e-4
	atB := func(t int64) int64 { return t + int64(tr.offset) + int64(tr.drift*float64(t-start)) }
	var id uint16
	for n := range 60_000 {
		now := start + int64(n)*span/60_000 + draw.Int64N(500_000)
		port, back := uint16(10_000+draw.IntN(40)), draw.IntN(2)
		id = max(id+1, 1)
		named := id
		if port%2 == 0 {
			named = 0
		}
		packet := func(t int64, ttl byte, ce bool) files.Packet {
			p := []byte{0x45, 2, 0, 0, byte(named >> 8), byte(named), 0x40, 0, ttl, frames.ProtoTCP, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2}
			s := segment(back == 1, frames.ACK, uint32(n)*10, 500, 10)
			if ce {
				p[1] |= 3
			}
			if back == 1 {
				p[15], p[19] = 2, 1
				binary.BigEndian.PutUint16(s[2:], port)
			} else {
				binary.BigEndian.PutUint16(s, port)
			}
			p = append(p, s...)
			binary.BigEndian.PutUint16(p[2:], uint16(len(p)))
			return files.Packet{Time: t, Link: files.Raw, Orig: len(p), Data: p}
		}
		ttls := [2]byte{64, 64}
		if routed {
			ttls[1-back] = 63
		}
		delay := least + int64(draw.ExpFloat64()*15_000)
		times := [2]int64{now, now + delay}
		if back == 1 {
			times = [2]int64{now + delay, now}
		}
		fate, inside := draw.IntN(1000), n > 1000 && n < 59_000
		near, far := back, 1-back
		marked := false
		see := func(tap int) {
			if tap == 0 {
				a = append(a, packet(times[0], ttls[0], marked))
			} else {
				b = append(b, packet(atB(times[1]), ttls[1], marked))
			}
		}
		switch {
		case inside && fate < 20: // lost between
			see(near)
			tr.lost[near]++
			f := tr.byFlow[port]
			f[back]++
			tr.byFlow[port] = f
			continue
		case inside && routed && fate >= 990: // its TTL ends between
			ttls[near] = 1
			see(near)
			tr.expired++
			continue
		case inside && fate < 25: // missed by the nearer capture
			see(far)
			tr.missed[near]++
			continue
		case inside && fate < 35 && named != 0: // captured twice
			see(near)
			times[near] += 3000
			see(near)
			times[near] -= 3000
			see(far)
			tr.copies[near]++
			continue
		}
		see(near)
		if inside && fate < 45 { // the queue between marks it
			marked = true
			tr.marked++
		}
		see(far)
	}
	return a, b, tr
}

// TestTaps compares generated pairs with the truth: counts are exact, the clock is right to microseconds.
func TestTaps(t *testing.T) {
	seeds := uint64(6)
	if testing.Short() {
		seeds = 2 // one of each kind
	}
	for seed := range seeds {
		routed := seed%2 == 0
		a, b, tr := playTaps(seed, routed)
		r, findings, err := CompareTaps(context.Background(), tapOf("a", a), tapOf("b", b), 0, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if r.Lost != tr.lost || r.Missed != tr.missed || r.Copies != tr.copies || r.Expired != tr.expired || r.Apart != [2]int{} || r.Unjudged != 0 {
			t.Errorf("seed %d: lost %v missed %v copies %v expired %d apart %v unjudged %d, want %v", seed, r.Lost, r.Missed, r.Copies, r.Expired, r.Apart, r.Unjudged, tr)
		}
		got, marked := map[uint16][2]int64{}, int64(0)
		for _, f := range r.Flows {
			marked += f.Marked
			dir, port := 0, f.Flow.SrcPort
			if f.Flow.SrcPort == 2000 {
				dir, port = 1, f.Flow.DstPort
			}
			n := got[port]
			n[dir] = f.Lost
			got[port] = n
			if f.First != []string{"a", "b"}[dir] {
				t.Errorf("seed %d: %v passes %q first", seed, f.Flow, f.First)
			}
		}
		if marked != tr.marked || !slices.ContainsFunc(findings, func(f Finding) bool { return f.Finding == "tap-marked" }) {
			t.Errorf("seed %d: %d marked between, want %d", seed, marked, tr.marked)
		}
		for port, want := range tr.byFlow {
			if got[port] != want {
				t.Errorf("seed %d: port %d lost %v, want %v", seed, port, got[port], want)
			}
		}
		if off := math.Abs(r.Clock.Offset*1000 - tr.offset); !r.Clock.Symmetric || off > 2000 {
			t.Errorf("seed %d: offset %v us, want %v ns", seed, r.Clock.Offset, tr.offset)
		}
		if r.Clock.Drift == nil || math.Abs(*r.Clock.Drift-tr.drift*1e6) > 0.1 {
			t.Errorf("seed %d: drift %v ppm, want %v", seed, *r.Clock.Drift, tr.drift*1e6)
		}
		for i, d := range r.Delay {
			// 20 us and a queue of 15 us in the mean: the median is 30.4 us, to an eighth.
			if d == nil || d.Min < 18 || d.Min > 22 || d.P50 < 26 || d.P50 > 35 {
				t.Errorf("seed %d: delay %d is %+v", seed, i, d)
			}
		}
		if len(findings) == 0 || findings[0].Finding != "tap-loss" {
			t.Errorf("seed %d: %+v", seed, findings)
		}
	}
}

// TestTapsApart compares captures of different traffic, and of one packet.
func TestTapsApart(t *testing.T) {
	a, b, _ := playTaps(1, true)
	for i := range b {
		b[i].Data = slices.Clone(b[i].Data)
		b[i].Data[13] = 99
	}
	for _, c := range []struct {
		a, b []files.Packet
		want string
	}{{a, b, "tap-unmatched"}, {nil, nil, "tap-unmatched"}, {a[:1], a[:1], "tap-clock"}} {
		_, findings, err := CompareTaps(context.Background(), tapOf("a", c.a), tapOf("b", c.b), 0, nil, nil)
		if err != nil || len(findings) != 1 || findings[0].Finding != c.want {
			t.Errorf("%v %v, want %s", findings, err, c.want)
		}
	}
}

// TestTapsDropped takes stretches out of a capture, as one does that cannot keep up: nothing of that is the network's loss.
func TestTapsDropped(t *testing.T) {
	for seed := range uint64(2) {
		a, b, tr := playTaps(seed, true)
		var kept []files.Packet
		slices.SortStableFunc(b, func(x, y files.Packet) int { return cmp.Compare(x.Time, y.Time) })
		for i, p := range b {
			if i%10_000 < 5000 || i%10_000 >= 5060 {
				kept = append(kept, p)
			}
		}
		removed := int64(len(b) - len(kept))
		r, findings, err := CompareTaps(context.Background(), tapOf("a", a), tapOf("b", kept), 0, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		// Copies are taken out with the packets, and what was truly lost meanwhile cannot be told.
		const meanwhile = 30
		if r.Dropped[0] != 0 || r.Dropped[1] < removed-meanwhile || r.Dropped[1] > removed+meanwhile {
			t.Errorf("seed %d: dropped %v, want %d at b", seed, r.Dropped, removed)
		}
		for i := range 2 {
			if r.Lost[i] > tr.lost[i] || r.Lost[i] < tr.lost[i]-meanwhile {
				t.Errorf("seed %d: lost %v, want %v", seed, r.Lost, tr.lost)
			}
		}
		if !slices.ContainsFunc(findings, func(f Finding) bool { return f.Finding == "tap-dropped" && f.Subject == "b" && f.Count == r.Dropped[1] }) {
			t.Errorf("seed %d: %+v", seed, findings)
		}
	}
}

// TestTapEvidence sums up the records of two taps: what was lost on the way there and back, each named from the place passed first.
func TestTapEvidence(t *testing.T) {
	a, b, tr := playTaps(2, true)
	r, _, err := CompareTaps(context.Background(), tapOf("a", a), tapOf("b", b), 0, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	lost, packets, records := map[string]int64{}, int64(0), map[evidence.Flow]int{}
	err = r.Evidence("a,b", [2]string{"here", "there"}, func(_ *TapFlow, rec *evidence.Record) error {
		lost[rec.At+">"+rec.To] += int64(*rec.LostBetween)
		packets += int64(*rec.Packets)
		if records[*rec.Flow]++; rec.WindowMS < 1 || *rec.LostBetween > *rec.Packets {
			t.Errorf("%+v", rec)
		}
		return nil
	})
	want := map[string]int64{"here>there": tr.lost[0], "there>here": tr.lost[1]}
	for flow, n := range records {
		if n < 10 { // some thirty of a direction's packets are lost in a minute, one by one
			t.Errorf("%v: %d records", flow, n)
		}
	}
	if d := gocmp.Diff(want, lost); d != "" || err != nil || packets != r.Matched+tr.lost[0]+tr.lost[1] {
		t.Errorf("%v, %d packets\n%s", err, packets, d)
	}
}
