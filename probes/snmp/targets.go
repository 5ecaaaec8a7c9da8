package snmp

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// MostAddresses is how many addresses a network may have: a /16 of IPv4.
const MostAddresses = 1 << 16

// Targets returns the agents that a word names: HOST, HOST:PORT, [HOST]:PORT, or all addresses of NETWORK/BITS, also with a port behind it, but for
// the address and the broadcast of an IPv4 network.
func Targets(word string) ([]string, error) {
	if !strings.Contains(word, "/") {
		host, _, err := splitTarget(word)
		if err != nil {
			return nil, err
		}
		if _, err := netip.ParseAddr(host); err != nil && host != "" && strings.Trim(host, "0123456789.") == "" {
			return nil, fmt.Errorf("target %q is no address", word)
		}
		if word == "" || strings.ContainsAny(word, " \t\n@") {
			return nil, fmt.Errorf("target %q is not HOST or HOST:PORT", word)
		}
		return []string{word}, nil
	}
	network, port := word, ""
	if slash, colon := strings.LastIndexByte(word, '/'), strings.LastIndexByte(word, ':'); colon > slash {
		network, port = word[:colon], word[colon+1:]
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return nil, fmt.Errorf("target %q has no valid port", word)
		}
	}
	p, err := netip.ParsePrefix(network)
	if err != nil {
		return nil, fmt.Errorf("target %q is not NETWORK/BITS", word)
	}
	p = p.Masked()
	host := p.Addr().BitLen() - p.Bits()
	if host > 16 {
		return nil, fmt.Errorf("target %q has more than %d addresses", word, MostAddresses)
	}
	var out []string
	for a, i := p.Addr(), 0; p.Contains(a); a, i = a.Next(), i+1 {
		if a.Is4() && host > 1 && (i == 0 || i == 1<<host-1) {
			continue
		}
		t := a.String()
		if port != "" {
			t = net.JoinHostPort(t, port)
		}
		out = append(out, t)
	}
	return out, nil
}
