package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"syscall"

	"github.com/spf13/cobra"

	"whichlink/graphs"
	"whichlink/internal/evidence"
	"whichlink/probes"
)

// firstPort is the first source port of trace and ping. whichlink probe uses others, so that they can run at the same time.
const firstPort = 52000

// flowing is the flags of commands that send along chosen flows.
type flowing struct {
	fabric string
	from   string
	flows  int
	port   uint16
	sport  uint16
	dscp   uint8
	rate   float64
	tcp    bool
	four   bool
	six    bool
	output string
}

func (w *flowing) flags(cmd *cobra.Command) {
	fabricFlag(cmd, &w.fabric)
	outputFlag(cmd, &w.output, "text", "json")
	f := cmd.Flags()
	f.StringVar(&w.from, "from", "", "source `ADDRESS`, or host of the fabric (default: as the system routes)")
	nameFlag(cmd, "from", nodes)
	f.IntVar(&w.flows, "flows", 16, "how many flows, which differ in their source port")
	f.Uint16Var(&w.port, "port", probes.DefaultPort, "destination port: UDP of the reflector (whichlink agent), or with --tcp any")
	f.Uint16Var(&w.sport, "sport", firstPort, "source port of the first flow")
	f.Uint8Var(&w.dscp, "dscp", 0, dscpHelp)
	f.Float64Var(&w.rate, "rate", probes.DefaultRate, "most packets a second")
	f.BoolVar(&w.tcp, "tcp", false, "probe with TCP SYNs")
	f.BoolVarP(&w.four, "ipv4", "4", false, "use IPv4")
	f.BoolVarP(&w.six, "ipv6", "6", false, "use IPv6")
}

func (w *flowing) check() error {
	switch {
	case w.flows < 1 || w.flows > 1024:
		return usagef("--flows %d is not one of 1 to 1024", w.flows)
	case w.port == 0 || w.sport == 0 || int(w.sport)+w.flows > 1<<16:
		return usagef("ports from %d to %d: not 1 to 65535", w.sport, int(w.sport)+w.flows-1)
	case !(w.rate > 0 && w.rate <= maxRate):
		return usagef("--rate must be above 0 and at most %.0f", maxRate)
	case w.four && w.six:
		return usagef("-4 and -6 exclude each other")
	}
	return checkDSCP(w.dscp)
}

// dscpHelp describes a flag that sets a DSCP.
const dscpHelp = "DSCP of the probes, 0 to 63"

// checkDSCP refuses what is longer than the six bits of a DSCP (RFC 2474).
func checkDSCP(dscp uint8) error {
	if dscp > 63 {
		return usagef("--dscp %d is not one of 0 to 63", dscp)
	}
	return nil
}

// pair resolves a destination, once and before anything is sent, and finds the source address towards it.
func (w *flowing) pair(ctx context.Context, f *graphs.Fabric, name string) (src, dst netip.Addr, err error) {
	if dst, err = w.resolve(ctx, f, name); err != nil {
		return src, dst, err
	}
	if w.from != "" {
		from := *w
		from.four, from.six = dst.Is4(), dst.Is6()
		src, err = from.resolve(ctx, f, w.from)
		return src, dst, err
	}
	// Connecting a UDP socket sends nothing: it asks the kernel for its route.
	c, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(netip.AddrPortFrom(dst, w.port)))
	if err != nil {
		return src, dst, fmt.Errorf("find a way to %s: %w", dst, err)
	}
	defer c.Close()
	local, _ := netip.AddrFromSlice(c.LocalAddr().(*net.UDPAddr).IP)
	return local.Unmap(), dst, nil
}

// resolve turns an address, a node of the fabric or a host name into an address.
func (w *flowing) resolve(ctx context.Context, f *graphs.Fabric, name string) (netip.Addr, error) {
	if a, err := netip.ParseAddr(name); err == nil {
		if a = a.Unmap(); w.four && !a.Is4() || w.six && !a.Is6() {
			return a, usagef("%s is not of the family that is asked for", a)
		}
		return a, nil
	}
	if f != nil {
		if n, ok := f.NodeByName(name); ok {
			a := f.Address(n, w.six)
			if !a.IsValid() && !w.four {
				a = f.Address(n, true)
			}
			if !a.IsValid() {
				return a, fmt.Errorf("%s has no such address in the fabric file", name)
			}
			return a, nil
		}
	}
	network := "ip"
	if w.four {
		network = "ip4"
	} else if w.six {
		network = "ip6"
	}
	found, err := net.DefaultResolver.LookupNetIP(ctx, network, name)
	if err != nil {
		var dns *net.DNSError
		if errors.As(err, &dns) && dns.IsNotFound || f != nil {
			return netip.Addr{}, withHint(fmt.Errorf("%q is no address, no node of the fabric and no host name", graphs.Clean(name)), "nodes are known with --fabric FILE")
		}
		return netip.Addr{}, fmt.Errorf("resolve %q: %w", graphs.Clean(name), err)
	}
	for i := range found {
		found[i] = found[i].Unmap()
	}
	if i := slices.IndexFunc(found, netip.Addr.Is4); i >= 0 {
		return found[i], nil
	}
	return found[0], nil
}

// open adds the flows of a pair to an engine. Source ports that are in use are passed over.
func (w *flowing) open(e *probes.Engine, src, dst netip.Addr, o probes.Options) ([]*probes.Stream, error) {
	var all []*probes.Stream
	for port := int(w.sport); len(all) < w.flows && port < 1<<16; port++ {
		s, err := e.Add(w.flow(src, dst, "udp", uint16(port)), o)
		if errors.Is(err, syscall.EADDRINUSE) {
			continue
		} else if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

func (w *flowing) flow(src, dst netip.Addr, proto string, port uint16) evidence.Flow {
	return evidence.Flow{Src: src, Dst: dst, Proto: proto, SrcPort: port, DstPort: w.port, DSCP: w.dscp}
}
