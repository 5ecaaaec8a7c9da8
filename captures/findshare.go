package captures

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"whichlink/captures/frames"
)

const (
	// An elephant carries at least a fifth of all bytes, and enough of them that it matters.
	elephantShare = 0.2
	elephantBytes = 10_000_000
	// fewPorts is how much less even than its queue pairs a pair's source ports may spread, in bits, and manyPairs how many queue
	// pairs it must have: one cannot be spread.
	fewPorts  = 1.0
	manyPairs = 4
	// maxHostPairs bounds the pairs of hosts whose entropy is told.
	maxHostPairs = 1 << 14
)

// A hostPair is a sender and a receiver.
type hostPair struct{ src, dst frames.Addr }

// A spread adds up bytes or packets by flow, for their entropy.
type spread struct {
	pair        hostPair
	n           int
	sum, logSum float64 // of x and of x*log2(x)
	most        float64
}

func (s *spread) add(x float64) {
	if x <= 0 {
		return
	}
	s.n++
	s.sum += x
	s.logSum += x * math.Log2(x)
	s.most = max(s.most, x)
}

// entropy returns in bits how evenly what was added is spread: log2 of n if evenly, 0 if all is in one.
func (s *spread) entropy() float64 {
	if s.sum == 0 {
		return 0
	}
	return max(0, math.Log2(s.sum)-s.logSum/s.sum)
}

// A shareFinder tells at the end which flows carry the most, and between which hosts all flows hash alike.
type shareFinder struct{ a *Analyzer }

func newShareFinder(a *Analyzer) finder { return &shareFinder{a} }

func (f *shareFinder) see(*Sight) {}

func (f *shareFinder) report(r *Report) {
	f.elephants(r)
	f.queues(r)
}

// elephants tells the flows that carry the most, and how evenly all is spread.
func (f *shareFinder) elephants(r *Report) {
	all := spread{}
	f.a.flows.flows.all(func(_ uint32, fl *flow) {
		for dir := range fl.halves {
			all.add(float64(fl.halves[dir].bytes))
		}
	})
	list := ranking{most: f.a.cfg.MaxFindings}
	if all.n < 2 {
		return
	}
	f.a.flows.flows.all(func(n uint32, fl *flow) {
		for dir := range fl.halves {
			if b := float64(fl.halves[dir].bytes); b >= elephantShare*all.sum && b >= elephantBytes {
				list.add(candidate{int64(b), fl.first, fl.last, n, dir})
			}
		}
	})
	list.tell(r, func(c candidate) Finding {
		e := f.a.flows.flows.at(c.number).evidence(c.dir)
		return Finding{
			Finding: "elephant", Severity: Info, Subject: flowName(e), about: chooseFlow(e), Filter: flowFilter(e),
			Text: fmt.Sprintf("%s, %.0f %% of all; entropy of bytes by flow %.1f of %.1f bits", size(c.count), 100*float64(c.count)/all.sum,
				all.entropy(), math.Log2(float64(all.n))),
			Rule: "a fifth of all bytes or more in one direction of one flow, and 10 MB",
		}
	})
}

// queues compares how RoCE packets of a pair of hosts spread over queue pairs and over source ports, which switches hash. Few
// ports for many queue pairs put them all on one path.
func (f *shareFinder) queues(r *Report) {
	pairs, ports := map[hostPair]*spread{}, map[hostPair]*spread{}
	add := func(m map[hostPair]*spread, k hostPair, x float64) {
		s := m[k]
		if s == nil {
			if len(m) == maxHostPairs {
				return
			}
			s = &spread{pair: k}
			m[k] = s
		}
		s.add(x)
	}
	f.a.roce.pairs.all(func(_ uint32, q *queuePair) {
		if q.number != 0 {
			add(pairs, hostPair{q.src, q.dst}, float64(q.packets))
		}
	})
	if len(pairs) == 0 {
		return
	}
	f.a.flows.flows.all(func(_ uint32, fl *flow) {
		for dir, k := range [2]hostPair{{fl.key.a, fl.key.b}, {fl.key.b, fl.key.a}} {
			if to := [2]uint16{fl.key.bPort, fl.key.aPort}[dir]; to == 4791 && fl.key.proto == frames.ProtoUDP {
				add(ports, k, float64(fl.halves[dir].packets))
			}
		}
	})
	var poor []*spread
	for k, q := range pairs {
		if p := ports[k]; p != nil && q.n >= manyPairs && p.entropy() < q.entropy()-fewPorts {
			poor = append(poor, q)
		}
	}
	slices.SortFunc(poor, func(x, y *spread) int {
		return cmp.Or(cmp.Compare(y.sum, x.sum), slices.Compare(x.pair.src[:], y.pair.src[:]), slices.Compare(x.pair.dst[:], y.pair.dst[:]))
	})
	list := ranking{most: f.a.cfg.MaxFindings}
	for i, q := range poor {
		list.add(candidate{int64(q.sum), f.a.first, f.a.last, uint32(i), 0})
	}
	list.tell(r, func(c candidate) Finding {
		q := poor[c.number]
		p := ports[q.pair]
		return Finding{
			Finding: "roce-polarized", Severity: Warning, about: choosePair(q.pair.src, q.pair.dst), Subject: fmt.Sprintf("roce %s>%s", q.pair.src.Netip(), q.pair.dst.Netip()),
			Text: fmt.Sprintf("%s share %s: entropy %.1f bits by queue pair, %.1f by source port, which switches hash to choose a path",
				plural(int64(q.n), "queue pair"), plural(int64(p.n), "UDP source port"), q.entropy(), p.entropy()),
			Rule:   "between two hosts the entropy of packets by source port is a bit or more below that by queue pair",
			Filter: pairFilter(q.pair.src, q.pair.dst) + " && udp.dstport == 4791", like: "udp.dstport == 4791",
		}
	})
}
