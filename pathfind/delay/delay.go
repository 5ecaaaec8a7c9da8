// Package delay says which part of a fabric makes packets late.
//
// It takes what flows took along their paths, [Observation], and returns ranked suspects with their probability, the delay that they
// add with a credible interval, and what the evidence cannot tell from them: [Solve]. It is pure, and the same evidence gives the
// same answer in whatever order it comes.
//
// # The model
//
// A flow is compared with flows whose paths are as long as its own, or with its own past where that is known, never with those of
// other links: on a random graph the paths of two neighbours differ in length, and a longer way is no fault. The distribution of the delays of each
// length is taken from the data: first from its lower half, which a few slow arcs, or a switch, do not reach, or from what lies below a wide gap near its middle, then from all flows that cross
// no suspect.
//
// A fault is an arc, a link, a shared-risk group, a switch or a host that adds to the delay of whatever crosses it. What it adds is drawn anew for each flow, with an unknown mean:
// like a random queue (exponential), like a standing queue or a detour (nearly constant), or only to every second
// flow. Mean and shape are integrated out, so that a fault pays for its freedom. A flow now and then is late for reasons of its own (a starved
// CPU): each has a small chance to be such an outlier, which bounds what it can prove. Delays of several faults on one path add up.
//
// Hosts may differ by themselves. Where they do by more than can be chance, what each usually adds is no fault, and only a host far above the next of the others may be one.
//
// Of a flow it may be known only which paths it may have taken: as a list, or as the equal-cost paths between two switches ([PathSets]). What all flows may cross alike would then explain any tail of
// their delays that is longer than was learnt, so there a fault is held against such a tail, too.
//
// Suspects are added one by one, each by its Bayes factor against no fault at its place, and those that are not needed any more
// are taken away again.
package delay

import "whichlink/graphs"

// Microseconds is a time.
type Microseconds float64

// An Observation is what one flow took.
type Observation struct {
	// Path is the arcs that are certain. A round trip has those of the way there followed by those of the way back.
	Path []graphs.ArcID
	// There and Back are what is uncertain of the way there and of the way back, in addition to Path. Which of the ways back was taken does not depend on the way there.
	There, Back Ways
	// Src and Dst are the end hosts whose NIC and CPU had a part, or None.
	Src, Dst graphs.NodeID
	// Delay is a typical one of the flow, a median rather than a maximum.
	Delay Microseconds
	// Own is what the same flow took when all was well; 0 if that is not known, and it is compared with flows of its length.
	Own Microseconds
}

// Ways are those of which exactly one was taken: alternatives, or, if there are none and From and To differ, the paths of Config.Paths between these two switches. The zero value is that nothing is
// uncertain.
type Ways struct {
	Alternatives []Alternative
	From, To     graphs.NodeID
}

// Certain reports whether nothing is uncertain.
func (w *Ways) Certain() bool { return len(w.Alternatives) == 0 && w.From == w.To }

func (w *Ways) spread() bool { return len(w.Alternatives) == 0 && w.From != w.To }

// An Alternative is one of several ways that the uncertain part of a path may have taken, with its a-priori share, which are normalised.
type Alternative struct {
	Arcs  []graphs.ArcID
	Share float64
}

// PathSets says how flows are spread over the equal-cost paths between two nodes; pathfind.EqualCost is one.
type PathSets interface {
	// Hops returns the number of arcs on each path from one node to another, 0 if there is none.
	Hops(from, to graphs.NodeID) int
	// Reach returns the share of the flows on their way from one node to another that pass a third.
	Reach(from, via, to graphs.NodeID) float64
	// Step returns the share of the flows on their way to a node that leave the tail of an arc by it.
	Step(a graphs.ArcID, to graphs.NodeID) float64
}

// Config sets what is taken for granted. The zero value is what the program uses.
type Config struct {
	// Least is the least mean delay added that counts as a fault.
	Least Microseconds
	// LeastSpreads is the least mean delay added that counts as a fault as well, in standard deviations of healthy flows of one length; 0 means
	// 1 if Least is 0, too.
	LeastSpreads float64
	// Choices is among how many sets of observations these were chosen because they look late, as those of one stretch of time are; 0 stands for 1. The more there were,
	// the likelier it is that chance made them so.
	Choices float64
	// Full are arcs that are known to drop packets, as queues do that are full. Each of them is as likely late as not.
	Full []graphs.ArcID
	// Paths knows the paths between the switches of Ways that list none. Without it these observations are ignored.
	Paths PathSets
}

func (c Config) withDefaults() Config {
	if !(c.LeastSpreads > 0) {
		c.LeastSpreads = 0
		if !(c.Least > 0) {
			c.LeastSpreads = 1
		}
	}
	c.Choices = max(c.Choices, 1)
	return c
}

// A Kind of cause, in the words of the diagnosis.
type Kind string

// The kinds.
const (
	Arc   Kind = "arc"   // one direction of a link
	Link  Kind = "link"  // both directions, as of a detour of its fibre
	Group Kind = "group" // all links of a shared-risk group
	Node  Kind = "node"  // a switch, whatever it forwards
	Host  Kind = "host"  // an end host, whatever it sends or receives
)

// A Cause is a component that may add delay.
type Cause struct {
	Kind Kind
	ID   int32 // a graphs.ArcID, LinkID, GroupID or NodeID
}

// A Suspect may explain why flows are late.
type Suspect struct {
	Cause
	// Probability that the true cause is in Class.
	Probability float64
	// Class is all that the evidence cannot tell from this suspect, itself first.
	Class []Cause
	// Excess is what it adds to the Delay of observations in their mean, with a 95 % credible interval.
	Excess, Low, High Microseconds
	// Flows are known to cross it, Late of them took longer than 95 in 100 flows of their length do.
	Flows, Late int
	// Unsure are flows that may cross it as well, UnsureLate of them took as long, and Crossing is how many of them are expected to cross it.
	Unsure, UnsureLate int
	Crossing           float64
	// Took is the median of what they took, Expected that of flows of their lengths.
	Took, Expected Microseconds
	// RunnerUp is the cause that explains the evidence best if the class does not, and Nats how much less likely that is (natural
	// logarithm). Its Kind is empty where the next best explanation is that there is no fault.
	RunnerUp Cause
	Nats     float64
}

// A Baseline is what healthy flows of one length take.
type Baseline struct {
	// Arcs is the length; 0 stands for flows that are compared with their own past, of which Median and Spread are differences.
	Arcs           int
	Flows          int
	Median, Spread Microseconds // Spread is a standard deviation
}

// A Result is what the evidence says.
type Result struct {
	// Suspects are ranked, most probable first, those of probability 0.01 and more.
	Suspects []Suspect
	// Baselines are by length.
	Baselines []Baseline
	// Crossed is, per arc, the number of flows that are known to cross it.
	Crossed []int
	// Ignored counts observations that could not be used, or were left out because there are too many of unknown ways.
	Ignored int
}

// leastFlows is how many flows there must be for a baseline to mean anything.
const leastFlows = 12

// Solve ranks what explains the delays. It keeps no reference to them.
func Solve(f *graphs.Fabric, obs []Observation, cfg Config) *Result {
	if f == nil {
		return &Result{Ignored: len(obs)}
	}
	cfg = cfg.withDefaults()
	ev := compile(f, obs, cfg)
	r := &Result{Crossed: make([]int, f.NumArcs()), Ignored: ev.ignored}
	for a := range r.Crossed {
		r.Crossed[a] = len(ev.through(int32(a)))
	}
	if len(ev.flows) < leastFlows {
		return r
	}
	s := newSearch(ev, cfg)
	s.run()
	s.report(r)
	return r
}
