package captures

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"whichlink/captures/frames"
)

const (
	// linkClass is the class of pauses of a whole link.
	linkClass = 8
	// leastStop is the shortest pause with which a flow is seen to stop: shorter ones are like the gaps between packets.
	leastStop = 50_000
	// toldTargets is how many receivers of flows that were held up are named.
	toldTargets = 3
)

// A victimKey is a flow that was held up by a sender of pauses.
type victimKey struct {
	by   pauser
	flow uint32
	dir  int
}

// A victim is how often a flow stopped with a pause.
type victim struct {
	victimKey
	stops, waited, first, last int64
}

// A neighbour is what frames say of a sender of pauses: whom it pauses, and whether it is a host, which sends from one address, and at first hand.
type neighbour struct {
	partner [6]byte // who sends to it
	addr    frames.Addr
	router  bool // it sends from several addresses, or what others sent
}

// sent takes in a packet that a sender of pauses sent. What was forwarded has no TTL any more with which packets are sent.
func (n *neighbour) sent(ip *frames.IP, first bool) {
	forwarded := ip.TTL != 64 && ip.TTL != 128 && ip.TTL != 255
	n.router = n.router || forwarded || !first && n.addr != (frames.Addr{}) && n.addr != ip.Src
	n.addr = ip.Src
}

// hostOf returns the address of the host that an address of Ethernet is; not ok if it is a router or nothing that it sent was seen.
func (f *pauseFinder) hostOf(mac [6]byte) (addr frames.Addr, ok bool) {
	i, known := f.held.neighbours.index[mac]
	if !known {
		return addr, false
	}
	n := &f.held.neighbours.all[i]
	return n.addr, !n.router && n.addr != (frames.Addr{})
}

// heldUp follows the flows towards senders of pauses.
type heldUp struct {
	senders    [256]bool // by macSlot: whether a sender of pauses has it
	victims    roll[victimKey, victim]
	neighbours roll[[6]byte, neighbour]
	met        uint16 // how many senders of pauses were met
	until      int64  // later than this no flow goes on that one of the pauses up to now had stopped
}

func newHeldUp() heldUp {
	return heldUp{
		victims: roll[victimKey, victim]{most: maxTold}, neighbours: roll[[6]byte, neighbour]{most: maxTold},
	}
}

// macSlot is a place for an address of Ethernet, the lower 48 bits of a word, so that most are known not to be
// a sender's without a search.
func macSlot(mac uint64) uint8 { return uint8(mac << 16 * 0x9e3779b97f4a7c15 >> 56) }

// macSlots returns those of the receiver and the sender of a frame, of which the two addresses are given.
func macSlots(ends *[12]byte) (dst, src uint8) {
	return macSlot(binary.LittleEndian.Uint64(ends[:])), macSlot(binary.LittleEndian.Uint64(ends[4:]) >> 16)
}

// concerns says whether a packet tells anything of pauses: it came when one had just ended, or it is the first of its direction since
// the last sender of pauses was met, and so tells who its neighbours are; and it goes to or comes from what may be a sender of pauses.
func (f *pauseFinder) concerns(s *Sight) bool {
	fr := s.Frame
	if flow := s.flow; flow != nil {
		met := &flow.met[s.Dir&1]
		if *met == f.held.met && s.Time > f.held.until {
			return false
		}
		*met = f.held.met
	} else if fr.Kind != frames.RoCEPacket {
		return false
	}
	if fr.MAC < 0 || fr.NumIPs == 0 {
		return false
	}
	dst, src := macSlots((*[12]byte)(fr.Data[fr.MAC:]))
	return f.held.senders[dst] || f.held.senders[src]
}

// stretch returns the pause that is running, or the last one.
func (p *pause) stretch() (since, end int64) {
	if p.since != 0 {
		return p.since, p.until
	}
	return p.endSince, p.ended
}

// victim looks at a packet that tells something of pauses.
func (f *pauseFinder) victim(s *Sight) {
	to, from := macSlots((*[12]byte)(s.Frame.Data[s.Frame.MAC:]))
	dst, src := s.Frame.DstMAC(), s.Frame.SrcMAC()
	if f.held.senders[from] {
		if n, fresh := f.held.neighbours.of([6]byte(src)); n != nil {
			n.sent(&s.Frame.IPs[0], fresh)
		}
	}
	if !f.held.senders[to] || s.flow == nil {
		return
	}
	class := s.IP.TOS >> 5 // by its DSCP, as switches map them unless told otherwise
	if s.Frame.NumVLANs > 0 {
		class = s.Frame.Tagged
	}
	for _, who := range [2]pauser{{[6]byte(dst), class}, {[6]byte(dst), linkClass}} {
		i, known := f.pauses.index[who]
		if !known {
			continue
		}
		if n, _ := f.held.neighbours.of(who.mac); n != nil {
			copy(n.partner[:], src)
		}
		f.stopped(s, who, &f.pauses.all[i])
	}
}

// stopped notes that a flow stopped with a pause and went on after it: its packet before passed up to as long before the pause as that
// lasted, and this one up to as long after it.
func (f *pauseFinder) stopped(s *Sight, by pauser, p *pause) {
	since, end := p.stretch()
	length := end - since
	if length < leastStop || s.Time < end || s.Time-end > length || s.before > since+leastStop || since-s.before > length {
		return
	}
	v, fresh := f.held.victims.of(victimKey{by, s.number, s.Dir})
	if v == nil {
		return
	}
	if fresh {
		v.victimKey, v.first = victimKey{by, s.number, s.Dir}, s.before
	}
	v.stops++
	v.waited += s.Time - s.before
	v.last = s.Time
}

// reportHeld tells which flows each sender of pauses held up, and which senders were paused themselves before they paused others.
func (f *pauseFinder) reportHeld(r *Report) {
	by := map[pauser][]*victim{}
	for i := range f.held.victims.all {
		v := &f.held.victims.all[i]
		by[v.by] = append(by[v.by], v)
	}
	list := ranking{most: f.a.cfg.MaxFindings}
	for i := range f.pauses.all {
		held := by[f.pauses.all[i].pauser]
		if len(held) == 0 {
			continue
		}
		c := candidate{int64(len(held)), held[0].first, held[0].last, uint32(i), 0}
		for _, v := range held {
			c.from, c.to = min(c.from, v.first), max(c.to, v.last)
		}
		list.add(c)
	}
	list.tell(r, func(c candidate) Finding {
		p := &f.pauses.all[c.number]
		mac := macName(p.mac[:])
		return Finding{
			Finding: "pfc-victims", Severity: Critical, Subject: p.name(), about: chooseMAC(p.mac[:]), Text: f.heldText(p, by[p.pauser]),
			Rule: "a flow of the paused class towards the sender of the pauses stopped with one and went on after it, on both sides within the time it lasted; " +
				"the class is that of the VLAN tag, else the upper three bits of the DSCP",
			Filter: fmt.Sprintf("eth.dst == %s || eth.src == %s && macc", mac, mac),
		}
	})
	f.reportSpread(r)
}

// heldText says how many flows were held up, and to where they go.
func (f *pauseFinder) heldText(p *pause, held []*victim) string {
	targets := map[frames.Addr]int{}
	stops, waited := int64(0), int64(0)
	for _, v := range held {
		k := &f.a.flows.flows.at(v.flow).key
		to := k.b
		if v.dir == 1 {
			to = k.a
		}
		targets[to]++
		stops += v.stops
		waited += v.waited
	}
	order := make([]frames.Addr, 0, len(targets))
	for a := range targets {
		order = append(order, a)
	}
	slices.SortFunc(order, func(x, y frames.Addr) int {
		return cmp.Or(cmp.Compare(targets[y], targets[x]), bytes.Compare(x[:], y[:]))
	})
	text := fmt.Sprintf("%s stopped with its pauses and went on after them, %s of %s on average", plural(int64(len(held)), "flow"), plural(stops, "time"),
		duration(waited/stops))
	if host, ok := f.hostOf(p.mac); ok && len(order) == 1 && order[0] == host {
		return text + fmt.Sprintf(": it is the host %s, to which they go, and receives too slowly", order[0].Netip())
	}
	var names []string
	for _, a := range order[:min(len(order), toldTargets)] {
		names = append(names, fmt.Sprintf("%s (%d)", a.Netip(), targets[a]))
	}
	if rest := len(order) - len(names); rest > 0 {
		names = append(names, plural(int64(rest), "other"))
	}
	text += ": to " + strings.Join(names, ", ")
	if len(order) > 1 {
		text += "; at most one of these receives too slowly, the others wait in the same queue behind it, unless a link on the way is full"
	}
	return text
}

// reportSpread tells where pauses began: of a sender whose partner, once paused, paused its own neighbours.
func (f *pauseFinder) reportSpread(r *Report) {
	next, behind := map[int]int{}, map[int]bool{}
	for i := range f.pauses.all {
		p := &f.pauses.all[i]
		n, known := f.held.neighbours.index[p.mac]
		if !known {
			continue
		}
		j, pauses := f.pauses.index[pauser{f.held.neighbours.all[n].partner, p.class}]
		if pauses && f.pauses.all[j].first > p.first { // so that there is no ring
			next[i], behind[j] = j, true
		}
	}
	for i := range f.pauses.all {
		j, spreads := next[i]
		if behind[i] || !spreads {
			continue
		}
		p := &f.pauses.all[i]
		from, last, text, hops := p, p.last, "", int64(0)
		for ; spreads && hops < longestSpread; j, spreads = next[j] {
			q := &f.pauses.all[j]
			text += fmt.Sprintf("; %s, which it pauses, sent pauses %s later", macName(q.mac[:]), duration(q.first-from.first))
			from, last = q, max(last, q.last)
			hops++
		}
		r.Findings = append(r.Findings, Finding{
			Finding: "pfc-spread", Severity: Critical, Subject: p.name(), Count: hops, From: instant(p.first), To: instant(last),
			Text:   "pauses began here and spread" + text,
			Rule:   "who sends to a sender of pauses sends pauses of the same class itself, and began later",
			Filter: "macc.opcode == 0x0101 || macc.opcode == 0x0001",
		})
	}
}

// longestSpread bounds how far a chain of pauses is told: further than any fabric has tiers.
const longestSpread = 16
