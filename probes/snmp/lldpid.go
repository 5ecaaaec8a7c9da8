package snmp

import (
	"encoding/hex"
	"net"
	"net/netip"
	"strings"
	"unicode"
	"unicode/utf8"

	"whichlink/graphs"
	"whichlink/graphs/spelling"
)

// An ID is the identifier of a chassis or of a port (IEEE 802.1AB 8.5.2 and 8.5.3).
type ID struct {
	Kind IDKind
	// Text is the identifier as it is shown: MAC addresses as aa:bb:cc:dd:ee:ff, other bytes that are no text as 0x and hexadecimal digits.
	Text string
}

// An IDKind is what an identifier is. The subtypes of chassis and of ports differ in number, not in meaning.
type IDKind byte

// The kinds. KindUnknown is that of an agent that does not tell the subtype.
const (
	KindUnknown IDKind = iota
	KindComponent
	KindAlias
	KindMAC
	KindAddress
	KindName
	KindCircuit
	KindLocal
)

// LldpChassisIdSubtype and LldpPortIdSubtype (LLDP-MIB).
var (
	chassisKinds = [...]IDKind{0, KindComponent, KindAlias, KindComponent, KindMAC, KindAddress, KindName, KindLocal}
	portKinds    = [...]IDKind{0, KindAlias, KindComponent, KindMAC, KindAddress, KindName, KindCircuit, KindLocal}
)

// kind looks a subtype up.
func kind(of *[8]IDKind, subtype uint64) IDKind {
	if subtype < uint64(len(of)) {
		return of[subtype]
	}
	return KindUnknown
}

// key is what makes two identifiers the same: case and the way of writing a MAC address do not tell them apart, nor does the kind.
func (d ID) key() string {
	if m, ok := spelling.MAC(d.Text); ok {
		return m
	}
	return strings.ToLower(d.Text)
}

// settle brings the identifier, whose text is still the octets received, into the form in which it is shown.
func (d *ID) settle() {
	raw := d.Text
	switch d.Kind {
	case KindMAC, KindUnknown:
		if m, ok := macText(raw); ok && (d.Kind == KindMAC || !printable(raw)) {
			d.Kind, d.Text = KindMAC, m
			return
		}
	case KindAddress:
		if a, ok := addressOf(raw); ok {
			d.Text = a.String()
			return
		}
	}
	d.Text = plain(raw)
}

// macText reads a MAC address of six octets, or of the text of one, which some agents send in their place.
func macText(raw string) (string, bool) {
	if len(raw) == 6 {
		return net.HardwareAddr(raw).String(), true
	}
	return spelling.MAC(strings.TrimRight(raw, "\x00"))
}

// addressOf reads a network address: the IANA address family (1 IPv4, 2 IPv6) and its octets, or without the former.
func addressOf(raw string) (netip.Addr, bool) {
	switch {
	case len(raw) == 5 && raw[0] == 1, len(raw) == 17 && raw[0] == 2:
		raw = raw[1:]
	case len(raw) != 4 && len(raw) != 16:
		a, err := netip.ParseAddr(strings.TrimRight(raw, "\x00"))
		return a.Unmap(), err == nil && a.Zone() == ""
	}
	a, ok := netip.AddrFromSlice([]byte(raw))
	return a.Unmap(), ok
}

// printable reports whether octets are text. Agents that end their strings with NULs mean them so.
func printable(raw string) bool {
	raw = strings.TrimRight(raw, "\x00")
	return raw != "" && utf8.ValidString(raw) && strings.IndexFunc(raw, func(r rune) bool { return !unicode.IsGraphic(r) }) < 0
}

// plain makes of octets an identifier that can be shown and still tells what it told: what is no text becomes hexadecimal.
func plain(raw string) string {
	raw = strings.TrimRight(raw, "\x00")
	switch trimmed := strings.TrimSpace(raw); {
	case raw == "", printable(trimmed):
		return graphs.Clean(trimmed)
	case len(raw) == 6:
		return net.HardwareAddr(raw).String()
	case utf8.ValidString(raw) && strings.IndexFunc(raw, unicode.IsGraphic) >= 0:
		return graphs.Clean(trimmed) // a name with control characters in it
	}
	return graphs.Clean("0x" + hex.EncodeToString([]byte(raw)))
}

// words makes a name or a description safe to show.
func words(raw string) string {
	return graphs.Clean(strings.TrimSpace(strings.TrimRight(raw, "\x00")))
}
