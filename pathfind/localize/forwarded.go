package localize

import (
	"math"

	"whichlink/graphs"
)

// A switch that cuts through sends a packet on before it has seen that it is broken, and so every port on its way counts it. What a port counts may then be no more than its part of
// what came in broken at the switch before it.

const (
	// cutsThrough is how many switches do so, before any evidence. One that does shows at the ports behind it that are to count some, nearly always; else
	// these count errors of their own, next to never.
	cutsThrough, showsBehind, ownBehind = 0.3, 0.9, 0.01
	// leastBehind is how many a port must be expected to get for its count to tell whether the switch cuts through.
	leastBehind = 3
	// unheard is how likely packets come in broken at a port of which nobody tells. How many, what others behind the switch count says.
	unheard = 0.01
	// likeTraffic is the standard deviation of the logarithm of what a port gets of them, beside its part of the traffic: they are of some flows and not of others.
	// No port gets more than all, beyond what clocks and the moments of reading make.
	likeTraffic, mostOfAll = 1, 1.5
	// farOff is how many of these standard deviations what a port counts is at most from what it should, for it to tell that the switch cuts through.
	farOff = 2.5
)

// A forwarded is what a port may count of packets that were broken before they came to the switch before it: how probable it is that that sends them on, how many the port is then
// to be expected to get, and how many there are.
type forwarded struct{ probability, expected, all float64 }

// log returns the log-likelihood of a count of which all were broken before.
func (x forwarded) log(count float64) float64 {
	if x.probability == 0 || count > mostOfAll*x.all {
		return math.Inf(-1)
	}
	z := math.Log(count/x.expected) / likeTraffic
	return math.Log(x.probability/(count*likeTraffic)) - 0.5*z*z - 0.5*math.Log(2*math.Pi)
}

// forwarding returns what each of the meters may count for others, in their order; nothing of those of nodes.
func (ix *index) forwarding(ms []metering) []forwarded {
	at := map[graphs.ArcID]int{}
	for i := range ms {
		if m := &ms[i]; m.On.Kind == Arc && m.Sort != Discards {
			at[graphs.ArcID(m.On.ID)] = i
		}
	}
	list := make([]forwarded, len(ms))
	for a, i := range at {
		if n := ix.tail[a]; !ix.host[n] {
			list[i] = ix.sentOn(n, a, ms, at)
		}
	}
	for _, n := range ix.f.Switches() {
		hidden := ix.hidden(n, ms, at, list)
		// By all ports behind the switch, of which for each its own is taken out again.
		odds := math.Log(cutsThrough/(1-cutsThrough)) + hidden
		told := func(i int) float64 {
			switch x := &list[i]; {
			case x.expected < leastBehind || ms[i].Count > mostOfAll*x.all:
				return 0
			case math.Abs(math.Log(max(ms[i].Count, 0.5)/x.expected)) <= farOff*likeTraffic:
				return math.Log(showsBehind / ownBehind)
			}
			return math.Log((1 - showsBehind) / (1 - ownBehind))
		}
		behind := ix.f.Out(n)
		for _, a := range behind {
			if i, ok := at[a]; ok {
				odds += told(i)
			}
		}
		for _, a := range behind {
			if i, ok := at[a]; ok && list[i].all > 0 {
				list[i].probability = 1 / (1 + exp(told(i)-odds))
			}
		}
	}
	return list
}

// hidden puts in what the ports behind a switch may count of packets that came broken to it where nobody tells: as many as the others behind it count. It returns by how much less likely
// that is, a logarithm, and 0 where some are told to come.
func (ix *index) hidden(n graphs.NodeID, ms []metering, at map[graphs.ArcID]int, list []forwarded) float64 {
	silent, count, packets := 0., 0., 0.
	out := ix.f.Out(n)
	for _, a := range out {
		if i, ok := at[a]; ok {
			if list[i].all > 0 {
				return 0
			}
			count, packets = count+ms[i].Count, packets+ms[i].Packets
		}
		if _, ok := at[a.Reverse()]; !ok {
			silent++
		}
	}
	if silent == 0 {
		return 0
	}
	for _, a := range out {
		if i, ok := at[a]; ok && packets > ms[i].Packets && count > ms[i].Count {
			list[i].expected = (count - ms[i].Count) / (packets - ms[i].Packets) * ms[i].Packets
			list[i].all = math.Inf(1)
		}
	}
	return math.Log(min(unheard*silent, 0.5))
}

// sentOn returns what a switch may send on over an arc of packets that came to it broken.
func (ix *index) sentOn(n graphs.NodeID, over graphs.ArcID, ms []metering, at map[graphs.ArcID]int) (x forwarded) {
	own := ms[at[over]].Packets
	traffic, known := 0.0, 0.0
	out := ix.f.Out(n)
	for _, a := range out {
		if i, ok := at[a]; ok {
			traffic, known = traffic+ms[i].Packets, known+1
		}
	}
	traffic *= float64(len(out)) / known // ports of which nobody tells carry what others do in the mean
	for _, a := range out {
		i, ok := at[a.Reverse()]
		if !ok || a == over || ms[i].Count == 0 {
			continue
		}
		back := traffic / float64(len(out)) // nothing goes back to where it came from
		if j, ok := at[a]; ok {
			back = ms[j].Packets
		}
		x.all += ms[i].Count
		x.expected += ms[i].Count * min(1, own/max(traffic-back, own))
	}
	return x
}
