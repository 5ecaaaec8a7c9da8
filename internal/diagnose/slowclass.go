package diagnose

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"whichlink/graphs"
	"whichlink/pathfind/delay"
)

const (
	// leastOfClass is how many flows of a DSCP there must be for delay to be looked for among them alone.
	leastOfClass = 20
	// mostChance is the greatest probability of chance at which some DSCPs are said to be late where others are not.
	mostChance = 0.01
)

// slowForSome looks for what delays flows of some DSCPs only, as a queue of theirs does: flows of each are held against others of the same. That counts only where those of another DSCP cross it in time: else
// all flows tell of it. It returns what is not among some suspects, and replaces those that are: flows without delay had a part in what they are said to add.
func (s *Store) slowForSome(views []view, now []Suspect) (list []Suspect) {
	for _, v := range views {
		classes := v.classes()
		for _, dscp := range classes {
			part := v.only(dscp)
			if len(classes) == 1 || len(part.obs) < leastOfClass {
				continue
			}
			for _, x := range s.solveDelays(part.obs, float64(len(classes))) {
				late, inTime := v.lateClasses(&x, classes, s.fabric)
				if x.Probability < Named || inTime == 0 || !slices.Contains(late, dscp) {
					continue
				}
				out := s.slowSuspect(&x, part)
				s.tellClass(&out, dscp, late, inTime)
				told := func(y Suspect) bool { return y.ID == out.ID }
				if i := slices.IndexFunc(now, told); i >= 0 && len(now[i].DSCPs) == 0 {
					now[i] = out
				} else if i < 0 && !slices.ContainsFunc(list, told) {
					list = append(list, out)
				}
			}
		}
	}
	return list
}

// classes are the DSCPs of flows, in order.
func (v *view) classes() (list []uint8) {
	for _, x := range v.of {
		list = append(list, x.dscp)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// only is what flows of one DSCP tell.
func (v *view) only(dscp uint8) view {
	out := view{tail: v.tail, own: v.own}
	for i, x := range v.of {
		if x.dscp == dscp {
			out.obs, out.of = append(out.obs, v.obs[i]), append(out.of, x)
		}
	}
	return out
}

// lateClasses returns the DSCPs whose flows a suspect delays, and how many flows of others cross it in time: none, where that may be chance. Flows are held against those of their DSCP that do not cross it:
// one may be slower than another everywhere.
func (v *view) lateClasses(x *delay.Suspect, classes []uint8, f *graphs.Fabric) (late []uint8, inTime int) {
	over := v.over(x.Cause, f)
	var those, others []float64
	for _, dscp := range classes {
		part, good := v.only(dscp), 0
		own := part.over(x.Cause, f)
		for _, us := range own {
			if us < float64(x.Excess)/2 {
				good++
			}
		}
		var all []float64
		for i, us := range over {
			if v.of[i].dscp == dscp {
				all = append(all, us)
			}
		}
		if 3*good >= 2*len(own) {
			inTime, others = inTime+good, append(others, all...)
		} else {
			late, those = append(late, dscp), append(those, all...)
		}
	}
	if chanceHigher(those, others)*math.Exp2(float64(len(classes))) > mostChance {
		return late, 0
	}
	return late, inTime
}

// over returns by how much each flow that crosses a cause, by its place, is later than the median of those as long that do not.
func (v *view) over(c delay.Cause, f *graphs.Fabric) map[int]float64 {
	usual := map[int][]float64{}
	for i, o := range v.obs {
		if n := len(v.of[i].path); n > 0 && !v.of[i].crosses(c, f) {
			usual[n] = append(usual[n], float64(o.Delay-o.Own))
		}
	}
	for _, list := range usual {
		slices.Sort(list)
	}
	out := map[int]float64{}
	for i, o := range v.obs {
		if list := usual[len(v.of[i].path)]; len(list) > 0 && v.of[i].crosses(c, f) {
			out[i] = float64(o.Delay-o.Own) - list[len(list)/2]
		}
	}
	return out
}

// chanceHigher is the probability that values which are no higher by themselves are as much above others, by their ranks (Mann and Whitney).
func chanceHigher(those, others []float64) float64 {
	n, m := float64(len(those)), float64(len(others))
	if n == 0 || m == 0 {
		return 1
	}
	u := 0.0
	for _, x := range those {
		for _, y := range others {
			switch {
			case x > y:
				u++
			case x == y:
				u += 0.5
			}
		}
	}
	return math.Erfc((u-n*m/2)/math.Sqrt(n*m*(n+m+1)/6)) / 2
}

// tellClass says which DSCPs a suspect delays, as flows of one of them tell.
func (s *Store) tellClass(out *Suspect, told uint8, late []uint8, inTime int) {
	var names []string
	for _, dscp := range late {
		out.DSCPs = append(out.DSCPs, int(dscp))
		names = append(names, fmt.Sprint(dscp))
	}
	out.when = fmt.Sprintf(" for DSCP %s only", strings.Join(names, ", "))
	out.For = strings.Replace(out.For, " flows that cross it", fmt.Sprintf(" flows of DSCP %d that cross it", told), 1)
	out.Evidence[0].Text = out.For
	out.Against = fmt.Sprintf("%s of other DSCPs cross it in time; of these %s", flowsWord(inTime), out.Against)
	if out.Kind == string(delay.Arc) {
		out.Next = append(out.Next, Step{Why: "others are not late there", Do: fmt.Sprintf("compare what the queues of %s hold, and how they are served", strings.SplitN(out.ID, ">", 2)[0])})
	}
}
