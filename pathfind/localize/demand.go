package localize

import "whichlink/graphs"

// Whether traffic is even is told by the flows that lost packets by no fault: they are a sample of all. If it is not, what comes from a switch or its hosts, what goes
// to one, what goes by an arc of a host, and what goes from one switch to another, is so many times what it would be. A host, or a switch, that sends much may well get as much.

// Demands are how many times what it would be if all were even goes from somewhere to somewhere. Nil is even traffic.
type demands struct {
	sent, got [2][]float64           // by switch, and by arc of a host beside that of its switch
	pairs     map[switchPair]float64 // beside that
}

type switchPair struct{ from, to graphs.NodeID }

const (
	bySwitch = iota
	byPlace
)

// between is the factor of what goes from one switch, or its hosts, to another.
func (d *demands) between(from, to graphs.NodeID) float64 {
	if d == nil {
		return 1
	}
	by := d.sent[bySwitch][from] * d.got[bySwitch][to]
	if x, ok := d.pairs[switchPair{from, to}]; ok {
		by *= x
	}
	return by
}

// sends and gets are the factors of a host's arc, there and back, beside that of its switch.
func (d *demands) sends(place int) float64 {
	if d == nil {
		return 1
	}
	return d.sent[byPlace][place]
}

func (d *demands) gets(place int) float64 {
	if d == nil {
		return 1
	}
	return d.got[byPlace][place]
}

// on is the factor of a flow's way.
func (d *demands) on(t *stream, way *journey, hosts *access) float64 {
	by := d.between(way.from, way.to)
	if t.up() {
		by *= d.sends(int(hosts.place[way.first]))
	}
	if t.down() {
		by *= d.gets(int(hosts.place[way.last]))
	}
	return by
}

// A tilt is the demands of each group of streams.
type tilt [4]*demands

// group tells streams by whether their flows begin, and end, at hosts: flows that were sent to measure need not be spread as others are.
func (t *stream) group() (group int) {
	if t.up() {
		group |= 1
	}
	if t.down() {
		group |= 2
	}
	return group
}

// adapt takes traffic to be as some demands tell.
func (c *traffic) adapt(by tilt) {
	for i := range c.streams {
		t := &c.streams[i]
		if t.spread = t.even; by[t.group()] != nil {
			t.spread = t.under(c.ix, c.cfg.Paths, &c.access, by[t.group()])
		}
	}
}

// uneven returns by what demands traffic seems not to be even, as the loaded hypothesis has it, by which flows are counted, and how many nats likelier it is so.
func (c *traffic) uneven(s *search) (by tilt, gained float64) {
	innocent := s.innocents()
	for group := range by {
		d, more := c.demandsOf(s, group, innocent)
		by[group], gained = d, gained+more
	}
	return by, gained
}

// demandsOf returns that of a group of streams, nil where its traffic seems even, by how much of each flow lost packets by no fault.
func (c *traffic) demandsOf(s *search, group int, innocent []float64) (d *demands, gained float64) {
	begin, end := c.sides(group)
	if begin == nil {
		return nil, 0
	}
	pairs := map[switchPair]float64{}
	for i, x := range innocent {
		way := &c.of[s.ev.terms[i].obs]
		if c.streams[way.stream].group() != group {
			continue
		}
		pairs[switchPair{way.from, way.to}] += x
		begin.see(way.from, c.access.place[way.first], x)
		end.see(way.to, c.access.place[way.last], x)
	}
	gained = find(begin, end, group == 3)
	d = &demands{sent: begin.found(), got: end.found()}
	gained += c.pairUp(group, d, pairs)
	if gained == 0 {
		return nil, 0
	}
	for i, x := range innocent {
		way := &c.of[s.ev.terms[i].obs]
		if t := &c.streams[way.stream]; t.group() == group {
			gained += (1 - x) * log(d.on(t, way, &c.access))
		}
	}
	return d, gained
}

// mostPairs is of how many pairs of switches it is asked whether more flows go between some.
const mostPairs = 1 << 17

// pairUp looks for pairs of switches between which more flows go, or fewer, than by what comes from the one and goes to the other, and returns how much is gained.
func (c *traffic) pairUp(group int, d *demands, innocent map[switchPair]float64) float64 {
	var of []switchPair
	var seen, expected []float64
	for i := range c.streams {
		t := &c.streams[i]
		if t.group() != group {
			continue
		}
		if len(of)+len(t.pairs) > mostPairs {
			return 0
		}
		for j, p := range t.pairs {
			x := switchPair{p.from, p.to}
			of, seen = append(of, x), append(seen, innocent[x])
			expected = append(expected, t.innocent*t.even.between[j]*d.between(p.from, p.to))
		}
	}
	by, gained := factors(seen, expected)
	if by == nil {
		return 0
	}
	d.pairs = make(map[switchPair]float64, len(of))
	for i, x := range of {
		d.pairs[x] = by[i]
	}
	return gained
}

// A side is where flows begin, or where they end: at hosts, each with its arcs to switches, or at switches.
type side struct {
	at         []graphs.NodeID // by place, its switch
	seen, even [2][]float64    // by switch and by place: flows that lost packets by no fault, and how many would have if traffic were even
	factor     [2][]float64
}

// sides returns where the flows of a group of streams begin and end, and how many are to be expected there, or nil if it has no streams.
func (c *traffic) sides(group int) (begin, end *side) {
	for i := range c.streams {
		t := &c.streams[i]
		if t.group() != group {
			continue
		}
		if begin == nil {
			begin, end = newSide(c.access.at, len(t.even.began)), newSide(c.access.at, len(t.even.ended))
		}
		for n := range t.even.began {
			begin.even[bySwitch][n] += t.innocent * t.even.began[n]
			end.even[bySwitch][n] += t.innocent * t.even.ended[n]
		}
		for place, a := range c.access.arcs {
			if t.up() {
				begin.even[byPlace][place] += t.innocent * t.even.share[a]
			}
			if t.down() {
				end.even[byPlace][place] += t.innocent * t.even.share[a.Reverse()]
			}
		}
	}
	return begin, end
}

func newSide(at []graphs.NodeID, switches int) *side {
	x := &side{at: at}
	for by, n := range [2]int{switches, len(at)} {
		x.seen[by], x.even[by] = make([]float64, n), make([]float64, n)
	}
	x.forget()
	return x
}

// see counts what of a flow lost packets by no fault, at a switch and at a place, if it is one.
func (x *side) see(at graphs.NodeID, place int32, innocent float64) {
	x.seen[bySwitch][at] += innocent
	if place >= 0 {
		x.seen[byPlace][place] += innocent
	}
}

// forget forgets what factors were found.
func (x *side) forget() {
	for by := range x.factor {
		x.factor[by] = make([]float64, len(x.even[by]))
		for i := range x.factor[by] {
			x.factor[by][i] = 1
		}
	}
}

// expected returns how many flows are to be expected at each switch, or at each place, with the factors that were found.
func (x *side) expected(by int) []float64 {
	out := make([]float64, len(x.even[by]))
	if by == byPlace {
		for i, n := range x.even[by] {
			out[i] = n * x.factor[byPlace][i] * x.factor[bySwitch][x.at[i]]
		}
		return out
	}
	there := x.there()
	for n, even := range x.even[by] {
		out[n] = even * x.factor[by][n] * there[n]
	}
	return out
}

// there returns, by switch, the mean factor of the places that are there; 1 where there are none.
func (x *side) there() []float64 {
	even, mean := make([]float64, len(x.even[bySwitch])), make([]float64, len(x.even[bySwitch]))
	for i, n := range x.even[byPlace] {
		even[x.at[i]] += n
		mean[x.at[i]] += n * x.factor[byPlace][i]
	}
	for n := range mean {
		if mean[n] /= even[n]; !(even[n] > 0) {
			mean[n] = 1
		}
	}
	return mean
}

// found returns the factors that were found: by switch with those of what is there, and by place beside that of its switch.
func (x *side) found() (out [2][]float64) {
	there := x.there()
	for by := range out {
		out[by] = make([]float64, len(x.factor[by]))
	}
	for n, y := range there {
		out[bySwitch][n] = x.factor[bySwitch][n] * y
	}
	for i, n := range x.at {
		out[byPlace][i] = x.factor[byPlace][i]
		if there[n] > 0 {
			out[byPlace][i] /= there[n]
		}
	}
	return out
}

// tune looks for factors of switches, or of places, of one side or the same of several together, and returns how much is gained by them.
func tune(by int, sides ...*side) float64 {
	seen, expected := make([]float64, len(sides[0].even[by])), make([]float64, len(sides[0].even[by]))
	for _, x := range sides {
		now := x.expected(by)
		for i := range seen {
			seen[i] += x.seen[by][i]
			expected[i] += now[i]
		}
	}
	factor, gained := factors(seen, expected)
	if factor == nil {
		return 0
	}
	for _, x := range sides {
		for i := range factor {
			x.factor[by][i] *= factor[i]
		}
	}
	return gained
}

// find looks for what makes the sides of flows uneven: by switch and then by place, or the other way round; if they may be alike, both together and then each by itself, or each by
// itself alone. It keeps what explains most, and returns how much that is.
func find(begin, end *side, alike bool) (most float64) {
	var best [2]side
	ways := 2
	if alike {
		ways = 4
	}
	for way := range ways {
		begin.forget()
		end.forget()
		gained := 0.0
		for _, by := range [...][2]int{{bySwitch, byPlace}, {byPlace, bySwitch}}[way%2] {
			if way < ways-2 {
				gained += tune(by, begin, end)
			}
			gained += tune(by, begin) + tune(by, end)
		}
		if gained > most || way == 0 {
			most, best = gained, [2]side{*begin, *end}
		}
		if gained == 0 {
			break // it is no other way round
		}
	}
	*begin, *end = best[0], best[1]
	return most
}
