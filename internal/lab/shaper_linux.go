package lab

import (
	"fmt"
	"math"
	"time"

	"github.com/vishvananda/netlink"

	"whichlink/graphs"
)

// A shaper is a queue at a sending port that lets a rate through (tbf).
type shaper struct {
	lab  *Lab
	port graphs.PortID
	rate graphs.BitsPerSecond
}

// The queue holds what the rate carries in queueTime, but no less than ten full packets: shallow, like a switch port's.
const (
	queueTime = 25 * time.Millisecond
	fullFrame = 1514
)

func (s *shaper) apply() error {
	bytes := float64(s.rate) / 8
	burst := max(2*fullFrame, bytes/1000) // what may go at once: one millisecond's worth
	q := &netlink.Tbf{
		QdiscAttrs: s.attrs(),
		Rate:       uint64(bytes),
		Limit:      uint32(min(math.MaxInt32, max(10*fullFrame, bytes*queueTime.Seconds())+burst)),
		Buffer:     uint32(min(math.MaxUint32, burst/bytes*1e9/64)), // in ticks of 64 ns (linux/pkt_sched.h)
	}
	if err := s.inside(func() error { return netlink.QdiscReplace(q) }); err != nil {
		return fmt.Errorf("put a queue in at %s: %w", s.lab.fabric.PortName(s.port), err)
	}
	return nil
}

func (s *shaper) remove() error {
	if err := s.inside(func() error { return netlink.QdiscDel(&netlink.Tbf{QdiscAttrs: s.attrs()}) }); err != nil {
		return fmt.Errorf("take the queue out at %s: %w", s.lab.fabric.PortName(s.port), err)
	}
	return nil
}

// hit counts the packets for which the queue had no room.
func (s *shaper) hit() uint64 {
	var drops uint64
	_ = s.inside(func() error {
		all, err := netlink.QdiscList(&netlink.Device{LinkAttrs: netlink.LinkAttrs{Index: s.attrs().LinkIndex}})
		for _, q := range all {
			if t, ok := q.(*netlink.Tbf); ok && t.Statistics != nil && t.Statistics.Queue != nil {
				drops += uint64(t.Statistics.Queue.Drops)
			}
		}
		return err
	})
	return drops
}

func (s *shaper) attrs() netlink.QdiscAttrs {
	return netlink.QdiscAttrs{LinkIndex: int(s.lab.ifindex(s.port)), Handle: netlink.MakeHandle(1, 0), Parent: netlink.HANDLE_ROOT}
}

func (s *shaper) inside(fn func() error) error { return s.lab.Do(s.lab.fabric.Port(s.port).Node, fn) }
