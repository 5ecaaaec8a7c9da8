// Package next says which flows to send next, so that what a diagnosis leaves open is decided with the fewest packets.
//
// What is open is a [Question]: causes of which one may be true, with their probabilities, as [Ask] takes them from the result of
// pathfind/localize. A flow is worth what its outcome is expected to tell: the mutual information, in nats, between whether its packets
// arrive and which cause is true. A flow that was traced crosses some of the causes and not the others, and its outcome splits them; of one
// whose path is not known only the shares of the forwarding model count, which tell less. To trace a new flow costs some packets, too, and is
// worth what the path that it turns out to have would tell beyond the best flow at hand. [Planner.Choose] weighs all of these by the packet, and picks
// flows one after the other for what they tell together: a flow that tells the same as another picked before tells nothing.
//
// The package is pure and its answers do not depend on the order of what it is given.
package next

import (
	"cmp"
	"math"
	"slices"

	"whichlink/graphs"
	"whichlink/pathfind"
	"whichlink/pathfind/plan"
)

// Config says what flows there may be. The zero value of all but Sources and Known is ready for use.
type Config struct {
	// Sources are the hosts that can send; nil means all.
	Sources []graphs.NodeID
	// Targets are the hosts that answer; nil means all.
	Targets []graphs.NodeID
	// Blind tells of which pairs no trace finds the way; nil means of none.
	Blind func(src, dst graphs.NodeID) bool
	// Known are the flows that exist.
	Known []Known
	// Packets is the budget of a batch; 0 means as many as are needed to lose some at the likeliest cause ten times over.
	Packets int
	// Traces bounds the new flows of a batch; 0 means 32, a negative number none.
	Traces int
	// Unsplit says that the loss of an echo cannot be told by direction.
	Unsplit bool
	// Background is the loss per crossing of a good arc.
	Background float64
}

// A Known is a flow that exists, with its two ways where they were traced; nil where they were not.
type Known struct {
	plan.Flow
	Path, Back []graphs.ArcID
	// There and Home are its packets so far on the two ways; where nobody tells on which way some were lost, all are counted on the way there.
	There, Home Count
}

// A Choice is a flow of a batch. One whose SrcPort is 0 is new: any port that is not in use will do, and it is traced before
// anything is decided about it, so Packets is 0.
type Choice struct {
	plan.Flow
	Packets int
	// Nats is the information that the choice is expected to add, in nats: of a new flow, what its packets would.
	Nats float64
}

// A Planner chooses flows on one fabric. It remembers the path sets that it looked at, and is not safe for concurrent use.
type Planner struct {
	model pathfind.Model
	f     *graphs.Fabric
	near  map[graphs.NodeID][]graphs.NodeID
	pairs map[[2]graphs.NodeID]*pathSet
}

// NewPlanner makes a planner for a forwarding model.
func NewPlanner(m pathfind.Model) *Planner {
	return &Planner{model: m, f: m.Fabric(), near: map[graphs.NodeID][]graphs.NodeID{}, pairs: map[[2]graphs.NodeID]*pathSet{}}
}

// TraceCost is how many packets it takes to find both ways of a new flow.
const TraceCost = 6

// Limits of a batch.
const (
	defaultTraces = 32
	mostChoices   = 64
	// leastNats is what a flow must be expected to tell to be sent at all.
	leastNats = 1e-4
	// worthSending is the part of what a flow that is being traced may tell, from which a flow at hand is sent along meanwhile.
	worthSending = 0.7
)

// Choose returns a batch of flows for open questions: those that exist and whose packets tell most, and new ones that are worth a trace. It is
// empty where no flow tells anything.
func (p *Planner) Choose(questions []Question, cfg Config) []Choice {
	return p.choose(questions, nil, cfg)
}

// choose returns a batch of flows for open questions, beside some of which nothing is asked.
func (p *Planner) choose(questions, beside []Question, cfg Config) []Choice {
	b := p.batch(questions, beside, &cfg)
	if b == nil {
		return nil
	}
	if b.fill(); len(b.choices) == 0 && cfg.Traces >= 0 && !b.blind { // where no trace finds the ways of some, it finds no others
		b.takePairs(b.wider)
		b.fill()
	}
	return b.choices
}

// fill chooses flows until the budget is spent, or none tells anything.
func (b *batch) fill() {
	traces := b.cfg.Traces
	if traces == 0 {
		traces = defaultTraces
	}
	for left := b.cfg.Packets; left > 0 && len(b.choices) < mostChoices; {
		flow, worth := b.bestKnown()
		if traces > 0 && left >= TraceCost {
			if pair, gain := b.bestPair(worth); pair != nil && gain > max(leastNats, worth*TraceCost/float64(b.quantum)) {
				b.trace(pair, gain)
				traces--
				left -= TraceCost
				continue
			}
		}
		// What a trace may turn up is waited for, where it would tell much more by the packet than what is at hand.
		if flow < 0 || worth < leastNats || worth < worthSending*b.hoped {
			break
		}
		n := min(b.quantum, left)
		b.send(flow, n, worth*float64(n)/float64(b.quantum))
		left -= n
	}
}

// batch prepares a batch; nil if there is nothing to ask.
func (p *Planner) batch(questions, beside []Question, cfg *Config) *batch {
	b := &batch{p: p, cfg: cfg, signatures: map[string]int{}, picked: map[plan.Flow]int{}}
	for end, hosts := range [2][]graphs.NodeID{cfg.Sources, cfg.Targets} {
		b.may[end], b.near[end] = among(p.f, hosts), map[graphs.NodeID][]graphs.NodeID{}
	}
	if !(cfg.Background > 0) { // nor what is no number
		cfg.Background = 0
	}
	for i, q := range slices.Concat(questions, beside) {
		if s := newState(p.f, q, i < len(questions)); len(s.causes) > 0 {
			b.states = append(b.states, s)
		}
	}
	slices.SortFunc(b.states, func(x, y *state) int { return slices.CompareFunc(x.causes, y.causes, Cause.compare) })
	loss, most := 0.0, 0.0
	for _, s := range b.states {
		if s.causes[0].Weight*s.open() > most {
			most, loss = s.causes[0].Weight*s.open(), s.causes[0].Loss
		}
	}
	if !(most > 0) {
		return nil
	}
	b.quantum = Enough(loss)
	if cfg.Packets <= 0 {
		cfg.Packets = 10 * b.quantum
	}
	b.quantum = max(1, min(b.quantum, cfg.Packets))
	b.index()
	b.takeKnown()
	if cfg.Traces >= 0 {
		b.takePairs(b.pairsFor)
	}
	return b
}

// Enough is how many packets along a flow tell most by the packet of a cause that loses a share of what crosses it: one of them is lost with a probability
// of about a half. Fewer are sent again soon.
func Enough(loss float64) int {
	if !(loss > 1e-5) { // nor what is no number
		loss = 1e-5
	}
	return int(min(max(0.7/loss, 10), 5000))
}

// A batch is flows being chosen.
type batch struct {
	p       *Planner
	cfg     *Config
	states  []*state
	quantum int // packets along a flow at a time

	byArc  map[graphs.ArcID][]int32 // causes, numbered over all questions, that an arc is part of
	byHost map[graphs.NodeID][]int32
	number int // of causes

	signatures map[string]int
	channels   []channel // by signature
	flows      []offer   // one for each signature that flows at hand have
	pairs      []pairOffer
	may        [2]func(graphs.NodeID) bool          // send, and answer
	near       [2]map[graphs.NodeID][]graphs.NodeID // of those that may
	missed     []float64                            // by cause: probability that no trace of this batch finds a path across it

	choices []Choice
	hoped   float64           // the most that a way tells which a trace of this batch may find
	picked  map[plan.Flow]int // index into choices
	blind   bool              // whether no trace finds the ways of some of the pairs
}

// An offer is a flow at hand, for its signature.
type offer struct {
	flow      plan.Flow
	length    int
	signature int
}

// bestKnown returns the flow at hand whose packets tell most, and how much; -1 if none tells anything.
func (b *batch) bestKnown() (int, float64) {
	best, most := -1, 0.0
	for i := range b.flows {
		if worth := b.worth(b.flows[i].signature); worth > most*(1+1e-9) {
			best, most = i, worth
		}
	}
	return best, most
}

// worth returns what packets along flows of a signature are expected to tell, after all that was chosen before.
func (b *batch) worth(signature int) float64 {
	c := &b.channels[signature]
	if c.version == b.version() {
		return c.worth
	}
	c.version, c.worth = b.version(), 0
	for q, s := range b.states {
		c.worth += s.information(&c.parts[q])
	}
	return c.worth
}

// version counts what was sent.
func (b *batch) version() int { return 1 + b.states[0].updates }

// send chooses a flow at hand for n packets.
func (b *batch) send(i, n int, worth float64) {
	o := &b.flows[i]
	at, again := b.picked[o.flow]
	if !again {
		at = len(b.choices)
		b.picked[o.flow] = at
		b.choices = append(b.choices, Choice{Flow: o.flow})
	}
	b.choices[at].Packets += n
	b.choices[at].Nats += worth
	c := &b.channels[o.signature]
	for q, s := range b.states {
		s.learn(&c.parts[q])
	}
}

// trace chooses a new flow of a pair.
func (b *batch) trace(o *pairOffer, gain float64) {
	b.choices = append(b.choices, Choice{Flow: plan.Flow{Src: o.src, Dst: o.dst}, Nats: gain})
	for _, w := range o.ways {
		b.hoped = max(b.hoped, b.worth(w.signature))
	}
	for c, share := range o.shares {
		b.missed[c] *= 1 - min(share, 1)
	}
}

// bestPair returns the pair of which a new flow is expected to tell most beyond what the best flow at hand does.
func (b *batch) bestPair(known float64) (*pairOffer, float64) {
	var best *pairOffer
	most := 0.0
	for i := range b.pairs {
		gain := 0.0
		for _, w := range b.pairs[i].ways {
			missed := 0.0
			for _, x := range b.channels[w.signature].crosses {
				missed = max(missed, b.missed[x.cause])
			}
			gain += w.share * missed * max(0, b.worth(w.signature)-known)
		}
		if gain > most*(1+1e-9) {
			best, most = &b.pairs[i], gain
		}
	}
	return best, most
}

// takeKnown sorts the flows at hand by what they cross: of those that cross the same, one will do.
func (b *batch) takeKnown() {
	known := slices.Clone(b.cfg.Known)
	slices.SortFunc(known, func(x, y Known) int {
		return cmp.Or(cmp.Compare(x.Src, y.Src), cmp.Compare(x.Dst, y.Dst), cmp.Compare(x.SrcPort, y.SrcPort),
			slices.Compare(x.Path, y.Path), slices.Compare(x.Back, y.Back), x.There.compare(y.There), x.Home.compare(y.Home))
	})
	at := map[int]int{}
	for i := range known {
		k := &known[i]
		if !b.may[sends](k.Src) || !b.may[answers](k.Dst) {
			continue
		}
		crosses := b.across(k.Src, k.Dst, 0, k.Path)
		crosses = append(crosses, b.across(k.Dst, k.Src, 1, k.Back)...)
		if len(crosses) == 0 {
			continue
		}
		sig := b.signature(crosses, [2]Count{k.There.possible(), k.Home.possible()})
		length := len(k.Path) + len(k.Back)
		if j, ok := at[sig]; !ok {
			at[sig] = len(b.flows)
			b.flows = append(b.flows, offer{k.Flow, length, sig})
		} else if length < b.flows[j].length {
			b.flows[j] = offer{k.Flow, length, sig}
		}
	}
}

// among returns what tells whether a node of a fabric is one of some hosts, nil being all.
func among(f *graphs.Fabric, hosts []graphs.NodeID) func(graphs.NodeID) bool {
	in := make(map[graphs.NodeID]bool, len(hosts))
	for _, n := range hosts {
		in[n] = true
	}
	return func(n graphs.NodeID) bool { return n >= 0 && int(n) < f.NumNodes() && (hosts == nil || in[n]) }
}

// bits is the part of an outcome of probability p in an entropy: -p ln p.
func bits(p float64) float64 {
	if p <= 0 {
		return 0
	}
	return -p * math.Log(p)
}
