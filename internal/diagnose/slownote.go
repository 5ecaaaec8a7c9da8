package diagnose

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"whichlink/graphs"
	"whichlink/pathfind/delay"
)

const (
	// leastAlike is how many flows of a length must be measured for their differences to be told of, leastMeasured for what they take.
	leastAlike, leastMeasured = 20, 5
	// timesLonger is how many times as long as the links of shorter paths each further one must take for that to be strange.
	timesLonger = 3
)

// slowNotes says what delays leave open. Flows are their own measure: where many parts are slow, or all flows of a length cross one that is, nobody can be named for it.
func (v *view) slowNotes(known []delay.Cause, f *graphs.Fabric) (notes []string) {
	took := map[int][]float64{}
	for i, o := range v.obs {
		if n := len(v.of[i].path); n > 0 && !slices.ContainsFunc(known, func(c delay.Cause) bool { return v.of[i].crosses(c, f) }) {
			took[n] = append(took[n], float64(o.Delay))
		}
	}
	lengths := slices.Sorted(maps.Keys(took))
	widest, at := 0.0, 0
	for k, l := range lengths {
		list := took[l]
		slices.Sort(list)
		n := len(list)
		if wide := list[n*9/10] - list[n/10]; n >= leastAlike && wide > widest {
			widest, at = wide, l
		}
		if k == 0 || n < leastMeasured || len(took[lengths[k-1]]) < leastMeasured {
			continue
		}
		shorter := lengths[k-1]
		before := took[shorter][len(took[shorter])/2]
		more := list[n/2] - before
		if arcs := v.onAll(l); len(arcs) > 0 && more >= float64(leastOfHost) && more > timesLonger*before*float64(l-shorter)/float64(shorter) {
			notes = append(notes, fmt.Sprintf("flows over %d links take %s more than those over %d, and all of them cross %s: whether one of these is slow is not known, for nothing of that length avoids it",
				l, Micros(more), shorter, strings.Join(names(arcs, f), ", ")))
		}
	}
	if widest >= float64(leastOfHost) {
		n := len(took[at])
		notes = append(notes, fmt.Sprintf("flows over %d links differ: a tenth of %d take up to %s, a tenth %s and more, and no few suspects explain that; where hosts or cables are not so by themselves, many parts are slow",
			at, n, Micros(took[at][n/10]), Micros(took[at][n*9/10])))
	}
	return notes
}

// onAll are the arcs that all flows of a length cross, there or back.
func (v *view) onAll(length int) (arcs []graphs.ArcID) {
	first := true
	for _, x := range v.of {
		switch {
		case len(x.path) != length:
		case first:
			arcs, first = slices.Clone(x.path), false
		default:
			arcs = slices.DeleteFunc(arcs, func(a graphs.ArcID) bool { return !slices.Contains(x.path, a) })
		}
	}
	slices.Sort(arcs)
	return slices.Compact(arcs)
}

func names(arcs []graphs.ArcID, f *graphs.Fabric) (list []string) {
	for _, a := range arcs {
		list = append(list, f.ArcName(a))
	}
	return list
}
