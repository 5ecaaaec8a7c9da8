package diagnose

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"

	"whichlink/internal/evidence"
)

// arrange puts the flows in order, and what is known of each in the order of time, whatever the order of its records was. Of what happened at one moment the
// order is that of what it says, so that the answer never depends on which of two files was read first. What is told twice, as by files that overlap or by who wrote down
// what another had, counts once.
func (s *Store) arrange() {
	if s.mixed {
		slices.SortFunc(s.order, compareFlows)
		s.mixed = false
	}
	for _, l := range s.order {
		if !l.late {
			continue
		}
		slices.SortStableFunc(l.paths, compareSightings)
		slices.SortStableFunc(l.echoes, func(a, b echo) int { return cmp.Or(compareEchoes(a, b), compareBeside(&a, &b)) })
		slices.SortStableFunc(l.hops, compareHops)
		slices.SortStableFunc(l.captured, compareCaptured)
		l.paths = slices.CompactFunc(l.paths, func(a, b sighting) bool { return compareSightings(a, b) == 0 })
		l.echoes = once(s, l.echoes, sameEcho)
		l.hops = once(s, l.hops, sameHop)
		l.captured = once(s, l.captured, sameCaptured)
		l.late = false
	}
	for _, t := range s.retold {
		logs := slices.SortedFunc(maps.Values(t.others), compareFlows)
		i, _ := slices.BinarySearchFunc(logs, t.first, compareFlows)
		logs = slices.Insert(logs, i, t.first)
		for i, l := range logs {
			for _, first := range logs[:min(i, mostTellers)] {
				l.echoes = without(s, l.echoes, first.echoes, compareEchoes, sameEcho)
				l.hops = without(s, l.hops, first.hops, compareHops, sameHop)
				l.captured = without(s, l.captured, first.captured, compareCaptured, sameCaptured)
			}
		}
	}
	s.deadly = sync.OnceValues(s.deadlyArcs)
	_, byAddress := s.arrivals.byAddress()
	for _, l := range s.order {
		if byAddress {
			l.comeIn()
		}
		l.doubtWays()
		l.settleWays()
		l.noteDead()
		l.markUnsplit()
		l.markTorn()
	}
}

// mostTellers is with how many it is looked whether another tells what they do.
const mostTellers = 8

// sameEcho, sameHop and sameCaptured report whether two records tell of the same packets. A source counts what it does in a window of time once; of what is told
// without a window nobody knows whether it was done twice.
func sameEcho(a, b *echo) bool {
	a, b = a.measured(), b.measured()
	return a.start.Before(a.end) && compareEchoes(*a, *b) == 0
}

func sameHop(a, b *hop) bool { return a.start.Before(a.at) && compareHops(*a, *b) == 0 }

func sameCaptured(a, b *captured) bool { return a.start.Before(a.at) && compareCaptured(*a, *b) == 0 }

// without drops those of a list that another has, and counts them. Both are in order.
func without[T any](s *Store, list, other []T, compare func(a, b T) int, same func(a, b *T) bool) []T {
	return slices.DeleteFunc(list, func(x T) bool {
		i, found := slices.BinarySearchFunc(other, x, compare)
		if found && same(&other[i], &x) {
			s.skipped[toldTwice]++
			return true
		}
		return false
	})
}

// toldTwice is why records are left out that say what another has said.
const toldTwice = "told twice"

// once drops those of a list in order that are the same as the one before, and counts them.
func once[T any](s *Store, list []T, same func(a, b *T) bool) []T {
	kept := list[:min(len(list), 1)]
	for i := 1; i < len(list); i++ {
		if same(&kept[len(kept)-1], &list[i]) {
			s.skipped[toldTwice]++
			continue
		}
		kept = append(kept, list[i])
	}
	clear(list[len(kept):])
	return kept
}

// filed appends what came, and notes if it is out of order or may be there already.
func filed[T any](list []T, x T, compare func(a, b T) int, late *bool) []T {
	*late = *late || len(list) > 0 && compare(list[len(list)-1], x) >= 0
	return append(list, x)
}

func compareFlows(a, b *flowLog) int {
	x, y := &a.flow, &b.flow
	return cmp.Or(strings.Compare(a.by, b.by), x.Src.Compare(y.Src), x.Dst.Compare(y.Dst), strings.Compare(x.Proto, y.Proto), cmp.Compare(x.SrcPort, y.SrcPort),
		cmp.Compare(x.DstPort, y.DstPort), cmp.Compare(x.DSCP, y.DSCP), cmp.Compare(x.Label, y.Label), cmp.Compare(a.size, b.size))
}

func compareSightings(a, b sighting) int {
	if c := cmp.Or(a.at.Compare(b.at), a.previous.Compare(b.previous)); c != 0 {
		return c
	}
	return cmp.Or(compareBools(a.changed, b.changed), compareWays(a.path, b.path), compareWays(a.back, b.back))
}

func compareEchoes(a, b echo) int {
	if c := cmp.Or(a.end.Compare(b.end), a.start.Compare(b.start)); c != 0 {
		return c
	}
	return cmp.Or(cmp.Compare(a.epoch, b.epoch), compareWays(a.path, b.path), compareWays(a.back, b.back),
		cmp.Compare(a.sent, b.sent), cmp.Compare(a.lost, b.lost), cmp.Compare(a.lostForward, b.lostForward), cmp.Compare(a.lostBack, b.lostBack),
		compareBools(a.split, b.split), slices.Compare(a.lostAt, b.lostAt))
}

// compareBeside compares what two records tell beside the fate of the packets: of the same ones, one may tell more.
func compareBeside(a, b *echo) int {
	return cmp.Or(cmp.Compare(a.corruptForward, b.corruptForward), cmp.Compare(a.corruptBack, b.corruptBack), compareDelays(a.rtt, b.rtt),
		cmp.Compare(aheadOf(a), aheadOf(b)))
}

func compareDelays(a, b *evidence.Delay) int {
	if a == nil || b == nil {
		return compareBools(a == nil, b == nil) // who tells of it first
	}
	return cmp.Or(cmp.Compare(a.Min, b.Min), cmp.Compare(a.P50, b.P50), cmp.Compare(a.P90, b.P90), cmp.Compare(a.P99, b.P99), cmp.Compare(a.Max, b.Max))
}

func aheadOf(e *echo) int {
	if e.ahead == nil {
		return math.MaxInt
	}
	return *e.ahead
}

func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

func compareHops(a, b hop) int {
	return cmp.Or(a.at.Compare(b.at), a.start.Compare(b.start), cmp.Compare(a.ttl, b.ttl), cmp.Compare(a.node, b.node), cmp.Compare(a.port, b.port),
		cmp.Compare(a.sent, b.sent), cmp.Compare(a.answered, b.answered))
}

func compareCaptured(a, b captured) int {
	return cmp.Or(a.at.Compare(b.at), a.start.Compare(b.start), cmp.Compare(a.packets, b.packets), cmp.Compare(a.before, b.before), cmp.Compare(a.after, b.after),
		cmp.Compare(a.between, b.between), compareBools(a.paired, b.paired), comparePlaces(a.place, b.place), comparePlaces(a.to, b.to))
}

func comparePlaces(a, b place) int {
	return cmp.Or(cmp.Compare(a.node, b.node), cmp.Compare(a.port, b.port))
}

func compareWays(a, b way) int {
	return slices.CompareFunc(a.alternatives, b.alternatives, slices.Compare)
}
