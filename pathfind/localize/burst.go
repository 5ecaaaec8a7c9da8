package localize

import "math"

// Losses come in runs where queues overflow or a link has moments in which it passes nothing. To take the losses of a run for independent ones is to take
// chance for proof. Their length can be learnt: a flow that was to lose a tenth of a packet and lost four lost them in a run, and
// if all flows that lost any did so, it is not for reasons of each flow's own. Then packets are counted as so many fewer, and losses as the runs that they lie in.

// bursts are runs of losses. Their lengths are geometric, and how many there are is distributed as independent losses are (Poisson): how many packets are lost
// in all follows the distribution of Polya and Aeppli.
type bursts struct {
	length float64 // in the mean; 0 where packets are lost independently of each other
	good   float64 // the hazard of a good arc
}

// some reports whether losses come in runs.
func (b bursts) some() bool { return b.length > 1 }

// within returns the runs as a flow of so many packets meets them. Some have begun before it and some end after it: more of them meet it than begin in it, each
// with fewer of its packets, and a flow of one packet loses it as often as if losses were independent.
func (b bursts) within(packets float64) bursts {
	if b.some() {
		b.length *= packets / (packets + b.length - 1)
	}
	return b
}

// about reports whether runs are about as long as they were thought to be.
func (b bursts) about(was float64) bool {
	return max(b.length, was) <= lessonOfBursts*min(b.length, was)
}

// independent returns how many independent packets stand for those that a flow lost and those that passed. In how many runs the losses lie depends on what the
// path loses: it is asked for in the middle between what good arcs do and what the flow did.
func (b bursts) independent(o *merged) (lost, passed float64) {
	k, n := float64(o.lost), float64(o.sent)
	if b = b.within(n); !b.some() {
		return k, n - k
	}
	if k == 0 {
		return 0, n / b.length
	}
	most := k / b.length
	least := min(n*b.good*float64(max(o.arcs(), 1))/b.length, most)
	lost, _ = b.among(k, math.Sqrt(most*least), o.runs(), o.mostRuns())
	return lost, (n - k) * min(1/b.length, lost/k)
}

// among returns in how many runs, from a least number to a greatest, so many losses lie in the mean, where so many runs are expected, and the log of how likely that is.
// The n-th summand, over the first, is x^(n-1) (lost-1)! / ((lost-n)! (n-1)! n!). Of very many, those that count are added up, some together by the one in their middle.
func (b bursts) among(lost, expected, least, most float64) (runs, likely float64) {
	x := expected / (b.length - 1)
	from, together := least, 1.0
	if peak := 2 * lost / (1 + math.Sqrt(1+4*lost/x)); peak > manyRuns {
		wide := 1 / math.Sqrt(2/peak+1/max(lost-peak, 1)) // its standard deviation, about
		from = max(least, math.Floor(peak-12*wide))
		together = max(1, math.Floor(min(wide, 1/math.Abs(log(x*max(lost-from, 1)/(from*(from+1)))))/16))
	}
	n := from + (together-1)/2
	start := (n-1)*log(x) + lgamma(lost) - lgamma(max(lost-n, 0)+1) - lgamma(n) - lgamma(n+1) + log(together)
	w, sum, mean := 1.0, 1.0, n
	for ; n+together <= most; n += together {
		m := n + (together-1)/2 // the middle of the steps to the next
		step := x * (lost - m) / (m * (m + 1))
		if together > 1 {
			step = math.Pow(step, together)
		}
		w *= step
		sum += w
		mean += w * (n + together)
		if w < 1e-9*sum && step < 1 {
			break
		}
		if sum > 1e200 {
			start += log(sum)
			w, sum, mean = w/sum, 1, mean/sum
		}
	}
	return mean / sum, start + log(sum) - expected + log(expected/b.length) + (lost-1)*math.Log1p(-1/b.length)
}

// manyRuns is the likeliest number of runs from which on not each number is looked at.
const manyRuns = 1e4

// likely returns the log of how likely a flow loses what it did, by one of the ways that it may have taken. What loses much does so whatever the length: see spreadClean.
func (b bursts) likely(f *lump) float64 {
	sum := math.Inf(-1)
	b = b.within(f.sent)
	for _, w := range f.ways {
		l := f.lost*log(w.expected) - w.expected - lgamma(f.lost+1) + f.scattered
		if b.some() && !f.much(w) {
			_, l = b.among(f.lost, w.expected/b.length, f.runs, f.mostRuns)
		}
		sum = logSum(sum, log(w.share)+l)
	}
	return sum
}

// much reports whether so much is lost on a way that losses follow each other by chance.
func (f *lump) much(w lumpWay) bool { return w.expected > mostMissed*f.sent }

// scattered returns the log of how likely losses that are independent of each other lie in as many runs as it is told.
func (m *merged) scattered() float64 {
	n, k, r := float64(m.sent), float64(m.lost), m.runs()
	if k == 1 || r < m.mostRuns() || r > n-k+1 { // more runs than can be are those of several windows
		return 0
	}
	choose := func(n, k float64) float64 { return lgamma(n+1) - lgamma(k+1) - lgamma(n-k+1) }
	return choose(n-k+1, r) + choose(k-1, r-1) - choose(n, k)
}

const (
	// lengths is how many lengths of runs are tried, each so many times as long as the one before it.
	lengths, longer = 9, 1.5
	// evidentBursts is by how many nats runs must explain the losses better than independent ones.
	evidentBursts = 2
	// lessonsOfBursts is how often runs are learnt at the most.
	lessonsOfBursts = 3
	// lessonOfBursts is by what factor their length must change for the search to be made anew.
	lessonOfBursts = 1.4
	// mostMissed is the share of packets from which on those that are lost follow each other by chance.
	mostMissed = 0.3
	// fewLone is how many packets may have been all by chance that a flow lost.
	fewLone = 16
)

// A lump is what a flow lost, and how it might have.
type lump struct {
	lost, sent     float64
	runs, mostRuns float64 // in which it did so, at least and at most
	scattered      float64 // the log of how likely independent losses lie in so many
	ways           []lumpWay
	odds           float64               // that it did so by itself, where it lost several
	own            [len(keeping)]float64 // how likely if it did so by itself, by what it keeps
	sort           int
}

// A lumpWay is ways that flows take of which all lose as much.
type lumpWay struct{ share, expected float64 }

// lumps are the flows of a hypothesis.
type lumps struct {
	lossy  []lump
	ways   []lumpWay
	clean  []losslessFlows // as evidence.clean
	mass   float64         // the losses expected of flows without loss whose path is known, and of all on good arcs
	spread float64         // the log of how likely the others lose nothing, for independent losses
	size   float64         // packets of a flow without loss, in the mean
	flows  bySort
}

// answer counts packets that a switch answered, as collected.
func (ev *evidence) answer(c *collector, n float64) {
	if ev.answered == nil {
		ev.answered = make([]float64, len(ev.exposure))
	}
	for _, x := range c.comps {
		ev.answered[x] += n * c.times[x]
	}
	ev.answeredArcs += n * c.arcs
}

// endToEnd is the exposure of a component to packets that no switch had to answer.
func (ev *evidence) endToEnd(c int32) float64 {
	if ev.answered == nil {
		return ev.exposure[c]
	}
	return ev.exposure[c] - ev.answered[c]
}

// lumps returns the lossy flows of the loaded hypothesis.
func (s *search) lumps() lumps {
	x := lumps{clean: s.ev.clean, mass: s.background * (s.ev.linear - s.ev.answeredArcs), flows: s.flowsBySort(), size: s.ev.size()}
	for _, c := range s.faulty {
		if miss := missed(s.excess[c]); miss <= mostMissed { // of others no lossy flows are looked at either
			x.mass += miss * s.ev.endToEnd(c)
		}
	}
	x.mass *= s.ev.run
	x.spread = s.spreadClean(1)
	x.lossy, x.ways = make([]lump, 0, s.ev.flows), make([]lumpWay, 0, s.ev.flows)
	for i := range s.ev.flows {
		t := &s.ev.terms[i]
		o := &s.ev.obs[t.obs]
		if t.answers {
			continue
		}
		from := len(x.ways)
		n, k, miss, least, last := float64(o.sent), float64(o.lost), 0.0, 1.0, -1.0
		for b := t.first; b < t.first+t.n; b++ {
			if s.hazard[b] != last {
				last = s.hazard[b]
				x.ways = append(x.ways, lumpWay{0, n * missed(last)})
				least = min(least, missed(last))
			}
			x.ways[len(x.ways)-1].share += s.portion[b]
			miss += s.weight[b] * missed(last)
		}
		switch {
		case t.lost == 0:
			x.mass += t.copies * n * miss
		case t.lone && n > fewLone || least > mostMissed:
		default:
			f := lump{lost: k, sent: n, runs: o.runs(), mostRuns: o.mostRuns(), scattered: o.scattered(), ways: x.ways[from:], sort: sortOf(t.carried)}
			if k > 1 {
				f.odds = s.oddsOfOwn(t)
			}
			x.lossy = append(x.lossy, f)
		}
	}
	return x
}

// spreadClean returns the log of how likely the flows without loss of which only the path set is known lose nothing on faulty components, if losses come in
// runs of some length as they meet them. So many packets fewer cross them, as it were, or so much less is lost. Components of whose lossy flows nothing is asked
// lose the same whatever the length: else runs would gain by what these spare, and never pay for what they lose.
func (s *search) spreadClean(length float64) float64 {
	if s.ev.sets == nil {
		return 0
	}
	set := func(by float64) {
		for _, c := range s.faulty {
			if missed(s.excess[c]) <= mostMissed {
				s.ev.sets.shift(c, rounded(s.excess[c]*by))
			}
		}
	}
	set(s.ev.run / length)
	sum := s.ev.sets.sum
	set(1)
	return sum
}

// hint reports whether runs may explain the losses better, if flows have the habits that are set.
func (x *lumps) hint() bool {
	for _, b := range [...]bursts{{length: 2}, {length: 5}} {
		gain := (x.mass - x.spread) * (1 - 1/b.within(x.size).length)
		for i := range x.lossy {
			if f := &x.lossy[i]; f.lost == 1 && len(f.ways) == 1 {
				length := b.within(f.sent).length
				gain += f.ways[0].expected*(1-1/length) - log(length)
			} else {
				gain += log(f.odds+exp(min(b.likely(f)-bursts{}.likely(f), 300))) - log(f.odds+1)
			}
		}
		if gain > 0 {
			return true
		}
	}
	return false
}

// weighOwn asks of each flow how likely it would have lost its packets by itself, in any number of runs if that is told.
func (x *lumps) weighOwn() {
	for i := range x.lossy {
		f := &x.lossy[i]
		n, k, runs := f.sent, f.lost, 1.0
		if f.runs == f.mostRuns {
			runs = 1 / k
		}
		for j, keep := range keeping {
			f.own[j] = runs * (1 - usuallyTotal) * keep * exp(lgamma(n+1)-lgamma(n-k+1)+lgamma(n-k+keep)-lgamma(n+keep+1))
		}
	}
}

// An account is how well runs of some length explain what flows lost, with the habits of flows that suit these best.
type account struct {
	bursts
	sum float64 // in nats
}

// explain accounts for what flows lost by runs, given how likely those lose nothing of which only the path set is known.
func (x *lumps) explain(b bursts, spread float64) account {
	in, a := make([]float64, len(x.lossy)), account{bursts: b}
	for i := range x.lossy {
		in[i] = exp(b.likely(&x.lossy[i]))
	}
	h := habits{rate: bySort{0.002, 0.002}, shape: [2]shape{{0.7, 0.1, 0.1, 0.1}, {0.7, 0.1, 0.1, 0.1}}}
	for range rounds {
		least := leastKind * float64(len(keeping))
		own, all, kinds := bySort{least, least}, least, [...]float64{leastKind, leastKind, leastKind, leastKind}
		add := func(sort int, weight float64, likely [len(keeping)]float64) {
			for j, p := range likely {
				part := weight * h.rate[sort] * h.shape[sort][j] * p
				own[sort], all = own[sort]+part, all+part
				kinds[j] += part
			}
		}
		a.sum = spread - x.mass/max(b.within(x.size).length, 1)
		for i := range x.lossy {
			f := &x.lossy[i]
			rate := h.rate[f.sort]
			likely := max((1-rate)*in[i]+rate*h.mean(f.sort, f.own), 1e-300)
			a.sum += log(likely)
			add(f.sort, 1/likely, f.own)
		}
		for _, b := range x.clean {
			if b.flows > 0 {
				likely := b.lossless()
				sort := sortOf(b.carried)
				rate := h.rate[sort]
				a.sum += float64(b.flows) * math.Log1p(-rate+rate*(1-usuallyTotal)*h.mean(sort, likely))
				add(sort, float64(b.flows)*(1-usuallyTotal), likely)
			}
		}
		for i := range own {
			h.rate[i] = min(own[i]/max(x.flows[i], 1), 0.5)
		}
		for j, k := range kinds {
			h.shape[0][j], h.shape[1][j] = k/all, k/all
		}
	}
	return a
}

// leastKind is how many flows of each kind there are beforehand where it is asked how much they explain by themselves.
const leastKind = 0.1

// inBursts returns how losses come, as the likeliest hypothesis has it. What is loaded is of no use afterwards.
func (s *search) inBursts() bursts {
	if s.cfg.Independent || s.ev.selected {
		return bursts{}
	}
	s.recall(&s.hyps[s.likeliest()])
	x := s.lumps()
	if s.ev.run == 1 && !x.hint() {
		return bursts{}
	}
	x.weighOwn()
	none := x.explain(bursts{}, x.spread)
	best := none
	for i, b := 0, (bursts{longer, s.background}); i < lengths; i, b.length = i+1, b.length*longer {
		if a := x.explain(b, s.spreadClean(b.within(x.size).length)); a.sum > best.sum {
			best = a
		}
	}
	if best.sum < none.sum+evidentBursts {
		return bursts{}
	}
	return best.bursts
}

// runs is in how many runs packets were lost at least.
func (m *merged) runs() float64 { return float64(max(1, min(m.bursts, m.lost))) }

// mostRuns is in how many they were lost at most.
func (m *merged) mostRuns() float64 {
	if m.untold {
		return float64(m.lost)
	}
	return m.runs()
}
