package diagnose

import (
	"encoding/binary"
	"sort"
	"time"

	"whichlink/graphs"
	"whichlink/pathfind"
	"whichlink/pathfind/localize"
)

// maxAlternatives is how many paths an uncertain observation may have before it is left out: so many say little.
const maxAlternatives = 128

// An observer sums the evidence up into observations: one for each flow, path and way of counting.
type observer struct {
	s       *Store
	list    []localize.Observation
	by      map[string]int // index into list
	sets    map[trip]listing
	either  map[*localize.Alternative]routings // by the first of a set that mixes both
	key     []byte
	origin  []int        // by identity beyond those of flows, the flow
	goes    map[int]bool // by flow, whether what it loses comes and goes
	eras    map[era]int  // identities of flows whose path is not known, one for each epoch
	since   time.Time    // what was measured before is left out; zero where nothing is
	spells  []stretch    // what was measured outside of these is left out; nil where nothing is
	mute    bool         // nothing was answered, and no one cause explains that
	many    bool         // pairs of many paths are spread over them, and these not listed
	storms  int          // what was measured outside of so many storms is left out; 0 where nothing is
	dropped int          // packets that no path is known for
	crowded crowd        // those of them whose paths are too many
	// unplanned are packets that went by cables which are not where the plan has them, or may have.
	unplanned struct{ sent, lost int }
}

func (s *Store) observer() *observer {
	return &observer{s: s, by: map[string]int{}, eras: map[era]int{}, goes: map[int]bool{}, sets: map[trip]listing{}, either: map[*localize.Alternative]routings{}}
}

// observe sums up what was measured outside of storms, and since a moment, unless that is zero.
func (s *Store) observe(storms []stretch, since time.Time) *observer {
	o := s.observer()
	o.many, o.since = true, since
	for i, l := range s.order {
		since := later(since, l.diedSince(s.stormy))
		for j := range l.echoes {
			e := &l.echoes[j]
			if storms != nil {
				if l.offItsWay(e, s.stormy) {
					continue
				}
				calm := e.within(storms, false)
				e = &calm
			}
			if !since.IsZero() {
				fresh := e.after(since)
				e = &fresh
			}
			o.echo(i, l, e, false)
		}
		for j := range l.hops {
			if !l.hops[j].start.Before(since) {
				o.hop(i, l, &l.hops[j])
			}
		}
		for j := range l.captured {
			o.captured(i, l, &l.captured[j])
		}
	}
	return o
}

// observeCorruption counts changed payloads in place of losses.
func (s *Store) observeCorruption() *observer {
	o := s.observer()
	for i, l := range s.order {
		for j := range l.echoes {
			e := &l.echoes[j]
			path, back := l.at(e, false)
			arrived := e.sent - e.lost
			o.add(count{flow: i, epoch: e.epoch, src: l.src, dst: l.dst, sent: arrived, lost: min(arrived, e.corruptForward)}, path)
			o.add(count{flow: i, epoch: e.epoch, src: l.dst, dst: l.src, sent: arrived, lost: min(arrived, e.corruptBack)}, back)
		}
	}
	return o
}

// An era is a flow within an epoch of its prober.
type era struct {
	flow  int
	epoch string
}

// identity returns a number for a flow whose path is not known, another for each epoch: a flow has one path, but only as long as paths do
// not change. What is known of its path in one epoch tells nothing of the next, but where it is dead in both: see noteDead.
func (o *observer) identity(e era) int {
	if e.epoch == "" {
		return e.flow
	}
	if since, ok := o.s.order[e.flow].stays[e.epoch]; ok {
		e.epoch = since
	}
	id, ok := o.eras[e]
	if !ok {
		id = len(o.s.order) + len(o.eras)
		o.eras[e] = id
		o.origin = append(o.origin, e.flow)
	}
	return id
}

// flow returns the flow of which an observation tells, whatever its epoch.
func (o *observer) flow(obs *localize.Observation) *flowLog { return o.identified(obs.Flow) }

// identified returns the flow that has an identity.
func (o *observer) identified(i int) *flowLog {
	if n := len(o.s.order); i >= n {
		i = o.origin[i-n]
	}
	return o.s.order[i]
}

// A count is packets along one way.
type count struct {
	flow       int
	epoch      string
	src, dst   graphs.NodeID
	responder  graphs.NodeID
	sent, lost int
	bursts     int  // runs of losses
	untold     bool // there may be more of them
	hop        bool
}

func (o *observer) echo(i int, l *flowLog, e *echo, storm bool) {
	if e.sent == 0 || e.torn && !storm {
		return
	}
	path, back := l.at(e, storm)
	bursts := len(e.runs())
	unlisted := e.lost > len(e.lostAt)
	there := count{flow: i, epoch: e.epoch, src: l.src, dst: l.dst, bursts: bursts, untold: unlisted}
	home := count{flow: i, epoch: e.epoch, src: l.dst, dst: l.src, bursts: bursts, untold: unlisted}
	if lostThere, lostHome, untold, ok := e.directions(); ok {
		// What could not be told is left out of both counts: it is a few probes at the end of a window.
		there.sent, there.lost = e.sent-untold, lostThere
		home.sent, home.lost = there.sent-there.lost, lostHome
		if there.lost > 0 && home.lost > 0 && bursts < e.lost { // which runs are whose is not told
			there.untold, home.untold = true, true
			there.bursts, home.bursts = bursts-home.lost, bursts-there.lost
		}
		o.add(there, path)
		if there.lost > 0 && home.lost > 0 || !o.turnsBack(i, path, back) {
			o.add(home, back)
		} else {
			o.addOnward(home, path, back)
		}
		return
	}
	there.sent, there.lost = e.sent, e.lost
	if e.lost == 0 && !e.unsplit {
		home.sent = e.sent
		o.add(there, path)
		o.add(home, back)
		return
	}
	if both := o.join(l, path, back); both != nil {
		o.addEither(there, both)
		return
	}
	o.leaveOut(there) // what is lost on the way back would be taken for lost on the way there
}

// A listing is the paths of a pair with their shares, none if there are too many to say anything, and how many there are.
type listing struct {
	set   []localize.Alternative
	count float64
}

// set returns the forwarding model's paths with their shares; nil if there are too many to say anything.
func (o *observer) set(x trip) []localize.Alternative { return o.listing(x).set }

func (o *observer) listing(x trip) listing {
	if x.src == graphs.None || x.dst == graphs.None || x.src == x.dst {
		return listing{}
	}
	l, ok := o.sets[x]
	if !ok {
		if !o.s.asPlanned(x) {
			l = o.rewired(x)
		} else {
			var paths []pathfind.Path
			paths, l.count = o.s.pathsOf(x)
			for _, p := range paths {
				l.set = append(l.set, localize.Alternative(p))
			}
		}
		o.sets[x] = l
	}
	return l
}

// rewired lists the paths of a trip that cables which are elsewhere than planned may have changed; by other models than ECMP they are not known then.
func (o *observer) rewired(x trip) listing {
	if o.s.model != pathfind.Model(o.s.ecmp) {
		return listing{}
	}
	ways, count := o.s.routings(x)
	set, differ := ways.either()
	if differ {
		o.either[&set[0]] = ways
	}
	return listing{set, count}
}

// hop adds TTL-limited probes: they crossed the path as far as the node that answered, and the answer came back on a path of
// its own, since a switch hashes an ICMP error by its own fields.
func (o *observer) hop(i int, l *flowLog, h *hop) {
	if l.leftOut {
		return
	}
	prefix := l.until(h)
	if prefix == nil || len(o.s.misplaced) > 0 && o.s.offPlan(l, prefix) {
		return
	}
	responder := o.s.fabric.Head(prefix[h.ttl-1])
	if h.node != graphs.None && h.node != responder {
		return
	}
	c := count{flow: i, src: l.src, dst: graphs.None, responder: responder, hop: true, sent: h.sent, lost: h.sent - h.answered}
	home := o.set(l.trip(responder, l.src))
	switch len(home) {
	case 0:
		o.dropped += h.sent
	case 1:
		o.addCertain(c, append(prefix[:h.ttl:h.ttl], home[0].Arcs...), nil)
	default:
		o.addCertain(c, prefix, home)
	}
}

// until returns the arcs that TTL-limited probes of a flow crossed before they expired; nil if that is not known.
func (l *flowLog) until(h *hop) []graphs.ArcID {
	path, _ := l.now()
	if len(l.paths) > 0 {
		next := max(1, sort.Search(len(l.paths), func(i int) bool { return l.paths[i].at.After(h.start) }))
		if next < len(l.paths) && l.paths[next].changed && l.paths[next].previous.Before(h.at) {
			return nil
		}
		path = l.paths[next-1].path
	}
	if !path.certain() || h.ttl < 1 || h.ttl >= len(path.alternatives[0]) {
		return nil
	}
	return path.alternatives[0][:h.ttl]
}

func (o *observer) add(c count, w way) {
	switch {
	case c.sent == 0:
	case w.certain() && len(o.s.misplaced) == 0:
		o.addCertain(c, w.alternatives[0], nil)
	case w.known():
		o.addEither(c, o.s.onPlan(o.s.order[c.flow], w.set()))
	default:
		if x, ok := o.spread(o.trip(c)); ok {
			o.addSpread(c, x)
		} else if set := o.set(o.trip(c)); set != nil {
			o.addCertain(c, nil, set)
		} else {
			o.leaveOut(c)
		}
	}
}

// trip returns from where to where packets went.
func (o *observer) trip(c count) trip { return o.s.order[c.flow].trip(c.src, c.dst) }

// addEither adds packets that went one of several ways, or, where there are none, nobody knows where.
func (o *observer) addEither(c count, set []localize.Alternative) {
	if len(set) == 0 {
		o.strays(c)
		return
	}
	o.addSet(c, set)
}

// leaveOut counts packets of which it is not known, or not told, which way they went.
func (o *observer) leaveOut(c count) {
	if !o.s.asPlanned(o.trip(c)) {
		o.strays(c)
		return
	}
	o.dropped += c.sent
	if paths := o.listing(o.trip(c)).count; paths > maxAlternatives {
		o.crowded.sent, o.crowded.paths = o.crowded.sent+c.sent, max(o.crowded.paths, paths)
		if c.src == o.s.order[c.flow].src {
			o.crowded.there += c.sent
		}
	}
}

// addSpread adds packets of which it is known only between which switches they spread.
func (o *observer) addSpread(c count, x spreading) {
	c.flow = o.identity(era{c.flow, c.epoch})
	k := binary.LittleEndian.AppendUint32(o.key[:0], uint32(c.flow))
	o.key = appendArcs(append(k, 's'), x.ends)
	obs := o.observation(c)
	obs.Path, obs.From, obs.To = x.ends, x.from, x.to
}

// addCertain adds to the observation of the same flow and ways, or begins one.
func (o *observer) addCertain(c count, path []graphs.ArcID, set []localize.Alternative) {
	if len(set) > 1 {
		c.flow = o.identity(era{c.flow, c.epoch})
	}
	k := binary.LittleEndian.AppendUint32(o.key[:0], uint32(c.flow))
	if c.hop {
		k = append(k, 'h')
	}
	o.key = appendWays(k, path, set)
	obs := o.observation(c)
	obs.Path, obs.Alternatives = path, set
}

// observation adds packets to the observation of o.key, or begins one.
func (o *observer) observation(c count) *localize.Observation {
	i, ok := o.by[string(o.key)]
	if !ok {
		i = len(o.list)
		o.by[string(o.key)] = i
		responder := graphs.NodeID(graphs.None)
		if c.hop {
			responder = c.responder
		}
		o.list = append(o.list, localize.Observation{Src: c.src, Dst: c.dst, Responder: responder, Flow: c.flow, Carried: o.identified(c.flow).onlyCaptured()})
	}
	obs := &o.list[i]
	obs.Sent += c.sent
	obs.Lost += c.lost
	if c.lost > 0 {
		obs.Bursts += max(1, min(c.bursts, c.lost))
		obs.Untold = obs.Untold || c.lost > 1 && (c.untold || c.bursts <= 0)
	}
	return obs
}

// appendWays appends what tells apart the ways that packets took: those of a path that is certain, and of a set.
func appendWays(k []byte, path []graphs.ArcID, set []localize.Alternative) []byte {
	k = appendArcs(k, path)
	for _, alt := range set {
		k = appendArcs(append(k, '|'), alt.Arcs)
	}
	return k
}

func appendArcs(k []byte, arcs []graphs.ArcID) []byte {
	for _, a := range arcs {
		k = binary.LittleEndian.AppendUint32(k, uint32(a))
	}
	return k
}
