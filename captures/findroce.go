package captures

import (
	"fmt"
	"net/netip"
)

// A roceFinding is one kind of trouble of RoCE, told by queue pair.
type roceFinding struct {
	name     string
	severity Severity
	of       func(*roceCounts) uint32
	text     func(n int64, c *roceCounts) string
	rule     string
	filter   string
}

var roceFindings = []roceFinding{
	{
		"roce-loss-before", Critical, func(c *roceCounts) uint32 { return c.GapPackets },
		func(n int64, c *roceCounts) string {
			return fmt.Sprintf("%s lost in %s between the sender and the point of capture", plural(n, "packet"), plural(int64(c.Gaps), "gap"))
		},
		"packet sequence numbers were skipped", "",
	},
	{
		"roce-loss-after", Critical, func(c *roceCounts) uint32 { return c.LostAfter },
		func(n int64, _ *roceCounts) string {
			return plural(n, "time") + " the sender went back to a packet that was seen: lost between the point of capture and the receiver"
		},
		"a sequence number that was captured came again, and the receiver had not said that it was not ready", "",
	},
	{
		"roce-nak", Critical, func(c *roceCounts) uint32 { return c.NAK },
		func(n int64, _ *roceCounts) string {
			return plural(n, "NAK") + " for a packet out of sequence: what is sent the opposite way loses packets"
		},
		"AETH syndrome 0x60", "infiniband.aeth.syndrome == 0x60",
	},
	{
		"roce-nak-other", Critical, func(c *roceCounts) uint32 { return c.OtherNAK },
		func(n int64, _ *roceCounts) string {
			return plural(n, "NAK") + " for an invalid request, remote access or remote operation: a fault of a program or host"
		},
		"AETH syndrome 0x61 to 0x7f", "infiniband.aeth.syndrome > 0x60",
	},
	{
		"roce-timeout", Critical, func(c *roceCounts) uint32 { return c.Timeouts },
		func(n int64, _ *roceCounts) string {
			return plural(n, "stall") + " of at least 16.8 ms inside a message, as a local ACK timeout makes them"
		},
		"silence of 4.096 us * 2^12 or more after a packet that does not end its message, or before one sent again", "",
	},
	{
		"roce-corruption", Critical, func(c *roceCounts) uint32 { return c.ICRCBad },
		func(n int64, _ *roceCounts) string {
			return plural(n, "packet") + " with a wrong invariant CRC: changed inside a host, network card or switch, where Ethernet's check sequence is made anew"
		},
		"CRC-32 over the headers with the variant fields as ones and the payload", "",
	},
	{
		"roce-rnr", Warning, func(c *roceCounts) uint32 { return c.RNR },
		func(n int64, _ *roceCounts) string {
			return plural(n, "time") + " the receiver was not ready: its program posts too few receives; not a fault of the network"
		},
		"AETH syndrome 0x20 to 0x3f", "infiniband.aeth.syndrome >= 0x20 && infiniband.aeth.syndrome < 0x40",
	},
	{
		"roce-cnp", Warning, func(c *roceCounts) uint32 { return c.CNP },
		func(n int64, _ *roceCounts) string {
			return plural(n, "congestion notification") + ": what this queue pair sends met congestion"
		},
		"BTH opcode 0x81", "infiniband.bth.opcode == 0x81",
	},
}

// A roceFinder tells what the tracking of queue pairs found.
type roceFinder struct{ a *Analyzer }

func newRoCEFinder(a *Analyzer) finder { return &roceFinder{a} }

func (f *roceFinder) see(*Sight) {}

func (f *roceFinder) report(r *Report) {
	lists := make([]ranking, len(roceFindings))
	for i := range lists {
		lists[i].most = f.a.cfg.MaxFindings
	}
	f.a.roce.pairs.all(func(n uint32, q *queuePair) {
		for i, kind := range roceFindings {
			if c := kind.of(&q.roceCounts); c > 0 {
				lists[i].add(candidate{int64(c), q.first, q.last, n, 0})
			}
		}
	})
	for i, kind := range roceFindings {
		lists[i].tell(r, func(c candidate) Finding {
			q := f.a.roce.pairs.at(c.number)
			filter := q.filter()
			if kind.filter != "" {
				filter += " && " + kind.filter
			}
			return Finding{
				Finding: kind.name, Severity: kind.severity, Subject: q.name(), about: choosePair(q.src, q.dst), Rule: kind.rule, Filter: filter, like: kind.filter,
				Text: fmt.Sprintf("%s, of %s", kind.text(c.count, &q.roceCounts), plural(int64(q.packets), "packet")),
			}
		})
	}
}

// name writes a queue pair for people.
func (q *queuePair) name() string {
	return fmt.Sprintf("roce %s>%s qp 0x%06x", q.src.Netip(), q.dst.Netip(), q.qp)
}

// filter is a Wireshark display filter for what goes to the queue pair. Where no UDP carries it, the addresses are those of the global
// route header, which are always written as IPv6's.
func (q *queuePair) filter() string {
	ends := pairFilter(q.src, q.dst)
	if q.number == 0 {
		ends = fmt.Sprintf("infiniband.grh.sgid == %s && infiniband.grh.dgid == %s", netip.AddrFrom16(q.src), netip.AddrFrom16(q.dst))
	}
	return fmt.Sprintf("%s && infiniband.bth.destqp == 0x%06x", ends, q.qp)
}
