package captures

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"whichlink/captures/files"
	"whichlink/captures/frames"
)

func TestMicroburst(t *testing.T) {
	// 400 ms of 1 Gbit/s frames, one a 100 us, and in the middle 2 ms without a pause between them.
	play := func(speed uint64, burst bool) *Report {
		a := New(Config{LinkSpeed: speed})
		b := make([]byte, 1250) // 10 us at 1 Gbit/s
		b[12] = 0x88
		for now := int64(0); now < 400_000_000; {
			a.Add(&files.Packet{Time: 1e18 + now, Link: files.Ethernet, Orig: len(b), Data: b})
			if burst && now >= 200_000_000 && now < 202_000_000 {
				now += 10_000
			} else {
				now += 400_000
			}
			b[20]++
		}
		return a.Report(&files.Stats{Name: "x"})
	}
	for _, c := range []struct {
		speed      uint64
		burst      bool
		want, text string
	}{
		{1e9, false, "", ""},
		{0, false, "", ""},
		{1e9, true, "microburst", "1 Gbit/s within 1ms, where the mean is 29.9 Mbit/s; 2 bins"},
		{0, true, "microburst", "the link's speed is not known"},
		{10e9, true, "", ""},
	} {
		r := play(c.speed, c.burst)
		if got := names(r); got != c.want || c.want != "" && !strings.Contains(r.Findings[0].Text, c.text) {
			t.Errorf("%+v: %+v", c, r.Findings)
		}
	}
}

func TestElephant(t *testing.T) {
	w := newWire()
	w.open()
	a := w.flows.flows.at(1)
	a.halves[0].bytes, a.halves[1].bytes = 90_000_000, 10_000_000
	f := find(w.report(t), "elephant")
	if f.Count != 90_000_000 || !strings.Contains(f.Text, "90 MB, 90 % of all; entropy of bytes by flow 0.5 of 1.0 bits") {
		t.Errorf("%+v", f)
	}
}

// TestPolarized sends with eight queue pairs from one source port, and from eight.
func TestPolarized(t *testing.T) {
	for _, ports := range []int{1, 8} {
		w := newWire()
		for i := range 400 {
			w.id++
			b := make([]byte, 8+12+4)
			copy(b, []byte{0xc0, byte(i % 8 % ports), 0x12, 0xb7, 0, 24, 0, 0, frames.WriteOnly, 0, 0xff, 0xff, 0, 0, 0, byte(i % 8), 0, 0, 0, byte(i / 8)})
			b = append(b[:20], append(reth(0), b[20:]...)...)
			b[5] = byte(len(b))
			w.ip(1000, false, frames.ProtoUDP, 0, w.id, b)
		}
		f := find(w.report(t), "roce-polarized")
		if told := f.Finding != ""; told != (ports == 1) {
			t.Errorf("%d ports: %+v", ports, f)
		}
		if ports == 1 && !strings.Contains(f.Text, "8 queue pairs share 1 UDP source port: entropy 3.0 bits by queue pair, 0.0 by source port") {
			t.Errorf("%+v", f)
		}
	}
}

// lose feeds loss events to the search for periods, as the trackers count them.
func lose(times []int64) *Report {
	w := newWire()
	f := newPeriodFinder(w.Analyzer).(*periodFinder)
	for _, at := range times {
		w.Analyzer.roce.all.GapPackets++
		f.see(&Sight{Packet: &files.Packet{Time: 1e18 + at}})
	}
	r := &Report{}
	f.report(r)
	return r
}

func TestPeriod(t *testing.T) {
	const second = 1_000_000_000
	rng := rand.New(rand.NewPCG(3, 5))
	for _, period := range []int64{2, 15, 60} {
		var times []int64
		for i := range int64(40) {
			if i == 0 || rng.IntN(8) > 0 { // not each time
				times = append(times, i*period*second+rng.Int64N(second/5))
			}
		}
		f := find(lose(times), "periodic-loss")
		if want := fmt.Sprintf("every %s,", duration(period*second)); !strings.Contains(f.Text, want) {
			t.Errorf("%d s: %+v", period, f)
		}
	}
	// Of series at random, single losses or bursts of them, one in a thousand may pass.
	wrong := 0
	for i := range 60 {
		now, times := int64(0), []int64(nil)
		for range 5 + rng.IntN(60) {
			now += int64(rng.ExpFloat64() * 10 * second)
			times = append(times, now)
			for burst := now; i%3 == 0 && rng.IntN(8) > 0; {
				burst += int64(rng.ExpFloat64() * second)
				times = append(times, burst)
				now = max(now, burst)
			}
		}
		wrong += len(lose(times).Findings)
	}
	if wrong > 1 {
		t.Errorf("%d of 60 random series are told to be periodic", wrong)
	}
}
