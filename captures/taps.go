package captures

import (
	"context"
	"errors"
	"io"

	"whichlink/captures/files"
	"whichlink/captures/frames"
)

// A Tap is one of several points of capture of the same traffic. Open opens its capture anew: it is read twice.
type Tap struct {
	Name string
	Open func() (source files.Source, closed func(), err error)
}

// tapWindow is how long a packet that was seen at one tap is waited for at the other, while there is room.
const tapWindow = 1_000_000_000

// A tapHalf is one direction of a flow between two taps.
type tapHalf struct {
	packets  [2]uint32 // seen at A and at B, copies aside
	only     [2]uint32 // of those that the other tap should have seen, too
	silent   [2]uint32 // seen while the other tap captured nothing at all
	copies   [2]uint32
	met      uint32
	nearerA  uint32 // of met, by TTL
	nearerB  uint32
	hops     uint8     // by which the last of met that told had its TTL lowered on the way
	marked   [2]uint32 // of met, with Congestion Experienced at this tap and not at the other
	delay    int64     // sum over met of the time at B less that at A
	timed    uint32
	from, to int64 // of what only one has, or has marked
	vanished bool  // one tap has nothing of it, though all of it must have passed there
}

type tapFlowState struct {
	key    flowKey
	hash   uint64
	halves [2]tapHalf
}

// A pairing compares the captures of two taps.
type pairing struct {
	clock    tapClock
	span     [2][2]int64 // from when to when each captured, by A's clock
	flows    arena[tapFlowState]
	index    index
	room     waitingRoom
	taken    [2]uint32      // packets captured so far
	silences [2]silence     // of the other tap, by the one that has packets
	holes    [2]captureHole // by the tap that dropped
	books    [2]spellBook   // when packets were at one tap only, by that tap
	delays   [2]histogram   // of packets that passed A first, and B first
	unjudged int64
	expired  int64
	hops     [2]uint8 // the most by which a packet that passed A first, and B first, had its TTL lowered; no more than mostHops
	unnamed  [2]int64 // that nothing tells from each other
	rank     int
}

// CompareTaps tells what happened between two points of capture: it matches packets by what no hop changes, compares the clocks,
// and counts what one tap has and the other should have. It reads both captures twice, the second time side by side by one clock,
// and holds no more of them than a waiting room does. A capture that breaks off is compared up to there. At most most findings of
// one kind are told singly. Passage, if not nil, says which flows must pass both taps. Tick, if not nil, is called now and then.
func CompareTaps(ctx context.Context, a, b Tap, most int, passage Passage, tick func()) (*TapReport, []Finding, error) {
	if tick == nil {
		tick = func() {}
	}
	if most <= 0 {
		most = DefaultMaxFindings
	}
	var draws [2]draw
	for i, tap := range []Tap{a, b} {
		if err := draws[i].read(ctx, tap, tick); err != nil {
			return nil, nil, err
		}
	}
	p := &pairing{rank: most}
	clock, ok := compareClocks(&draws[0], &draws[1])
	if !ok {
		r, f := unmatched(a.Name, b.Name, &draws)
		return r, f, nil
	}
	p.clock = clock
	p.span = [2][2]int64{{draws[0].from, draws[0].to}, {clock.toA(draws[1].from), clock.toA(draws[1].to)}}
	if err := p.match(ctx, a, b, tick); err != nil {
		return nil, nil, err
	}
	p.vanish(passage)
	r, f := p.report(a.Name, b.Name)
	return r, f, nil
}

// often is after how many reads of up to 64 packets it is looked whether to stop.
const often = 1 << 10

// read draws packets of a capture.
func (d *draw) read(ctx context.Context, tap Tap, tick func()) error {
	source, closed, err := tap.Open()
	if err != nil {
		return err
	}
	defer closed()
	var f frames.Frame
	var packets [64]files.Packet
	for reads := 1; ; reads++ {
		n, err := files.Read(source, packets[:])
		if err != nil {
			return atEnd(err)
		}
		if reads%often == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			tick()
		}
		for i := range n {
			p := &packets[i]
			f.Decode(p.Link, p.Orig, p.Data)
			ip := f.IP()
			if key, ok := tapHash(&f, ip); ok {
				flow, dir := tapFlow(ip)
				d.add(drawn{key: key, flow: flow, time: p.Time, dir: uint8(dir), ttl: ip.TTL})
			}
		}
	}
}

func atEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// match reads both captures side by side, in the order of A's clock.
func (p *pairing) match(ctx context.Context, a, b Tap, tick func()) error {
	var packets [2]files.Packet
	var sources [2]files.Source
	var ended [2]bool
	next := func(i int) error {
		if err := sources[i].Next(&packets[i]); err != nil {
			ended[i] = true
			return atEnd(err)
		}
		if i == 1 {
			packets[i].Time = p.clock.toA(packets[i].Time)
		}
		return nil
	}
	for i, tap := range []Tap{a, b} {
		source, closed, err := tap.Open()
		if err != nil {
			return err
		}
		defer closed()
		sources[i] = source
		if err := next(i); err != nil {
			return err
		}
	}
	var f frames.Frame
	for n := 1; !ended[0] || !ended[1]; n++ {
		if n%(64*often) == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			tick()
		}
		i := 0
		if ended[0] || !ended[1] && packets[1].Time < packets[0].Time {
			i = 1
		}
		p.see(i, &packets[i], &f)
		if err := next(i); err != nil {
			return err
		}
	}
	for p.room.used > 0 {
		p.expire()
	}
	p.endSilence(0)
	p.endSilence(1)
	return nil
}

// see takes one packet of a tap.
func (p *pairing) see(tap int, packet *files.Packet, f *frames.Frame) {
	f.Decode(packet.Link, packet.Orig, packet.Data)
	ip := f.IP()
	if ip == nil {
		return
	}
	key, ok := tapHash(f, ip)
	if !ok {
		p.unnamed[tap]++
		return
	}
	p.pass(packet.Time)
	w := p.room.find(key)
	if w == nil {
		if p.room.full() {
			p.makeRoom(packet.Time)
		}
		flow, dir := p.flow(ip)
		w = p.room.push(waiting{key: key, since: packet.Time, flow: flow, dir: dir, taken: p.taken[1-tap], what: carries(f, flow, dir)})
	}
	p.taken[tap]++
	h := &p.flows.at(w.flow).halves[w.dir]
	if w.seen[tap] > 0 && isTapCopy(ip, w.ttl[tap], packet.Time-w.times[tap]) {
		h.copies[tap]++
		return
	}
	if w.seen[tap] < 255 {
		w.seen[tap]++
	}
	w.times[tap], w.ttl[tap], w.ce[tap] = packet.Time, ip.TTL, f.CE()
	h.packets[tap]++
	if w.seen == [2]uint8{1, 1} {
		h.meet(w)
		if first := index01(h.nearerB > h.nearerA); h.hops <= mostHops {
			p.hops[first] = max(p.hops[first], h.hops)
		}
		p.delays[way(w)].add(max(w.times[1]-w.times[0], w.times[0]-w.times[1]))
	}
}

// isTapCopy says whether a packet that this tap saw before was captured twice. Without an identification it may have been sent
// twice, too.
func isTapCopy(ip *frames.IP, before uint8, gap int64) bool {
	return ip.ID != 0 || before != ip.TTL && gap <= copyWindowNoID || gap <= copyWindowRoCE
}

// way is 0 for a packet that passed A first by the clocks, 1 for one that passed B first.
func way(w *waiting) int {
	if w.times[1] < w.times[0] {
		return 1
	}
	return 0
}

func (h *tapHalf) meet(w *waiting) {
	h.timed++
	h.delay += w.times[1] - w.times[0]
	switch {
	case w.ttl[0] > w.ttl[1]:
		h.nearerA++
		h.hops = w.ttl[0] - w.ttl[1]
	case w.ttl[0] < w.ttl[1]:
		h.nearerB++
		h.hops = w.ttl[1] - w.ttl[0]
	}
	for tap := range 2 {
		if w.ce[tap] && !w.ce[1-tap] {
			h.marked[tap]++
			h.note(w.times[tap])
		}
	}
}

// note remembers when something was wrong.
func (h *tapHalf) note(at int64) {
	if h.from == 0 {
		h.from, h.to = at, at
	}
	h.from, h.to = min(h.from, at), max(h.to, at)
}

// flow returns the number of a packet's flow and its direction.
func (p *pairing) flow(ip *frames.IP) (uint32, uint8) {
	k := flowKey{ip.Src, ip.Dst, ip.SrcPort, ip.DstPort, ip.Proto}
	hash, dir := tapFlow(ip)
	if dir == 1 {
		k.a, k.b, k.aPort, k.bPort = k.b, k.a, k.bPort, k.aPort
	}
	slot := mix(hash, uint64(ip.Proto))
	n := p.index.find(slot, func(i uint32) bool { return p.flows.at(i).key == k })
	if n == 0 {
		var s *tapFlowState
		n, s = p.flows.add()
		s.key, s.hash = k, slot
		p.index.put(slot, n, 0, func(i uint32) uint64 { return p.flows.at(i).hash })
	}
	return n, uint8(dir)
}

// pass judges what has waited long enough. What was seen again of late waits once more, at the end of the line.
func (p *pairing) pass(now int64) {
	for p.room.used > 0 && now-p.room.oldest().since > tapWindow {
		if w := p.room.oldest(); now-max(w.times[0], w.times[1]) > tapWindow {
			p.expire()
			continue
		}
		w := p.room.remove()
		w.since = now
		p.room.push(w)
	}
}

// makeRoom takes out the oldest before its window is over. It is judged if both taps have it, or if it waited for longer than
// packets were seen to take; else nothing is said of it.
func (p *pairing) makeRoom(now int64) {
	const grace = 1_000_000
	w := p.room.oldest()
	if w.seen[0] > 0 && w.seen[1] > 0 || now-w.since > 2*p.clock.most+grace {
		p.expire()
		return
	}
	p.unjudged++
	p.room.remove()
}

// expire judges the oldest: its window is over.
func (p *pairing) expire() {
	w := p.room.remove()
	h := &p.flows.at(w.flow).halves[w.dir]
	h.met += uint32(min(w.seen[0], w.seen[1]))
	for tap := range 2 {
		more := int(w.seen[tap]) - int(w.seen[1-tap])
		if more <= 0 {
			continue
		}
		// The other tap must have been capturing from before the packet can have passed it until after.
		at, slack, other := w.times[tap], p.clock.most, p.span[1-tap]
		if at-slack < other[0] || at+slack > other[1] {
			continue
		}
		if w.seen[1-tap] == 0 && p.expires(h, tap, w.ttl[tap]) {
			p.expired += int64(more)
			continue
		}
		if h.timed == 0 || w.seen[1-tap] > 0 {
			p.only(tap, lonely{flow: w.flow, dir: w.dir, at: at}, uint32(more)) // of a flow that goes another way, or sent again
			continue
		}
		for range more {
			p.lone(tap, w.taken, lonely{w.flow, w.dir, at, w.what})
		}
	}
}

// mostHops is more switches than lie between two taps. What lowers a TTL by more rewrites it.
const mostHops = 32

// expires says whether a packet with this TTL at the tap that it passes first ends on the way to the other one, as those of traceroute do. Where its own
// flow does not tell how many hops that are, it is given the benefit of the longest way that others took.
func (p *pairing) expires(h *tapHalf, tap int, ttl uint8) bool {
	if h.timed > 0 {
		return index01(h.nearerB > h.nearerA) == tap && ttl <= h.hops
	}
	return ttl <= p.hops[tap]
}

// only counts packets that one tap has and the other should have.
func (p *pairing) only(tap int, x lonely, n uint32) {
	h := &p.flows.at(x.flow).halves[x.dir]
	seen := h.met + h.only[tap]
	h.only[tap] += n
	h.note(x.at)
	p.books[tap].add(flowHalf{x.flow, int(x.dir)}, spell{from: x.at, to: x.at, passed: seen, behind: seen + n, after: n})
}
