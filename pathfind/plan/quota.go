package plan

import "whichlink/graphs"

// Quota returns how many crossings of which arcs a host answers for: when the paths of its flows are known and cross an arc
// less often, it should ask for [Plan.More]. The quotas of all hosts for an arc sum to the plan's crossings, but for this: where so many hosts cross
// an arc that all of them together miss it with a probability below [Risk], a host answers only for what it can be
// expected to cross itself. The map must not be written to.
func (p *Plan) Quota(host graphs.NodeID) map[graphs.ArcID]int { return p.quota[host] }

// ownShare is the number of crossings which a host must expect beyond its quota to answer for one more of an arc that is safe anyway.
const ownShare = one

// A claim is the crossings that a host expects of an arc, in parts of one.
type claim struct {
	host   graphs.NodeID
	expect int64
}

// claims returns the claims to every arc, in the order of hosts, without those that count for nothing.
func (p *Plan) claims() [][]claim {
	claims := make([][]claim, p.f.NumArcs())
	expect := make([]int64, p.f.NumArcs())
	var touched []graphs.ArcID
	add := func(x crossing, flows int64) {
		if expect[x.arc] == 0 {
			touched = append(touched, x.arc)
		}
		expect[x.arc] += flows * int64(x.p)
	}
	var cs []crossing
	for _, h := range p.hosts {
		touched = touched[:0]
		inner := map[*inner]int64{}
		for _, fl := range p.flows[h] {
			b := p.ways.between(fl.Src, fl.Dst)
			cs = b.appendEnds(p.ways.appendOwn(cs[:0], fl.Src, fl.Dst))
			for _, x := range cs {
				add(x, 1)
			}
			if b.inner != nil {
				inner[b.inner]++
			}
		}
		for in, flows := range inner {
			for _, x := range in.mid {
				add(x, flows)
			}
		}
		for _, a := range touched {
			if p.tally.lacking[a] > risk || expect[a] >= ownShare {
				claims[a] = append(claims[a], claim{h, expect[a]})
			}
			expect[a] = 0
		}
	}
	return claims
}

// shareOut gives each arc's crossings, one by one, to the host that expects most beyond what it answers for already.
func (p *Plan) shareOut() map[graphs.NodeID]map[graphs.ArcID]int {
	claims := p.claims()
	quota := map[graphs.NodeID]map[graphs.ArcID]int{}
	burden := map[graphs.NodeID]int{}
	for a, list := range claims {
		safe := p.tally.lacking[a] <= risk
		for range p.cfg.Crossings {
			best := -1
			for i, x := range list {
				if best < 0 || x.expect > list[best].expect || x.expect == list[best].expect && burden[x.host] < burden[list[best].host] {
					best = i
				}
			}
			if best < 0 || safe && list[best].expect < ownShare {
				break
			}
			h := list[best].host
			list[best].expect -= one
			burden[h]++
			if quota[h] == nil {
				quota[h] = map[graphs.ArcID]int{}
			}
			quota[h][graphs.ArcID(a)]++
		}
	}
	return quota
}

// batch is how many flows More returns at a time.
const batch = 4

// More returns some more flows of a host for arcs that its flows cross too seldom: of the pairs which the host probes anyway, those
// that are most likely to cross them, with source ports that were not used yet. tried is how many flows More has
// returned to this host before. It is empty where no flow of the host can cross any of the arcs.
func (p *Plan) More(host graphs.NodeID, lacking []graphs.ArcID, tried int) []Flow {
	planned := p.flows[host]
	crossings := p.crossings(host)
	// missing is the probability that an arc is still missed, which goes down with each flow that is added.
	missing := map[graphs.ArcID]uint64{}
	for _, a := range lacking {
		missing[a] = one
	}
	var more []Flow
	for range batch {
		best, bestGain := -1, uint64(0)
		for k := range planned {
			// Begin elsewhere each time, so that of equal pairs not always the first is taken.
			i := (k + tried + len(more)) % len(planned)
			var gain uint64
			for _, x := range crossings[i] {
				gain += uint64(x.p) * missing[x.arc] / one
			}
			if gain > bestGain {
				best, bestGain = i, gain
			}
		}
		if best < 0 {
			break
		}
		for _, x := range crossings[best] {
			if m, ok := missing[x.arc]; ok {
				missing[x.arc] = m - m*uint64(x.p)/one
			}
		}
		n := len(planned) + tried + len(more)
		if n >= numPorts {
			break
		}
		more = append(more, Flow{host, planned[best].Dst, p.Port(host, n)})
	}
	return more
}

// crossings returns the crossings of the flows of a host, in their order.
func (p *Plan) crossings(host graphs.NodeID) [][]crossing {
	w := p.ways.fresh()
	crossings := make([][]crossing, len(p.flows[host]))
	for i, fl := range p.flows[host] {
		crossings[i] = w.flow(fl.Src, fl.Dst)
	}
	return crossings
}

// countRequests counts the TTL-expired answers that tracing every flow once, there and back, is expected to ask of each switch.
func (p *Plan) countRequests() []float64 {
	total := make([]float64, p.f.NumNodes())
	for a, sum := range p.tally.sum {
		if n := p.f.Head(graphs.ArcID(a)); !p.f.Node(n).IsHost() {
			total[n] += float64(sum) / one
		}
	}
	return total
}

// ExpiryShare returns the host's share (0..1) of the TTL-expired answers that each switch may be asked for: what tracing the host's flows, there and back, is
// expected to ask of the switch, of what all hosts ask of it. The shares of all hosts sum to 1. Switches that no flow of the host can cross are absent.
func (p *Plan) ExpiryShare(host graphs.NodeID) map[graphs.NodeID]float64 {
	share := map[graphs.NodeID]float64{}
	for _, cs := range p.crossings(host) {
		for _, x := range cs {
			if n := p.f.Head(x.arc); !p.f.Node(n).IsHost() {
				share[n] += float64(x.p) / one / p.total[n]
			}
		}
	}
	return share
}

// TraceSeconds returns how long it takes to trace every flow once, there and back, when no switch is asked for more than so many
// TTL-expired answers a second.
func (p *Plan) TraceSeconds(perSwitch float64) float64 {
	most := 0.0
	for _, r := range p.total {
		most = max(most, r)
	}
	return most / perSwitch
}
