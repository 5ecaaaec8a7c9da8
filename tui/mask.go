package tui

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"

	"whichlink/graphs"
	"whichlink/internal/diagnose"
	"whichlink/internal/evidence"
)

// A mask puts pseudonyms in place of the names and addresses of a fabric, so that a screen can be shared and a picture of it published. A pseudonym keeps what
// a thing is (leaf-07, host-12, leaf-07:p03, group-02; an address stays one of its family) and is the same as long as the program runs; which leaf is
// leaf-07 is chance. What people wrote is hidden as a whole, and of sources and files only their kind stays; other names that the fabric does not know stay as
// they are.
// A nil mask hides nothing.
type mask struct {
	seed uint64
	hide lexicon // from the names to the pseudonyms
	show lexicon // back

	addresses map[netip.Addr]netip.Addr
	given     map[netip.Addr]netip.Addr // back
	stations  map[string]string
	sources   map[string]string
	texts     map[string]string // what was rewritten

	// What was masked last, which most snapshots share.
	diagnosis [2]*diagnose.Diagnosis
	picture   [2]*diagnose.Picture
	findings  [2]*Findings
	records   map[*evidence.Record]*evidence.Record // masked, by what they hide
	behind    map[*evidence.Record]*evidence.Record // back
}

func newMask(seed uint64) *mask {
	m := &mask{seed: seed, addresses: map[netip.Addr]netip.Addr{}, given: map[netip.Addr]netip.Addr{}, stations: map[string]string{}, sources: map[string]string{},
		texts: map[string]string{}, records: map[*evidence.Record]*evidence.Record{}, behind: map[*evidence.Record]*evidence.Record{}}
	_ = m.learn(nil) // fails for fabrics alone
	return m
}

// mostTexts bounds what is remembered of what was rewritten, and mostHidden the addresses that are told apart.
const (
	mostTexts  = 1 << 16
	mostHidden = 1 << 20
)

// learn makes the pseudonyms of a fabric.
func (m *mask) learn(f *graphs.Fabric) error {
	m.hide = lexicon{from: f, names: map[string]string{}, address: m.address, station: m.station}
	m.show = lexicon{to: f, names: map[string]string{}, address: m.realAddress, station: func(s string) string { return s }}
	m.hide.longest, m.show.longest = 1, 1
	clear(m.texts)
	m.diagnosis, m.picture, m.findings = [2]*diagnose.Diagnosis{}, [2]*diagnose.Picture{}, [2]*Findings{}
	clear(m.records)
	if f == nil {
		return nil
	}
	names := m.pseudonyms(f)
	if len(m.addresses) == 0 {
		m.addresses, m.given = make(map[netip.Addr]netip.Addr, f.NumPorts()), make(map[netip.Addr]netip.Addr, f.NumPorts())
	}
	b := graphs.Builder{Name: "fabric"}
	chance := rand.New(rand.NewPCG(m.seed, 1))
	for _, n := range chance.Perm(f.NumNodes()) { // pseudonyms of addresses do not tell the order of the file either
		for _, a := range f.Addresses(graphs.NodeID(n)) {
			m.address(a)
		}
	}
	for n := range graphs.NodeID(f.NumNodes()) {
		x := *f.Node(n)
		x.Name, x.Role, x.Management = names.nodes[n], maskedRole(&x), m.address(x.Management)
		x.Loopback = slices.Clone(x.Loopback)
		for i, a := range x.Loopback {
			x.Loopback[i] = m.address(a)
		}
		if _, err := b.AddNode(x); err != nil {
			return fmt.Errorf("mask names: %w", err)
		}
	}
	for l := range graphs.LinkID(f.NumLinks()) {
		link := f.Link(l)
		var ends [2]graphs.End
		for i, p := range link.Ends {
			port := f.Port(p)
			ends[i] = graphs.End{Node: port.Node, Port: names.ports[port.Name], Prefixes: slices.Clone(port.Prefixes)}
			for j, x := range port.Prefixes {
				ends[i].Prefixes[j] = netip.PrefixFrom(m.address(x.Addr()), x.Bits())
			}
		}
		var groups []string
		for _, g := range link.Groups {
			groups = append(groups, names.groups[g])
		}
		if _, err := b.AddLink(ends[0], ends[1], link.Speed, groups...); err != nil {
			return fmt.Errorf("mask names: %w", err)
		}
	}
	to, err := b.Build()
	if err != nil {
		return fmt.Errorf("mask names: %w", err)
	}
	m.hide.to, m.show.from = to, to
	m.lexicons(f, to, names)
	return nil
}

// lexicons fills both lexicons.
func (m *mask) lexicons(f, to *graphs.Fabric, names pseudonyms) {
	both := func(name, as string) {
		m.hide.put(name, as)
		m.hide.put(as, as) // so that what is masked stays as it is when it is masked again
		m.show.put(as, name)
	}
	for n, as := range names.nodes {
		both(f.NodeName(graphs.NodeID(n)), as)
	}
	for g, as := range names.groups {
		both(f.Group(graphs.GroupID(g)).Name, as)
	}
	for n, as := range names.nodes {
		if short, _, ok := strings.Cut(f.NodeName(graphs.NodeID(n)), "."); ok {
			m.hide.put(short, as)
		}
	}
	port := 0
	for name, as := range names.ports {
		port = max(port, len(name), len(as))
		if strings.ContainsAny(name, "0123456789") { // others are words: uplink, mgmt
			m.hide.put(name, as)
		}
	}
	if strings.ContainsFunc(f.Name(), func(r rune) bool { return r < 'A' }) {
		m.hide.put(f.Name(), to.Name())
	}
	m.hide.longest += 1 + port
	m.show.longest += 1 + port
}

// pseudonyms are those of nodes and groups by id, and of ports by name: what is called alike on two nodes still is.
type pseudonyms struct {
	nodes, groups []string
	ports         map[string]string
}

// knownRoles are roles that tell nothing of whose fabric it is.
var knownRoles = []graphs.Role{"superspine", "spine", "leaf", "tor", "core", "agg", "edge", "switch", graphs.RoleHost}

func maskedRole(n *graphs.Node) graphs.Role {
	if slices.Contains(knownRoles, n.Role) {
		return n.Role
	}
	return "switch"
}

func (m *mask) pseudonyms(f *graphs.Fabric) pseudonyms {
	taken := map[string]bool{}
	byKind := map[string][]int{}
	for n := range graphs.NodeID(f.NumNodes()) {
		kind := string(maskedRole(f.Node(n)))
		byKind[kind] = append(byKind[kind], int(n))
		taken[lower(f.NodeName(n))] = true
	}
	out := pseudonyms{make([]string, f.NumNodes()), make([]string, f.NumGroups()), map[string]string{}}
	for p := range graphs.PortID(f.NumPorts()) {
		out.ports[f.Port(p).Name] = ""
		taken[lower(f.Port(p).Name)] = true
	}
	for g := range graphs.GroupID(f.NumGroups()) {
		taken[lower(f.Group(g).Name)] = true
	}
	number := func(prefix string, n int, set func(i int, as string)) {
		width := max(2, len(fmt.Sprint(n)))
		for prefix = unused(prefix, taken); n > 0; n-- {
			set(n-1, fmt.Sprintf("%s%0*d", prefix, width, n))
		}
	}
	kinds := make([]string, 0, len(byKind))
	for kind := range byKind {
		kinds = append(kinds, kind)
	}
	slices.Sort(kinds)
	for i, kind := range kinds {
		ids := byKind[kind]
		rand.New(rand.NewPCG(m.seed, uint64(i)+2)).Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
		number(strings.Replace(kind, "switch", "sw", 1)+"-", len(ids), func(i int, as string) { out.nodes[ids[i]] = as })
	}
	number("group-", f.NumGroups(), func(i int, as string) { out.groups[i] = as })
	ports := make([]string, 0, len(out.ports))
	for name := range out.ports {
		ports = append(ports, name)
	}
	slices.SortFunc(ports, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
	number("p", len(ports), func(i int, as string) { out.ports[ports[i]] = as })
	return out
}

// unused makes a prefix of which no name has the form: a pseudonym must not be somebody else's name.
func unused(prefix string, taken map[string]bool) string {
	for name := range taken {
		if number, ok := strings.CutPrefix(name, prefix); ok && strings.Trim(number, "0123456789") == "" {
			return unused("m"+prefix, taken)
		}
	}
	return prefix
}

// address returns the pseudonym of an address: one of those for benchmarks (RFC 2544) and, when these are used up, for nobody (RFC 1112); of IPv6 one for
// documentation (RFC 3849). Addresses that are the same everywhere stay.
func (m *mask) address(a netip.Addr) netip.Addr {
	switch {
	case !a.IsValid() || a.IsUnspecified() || a.IsLoopback() || a.IsMulticast() || a == netip.AddrFrom4([4]byte{255, 255, 255, 255}):
		return a
	case m.given[a].IsValid():
		return a // a pseudonym
	}
	key := a.Unmap().WithZone("")
	if as, ok := m.addresses[key]; ok {
		return as
	}
	if len(m.addresses) >= mostHidden {
		return netip.AddrFrom4([4]byte{})
	}
	for n := uint32(len(m.given) + 1); ; n++ {
		as := pseudonymOf(key, n)
		if f := m.hide.from; f != nil && !key.IsLinkLocalUnicast() {
			if _, real := f.Owner(as); real {
				continue
			}
		}
		if _, used := m.given[as]; used {
			continue
		}
		m.addresses[key], m.given[as] = as, key
		return as
	}
}

// pseudonymOf is the n-th pseudonym for addresses of a kind.
func pseudonymOf(a netip.Addr, n uint32) netip.Addr {
	b := [4]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}
	switch {
	case a.Is6():
		x := [16]byte{0x20, 0x01, 0x0d, 0xb8, 12: b[0], b[1], b[2], b[3]}
		if a.IsLinkLocalUnicast() {
			x = [16]byte{0xfe, 0x80, 8: 0xff, 12: b[0], b[1], b[2], b[3]}
		}
		return netip.AddrFrom16(x)
	case a.IsLinkLocalUnicast():
		return netip.AddrFrom4([4]byte{169, 254, b[2], b[3]})
	case n < 1<<17:
		return netip.AddrFrom4([4]byte{198, 18 + b[1], b[2], b[3]})
	}
	return netip.AddrFrom4([4]byte{240 + b[0], b[1], b[2], b[3]})
}

func (m *mask) realAddress(a netip.Addr) netip.Addr {
	if real, ok := m.given[a]; ok {
		return real
	}
	return a
}

// station returns the pseudonym of a MAC address. Those of groups, such as bridges and multicast have, stay.
func (m *mask) station(mac string) string {
	if strings.IndexByte("13579bdf", mac[1]) >= 0 || mac == "00:00:00:00:00:00" || strings.HasPrefix(mac, "02:00:5e:") {
		return mac
	}
	return numbered(m.stations, mac, func(n int) string { return fmt.Sprintf("02:00:5e:%02x:%02x:%02x", byte(n>>16), byte(n>>8), byte(n)) })
}

// source returns the pseudonym of who wrote a record: a node, else somebody, or a file of a kind.
func (m *mask) source(by string) string {
	if f := m.hide.from; f != nil {
		if _, ok := f.NodeByName(by); ok {
			return m.name(by)
		}
	}
	if _, ok := addressOf(by); ok || by == "" {
		return m.text(by)
	}
	kind, end := "source", ""
	if i := strings.LastIndexByte(by, '.'); i > 0 && len(by)-i <= len(".jsonl") && lettered(by[i:]) {
		kind, end = "file", by[i:]
	}
	return numbered(m.sources, by, func(n int) string { return fmt.Sprintf("%s-%02d%s", kind, n, end) })
}

// numbered returns the pseudonym of a thing, the next one for what is new.
func numbered(known map[string]string, of string, as func(n int) string) string {
	x, ok := known[of]
	if !ok {
		x = as(len(known)/2 + 1)
		known[of], known[x] = x, x // so that a pseudonym stays as it is
	}
	return x
}

// text hides the names and addresses in a sentence.
func (m *mask) text(s string) string {
	if m == nil {
		return s
	}
	return m.remember(s, func() string { return m.hide.text(s) })
}

// name hides what is a name as a whole.
func (m *mask) name(s string) string {
	return m.remember("name "+s, func() string { return m.hide.name(s) })
}

func (m *mask) remember(key string, rewrite func() string) string {
	as, ok := m.texts[key]
	if !ok {
		if len(m.texts) >= mostTexts {
			clear(m.texts)
		}
		as = rewrite()
		m.texts[key] = as
	}
	return as
}

// real puts the names back that somebody meant who typed a pseudonym, or took it from a screen.
func (m *mask) real(s string) string {
	if m == nil {
		return s
	}
	return m.show.name(s)
}
