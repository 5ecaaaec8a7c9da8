package tui

import (
	"net"
	"net/netip"
	"strings"

	"whichlink/graphs"
)

// A lexicon rewrites the names of one fabric into those of another that has the same ids, and addresses beside them.
type lexicon struct {
	from, to *graphs.Fabric // nil if none is known: then only addresses are rewritten
	// names are those that may stand by themselves in a sentence, in lower case.
	names   map[string]string
	longest int // of what may have to be looked up, in bytes
	address func(netip.Addr) netip.Addr
	station func(string) string // a MAC address
}

// put takes a name in, unless it would rewrite what is no name: a number, or a single letter.
func (x *lexicon) put(name, as string) {
	if key := lower(name); len(name) > 1 && lettered(name) {
		if _, ok := x.names[key]; !ok {
			x.names[key] = as
			x.longest = max(x.longest, len(name))
		}
	}
}

// name rewrites what is a name as a whole: of an arc, link, port, node or group. Of anything else it rewrites the names in it.
func (x *lexicon) name(s string) string {
	if f := x.from; f != nil {
		if a, ok := f.ArcByName(s); ok {
			return x.to.ArcName(a)
		}
		if l, ok := f.LinkByName(s); ok {
			return x.to.LinkName(l)
		}
		if p, ok := f.PortByName(s); ok {
			return x.to.PortName(p)
		}
		if n, ok := f.NodeByName(s); ok {
			return x.to.NodeName(n)
		}
	}
	return x.text(s)
}

// text rewrites all names and addresses in a sentence. Names count wherever they stand between other characters than letters and digits, in capitals or not:
// too much hidden does no harm.
func (x *lexicon) text(s string) string {
	low := lower(s)
	var b strings.Builder
	done := 0
	for i := 0; i < len(s); {
		as, n := "", 0
		if i == 0 || !alphanumeric(s[i-1]) {
			as, n = x.at(s, low, i)
		}
		if n == 0 {
			i++
			continue
		}
		b.WriteString(s[done:i])
		b.WriteString(as)
		i += n
		done = i
	}
	if done == 0 {
		return s
	}
	b.WriteString(s[done:])
	return b.String()
}

// at rewrites the longest name, or the address, that begins at i, and returns how long it was; 0 if there is none.
func (x *lexicon) at(s, low string, i int) (as string, n int) {
	for j := min(len(s), i+x.longest); j > i; j-- {
		if !ends(s, j) {
			continue
		}
		if as, ok := x.names[low[i:j]]; ok {
			return as, j - i
		}
		if x.from == nil || strings.IndexByte(s[i:j], ':') <= 0 {
			continue
		}
		// Where nodes have numbers for names, 14:32 may be a port; in 14:32:07 it is none.
		if p, ok := x.from.PortByName(s[i:j]); ok && (lettered(s[i:j]) || !clockwork(s, i-1) && !clockwork(s, j)) {
			return x.to.PortName(p), j - i
		}
	}
	return x.addressAt(s, i)
}

// addressAt rewrites the address that begins at i.
func (x *lexicon) addressAt(s string, i int) (as string, n int) {
	for _, n := range [2]int{len("00:00:5e:00:53:01"), len("0000.5e00.5301")} {
		if i+n <= len(s) && ends(s, i+n) {
			if mac, err := net.ParseMAC(s[i : i+n]); err == nil {
				return x.station(mac.String()), n
			}
		}
	}
	end, dots, colons := i, 0, 0
	for ; end < len(s) && end < i+len("ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255"); end++ {
		switch c := s[end]; {
		case c == '.':
			dots++
			continue
		case c == ':':
			colons++
			continue
		case c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f':
			continue
		}
		break
	}
	if dots < 3 && colons < 2 {
		return "", 0
	}
	for j := end; j > i; j-- {
		if !ends(s, j) {
			continue
		}
		if a, err := netip.ParseAddr(s[i:j]); err == nil {
			if a.Is6() { // what hangs on to it may be a part of it
				for end < len(s) && (alphanumeric(s[end]) || s[end] == '.' || s[end] == ':') {
					end++
				}
				j = max(j, i+len(strings.TrimRight(s[i:end], ":.")))
			}
			return x.address(a).String(), j - i
		}
	}
	return "", 0
}

// clockwork reports whether what stands at i would make a time, a version or an address of the numbers beside it.
func clockwork(s string, i int) bool { return i >= 0 && i < len(s) && (s[i] == ':' || s[i] == '.') }

// ends reports whether a word may end before s[i].
func ends(s string, i int) bool { return i >= len(s) || !alphanumeric(s[i]) }

func alphanumeric(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= 0x80
}

// lettered reports whether a name has a letter.
func lettered(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r|0x20 >= 'a' && r|0x20 <= 'z' || r >= 0x80 }) >= 0
}

// lower puts ASCII into lower case, and so keeps every byte in its place.
func lower(s string) string {
	i := 0
	for ; i < len(s); i++ {
		if s[i] >= 'A' && s[i] <= 'Z' {
			break
		}
	}
	if i == len(s) {
		return s
	}
	b := []byte(s)
	for ; i < len(b); i++ {
		if b[i] >= 'A' && b[i] <= 'Z' {
			b[i] |= 0x20
		}
	}
	return string(b)
}
