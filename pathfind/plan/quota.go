package plan

import (
	"slices"

	"whichlink/graphs"
)

// Quota returns how many crossings of which arcs a host answers for: when the paths of its flows are known and cross an arc
// less often, it should ask for [Plan.More]. The quotas of all hosts for an arc sum to the plan's crossings, but for this: where so many hosts cross
// an arc that all of them together miss it with a probability below [Risk], a host answers only for what it can be
// expected to cross itself. The map must not be written to.
func (p *Plan) Quota(host graphs.NodeID) map[graphs.ArcID]int { return p.quota[host] }

// ownShare is the number of crossings which a host must expect beyond its quota to answer for one more of an arc that is safe anyway.
const ownShare = one

// shareOut gives each arc's crossings, one by one, to the host that expects most beyond what it answers for already.
func (p *Plan) shareOut() map[graphs.NodeID]map[graphs.ArcID]int {
	type claim struct {
		host   graphs.NodeID
		expect int64
	}
	claims := make([][]claim, p.f.NumArcs())
	for _, h := range p.hosts {
		for _, cs := range p.crossings[h] {
			for _, x := range cs {
				list := claims[x.arc]
				if n := len(list); n == 0 || list[n-1].host != h {
					list = append(list, claim{host: h})
				}
				list[len(list)-1].expect += int64(x.p)
				claims[x.arc] = list
			}
		}
	}
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
			for _, x := range p.crossings[host][i] {
				gain += uint64(x.p) * missing[x.arc] / one
			}
			if gain > bestGain {
				best, bestGain = i, gain
			}
		}
		if best < 0 {
			break
		}
		for _, x := range p.crossings[host][best] {
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

// countRequests counts the TTL-expired answers that tracing every flow once, there and back, is expected to ask of each switch.
func (p *Plan) countRequests() {
	for _, h := range p.hosts {
		of := map[graphs.NodeID]float64{}
		for _, cs := range p.crossings[h] {
			for _, x := range cs {
				if n := p.f.Head(x.arc); !p.f.Node(n).IsHost() {
					of[n] += float64(x.p) / one
				}
			}
		}
		p.requests[h] = of
		for n, r := range of {
			p.total[n] += r
		}
	}
}

// ExpiryShare returns the host's share (0..1) of the TTL-expired answers that each switch may be asked for: what tracing the host's flows, there and back, is
// expected to ask of the switch, of what all hosts ask of it. The shares of all hosts sum to 1. Switches that no flow of the host can cross are absent.
func (p *Plan) ExpiryShare(host graphs.NodeID) map[graphs.NodeID]float64 {
	share := make(map[graphs.NodeID]float64, len(p.requests[host]))
	for n, r := range p.requests[host] {
		share[n] = r / p.total[n]
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

// Reachable returns the arcs that some planned flow may cross, in order.
func (p *Plan) Reachable() []graphs.ArcID {
	var arcs []graphs.ArcID
	for a, sum := range p.tally.sum {
		if sum > 0 {
			arcs = append(arcs, graphs.ArcID(a))
		}
	}
	return slices.Clip(arcs)
}
