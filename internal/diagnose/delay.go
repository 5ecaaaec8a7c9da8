package diagnose

import (
	"fmt"
	"slices"

	"whichlink/pathfind/delay"
)

// DelaySuspect puts a suspect of the inference on delays into words. It has no link and no next steps yet. Source is what measured.
func DelaySuspect(x *delay.Suspect, name func(delay.Cause) string, source string) Suspect {
	mean, low, high := float64(x.Excess), float64(x.Low), float64(x.High)
	out := Suspect{
		Kind: string(x.Kind), ID: name(x.Cause), Symptom: Slow, Probability: min(x.Probability, surest),
		Delay: &mean, DelayLow: &low, DelayHigh: &high,
		For: "flows that cross it are late", Against: "no flow is known to cross it in time",
		Next: []Step{},
	}
	for _, c := range x.Class {
		out.Class = append(out.Class, name(c))
	}
	if i := slices.Index(out.Class, out.ID); i > 0 {
		out.Class[0], out.Class[i] = out.Class[i], out.Class[0]
	}
	switch {
	case x.Flows == 0 && x.Unsure > 0:
		out.For = unsureFlows(x, "take longer than 95 in 100 flows of their length")
	case x.Flows > 0:
		out.For = fmt.Sprintf("%d of %d flows that cross it take longer than 95 in 100 flows of their length (median %s, expected %s)",
			x.Late, x.Flows, Micros(float64(x.Took)), Micros(float64(x.Expected)))
		if x.Late < x.Flows {
			out.Against = fmt.Sprintf("%d flows cross it in time", x.Flows-x.Late)
		} else {
			out.Against = "no flow crosses it in time"
		}
	}
	if up := x.RunnerUp; up.Kind != "" {
		out.Against += Instead(string(up.Kind), name(up), x.Nats)
	}
	out.Evidence = []Evidence{{source, out.For}}
	return out
}

// unsureFlows says how late flows are that may cross a suspect which none is known to cross.
func unsureFlows(x *delay.Suspect, how string) string {
	return fmt.Sprintf("%d of %d flows that may cross it %s; %.0f are expected to cross it, none is known to", x.UnsureLate, x.Unsure, how, x.Crossing)
}
