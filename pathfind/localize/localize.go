// Package localize says which part of a fabric explains the packets that were lost.
//
// It takes counts of packets along paths, [Observation], and returns ranked suspects with their probability, their loss with a
// credible interval, and what the evidence cannot tell from them: [Solve]. It is pure: no clock, no sockets, no randomness but numbers
// that are always the same, and the same evidence gives the same answer in whatever order it comes.
//
// # The model
//
// Every component of the fabric (an arc, a link, a switch, a host, a shared-risk group) has a hazard h >= 0, and a path passes
// a packet with probability exp(-S), where S is the sum of the hazards of what it crosses. So a dead link and a loss of 0.03 %
// live in one formula. Good arcs share one small hazard, the background, which is estimated from the evidence. A hypothesis is
// a set of faulty components; the rate of each is integrated out, so that a fault pays for its freedom by itself.
// A flow now and then loses packets for reasons of its own (a full socket buffer, one bad hash bucket): each
// observation has a small chance to be such an outlier, which bounds what one flow alone can prove. A switch that answers
// TTL-expired probes rarely or never does what most switches do; that too is an explanation of missing answers, and a likelier
// one than a fault.
//
// Of a flow it may be known only which paths it may have taken: as a list, or as the equal-cost paths between two switches ([PathSets]), of which
// only their shares are ever asked for. A switch may be bad in part, some of its arcs losing packets each at a rate of its own: a cause
// beside as many independent faults, by the prior alone.
//
// What devices count by themselves speaks of the same hazards ([Meter]). A fault shows in counters or does not; if it does, they count about
// what its hazard takes of the packets that passed; if not, they count what those of good ports do. So counters that say nothing take little
// from a suspect, errors convict as far as ports do not count them without loss, and many clean probes acquit whatever is counted.
//
// Probabilities come from normalising over all hypotheses that the search has seen, not from the best one alone. Where these are but a few of
// many that are about as likely, they come from those that a Markov chain draws.
//
// The likelihood is that of Flock (Harsh et al., CoNEXT 2023) with free rates; integrating them out, the exposure of loss-free
// flows as one linear term, and the cap on what a burst may prove are this package's.
package localize

import (
	"slices"

	"whichlink/graphs"
)

// An Observation is packets counted along one path.
type Observation struct {
	// Path is the arcs that every packet was sent over, in order: the part that is certain. A probe whose loss could not be split
	// by direction has the arcs of the way there followed by those of the way back.
	Path []graphs.ArcID
	// Alternatives, of which exactly one was crossed in addition to Path. All packets of the observation took the same one,
	// because one flow has one path. Empty where nothing is uncertain.
	Alternatives []Alternative
	// From and To, if they differ and there are no alternatives, are switches between which all packets took one of the paths of
	// Config.Paths, in addition to Path. No alternatives need to be listed then, and flows without loss cost next to nothing.
	From, To graphs.NodeID
	// Src and Dst are the end hosts whose NIC and CPU had a part, or None.
	Src, Dst graphs.NodeID
	// Responder is the switch that had to answer by itself (TTL expired), or None for a measurement from end to end. If Path ends at the
	// responder and no alternative leads back to Src, the way of its answers counts as unknown but for Src's link, if that is its only one.
	Responder graphs.NodeID
	// Sent and Lost count packets; Lost of those with a Responder were not answered.
	Sent, Lost int
	// Flow identifies the flow. Observations of the same flow over the same path are added up.
	Flow int
	// Bursts is the number of separate runs of losses, or 0 if unknown. Links that flap and queues that overflow lose packets in
	// runs, and a run proves little more than one loss does.
	Bursts int
	// Carried tells that the packets are of the fabric's own traffic, as a capture has it, and were not sent to measure: many a flow of that loses some by itself, as
	// where a receiver has no room or the capture itself is not whole, and how many do says nothing of those that were sent to measure.
	Carried bool
	// Untold tells that Bursts is but the least number of runs, as where it is known of windows of time whether packets were lost in them.
	Untold bool
}

// An Alternative is one of several ways that the uncertain part of a path may have taken.
type Alternative struct {
	// Arcs are its arcs. If it has none and the observation no Path, there were no packets, as where it is not known whether any were sent while something lasted.
	Arcs []graphs.ArcID
	// Share is the a-priori share of flows that take it. Shares are normalised.
	Share float64
}

// NormalLoss is the loss per crossing up to which an arc is good, where nobody says otherwise.
const NormalLoss = 2e-4

// Outlier is the chance that a flow loses packets for a reason that no component explains, where nobody says otherwise.
const Outlier = 0.002

// Config sets what is taken for granted before any evidence. The zero value is what the program uses.
type Config struct {
	// Faults is the number of faults that one would bet on in a fabric that somebody looks at. 0 means 3.
	Faults float64
	// NormalLoss is the loss per crossing up to which a good arc is still good. 0 means [NormalLoss], or more where the evidence shows that good arcs have a
	// heavier tail.
	NormalLoss float64
	// Outlier is the chance that a flow loses packets for a reason that no component explains. 0 means [Outlier].
	Outlier float64
	// Cap is how many losses of one flow count as independent of each other. 0 means 10.
	Cap float64
	// Paths knows the path sets of observations that have From and To. Without it these are ignored.
	Paths PathSets
	// Meters and Hints are what devices said by themselves.
	Meters []Meter
	Hints  []Hint
	// OneWay tells that the evidence knows arcs and switches only: links do not fail as a whole, and a link that is bad both ways is two faults.
	OneWay bool
	// Selected tells that only flows that lost packets are known. Where all of many did, over paths that are known, it is found out. If Paths are given,
	// where these flows went counts, too, beside where others are to be expected if traffic is even, or as uneven as these flows tell.
	Selected bool
	// MaxFaults bounds the size of a hypothesis. 0 means 96.
	MaxFaults int
	// Independent tells that packets are lost independently of each other, or at the same moments by all flows, as where a link goes down. Else it is found out whether
	// each flow loses them in runs of its own.
	Independent bool
	// Together tells that flows lost packets at the same moments, as flows that lose packets by themselves do not: how many of these there are is not learnt.
	Together bool

	bursts  bursts   // what is known of that
	imputed *imputed // where only flows that lost packets are known, what others are to be expected
}

func (c Config) withDefaults() Config {
	def := func(v *float64, d float64) {
		if !(*v > 0) || *v > 1e9 {
			*v = d
		}
	}
	def(&c.Faults, 3)
	def(&c.NormalLoss, NormalLoss)
	def(&c.Outlier, Outlier)
	def(&c.Cap, 10)
	c.Outlier = min(c.Outlier, 0.5)
	c.NormalLoss = min(c.NormalLoss, 0.1)
	if c.MaxFaults <= 0 {
		c.MaxFaults = 96
	}
	return c
}

// A Result is what the evidence says.
type Result struct {
	// Suspects are ranked, most probable first, those of probability 0.01 and more.
	Suspects []Suspect
	// Shy are the switches that left TTL-limited probes unanswered without losing packets, by node.
	Shy []Responder
	// Exposure is, per arc, the packets that were surely sent over it; of TTL-limited probes only the answered ones count.
	Exposure []int
	// Loose is, per arc, the packets that are expected to have crossed it besides, of flows without loss of which only the path set is known. Nil where
	// there are none.
	Loose []float64
	// Background is the loss per crossing of a good arc.
	Background float64
	// Normal is the loss per crossing up to which an arc counts as good: Config.NormalLoss and half of the background, or more where good arcs have a heavier
	// tail. Tail is how many count as good for that reason only, as all arcs' losses tell; it is 0 where there is no such tail, and where Config.NormalLoss
	// is given, for then none is looked for.
	Normal float64
	Tail   int
	// Least is the loss per crossing at which a fault begins: what an arc loses between Normal and that is told of none, however much is sent over it.
	Least float64
	// Healthy is the probability that nothing is faulty of what the evidence is about: what no packet crossed, or too few for a fault to show, does not lower it, and with
	// no evidence it is 1. Exposure and Loose tell how much is known of an arc.
	Healthy float64
	// Score is the log of how probable the evidence is by all explanations together, but for a constant. It compares what is solved over one fabric by the same counts and Config,
	// as where it is asked which of two ways packets went.
	Score float64
	// Early are the arcs whose ports count errors, by arc: those that corrupt packets, though perhaps too few to be missed, and those that
	// count something else.
	Early []Early
	// Selected tells that only flows that lost packets are known, so that nothing is known of what arrived: what they lost beyond that counts, and where they went
	// if it can be told how many others went elsewhere.
	Selected bool
	// Uneven is then how likely it is that some hosts, switches or pairs of switches have more traffic than others, as far as that makes a difference; else 0.
	Uneven float64
	// Run is how many packets are lost in a row in the mean, where that is learnt and they seem to be lost in runs; else 0.
	Run float64
	// Own is how much flows lose that lose packets by themselves, where it is learnt from many that do.
	Own Own
	// Ignored counts observations and meters that could not be used: nothing sent, more lost than sent or less than nothing, or arcs that the fabric does
	// not have.
	Ignored int
}

// A Suspect may explain the evidence.
type Suspect struct {
	Cause
	// Probability is that of the true cause being in Class.
	Probability float64
	// Alone is the probability of this cause, without the others of its class.
	Alone float64
	// Class is what the evidence cannot tell from this suspect, itself first, then by probability. Members of a class are not listed as
	// suspects of their own.
	Class []Cause
	// Weights are how Probability is shared out among the members of Class, in their order.
	Weights []float64
	// Loss is the share of packets lost per crossing, the posterior median; Low and High bound its 90 % credible interval.
	Loss, Low, High float64
	// LossyFlows and CleanFlows count the flows, there and back each for itself, measured from end to end, that surely cross the suspect and lost packets or lost none.
	LossyFlows, CleanFlows int
	// Sent and Lost are the packets of those flows.
	Sent, Lost int
	// Against is the strongest counter-evidence.
	Against Against
	// Parts are the arcs and links of a switch that is bad in part, each with a loss of its own; Loss, Low and High span them. Empty otherwise.
	Parts []Part
}

// Believed returns the suspect with another probability, of which each member of its class has the share that it had.
func (x Suspect) Believed(probability float64) Suspect {
	by := probability / x.Probability
	x.Probability, x.Alone, x.Weights = probability, x.Alone*by, slices.Clone(x.Weights)
	for i := range x.Weights {
		x.Weights[i] *= by
	}
	return x
}

// A Part is one faulty arc or link of a switch.
type Part struct {
	Cause
	Loss float64
}

// Against is what speaks against a suspect.
type Against struct {
	// CleanSent are the packets of the clean flows that cross the suspect, and Expected the losses that they should have had.
	CleanSent int
	Expected  float64
	// RunnerUp is the cause that explains the evidence best if the suspect's class does not, and Nats how much less likely that
	// is (natural logarithm). Its Kind is empty where the next best explanation is that there is no such fault.
	RunnerUp Cause
	Nats     float64
}

// A Responder is a switch that did not answer all TTL-limited probes which reached it.
type Responder struct {
	Node           graphs.NodeID
	Sent, Answered int
	// Probability that the switch holds its answers back, rather than that packets were lost.
	Probability float64
}

// Solve ranks the causes that explain the observations. It keeps no reference to them.
func Solve(f *graphs.Fabric, obs []Observation, cfg Config) *Result {
	r, _ := SolveTouched(f, obs, cfg)
	return r
}

// Touched are the observations to look at again, in order, by their place among all.
type Touched struct {
	Lossy    []int32 // they lost packets
	Crossing []int32 // their Path crosses an arc of a suspect
	routes
}

// SolveTouched is Solve, for callers who would have to go through all observations otherwise.
func SolveTouched(f *graphs.Fabric, obs []Observation, cfg Config) (*Result, Touched) {
	if f == nil {
		return &Result{Healthy: 1, Ignored: len(obs)}, Touched{}
	}
	learns := !(cfg.NormalLoss > 0)
	cfg = cfg.withDefaults()
	s := explain(f, obs, cfg)
	for range lessonsOfBursts {
		was := cfg.bursts.length
		if cfg.bursts = s.inBursts(); cfg.bursts.about(was) {
			break
		}
		s = explain(f, obs, cfg)
	}
	cfg.bursts = s.cfg.bursts
	tail := 0
	if learns {
		var normal float64
		if normal, tail = s.heavyTail(); tail > 0 {
			cfg.NormalLoss = normal
			s = explain(f, obs, cfg)
		}
	}
	r := s.judged()
	if s.rival != nil {
		r.beside(s.rival.judged(), max(s.tilted, 1-s.tilted))
	}
	r.doubtFew(s.ix, obs, cfg)
	r.Tail, r.Run = tail, cfg.bursts.length
	return r, Touched{s.ev.lossy, s.crossing, s.ev.routes}
}

// explain searches for what explains the observations.
func explain(f *graphs.Fabric, obs []Observation, cfg Config) *search {
	ix := newIndex(f, cfg)
	ev := compile(ix, obs, cfg)
	if ev.traffic != nil {
		return ev.traffic.explain()
	}
	s := newSearch(newModel(ix, ev, cfg))
	s.run()
	return s
}
