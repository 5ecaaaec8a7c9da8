package captures

import (
	"fmt"
	"net"
	"time"

	"whichlink/captures/frames"
	"whichlink/internal/evidence"
)

// plural writes a count with its noun.
func plural(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// duration writes nanoseconds to three digits.
func duration(ns int64) string {
	d := time.Duration(ns)
	for _, unit := range []time.Duration{time.Second, time.Millisecond, time.Microsecond} {
		if d >= unit {
			return d.Round(unit / 100).String()
		}
	}
	return d.String()
}

// flowFilter is a Wireshark display filter for one direction of a flow.
func flowFilter(e evidence.Flow) string {
	ip := "ip"
	if e.Src.Is6() {
		ip = "ipv6"
	}
	return fmt.Sprintf("%s.src == %s && %s.dst == %s && %s.srcport == %d && %s.dstport == %d",
		ip, e.Src, ip, e.Dst, e.Proto, e.SrcPort, e.Proto, e.DstPort)
}

// ceFilter is a Wireshark display filter for Congestion Experienced.
const ceFilter = "(ip.dsfield.ecn == 3 || ipv6.tclass.ecn == 3)"

func macName(b []byte) string { return net.HardwareAddr(b).String() }

// pairFilter is a Wireshark display filter for what goes from one address to another.
func pairFilter(src, dst frames.Addr) string {
	ip := "ip"
	if src.Netip().Is6() {
		ip = "ipv6"
	}
	return fmt.Sprintf("%s.src == %s && %s.dst == %s", ip, src.Netip(), ip, dst.Netip())
}

// bitRate writes bits per second to three digits.
func bitRate(v float64) string {
	unit := "bit/s"
	for _, u := range []string{"kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"} {
		if v < 1000 {
			break
		}
		v, unit = v/1000, u
	}
	return fmt.Sprintf("%.3g %s", v, unit)
}
