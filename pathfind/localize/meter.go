package localize

import (
	"cmp"
	"math"
	"slices"

	"whichlink/graphs"
)

// A Sort says what a meter counts.
type Sort int8

// The sorts.
const (
	// FCS: frames that arrived with a wrong checksum. Each is a lost packet, and hardly anything else is ever counted so.
	FCS Sort = iota
	// Errors: packets that could not be read or sent. Some devices count there what was never meant to arrive.
	Errors
	// Discards: packets that were dropped though nothing was wrong with them: a full queue, a table, a policy.
	Discards
	sorts
)

// A Meter is what a device counted by itself, beside the packets that were sent to measure.
type Meter struct {
	// On is the arc, switch or host that is spoken of. The errors that come in at a port speak of the arc that ends there, the packets
	// that are discarded on the way out of the arc that begins there.
	On Cause
	Sort
	// Count is how many of Packets were counted; what was counted is among these. Totals since boot are no evidence, only what was added
	// while somebody looked.
	Count, Packets float64
	// Looks is in which parts of the time that was counted; the zero value where that is not known.
	Looks
}

// Looks is how often a device was looked at, and when something was counted then.
type Looks struct {
	// Of All intervals Bad are those in which something was counted. They took so many Seconds together.
	All, Bad int
	Seconds  float64
	// Now is set if the newest of them is bad: what was counted then may go on.
	Now bool
}

// single reports whether all was counted in one of several intervals.
func (x *Looks) single() bool { return x.Bad == 1 && x.All > 1 }

func (x *Looks) add(y Looks) {
	*x = Looks{x.All + y.All, x.Bad + y.Bad, x.Seconds + y.Seconds, x.Now || y.Now}
}

// A Hint shifts the prior log odds of a link and of what else would make it fail: it went down, or runs at another speed than it should.
type Hint struct {
	Link graphs.LinkID
	Nats float64
}

// An Early is an arc that corrupts packets, though too few for them to be missed.
type Early struct {
	Arc graphs.ArcID
	// Probability is that of the arc corrupting packets, few or many; Noise that of the port counting what is not lost, Once that of a disturbance which is over, Forwarded that of packets
	// which came broken to the switch before it.
	Probability, Noise, Once, Forwarded float64
	// Rate is the share of packets corrupted, Low and High bound its 90 % interval.
	Rate, Low, High float64
}

// What is believed of counters before any is read.
const (
	// A fault shows in the counters of its sort with some probability: gray faults are those that do not. All in all that is one in two.
	showsAsErrors, showsAsDiscards = 0.3, 0.2
	// If it shows at one port, it shows at all that it concerns.
	showsAlike = 0.95
	// clumped is the shape of a count around what the hazard of probes leads to expect (negative binomial). Probes are small and paced; what
	// counters see is neither, so that factors of ten between them are nothing special.
	clumped = 0.7
	// metered is the hazard from which a fault is one. Rates below are told as early warnings.
	metered = 4e-4
	// A good port counts next to nothing: IEEE 802.3 allows one frame in 1e8 at most. A sick one counts more, though too few for
	// probes to miss; and a noisy one counts, at any rate, what is not lost.
	leastQuiet, mostQuiet = 1e-11, 1e-7
	mostNoise             = 0.1
	// What a port drops on the way out was to be sent: bursts that probes do not meet make it a few, not more than this share.
	mostBursts = 0.01
	sickShare  = 0.005
	// What is believed of noise counts like so many ports seen.
	noiseWeight = 20
	// A good port is disturbed now and then, as by a hand at its plug: once in a day. That breaks n packets in 6/(pi n)^2 of the cases, and is over. What
	// is sick or noisy counts all the time, in each interval around the same rate (negative binomial) with this shape, or has begun just now.
	disturbed = 1. / (24 * 3600)
	steady    = 3
	// hardly is how likely what counts all the time is to show in one interval only for that to say that ports are disturbed now and then.
	hardly = 0.05
)

// noiseShare is the share of noisy ports, by sort.
var noiseShare = [sorts]float64{FCS: 0.0005, Errors: 0.002, Discards: 0.15}

// A reading is what a meter says of a hazard: the log-likelihood of its count, less that of a good arc.
type reading struct {
	count, packets float64
	shows          float64       // the probability that a fault shows
	table          [mesh]float64 // of a loud reading, by the log of the hazard
	// Of a good port: the log-likelihood, and the probabilities of being sick, noisy, disturbed once, and of counting what others broke.
	good, sick, noisy, once, broken float64
	// Of silent ones: how many there are, and what another port of the same fault counts, if one does: a fault shows at these as far as that is of it.
	ports float64
	other *reading
	// Of a hint, if it is not zero.
	hint float64
}

const mesh = 42

var meshStep = math.Log(mostHazard/metered) / (mesh - 1)

// logNB is the log of a negative binomial probability, but for a constant of the count and the shape.
func logNB(count, mean, shape float64) float64 {
	return count*math.Log(mean/(shape+mean)) - shape*math.Log1p(mean/shape)
}

// newReading weighs a count against what good ports count, of which a share is noisy and another was disturbed once, and which may count what others broke.
func newReading(m *Meter, noise, once float64, others forwarded) *reading {
	r := &reading{count: m.Count, packets: m.Packets, shows: showsAsErrors}
	if m.Count == 0 {
		return r // silent: nothing of the rest is asked for
	}
	sick := sickShare
	if m.Sort == Discards {
		r.shows, sick = showsAsDiscards, 0
	}
	average := func(from, to float64) float64 {
		const points = 24
		sum := math.Inf(-1)
		for i := range points {
			rate := from * math.Pow(to/from, (float64(i)+0.5)/points)
			sum = logSum(sum, logNB(m.Count, m.Packets*rate, clumped))
		}
		return sum - math.Log(points)
	}
	quiet := math.Log(1-sick-noise) + average(leastQuiet, mostQuiet)
	ill := math.Log(sick) + average(mostQuiet, metered)
	most := mostNoise
	if m.Sort == Discards && m.On.Kind == Arc {
		most = mostBursts
	}
	loud := math.Log(noise) + average(mostQuiet, most)
	brief := math.Inf(-1)
	comes := 0.0                                                              // a fault may come and go
	constant := lgamma(m.Count+1) + lgamma(clumped) - lgamma(m.Count+clumped) // which logNB leaves out
	if m.single() && m.Sort != Discards {
		lasts := m.lasts()
		ill, loud, comes = ill+lasts, loud+lasts, max(lasts, -math.Log(2*float64(m.All)))
		brief = math.Log(once/float64(m.All)*6/(math.Pi*math.Pi)) - 2*math.Log(m.Count) + constant
	}
	passed := others.log(m.Count) + constant
	r.good = logSum(logSum(logSum(quiet, ill), logSum(loud, brief)), passed)
	r.sick, r.noisy, r.once, r.broken = math.Exp(ill-r.good), math.Exp(loud-r.good), math.Exp(brief-r.good), math.Exp(passed-r.good)
	for i := range r.table {
		h := metered * math.Exp(float64(i)*meshStep)
		seen := math.Log(r.shows) + comes + logNB(m.Count, m.Packets*missed(h), clumped) - r.good
		r.table[i] = logSum(seen, math.Log1p(-r.shows))
	}
	return r
}

// lasts is the log-likelihood of all being counted in the one interval in which it was, by what counts all the time or, if that is the newest, since then.
func (m *Meter) lasts() float64 {
	all := steady * float64(m.All)
	nats := lgamma(all) - lgamma(all+m.Count) + lgamma(steady+m.Count) - lgamma(steady)
	if m.Now {
		nats = logSum(nats, -math.Log(float64(m.All))) - math.Log(2)
	}
	return nats
}

// loud reports whether the count makes any fault likelier.
func (r *reading) loud() bool { return r.count > 0 && slices.Max(r.table[:]) > 0.01 }

// at returns what the reading says of a hazard.
func (r *reading) at(s float64) float64 {
	switch {
	case s < metered:
		return 0
	case r.hint != 0:
		return r.hint
	case r.ports > 0:
		silent, shows := math.Exp(-r.ports*clumped*math.Log1p(r.packets*s/clumped)), r.shows
		if r.other != nil {
			shows *= 1 - (1-r.other.shows)*math.Exp(-r.other.at(s))
		}
		return math.Log(shows*silent + 1 - shows)
	}
	x := math.Log(s/metered) / meshStep
	i := min(int(x), mesh-2)
	x = min(x-float64(i), 1)
	return r.table[i]*(1-x) + r.table[i+1]*x
}

// A metering is a meter and the components whose fault it would show.
type metering struct {
	Meter
	comps []int32
	*reading
}

// meterings cleans meters, adds up those that count the same, and reads them.
func (ev *evidence) meterings(ix *index, meters []Meter) []metering {
	var ms []metering
	for _, m := range meters {
		comps := ix.metered(m.On)
		if comps == nil || m.Sort < 0 || m.Sort >= sorts || !(m.Packets >= 1) || !(m.Count >= 0) || m.Packets > 1e18 || m.Count > 1e18 {
			ev.ignored++
			continue
		}
		ms = append(ms, metering{Meter: m, comps: comps})
	}
	slices.SortFunc(ms, func(a, b metering) int {
		return cmp.Or(cmp.Compare(a.comps[0], b.comps[0]), cmp.Compare(a.Sort, b.Sort), cmp.Compare(a.Packets, b.Packets), cmp.Compare(a.Count, b.Count))
	})
	out := ms[:0]
	for _, m := range ms {
		if n := len(out); n > 0 && out[n-1].On == m.On && out[n-1].Sort == m.Sort {
			out[n-1].Packets += m.Packets
			out[n-1].Count += m.Count
			out[n-1].Looks.add(m.Looks)
			continue
		}
		out = append(out, m)
	}
	// Where many ports count, counting means little.
	var ports, counting, once [sorts]float64
	for i := range out {
		out[i].Packets = max(out[i].Packets, out[i].Count)
	}
	others := ix.forwarding(out)
	for i := range out {
		m := &out[i]
		ports[m.Sort]++
		switch {
		case m.Count <= 2*mostQuiet*m.Packets || others[i].probability > 0.5 && m.Count <= mostOfAll*others[i].all:
		case m.single() && !m.Now && m.lasts() < math.Log(hardly):
			once[m.Sort]++
		default:
			counting[m.Sort]++
		}
	}
	for i := range out {
		s := out[i].Sort
		noise := (noiseShare[s]*noiseWeight + max(0, counting[s]-3)) / (noiseWeight + ports[s])
		brief := (disturbed*out[i].Seconds*noiseWeight + once[s]) / (noiseWeight + ports[s])
		out[i].reading = newReading(&out[i].Meter, min(max(noise, noiseShare[s]), 0.5), min(brief, 0.5), others[i])
	}
	return out
}

// metered returns the components whose faults a meter on a cause would show, the cause itself first; nil if there is none.
func (ix *index) metered(on Cause) []int32 {
	switch id := on.ID; {
	case id < 0:
	case on.Kind == Arc && id < ix.links:
		l := graphs.ArcID(id).Link()
		comps := []int32{id, ix.link(l)}
		for _, g := range ix.f.Link(l).Groups {
			comps = append(comps, ix.inGroup(g))
		}
		return comps
	case (on.Kind == Host || on.Kind == Node) && ix.isNode(graphs.NodeID(id)) && ix.host[id] == (on.Kind == Host):
		return []int32{ix.node(graphs.NodeID(id))}
	}
	return nil
}

// addMeters makes terms of what devices said: one for each loud meter, which its components share, and one for each component of
// whose meters some are silent.
func (ev *evidence) addMeters(ix *index, c *collector, cfg Config) {
	ev.flows = len(ev.terms)
	ev.obs = append(ev.obs, merged{Observation: &Observation{Src: graphs.None, Dst: graphs.None, Responder: graphs.None}})
	ev.meters = ev.meterings(ix, cfg.Meters)
	if len(ev.meters)+len(cfg.Hints) == 0 {
		return
	}
	silent := make([]silence, ix.n)
	for i := range ev.meters {
		m := &ev.meters[i]
		if m.loud() {
			// In the search it weighs like one lost packet, of as many as it takes to lose one.
			t := term{meter: m.reading, copies: 1, lost: 1, passed: max(m.Packets, 1)/m.Count - 1}
			ev.addTerm(c, t, m.comps...)
		}
		for _, x := range m.comps {
			silent[x].hear(m)
		}
	}
	for x := range ix.n {
		for _, r := range silent[x].readings() {
			ev.addTerm(c, term{meter: r, copies: 1}, x)
		}
	}
	hints := make([]float64, ix.f.NumLinks())
	for _, h := range cfg.Hints {
		if h.Link < 0 || int(h.Link) >= len(hints) || math.IsNaN(h.Nats) {
			ev.ignored++
			continue
		}
		hints[h.Link] = max(-20, min(hints[h.Link]+h.Nats, 20))
	}
	for l, nats := range hints {
		if nats != 0 {
			comps := ix.metered(Cause{Arc, int32(graphs.LinkID(l).Forward())})
			ev.addTerm(c, term{meter: &reading{hint: nats}, copies: 1}, comps[1:]...)
		}
	}
}

// addTerm indexes a term that is not of an observation.
func (ev *evidence) addTerm(c *collector, t term, comps ...int32) {
	t.obs, t.first, t.n = int32(len(ev.obs)-1), int32(len(ev.share)), 1
	for _, x := range comps {
		c.flat, c.flatTimes = append(c.flat, x), append(c.flatTimes, 1)
	}
	ev.first = append(ev.first, int32(len(c.flat)))
	ev.share, ev.arcs = append(ev.share, 0), append(ev.arcs, leastArcs)
	ev.terms = append(ev.terms, t)
}

// A silence is what the meters of a component do not say. A fault that shows nowhere is a gray one, of which there are many: however many
// ports say nothing, they say it together. If it shows at one port, the silence of another tells that the fault is only where it shows.
type silence struct {
	loud    [2]*reading // the loudest of errors, and of discards
	ports   [2]float64
	packets [2]float64
}

func (s *silence) hear(m *metering) {
	i := 0
	if m.Sort == Discards {
		i = 1
	}
	if m.loud() {
		if s.loud[i] == nil || slices.Max(m.table[:]) > slices.Max(s.loud[i].table[:]) {
			s.loud[i] = m.reading
		}
		return
	}
	s.ports[i]++
	s.packets[i] += m.Packets
}

func (s *silence) readings() []*reading {
	if s.loud[0] != nil || s.loud[1] != nil {
		var rs []*reading
		for i, n := range s.ports {
			if s.loud[i] != nil && n > 0 {
				rs = append(rs, &reading{ports: n, packets: s.packets[i] / n, shows: showsAlike, other: s.loud[i]})
			}
		}
		return rs
	}
	n := s.ports[0] + s.ports[1]
	if n == 0 {
		return nil
	}
	return []*reading{{ports: n, packets: (s.packets[0] + s.packets[1]) / n, shows: showsAsErrors + showsAsDiscards}}
}

// CountedRate returns the 90 % interval of the share of packets that a device counts, of which it counted so many.
func CountedRate(count, packets float64) (low, high float64) {
	// The square root of a Poisson count has a deviation of one half.
	from, to := max(0, math.Sqrt(count+0.375)-0.82), math.Sqrt(count+0.375)+0.82
	return min(from*from, count) / packets, min(to*to/packets, 1)
}

// early returns the arcs whose ports count errors, given how likely each component is to be faulty.
func (ev *evidence) early(faulty func(comps []int32) float64) []Early {
	var out []Early
	for i := range ev.meters {
		m := &ev.meters[i]
		if m.On.Kind != Arc || m.Sort == Discards || m.Count == 0 || !m.loud() && m.sick < listed && m.noisy+m.once+m.broken < 0.5 {
			continue
		}
		bad := faulty(m.comps)
		low, high := CountedRate(m.Count, m.Packets)
		e := Early{
			Arc: graphs.ArcID(m.On.ID), Probability: bad + (1-bad)*m.sick, Noise: (1 - bad) * m.noisy, Once: (1 - bad) * m.once, Forwarded: (1 - bad) * m.broken,
			Rate: m.Count / m.Packets, Low: low, High: high,
		}
		if e.Probability < listed && e.Noise+e.Once+e.Forwarded < 0.5 {
			continue
		}
		if n := len(out); n > 0 && out[n-1].Arc == e.Arc { // FCS come before errors, of which they are part
			if e.Probability > out[n-1].Probability {
				out[n-1] = e
			}
			continue
		}
		out = append(out, e)
	}
	return out
}
