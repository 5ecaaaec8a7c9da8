package localize

import (
	"maps"
	"math"
	"math/bits"
	"slices"

	"whichlink/graphs"
)

// Where only flows are known that lost packets, where these went tells more than how much they lost: of two arcs that as many flows cross, the one that most of
// them crossed is bad. How many cross an arc is told by how flows are spread over equal-cost paths, and by how traffic is spread over hosts: evenly, unless those
// flows tell otherwise that no fault explains (see demand). How many flows there are follows from how often packets are lost, and that from how many each flow lost that lost any. So
// those without loss are put in their place as they are to be expected, the evidence is explained as if they had been seen, and so again with what that told
// (expectation maximisation, Dempster et al. 1977).

// Traffic is all flows where only those are known that lost packets, by what they are like.
type traffic struct {
	ix      *index
	known   *evidence // the flows that are known
	cfg     Config
	streams []stream
	of      []journey // by observation
	seen    []float64 // by component, how many of the flows that are known cross it
	access  access
}

// A journey is between which ends a flow goes that is known.
type journey struct {
	stream      int
	from, to    graphs.NodeID // switches
	first, last graphs.ArcID
}

// imputed is what flows that are not known add to the evidence.
type imputed struct {
	exposure []float64
	linear   float64
	clean    []losslessFlows
}

// newTraffic sorts the flows that are known, all of which lost packets. It returns nil if it cannot be told what others cross: where some of them may have gone
// several ways, or went one that no flow takes.
func newTraffic(ix *index, ev *evidence, cfg Config) *traffic {
	c, far, known := &traffic{ix: ix, known: ev, cfg: cfg, of: make([]journey, len(ev.obs)), seen: make([]float64, ix.n), access: newAccess(ix)}, ix.fromHosts(), map[streamKey]int{}
	crossed := collector{ix: ix, times: make([]float64, ix.n)}
	for i := range ev.obs {
		o := &ev.obs[i]
		if o.lost == 0 || o.ttl() || len(o.Alternatives) > 0 || len(o.Path) == 0 {
			return nil
		}
		first, last := o.Path[0], o.Path[len(o.Path)-1]
		key := streamKey{far[ix.tail[first]], far[ix.head[last]], len(o.Path), o.Src != graphs.None, o.Dst != graphs.None}
		at, ok := known[key]
		if !ok {
			at, known[key] = len(c.streams), len(c.streams)
			c.streams = append(c.streams, newStream(ix, cfg.Paths, key, far, &c.access))
		}
		from, to := c.streams[at].ends(ix, first, last)
		if !c.streams[at].has(from, to) {
			return nil
		}
		c.of[i] = journey{at, from, to, first, last}
		crossed.collect(o, 0)
		for _, x := range crossed.comps {
			c.seen[x] += crossed.times[x]
		}
	}
	return c
}

// fromHosts returns how many arcs each node is from the nearest host, -1 where there is no way.
func (ix *index) fromHosts() []int {
	far := make([]int, len(ix.host))
	var queue []graphs.NodeID
	for n, host := range ix.host {
		if far[n] = -1; host {
			far[n], queue = 0, append(queue, graphs.NodeID(n))
		}
	}
	for ; len(queue) > 0; queue = queue[1:] {
		for _, a := range ix.f.Out(queue[0]) {
			if n := ix.head[a]; far[n] < 0 {
				far[n], queue = far[queue[0]]+1, append(queue, n)
			}
		}
	}
	return far
}

// impute returns what flows without loss are to be expected where components have some excess of hazard above a background: what passes them, and no more than
// is left of all flows beside those that are known.
func (c *traffic) impute(comps []int32, rates []float64, background float64) *imputed {
	excess := map[int32]float64{}
	for i, x := range comps {
		excess[x] += rates[i]
		if x >= c.ix.links {
			for _, a := range c.ix.parts(nil, x) {
				excess[a] += rates[i]
			}
		}
	}
	out := &imputed{exposure: make([]float64, c.ix.n), clean: newLossless()}
	all, whole := make([]float64, c.ix.n), make([]float64, c.ix.n) // flows, and their packets
	var flows, packets [65]float64
	for i := range c.streams {
		t := &c.streams[i]
		rest := background * float64(t.arcs)
		var every, sent, passed, logs float64
		kept := make(map[int32]float64, len(excess)) // of passed, what passes what is bad
		for _, n := range slices.Sorted(maps.Keys(t.lossy)) {
			size, lossy := float64(n), t.lossy[n]
			chance := missed(size * rest)
			for i, x := range comps {
				chance += missed(size*rates[i]) * t.share[x]
			}
			some := lossy / min(chance, 1)
			every, sent = every+some, sent+size*some
			if lossy > 0 {
				logs += lossy * log(some)
			}
			pass := size * some * exp(-size*rest)
			passed += pass
			for x, h := range excess {
				kept[x] += pass * exp(-size*h)
			}
			at := bits.Len(uint(n))
			flows[at] += some - lossy
			packets[at] += (some - lossy) * size
		}
		t.logs = logs
		for x, share := range t.share {
			if share == 0 {
				continue
			}
			all[x] += every * share
			whole[x] += sent * share
			if k, bad := kept[int32(x)]; bad {
				out.exposure[x] += k * share
			} else {
				out.exposure[x] += passed * share
			}
		}
	}
	for x, seen := range c.seen {
		if seen > 0 {
			out.exposure[x] = min(out.exposure[x], whole[x]*max(1-seen/all[x], 0))
		}
	}
	for a := range c.ix.links {
		out.linear += out.exposure[a]
	}
	for i := range flows {
		out.clean[i].flows, out.clean[i].packets = int(min(flows[i], mostSent)), int(min(packets[i], mostSent))
	}
	return out
}

// explain searches for what explains flows that all lost packets if traffic is even, and if it is not. Both answers count by how well they explain the evidence: that a host
// sends more than others is as good a reason for many lossy flows as that its link is bad.
func (c *traffic) explain() *search {
	h := hypothesis{background: usualBackground}
	s := newSearch(newModel(c.ix, c.known, c.cfg))
	s.recall(&h)
	s, h = c.search(s, h)
	score := c.likely(s, &h)

	// What explains the losses wherever they were is another place to begin.
	alone := newSearch(newModel(c.ix, c.known, c.cfg))
	alone.run()
	h = alone.likeliestSoFar()
	alone.recall(&h)
	c.weigh(alone)
	h.rates = slices.Clone(h.rates)
	h.scale(alone.scale())
	again := c.fitting(&h)
	if least := c.likely(again, &h); least > score+outvoted {
		x, g := c.search(again, h)
		if s, score = x, c.likely(x, &g); least > score+outvoted {
			s, score = alone, least
		}
	}
	x := c.reconsider(c.explainUneven(again, h))
	other, busy := x.s, x.score
	even := 1 / (1 + exp(busy-score)*usuallyUneven/(1-usuallyUneven))
	uneven := 1 - even
	if uneven > even {
		s, other = other, s
	}
	if s.tilted = uneven; min(even, uneven) > listed/4 {
		s.rival = other
	}
	return s
}

// explainUneven does so where traffic is as uneven as flows tell that no fault explains, beginning with a hypothesis that is loaded. It returns no search, and a score of -Inf, where
// traffic seems even.
func (c *traffic) explainUneven(s *search, h hypothesis) outlook {
	best := outlook{score: math.Inf(-1)}
	for range mostRounds {
		c.weigh(s)
		by, gained := c.uneven(s)
		if gained == 0 {
			break
		}
		c.adapt(by)
		was := h.comps
		s, h = c.search(s, h)
		if sum := c.likely(s, &h) + gained; sum > best.score {
			best = outlook{s, h, by, sum}
		}
		if slices.Equal(was, h.comps) {
			break
		}
	}
	return best
}

// beside takes in another answer, so that this one counts for a part only.
func (r *Result) beside(o *Result, part float64) {
	met := make([]bool, len(o.Suspects))
	for i := range r.Suspects {
		x := &r.Suspects[i]
		p := part * x.Probability
		for j := range o.Suspects {
			if y := &o.Suspects[j]; !met[j] && slices.ContainsFunc(y.Class, func(c Cause) bool { return slices.Contains(x.Class, c) }) {
				met[j] = true
				p += (1 - part) * y.Probability
				break
			}
		}
		*x = x.doubted(p)
	}
	for j := range o.Suspects {
		if p := (1 - part) * o.Suspects[j].Probability; !met[j] && p >= listed {
			r.Suspects = append(r.Suspects, o.Suspects[j].doubted(p))
		}
	}
	r.Healthy = part*r.Healthy + (1-part)*o.Healthy
	r.rank()
}

// search begins with a hypothesis, loaded in a search, and puts flows without loss in their place until what is to be expected changes little. It returns what explains all.
func (c *traffic) search(s *search, h hypothesis) (*search, hypothesis) {
	c.weigh(s)
	for round := 0; ; round++ {
		s = c.expecting(&h)
		s.run()
		was := h.comps
		h = s.likeliestSoFar()
		s.recall(&h)
		by := s.scale()
		if round == mostRounds || s.work > effort || round > 0 && slices.Equal(was, h.comps) && math.Abs(log(by)) < 0.2 {
			return s, h
		}
		c.weigh(s)
		h.rates = slices.Clone(h.rates)
		h.scale(by)
	}
}

// scale makes all hazards so many times what they are.
func (h *hypothesis) scale(by float64) {
	h.background *= by
	for i := range h.rates {
		h.rates[i] = min(h.rates[i]*by, mostHazard)
	}
}

// expecting returns a search among the flows that are known and those that are to be expected beside them under a hypothesis.
func (c *traffic) expecting(h *hypothesis) *search {
	cfg := c.cfg
	cfg.imputed = c.impute(h.comps, h.rates, h.background)
	return newSearch(newModel(c.ix, compile(c.ix, c.known.all, cfg), cfg))
}

// fitting returns one in which the hypothesis, refitted, is loaded.
func (c *traffic) fitting(h *hypothesis) *search {
	s := c.expecting(h)
	s.refit(h)
	s.recall(h)
	return s
}

// likely returns the log of how likely a hypothesis, which is loaded, makes the flows that are known, but for a constant: of each that it is one of all of its size that there
// are, and loses what it loses.
func (c *traffic) likely(s *search, h *hypothesis) float64 {
	z := log(s.background/usualBackground) / usually
	sum := h.score + s.background*s.ev.linear - z*z/2
	for i, x := range h.comps {
		sum += h.rates[i] * s.ev.exposure[x]
	}
	c.weigh(s)
	c.impute(h.comps, h.rates, h.background)
	for i := range c.streams {
		sum += c.streams[i].logs
	}
	return sum
}

// onWay returns how much of a flow lost packets on its way, not by itself, as the loaded hypothesis has it.
func (s *search) onWay(t *term) float64 { return 1 - t.ownShare(s.oddsOfOwn(t)) }

// innocent returns how much of what lost packets on its way did so by no fault.
func (s *search) innocent(t *term, onWay float64) float64 {
	return onWay * s.background * s.ev.arcs[t.first] / s.hazard[t.first]
}

// innocents returns how much of each flow lost packets by no fault, as the loaded hypothesis has it.
func (s *search) innocents() []float64 {
	out := make([]float64, s.ev.flows)
	for i := range out {
		t := &s.ev.terms[i]
		out[i] = s.innocent(t, s.onWay(t))
	}
	return out
}

const (
	// usualBackground is the background that is expected before any evidence, within a factor of exp(usually).
	usualBackground, usually = 2e-5, 1.5
	mostRounds               = 4
	// usuallyUneven is how likely it is that traffic is uneven, before any evidence.
	usuallyUneven = 0.9
	// outvoted is by how many nats likelier another answer must be to be looked for from another beginning.
	outvoted = 7
)

// weigh counts flows anew as far as they lost packets on their way, and by no fault, as the loaded hypothesis has it.
func (c *traffic) weigh(s *search) {
	for i := range c.streams {
		c.streams[i].forget()
	}
	for i := range s.ev.flows {
		t := &s.ev.terms[i]
		x := &c.streams[c.of[t.obs].stream]
		part := s.onWay(t)
		x.lossy[s.ev.obs[t.obs].sent] += part
		x.lost += part
		x.innocent += s.innocent(t, part)
	}
}

// scale returns by what factor all hazards of the loaded hypothesis should be greater, by how much flows lost on their way that lost any.
func (s *search) scale() float64 {
	best, most := 0.0, math.Inf(-1)
	onWay := make([]float64, s.ev.flows)
	for i := range onWay {
		onWay[i] = s.onWay(&s.ev.terms[i])
	}
	for u := -4.0; u <= 4; u += 0.1 {
		by, z := exp(u), (u+log(s.background/usualBackground))/usually
		sum := -z * z / 2
		for i := range s.ev.flows {
			t := &s.ev.terms[i]
			x := s.hazard[t.first] * by
			sum += onWay[i] * (t.lost*log(missed(x)) - t.passed*x - log(missed((t.lost+t.passed)*x)))
		}
		if sum > most {
			best, most = by, sum
		}
	}
	return best
}

// expect adds flows that are to be expected.
func (ev *evidence) expect(x *imputed) {
	copy(ev.exposure, x.exposure)
	ev.linear, ev.crossings, ev.clean = x.linear, x.linear, x.clean
}
