package localize

import (
	"math"
	"slices"

	"whichlink/graphs"
)

// A packet or two are lost now and then for nothing that lasts, as while an address is resolved or a host starts to listen: that is neither a background, which takes a share of all
// packets, nor a habit of flows. Of a handful of packets, one would be a share that no good part loses, and nobody should believe that.

const (
	// handfulSent is up to how many packets, there and back, are so few that it takes fewest lost ones for what loses them to be told as the model has it.
	handfulSent, fewest = 400, 3
	// suspicion is the probability up to which a fault that fewer tell of is worth to look for all the same.
	suspicion = 0.3
)

// doubtFew has the fault that few losses of few packets seem to tell be no likelier than that one more is lost, by the rule of succession, where devices say nothing that speaks for it.
func (r *Result) doubtFew(ix *index, obs []Observation, cfg Config) {
	if len(r.Suspects) == 0 || len(cfg.Hints) > 0 || slices.ContainsFunc(cfg.Meters, func(m Meter) bool { return m.Count > 0 }) {
		return
	}
	sent, lost := 0, 0
	for i := range obs {
		if o := &obs[i]; o.Responder == graphs.None && ix.known(o) {
			sent, lost = sent+o.Sent, lost+o.Lost
			if sent > handfulSent || lost >= fewest {
				return
			}
		}
	}
	if lost == 0 {
		return // what speaks for a fault is that switches do not answer
	}
	again := float64(lost) / float64(lost+2)
	told := func(p float64) float64 { return max(again*p, min(suspicion, p)) }
	r.Healthy = max(r.Healthy, 1-told(1-r.Healthy))
	for i := range r.Suspects {
		r.Suspects[i] = r.Suspects[i].doubted(told(r.Suspects[i].Probability))
	}
}

// doubted returns the suspect with a lower probability: that there is no such fault is so much likelier.
func (x Suspect) doubted(probability float64) Suspect {
	x = x.Believed(probability)
	if x.Against.RunnerUp.Kind == "" {
		x.Against.Nats = min(x.Against.Nats, math.Log(x.Probability)-math.Log1p(-x.Probability))
	}
	return x
}
