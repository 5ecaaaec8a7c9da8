package lab

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"sync/atomic"
	"time"

	"whichlink/graphs"
)

// A load is UDP traffic between two hosts.
type load struct {
	lab      *Lab
	id       FaultID
	src, dst graphs.NodeID
	rate     graphs.BitsPerSecond
	flows    int

	sink    *net.UDPConn
	sources []*net.UDPConn
	to      netip.AddrPort
	cancel  context.CancelFunc
	done    chan struct{}
	sent    atomic.Uint64
}

// loadPort is the first destination port of loads; the fault's number is added. Source ports are left to the kernel to choose.
const loadPort = 20000

// loadPacket is the length of a packet of a load from the IP header on, loadPayload without IPv4 and UDP headers.
const (
	loadPacket  = 1400
	loadPayload = loadPacket - 20 - 8
)

func (d *load) apply() error {
	f := d.lab.fabric
	d.to = netip.AddrPortFrom(f.Address(d.dst, false), loadPort+uint16(d.id%10000))
	// Somebody must hold the port, or the destination answers every packet with an error. Nobody needs to read.
	err := d.lab.Do(d.dst, func() (err error) {
		d.sink, err = net.ListenUDP("udp4", net.UDPAddrFromAddrPort(d.to))
		return err
	})
	if err != nil {
		return fmt.Errorf("listen for the load: %w", err)
	}
	_ = d.sink.SetReadBuffer(1) // the kernel takes its minimum
	err = d.lab.Do(d.src, func() error {
		for range d.flows {
			c, err := net.ListenUDP("udp4", &net.UDPAddr{IP: f.Address(d.src, false).AsSlice()})
			if err != nil {
				return err
			}
			d.sources = append(d.sources, c)
		}
		return nil
	})
	if err != nil {
		d.close()
		return fmt.Errorf("open sockets for the load: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	d.cancel, d.done = cancel, make(chan struct{})
	go d.run(ctx)
	return nil
}

// run sends what is due every millisecond. After a pause of more than 20 ms the rest is left out.
func (d *load) run(ctx context.Context) {
	defer close(d.done)
	payload := make([]byte, loadPayload)
	perSecond := float64(d.rate) / (loadPacket * 8)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	last, due, next := time.Now(), 0.0, 0
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := time.Now()
		due += perSecond * min(now.Sub(last), 20*time.Millisecond).Seconds()
		last = now
		for ; due >= 1; due-- {
			c := d.sources[next%len(d.sources)]
			next++
			// A full queue or a fault on the way is what a load is for.
			if _, err := c.WriteToUDPAddrPort(payload, d.to); err == nil {
				d.sent.Add(1)
			}
		}
	}
}

func (d *load) remove() error {
	d.cancel()
	<-d.done
	d.close()
	return nil
}

func (d *load) close() {
	d.sink.Close()
	for _, c := range d.sources {
		c.Close()
	}
	d.sources = nil
}

func (d *load) hit() uint64 { return d.sent.Load() }
