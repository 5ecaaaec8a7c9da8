package casebook_test

import (
	"context"
	"net"
	"slices"
	"time"

	"whichlink/graphs"
	"whichlink/internal/evidence"
	"whichlink/internal/lab"
)

const (
	// smallSpeed is what links between switches carry where a play fills one, hostSpeed those of hosts.
	smallSpeed graphs.BitsPerSecond = 20_000_000
	hostSpeed  graphs.BitsPerSecond = 1_000_000_000
	// herd is how many large flows meet at one arc: together they are more than it carries, each by itself is two fifths of it.
	herd         = 3
	elephantRate = float64(smallSpeed) * 0.4
	elephantPort = 20999
	elephantSize = 1400 // octets of an IPv4 packet
)

// An elephant is a large flow and the arcs between switches that the kernel leads it over.
type elephant struct {
	from, to graphs.NodeID
	port     uint16
	path     []graphs.ArcID
}

// elephants sends large flows that meet at one arc and nowhere else, though each had other ways, and returns that arc. It alone is held to the speed of
// its link: the others carry less than that.
func (s *stage) elephants() graphs.ArcID {
	s.t.Helper()
	met, flows := s.meeting()
	s.breakIt("slow", s.f.ArcName(met), lab.FaultOptions{Rate: "20Mbit"})
	for _, e := range flows {
		s.send(e)
	}
	return met
}

// meeting looks for flows that meet at one arc, which none of them must cross.
func (s *stage) meeting() (graphs.ArcID, []elephant) {
	s.t.Helper()
	hosts := s.f.Hosts()
	over := map[graphs.ArcID][]elephant{}
	for range 4000 {
		e := elephant{from: hosts[s.rng.IntN(len(hosts))], to: hosts[s.rng.IntN(len(hosts))], port: uint16(30000 + s.rng.IntN(64))}
		var err error
		if e.path, err = s.wayOf(e); e.from == e.to || err != nil || len(e.path) < 2 {
			continue
		}
		free := s.avoidable(e)
		for _, a := range e.path {
			taken := slices.ContainsFunc(over[a], func(o elephant) bool { return o.from == e.from && o.port == e.port })
			if taken || !slices.Contains(free, a) || meets(over[a], e.path, a) {
				continue
			}
			if over[a] = append(over[a], e); len(over[a]) == herd {
				return a, over[a]
			}
		}
	}
	s.t.Fatal("no large flows that meet at one arc alone")
	return 0, nil
}

// avoidable are the arcs of a flow's way that another flow of the same hosts does not cross.
func (s *stage) avoidable(e elephant) (free []graphs.ArcID) {
	other := e
	for other.port = 31000; other.port < 31004; other.port++ {
		way, err := s.wayOf(other)
		for _, a := range e.path {
			if err == nil && !slices.Contains(way, a) {
				free = append(free, a)
			}
		}
	}
	return free
}

// meets reports whether a path shares an arc with flows beside the one that all of them cross.
func meets(flows []elephant, path []graphs.ArcID, at graphs.ArcID) bool {
	for _, e := range flows {
		for _, a := range path {
			if a != at && slices.Contains(e.path, a) {
				return true
			}
		}
	}
	return false
}

// wayOf is the way of a flow between switches, by the kernel's own routes.
func (s *stage) wayOf(e elephant) (way []graphs.ArcID, err error) {
	path, err := s.lab.Path(evidence.Flow{Src: s.f.Address(e.from, false), Dst: s.f.Address(e.to, false), Proto: "udp", SrcPort: e.port, DstPort: elephantPort})
	for _, a := range path {
		if !s.f.IsHostArc(a) {
			way = append(way, a)
		}
	}
	return way, err
}

// send sends a flow until the play ends. Somebody holds its far port and reads nothing.
func (s *stage) send(e elephant) {
	s.t.Helper()
	to := &net.UDPAddr{IP: s.f.Address(e.to, false).AsSlice(), Port: elephantPort}
	var sink, source *net.UDPConn
	open := func(n graphs.NodeID, at *net.UDPAddr, into **net.UDPConn) error {
		return s.lab.Do(n, func() (err error) {
			*into, err = net.ListenUDP("udp4", at)
			return err
		})
	}
	if err := open(e.to, to, &sink); err == nil { // of several flows to one host the first holds it
		s.endings = append(s.endings, func() { sink.Close() })
		_ = sink.SetReadBuffer(1)
	}
	if err := open(e.from, &net.UDPAddr{IP: s.f.Address(e.from, false).AsSlice(), Port: int(e.port)}, &source); err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	s.endings = append(s.endings, func() { cancel(); <-done; source.Close() })
	go func() {
		defer close(done)
		payload := make([]byte, elephantSize-28)
		tick := time.NewTicker(2 * time.Millisecond)
		defer tick.Stop()
		for last, due := time.Now(), 0.0; ctx.Err() == nil; {
			now := <-tick.C
			due += elephantRate / (8 * elephantSize) * min(now.Sub(last), 20*time.Millisecond).Seconds()
			for last = now; due >= 1; due-- {
				_, _ = source.WriteToUDP(payload, to) // a full queue is what an elephant is for
			}
		}
	}()
}

// end ends what a play began.
func (s *stage) end() {
	for _, f := range s.endings {
		f()
	}
}
