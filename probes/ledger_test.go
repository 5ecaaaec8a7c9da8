package probes

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

const ms = int64(time.Millisecond)

var testPatience = patience{timeout: 200 * ms, quick: 20 * ms, hold: 200 * ms}

// A wire plays the network and the reflector under a ledger, one probe a millisecond.
type wire struct {
	l       *ledger
	now     int64
	counter uint32
	cookie  uint32
	tally   tally
}

func newWire(size int) *wire { return &wire{l: newLedger(size), cookie: 7} }

// send sends probes: '.' is answered, 'f' lost forward, 'b' lost back, 'r' the reflector begins anew before it answers,
// 'x' not taken by the kernel.
func (w *wire) send(fates string) {
	for _, f := range fates {
		seq, ok := w.l.send(w.now)
		if !ok {
			panic("full")
		}
		switch f {
		case 'r':
			w.counter, w.cookie = 0, w.cookie+1
			fallthrough
		case '.':
			w.l.answer(seq, counting{r: w.counter, counted: true, cookie: w.cookie})
			w.counter++
		case 'b':
			w.counter++
		case 'x':
			w.l.void(seq)
		}
		w.now += ms
	}
}

func (w *wire) take() tally {
	w.l.settle(w.now, testPatience, &w.tally)
	w.l.report(&w.tally)
	t := w.tally
	w.tally = tally{}
	t.first, t.last = 0, 0
	return t
}

func TestLedger(t *testing.T) {
	later := func(d time.Duration) func(*wire) { return func(w *wire) { w.now += int64(d) } }
	for _, c := range []struct {
		name string
		play func(*wire)
		want tally
	}{
		{"nothing", func(*wire) {}, tally{}},
		{"healthy", func(w *wire) { w.send("....") }, tally{sent: 4, split: true}},
		{"under way", func(w *wire) { w.send("..f") }, tally{sent: 2, split: true}},
		{"overtaken but young", func(w *wire) { w.send("..f..") }, tally{sent: 2, split: true}},
		{"forward, by later answers", func(w *wire) { w.send("..f.."); later(25 * time.Millisecond)(w) }, tally{sent: 5, lost: 1, forward: 1, split: true}},
		{"back, by later answers", func(w *wire) { w.send("..b.."); later(25 * time.Millisecond)(w) }, tally{sent: 5, lost: 1, back: 1, split: true}},
		{"one later answer is not enough", func(w *wire) { w.send("..b."); later(25 * time.Millisecond)(w) }, tally{sent: 2, split: true}},
		{"both", func(w *wire) { w.send(".bf.ffbb."); later(201 * time.Millisecond)(w) }, tally{sent: 9, lost: 6, forward: 3, back: 3, split: true}},
		{"before the first answer", func(w *wire) { w.send("fb."); later(201 * time.Millisecond)(w) }, tally{sent: 3, lost: 2, forward: 1, back: 1, split: true}},
		{"the last waits for an anchor", func(w *wire) { w.send(".f"); later(250 * time.Millisecond)(w) }, tally{sent: 1, split: true, waiting: 1}},
		{"the last is told in the end", func(w *wire) { w.send(".f"); later(401 * time.Millisecond)(w) }, tally{sent: 2, lost: 1, split: true}},
		{"nothing ever answered", func(w *wire) { w.send("ff"); later(402 * time.Millisecond)(w) }, tally{sent: 2, lost: 2}},
		{"not sent", func(w *wire) { w.send(".xfx."); later(201 * time.Millisecond)(w) }, tally{sent: 3, lost: 1, forward: 1, split: true}},
		{"reflector begins anew", func(w *wire) { w.send(".f.fbr.b."); later(201 * time.Millisecond)(w) }, tally{sent: 9, lost: 4, back: 1, split: true}},
		{"asked: all lost forward", func(w *wire) {
			w.send("ffff")
			w.l.count(0, 0, w.now)
			later(201 * time.Millisecond)(w)
		}, tally{sent: 4, lost: 4, forward: 4, split: true}},
		{"asked: all lost back", func(w *wire) {
			w.send("bbbb")
			w.l.count(w.cookie, w.counter, w.now)
			later(201 * time.Millisecond)(w)
		}, tally{sent: 4, lost: 4, back: 4, split: true}},
		{"asked: a mixture at the end", func(w *wire) {
			w.send("...fbbf")
			w.l.count(w.cookie, w.counter, w.now)
			later(201 * time.Millisecond)(w)
		}, tally{sent: 7, lost: 4, forward: 2, back: 2, split: true}},
		{"asked about another life", func(w *wire) {
			w.send("...fb")
			w.l.count(99, 1, w.now)
			later(401 * time.Millisecond)(w)
		}, tally{sent: 5, lost: 2, split: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWire(64)
			c.play(w)
			if d := cmp.Diff(c.want, w.take(), cmp.AllowUnexported(tally{})); d != "" {
				t.Error(d)
			}
		})
	}
}

// A reflector that copies our number tells nothing about the way of a loss; one that counts does, from its first other number on.
func TestLedgerForeign(t *testing.T) {
	for _, stateful := range []bool{false, true} {
		l, n, now := newLedger(64), uint32(0), int64(0)
		for _, f := range "..f..b.." {
			seq, _ := l.send(now)
			now += ms
			if f == 'f' {
				continue
			}
			r := seq
			if stateful {
				r = n
			}
			n++
			if f == '.' {
				l.answer(seq, counting{r: r})
			}
		}
		var got tally
		l.settle(now+201*ms, testPatience, &got)
		l.report(&got)
		want := tally{sent: 8, lost: 2, first: 0, last: 7 * ms}
		if stateful {
			want.split, want.back = true, 1
		}
		if d := cmp.Diff(want, got, cmp.AllowUnexported(tally{})); d != "" {
			t.Errorf("stateful %v: %s", stateful, d)
		}
	}
}

// Whatever is lost, and however answers overtake each other, the counts are exact once all is settled, in windows of any size.
func TestLedgerExact(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 1))
		l := newLedger(256)
		var now int64
		var sum tally
		forward, back, counter := 0, 0, uint32(0)
		type reply struct {
			seq, r uint32
			at     int64
		}
		var replies []reply
		deliver := func(until int64) {
			for i := 0; i < len(replies); i++ {
				if replies[i].at <= until {
					l.answer(replies[i].seq, counting{r: replies[i].r, counted: true, cookie: 5})
					replies = append(replies[:i], replies[i+1:]...)
					i--
				}
			}
		}
		const n = 2000
		jitter := []int64{0, 0, 3}[seed%3]
		for i := range n {
			now += ms
			seq, ok := l.send(now)
			if !ok {
				t.Fatalf("seed %d: full at %d", seed, i)
			}
			last := i >= n-4 // the end is clean, so that there is an anchor
			switch x := rng.Float64(); {
			case x < 0.1 && !last:
				forward++
			case x < 0.2 && !last:
				counter++
				back++
			default:
				replies = append(replies, reply{seq, counter, now + ms/2 + rng.Int64N(jitter*ms+1)})
				counter++
			}
			deliver(now)
			if rng.IntN(20) == 0 {
				l.settle(now, testPatience, &sum)
			}
		}
		deliver(now + 1000*ms)
		l.settle(now+1000*ms, testPatience, &sum)
		l.report(&sum)
		if sum.sent != n || sum.lost != forward+back || sum.forward != forward || sum.back != back {
			t.Errorf("seed %d: sent %d lost %d forward %d back %d, true %d %d %d %d", seed, sum.sent, sum.lost, sum.forward, sum.back, n, forward+back, forward, back)
		}
	}
}

func TestLedgerBounds(t *testing.T) {
	l := newLedger(16)
	for range 16 {
		if _, ok := l.send(0); !ok {
			t.Fatal("full too early")
		}
	}
	if _, ok := l.send(0); ok {
		t.Error("more outstanding than there is room for")
	}
	for _, seq := range []uint32{16, 1 << 20, 1 << 31} {
		if _, what := l.answer(seq, counting{r: 0, counted: true, cookie: 1}); what != answerUnknown {
			t.Errorf("answer to probe %d, which was never sent: %d", seq, what)
		}
	}
	if _, what := l.answer(3, counting{r: 0, counted: true, cookie: 1}); what != answerNew {
		t.Error("answer not taken")
	}
	if _, what := l.answer(3, counting{r: 0, counted: true, cookie: 1}); what != answerDuplicate {
		t.Error("duplicate taken")
	}
	var sum tally
	l.settle(1000*ms, testPatience, &sum)
	if _, what := l.answer(5, counting{r: 1, counted: true, cookie: 1}); what != answerLate {
		t.Error("late answer not told")
	}
}

func TestBucket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bucket{rate: 10}
		taken := func() (n int) {
			for b.take(time.Now().UnixNano()) {
				n++
			}
			return n
		}
		if n := taken(); n != 10 {
			t.Errorf("at once: %d", n)
		}
		time.Sleep(time.Second / 2)
		if n := taken(); n != 5 {
			t.Errorf("after half a second: %d", n)
		}
		none := bucket{}
		if none.take(time.Now().UnixNano()) {
			t.Error("an empty bucket gave")
		}
	})
}
