package diagnose

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"whichlink/graphs"
)

const (
	// leastSuffering is how many flows must have lost packets for it to be asked what they have in common.
	leastSuffering = 5
	// beyondTrait is by how many standard deviations more of these must have it than chance lets.
	beyondTrait = 4
	// mostSpared is the greatest share of their packets that others may lose, and of all losses that may be theirs.
	mostSpared, mostOfLosses = 0.001, 0.05
	// tellsLoss is how many packets a flow that suffers must be expected to lose for one that loses none to tell anything.
	tellsLoss = 3
)

// A trait is what switches may treat flows by, beside where they go: queues, policers and filters look at it. Of is asked of each flow in each diagnosis, words of what is told.
type trait struct {
	of    func(*flowLog) string
	words func(value string) string
}

var traits = []trait{
	{func(l *flowLog) string { return strconv.Itoa(int(l.flow.DSCP)) }, func(dscp string) string { return "DSCP " + dscp }},
	{func(l *flowLog) string { return l.flow.Proto }, func(proto string) string { return strings.ToUpper(graphs.Clean(proto)) }},
	{func(l *flowLog) string {
		if l.flow.Src.Is4() || l.flow.Src.Is4In6() {
			return "4"
		}
		return "6"
	}, func(version string) string { return "IPv" + version }},
}

// A suffering is what the flows have in common that lose packets, where others between the same hosts do not.
type suffering struct {
	words string          // of it
	has   map[string]bool // the values of the trait
	trait trait
	// others are the flows that lose next to nothing, and what they sent and lost.
	others fate
	loses  float64 // the share that the flows lose which lose any
	// of is how many flows have the trait and sent enough to tell, and hit how many of them lost packets; sent and lost are of all that have it.
	of, hit    float64
	sent, lost int
	excess     float64 // by how many standard deviations more of those that lose packets have it than chance lets
}

// leaveOutOthers takes out of the evidence all flows but those of the trait that all have that lose packets, if there is one that switches may tell them by: the others cross what is faulty, and tell that it is
// well. A fault between some hosts hits their flows whatever these have in common.
func (s *Store) leaveOutOthers() {
	s.suffers = nil
	for _, t := range traits {
		if x := s.sufferingBy(t); x != nil && (s.suffers == nil || x.excess > s.suffers.excess) {
			s.suffers = x
		}
	}
	for _, l := range s.order {
		if l.leftOut = s.suffers != nil && !s.suffers.has[s.suffers.trait.of(l)]; !l.leftOut {
			continue
		}
		for i := range l.echoes {
			l.echoes[i].leaveOut()
		}
	}
}

// sufferingBy returns what flows suffer by a trait, nil where it does not tell. Flows are compared that were measured while packets were lost, between the same two hosts (Mantel and Haenszel 1959).
func (s *Store) sufferingBy(t trait) *suffering {
	if !slices.ContainsFunc(s.order, func(l *flowLog) bool { return t.of(l) != t.of(s.order[0]) }) {
		return nil // as mostly
	}
	fates, lossy := map[string]*fate{}, fate{}
	for _, l := range s.order {
		k := t.of(l)
		if fates[k] == nil {
			fates[k] = &fate{}
		}
		if l.src != graphs.None && l.dst != graphs.None {
			one := l.fate(time.Time{})
			fates[k].add(one)
			if one.lost > 0 {
				lossy.add(one)
			}
		}
	}
	if lossy.lost < leastOfFew {
		return nil
	}
	x := &suffering{has: map[string]bool{}, trait: t, loses: float64(lossy.lost) / float64(lossy.sent)}
	var names []string
	for k, f := range fates {
		switch {
		case float64(f.lost) > mostSpared*float64(f.sent) || float64(f.lost) > mostOfLosses*float64(lossy.lost):
			x.has[k], names = true, append(names, t.words(k))
			x.sent, x.lost = x.sent+f.sent, x.lost+f.lost
		default:
			x.others.add(*f)
		}
	}
	if len(names) == 0 || len(names) == len(fates) || x.others.sent < LeastProbes {
		return nil
	}
	slices.Sort(names)
	x.words = strings.Join(names, " and ")
	if x.excess = s.excessOf(x); x.excess < beyondTrait {
		return nil
	}
	return x
}

// excessOf returns by how many standard deviations more of the flows that lost packets have a trait than as many of those between the same hosts would by chance.
func (s *Store) excessOf(x *suffering) float64 {
	type table struct{ flows, having, lossy, both float64 }
	var bad []stretch
	for _, l := range s.order {
		for i := range l.echoes {
			if e := &l.echoes[i]; e.lost > 0 {
				bad = append(bad, stretch{e.start, e.end})
			}
		}
	}
	bad = unbroken(bad)
	tables := map[pairing]table{}
	for _, l := range s.order {
		one := l.fate(time.Time{})
		if l.src == graphs.None || l.dst == graphs.None || float64(one.sent)*x.loses < tellsLoss || !slices.ContainsFunc(l.echoes, func(e echo) bool {
			return e.sent > 0 && slices.ContainsFunc(bad, stretch{e.start, e.end}.overlaps)
		}) {
			continue
		}
		p := pairingOf(l.src, l.dst)
		t := tables[p]
		has, lossy := float64(bit(x.has[x.trait.of(l)])), float64(bit(one.lost > 0))
		x.of, x.hit = x.of+has, x.hit+has*lossy
		tables[p] = table{t.flows + 1, t.having + has, t.lossy + lossy, t.both + has*lossy}
	}
	more, variance, lossy := 0.0, 0.0, 0.0
	for _, p := range slices.SortedFunc(maps.Keys(tables), comparePairings) {
		if t := tables[p]; t.flows > 1 {
			more += t.both - t.having*t.lossy/t.flows
			variance += t.having * t.lossy * (t.flows - t.having) * (t.flows - t.lossy) / (t.flows * t.flows * (t.flows - 1))
			lossy += t.lossy
		}
	}
	if lossy < leastSuffering || variance == 0 {
		return 0
	}
	return more / math.Sqrt(variance)
}

// note says what was left out, and what to look at.
func (x *suffering) note() string {
	return fmt.Sprintf("only flows of %s lose packets: %s probes of %s that are of another kind, %s, are left out; compare how queues, policers and filters treat these", x.words,
		thousands(x.others.sent), flowsWord(x.others.flows), lossWords(x.others.lost, x.others.sent))
}

// everywhere reports whether all flows lose packets that have the trait, but for some.
func (x *suffering) everywhere() bool { return x.hit >= (1-mostOfLosses)*x.of }

// summary says so.
func (x *suffering) summary() string {
	return fmt.Sprintf("all flows of %s lose packets, wherever they go (%s of %s), and others do not", x.words, thousands(x.lost), thousands(x.sent))
}

// tellSuffering says which flows suffer, of all that is found by them alone. Where all of them do, whatever they cross, it is rather a policy than a fault.
func (s *Store) tellSuffering(d *Diagnosis) {
	if s.suffers == nil {
		return
	}
	for i := range d.Suspects {
		x := &d.Suspects[i]
		if x.Symptom != Loss {
			continue
		}
		x.forOnly = " for " + s.suffers.words + " only"
		if s.suffers.everywhere() {
			x.Probability = min(x.Probability, shaded)
			x.Against = s.suffers.summary() + ", as by a policy for them; " + x.Against
		}
	}
}
