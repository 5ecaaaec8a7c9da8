package probes

import (
	"context"
	"net/netip"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"whichlink/internal/evidence"
)

// narrow leaves a socket room for a few messages.
func narrow(t *testing.T, s *socket) {
	t.Helper()
	var errno error
	err := s.raw.Control(func(fd uintptr) { errno = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF, 1) })
	if err != nil || errno != nil {
		t.Fatal(err, errno)
	}
}

// awaitStamps waits until the kernel stamps what it receives, which it begins some time after the first socket asks for it, and goes on while one does.
func awaitStamps(t *testing.T) {
	t.Helper()
	s, err := openUDP(netip.MustParseAddrPort("127.0.0.1:0"), receiver, false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.close() })
	b := newBatch(1, 64, oobReceive)
	var m meta
	stamped := within(t, 10*time.Second, func() bool {
		err := s.raw.Control(func(fd uintptr) {
			if me, err := unix.Getsockname(int(fd)); err == nil && unix.Sendto(int(fd), []byte{1}, 0, me) == nil {
				if n, _ := b.receive(fd, 0); n == 1 {
					m.parse(b.control(0))
				}
			}
		})
		return err == nil && m.stamp != 0
	})
	if !stamped {
		t.Fatal("the kernel gives no stamps")
	}
}

// idleReflector opens a reflector that answers once it is told to.
func idleReflector(t *testing.T) (r *Reflector, port uint16, run func()) {
	t.Helper()
	awaitStamps(t)
	for port = 20962; ; port++ {
		var err error
		if r, err = NewReflector(ReflectorConfig{Address: netip.MustParseAddr("127.0.0.1"), Ports: []uint16{port}}); err == nil {
			break
		} else if port == 21000 {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	t.Cleanup(func() {
		stop()
		r.Close()
		select {
		case <-done:
		default:
		}
	})
	return r, port, func() { go func() { done <- r.Run(ctx) }() }
}

// toSelf adds a flow to a reflector of this machine, from some port that is not in use.
func toSelf(t *testing.T, e *Engine, port uint16) *Stream {
	t.Helper()
	a := netip.MustParseAddr("127.0.0.1")
	for from := uint16(21962); ; from++ {
		s, err := e.Add(evidence.Flow{Src: a, Dst: a, Proto: "udp", SrcPort: from, DstPort: port}, Options{})
		if err == nil {
			return s
		} else if from == 22000 {
			t.Fatal(err)
		}
	}
}

// settleAll sends echoes, of which later ones are answered, until n are decided, and sums up what became of them. Where the socket has little room they may be
// dropped, too, and are heard of before they are decided: so it goes on until as many are lost as the prober heard of and the socket counts.
func settleAll(t *testing.T, s *Stream, n int, heard *strainLog, counts func() int) (sum Window, x strain) {
	t.Helper()
	var list []strain
	ok := within(t, 30*time.Second, func() bool {
		s.Echo(1)
		w := s.Take()
		sum.Sent, sum.Lost = sum.Sent+w.Sent, sum.Lost+w.Lost
		sum.LostForward, sum.LostBack, sum.LostAt = sum.LostForward+w.LostForward, sum.LostBack+w.LostBack, append(sum.LostAt, w.LostAt...)
		list = append(list, heard.take()...)
		x = all(t, list, evidence.Overflow)
		return sum.Sent >= n && sum.Lost == sum.LostForward+sum.LostBack && sum.Lost == x.count && sum.Lost == counts()
	})
	if !ok {
		t.Fatalf("%d of %d are decided: %+v, the prober heard of %+v, and the socket counts %d", sum.Sent, n, sum, list, counts())
	}
	return sum, x
}

// patient is of one who gives nothing up but what later answers show to be lost.
var patient = Config{Timeout: 20 * time.Second, MinTimeout: 20 * time.Second}

// all sums up the strains of one kind, and tells when they were.
func all(t *testing.T, list []strain, what evidence.Strain) (x strain) {
	t.Helper()
	for _, o := range list {
		if o.what != what {
			t.Errorf("strain %+v, want %s only", o, what)
			continue
		}
		if x.count == 0 {
			x = o
			continue
		}
		x.from, x.to, x.count = min(x.from, o.from), max(x.to, o.to), x.count+o.count
	}
	return x
}

// TestReflectorTimes has a reflector find many requests at once: the time in each answer is that of its own sending, after the answer before arrived. What a host
// does between two answers would else count as the network's delay.
func TestReflectorTimes(t *testing.T) {
	r, _, run := idleReflector(t)
	c, err := openUDP(netip.MustParseAddrPort("127.0.0.1:0"), receiver, false)
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	requests, answers := newBatch(reflectorBatch, minRequest, 0), newBatch(reflectorBatch, minRequest, oobReceive)
	for i := range reflectorBatch {
		n := (&request{seq: uint32(i), ssid: 3, size: minRequest}).put(requests.bufs[i])
		requests.set(i, n, putSockaddr(&requests.names[i], r.Addrs()[0], 0), 0)
	}
	if err := c.raw.Control(func(fd uintptr) {
		if n, errno := requests.send(fd, 0, reflectorBatch); n != reflectorBatch {
			t.Fatalf("%d requests were sent: %v", n, errno)
		}
	}); err != nil {
		t.Fatal(err)
	}
	run()
	var before meta
	came := 0
	within(t, 10*time.Second, func() bool {
		_ = c.raw.Control(func(fd uintptr) {
			n, _ := answers.receive(fd, 0)
			for i := range n {
				a, err := parseAnswer(answers.data(i))
				if err != nil || a.senderSeq != uint32(came) {
					t.Errorf("answer %d is to request %d: %v", came, a.senderSeq, err)
				}
				if came > 0 && a.replied < toNTP(before.stamp) {
					t.Errorf("answer %d says that it was sent %v before the one before arrived", came, residence(a.replied, toNTP(before.stamp)))
				}
				before.parse(answers.control(i))
				came++
			}
		})
		return came == reflectorBatch
	})
	if came != reflectorBatch {
		t.Errorf("%d answers came", came)
	}
}

// TestReflectorOverflow fills the socket of a reflector that does not read: what the kernel drops there reaches the prober as a count, with the time.
func TestReflectorOverflow(t *testing.T) {
	r, port, run := idleReflector(t)
	narrow(t, r.sockets[0].socket)
	e := newEngine(t, patient)
	s := toSelf(t, e, port)
	const n = 50
	if got := s.Echo(n); got != n {
		t.Fatalf("sent %d", got)
	}
	time.Sleep(5 * time.Millisecond) // nobody reads
	run()
	w, x := settleAll(t, s, n+2, &s.end.strains, func() int { return int(r.Stats().Crowded) })
	if w.Lost == 0 || w.Lost != w.LostForward {
		t.Errorf("lost %d, of them %d on the way there", w.Lost, w.LostForward)
	}
	for _, at := range w.LostAt {
		if at.UnixNano() < x.from || at.UnixNano() > x.to {
			t.Errorf("lost at %d, not between %d and %d", at.UnixNano(), x.from, x.to)
		}
	}
	if own := e.own.take(); own != nil {
		t.Errorf("the prober says of itself %+v", own)
	}
}

// TestOwnOverflow fills the socket of a prober that does not read.
func TestOwnOverflow(t *testing.T) {
	r, port, run := idleReflector(t)
	e := newEngine(t, patient)
	s := toSelf(t, e, port)
	narrow(t, s.out.in)
	run()
	s.out.left.reading.Lock() // which the reader wants before it looks at what it has read
	const n = 50
	for range n {
		s.Echo(1)
	}
	answered := within(t, 30*time.Second, func() bool { return r.Stats().Answered == n })
	time.Sleep(5 * time.Millisecond)
	s.out.left.reading.Unlock()
	if !answered {
		t.Fatalf("the reflector answered %d", r.Stats().Answered)
	}
	w, x := settleAll(t, s, n+2, &e.own, func() int { return int(e.Stats().Dropped) })
	if w.Lost == 0 || w.Lost != w.LostBack {
		t.Errorf("lost %d, of them %d on the way back", w.Lost, w.LostBack)
	}
	for _, at := range w.LostAt {
		if at.UnixNano() < x.from || at.UnixNano() > x.to {
			t.Errorf("lost at %d, not between %d and %d", at.UnixNano(), x.from, x.to)
		}
	}
	if there := s.end.strains.take(); there != nil {
		t.Errorf("the prober says of the reflector %+v", there)
	}
}

// TestOverdue: probes that a reflector keeps waiting, and answers that a prober reads too late, are counted as lost and then taken back.
func TestOverdue(t *testing.T) {
	impatient := Config{Timeout: 50 * time.Millisecond, MinTimeout: 50 * time.Millisecond}
	const n = 10
	giveUp := func(t *testing.T, s *Stream) {
		t.Helper()
		lost := 0
		if !within(t, 10*time.Second, func() bool { lost += s.Take().Lost; return lost == n }) {
			t.Fatalf("%d of %d were given up", lost, n)
		}
	}
	late := func(t *testing.T, s *Stream) {
		t.Helper()
		seen := 0
		if !within(t, 10*time.Second, func() bool { seen += s.Take().Late; return seen == n }) {
			t.Fatalf("%d of %d answers came", seen, n)
		}
	}
	t.Run("reflector", func(t *testing.T) {
		_, port, run := idleReflector(t)
		e := newEngine(t, impatient)
		s := toSelf(t, e, port)
		s.Echo(n)
		giveUp(t, s)
		run()
		late(t, s)
		if x := all(t, s.end.strains.take(), evidence.Overdue); x.count != n || x.to >= time.Now().UnixNano() || len(e.own.take()) > 0 {
			t.Errorf("strain %+v", x)
		}
	})
	t.Run("prober", func(t *testing.T) {
		_, port, run := idleReflector(t)
		run()
		e := newEngine(t, impatient)
		s := toSelf(t, e, port)
		s.out.left.reading.Lock() // as above
		for range n {
			s.Echo(1)
		}
		giveUp(t, s)
		s.out.left.reading.Unlock()
		late(t, s)
		// Some may have been read before the reader stopped; for it, they are late by its own doing or another's.
		own, there := all(t, e.own.take(), evidence.Overdue), all(t, s.end.strains.take(), evidence.Overdue)
		if own.count == 0 || own.count+there.count != n {
			t.Errorf("%d by itself, %d by the reflector; want %d", own.count, there.count, n)
		}
	})
}

// TestRefused: what the queues or filters of a host at either end drop of its own is told as that, as often as it was lost.
func TestRefused(t *testing.T) {
	b := newBench(t, leafSpine(t, 2, 2), 1, Config{}, ReflectorConfig{})
	streams := b.streams(b.hosts[1], 8, false, Options{})
	for i, host := range []string{b.fabric.NodeName(b.hosts[0]), b.fabric.NodeName(b.hosts[1])} {
		id := b.breakIt("node", "10%", host)
		w := b.echoAll(streams, 60*(i+1), func() {})
		if err := b.lab.Heal(id); err != nil {
			t.Fatal(err)
		}
		// What the reflector's host refused last, its next answer tells.
		b.echoAll(streams, 2, func() {})
		own, there := all(t, b.engine.own.take(), evidence.Refused), all(t, streams[0].end.strains.take(), evidence.Refused)
		if i == 0 && (w.LostForward == 0 || own.count != w.LostForward || there.count != 0) {
			t.Errorf("%s lost %d of what it sent, and tells of %d; of the other %d", host, w.LostForward, own.count, there.count)
		}
		// Answers to questions are refused as those to echoes are.
		if i == 1 && (w.LostBack == 0 || there.count < w.LostBack || there.count > 2*w.LostBack+20 || own.count != 0) {
			t.Errorf("%s lost %d of what it answered, and is told of %d; of itself the prober tells %d", host, w.LostBack, there.count, own.count)
		}
	}
}
