// Package spelling tells which names mean the same thing though they are written differently: the devices, the tools and the people of one
// network write Eth1/1, Ethernet1/1 and e1-1, leaf1, LEAF1 and leaf1.dc.example.net.
//
// [Node] and [Port] give the canonical form of a name, for comparing and not for showing. [MatchNodes] and [MatchPorts] find for the names
// of one set those of another; where more than one may be meant they say so and choose none.
package spelling

import (
	"net/netip"
	"strings"
)

// Node returns the canonical form of a node's name: in lower case and without its domain. Addresses, which some devices have for a name,
// are not cut at their dots; a MAC address comes as its bytes between colons.
func Node(name string) string {
	name = fold(name)
	if mac, ok := MAC(name); ok {
		return mac
	}
	if a, err := netip.ParseAddr(name); err == nil {
		return a.Unmap().String()
	}
	if host, _, ok := strings.Cut(name, "."); ok && host != "" {
		return host
	}
	return name
}

// fold undoes what never tells two names apart: case, space around, and the dot that ends a fully qualified name.
func fold(name string) string {
	return strings.TrimSuffix(strings.ToLower(strings.TrimSpace(name)), ".")
}

// MAC reads a MAC address in the ways in which devices write one (52:54:00:c8:33:98, 52-54-00-C8-33-98, 5254.00c8.3398, 5254-00c8-3398)
// and returns it in the first. Twelve digits without a mark between them are no address: they might be any name.
func MAC(word string) (string, bool) {
	var every int
	switch len(word) {
	case 17:
		every = 2
	case 14:
		every = 4
	default:
		return "", false
	}
	mark := word[every]
	if mark != '-' && (every == 2) != (mark == ':') || every == 4 && mark != '-' && mark != '.' {
		return "", false
	}
	var out strings.Builder
	digits := 0
	for i := range len(word) {
		c := word[i]
		if i%(every+1) == every {
			if c != mark {
				return "", false
			}
			continue
		}
		if c >= 'A' && c <= 'F' {
			c += 'a' - 'A'
		}
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return "", false
		}
		if digits > 0 && digits%2 == 0 {
			out.WriteByte(':')
		}
		out.WriteByte(c)
		digits++
	}
	return out.String(), true
}
